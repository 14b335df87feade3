#!/usr/bin/env python3
"""Chunked stores that Gander writes with random options from random arrays, read by the formats' libraries.

    tests/chunk_judge.py BINARY [--cases 60] [--seed 1] [--keep DIR] [FILE...]

Zarr of both versions by zarr-python (2.18 or 3), N5 by zarr-python 2.18 and tensorstore, Zarr by tensorstore too, the
chunks of Bloscpack by numcodecs and whole files by bloscpack: whatever is installed judges. Elements must be equal bit for
bit, rounded ones to what numcodecs' BitRound gives. FILEs (.npy, .npz) are written by every target too. Exit status 0
only when nothing differs.
"""

import argparse
import collections
import collections.abc
import importlib.util
import itertools
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numcodecs
import numpy as np

warnings.filterwarnings("ignore")
collections.MutableMapping = collections.abc.MutableMapping  # bloscpack 0.16 was written for Python 3.9


def optional(name):
    return __import__(name) if importlib.util.find_spec(name) else None


zarr, tensorstore, bloscpack = optional("zarr"), optional("tensorstore"), optional("bloscpack")
has_pcodec = importlib.util.find_spec("pcodec") is not None
ZARR3 = zarr is not None and zarr.__version__.startswith("3")

NUMBERS = ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", ">i4", ">f8"]
ODD = ["|S5", "<U3", "|V3", "<M8[s]", "<m8[ms]"]
RECORD = np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "S3")])
N5 = ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"]


def values(rng, dtype, shape):
    """Random elements, some of them runs or small so that compressors find something."""
    dtype, size = np.dtype(dtype), int(np.prod(shape, dtype=int))
    kind = dtype.kind
    if kind == "b":
        out = rng.integers(0, 2, size).astype(bool)
    elif kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if rng.random() < 0.3 else (0, 100)
        out = rng.integers(low, high, size, dtype=np.int64 if kind == "i" else np.uint64).astype(dtype)
        if rng.random() < 0.4:
            out = np.cumsum(out, dtype=dtype)
    elif kind == "f":
        out = (rng.standard_normal(size) * 100).astype(dtype)
        if size and rng.random() < 0.3:
            out[rng.integers(size)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    elif kind == "c":
        out = (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype(dtype)
    elif kind == "S":
        out = np.array([b"goose"[: rng.integers(6)] for _ in range(size)], dtype)
    elif kind == "U":
        out = np.array(["aé東"[: rng.integers(4)] for _ in range(size)], dtype)
    elif kind in "mM":
        out = rng.integers(-10**9, 10**9, size).astype("<i8").view(dtype)
    elif dtype.names is None:
        out = np.frombuffer(rng.bytes(size * dtype.itemsize), dtype)
    else:
        out = np.zeros(size, dtype)
        out["a"], out["b"] = rng.integers(-9, 9, size), rng.standard_normal(size)
    if size > 4 and rng.random() < 0.5:
        out = out.copy()
        out[size // 3 : size // 2] = out[0] if rng.random() < 0.5 else np.zeros(1, dtype)[0]
    out = out.reshape(shape)
    return np.asfortranarray(out) if rng.random() < 0.3 else out


def shape_of(rng, least=0):
    rank = int(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))
    rank = max(rank, least)
    most = {0: 1, 1: 3000, 2: 90, 3: 25, 4: 9}[rank]
    shape = tuple(int(n) for n in rng.integers(1, most, rank))
    return (0,) + shape[1:] if rank and rng.random() < 0.03 else shape


def options_of(rng, target):
    pick = lambda *choices: str(rng.choice(list(choices)))
    rank = int(rng.integers(1, 4))
    out = {"chunks": pick("auto", ",".join(str(int(n)) for n in rng.integers(1, 40, rank)))}
    if target == "n5":
        out["compression"] = pick("gzip", "zstd", "bzip2", "xz", "blosc", "raw")
        return out
    out["zarr_format"] = pick("2", "3")
    out["compression"] = pick("zstd", "gzip", "bz2", "blosc", "blosc", "blosc", "none", *(["pcodec"] if has_pcodec else []))
    if out["compression"] == "blosc":
        out |= {"cname": pick("lz4", "zstd", "zlib"), "shuffle": pick("byte", "bit", "none"), "level": str(rng.integers(0, 10))}
    if rng.random() < 0.2:
        out["bitround"] = str(rng.integers(0, 20))
    if rng.random() < 0.3:
        out["delta"] = "yes"
    if out["zarr_format"] == "3" and rng.random() < 0.4:
        out["shards"] = pick("auto", ",".join(str(int(n)) for n in rng.integers(20, 90, rank)))
    return out


def convert(binary, source, out, to, options):
    words = itertools.chain.from_iterable(("-o", f"{name}={value}") for name, value in options.items())
    done = subprocess.run([binary, "convert", str(source), str(out), "--to", to, "--allow-loss", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stderr.strip()[-300:] if done.returncode else None


def little(data):
    data = np.ascontiguousarray(data) if np.ndim(data) else np.asarray(data)
    return data.astype(data.dtype.newbyteorder("<")) if data.dtype.names is None else data


def rounded(data, options):
    """What bitround leaves; numcodecs makes other NaN of some NaN."""
    keep = int(options["bitround"]) if "bitround" in options else None
    bits = {2: 10, 4: 23, 8: 52}.get(data.dtype.itemsize)
    if data.dtype.kind != "f" or keep is None or keep >= bits or not data.size:
        return data
    made = np.frombuffer(numcodecs.BitRound(keep).encode(data.copy()), data.dtype).reshape(data.shape).copy()
    made[np.isnan(data)] = data[np.isnan(data)]
    return made


def differs(name, wanted, got, options):
    wanted, got = little(rounded(little(wanted), options)), little(got)
    if wanted.shape != got.shape:
        return f"{name}: shape {got.shape}, not {wanted.shape} ({options})"
    if wanted.dtype != got.dtype and not (wanted.dtype.kind == "V" and wanted.dtype.itemsize == got.dtype.itemsize):
        return f"{name}: {got.dtype}, not {wanted.dtype} ({options})"
    if wanted.tobytes() != got.tobytes():
        return f"{name}: other elements ({wanted.dtype} {wanted.shape}, {options})"
    return None


class Judge:
    def __init__(self, binary, base):
        self.binary, self.base, self.wrong = binary, base, []
        self.counts = collections.Counter()

    def take(self, library, name, wanted, read, options):
        try:
            line = differs(name, wanted, read(), options)
        except Exception as error:  # whatever a library throws is a finding about the file
            line = f"{name}: {type(error).__name__}: {str(error)[:200]} ({wanted.dtype} {wanted.shape}, {options})"
        self.counts[library] += 1
        if line:
            self.wrong.append(f"{library}: {line}")

    def written(self, source, out, to, options):
        error = convert(self.binary, source, out, to, options)
        if error:
            self.wrong.append(f"{to}: {error} ({options})")
        return not error

    def zarr(self, source, arrays, options, zipped):
        out = self.base / ("out.zarr.zip" if zipped else "out.zarr")
        if self.written(source, out, "zarr-zip" if zipped else "zarr", options):
            v3 = options.get("zarr_format", "3") == "3"
            if zarr is not None and (ZARR3 or not v3):
                if zipped:
                    store = (zarr.storage.ZipStore if ZARR3 else zarr.ZipStore)(str(out), mode="r")
                else:
                    store = str(out)
                root = zarr.open_consolidated(store, mode="r")
                for name, data in arrays.items():
                    self.take(f"zarr {zarr.__version__}, v{3 if v3 else 2}", name, data, lambda: np.asarray(root[name][...], dtype=root[name].dtype), options)
            if tensorstore is not None and not zipped:
                for name, data in arrays.items():
                    if data.dtype.str in NUMBERS and not ({"delta", "bitround"} & options.keys()) and options["compression"] not in ("pcodec", *(["bz2"] if v3 else [])):
                        spec = {"driver": "zarr3" if v3 else "zarr", "kvstore": {"driver": "file", "path": str(out / name)}}
                        self.take(f"tensorstore, v{3 if v3 else 2}", name, data, lambda: tensorstore.open(spec).result().read().result(), options)
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)

    def n5(self, source, arrays, options):
        out = self.base / "out.n5"
        arrays = {name: data if data.ndim else data.reshape(1) for name, data in arrays.items() if little(data).dtype.str in N5}
        if self.written(source, out, "n5", options):
            for name, data in arrays.items():
                if zarr is not None and not ZARR3:
                    root = zarr.open_group(zarr.N5Store(str(out)), mode="r")
                    self.take("zarr 2, N5", name, data, lambda: root[name][...], options)
                if tensorstore is not None and 0 not in data.shape:
                    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": str(out / name)}}
                    self.take("tensorstore, N5", name, data, lambda: np.transpose(tensorstore.open(spec).result().read().result()), options)
        shutil.rmtree(out, ignore_errors=True)

    def bloscpack(self, source, data, options):
        out = self.base / "out.blp"
        out.unlink(missing_ok=True)
        if not self.written(source, out, "bloscpack", options):
            return
        raw = out.read_bytes()

        def by_numcodecs():
            (count,), (room,) = struct.unpack_from("<q", raw, 16), struct.unpack_from("<I", raw, 48)
            table = 32 + 32 + room + 4
            places = struct.unpack_from(f"<{count}q", raw, table)
            stored = [struct.unpack_from("<i", raw, at + 12)[0] for at in places]
            parts = [numcodecs.blosc.decompress(raw[at : at + n]) for at, n in zip(places, stored)]
            return np.frombuffer(b"".join(parts), little(data).dtype).reshape(data.shape)

        self.take("numcodecs.blosc", source.name, data, by_numcodecs, options)
        if bloscpack is not None and data.size:
            from bloscpack.numpy_io import unpack_ndarray_from_file

            self.take("bloscpack", source.name, data, lambda: unpack_ndarray_from_file(str(out)), options)


def random_cases(judge, rng, cases):
    for n in range(cases):
        arrays = {}
        for k in range(14):
            pick = rng.random()
            dtype = RECORD if pick < 0.06 else np.dtype(str(rng.choice(ODD if pick < 0.2 else NUMBERS)))
            arrays[f"a{k}"] = values(rng, dtype, shape_of(rng))
        source = judge.base / "in.npz"
        np.savez(source, **arrays)
        judge.zarr(source, arrays, options_of(rng, "zarr"), rng.random() < 0.2)
        judge.n5(source, arrays, options_of(rng, "n5"))


def random_chunks(judge, rng, cases):
    """Blosc's own chunks: every size of an element, lengths from nothing to some MB."""
    for n in range(cases):
        typesize = int(rng.choice([1, 2, 4, 8, 16, rng.integers(1, 20), rng.integers(1, 300)]))
        length = int(rng.choice([0, rng.integers(0, 200), rng.integers(0, 40_000), rng.integers(0, 3_000_000)])) // typesize
        noise = rng.integers(0, [2, 16, 256][int(rng.integers(3))], (length, typesize), dtype=np.uint8)
        noise[:, int(rng.integers(typesize)) :] = 7
        if rng.random() < 0.2:
            noise = rng.integers(0, 256, (length, typesize), dtype=np.uint8)
        data = np.ascontiguousarray(noise).view(np.dtype(f"|V{typesize}")).reshape(length)
        source = judge.base / "in.npy"
        np.save(source, data)
        pick = lambda *choices: str(rng.choice(list(choices)))
        options = {"cname": pick("lz4", "zstd", "zlib"), "level": str(rng.integers(0, 9 if length * typesize > 100_000 else 10)), "shuffle": pick("byte", "bit", "none"),
                   "chunk_size": pick("1M", "64K", str(rng.integers(1, 300_000)) if length * typesize < 100_000 else "300000", "256K"), "checksum": pick("adler32", "crc32", "sha256", "sha512", "none")}
        judge.bloscpack(source, data, options)


def given(judge, rng, files):
    for file in map(Path, files):
        try:
            loaded = np.load(file, allow_pickle=False)
            arrays = dict(loaded) if hasattr(loaded, "files") else {file.stem: loaded}
        except Exception as error:
            print(f"skipped {file}: {error}", file=sys.stderr)
            continue
        for options in ({"zarr_format": "2", "compression": "blosc"}, {"zarr_format": "3", "compression": "blosc", "shuffle": "bit"}, {"compression": "zstd", "zarr_format": "3"}):
            judge.zarr(file, arrays, options, False)
        judge.n5(file, arrays, {"compression": "gzip"})
        if not hasattr(loaded, "files"):
            judge.bloscpack(file, loaded, {"checksum": "adler32"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    random.seed(arguments.seed)
    base = Path(arguments.keep or tempfile.mkdtemp(prefix="chunk_judge"))
    base.mkdir(parents=True, exist_ok=True)
    judge = Judge(arguments.binary, base)
    random_cases(judge, rng, arguments.cases)
    random_chunks(judge, rng, arguments.cases * 10)
    given(judge, rng, arguments.files)
    if not arguments.keep:
        shutil.rmtree(base, ignore_errors=True)
    print("\n".join(judge.wrong))
    print(", ".join(f"{library}: {count}" for library, count in sorted(judge.counts.items())))
    print(f"{sum(judge.counts.values())} arrays read, {len(judge.wrong)} differ")
    return 1 if judge.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
