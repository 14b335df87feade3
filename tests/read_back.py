#!/usr/bin/env python3
"""Reads what Gander wrote with the formats' reference libraries and compares it with the source.

    read_back.py SOURCE OUT...

Prints every mismatch, one a line, and `OUT: equal` for the others. Exit status 1 if
anything differs or cannot be read, 2 for wrong usage. OUT may be a folder: every file in
it whose kind is known is compared. Needs what fixtures/requirements.txt lists.

Tables: names and order of columns, number and order of rows, nulls, NaN, every value. A
text format (CSV, TSV) has no types, so there the words of the command line are compared,
and a null is an empty cell. Arrays: names, dtype, shape and bytes (C order, little-endian).
Pictures: size and pixels; a lossy format's mean of each channel instead.
"""

import csv
import decimal
import gzip
import json
import struct
import sys
from pathlib import Path

import numpy as np
import numpy.lib.recfunctions as recfunctions
import pyarrow as pa
import pyarrow.compute
import pyarrow.feather
import pyarrow.parquet as pq
from PIL import Image

TEXTS = {".csv": ",", ".tsv": "\t"}
JSON = {".jsonl", ".ndjson", ".json"}
TABLES = {".parquet", ".arrow", ".arrows", ".feather", ".ipc", *JSON, *TEXTS}
ARRAYS = {".npy", ".npz", ".safetensors", ".zarr", ".zip", ".h5", ".nc", ".mat"}
# Formats that lack some types and names: values are compared, in the type of the target.
LOOSE = {".nc", ".mat"}
LOSSY = {".jpg", ".jpeg"}
IMAGES = {".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm", ".tga", ".qoi", *LOSSY}
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SHOWN = 5

csv.field_size_limit(1 << 30)


class Unreadable(Exception):
    pass


# ---------------------------------------------------------------- tables


def plain_column(column):
    """A column without dictionaries, views, run ends and extension types."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain_column(column.storage)
    if pa.types.is_dictionary(kind):
        if pa.types.is_string_view(kind.value_type):
            column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))
        return plain_column(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain_column(pa.compute.run_end_decode(column))
    return column


def shortest(value, kind):
    """A float in the shortest form that reads back, as a number of its own type."""
    if value != value:
        return "nan"
    if pa.types.is_float32(kind):
        return float(str(np.float32(value)))
    if pa.types.is_float16(kind):
        return float(str(np.float16(value)))
    return float(value)


def plain_values(column):
    """A list of comparable Python values: one for one value, whatever type holds it."""
    column = plain_column(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        word = "duration" if pa.types.is_duration(kind) else "time" if pa.types.is_time(kind) else "zoned" if kind.tz else "stamp"
        whole = column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_time32(kind) else column.cast(pa.int64())
        return [None if v is None else (word, v * UNITS[kind.unit]) for v in whole.to_pylist()]
    if pa.types.is_date64(kind):
        return plain_values(column.cast(pa.date32()))
    if pa.types.is_floating(kind):
        return [None if v is None else shortest(v, kind) for v in column.to_pylist()]
    if pa.types.is_struct(kind):
        fields = [plain_values(pa.compute.struct_field(column, i)) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        valid = column.is_valid().to_pylist()
        return [tuple((n, f[i]) for n, f in zip(names, fields)) if ok else None for i, ok in enumerate(valid)]
    if pa.types.is_map(kind):
        return nested_values(column, lambda entries: list(zip(plain_values(entries.field(0)), plain_values(entries.field(1)))))
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return nested_values(column, None)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return [None if v is None else ("binary", bytes(v)) for v in column.to_pylist()]
    return column.to_pylist()


def nested_values(column, of_map):
    """The values of lists and maps, row by row."""
    out = []
    for i, ok in enumerate(column.is_valid().to_pylist()):
        if not ok:
            out.append(None)
        elif of_map:
            out.append(of_map(column[i].values))
        else:
            out.append(plain_values(column[i].values))
    return out


def read_table(path):
    """[(name, values)] of a typed format."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        table = pq.ParquetFile(path).read()
    elif kind == ".feather" and path.read_bytes()[:4] == b"FEA1":
        table = pyarrow.feather.read_table(path)
    elif kind in JSON:
        return read_json(path)
    elif path.open("rb").read(6) == b"ARROW1":
        table = pa.ipc.open_file(path).read_all()
    else:
        table = pa.ipc.open_stream(path).read_all()
    return [(name, plain_values(column)) for name, column in zip(table.column_names, table.columns)], table.num_rows


def read_json(path):
    text = path.read_text("utf-8")
    values = [text] if path.suffix.lower() == ".json" else [line for line in text.splitlines() if line.strip()]
    rows = [json.loads(value, parse_float=decimal.Decimal) for value in values]
    rows = rows[0] if path.suffix.lower() == ".json" else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Unreadable("not a list of objects")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [(name, [row.get(name) for row in rows]) for name in names], len(rows)


def read_text_table(path):
    opened = gzip.open(path, "rt", encoding="utf-8-sig", newline="") if path.suffix == ".gz" else path.open(encoding="utf-8-sig", newline="")
    with opened as file:
        rows = list(csv.reader(file, delimiter=TEXTS[path.suffix.lower()]))
    if not rows:
        return [], 0
    names, rows = rows[0], [row for row in rows[1:] if row or len(rows[0]) == 1]
    for number, row in enumerate(rows):
        if len(row) not in (len(names), 0):
            raise Unreadable(f"row {number} has {len(row)} fields, the header {len(names)}")
    return [(name, [row[i] if row else "" for row in rows]) for i, name in enumerate(names)], len(rows)


def number_of(text):
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def same_text(value, text):
    """Whether a cell of a text format says this value."""
    if value is None:
        return text in ("", "null")
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, float):
        try:
            return value == float(text)
        except ValueError:
            return False
    if isinstance(value, (int, decimal.Decimal)):
        return number_of(text) == value
    if value == "nan":
        return text.lower() == "nan"
    if isinstance(value, str):
        return text == value
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("stamp", "zoned", "time", "duration"):
        return moment(value[0], text) == value[1]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "binary":
        return text == "0x" + value[1].hex()
    if hasattr(value, "isoformat"):
        return text in (value.isoformat(), f"{value.isoformat()}T00:00:00")
    # Lists, structs and maps are JSON of such texts; that it is JSON is what can be told here.
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def same_json(value, json_value):
    """Whether a JSON value says this value: what JSON has no word for is text, as on the command line."""
    if value is None or json_value is None:
        return value is None and json_value is None
    if isinstance(value, bool) or isinstance(json_value, bool):
        return value is json_value
    if isinstance(json_value, dict):
        names = [name for name, _ in value]
        return names == list(json_value) and all(same_json(v, json_value[name]) for name, v in value)
    if isinstance(json_value, list):
        return len(value) == len(json_value) and all(map(same_json, value, json_value))
    if isinstance(json_value, str):
        return same_text(value, json_value) and (isinstance(value, (str, tuple)) or hasattr(value, "isoformat") or value in (float("inf"), float("-inf")))
    if isinstance(value, float):
        return value == float(json_value) and str(value)[0] == str(float(json_value))[0]
    return isinstance(value, (int, decimal.Decimal)) and value == json_value


def same_of_json(json_value, value):
    """Whether a value of a typed format says this JSON value: lists and objects may be JSON text."""
    if isinstance(json_value, (list, dict)) and isinstance(value, str):
        return json.loads(value, parse_float=decimal.Decimal) == json_value
    if isinstance(json_value, decimal.Decimal) and isinstance(value, float):
        return float(json_value) == value
    return same_json(value, json_value)


def moment(word, text):
    """Nanoseconds of a time in words; None if it is not one."""
    try:
        if word == "duration":
            return int(decimal.Decimal(text.removesuffix("s")) * 10**9)
        if word == "time":
            hours, minutes, rest = text.split(":")
            return int((int(hours) * 3600 + int(minutes) * 60 + decimal.Decimal(rest)) * 10**9)
        zone = 0
        if word == "zoned":
            text = text.removesuffix("Z")
            if len(text) > 6 and text[-6] in "+-" and text[-3] == ":":
                zone = (int(text[-5:-3]) * 60 + int(text[-2:])) * (1 if text[-6] == "+" else -1)
                text = text[:-6]
        whole, _, fraction = text.partition(".")
        nanos = int((fraction + "000000000")[:9])
        seconds = int(np.datetime64(whole.replace(" ", "T"), "s").astype(np.int64))
        return (seconds - zone * 60) * 10**9 + nanos
    except (ValueError, ArithmeticError):
        return None


def same_value(a, b):
    if type(a) is not type(b) and isinstance(a, (int, float, decimal.Decimal)) and isinstance(b, (int, float, decimal.Decimal)):
        if isinstance(a, bool) or isinstance(b, bool):
            return False
        return a == b or (isinstance(a, float) and str(a) == str(b)) or (isinstance(b, float) and str(a) == str(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        # The sign of zero counts.
        return a == b and str(a) == str(b)
    return a == b


def load_table(path):
    return read_text_table(path) if path.suffix.lower() in TEXTS else read_table(path)


def compare_tables(source, out):
    (left, rows), (right, out_rows) = load_table(source), load_table(out)
    if rows != out_rows:
        yield f"{out_rows} rows, the source has {rows}"
    names, out_names = [name for name, _ in left], [name for name, _ in right]
    if names != out_names:
        yield f"columns {out_names}, the source has {names}"
    from_text, to_text = source.suffix.lower() in TEXTS, out.suffix.lower() in TEXTS
    from_json, to_json = source.suffix.lower() in JSON, out.suffix.lower() in JSON
    for (name, values), (_, out_values) in zip(left, right):
        if from_json and not to_json and not to_text:
            wrong = [i for i, (a, b) in enumerate(zip(values, out_values)) if not same_of_json(a, b)]
        elif to_json and not from_json and not from_text:
            wrong = [i for i, (a, b) in enumerate(zip(values, out_values)) if not same_json(a, b)]
        elif from_text == to_text:
            wrong = [i for i, (a, b) in enumerate(zip(values, out_values)) if not same_value(a, b)]
        elif to_text:
            wrong = [i for i, (a, b) in enumerate(zip(values, out_values)) if not same_text(a, b)]
        else:
            wrong = [i for i, (a, b) in enumerate(zip(values, out_values)) if not same_text(b, a)]
        for i in wrong[:SHOWN]:
            yield f"column {name!r}, row {i}: {out_values[i]!r}, the source has {values[i]!r}"
        if len(wrong) > SHOWN:
            yield f"column {name!r}: {len(wrong)} values differ"


# ---------------------------------------------------------------- arrays

SAFETENSORS = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "F32": "float32", "F64": "float64", "C64": "complex64"}
# NumPy has no name for these: a NumPy file holds their bytes as void or unsigned integers.
PACKED = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
OPAQUE = {**{name: 1 for name in PACKED}, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1}


def array_facts(array):
    # What lies in the gaps of aligned records means nothing.
    array = array if array.dtype.names is None else recfunctions.repack_fields(array, recurse=True)
    little = array.astype(array.dtype.newbyteorder("<"))
    return little.dtype.name if little.dtype.names is None else str(little.dtype), array.shape, np.ascontiguousarray(little).tobytes()


def load_arrays(path):
    """{name: (dtype, shape, bytes)}; a lone array has the name ''."""
    kind = path.suffix.lower()
    if kind == ".npy":
        return {"": array_facts(np.load(path))}
    if kind == ".npz":
        with np.load(path) as members:
            return {name: array_facts(members[name]) for name in members.files}
    if kind in (".zarr", ".zip"):
        import zarr  # the only part that needs it

        def arrays(group, before=""):
            for name, member in sorted(group.members()):
                if isinstance(member, zarr.Group):
                    yield from arrays(member, f"{before}{name}/")
                else:
                    yield before + name, array_facts(np.asarray(member[...], dtype=member.dtype))

        store = zarr.storage.ZipStore(path, mode="r") if kind == ".zip" else path
        root = zarr.open(store, mode="r")
        return dict(arrays(root)) if isinstance(root, zarr.Group) else {"": array_facts(np.asarray(root[...]))}
    if kind == ".h5":
        return load_hdf5(path)
    if kind == ".nc":
        return load_netcdf(path)
    if kind == ".mat":
        return load_matlab(path)
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    header.pop("__metadata__", None)
    return {name: (SAFETENSORS.get(entry["dtype"], entry["dtype"]), tuple(entry["shape"]), unpacked(entry["dtype"], data[slice(*entry["data_offsets"])])) for name, entry in header.items()}


def load_hdf5(path):
    import h5py

    found = {}
    with h5py.File(path) as file:

        def add(name, node):
            bare = isinstance(node, h5py.Dataset) and str(node.attrs.get("NAME", b"")).find("netCDF dimension but not") >= 0
            if isinstance(node, h5py.Dataset) and not bare:
                array = node[()] if h5py.check_string_dtype(node.dtype) is None else node.asstr()[()]
                array = np.asarray(array)
                found[name] = array_facts(array if array.dtype != object else array.astype(str))

        file.visititems(add)
    return found


def complex_of(real, imaginary):
    """Without arithmetic, which makes other infinities."""
    out = np.empty(real.shape, np.complex64 if real.dtype.itemsize == 4 else np.complex128)
    out.real, out.imag = real, imaginary
    return out


def load_netcdf(path):
    """By netCDF4, and by SciPy too where it knows the version: both have to say the same."""
    import netCDF4
    import scipy.io

    found = {}

    def walk(group, before):
        for name, variable in group.variables.items():
            # What is made of complex numbers and of texts is put together again.
            variable.set_auto_maskandscale(False)
            array = np.asarray(variable[...])
            if array.dtype == object or array.dtype.kind == "U":
                array = array.astype(str)
            elif variable.dtype == "S1" and array.ndim and variable.dimensions[-1].startswith("string"):
                array = np.ascontiguousarray(array).view(f"S{array.shape[-1]}")[..., 0]
            if getattr(variable, "dtype_", None) is None and "dtype" in variable.ncattrs() and variable.getncattr("dtype") == "bool":
                array = array.astype(bool)
            if variable.dimensions and variable.dimensions[-1] == "ri":
                array = complex_of(array[..., 0], array[..., 1])
            found[before + name] = array_facts(array)
        for name, inner in group.groups.items():
            walk(inner, f"{before}{name}/")

    with netCDF4.Dataset(path) as file:
        file.set_auto_chartostring(False)
        walk(file, "")
    if path.open("rb").read(4) in (b"CDF\x01", b"CDF\x02"):
        with scipy.io.netcdf_file(path, mmap=False) as file:
            if set(file.variables) != set(found):
                raise Unreadable(f"SciPy finds {sorted(file.variables)}, netCDF4 {sorted(found)}")
            for name, variable in file.variables.items():
                if variable.data.dtype.kind in "if" and not hasattr(variable, "dtype") and found[name][1] == variable.shape:
                    if array_facts(np.asarray(variable.data))[2] != found[name][2]:
                        raise Unreadable(f"SciPy and netCDF4 differ about {name!r}")
    return found


def load_matlab(path):
    if path.open("rb").read(10) != b"MATLAB 7.3":
        import scipy.io

        members = scipy.io.loadmat(path, squeeze_me=False)
        return {name: array_facts(np.asarray(array)) for name, array in members.items() if not name.startswith("__")}
    import h5py

    found = {}
    with h5py.File(path) as file:

        def array_of(node):
            kind = node.attrs["MATLAB_class"].decode()
            if node.attrs.get("MATLAB_empty", 0):
                return np.empty(tuple(int(n) for n in node[()]), "U1" if kind in ("char", "cell") else {"double": "f8", "single": "f4", "logical": "?"}.get(kind, kind))
            if kind == "cell":
                return np.vectorize(lambda ref: text_of(file[ref]), otypes=[object])(node[()].T).astype(str)
            if kind == "char":
                return np.array(text_of(node))
            array = node[()].T
            if array.dtype.names:
                array = complex_of(array["real"], array["imag"])
            return array.astype(bool) if kind == "logical" else array

        def text_of(node):
            return "" if node.attrs.get("MATLAB_empty", 0) else node[()].tobytes(order="C").decode("utf-16-le")

        def add(name, node):
            if isinstance(node, h5py.Dataset) and not name.startswith("#refs#"):
                found[name] = array_facts(np.asarray(array_of(node)))

        file.visititems(add)
    return found


def array_of_facts(dtype, shape, data):
    width = int("".join(c for c in dtype if c.isdigit()) or 0)
    kind = f"<U{width // 32}" if dtype.startswith("str") else f"S{width // 8}" if dtype.startswith("bytes") else f"V{width // 8}" if dtype.startswith("void") else dtype
    if kind in OPAQUE and kind == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if kind in ("<U0", "S0"):
        return np.full(shape, "")
    return np.frombuffer(data, kind).reshape(shape)


def text_of_bytes(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def plain_name(name):
    """Names that formats spell in other ways: `a/b c` is `a__b_c` somewhere."""
    parts = "".join(c if c.isalnum() else "_" for c in name).split("_")
    return "_".join(part for part in parts if part).removeprefix("x")


def compare_loose(left, right):
    """Values in the type of the target, which may be wider, of the same shape but for sides of one."""
    left, right = ({plain_name(name): facts for name, facts in side.items()} for side in (left, right))
    if left.keys() != right.keys() and len(left) == 1 and str(next(iter(left.values()))[0]).startswith(("[", "{")):
        # Records, whose fields are arrays there; texts of records are left to `losses.rs`.
        return
    if left.keys() != right.keys():
        yield f"arrays {sorted(right)}, the source has {sorted(left)}"
    for name in left.keys() & right.keys():
        try:
            a, b = array_of_facts(*left[name]), array_of_facts(*right[name])
        except (TypeError, ValueError) as error:
            yield f"array {name!r}: {error}"
            continue
        unit = np.datetime_data(a.dtype) if a.dtype.kind in "mM" else None
        if unit:
            factor = {"W": 7}.get(unit[0], 1) * unit[1]
            a = a.astype(np.int64) * factor if unit[0] not in "YM" else a.astype("M8[D]").astype(np.int64)
        if a.dtype.kind == "V" and b.dtype == np.uint8 and a.dtype.names is None:
            a = np.frombuffer(a.tobytes(), np.uint8).reshape(*a.shape, -1)
        if a.dtype.kind == "S":
            a = np.vectorize(text_of_bytes, otypes=[object])(a) if a.size else a.astype(str)
        if b.dtype.kind == "S":
            b = np.vectorize(text_of_bytes, otypes=[object])(b) if b.size else b.astype(str)
        sides = lambda shape: [n for n in shape if n != 1]
        if sides(a.shape) != sides(b.shape):
            yield f"array {name!r}: shape {b.shape}, the source has {a.shape}"
        elif a.dtype.kind in "OU" or b.dtype.kind in "OU":
            if [str(x) for x in a.ravel()] != [str(x) for x in b.ravel()]:
                yield f"array {name!r}: the texts differ"
        elif not np.array_equal(a.astype(b.dtype).ravel(), b.ravel(), equal_nan=b.dtype.kind in "fc"):
            yield f"array {name!r}: the values differ"


def unpacked(dtype, data):
    """Elements of under a byte, one a byte."""
    if dtype not in PACKED:
        return data
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, PACKED[dtype])
    return np.packbits(bits, axis=1, bitorder="little").tobytes()


def same_dtype(a, b):
    for one, other in [(a, b), (b, a)]:
        if one in OPAQUE and other in (f"void{OPAQUE[one] * 8}", f"uint{OPAQUE[one] * 8}"):
            return True
    return a == b


def compare_arrays(source, out):
    left, right = load_arrays(source), load_arrays(out)
    if len(left) == 1 and len(right) == 1:
        left, right = {"": next(iter(left.values()))}, {"": next(iter(right.values()))}
    if out.suffix.lower() in LOOSE:
        yield from compare_loose(left, right)
        return
    for name in left.keys() - right.keys():
        yield f"array {name!r} is missing"
    for name in right.keys() - left.keys():
        yield f"array {name!r} is not in the source"
    for name in left.keys() & right.keys():
        (dtype, shape, data), (out_dtype, out_shape, out_data) = left[name], right[name]
        if not same_dtype(dtype, out_dtype):
            yield f"array {name!r}: dtype {out_dtype}, the source has {dtype}"
        if shape != out_shape:
            yield f"array {name!r}: shape {out_shape}, the source has {shape}"
        if data != out_data:
            at = next((i for i, (a, b) in enumerate(zip(data, out_data)) if a != b), min(len(data), len(out_data)))
            yield f"array {name!r}: {len(out_data)} bytes, the source has {len(data)}; the first difference is at byte {at}"


# ---------------------------------------------------------------- pictures


def pixels(path):
    with Image.open(path) as image:
        if image.mode.startswith(("I", "F")):
            return np.asarray(image).astype(np.float64)[..., None]
        see_through = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
        return np.asarray(image.convert("RGBA" if see_through else "RGB")).astype(np.float64)


def compare_images(source, out):
    left, right = pixels(source), pixels(out)
    if left.shape[:2] != right.shape[:2]:
        yield f"{right.shape[1]} x {right.shape[0]}, the source is {left.shape[1]} x {left.shape[0]}"
        return
    if left.shape[2] == 4 and right.shape[2] == 3 and left[..., 3].min() == 255:
        left = left[..., :3]
    if right.shape[2] == 4 and left.shape[2] == 3 and right[..., 3].min() == 255:
        right = right[..., :3]
    if left.shape[2] != right.shape[2]:
        yield f"{right.shape[2]} channels, the source has {left.shape[2]}"
        return
    if out.suffix.lower() in LOSSY:
        off = np.abs(left.mean((0, 1)) - right.mean((0, 1))).max()
        if off > 4:
            yield f"the mean of a channel is off by {off:.1f}"
    elif not np.array_equal(left, right):
        wrong = np.argwhere((left != right).any(axis=2))
        y, x = wrong[0]
        yield f"{len(wrong)} pixels differ, the first at x {x}, y {y}: {right[y, x].tolist()}, the source has {left[y, x].tolist()}"


# ---------------------------------------------------------------- all


def compare(source, out):
    for kinds, check in [(TABLES, compare_tables), (ARRAYS, compare_arrays), (IMAGES, compare_images)]:
        if source.suffix.lower() in kinds:
            if out.suffix.lower() not in kinds:
                raise Unreadable("is of another kind than the source")
            return list(check(source, out))
    raise Unreadable("the kind of the source is not known here")


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, failed = Path(sys.argv[1]), False
    known = TABLES | ARRAYS | IMAGES
    outs = []
    for name in map(Path, sys.argv[2:]):
        # A Zarr store is a folder and one thing; those below a folder are found by their names.
        folder = name.is_dir() and name.suffix != ".zarr"
        inside = sorted(f for f in name.rglob("*") if f.suffix.lower() in known and not any(p.suffix == ".zarr" for p in f.parents)) if folder else [name]
        if not inside:
            print(f"{name}: nothing in it to compare")
            failed = True
        outs += inside
    for out in outs:
        try:
            wrong = compare(source, out)
        except Exception as error:  # whatever a library throws is a finding about the file
            wrong = [f"cannot be compared: {type(error).__name__}: {error}"]
        for line in wrong:
            print(f"{out}: {line}")
        if not wrong:
            print(f"{out}: equal")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
