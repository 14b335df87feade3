#!/usr/bin/env python3
"""Arrays that zarr-python writes with random shapes, chunks, types and codecs, read by Gander.

    tests/zarr_judge.py BINARY [--cases 600] [--seed 1] [--keep DIR]

Needs zarr 3, numcodecs and ml_dtypes. Each array goes into one of four stores (version 2 and 3, folder and
ZIP); `gander stats --json` must give the checksum of what zarr-python reads back, and `gander show --slice`
the elements of random slices. Exit status 0 only when nothing differs.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

import ml_dtypes  # noqa: F401  (registers bfloat16 with numpy)
import numcodecs
import numpy as np
import zarr
from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec)
import zarr.codecs.numcodecs as nc

warnings.filterwarnings("ignore")

NUMBERS = ["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8", "<c8", "<c16"]
ODD = ["|S5", "<U3", ">U3", "|V3", "<M8[s]", "<m8[ms]"]
RECORD = np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "S3")])


def values(rng, dtype, shape):
    """Random elements, some of them runs so that compressors find something."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=int))
    if dtype.kind == "b":
        out = rng.integers(0, 2, size).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if rng.random() < 0.5 else (0, 100)
        out = rng.integers(low, high, size, dtype=np.int64 if dtype.kind == "i" else np.uint64).astype(dtype)
    elif dtype.kind == "f":
        out = (rng.standard_normal(size) * 100).astype(dtype)
        if size and rng.random() < 0.3:
            out[rng.integers(size)] = np.nan
    elif dtype.kind == "c":
        out = (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype(dtype)
    elif dtype.kind == "S":
        out = np.array([b"goose"[: rng.integers(6)] for _ in range(size)], dtype)
    elif dtype.kind == "U":
        out = np.array(["aé東"[: rng.integers(4)] for _ in range(size)], dtype)
    elif dtype.kind in "mM":
        out = rng.integers(-10**9, 10**9, size).astype("<i8").view(dtype)
    elif dtype.kind == "V" and dtype.names is None:
        out = np.frombuffer(rng.bytes(size * dtype.itemsize), dtype)
    else:
        out = np.zeros(size, dtype)
        out["a"], out["b"] = rng.integers(-9, 9, size), rng.standard_normal(size)
    if size > 4 and rng.random() < 0.5:
        out = out.copy()
        out[size // 3 : size // 2] = out[0]
    return out.reshape(shape)


def shape_of(rng):
    rank = int(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))
    most = {0: 1, 1: 200, 2: 40, 3: 12, 4: 6}[rank]
    shape = tuple(int(n) for n in rng.integers(1, most, rank))
    if rank and rng.random() < 0.03:
        shape = (0,) + shape[1:]
    return shape, tuple(int(rng.integers(max(1, n // 3), n + 3)) for n in shape)


def write_some(rng, array, data):
    """All of it, or a part, so that chunks are missing."""
    if data.ndim and 0 not in data.shape and rng.random() < 0.3:
        part = tuple(slice(int(rng.integers(0, n)), n) for n in data.shape)
        array[part] = data[part]
    else:
        array[...] = data


def compressor_v2(rng):
    pick = int(rng.integers(10))
    return [None, numcodecs.Zlib(1), numcodecs.GZip(1), numcodecs.BZ2(1), numcodecs.LZMA(preset=1), numcodecs.LZ4(), numcodecs.Zstd(1),
            numcodecs.Blosc(str(rng.choice(["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"][:5])), 5, int(rng.choice([0, 1, 2]))),
            numcodecs.Blosc("lz4", 5, 1), numcodecs.LZMA(format=3, filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}])][pick]


def filters_v2(rng, dtype):
    kind, size, text = dtype.kind, dtype.itemsize, dtype.str
    options = [None, None, [numcodecs.CRC32()], [numcodecs.Adler32()], [numcodecs.Fletcher32()], [numcodecs.CRC32C()] if hasattr(numcodecs, "CRC32C") else None,
               [numcodecs.Shuffle(max(size, 1))], [numcodecs.JenkinsLookup3()], [numcodecs.Base64()]]
    if kind in "iu":
        options += [[numcodecs.Delta(text)], [numcodecs.Delta(text), numcodecs.Shuffle(size)]]
        if size < 8:
            wide = text[0].replace("|", "<") + kind + str(size * 2)
            options += [[numcodecs.AsType(wide, text)], [numcodecs.Delta(text, wide)]]
    if kind == "f" and size > 2:
        options += [[numcodecs.FixedScaleOffset(1, 100, text, "<i4")], [numcodecs.Quantize(3, text)], [numcodecs.BitRound(8)], [numcodecs.AsType("<f2", text)], [numcodecs.Delta(text)]]
    if kind == "b":
        options += [[numcodecs.PackBits()], [numcodecs.PackBits(), numcodecs.CRC32()]]
    return options[int(rng.integers(len(options)))]


def case_v2(rng, root, name):
    shape, chunks = shape_of(rng)
    pick = rng.random()
    dtype = RECORD if pick < 0.08 else np.dtype(str(rng.choice(ODD if pick < 0.25 else NUMBERS)))
    filters = filters_v2(rng, dtype)
    numbers = dtype.kind in "iuf"
    fill = None if rng.random() < 0.2 else (7 if numbers else (True if dtype.kind == "b" else None))
    if dtype.kind == "f" and rng.random() < 0.3:
        fill = float(rng.choice([np.nan, np.inf, -np.inf, 0.1]))
    array = root.create_array(name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, order=str(rng.choice(["C", "F"])),
                              compressors=compressor_v2(rng), filters=filters, chunk_key_encoding={"name": "v2", "separator": str(rng.choice([".", "/"]))},
                              overwrite=True)
    if dtype == RECORD:
        array[...] = values(rng, dtype, shape)  # what null stands for in a record is zarr-python's own choice
    else:
        write_some(rng, array, values(rng, dtype, shape))
    return array


def bytes_v3(rng, dtype):
    size = max(dtype.itemsize, 1)
    pick = int(rng.integers(13))
    return [[], [GzipCodec(level=1)], [ZstdCodec(level=1, checksum=bool(rng.integers(2)))], [ZstdCodec(level=0)], [Crc32cCodec()],
            [ZstdCodec(level=3), Crc32cCodec()], [BloscCodec(typesize=min(size, 255), cname=str(rng.choice(["lz4", "zstd", "blosclz", "zlib", "lz4hc"])),
                                                             shuffle=str(rng.choice(["noshuffle", "shuffle", "bitshuffle"])))],
            [nc.Zlib(level=1)], [nc.BZ2(level=1)], [nc.LZ4()], [nc.LZMA(preset=1)], [nc.Shuffle(elementsize=size), GzipCodec(level=1)],
            [nc.Adler32(), nc.CRC32()]][pick]


def filters_v3(rng, dtype, rank):
    out = []
    if rank > 1 and rng.random() < 0.4:
        out.append(TransposeCodec(order=tuple(int(n) for n in rng.permutation(rank))))
    elif dtype.kind in "iu" and rng.random() < 0.2:
        out.append(nc.Delta(dtype=dtype.newbyteorder("<").str))
    elif dtype.kind == "f" and dtype.itemsize > 2 and rng.random() < 0.2:
        out.append(nc.FixedScaleOffset(offset=0, scale=100, dtype=dtype.newbyteorder("<").str, astype="<i4"))
    return out


def case_v3(rng, root, name):
    shape, chunks = shape_of(rng)
    pick = rng.random()
    if pick < 0.05:
        dtype = np.dtype([("a", "<i4"), ("b", "<f8")])
    else:
        dtype = np.dtype(str(rng.choice(ODD if pick < 0.2 else NUMBERS))).newbyteorder("<")
    big = str(rng.choice(["little", "big"])) if dtype.kind in "iufc" and dtype.itemsize > 1 else "little"
    filters = filters_v3(rng, dtype, len(shape))
    if any(not isinstance(f, TransposeCodec) for f in filters):
        big = "little"  # zarr-python hands big-endian elements to numcodecs as if they were little-endian
    inner = [*filters, BytesCodec(endian=big), *bytes_v3(rng, dtype)]
    fill = 7 if dtype.kind in "iuf" and rng.random() < 0.5 else None
    if dtype.kind == "f" and rng.random() < 0.3:
        fill = float(rng.choice([np.nan, np.inf, -np.inf, 0.1]))
    codecs, outer = inner, chunks
    if len(shape) and rng.random() < 0.4:
        where = str(rng.choice(["start", "end"]))
        levels = 2 if rng.random() < 0.25 else 1
        for _ in range(levels):
            codecs = [ShardingCodec(chunk_shape=outer, codecs=codecs, index_location=where)]
            outer = tuple(int(n * rng.integers(1, 4)) for n in outer)
        if rng.random() < 0.2:
            codecs = [*codecs, GzipCodec(level=1)]
    serializer = next(c for c in codecs if isinstance(c, (ShardingCodec, BytesCodec)))
    at = codecs.index(serializer)
    array = root.create_array(name, shape=shape, chunks=outer, dtype=dtype, fill_value=fill, filters=codecs[:at], serializer=serializer,
                              compressors=codecs[at + 1 :] or None, overwrite=True, config={"write_empty_chunks": bool(rng.integers(2))},
                              chunk_key_encoding={"name": str(rng.choice(["default", "v2"])), "separator": str(rng.choice([".", "/"]))})
    write_some(rng, array, values(rng, dtype, shape))
    return array


def checksum(data):
    data = np.ascontiguousarray(data)
    if data.dtype.names:
        data = data.astype([(n, data.dtype[n].newbyteorder("<")) for n in data.dtype.names])
    elif data.dtype.kind != "V":
        data = data.astype(data.dtype.newbyteorder("<"))
    return zlib.crc32(data.tobytes())


def run(binary, *arguments):
    done = subprocess.run([binary, *arguments, "--json"], capture_output=True, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.decode("utf-8", "replace")[-300:]}


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def zipped(folder):
    path = folder.with_name(folder.name + ".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            out.write(file, file.relative_to(folder).as_posix())
    return path


def judge(binary, store, expected, rng):
    """Lines about what differs."""
    wrong = []
    nodes = {n["path"].lstrip("/"): n for n in run(binary, "stats", str(store)).get("nodes", [])}
    for name, data in expected.items():
        node = nodes.get(name)
        if node is None or "error" in node:
            wrong.append(f"{store.name}#{name}: {node and node['error'] or 'not there'}")
        elif data.size and node.get("crc32") != checksum(data):
            wrong.append(f"{store.name}#{name}: the checksum differs ({data.dtype} {data.shape})")
    whole = [name for name, data in expected.items() if data.dtype.kind in "iu" and data.ndim and data.size]
    for name in rng.sample(whole, min(20, len(whole))):
        data = expected[name]
        bounds = []
        for n in data.shape:
            start = rng.randrange(n)
            bounds.append((start, rng.randint(start + 1, n), rng.randint(1, 3)))
        text = ",".join(f"{a}:{b}:{s}" for a, b, s in bounds)
        got = run(binary, "show", f"{store}#/{name}", "--slice", text).get("values")
        want = [str(x) for x in data[tuple(slice(*b) for b in bounds)].ravel().tolist()]
        if got is None or [str(x) for x in flat(got)][: len(want)] != want[: len(flat(got))]:
            wrong.append(f"{store.name}#{name}[{text}]: other elements")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng, pick = np.random.default_rng(arguments.seed), random.Random(arguments.seed)
    base = Path(arguments.keep or tempfile.mkdtemp(prefix="zarr_judge"))
    base.mkdir(parents=True, exist_ok=True)
    wrong, total, skipped = [], 0, 0
    for version, case in ((2, case_v2), (3, case_v3)):
        folder = base / f"v{version}.zarr"
        root = zarr.open_group(folder, mode="w", zarr_format=version)
        expected = {}
        for n in range(arguments.cases // 2):
            name = f"a{n}"
            try:
                array = case(rng, root, name)
                data = np.asarray(array[...], dtype=array.dtype)
                expected[name] = data
            except Exception as error:  # what zarr-python itself cannot write or read back is no case
                skipped += 1
                if skipped <= 8:
                    print(f"skipped v{version} {name}: {type(error).__name__}: {str(error)[:150]}", file=sys.stderr)
                shutil.rmtree(folder / name, ignore_errors=True)
        if version == 3 or arguments.seed % 2:
            zarr.consolidate_metadata(folder, zarr_format=version)
        for store in (folder, zipped(folder)):
            wrong += judge(arguments.binary, store, expected, pick)
            total += len(expected)
    print("\n".join(wrong))
    print(f"{total} arrays, {len(wrong)} differ, {skipped} that zarr-python does not write itself")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
