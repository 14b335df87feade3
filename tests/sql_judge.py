#!/usr/bin/env python3
"""Random queries over random tables, answered by `gander query --json` and by DuckDB, and compared.

    python3 tests/sql_judge.py target/debug/gander [--queries 600] [--seed 1] [--keep FOLDER]

Needs duckdb and pyarrow. Prints each difference with its statement and ends with status 1 if there was any.
"""
import argparse, datetime, decimal, json, math, os, random, subprocess, sys, tempfile

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

WORDS = ["red", "green", "blue", "", "Ünïcode", "a'b", 'q"q', "x%y", "under_score", "Long text with blanks", "RED", "0", "null"]


def table(rng, rows):
    def maybe(make, share=0.15):
        return [None if rng.random() < share else make() for _ in range(rows)]

    stamp = datetime.datetime(2020, 1, 1)
    return pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "k": pa.array(maybe(lambda: rng.randrange(6)), pa.int32()),
        "i": pa.array(maybe(lambda: rng.randrange(-1000, 1000)), pa.int64()),
        "u": pa.array(maybe(lambda: rng.randrange(0, 200), 0.05), pa.uint8()),
        "f": pa.array(maybe(lambda: rng.choice([rng.uniform(-50, 50), float(rng.randrange(5)), 0.5])), pa.float64()),
        "g": pa.array(maybe(lambda: rng.choice([1.5, 2.25, -3.0, float("nan"), rng.uniform(0, 9)])), pa.float32()),
        "s": pa.array(maybe(lambda: rng.choice(WORDS)), pa.string()),
        "b": pa.array(maybe(lambda: rng.random() < 0.4), pa.bool_()),
        "d": pa.array(maybe(lambda: datetime.date(2019, 12, 1) + datetime.timedelta(rng.randrange(90))), pa.date32()),
        "t": pa.array(maybe(lambda: stamp + datetime.timedelta(microseconds=rng.randrange(10**13))), pa.timestamp("us")),
        "m": pa.array(maybe(lambda: decimal.Decimal(rng.randrange(-99999, 99999)) / 100), pa.decimal128(12, 2)),
        "Mixed Case": pa.array(maybe(lambda: rng.randrange(3), 0.3), pa.int16()),
    })


class Maker:
    """Makes statements that mean the same in both engines."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        return self.rng.choice(choices)

    def integer(self, t, deep=2):
        r = self.rng
        if deep == 0 or r.random() < 0.4:
            return self.pick(f"{t}.k", f"{t}.i", f"{t}.id", f'{t}."Mixed Case"', str(r.randrange(-20, 50)))
        a, b = self.integer(t, deep - 1), self.integer(t, deep - 1)
        return self.pick(f"({a} + {b})", f"({a} - {b})", f"abs({a})", f"coalesce({a}, {b})", f"length({self.text(t, deep - 1)})",
                         f"CASE WHEN {self.condition(t, deep - 1)} THEN {a} ELSE {b} END", f"CAST({a} AS BIGINT)")

    def number(self, t, deep=1):
        if self.rng.random() < 0.5:
            return self.pick(f"{t}.f", f"{t}.f * 2", f"{t}.f + {t}.i", f"abs({t}.f)", f"round({t}.f)", f"floor({t}.f)")
        return self.integer(t, deep)

    def text(self, t, deep=1):
        if deep == 0 or self.rng.random() < 0.4:
            return self.pick(f"{t}.s", "'red'", f"{t}.s")
        a = self.text(t, deep - 1)
        return self.pick(f"upper({a})", f"lower({a})", f"({a} || '-' || {self.text(t, deep - 1)})", f"substr({a}, 2, 3)",
                         f"coalesce({a}, 'none')", f"trim({a})", f"replace({a}, 'e', 'E')", f"left({a}, 3)", f"reverse({a})",
                         f"nullif({a}, 'red')")

    def condition(self, t, deep=2):
        r = self.rng
        if deep == 0 or r.random() < 0.5:
            compare = self.pick("=", "<>", "<", "<=", ">", ">=")
            return self.pick(
                f"{self.integer(t, 0)} {compare} {self.integer(t, 0)}",
                f"{t}.f {compare} {r.randrange(-40, 40)}.5",
                f"{t}.g {compare} 2.25",
                f"{t}.s {compare} '{self.pick('red', 'green', 'm', '')}'",
                f"{t}.b", f"NOT {t}.b", f"{t}.{self.pick('s', 'k', 'f', 'd', 't', 'm', 'b')} IS {self.pick('', 'NOT ')}NULL",
                f"{t}.k {self.pick('', 'NOT ')}IN (1, 2, {r.randrange(6)})",
                f"{t}.s IN ('red', 'RED', 'a''b')",
                f"{t}.i BETWEEN {r.randrange(-900, 0)} AND {r.randrange(0, 900)}",
                f"{t}.s LIKE '{self.pick('%e%', 'r_d', '_n%', '%', 'x%')}'",
                f"{t}.d {compare} DATE '2020-01-{r.randrange(10, 28)}'",
                f"{t}.t {compare} TIMESTAMP '2020-03-{r.randrange(10, 28)} 12:00:00'",
                f"{t}.m {compare} {r.randrange(-500, 500)}.25",
            )
        a, b = self.condition(t, deep - 1), self.condition(t, deep - 1)
        return self.pick(f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})", f"({a}) IS NOT TRUE")

    def aggregate(self, t):
        return self.pick("count(*)", f"count({t}.s)", f"count(DISTINCT {t}.k)", f"sum({self.integer(t, 1)})", f"min({self.integer(t, 1)})",
                         f"max({self.text(t, 1)})", f"min({t}.d)", f"max({t}.t)", f"sum({t}.m)", f"avg({t}.i)", f"sum({t}.f)",
                         f"max({t}.m)", f"min({t}.f)", f"count(*) FILTER (WHERE {self.condition(t, 1)})", f"bool_or({t}.b)",
                         f"sum(CASE WHEN {self.condition(t, 1)} THEN 1 ELSE 0 END)", f"stddev({t}.i)", f"min({t}.s)")

    def value(self, t):
        return self.pick(self.integer(t), self.number(t), self.text(t), f"{t}.b", f"{t}.d", f"{t}.t", f"{t}.m", f"{t}.g",
                         f"({self.condition(t, 1)})", f"extract(year FROM {t}.d)", f"extract(month FROM {t}.t)",
                         f"date_trunc('month', {t}.t)", f"{t}.s IS NULL")

    def key(self, t):
        return self.pick(f"{t}.k", f"{t}.s", f"{t}.b", f'{t}."Mixed Case"', f"{t}.k + 1", f"{t}.s IS NULL", f"extract(month FROM {t}.d)")

    def where(self, t):
        return f" WHERE {self.condition(t)}" if self.rng.random() < 0.7 else ""

    def statement(self):
        r = self.rng
        kind = r.randrange(11)
        values = lambda t, n=3: ", ".join(f"{self.value(t)} AS c{i}" for i in range(r.randrange(1, n + 1)))
        if kind == 0:
            return f"SELECT {values('a', 4)} FROM one a{self.where('a')}"
        if kind == 1:
            way, nulls = self.pick("ASC", "DESC"), self.pick("FIRST", "LAST")
            key = self.pick("i", "s", "f", "d", "m", "k", "g")
            return (f"SELECT a.id, a.{key} FROM one a{self.where('a')} ORDER BY a.{key} {way} NULLS {nulls}, a.id "
                    f"LIMIT {r.randrange(1, 40)} OFFSET {r.randrange(0, 10)}")
        if kind in (2, 3):
            keys = [self.key("a") for _ in range(r.randrange(1, 3))]
            named = ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys))
            having = f" HAVING count(*) > {r.randrange(4)}" if r.random() < 0.3 else ""
            return (f"SELECT {named}, {', '.join(f'{self.aggregate(chr(97))} AS c{i}' for i in range(3))} FROM one a{self.where('a')} "
                    f"GROUP BY {', '.join(keys)}{having}")
        if kind == 4:
            return f"SELECT {', '.join(f'{self.aggregate(chr(97))} AS c{i}' for i in range(4))} FROM one a{self.where('a')}"
        if kind == 5:
            join = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            on = self.pick("a.k = b.k", "a.id = b.id", "a.s = b.s AND a.k = b.k", "a.id = b.id AND a.i < b.i", "a.d = b.d")
            where = f" WHERE {self.condition('a', 1)}" if r.random() < 0.5 else ""
            return f"SELECT count(*) AS n, sum(a.i) AS x, sum(b.i) AS y, max(b.s) AS z FROM one a {join} two b ON {on}{where}"
        if kind == 6:
            join = self.pick("JOIN", "LEFT JOIN")
            return f"SELECT a.id, b.id AS other, a.s, b.f FROM one a {join} two b ON a.id = b.i WHERE {self.condition('a', 1)}"
        if kind == 7:
            return (f"SELECT DISTINCT {self.key('a')} AS c0, {self.key('a')} AS c1 FROM one a{self.where('a')} "
                    f"UNION {self.pick('ALL ', '')}SELECT DISTINCT {self.key('b')} AS c0, {self.key('b')} AS c1 FROM two b") if False else (
                    f"SELECT a.k, a.s FROM one a{self.where('a')} {self.pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} "
                    f"SELECT b.k, b.s FROM two b{self.where('b')}")
        if kind == 8:
            return (f"WITH w AS (SELECT a.k, sum(a.i) AS x, count(*) AS n FROM one a{self.where('a')} GROUP BY a.k) "
                    f"SELECT w.k, w.x, w.n, b.id FROM w JOIN two b ON w.k = b.k WHERE b.id < {r.randrange(5, 60)}")
        if kind == 9:
            part = self.pick("k", "s", "b")
            window = self.pick("row_number()", "rank()", "dense_rank()", "sum(a.i)", "lag(a.i)", "lead(a.s, 2)", "count(*)", "first_value(a.i)",
                               "max(a.f)", "ntile(3)")
            order = "a.i NULLS LAST, a.id" if "rank" not in window else "a.i NULLS LAST"
            return f"SELECT a.id, {window} OVER (PARTITION BY a.{part} ORDER BY {order}) AS c0 FROM one a{self.where('a')}"
        return self.pick(
            f"SELECT a.id FROM one a WHERE a.i > (SELECT avg(b.i) FROM two b{self.where('b')})",
            f"SELECT a.id, a.s FROM one a WHERE a.k IN (SELECT b.k FROM two b WHERE {self.condition('b', 1)} AND b.k IS NOT NULL)",
            f"SELECT a.id FROM one a WHERE EXISTS (SELECT 1 FROM two b WHERE b.k = a.k AND {self.condition('b', 1)})",
            f"SELECT x.k, x.n FROM (SELECT a.k, count(*) AS n FROM one a{self.where('a')} GROUP BY a.k) x WHERE x.n > {r.randrange(9)}",
            f"SELECT * FROM one a{self.where('a')}",
            f"SELECT id, \"Mixed Case\", S, i FROM ONE{' WHERE K > 2' if r.random() < 0.5 else ''}",
        )


def same(ours, theirs):
    """Whether a cell of ours, a text, is a value of DuckDB's."""
    if theirs is None or ours is None:
        return theirs is None and ours is None
    if isinstance(theirs, bool):
        return ours == ("true" if theirs else "false")
    if isinstance(theirs, (int, float, decimal.Decimal)):
        try:
            a, b = float(ours), float(theirs)
        except ValueError:
            return False
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if isinstance(theirs, int) and "." not in ours and "e" not in ours:
            return int(ours) == theirs
        return a == b or abs(a - b) <= 1e-6 * max(abs(a), abs(b))
    if isinstance(theirs, datetime.datetime):
        return datetime.datetime.fromisoformat(ours) == theirs
    if isinstance(theirs, datetime.date):
        return datetime.datetime.fromisoformat(ours).date() == theirs
    return ours == str(theirs)


def order(row):
    def key(cell):
        if cell is None:
            return (0, "")
        if isinstance(cell, bool):
            return (1, "true" if cell else "false")
        try:
            number = float(cell) if not isinstance(cell, (datetime.date, datetime.datetime)) else None
        except (TypeError, ValueError):
            number = None
        if number is not None:
            return (2, "nan") if math.isnan(number) else (1, f"{number:+.4e}")
        if isinstance(cell, datetime.datetime):
            return (1, cell.isoformat())
        return (1, str(cell))
    return [key(cell) for cell in row]


def compare(sql, ours, theirs):
    rows = ours["rows"]
    if len(rows) != len(theirs):
        return f"{len(rows)} rows, DuckDB has {len(theirs)}"
    if " LIMIT " not in sql:
        rows, theirs = sorted(rows, key=order), sorted([list(r) for r in theirs], key=order)
    for n, (a, b) in enumerate(zip(rows, theirs)):
        if len(a) != len(b) or not all(same(x, y) for x, y in zip(a, b)):
            return f"row {n}: {a}, DuckDB has {list(b)}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gander")
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="sql-judge-")
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(args.seed)
    differences = refused = answered = 0
    for round_ in range(max(1, args.queries // 60)):
        one, two = table(rng, rng.choice([0, 1, 40, 300, 3000])), table(rng, rng.choice([1, 60, 250]))
        paths = []
        for name, data in (("one", one), ("two", two)):
            kind = rng.choice(["parquet", "parquet", "arrow", "feather"])
            path = os.path.join(folder, f"{round_}", f"{name}.{kind}")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if kind == "parquet":
                pq.write_table(data, path, row_group_size=rng.choice([50, 1000, 10**6]), write_page_index=rng.random() < 0.5,
                               compression=rng.choice(["none", "zstd", "snappy"]))
            elif kind == "arrow":
                with pa.ipc.new_file(path, data.schema) as writer:
                    writer.write_table(data, max_chunksize=rng.choice([33, 10**6]))
            else:
                pyarrow.feather.write_feather(data, path, compression=rng.choice(["lz4", "uncompressed"]))
            paths.append(path)
        judge = duckdb.connect()
        judge.register("one", one)
        judge.register("two", two)
        maker = Maker(rng)
        for _ in range(min(60, args.queries)):
            sql = maker.statement()
            try:
                theirs = judge.execute(sql).fetchall()
            except Exception as error:
                refused += 1
                if os.environ.get("SHOW_REFUSED"):
                    print("DuckDB refuses:", sql, str(error)[:200])
                continue
            out = subprocess.run([args.gander, "query", sql, *paths, "--json"], capture_output=True, text=True)
            if out.returncode != 0:
                differences += 1
                print(f"FAILS  {sql}\n       {out.stderr.strip()[:400]}\n       {paths}")
                continue
            answered += 1
            problem = compare(sql, json.loads(out.stdout), theirs)
            if problem:
                differences += 1
                print(f"DIFFER {sql}\n       {problem[:600]}\n       {paths}")
    print(f"{answered} queries answered, {differences} differences, {refused} that DuckDB refuses")
    return 1 if differences or answered < args.queries * 0.8 else 0


if __name__ == "__main__":
    sys.exit(main())
