#!/usr/bin/env python3
"""Reads the tables that Gander wrote for other programs with those programs, and compares them with the source.

    table_judge.py SOURCE OUT...

SOURCE is Parquet or Arrow, which PyArrow reads. OUT is an Excel workbook (.xlsx: openpyxl), SQL
(.sql: DuckDB executes it; .sqlite.sql: Python's sqlite3; .postgres.sql: parsed only, by pglast), a
SQLite database (.db), a page (.html: lxml and pandas) or Markdown (.md: the rules of GitHub's tables).
Prints every mismatch, one a line, and `OUT: N cells equal` for the others. Exit status 1 if anything
differs or cannot be read.
"""

import datetime
import decimal
import html
import json
import re
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import numpy as np  # noqa: E402
import read_back  # noqa: E402

DAY = 86_400 * 10**9
EPOCH = datetime.datetime(1970, 1, 1)


def nanos(delta):
    return (delta.days * 86_400 + delta.seconds) * 10**9 + delta.microseconds * 1000


def is_nested(value):
    return isinstance(value, list) or isinstance(value, tuple) and not (len(value) == 2 and isinstance(value[0], str) and value[0] in ("stamp", "zoned", "time", "duration", "binary"))


def same_float(value, cell):
    """Whether a double is the float of fewer bits that the source has in its shortest words."""
    with np.errstate(over="ignore"):
        return any(float(kind(cell)) == cell and str(kind(cell)) == str(kind(value)) for kind in (np.float16, np.float32))


def same_words(value, text):
    """Whether a text says this value, as the command line spells it."""
    if text is None:
        return value is None or value == ""
    if type(value).__name__ == "MonthDayNano":
        return text == f"{value.months} months {value.days} days {value.nanoseconds} ns"
    if is_nested(value):
        return read_back.same_json(value, json.loads(text, parse_float=decimal.Decimal))
    if isinstance(value, float) and text in ("nan", "inf", "-inf"):
        return float(text) == value or text == "nan" and value != value
    return read_back.same_text(value, text)


def same_cell(value, cell):
    """Whether a cell of a workbook says this value: numbers are doubles, times have milliseconds."""
    if value is None or value == "":
        return cell in (None, "")
    if isinstance(cell, str):
        return same_words(value, cell)
    if isinstance(value, bool) or isinstance(cell, bool):
        return value is cell
    if isinstance(value, (int, float, decimal.Decimal)):
        return isinstance(cell, (int, float)) and float(value) == float(cell)
    word, number = value if isinstance(value, tuple) else ("date", value)
    if isinstance(cell, datetime.timedelta):
        found = nanos(cell)
    elif isinstance(cell, datetime.time):
        found = nanos(datetime.timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond))
    elif isinstance(cell, datetime.datetime):
        found = nanos(cell - EPOCH)
    else:
        return False
    if word == "date":
        return found == nanos(datetime.datetime.combine(number, datetime.time()) - EPOCH)
    # openpyxl rounds to microseconds, and takes a whole day for a date.
    return abs(found - number) <= 10**6 or word == "duration" and abs(found - number) % DAY <= 10**6


def same_sqlite(value, cell):
    if isinstance(cell, bytes):
        return value == ("binary", cell)
    if value is None or value == "nan":
        return cell is None or cell == value
    if isinstance(value, bool):
        return cell == int(value)
    if isinstance(value, float) and isinstance(cell, float) and same_float(value, cell):
        return True
    if isinstance(cell, str):
        return same_words(value, cell)
    return isinstance(value, (int, float)) and value == cell


def same_duckdb(value, cell):
    if isinstance(cell, Interval):
        months, days, nanos = value if type(value).__name__ == "MonthDayNano" else (0, 0, value[1])
        return cell == Interval((months, days, nanos // 1000))
    if is_nested(value) and isinstance(cell, str):
        return read_back.same_json(value, json.loads(cell, parse_float=decimal.Decimal))
    if isinstance(value, tuple) and isinstance(cell, tuple) and value[0] != cell[0]:
        return False
    if isinstance(value, tuple) and isinstance(cell, tuple) and value[0] in ("time", "zoned"):
        return value[1] // 1000 == cell[1] // 1000
    if isinstance(value, list) and isinstance(cell, list):
        return len(value) == len(cell) and all(map(same_duckdb, value, cell))
    if isinstance(value, tuple) and isinstance(cell, tuple) and is_nested(value):
        return len(value) == len(cell) and all(map(same_duckdb, value, cell))
    if isinstance(value, decimal.Decimal) and isinstance(cell, str):
        return decimal.Decimal(cell) == value
    if isinstance(value, float) and isinstance(cell, float) and same_float(value, cell):
        return True
    return read_back.same_value(value, cell)


def workbook(path):
    import openpyxl

    rows = list(openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True))
    names = ["" if name is None else name for name in rows[0]] if rows else []
    return names, rows[1:], same_cell


def executed(path):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(path.read_text("utf-8"))
    table = connection.sql("SELECT * FROM data").to_arrow_table()
    columns = [intervals(column) or read_back.plain_values(column) for column in table.columns]
    return table.column_names, list(zip(*columns)), same_duckdb


def intervals(column):
    import pyarrow as pa

    if not pa.types.is_interval(column.type):
        return None
    return [None if v is None else Interval((v.months, v.days, v.nanoseconds // 1000)) for v in column.to_pylist()]


class Interval(tuple):
    """Months, days and microseconds."""


def inserted(path):
    connection = sqlite3.connect(":memory:")
    connection.executescript(path.read_text("utf-8"))
    return from_sqlite(connection)


def from_sqlite(connection):
    found = connection.execute("SELECT * FROM data ORDER BY rowid")
    return [column[0] for column in found.description], found.fetchall(), same_sqlite


def page(path):
    from lxml import html as lxml_html
    import pandas

    root = lxml_html.fromstring(path.read_bytes())
    assert not root.xpath("//script"), "it has a script"
    names = [cell.text_content() for cell in root.xpath("//thead//th")]
    rows = [[cell.text_content() for cell in row.xpath("./td")] for row in root.xpath("//tbody/tr")]
    seen = pandas.read_html(path)[0]
    assert seen.shape == (len(rows), len(names)), f"pandas sees {seen.shape}"
    return names, rows, same_words


def markdown(path):
    def cells(line):
        parts = re.findall(r"((?:\\.|[^|\\])*)\|", line[1:], re.S)
        return [inline(part.strip(" ")) for part in parts]

    def inline(text):
        out, at = "", 0
        while at < len(text):
            entity = re.match(r"&#?\w+;", text[at:])
            if text.startswith("<br>", at):
                out, at = out + "\n", at + 4
            elif entity:
                # Python's `unescape` keeps to HTML's rules, which drop control characters.
                code = re.fullmatch(r"&#(\d+);", entity[0])
                out, at = out + (chr(int(code[1])) if code else html.unescape(entity[0])), at + len(entity[0])
            elif text[at] == "\\":
                out, at = out + text[at + 1], at + 2
            else:
                out, at = out + text[at], at + 1
        return out

    lines = path.read_text("utf-8").split("\n")
    assert re.fullmatch(r"(\| ---:? )+\|", lines[1]), lines[1]
    return cells(lines[0]), [cells(line) for line in lines[2:-1]], lambda value, text: same_words(lines_of(value), text)


def lines_of(value):
    return re.sub("\r\n?", "\n", value).replace("\0", "\ufffd") if isinstance(value, str) else value


def reader(path):
    if path.name.endswith(".sqlite.sql"):
        return inserted
    return {".xlsx": workbook, ".sql": executed, ".html": page, ".md": markdown, ".db": lambda path: from_sqlite(sqlite3.connect(path))}[path.suffix]


def compare(source, out):
    """Mismatches, and how many cells are equal."""
    if out.name.endswith(".postgres.sql"):
        import pglast

        return [], len(pglast.parse_sql(out.read_text("utf-8")))
    columns, count = read_back.load_table(source)
    names, rows, same = reader(out)(out)
    wrong, equal = [], 0
    if out.suffix == ".xlsx":
        # Rows of nothing at the end are not there.
        while count > len(rows) and all(values[count - 1] in (None, "") for _, values in columns):
            count -= 1
    if len(rows) != count:
        wrong.append(f"{len(rows)} rows, the source has {count}")
    if [name for name, _ in columns] != list(names):
        wrong.append(f"columns {list(names)}, the source has {[name for name, _ in columns]}")
    for at, (name, values) in enumerate(columns):
        for number, (value, row) in enumerate(zip(values, rows)):
            cell = row[at] if at < len(row) else None
            if same(value, cell):
                equal += 1
            elif len(wrong) < 20:
                wrong.append(f"column {name!r}, row {number}: {cell!r}, the source has {value!r}")
    return wrong, equal


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, failed = Path(sys.argv[1]), False
    for out in map(Path, sys.argv[2:]):
        try:
            wrong, equal = compare(source, out)
        except Exception as error:  # whatever a library throws is a finding about the file
            wrong, equal = [f"cannot be compared: {type(error).__name__}: {str(error)[:400]}"], 0
        for line in wrong:
            print(f"{out}: {line}")
        if not wrong:
            print(f"{out}: {equal} cells equal")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
