"""Whether xarray decodes the same values, dimensions and attributes of a NetCDF file or Zarr store and of what Gander
made of it. Wants xarray, h5netcdf, netCDF4 and zarr: `xarray_judge.py GANDER SOURCE…`"""
import subprocess, sys, os, shutil, tempfile, numpy as np, xarray as xr, warnings
warnings.simplefilter("ignore")
gander, bad, facts = sys.argv[1], 0, 0
def word(x): return x.decode() if isinstance(x, bytes) else str(x)
def same(a, b):
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return a.shape == b.shape and all(word(x) == word(y) for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "mM": return a.shape == b.shape and bool((a == b).all())
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-12 if a.dtype == b.dtype else 1e-6, equal_nan=True)
for source in sys.argv[2:]:
    d = tempfile.mkdtemp()
    for ending, kw in (("h5", {"engine": "h5netcdf"}), ("h5", {"engine": "netcdf4"}), ("zarr", {"engine": "zarr"})):
        out = f"{d}/out.{ending}"
        if not os.path.exists(out):
            r = subprocess.run([gander, "convert", source, out, "--allow-loss"], capture_output=True, text=True)
            if r.returncode: print(source, ending, r.stderr[:300]); bad += 1; continue
        try:
            a = xr.open_zarr(source) if os.path.isdir(source) else xr.open_dataset(source)
            b = xr.open_dataset(out, **kw)
        except Exception as e: print(source, kw, "cannot be opened:", type(e), str(e)[:300]); bad += 1; continue
        for name in sorted(set(a.variables) | set(b.variables)):
            facts += 1
            if name not in a.variables or name not in b.variables: print(source, kw, name, "only in one", name in a.variables); bad += 1; continue
            x, y = a[name], b[name]
            if x.dims != y.dims or not same(x.values, y.values): print(source, kw, name, x.dims, y.dims, x.dtype, y.dtype, x.values.ravel()[:3], y.values.ravel()[:3]); bad += 1
            if set(x.attrs) != set(y.attrs) or any(str(x.attrs[k]) != str(y.attrs[k]) and not np.array_equal(x.attrs[k], y.attrs[k]) for k in x.attrs if k in y.attrs): print(source, kw, name, "attributes", {k: (v, y.attrs.get(k)) for k, v in x.attrs.items() if str(v) != str(y.attrs.get(k))}, set(y.attrs) - set(x.attrs)); bad += 1
            if name in a.coords and name not in b.coords: print(source, kw, name, "is no coordinate"); bad += 1
        facts += 1
        if {k: str(v) for k, v in a.attrs.items()} != {k: str(v) for k, v in b.attrs.items()}: print(source, kw, "global", a.attrs, b.attrs); bad += 1
    shutil.rmtree(d)
print(facts, "facts,", bad, "different")
sys.exit(bad > 0)
