#!/usr/bin/env python3
"""N5 arrays that zarr 2, z5py and tensorstore write with random shapes, blocks, types and codecs, read by Gander.

    tests/n5_judge.py BINARY [--cases 600] [--seed 1] [--keep DIR]

Needs zarr 2 (2.18), z5py, tensorstore and numcodecs. `gander stats --json` must give the checksum of what the
library that wrote an array reads back, and `gander show --slice` the elements of random slices; lists of
variable length are z5py's. Exit status 0 only when nothing differs.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numcodecs
import numpy as np
import tensorstore
import z5py
import zarr

warnings.filterwarnings("ignore")
NUMBERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]


def values(rng, dtype, shape):
    """Random elements, some of them runs so that compressors find something."""
    dtype, size = np.dtype(dtype), int(np.prod(shape, dtype=int))
    if dtype.kind == "f":
        out = (rng.standard_normal(size) * 100).astype(dtype)
        if size and rng.random() < 0.3:
            out[rng.integers(size)] = rng.choice([np.nan, np.inf, -np.inf])
    else:
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if rng.random() < 0.5 else (0, 100)
        out = rng.integers(low, high, size, dtype=np.int64 if dtype.kind == "i" else np.uint64).astype(dtype)
    if size > 4 and rng.random() < 0.5:
        out[size // 3 : size // 2] = out[0]
    return out.reshape(shape)


def shape_of(rng):
    rank = int(rng.choice([1, 1, 2, 2, 3, 3, 4]))
    most = {1: 200, 2: 40, 3: 12, 4: 6}[rank]
    shape = tuple(int(n) for n in rng.integers(1, most, rank))
    return shape, tuple(int(rng.integers(max(1, n // 3), n + 3)) for n in shape)


def part_of(rng, shape):
    """All of it, or a part, so that blocks are missing."""
    if rng.random() < 0.3:
        return tuple(slice(int(rng.integers(0, n)), n) for n in shape)
    return tuple(slice(0, n) for n in shape)


def by_zarr(rng, folder, name):
    shape, blocks = shape_of(rng)
    dtype = np.dtype(str(rng.choice(NUMBERS)))
    pick = int(rng.integers(8))
    compressor = [None, numcodecs.GZip(1), numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZMA(preset=1), numcodecs.Zstd(1),
                  numcodecs.Blosc(str(rng.choice(["lz4", "zstd", "blosclz", "zlib", "lz4hc"])), 5, int(rng.choice([0, 1, 2]))), numcodecs.GZip(9)][pick]
    root = zarr.open_group(zarr.N5Store(str(folder)), mode="a")
    array = root.create_dataset(name, shape=shape, chunks=blocks, dtype=dtype, compressor=compressor, overwrite=True)
    part = part_of(rng, shape)
    array[part] = values(rng, dtype, shape)[part]
    return array[...]


def by_z5(rng, folder, name):
    shape, blocks = shape_of(rng)
    blocks = tuple(min(a, b) for a, b in zip(blocks, shape))
    dtype = np.dtype(str(rng.choice(NUMBERS)))
    with z5py.File(str(folder), "a", use_zarr_format=False) as file:
        codec = str(rng.choice(["raw", "gzip", "bzip2", "xz", "lz4", "blosc"]))
        array = file.create_dataset(name, shape=shape, chunks=blocks, dtype=dtype, compression=codec)
        part = part_of(rng, shape)
        array[part] = np.ascontiguousarray(values(rng, dtype, shape)[part])
        return array[...]


def by_tensorstore(rng, folder, name):
    shape, blocks = shape_of(rng)
    dtype = np.dtype(str(rng.choice(NUMBERS)))
    pick = int(rng.integers(6))
    compression = [{"type": "raw"}, {"type": "gzip", "level": 1}, {"type": "gzip", "useZlib": True}, {"type": "bzip2"}, {"type": "xz"},
                   {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": int(rng.integers(3))}][pick]
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": str(folder / name)},
            "metadata": {"dataType": dtype.name, "dimensions": list(shape), "blockSize": list(blocks), "compression": compression}}
    array = tensorstore.open(spec, create=True, open=True).result()
    part = part_of(rng, shape)
    array[part] = values(rng, dtype, shape)[part]
    # Its dimensions are in the file's order; ours, as zarr's and z5py's, are turned round.
    return np.transpose(array[...].read().result())


def lists(rng, folder, name):
    """Blocks of variable length, and what each holds."""
    shape, blocks = shape_of(rng)
    blocks = tuple(min(a, b) for a, b in zip(blocks, shape))
    dtype = np.dtype(str(rng.choice(NUMBERS)))
    grid = tuple(-(-n // b) for n, b in zip(shape, blocks))
    found = {}
    with z5py.File(str(folder), "a", use_zarr_format=False) as file:
        array = file.create_dataset(name, shape=shape, chunks=blocks, dtype=dtype, compression=str(rng.choice(["raw", "gzip"])))
        for at in np.ndindex(*grid):
            if rng.random() < 0.8:
                # As many values as the block has room for would make it a common block.
                room = int(np.prod(blocks))
                count = int(rng.choice([n for n in range(1, 2 * room + 3) if n != room]))
                found[at] = values(rng, dtype, (count,))
                array.write_chunk(at, found[at], True)
                assert (array.read_chunk(at) == found[at]).all() or dtype.kind == "f"
    return [found.get(at) for at in np.ndindex(*grid)] if found else None


def run(binary, *arguments):
    done = subprocess.run([binary, *arguments, "--json"], capture_output=True, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.decode("utf-8", "replace")[-300:]}


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def slices(binary, store, name, data, pick):
    bounds = []
    for n in data.shape:
        start = pick.randrange(n)
        bounds.append((start, pick.randint(start + 1, n), pick.randint(1, 3)))
    text = ",".join(f"{a}:{b}:{s}" for a, b, s in bounds)
    got = run(binary, "show", f"{store}#/{name}", "--slice", text).get("values")
    want = [str(x) for x in data[tuple(slice(*b) for b in bounds)].ravel().tolist()]
    if got is None or [str(x) for x in flat(got)][: len(want)] != want[: len(flat(got))]:
        return [f"{store.name}#{name}[{text}]: other elements"]
    return []


def judge(binary, store, expected, pick):
    """Lines about what differs."""
    wrong = []
    nodes = {n["path"].lstrip("/"): n for n in run(binary, "stats", str(store)).get("nodes", [])}
    for name, data in expected.items():
        node = nodes.get(name)
        crc = zlib.crc32(np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<")).tobytes())
        if node is None or "error" in node:
            wrong.append(f"{store.name}#{name}: {node and node['error'] or 'not there'}")
        elif node.get("crc32") != crc:
            wrong.append(f"{store.name}#{name}: the checksum differs ({data.dtype} {data.shape})")
    whole = [name for name, data in expected.items() if data.dtype.kind in "iu"]
    for name in pick.sample(whole, min(20, len(whole))):
        wrong += slices(binary, store, name, expected[name], pick)
    return wrong


def judge_lists(binary, store, expected):
    wrong = []
    for name, rows in expected.items():
        got = run(binary, "show", f"{store}#/{name}")
        cells = got.get("values") or []
        for _ in got.get("shape", [0])[1:]:
            cells = [cell for part in cells for cell in part]
        for n, want in enumerate(rows[: len(cells)]):
            cell = cells[n]
            same = cell is None if want is None else cell is not None and len(cell) == len(want) and all(
                want.dtype.type(a) == b or b != b and a == "nan" for a, b in zip(cell, want))
            if not same:
                wrong.append(f"{store.name}#{name}: list {n} is {str(cell)[:80]}, not {str(want)[:80]}")
        if not cells:
            wrong.append(f"{store.name}#{name}: nothing is shown")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng, pick = np.random.default_rng(arguments.seed), random.Random(arguments.seed)
    base = Path(arguments.keep or tempfile.mkdtemp(prefix="n5_judge"))
    wrong, total, skipped = [], 0, 0
    writers = {"zarr": by_zarr, "z5": by_z5, "tensorstore": by_tensorstore, "lists": lists}
    for word, write in writers.items():
        store, expected = base / f"{word}.n5", {}
        store.mkdir(parents=True, exist_ok=True)
        (store / "attributes.json").write_text('{"n5": "2.0.0"}')
        for n in range(arguments.cases // 3 if word != "lists" else arguments.cases // 20):
            try:
                data = write(rng, store, f"a{n}")
                if data is not None:
                    expected[f"a{n}"] = data
            except Exception as error:  # what a library itself cannot write or read back is no case
                skipped += 1
                if skipped <= 8:
                    print(f"skipped {word} a{n}: {type(error).__name__}: {str(error)[:150]}", file=sys.stderr)
                shutil.rmtree(store / f"a{n}", ignore_errors=True)
        wrong += judge_lists(arguments.binary, store, expected) if word == "lists" else judge(arguments.binary, store, expected, pick)
        total += len(expected)
    if not arguments.keep:
        shutil.rmtree(base, ignore_errors=True)
    print("\n".join(wrong))
    print(f"{total} arrays, {len(wrong)} differ, {skipped} that the libraries do not write themselves")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
