"""Whether xarray decodes the same values, dimensions and attributes of a NetCDF file or Zarr store and of what Gander
made of it: HDF5 and NetCDF-4 by two libraries each, NetCDF classic, Zarr. Wants xarray, h5netcdf, netCDF4, scipy and
zarr: `xarray_judge.py GANDER SOURCE…`. Groups are compared one by one where both sides have them.

HDF5's name of a dimension that can have no scale, since an array of its name lies along others, is a label (H5DS), which
xarray does not read: h5py does. JSON has no NaN: in Zarr it is text, and the loss report has to say so."""
import collections, json, os, shutil, subprocess, sys, tempfile, warnings

import h5py
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
    if a.dtype.names and b.dtype.names:
        return a.dtype.names == b.dtype.names and all(same(a[name], b[name]) for name in a.dtype.names)
    if a.dtype.kind == "S" and a.dtype.itemsize == 1 and a.ndim == b.ndim + 1:
        # Characters, the last dimension of which is text.
        b = np.array([list(str(x).ljust(a.shape[-1], "\0")) for x in b.ravel()]).reshape(a.shape)
        return all(chr(x[0]) == (y or "\0") if x else y in ("", "\0") for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return a.shape == b.shape and all(word(x) == word(y) for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "mM":
        return a.shape == b.shape and bool(((a == b) | (np.isnat(a) & np.isnat(b.astype(a.dtype)))).all())
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-12 if a.dtype == b.dtype else 1e-6, equal_nan=True)


def same_attribute(a, b, is_told=False):
    if is_told and np.asarray(a).dtype.kind == "f" and not isinstance(b, str):
        return np.array_equal(np.atleast_1d(a), np.array([float(x) for x in np.atleast_1d(b)], np.asarray(a).dtype), equal_nan=True)
    if isinstance(a, (list, tuple)) and isinstance(b, str):
        return b.split() == [str(x) for x in a] or b == str(list(a)).replace("'", '"').replace(", ", ",")
    if isinstance(a, str) and isinstance(b, str) and "\ufffd" in a:
        # No UTF-8: xarray does not know these bytes, for Gander they are Latin-1.
        return len(a) == len(b) and all(x == y or x == "\ufffd" for x, y in zip(a, b))
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


def labels_of(path, group):
    """The labels of dimensions that have no scales, by dataset."""
    with h5py.File(path) as file:
        sets = {name: x for name, x in file[group or "/"].items() if isinstance(x, h5py.Dataset)}
        return {name: tuple(d.label for d in x.dims) for name, x in sets.items() if "DIMENSION_LABELS" in x.attrs}


def compare(label, a, b, flat, labels, told_of):
    """What differs; `flat` is what names begin with where there are no groups, `told_of` the attributes of which losses are told."""
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
        dims = labels.get(other, y.dims)
        # Characters become texts, which lie along one dimension less.
        is_text = x.dtype.kind == "S" and x.dtype.itemsize == 1 and x.ndim == y.ndim + 1
        if not flat and (x.dims[:-1] if is_text else x.dims) != dims:
            yield f"{name}: dimensions {x.dims} -> {dims}"
        if not same(x.values, y.values):
            yield f"{name}: {x.dtype} {x.values.ravel()[:3]} -> {y.dtype} {y.values.ravel()[:3]}"
        there = {k: v for k, v in y.attrs.items() if k != "DIMENSION_LABELS" or other not in labels}
        told = {k: (v, there.get(k)) for k, v in x.attrs.items() if k not in there or not same_attribute(v, there[k], k in told_of)}
        new = set(there) - set(x.attrs)
        if told or new:
            yield f"{name}: attributes {told}, new {new}"
        if name in a.coords and other not in b.coords and not flat and other not in labels:
            yield f"{name} is no coordinate"
    counts[label] += 1
    told = {k: (v, b.attrs.get(k)) for k, v in a.attrs.items() if k not in b.attrs or not same_attribute(v, b.attrs[k], k in told_of)}
    new = {k for k in b.attrs if k not in a.attrs and "__" not in k}
    if not flat and (told or new):
        yield f"attributes of all: {told}, new {new}"


for source in sys.argv[2:]:
    folder = tempfile.mkdtemp()
    for target, ending, kw in TARGETS:
        out, label = f"{folder}/out.{ending}", f"{target} by {kw['engine']}"
        if not os.path.exists(out):
            command = [gander, "convert", source, out, "--to", target, "--allow-loss", "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            if "there is nothing in it to convert" in done.stderr:
                continue
            if done.returncode:
                is_refused = ": unsupported: " in done.stderr
                print(source, target, "refused:" if is_refused else "FAILED:", done.stderr[:300])
                counts["refused with a sentence"] += is_refused
                bad += not is_refused
                continue
            told_of = {loss["subject"] for loss in json.loads(done.stdout)["losses"] if loss["kind"] == "attribute"}
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
                labels = labels_of(out, group) if target == "hdf5" else {}
                wrong = list(compare(label, a, b, flat, labels, told_of))
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
