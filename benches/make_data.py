#!/usr/bin/env python3
"""Makes the large files that the benchmarks read (about 8 GB on disk; skips what exists).

    make_data.py [DIR] [--rows N] [--only NAME,NAME]

DIR defaults to benches/data, which git ignores. Seeded: the same rows whatever the order
of the calls, because each million rows has a seed of its own.

    trips.csv               20 M rows x 7 columns, 2 GB; every 50th note holds a comma, every
                            100th a line break inside quotes
    trips.parquet           the same rows, zstd, row groups of 1 M rows, with a page index
    trips_no_index.parquet  the same without a page index
    trips.arrow             the same as an Arrow IPC file, not compressed
    big.npy                 500,000 x 1,000 float32, normal, 2 GB
    model_13gb.safetensors  288 bfloat16 tensors, real header, the data a hole in the file
    objects.pkl             a list of 50 M small dicts, pickle protocol 4, 2 GB
    forest.pmml             a forest of about 4,400 trees of 511 nodes, 300 MB
    text.csv.gz             the first 1 GB of trips.csv, cut at a line, gzip -6
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

CHUNK = 1_000_000
TEXT_BYTES = 1_000_000_000
CATEGORIES = ["cash", "card", "app", "voucher", "invoice", "free"]
SYLLABLES = "ba be bo da de do ka ke ko la le lo ma me mo na ne no ra re ro sa se so ta te to".split()


def words(rng, count):
    """`count` made-up words of two to four syllables."""
    return ["".join(rng.choice(SYLLABLES, rng.integers(2, 5))) for _ in range(count)]


def chunk(index, rows):
    """Rows [index * CHUNK, index * CHUNK + rows) as a Polars frame."""
    import numpy as np
    import polars as pl

    vocabulary = np.array(words(np.random.default_rng(7), 4096))
    rng = np.random.default_rng([2024, index])
    first = index * CHUNK
    ids = np.arange(first, first + rows, dtype=np.int64)
    gaps = rng.integers(0, 3_000_000, rows)
    start = np.datetime64("2019-01-01T00:00:00", "us").astype(np.int64) + first * 1_500_000
    pick = lambda: pl.Series(vocabulary[rng.integers(0, len(vocabulary), rows)])
    frame = pl.DataFrame(
        {
            "trip_id": ids,
            "pickup_at": pl.Series(start + np.cumsum(gaps) // 2).cast(pl.Datetime("us")),
            "distance_km": rng.gamma(2.0, 2.5, rows),
            "fare": np.round(rng.gamma(3.0, 6.0, rows) + 2.5, 2),
            "payment": pl.Series(np.array(CATEGORIES)[rng.integers(0, len(CATEGORIES), rows)]),
            "driver": pick(),
            "a": pick(),
            "b": pick(),
            "c": pick(),
            "d": pick(),
        }
    )
    number = pl.col("trip_id")
    between = (
        pl.when(number % 100 == 49).then(pl.lit("\n")).when(number % 50 == 49).then(pl.lit(", ")).otherwise(pl.lit(" "))
    )
    note = pl.concat_str([pl.col("a"), between, pl.col("b"), pl.lit(" "), pl.col("c"), pl.lit(" "), pl.col("d")])
    return frame.with_columns(note.alias("note")).drop("a", "b", "c", "d")


def chunks(rows):
    for index in range((rows + CHUNK - 1) // CHUNK):
        yield chunk(index, min(CHUNK, rows - index * CHUNK))


def arrow_table(frame):
    """As an Arrow table whose strings are plain ones, not Polars' string views."""
    import pyarrow as pa

    table = frame.to_arrow(compat_level=None)
    schema = pa.schema(
        [
            ("trip_id", pa.int64()),
            ("pickup_at", pa.timestamp("us")),
            ("distance_km", pa.float64()),
            ("fare", pa.float64()),
            ("payment", pa.string()),
            ("driver", pa.string()),
            ("note", pa.string()),
        ]
    )
    return table.cast(schema)


def make_csv(path, rows, _directory):
    with open(path, "wb") as out:
        for index, frame in enumerate(chunks(rows)):
            frame.write_csv(out, include_header=index == 0, datetime_format="%Y-%m-%dT%H:%M:%S%.6f")


def write_parquet(path, rows, page_index):
    import pyarrow.parquet as pq

    writer = None
    for frame in chunks(rows):
        table = arrow_table(frame)
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, compression="zstd", write_page_index=page_index)
        writer.write_table(table, row_group_size=CHUNK)
    writer.close()


def make_parquet(path, rows, _directory):
    write_parquet(path, rows, True)


def make_parquet_plain(path, rows, _directory):
    write_parquet(path, rows, False)


def make_arrow(path, rows, _directory):
    import pyarrow as pa

    writer = None
    for frame in chunks(rows):
        table = arrow_table(frame)
        if writer is None:
            writer = pa.ipc.new_file(path, table.schema)
        writer.write_table(table, max_chunksize=100_000)
    writer.close()


def make_npy(path, _rows, _directory):
    import numpy as np

    rng = np.random.default_rng(11)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(500_000, 1_000))
    for first in range(0, 500_000, 20_000):
        out[first : first + 20_000] = rng.standard_normal((20_000, 1_000), dtype=np.float32)
    out.flush()


def make_model(path, _rows, _directory):
    """32 layers of nine tensors, the shapes of a model of 7 billion parameters."""
    shapes = {"input_layernorm": [4096], "post_attention_layernorm": [4096]}
    shapes |= {f"self_attn.{name}_proj": [4096, 4096] for name in "qkvo"}
    shapes |= {"mlp.gate_proj": [11008, 4096], "mlp.up_proj": [11008, 4096], "mlp.down_proj": [4096, 11008]}
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for layer in range(32):
        for name, shape in shapes.items():
            size = 2
            for length in shape:
                size *= length
            header[f"model.layers.{layer}.{name}.weight"] = {
                "dtype": "BF16",
                "shape": shape,
                "data_offsets": [offset, offset + size],
            }
            offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + offset)


def make_gzip(path, rows, directory):
    source = directory / "trips.csv"
    if not source.exists():
        sys.exit("text.csv.gz is made of trips.csv, which is not there")
    with open(source, "rb") as text, open(path, "wb") as out:
        gzip = subprocess.Popen(["gzip", "-6", "-n"], stdin=subprocess.PIPE, stdout=out)
        left = min(TEXT_BYTES, source.stat().st_size)
        while left > 0:
            block = text.read(min(1 << 22, left))
            left -= len(block)
            if left == 0 and not block.endswith(b"\n"):
                block = block[: block.rfind(b"\n") + 1]
            gzip.stdin.write(block)
        gzip.stdin.close()
        if gzip.wait() != 0:
            sys.exit("gzip failed")


def make_pickle(path, rows, directory):
    """As pickle.dump writes it, without frames: all of it at once would need the memory of all objects."""
    items, batch = 50_000_000, 1000
    with open(path, "wb") as out:
        # The list has place 0 of the memo, the keys have 1 to 3.
        keys = b"".join(b"\x8c" + bytes([len(key)]) + key + b"\x940" for key in (b"id", b"name", b"v"))
        out.write(b"\x80\x04]\x94" + keys)
        for first in range(0, items, batch):
            block = [b"("]
            for i in range(first, first + batch):
                name = b"n%d" % i
                numbers = b"]\x94(G" + struct.pack(">d", i * 0.5) + b"K\x07e"
                block.append(b"}\x94(h\x01J%bh\x02\x8c%c%b\x94h\x03%bu" % (struct.pack("<i", i), len(name), name, numbers))
            block.append(b"e")
            out.write(b"".join(block))
        out.write(b".")


def make_pmml(path, rows, directory):
    """A mining model of segments with a tree each, as exporters of random forests write it."""
    import random

    rng = random.Random(1)
    fields = [f"f{n}" for n in range(30)]
    names = [*(f'<MiningField name="{name}"/>' for name in fields), '<MiningField name="y" usageType="target"/>']
    schema = f"<MiningSchema>{''.join(names)}</MiningSchema>"
    kinds = "".join(f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in [*fields, "y"])

    def node(depth, predicate, number):
        number[0] += 1
        yield f'<Node id="{number[0]}" score="{rng.uniform(-1, 1):.12f}" recordCount="{rng.randint(1, 9999)}">{predicate}'
        if depth:
            split = f'field="{rng.choice(fields)}"', f'value="{rng.uniform(-3, 3):.10f}"'
            for operator in ("lessOrEqual", "greaterThan"):
                yield from node(depth - 1, f'<SimplePredicate {split[0]} operator="{operator}" {split[1]}/>', number)
        yield "</Node>"

    with open(path, "w") as out:
        out.write(f'<?xml version="1.0"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>{kinds}')
        out.write(f'</DataDictionary>\n<MiningModel functionName="regression">{schema}<Segmentation multipleModelMethod="average">\n')
        segments = 0
        while out.tell() < 300 << 20:
            segments += 1
            tree = "".join(node(8, "<True/>", [0]))
            out.write(f'<Segment id="{segments}"><True/><TreeModel functionName="regression">{schema}{tree}</TreeModel></Segment>\n')
        out.write("</Segmentation></MiningModel></PMML>\n")


MAKERS = {
    "objects.pkl": make_pickle,
    "forest.pmml": make_pmml,
    "model_13gb.safetensors": make_model,
    "trips.csv": make_csv,
    "trips.parquet": make_parquet,
    "big.npy": make_npy,
    "text.csv.gz": make_gzip,
    "trips.arrow": make_arrow,
    "trips_no_index.parquet": make_parquet_plain,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=Path(__file__).parent / "data")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--only", help="names, with commas between them")
    arguments = parser.parse_args()
    directory = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free
    if free < 12e9 and arguments.rows >= 20_000_000:
        sys.exit(f"{directory}: 12 GB are wanted, {free / 1e9:.1f} GB are free")
    only = set(arguments.only.split(",")) if arguments.only else set(MAKERS)
    if only - set(MAKERS):
        sys.exit(f"no such data: {', '.join(sorted(only - set(MAKERS)))}")
    for name, make in MAKERS.items():
        path = directory / name
        if name not in only or path.exists():
            continue
        started = time.monotonic()
        partial = directory / f".{name}.partial"
        make(partial, arguments.rows, directory)
        os.replace(partial, path)
        print(f"{name}: {path.stat().st_size / 1e9:.2f} GB in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
