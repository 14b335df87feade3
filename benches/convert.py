#!/usr/bin/env python3
"""Measures conversions beside other programs and beside a copy that is on the disk, in one run, turn by turn.

    convert.py [--gander target/release/gander] [--data benches/data] [--only csv,parquet,jsonl,torch,npz,hdf5]
            [--repeat 5] [--out benches/README.md]

Needs a Python with duckdb, h5py, numpy, pyarrow and zarr. trips.csv comes from make_data.py; the rest is made in the data
folder where it is not there (`convert.py --make DIR` only makes it): the same as Parquet, 1 GB of JSON Lines, a checkpoint of
4 GB as `torch.save` lays it out, an npz of 1 GB, an HDF5 file of 1 GB of numbers compressed by gzip. Gander does not read back
(`--no-verify`), so that all do the same; `cp` is followed by `sync` of the file. measure.py says how things are measured.
"""

import os
import pickle
import sys
import zipfile
from pathlib import Path

from measure import Case, main, make, peer

INTO = Path(os.environ.get("TMPDIR", "/tmp")) / "gander-bench-convert"
SIDE = 4096


def parquet(path):
    import duckdb

    source = path.parent / "trips.csv"
    duckdb.sql(f"copy (from read_csv('{source}')) to '{path}' (format parquet, compression zstd)")


def jsonl(path):
    import duckdb

    source = path.parent / "trips.csv"
    duckdb.sql(f"copy (from read_csv('{source}') limit 5500000) to '{path}' (format json)")


def torch(path):
    """32 matrices of 128 MB in a ZIP archive beside the pickle that names them."""
    import numpy as np

    class Storage:
        def __init__(self, key, count):
            self.key, self.count = key, count

    class Pickler(pickle._Pickler):
        def persistent_id(self, what):
            return ("storage", Global("torch", "FloatStorage"), what.key, "cpu", what.count) if isinstance(what, Storage) else None

        def save(self, what, save_persistent_id=True):
            if isinstance(what, Global):
                self.write(b"c" + what.module.encode() + b"\n" + what.name.encode() + b"\n")
            elif isinstance(what, Tensor):
                self.save(Global("torch._utils", "_rebuild_tensor_v2"))
                self.save((Storage(what.key, what.rows * what.columns), 0, (what.rows, what.columns), (what.columns, 1), False, {}))
                self.write(b"R")
            else:
                super().save(what, save_persistent_id)

    class Global:
        def __init__(self, module, name):
            self.module, self.name = module, name

    class Tensor:
        def __init__(self, key, rows, columns):
            self.key, self.rows, self.columns = key, rows, columns

    tensors = {f"layers.{n}.weight": Tensor(str(n), 2 * SIDE, SIDE) for n in range(32)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        import io

        text = io.BytesIO()
        Pickler(text, 2).dump(tensors)
        archive.writestr("model/data.pkl", text.getvalue())
        archive.writestr("model/byteorder", "little")
        random = np.random.default_rng(1)
        for tensor in tensors.values():
            with archive.open(f"model/data/{tensor.key}", "w", force_zip64=True) as out:
                for _ in range(8):
                    out.write(random.standard_normal((tensor.rows // 8, tensor.columns), dtype="f4").tobytes())
        archive.writestr("model/version", "3\n")


def npz(path):
    import numpy as np

    random = np.random.default_rng(2)
    with path.open("wb") as out:
        np.savez(out, **{f"layer{n}": random.standard_normal((SIDE, SIDE), dtype="f4") for n in range(16)})


def hdf5(path):
    import h5py
    import numpy as np

    random = np.random.default_rng(3)
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", (256, 1024, 1024), "f4", chunks=(8, 256, 256), compression="gzip", compression_opts=4)
        for at in range(0, 256, 8):
            data[at : at + 8] = np.round(random.standard_normal((8, 1024, 1024), dtype="f4"), 2)


MADE = {"converted.parquet": parquet, "trips_1gb.jsonl": jsonl, "model_4gb.pth": torch, "layers_1gb.npz": npz, "gzip_1gb.h5": hdf5}


def gander_case(group, what, gander, source, ending, *more):
    out = f"{INTO}.{ending}"
    words = " ".join(more)
    return Case(group, what, "gander", ["sh", "-c", f"rm -rf '{out}'; exec '{gander}' convert '{source}' '{out}' --no-verify {words}"], work=size(source))


def copy_case(group, source):
    out = f"{INTO}.copy"
    return Case(group, "copy, on the disk", "cp, sync", ["sh", "-c", f"rm -f '{out}'; cp '{source}' '{out}' && exec sync '{out}'"], work=size(source))


def size(path):
    return path.stat().st_size


def csv_cases(gander, data):
    path, group = data / "trips.csv", "2 GB CSV to Parquet, zstd"
    return [
        gander_case(group, "CSV to Parquet", gander, path, "parquet"),
        peer(group, "CSV to Parquet", "duckdb", "import duckdb", f"duckdb.sql(\"copy (from read_csv('{path}')) to '{INTO}.peer.parquet' (format parquet, compression zstd)\")", work=size(path)),
        copy_case(group, path),
    ]


def parquet_cases(gander, data):
    path, group = data / "converted.parquet", "Parquet to 2 GB CSV"
    return [
        gander_case(group, "Parquet to CSV", gander, path, "csv"),
        peer(group, "Parquet to CSV", "duckdb", "import duckdb", f"duckdb.sql(\"copy (from read_parquet('{path}')) to '{INTO}.peer.csv'\")", work=size(path)),
        gander_case(group, "Parquet to Arrow IPC", gander, path, "arrow"),
        copy_case(group, path),
    ]


def jsonl_cases(gander, data):
    path, group = data / "trips_1gb.jsonl", "1 GB JSON Lines to Parquet"
    return [
        gander_case(group, "JSON Lines to Parquet", gander, path, "parquet"),
        peer(group, "JSON Lines to Parquet", "duckdb", "import duckdb", f"duckdb.sql(\"copy (from read_json('{path}')) to '{INTO}.peer.parquet' (format parquet, compression zstd)\")", work=size(path)),
        copy_case(group, path),
    ]


def torch_cases(gander, data):
    path, group = data / "model_4gb.pth", "4 GB checkpoint to safetensors"
    return [gander_case(group, ".pth to safetensors", gander, path, "safetensors"), copy_case(group, path)]


def npz_cases(gander, data):
    path, group = data / "layers_1gb.npz", "1 GB npz to safetensors"
    code = f"a = np.load({str(path)!r})\nsave_file({{k: a[k] for k in a.files}}, '{INTO}.peer.safetensors')\nos.fsync(os.open('{INTO}.peer.safetensors', os.O_RDONLY))"
    return [
        gander_case(group, "npz to safetensors", gander, path, "safetensors"),
        peer(group, "npz to safetensors", "numpy, safetensors", "import os, numpy as np\nfrom safetensors.numpy import save_file", code, work=size(path)),
        copy_case(group, path),
    ]


def hdf5_cases(gander, data):
    path, group = data / "gzip_1gb.h5", "1 GB in HDF5 (gzip) to Zarr"
    code = f"shutil.rmtree('{INTO}.peer.zarr', ignore_errors=True)\nf = h5py.File({str(path)!r})['x']\nz = zarr.create_array('{INTO}.peer.zarr', shape=f.shape, chunks=f.chunks, dtype=f.dtype)\nfor i in range(0, 256, 8):\n    z[i:i + 8] = f[i:i + 8]"
    return [
        gander_case(group, "HDF5 to Zarr", gander, path, "zarr"),
        peer(group, "HDF5 to Zarr", "h5py, zarr-python", "import shutil, h5py, zarr", code, work=1 << 30),
        copy_case(group, path),
    ]


GROUPS = {
    "csv": (csv_cases, "trips.csv"),
    "parquet": (parquet_cases, "converted.parquet"),
    "jsonl": (jsonl_cases, "trips_1gb.jsonl"),
    "torch": (torch_cases, "model_4gb.pth"),
    "npz": (npz_cases, "layers_1gb.npz"),
    "hdf5": (hdf5_cases, "gzip_1gb.h5"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        del sys.argv[1]
        make(MADE, __doc__)
    else:
        main(GROUPS, __doc__, "conversions")
