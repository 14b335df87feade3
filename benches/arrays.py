#!/usr/bin/env python3
"""Measures arrays in chunks beside h5py, netCDF4, zarr, tensorstore and z5py, in one run, turn by turn.

    arrays.py [--gander …] [--data benches/data] [--only hdf5,zarr] [--repeat 5] [--out benches/README.md]

The data come from make_arrays.py; measure.py says how things are measured. Gander's times inside the process
are those of the library (`cargo bench --bench one --no-run` builds the program that takes them); each reads
into fresh memory, as the peers do, from a file that was just opened.
"""

from pathlib import Path

from measure import Case, main, peer, program

PLACES = """
def place(n, end): return (n * 2654435761) % end
def spots(planes, rows, columns, beside=0):
    for n in range(1, 21):
        z, y, x = place(n, planes // 16) * 16 + beside, place(n + 100, rows - 256), place(n + 200, columns - 256)
        yield (z, slice(y, y + 256), slice(x, x + 256))
"""
TENSORSTORE = """
import tensorstore as ts
context = ts.Context({'cache_pool': {'total_bytes_limit': 268435456}})
a = ts.open({'driver': '{driver}', 'kvstore': {'driver': 'file', 'path': '{path}'}}, context=context).result()
"""


def access(group, who, setup, a, planes, size):
    """The three reads that every library can do: `a` is an expression for the array."""
    got = "[s].read().result()" if who == "tensorstore" else "[s]"
    whole = f"r = {a}.read().result()" if who == "tensorstore" else f"r = {a}[...]"
    first = f"r = [{a}{got} for s in spots({planes}, 1024, 1024)]"
    # Only the neighbour counts: what the slice before it takes is added to the beginning.
    beside = f"""for first, s in zip(spots({planes}, 1024, 1024), spots({planes}, 1024, 1024, 1)):
    b = time.perf_counter()
    {a}{got.replace('[s]', '[first]')}
    _t += time.perf_counter() - b
    {a}{got}"""
    return [
        peer(group, "all of it", who, setup, whole, work=size),
        peer(group, "20 random slices of 256 x 256", who, PLACES + setup, first),
        peer(group, "20 neighbours of such slices", who, PLACES + setup, beside),
    ]


def ours(group, path, node, size):
    one = program("one")
    return [
        Case(group, "all of it", "gander", [one, "full", path, node], work=size),
        Case(group, "all of it", "gander, one thread", [one, "full", path, node, "1"], work=size),
        Case(group, "20 random slices of 256 x 256", "gander", [one, "slices", path, node]),
        Case(group, "20 neighbours of such slices", "gander", [one, "neighbours", path, node]),
    ]


def cube(name, node, peers):
    """Cases of one file of make_arrays.py; `peers` are (who, setup, array) with {path} in it."""

    def cases(_, data):
        path = data / name
        planes = 1024 if "4gb" in name else 128
        size = planes * 1024 * 1024 * 4
        group = f"{name}: float32, chunks of 16 x 128 x 128"
        out = ours(group, path, node, size)
        for who, setup, array in peers:
            out += access(group, who, setup.replace("{path}", str(path)), array, planes, size)
        order = ["all of it", "20 random slices of 256 x 256", "20 neighbours of such slices"]
        return sorted(out, key=lambda case: order.index(case.what))

    return cases


H5PY = ("h5py", "import h5py\na = h5py.File('{path}')['cube']", "a")
NETCDF = ("netCDF4", "import netCDF4\nf = netCDF4.Dataset('{path}')\na = f['cube']\na.set_auto_maskandscale(False)", "a")
ZARR = ("zarr 3", "import zarr\na = zarr.open_array('{path}', mode='r')", "a")
Z5PY = ("z5py, 2 threads", "import z5py\na = z5py.File('{path}', 'r', use_zarr_format=False)['cube']\na.n_threads = 2", "a")
ZARR_TS = ("tensorstore", TENSORSTORE.replace("{driver}", "zarr3").replace("{path}", "{path}/"), "a")
# N5 counts the fastest dimension first, and tensorstore with it.
N5_TS = ("tensorstore", TENSORSTORE.replace("{driver}", "n5").replace("{path}", "{path}/cube/") + "a = a[ts.d[:].transpose[::-1]]", "a")


def many_cases(_, data):
    path, group = data / "many_datasets.h5", "HDF5, 100,000 datasets in one group"
    h5py = f"f = h5py.File({str(path)!r})\ng = f['all']\n"
    first = "import itertools\nr = [(k, g[k].shape, g[k].dtype) for k in itertools.islice(g, 100)]"
    return [
        Case(group, "open and list 100 with their shapes", "gander", [program("one"), "children", path, "/all"]),
        peer(group, "open and list 100 with their shapes", "h5py", "import h5py", h5py + first),
        peer(group, "list all with their shapes", "h5py", "import h5py", h5py + "r = [(k, v.shape, v.dtype) for k, v in g.items()]"),
        Case(group, "list all with their shapes", "h5dump -H", ["h5dump", "-H", path]),
    ]


GROUPS = {
    "hdf5": (cube("cube_512mb.h5", "/cube", [H5PY]), "cube_512mb.h5"),
    "hdf5-large": (cube("cube_4gb.h5", "/cube", [H5PY]), "cube_4gb.h5"),
    "netcdf": (cube("cube_512mb.nc", "/cube", [NETCDF]), "cube_512mb.nc"),
    "zarr": (cube("cube_512mb.zarr", "", [ZARR_TS, ZARR]), "cube_512mb.zarr"),
    "zarr-large": (cube("cube_4gb.zarr", "", [ZARR_TS, ZARR]), "cube_4gb.zarr"),
    "n5": (cube("cube_512mb.n5", "cube", [N5_TS, Z5PY]), "cube_512mb.n5"),
    "many": (many_cases, "many_datasets.h5"),
}


if __name__ == "__main__":
    main(GROUPS, __doc__, Path(__file__).stem)
