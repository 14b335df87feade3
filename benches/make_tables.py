#!/usr/bin/env python3
"""Makes the tables that the query benchmarks read (about 6 GB on disk; skips what exists).

    make_tables.py [DIR] [--only NAME,NAME]

Wants numpy, pyarrow, duckdb and tpchgen-cli. Seeded, so that every run makes the same.

    hits.parquet        10 M rows of a web log, 31 columns, Snappy: what the queries of ClickBench need
    tpch/*.parquet      TPC-H at scale factor 1
    sort_100m.parquet   100 M rows: a shuffled key, a number, 12 bytes of text, Zstandard
    rows_10m.sqlite     10 M rows x 7 of trips.parquet (of make_data.py)
"""

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import make

MILLION = 1_000_000


def texts(rng, count, words, shape):
    """`count` texts of `shape(rng)` words; as a pool from which rows choose."""
    return np.array([" ".join(rng.choice(words, shape(rng))) for _ in range(count)], dtype=object)


def pools():
    """What repeats in a web log: addresses, titles, phrases, phones. Skewed choices come later."""
    rng = np.random.default_rng(11)
    syllables = "ba be bo da de do ka ke ko la le lo ma me mo na ne no ra re ro sa se so ta te to".split()
    words = np.array(["".join(rng.choice(syllables, rng.integers(2, 5))) for _ in range(20_000)])
    hosts = np.array([f"{w}.{d}" for w, d in zip(words[:3000], rng.choice(["com", "org", "net", "de"], 3000))])
    hosts[7], hosts[60] = "www.google.com", "maps.google.de"

    def address(n):
        host, path = hosts[int(rng.integers(0, len(hosts)) * rng.random() ** 2)], "/".join(rng.choice(words, rng.integers(1, 5)))
        return f"http{'s' if n % 3 else ''}://{host}/{path}?id={n}"

    phrases = texts(rng, 300_000, words, lambda r: r.integers(1, 6))
    titles = texts(rng, 200_000, words, lambda r: r.integers(3, 12))
    titles[::97] = np.array([f"Google {title}" for title in titles[::97]], dtype=object)
    return {
        "url": np.array([address(n) for n in range(1_500_000)], dtype=object),
        "title": titles,
        "phrase": phrases,
        "model": np.array(["", "iPad", "iPhone", "GT-I9300", "Nexus 7", *words[:160]], dtype=object),
        "user": rng.integers(-(2**62), 2**62, 1_700_000),
    }


def skewed(rng, size, count=MILLION):
    """Places in a pool; the first ones often."""
    return (size * rng.random(count) ** 3).astype(np.int64)


def hits_part(part, pool):
    rng = np.random.default_rng([11, part])
    pick = lambda name: pool[name][skewed(rng, len(pool[name]))]
    small = lambda low, high, kind="i2": rng.integers(low, high, MILLION).astype(kind)
    rare = lambda share, values: np.where(rng.random(MILLION) < share, values, 0).astype("i2")
    second = 1_372_636_800 + part * 267_840 + np.sort(rng.integers(0, 267_840, MILLION))
    url, referer = skewed(rng, len(pool["url"])), skewed(rng, len(pool["url"]))
    mix = lambda places: (places.astype("u8") * np.uint64(0x9E3779B97F4A7C15)).astype("i8")
    url_text, referer_text = pool["url"][url], pool["url"][referer]
    referer_text[rng.random(MILLION) < 0.2] = ""
    phrase = pick("phrase")
    phrase[rng.random(MILLION) < 0.87] = ""
    model = pool["model"][np.where(rng.random(MILLION) < 0.05, skewed(rng, len(pool["model"])), 0)]
    columns = {
        "watchid": rng.integers(-(2**62), 2**62, MILLION),
        "javaenable": small(0, 2),
        "title": pick("title"),
        "goodevent": np.ones(MILLION, "i2"),
        "eventtime": second.astype("M8[s]").astype("M8[ms]"),
        "eventdate": second.astype("M8[s]").astype("M8[D]"),
        "counterid": np.where(rng.random(MILLION) < 0.08, 62, skewed(rng, 6500)).astype("i4"),
        "clientip": rng.integers(-(2**31), 2**31 - 1, 800_000)[skewed(rng, 800_000)].astype("i4"),
        "regionid": skewed(rng, 5000).astype("i4"),
        "userid": pick("user"),
        "counterclass": small(-1, 2),
        "os": small(0, 100),
        "useragent": small(0, 80),
        "url": url_text,
        "referer": referer_text,
        "isrefresh": rare(0.1, 1),
        "resolutionwidth": rng.choice(np.array([0, 1024, 1280, 1366, 1440, 1600, 1638, 1917, 1996], "i2"), MILLION),
        "resolutionheight": small(0, 1200),
        "windowclientwidth": small(0, 2000),
        "windowclientheight": small(0, 1200),
        "mobilephone": rare(0.05, small(1, 90)),
        "mobilephonemodel": model,
        "traficsourceid": small(-1, 10),
        "searchengineid": rare(0.13, small(1, 90)),
        "searchphrase": phrase,
        "advengineid": rare(0.006, small(1, 60)),
        "islink": rare(0.06, 1),
        "isdownload": rare(0.01, 1),
        "dontcounthits": rare(0.1, 1),
        "urlhash": mix(url),
        "refererhash": mix(referer),
    }
    return pa.table({name: pa.array(values, pa.string() if values.dtype == object else None) for name, values in columns.items()})


def hits(path):
    pool = pools()
    writer = None
    for part in range(10):
        table = hits_part(part, pool)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy", write_page_index=True)
        writer.write_table(table, row_group_size=MILLION)
    writer.close()


def tpch(path):
    path.mkdir()
    tool = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([tool, "parquet", "-s", "1", "--output-dir", path], check=True)


def sort_rows(path):
    writer = None
    for part in range(100):
        rng = np.random.default_rng([12, part])
        key = rng.integers(0, 2**40, MILLION)
        table = pa.table({"key": key, "value": rng.random(MILLION), "text": pa.array([f"{n:012x}" for n in key.tolist()])})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False)
        writer.write_table(table)
    writer.close()


def sqlite_rows(path):
    source = pq.ParquetFile(path.parent / "trips.parquet")
    with sqlite3.connect(path) as base:
        names = source.schema_arrow.names
        base.execute("pragma journal_mode = off")
        base.execute("pragma synchronous = off")
        base.execute(f"create table trips ({', '.join(names)})")
        place = ", ".join("?" * len(names))
        for group in range(10):
            table = source.read_row_group(group)
            plain = [pa.types.is_timestamp(f.type) or pa.types.is_date(f.type) for f in table.schema]
            columns = [c.cast(pa.string()).to_pylist() if p else c.to_pylist() for c, p in zip(table.columns, plain)]
            base.executemany(f"insert into trips values ({place})", zip(*columns))
            base.commit()


MADE = {"hits.parquet": hits, "tpch": tpch, "sort_100m.parquet": sort_rows, "rows_10m.sqlite": sqlite_rows}


if __name__ == "__main__":
    make(MADE, __doc__)
