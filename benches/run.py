#!/usr/bin/env python3
"""Measures Gander's command line beside its peers, in one run, turn by turn.

    run.py [--gander target/release/gander] [--data benches/data] [--only csv,parquet]
           [--repeat 5] [--inprocess FILE] [--out benches/README.md]

Run it with a Python that has what benches/requirements.txt lists, in a virtual environment
outside the checkout. The data come from make_data.py; measure.py says how things are measured.
glogg (from Debian) runs without a display; its time ends when its log says that the index
is there.

--inprocess FILE: lines `name seconds program`, printed by a
`cargo bench` binary; they become a table of their own below the others.
--out FILE: the tables replace what stands between the two marker comments in it.
"""

from measure import Case, main, peer

# Without a display, without the settings of whoever runs this; its log says when it is done.
GLOGG = ["env", "QT_QPA_PLATFORM=offscreen", "XDG_CONFIG_HOME=/tmp/gander-bench-glogg", "glogg", "-dd"]


def csv_cases(gander, data):
    path = data / "trips.csv"
    size = path.stat().st_size
    group = "2 GB CSV, 20 M rows"
    return [
        Case(group, "first 100 rows", "gander", [gander, "show", path, "--rows", "0..100", "--json"]),
        peer(group, "first 100 rows", "polars (lazy)", "import polars as pl", f"pl.scan_csv({str(path)!r}).head(100).collect()"),
        peer(group, "first 100 rows", "duckdb", "import duckdb", f"duckdb.sql(\"from read_csv('{path}') limit 100\").fetchall()"),
        Case(group, "last 100 rows", "gander", [gander, "show", path, "--rows", "-100..", "--json"]),
        Case(group, "100 rows at 13,456,789, index of all", "gander", [gander, "show", path, "--rows", "13456789..13456889", "--json"], work=size),
        peer(group, "last 100 rows, whole read", "polars", "import polars as pl", f"pl.scan_csv({str(path)!r}).tail(100).collect(engine='streaming')", work=size),
        peer(group, "number of rows", "duckdb", "import duckdb", f"duckdb.sql(\"select count(*) from read_csv('{path}')\").fetchall()", work=size),
        Case(group, "lines of the file", "wc -l", ["wc", "-l", path], work=size),
        Case(group, "index of lines, in its window", "glogg", GLOGG + [path], work=size, until=b"indexingFinished: 1"),
    ]


def parquet_cases(gander, data):
    out = []
    for name, index in [("trips.parquet", "page index"), ("trips_no_index.parquet", "no page index")]:
        path, group = data / name, f"Parquet, 20 M x 7, zstd, {index}"
        if not path.exists():
            continue
        for what, first in [("first 100 rows", 0), ("100 rows at 13,456,789", 13_456_789)]:
            query = f"from read_parquet('{path}') limit 100 offset {first}"
            out += [
                Case(group, what, "gander", [gander, "show", path, "--rows", f"{first}..{first + 100}", "--json"]),
                peer(group, what, "duckdb", "import duckdb", f'duckdb.sql("{query}").fetchall()'),
                peer(group, what, "polars", "import polars as pl", f"pl.scan_parquet({str(path)!r}).slice({first}, 100).collect()"),
                peer(group, what, "pyarrow", "import pyarrow.parquet as pq", f"f = pq.ParquetFile({str(path)!r})\nf.read_row_group({first // 1_000_000}).slice({first % 1_000_000}, 100).to_pylist()"),
            ]
    return out


def arrow_cases(gander, data):
    path, group = data / "trips.arrow", "Arrow IPC file, 20 M x 7"
    out = []
    for what, first in [("first 100 rows", 0), ("100 rows at 13,456,789", 13_456_789)]:
        read = f"f = pa.ipc.open_file(pa.memory_map({str(path)!r}))\nf.get_batch({first // 100_000}).slice({first % 100_000}, 100).to_pylist()"
        out += [
            Case(group, what, "gander", [gander, "show", path, "--rows", f"{first}..{first + 100}", "--json"]),
            peer(group, what, "pyarrow", "import pyarrow as pa", read),
        ]
    return out


def npy_cases(gander, data):
    path, group = data / "big.npy", "NPY, 2 GB of float32"
    size = path.stat().st_size
    copy = f"a = np.load({str(path)!r})\nb = np.empty_like(a)\nb.fill(0)"
    sums = f"a = np.load({str(path)!r}, mmap_mode='r').reshape(-1)\nfor i in range(0, a.size, 1 << 22):\n    c = a[i:i + (1 << 22)]\n    n = np.isnan(c).sum(); c.min(); c.max(); d = c.sum(dtype='f8'); c.std(dtype='f8')"
    return [
        Case(group, "open, shape and type", "gander", [gander, "tree", path, "--json"]),
        peer(group, "open, shape and type", "numpy", "import numpy as np", f"np.load({str(path)!r}, mmap_mode='r').shape"),
        Case(group, "100 rows at 400,000", "gander", [gander, "show", path, "--slice", "400000..400100", "--json"]),
        peer(group, "100 rows at 400,000", "numpy", "import numpy as np", f"np.load({str(path)!r}, mmap_mode='r')[400000:400100].tolist()"),
        Case(group, "statistics of all", "gander", [gander, "stats", path, "--json"], work=size),
        peer(group, "statistics of all", "numpy, by blocks", "import numpy as np", sums, work=size),
        peer(group, "copy in memory", "memcpy (numpy)", f"import numpy as np\n{copy}", "np.copyto(b, a)", work=size),
    ]


def safetensors_cases(gander, data):
    path, group = data / "model_13gb.safetensors", "safetensors, 13 GB, 288 tensors (a hole in the file)"
    name = "model.layers.17.mlp.down_proj.weight"
    size = 4096 * 11008 * 2
    opened = f"f = safe_open({str(path)!r}, 'numpy')\nn = list(f.keys())"
    return [
        Case(group, "open, list of tensors", "gander", [gander, "tree", path, "--json"]),
        peer(group, "open, list of tensors", "safetensors", "import safetensors.numpy\nfrom safetensors import safe_open", opened),
        peer(group, "open, all shapes", "safetensors", "import safetensors.numpy\nfrom safetensors import safe_open", opened + "\n[f.get_slice(k).get_shape() for k in n]"),
        Case(group, "statistics of one tensor", "gander", [gander, "stats", f"{path}#{name}", "--json"], work=size),
    ]


def gzip_cases(gander, data):
    path, group = data / "text.csv.gz", "1 GB of text in a .csv.gz"
    size = 1_000_000_000
    rows = [gander, "show", path, "--rows"]
    indexed = f"f = igz.IndexedGzipFile({str(path)!r})\nf.build_full_index()"
    rapid = "f = rapidgzip.open({!r}, parallelization={})\n{}"
    return [
        Case(group, "first 100 rows", "gander", [*rows, "0..100", "--json"]),
        Case(group, "last 100 rows, index of all", "gander", [*rows, "-100..", "--json"], work=size),
        peer(group, "index of all", "indexed_gzip", "import indexed_gzip as igz", indexed, work=size),
        peer(group, "random page after the index", "indexed_gzip", f"import indexed_gzip as igz\n{indexed}", "f.seek(731_000_000)\nf.read(20_000)"),
        peer(group, "index of all, one core", "rapidgzip", "import rapidgzip", rapid.format(str(path), 1, "f.block_offsets()\nf.close()"), work=size),
        peer(group, "index of all, every core", "rapidgzip", "import rapidgzip", rapid.format(str(path), 0, "f.block_offsets()\nf.close()"), work=size),
        peer(group, "random page after the index", "rapidgzip", "import rapidgzip\n" + rapid.format(str(path), 0, "f.block_offsets()"), "f.seek(731_000_000)\nf.read(20_000)\nf.close()"),
        Case(group, "all of it", "gzip -dc", ["sh", "-c", f"exec gzip -dc '{path}' > /dev/null"], work=size),
    ]


GROUPS = {
    "csv": (csv_cases, "trips.csv"),
    "parquet": (parquet_cases, "trips.parquet"),
    "arrow": (arrow_cases, "trips.arrow"),
    "npy": (npy_cases, "big.npy"),
    "safetensors": (safetensors_cases, "model_13gb.safetensors"),
    "gzip": (gzip_cases, "text.csv.gz"),
}


if __name__ == "__main__":
    main(GROUPS, __doc__, "measured")
