#!/usr/bin/env python3
"""Makes the arrays that the benchmarks read (about 13 GB on disk; skips what exists).

    make_arrays.py [DIR] [--only NAME,NAME]

Wants h5py, netCDF4, zarr 3, tensorstore and z5py. All hold the same values: float32 noise on a slope,
so that compression has something to do.

    cube_512mb.h5     128 x 1024 x 1024, chunks 16 x 128 x 128, gzip 4 and shuffle
    cube_4gb.h5       1024 x 1024 x 1024, the same
    cube_512mb.nc     NetCDF-4, zlib 4 and shuffle
    cube_512mb.zarr   Zarr 3, Zstandard 3 with Blosc's shuffle; cube_4gb.zarr
    cube_512mb.n5     N5, gzip; many_datasets.h5: 100,000 datasets in one group
    huge.h5           100,000 x 100,000 uint8, chunks 1000 x 1000, gzip 1
"""

from functools import partial

import numpy as np
from measure import make

CHUNK = (16, 128, 128)
SLABS = {"512mb": 128, "4gb": 1024}


def slab(first):
    """Planes [first, first + 16) of the cube."""
    rng = np.random.default_rng([7, first])
    z, y, x = np.mgrid[first : first + 16, 0:1024, 0:1024].astype(np.float32)
    wave = np.sin(x / 40) * np.cos(y / 60) + z / 100
    return (np.round((wave + rng.normal(0, 0.01, wave.shape)) * 4096) / 4096).astype(np.float32)


def fill(write, planes):
    for first in range(0, planes, 16):
        write(first, slab(first))


def hdf5(path, planes):
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("cube", (planes, 1024, 1024), "f4", chunks=CHUNK, compression="gzip", compression_opts=4, shuffle=True)
        fill(lambda first, part: data.write_direct(np.ascontiguousarray(part), dest_sel=np.s_[first : first + 16]), planes)


def netcdf(path, planes):
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for name, size in zip("zyx", (planes, 1024, 1024)):
            file.createDimension(name, size)
        data = file.createVariable("cube", "f4", ("z", "y", "x"), zlib=True, complevel=4, shuffle=True, chunksizes=CHUNK)
        fill(lambda first, part: data.__setitem__(np.s_[first : first + 16], part), planes)


def zarr3(path, planes):
    import zarr

    blosc = zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle")
    data = zarr.create_array(str(path), shape=(planes, 1024, 1024), chunks=CHUNK, dtype="f4", compressors=blosc)
    fill(lambda first, part: data.__setitem__(np.s_[first : first + 16], part), planes)


def n5(path, planes):
    import z5py

    with z5py.File(str(path), "w", use_zarr_format=False) as file:
        data = file.create_dataset("cube", shape=(planes, 1024, 1024), chunks=CHUNK, dtype="float32", compression="gzip", level=4)
        data.n_threads = 2
        fill(lambda first, part: data.__setitem__(np.s_[first : first + 16], part), planes)


def many(path):
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        group = file.create_group("all")
        for n in range(100_000):
            group.create_dataset(f"dataset_{n:06}", data=np.float32([n, n + 1]))


def huge(path):
    import h5py

    tile = np.add.outer(np.arange(1000), np.arange(1000)).astype("u1")
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("huge", (100_000, 100_000), "u1", chunks=(1000, 1000), compression="gzip", compression_opts=1)
        # Compressed once, stored often: the chunks differ in nothing, but each is read and inflated.
        import zlib

        packed = zlib.compress(tile.tobytes(), 1)
        for row in range(0, 100_000, 1000):
            for column in range(0, 100_000, 1000):
                data.id.write_direct_chunk((row, column), packed)


MADE = {
    "cube_512mb.h5": partial(hdf5, planes=SLABS["512mb"]),
    "cube_4gb.h5": partial(hdf5, planes=SLABS["4gb"]),
    "cube_512mb.nc": partial(netcdf, planes=SLABS["512mb"]),
    "cube_512mb.zarr": partial(zarr3, planes=SLABS["512mb"]),
    "cube_4gb.zarr": partial(zarr3, planes=SLABS["4gb"]),
    "cube_512mb.n5": partial(n5, planes=SLABS["512mb"]),
    "many_datasets.h5": many,
    "huge.h5": huge,
}


if __name__ == "__main__":
    make(MADE, __doc__)
