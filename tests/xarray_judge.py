"""Whether xarray decodes the same values, dimensions and attributes of a NetCDF file or Zarr store and of what Gander
made of it: HDF5 and NetCDF-4 by two libraries each, NetCDF classic, Zarr. Wants xarray, h5netcdf, netCDF4, scipy and
zarr: `xarray_judge.py GANDER SOURCE…`. Groups are compared one by one where both sides have them."""
import collections, os, shutil, subprocess, sys, tempfile, warnings

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
# target, ending, how xarray opens it
TARGETS = [
    ("hdf5", "h5", {"engine": "h5netcdf"}),
    ("hdf5", "h5", {"engine": "netcdf4"}),
    ("netcdf4", "nc", {"engine": "h5netcdf"}),
    ("netcdf4", "nc", {"engine": "netcdf4"}),
    ("netcdf3", "cdf.nc", {"engine": "netcdf4"}),
    ("netcdf3", "cdf.nc", {"engine": "scipy"}),
    ("zarr", "zarr", {"engine": "zarr"}),
]
gander, counts, bad = sys.argv[1], collections.Counter(), 0


def word(x):
    return x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x)


def same(a, b):
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return a.shape == b.shape and all(word(x) == word(y) for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "mM":
        return a.shape == b.shape and bool(((a == b) | (np.isnat(a) & np.isnat(b.astype(a.dtype)))).all())
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-12 if a.dtype == b.dtype else 1e-6, equal_nan=True)


def same_attribute(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, str):
        return b.split() == [str(x) for x in a] or b == str(list(a)).replace("'", '"').replace(", ", ",")
    return str(a) == str(b) or np.array_equal(np.atleast_1d(a), np.atleast_1d(b))


def groups_of(source):
    import netCDF4

    def walk(group, path):
        yield path
        for name, inner in group.groups.items():
            yield from walk(inner, f"{path}/{name}" if path else name)

    try:
        with netCDF4.Dataset(source) as file:
            return list(walk(file, ""))
    except (OSError, RuntimeError):
        return [""]


def opened(path, group, **kw):
    if os.path.isdir(path):
        return xr.open_zarr(path, group=group or None)
    return xr.open_dataset(path, group=group or None, **kw)


def compare(label, a, b, flat):
    """What differs; `flat` is what names begin with where there are no groups."""
    names = {name: flat + name if flat else name for name in a.variables}
    there = set(names.values())
    # Those of groups, where there are none, begin with the names of these.
    extra = {name for name in b.variables if name not in there and "__" not in name} if not flat else set()
    for name in sorted(extra):
        yield f"{name} is only in what was written"
    for name, other in sorted(names.items()):
        counts[label] += 1
        if other not in b.variables:
            yield f"{name} is missing"
            continue
        x, y = a[name], b[other]
        if not flat and x.dims != y.dims:
            yield f"{name}: dimensions {x.dims} -> {y.dims}"
        if not same(x.values, y.values):
            yield f"{name}: {x.dtype} {x.values.ravel()[:3]} -> {y.dtype} {y.values.ravel()[:3]}"
        if set(x.attrs) != set(y.attrs) or any(not same_attribute(x.attrs[k], y.attrs[k]) for k in x.attrs if k in y.attrs):
            told = {k: (v, y.attrs.get(k)) for k, v in x.attrs.items() if k not in y.attrs or not same_attribute(v, y.attrs[k])}
            yield f"{name}: attributes {told}, new {set(y.attrs) - set(x.attrs)}"
        if name in a.coords and other not in b.coords and not flat:
            yield f"{name} is no coordinate"
    counts[label] += 1
    told = {k: (v, b.attrs.get(k)) for k, v in a.attrs.items() if str(v) != str(b.attrs.get(k))}
    new = {k for k in b.attrs if k not in a.attrs and "__" not in k}
    if not flat and (told or new):
        yield f"attributes of all: {told}, new {new}"


for source in sys.argv[2:]:
    folder = tempfile.mkdtemp()
    for target, ending, kw in TARGETS:
        out, label = f"{folder}/out.{ending}", f"{target} by {kw['engine']}"
        if not os.path.exists(out):
            command = [gander, "convert", source, out, "--to", target, "--allow-loss"]
            done = subprocess.run(command, capture_output=True, text=True)
            if "there is nothing in it to convert" in done.stderr:
                continue
            if done.returncode:
                print(source, target, done.stderr[:300])
                bad += 1
                continue
        if kw["engine"] == "scipy" and open(out, "rb").read(4)[3] == 5:
            counts["netcdf3 of version 5, which scipy does not read"] += 1
            continue
        for group in [""] if os.path.isdir(source) else groups_of(source):
            flat = group.replace("/", "__") + "__" if group and target == "netcdf3" else ""
            try:
                a = opened(source, group)
            except Exception as error:
                print(source, group, "the source cannot be opened:", type(error).__name__, str(error)[:200])
                continue
            if not a.variables and not a.attrs:
                continue
            try:
                b = opened(out, "" if target == "netcdf3" else group, **kw)
                wrong = list(compare(label, a, b, flat))
            except Exception as error:
                wrong = [f"cannot be opened: {type(error).__name__} {str(error)[:300]}"]
            for line in wrong:
                print(source, group, label, line)
            bad += len(wrong)
    shutil.rmtree(folder)
for label, count in sorted(counts.items()):
    print(f"{label}: {count} compared")
print(sum(counts.values()), "facts,", bad, "different")
sys.exit(bad > 0)
