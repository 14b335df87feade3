#!/usr/bin/env python3
"""Reads what Gander wrote with the formats' reference libraries and compares it with the source.

    read_back.py SOURCE OUT...

Prints every mismatch, one a line, and `OUT: equal` for the others. Exit status 1 if
anything differs or cannot be read, 2 for wrong usage. OUT may be a folder: every file in
it whose kind is known is compared. Needs what fixtures/requirements.txt lists.

Tables: names and order of columns, number and order of rows, nulls, NaN, every value. A
text format (CSV, TSV) has no types, so there the words of the command line are compared,
and a null is an empty cell. Texts and JSON may be compressed (.gz, .zst); a folder OUT/ that ends in
.dataset is one table of Parquet files in Hive partitions, whose rows are compared in any order. Arrays: names, dtype, shape and
bytes (C order, little-endian). Pictures: size and samples of every frame that the other has too, as they are; a lossy format's
mean of each channel and its signal to noise instead. Sounds: rate, channels, samples.
"""

import csv
import datetime
import decimal
import gzip
import io
import json
import re
import struct
import sys
import uuid
import warnings
from pathlib import Path

import numpy as np
import numpy.lib.recfunctions as recfunctions
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
from PIL import Image

TEXTS = {".csv": ",", ".tsv": "\t"}
JSON = {".jsonl", ".ndjson", ".json"}
PACKED_TEXTS = {".gz", ".zst"}
TABLES = {".parquet", ".avro", ".dataset", ".arrow", ".arrows", ".feather", ".ipc", *JSON, *TEXTS}
ARRAYS = {".npy", ".npz", ".safetensors", ".zarr", ".zip", ".gguf", ".npyfolder", ".n5", ".blp", ".nc"}
FOLDERS = {".zarr", ".n5", ".npyfolder", ".dataset"}
# Read by scipy, nibabel, astropy and h5py.
SCIENCE = {".mat", ".nii", ".nii.gz", ".fits", ".h5"}
LOSSY = {".jpg", ".jpeg", ".avif"}
TIFFS = {".tif", ".tiff", ".btf"}
NETPBM = {".ppm", ".pgm", ".pnm", ".pam", ".pfm"}
IMAGES = {".png", ".bmp", ".gif", *TIFFS, ".webp", *NETPBM, ".pbm", ".tga", ".qoi", ".exr", *LOSSY}
SOUNDS = {".wav", ".rf64", ".flac", ".aiff", ".aif", ".au", ".caf", ".w64"}
# Formats that lack some types and names: values are compared, in the type of the target.
LOOSE = {".nc"}
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


def suffix(path):
    """The end of a name without that of its compression, but for NIfTI, where it is part of it."""
    if path.name.lower().endswith(".nii.gz"):
        return ".nii.gz"
    end = (Path(path.stem) if path.suffix.lower() in PACKED_TEXTS else path).suffix.lower()
    return {".hdf5": ".h5", ".fit": ".fits"}.get(end, end)


def opened_text(path, **how):
    """A text file, whatever compresses it, of however many members or frames."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", **how)
    if path.suffix.lower() == ".zst":
        import zstandard  # the only part that needs it

        raw = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
        return io.TextIOWrapper(raw, **how)
    return path.open(**how)


def avro_value(value, schema=None):
    """A value of fastavro as `plain_values` has it."""
    if isinstance(schema, list):
        schema = next((branch for branch in schema if branch != "null"), None)
    kind = schema.get("type") if isinstance(schema, dict) else schema
    logical = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    if isinstance(value, int) and "timestamp-" in logical:
        word, unit = logical.removeprefix("local-").split("-")
        return ("stamp" if logical.startswith("local") else "zoned", value * {"millis": 10**6, "micros": 10**3, "nanos": 1}[unit])
    if isinstance(value, datetime.datetime):
        zoned, value = value.tzinfo is not None, value.replace(tzinfo=None)
        since = value - datetime.datetime(1970, 1, 1)
        return ("zoned" if zoned else "stamp", (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000)
    if isinstance(value, datetime.time):
        return ("time", (value.hour * 3600 + value.minute * 60 + value.second) * 10**9 + value.microsecond * 1000)
    if isinstance(value, uuid.UUID):
        return ("binary", value.bytes)
    if isinstance(value, bytes):
        return ("binary", value)
    if isinstance(value, dict) and kind == "map":
        return [(name, avro_value(inner, schema["values"])) for name, inner in value.items()]
    if isinstance(value, dict):
        types = {field["name"]: (field.get("doc", field["name"]), field["type"]) for field in schema["fields"]}
        return tuple((types[name][0], avro_value(inner, types[name][1])) for name, inner in value.items())
    if isinstance(value, float):
        return "nan" if value != value else float(str(np.float32(value))) if kind == "float" else value
    if isinstance(value, list) and isinstance(schema, dict) and schema.get("logicalType") == "map":
        return [tuple(inner for _, inner in avro_value(one, schema["items"])) for one in value]
    return [avro_value(one, schema["items"]) for one in value] if isinstance(value, list) else value


def read_avro(path):
    import fastavro  # the only part that needs it

    with path.open("rb") as file:
        reader = fastavro.reader(file)
        rows, fields = list(reader), reader.writer_schema["fields"]
    return [(field.get("doc", field["name"]), [avro_value(row[field["name"]], field["type"]) for row in rows]) for field in fields], len(rows)


def read_table(path):
    """[(name, values)] of a typed format."""
    kind = suffix(path)
    if kind == ".avro":
        return read_avro(path)
    if kind == ".dataset":
        table = pyarrow.dataset.dataset(path, partitioning="hive").to_table()
    elif kind == ".parquet":
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
    with opened_text(path, encoding="utf-8") as file:
        text = file.read()
    values = [text] if suffix(path) == ".json" else [line for line in text.split("\n") if line.strip()]
    rows = [json.loads(value, parse_float=decimal.Decimal) for value in values]
    rows = rows[0] if suffix(path) == ".json" else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Unreadable("not a list of objects")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [(name, [row.get(name) for row in rows]) for name in names], len(rows)


def read_text_table(path):
    with opened_text(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=TEXTS[suffix(path)]))
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
    return read_text_table(path) if suffix(path) in TEXTS else read_table(path)


def compare_rows(left, right):
    """Rows of tables that may stand in another order, columns in another one, by their texts."""
    left, right = ({name: list(map(str, values)) for name, values in table} for table in (left, right))
    if left.keys() != right.keys():
        yield f"columns {list(right)}, the source has {list(left)}"
        return
    rows = [sorted(zip(*(table[name] for name in left))) for table in (left, right)]
    if rows[0] != rows[1]:
        yield next((f"the row {b}, the source has {a}" for a, b in zip(*rows) if a != b), "rows are missing")


def compare_tables(source, out):
    (left, rows), (right, out_rows) = load_table(source), load_table(out)
    if rows != out_rows:
        yield f"{out_rows} rows, the source has {rows}"
    names, out_names = [name for name, _ in left], [name for name, _ in right]
    if names != out_names:
        yield f"columns {out_names}, the source has {names}"
    from_text, to_text = suffix(source) in TEXTS, suffix(out) in TEXTS
    from_json, to_json = suffix(source) in JSON, suffix(out) in JSON
    if suffix(out) == ".dataset":
        yield from compare_rows(left, right)
        return
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
    if array.dtype.kind in "TO":
        # Texts of any length: what they are, one after the other.
        return "str", array.shape, "\0".join("" if text is None else str(text) for text in array.ravel()).encode()
    # What lies in the gaps of aligned records means nothing.
    array = array if array.dtype.names is None else recfunctions.repack_fields(array, recurse=True)
    little = array.astype(array.dtype.newbyteorder("<"))
    return little.dtype.name if little.dtype.names is None else str(little.dtype), array.shape, np.ascontiguousarray(little).tobytes()


def load_n5(path):
    """The arrays of an N5 container by tensorstore, whose dimensions are the file's: turned round."""
    import tensorstore

    found = {}
    for document in sorted(path.rglob("attributes.json")):
        if "dataType" in json.loads(document.read_text("utf-8")):
            spec = {"driver": "n5", "kvstore": {"driver": "file", "path": str(document.parent)}}
            data = tensorstore.open(spec).result().read().result()
            found[document.parent.relative_to(path).as_posix()] = array_facts(np.ascontiguousarray(np.transpose(data)))
    return found


def unpacked_blosc(whole):
    """The array of a Bloscpack file whose metadata are not compressed, by numcodecs."""
    import ast
    import numcodecs.blosc

    (count,), (room,), (length,) = (struct.unpack_from(f, whole, at) for f, at in (("<q", 16), ("<I", 48), ("<I", 52)))
    meta, table = json.loads(whole[64 : 64 + length]), 64 + room + 4
    places = struct.unpack_from(f"<{count}q", whole, table)
    parts = [numcodecs.blosc.decompress(whole[at : at + struct.unpack_from("<i", whole, at + 12)[0]]) for at in places]
    return np.frombuffer(b"".join(parts), np.dtype(ast.literal_eval(meta["dtype"]))).reshape(meta["shape"])


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
    if kind == ".gguf":
        return dict(gguf_arrays(path))
    if kind == ".npyfolder":
        files = sorted(path.rglob("*.npy"))
        return {file.relative_to(path).as_posix().removesuffix(".npy"): array_facts(np.load(file)) for file in files}
    if kind == ".n5":
        return load_n5(path)
    if kind == ".nc":
        return load_netcdf(path)
    whole = path.read_bytes()
    if kind == ".blp":
        return {"": array_facts(unpacked_blosc(whole))}
    length = struct.unpack("<Q", whole[:8])[0]
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    header.pop("__metadata__", None)
    return {name: (SAFETENSORS.get(entry["dtype"], entry["dtype"]), tuple(entry["shape"]), unpacked(entry["dtype"], data[slice(*entry["data_offsets"])])) for name, entry in header.items()}


def gguf_arrays(path):
    import gguf  # the only part that needs it

    for tensor in gguf.GGUFReader(path).tensors:
        shape = tuple(int(side) for side in reversed(tensor.shape))
        kind = tensor.tensor_type.name
        if kind == "BF16":
            yield tensor.name, (kind, shape, tensor.data.tobytes())
        elif kind in ("F16", "F32", "F64", "I8", "I16", "I32", "I64"):
            yield tensor.name, (tensor.data.dtype.name, shape, tensor.data.tobytes())
        else:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            yield tensor.name, (kind, shape, values.astype("<f4").tobytes())


# Types that GGUF has not, and those that they become.
WIDENED = {"bool": "int8", "uint8": "int16", "uint16": "int32", "uint32": "int64", "uint64": "int64"}


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
        if out.suffix.lower() == ".gguf" and WIDENED.get(dtype) == out_dtype:
            dtype, data = out_dtype, np.frombuffer(data, dtype).astype(out_dtype).tobytes()
        if not same_dtype(dtype, out_dtype):
            yield f"array {name!r}: dtype {out_dtype}, the source has {dtype}"
        if shape != out_shape:
            yield f"array {name!r}: shape {out_shape}, the source has {shape}"
        if data != out_data:
            at = next((i for i, (a, b) in enumerate(zip(data, out_data)) if a != b), min(len(data), len(out_data)))
            yield f"array {name!r}: {len(out_data)} bytes, the source has {len(data)}; the first difference is at byte {at}"


# ---------------------------------------------------------------- arrays of the sciences

KEYWORDS = "break case catch classdef continue else elseif end for function global if otherwise parfor persistent return spmd switch try while".split()
UNSIGNED = {8: -128, 16: 2**15, 32: 2**31, 64: 2**63}


def fits_units(path):
    """The units of a file that is verified with its checksums: names and data as they are stored, unsigned ones as such."""
    from astropy.io import fits

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(greater than 8 characters|HIERARCH|not a valid FITS|unit).*")
        with fits.open(path, checksum=True, memmap=False, do_not_scale_image_data=True, character_as_bytes=True) as units:
            units.verify("exception")
            for n, unit in enumerate(units):
                yield n, unit, fits


def fits_arrays(path):
    out = {}
    for n, unit, fits in fits_units(path):
        if not unit.is_image or (unit.data is None and not unit.header["NAXIS"]):
            continue
        data = np.zeros(unit.shape, np.uint8) if unit.data is None else np.asarray(unit.data)
        bits, zero = data.dtype.itemsize * 8, unit.header.get("BZERO", 0)
        if data.dtype.kind in "iu" and zero == UNSIGNED[bits] and unit.header.get("BSCALE", 1) == 1 and "BLANK" not in unit.header:
            data = (data.astype("object") + zero).astype(("i" if bits == 8 else "u") + str(bits // 8))
        out[unit.header.get("EXTNAME", "PRIMARY" if n == 0 else f"HDU {n}")] = data
    return out


def mat_arrays(path, classes=False):
    import scipy.io

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scipy.io.loadmat(path)
    if classes:
        # In the types of their classes, which the stored ones may be narrower than; complex ones have that already.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            typed = scipy.io.loadmat(path, mat_dtype=True)
        found = {name: value if getattr(value, "dtype", None) is None or value.dtype.kind == "c" else typed[name] for name, value in found.items()}
    return {name: value for name, value in found.items() if not (name.startswith("__") and name.endswith("__"))}


def h5_arrays(path):
    import h5py

    try:
        import hdf5plugin  # noqa: F401 - registers filters
    except ImportError:
        pass
    out = {}

    def take(name, item):
        try:
            if isinstance(item, h5py.Dataset) and item.shape is not None:
                out[name] = np.asarray(item[()])
        except (OSError, TypeError):
            pass  # a filter or type that h5py has not

    with h5py.File(path, "r") as file:
        file.visititems(take)
    return out


def science_arrays(path):
    """{name: array}; a lone array has the name ''."""
    kind = suffix(path)
    if kind == ".npy":
        return {"": np.load(path)}
    if kind == ".npz":
        with np.load(path) as members:
            return {name: members[name] for name in members.files if isinstance(members[name], np.ndarray)}
    if kind in (".nii", ".nii.gz"):
        import nibabel

        return {"": np.asarray(nibabel.load(path).dataobj.get_unscaled())}
    return {".mat": mat_arrays, ".fits": fits_arrays, ".h5": h5_arrays}[kind](path)


def widened(array, bools):
    """What an array becomes in a format without the narrow types."""
    if array.dtype.kind in "mM":
        return array.astype("i8")
    if array.dtype == np.bool_ and not bools:
        return array.astype("u1")
    if array.dtype.kind == "f" and array.dtype.itemsize == 2:
        return array.astype("f4")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype("f8")
    return array


def bytes_alike(a, b):
    """Whether arrays have the same type, shape and bytes (NaN with its payload)."""
    a, b = (x.astype(x.dtype.newbyteorder("<")) for x in (a, b))
    return a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def mat_names(names):
    def one(name):
        made = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:63]
        made = made if re.match("[A-Za-z]", made) else f"x{made}"[:63]
        return made + "_" if made in KEYWORDS else made

    good, seen, out = {name for name in names if one(name) == name}, set(), []
    for name in names:
        base = one(name)
        if base == name and name not in seen:
            seen.add(name)
            out.append(name)
            continue
        found, n = base, 2
        while found in good:
            found, n = base[: 63 - len(f"_{n}")] + f"_{n}", n + 1
        good.add(found)
        out.append(found)
    return out


def two_dimensions(array):
    return array.reshape(1, -1) if array.ndim < 2 else array


def leaves(array, above=""):
    """The fields of records, those of records in them by their paths."""
    for name in array.dtype.names:
        if array[name].dtype.names and array.dtype[name].shape == ():
            yield from leaves(array[name], f"{above}{name}.")
        else:
            yield above + name, array[name]


def mat_differs(array, found):
    """Whether a variable of scipy's is not this array."""
    if array.dtype.names:
        if found.dtype.names is None or found.shape != (1, 1):
            return "is no struct"
        fields = dict(leaves(array))
        return next((f"field {name!r} {why}" for (name, field), made in zip(fields.items(), mat_names(list(fields))) if (why := mat_differs(field, found[0, 0][made]))), None)
    if array.dtype.kind in "SU":
        text = array.astype("U") if array.dtype.kind == "U" else np.char.decode(array, "latin-1")
        wanted = [t.rstrip(" ") for t in text.reshape(-1)] if text.size else []
        return None if [t.rstrip(" ") for t in found.reshape(-1).tolist()] == wanted else f"has the texts {found.tolist()[:5]}"
    if array.dtype.kind == "O":
        if not all(isinstance(t, (bytes, str)) for t in array.reshape(-1)):
            return None
        texts = [t.decode() if isinstance(t, bytes) else str(t) for t in array.reshape(-1, order="F")]
        got = [str(t[0]) if t.size else "" for t in found.reshape(-1, order="F")]
        return None if got == texts else f"has the texts {got[:5]}"
    if array.dtype.kind == "V":
        array = np.frombuffer(array.tobytes(), "u1").reshape(*array.shape, array.dtype.itemsize)
    wanted = two_dimensions(widened(array, True))
    # scipy gives truth values as bytes.
    if wanted.dtype == np.bool_:
        wanted, found = wanted.astype("u1"), found.astype("u1")
    return None if bytes_alike(wanted, found) else f"is {found.dtype} {found.shape}, the source {wanted.dtype} {wanted.shape}"


def compare_science(source, out):
    try:
        # Cells and structs are other things on the way.
        left = mat_arrays(source, True) if suffix(source) == ".mat" else science_arrays(source)
    except (ValueError, TypeError, NotImplementedError, OSError) as error:
        raise Unreadable(f"the source cannot be read by its reference library: {error}") from error
    if suffix(source) == ".mat":
        if any(array.dtype == object or array.dtype.names or not isinstance(array, np.ndarray) for array in left.values()):
            left = {name: array for name, array in left.items() if isinstance(array, np.ndarray) and array.dtype != object and not array.dtype.names}
            left = {name: array for name, array in left.items() if mat_names([name]) == [name]}
    if not left:
        raise Unreadable("there are no arrays in the source")
    kind = suffix(out)
    if kind == ".mat":
        right = mat_arrays(out)
        names = mat_names(list(left)) if len(left) > 1 else list(right)
        if len(names) != len(left):
            yield f"{len(right)} variables, the source has {len(left)} arrays"
        for (name, array), made in zip(left.items(), names):
            why = "is missing" if made not in right else mat_differs(np.asarray(array), right[made])
            if why:
                yield f"variable {made!r} {why}"
        return
    right = science_arrays(out)
    for n, (name, array) in enumerate(left.items()):
        # HDF5 has every type and single values; the others have neither half precision nor a shape of nothing.
        array = np.asarray(array) if kind == ".h5" else widened(np.asarray(array), False)
        if kind == ".fits":
            if array.dtype.kind in "SUO" or array.dtype.names:
                continue  # a table, which compare_fits_tables looks at
            if array.dtype.kind == "V":
                array = np.frombuffer(array.tobytes(), "u1").reshape(*array.shape, array.dtype.itemsize)
            if array.dtype.kind == "c":
                array = np.stack([array.real, array.imag], axis=-1)
        array = array.reshape(1) if array.ndim == 0 and kind != ".h5" else array
        found = next(iter(right.values()), None) if len(left) == 1 else right.get(name)
        if found is None:
            yield f"array {name!r} is missing"
        elif array.size == 0 and kind == ".fits":
            if found.shape != array.shape:
                yield f"array {name!r} has shape {found.shape}, the source {array.shape}"
        elif not bytes_alike(array, found):
            yield f"array {name!r} is {found.dtype} {found.shape}, the source {array.dtype} {array.shape}, or its bytes differ"


def fits_table(path):
    """[(name, values)] of the binary table in a file."""
    from astropy.table import Table

    list(fits_units(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.read(path, format="fits", character_as_bytes=False)
    out = []
    for name in table.colnames:
        column, mask = table[name], np.ma.getmaskarray(np.ma.asarray(table[name]))
        cells = []
        for n in range(len(table)):
            cell = column[n]
            null = mask[n].all() if mask.ndim else False
            if null and np.ndim(cell) == 0:
                cells.append(None)
            elif isinstance(cell, np.ndarray) and cell.dtype.kind in "SU":
                # A text of any length is an array of characters there.
                joined = b"".join(c if isinstance(c, bytes) else str(c).encode("latin-1") for c in cell.tolist())
                cells.append(joined.decode("utf-8").rstrip(" "))
            elif isinstance(cell, (bytes, np.bytes_)):
                cells.append(bytes(cell).decode("utf-8").rstrip(" "))
            else:
                cells.append(cell)
        out.append((name, cells))
    return out, len(table)


def same_fits(value, cell):
    """Whether a cell of a FITS table says this value."""
    if value is None:
        return cell is None or isinstance(cell, (float, np.floating)) and cell != cell or isinstance(cell, (str, np.bool_)) and not cell or np.size(cell) == 0 or np.ma.is_masked(cell)
    if isinstance(value, str) and value == "nan" or isinstance(value, float) and value != value:
        # Which Astropy takes for missing.
        return cell is None or np.ndim(cell) == 0 and cell != cell
    if isinstance(value, str):
        return (cell or "") == value.split("\0")[0].rstrip(" ")
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "binary":
        return bytes(bytearray(np.asarray(cell).astype("u1").tolist() if np.ndim(cell) else [])) == value[1]
    if isinstance(value, tuple) and len(value) == 2 and value[0] in ("stamp", "zoned", "time", "duration"):
        return isinstance(cell, str) and moment(value[0], cell) == value[1]
    if isinstance(value, (bool, int, float)):
        if cell is None or np.ndim(cell):
            return False
        # Of unions texts; of float16 the shortest text.
        return bool(cell == value) or str(cell) == str(value) or isinstance(value, float) and value in (float(str(cell)), float(str(np.float16(cell))))
    if isinstance(value, (list, tuple)) and not isinstance(cell, str):
        flat = np.asarray(cell).reshape(-1) if np.ndim(cell) else [cell]
        wanted = []

        def walk(v):
            wanted.extend([v]) if not isinstance(v, (list, tuple)) else [walk(x) for x in v]

        walk(value)
        return len(wanted) == len(flat) and all(same_fits(v, c) or v is None for v, c in zip(wanted, flat))
    # Everything else is text: of what is nested JSON.
    return isinstance(cell, str)


def compare_fits_tables(source, out):
    (left, rows), (right, out_rows) = load_table(source), fits_table(out)
    if rows != out_rows:
        yield f"{out_rows} rows, the source has {rows}"
    if len(left) != len(right):
        yield f"{len(right)} columns, the source has {len(left)}"
    from_text = source.suffix.lower() in TEXTS
    for (name, values), (_, cells) in zip(left, right):
        same = (lambda v, c: same_text(None if c is None else c.item() if isinstance(c, np.generic) else c, v)) if from_text else same_fits
        wrong = [i for i, (a, b) in enumerate(zip(values, cells)) if not same(a, b)]
        for i in wrong[:SHOWN]:
            yield f"column {name!r}, row {i}: {cells[i]!r}, the source has {values[i]!r}"


def compare_mat_tables(source, out):
    """Columns as variables: numbers and texts."""
    left, rows = load_table(source)
    right = mat_arrays(out)
    for (name, values), made in zip(left, mat_names([name for name, _ in left])):
        if made not in right:
            continue  # left out, which was said
        found = right[made]
        if found.dtype.kind == "O":
            got = [str(t[0]) if t.size else "" for t in found.reshape(-1, order="F")]
            wrong = [i for i, (a, b) in enumerate(zip(values, got)) if (a or "") != b]
        else:
            got = found.reshape(rows, -1) if found.ndim > 2 or found.shape[0] == rows else found.reshape(-1)
            plain = [i for i, v in enumerate(values) if isinstance(v, (bool, int, float))]
            wrong = [i for i in plain if got.ndim == 1 and values[i] not in (got[i], float(str(got[i])), float(str(np.float16(got[i]))))]
        for i in wrong[:SHOWN]:
            yield f"column {name!r}, row {i}: {got[i]!r}, the source has {values[i]!r}"


# ---------------------------------------------------------------- pictures


def shown(image):
    """A frame of Pillow's: grey, RGB or RGBA."""
    if image.mode.startswith(("I", "F")):
        return np.asarray(image)[..., None]
    see_through = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    return np.asarray(image.convert("RGBA" if see_through else "RGB"))


def netpbm(path):
    """P5, P6 and P7 with one byte or two a sample, Pf and PF, which Pillow cuts to eight bits or does not read."""
    data = path.read_bytes()
    kind, at, words = data[:2], 2, []
    if kind == b"P7":
        at = data.index(b"ENDHDR\n") + 7
        fields = dict(line.split(None, 1) for line in data[3:at].decode().splitlines() if " " in line)
        width, height, channels, most = (int(fields[name]) for name in ("WIDTH", "HEIGHT", "DEPTH", "MAXVAL"))
    elif kind in (b"P5", b"P6", b"Pf", b"PF"):
        while len(words) < 3:
            at += 1
            if data[at : at + 1] == b"#":
                at = data.index(b"\n", at)
            elif not data[at : at + 1].isspace():
                end = at
                while not data[end : end + 1].isspace():
                    end += 1
                words.append(data[at:end])
                at = end
        at += 1 if data[at : at + 1].isspace() else 0
        width, height, most = int(words[0]), int(words[1]), float(words[2])
        channels = 3 if kind in (b"P6", b"PF") else 1
    else:
        return None
    if kind in (b"Pf", b"PF"):
        values = np.frombuffer(data, "<f4" if most < 0 else ">f4", width * height * channels, at)
        return values.reshape(height, width, channels)[::-1]
    if most not in (255, 65535):
        return None
    values = np.frombuffer(data, "u1" if most == 255 else ">u2", width * height * channels, at)
    return values.reshape(height, width, channels)


def pages(path):
    """The frames of a picture, each height x width x channels, with the samples that it holds."""
    kind = path.suffix.lower()
    if kind in TIFFS:
        import tifffile

        with tifffile.TiffFile(path) as file:
            if all(page.photometric in (1, 2) and page.bitspersample >= 8 and page.planarconfig == 1 for page in file.pages):
                return [page.asarray().reshape(page.imagelength, page.imagewidth, -1) for page in file.pages]
    if kind == ".exr":
        import OpenEXR

        channels = OpenEXR.File(str(path), separate_channels=True).channels()
        names = [name for name in ("Y", "R", "G", "B", "A") if name in channels] or sorted(channels)[:1]
        return [np.stack([channels[name].pixels for name in names], axis=-1)]
    if kind in NETPBM and (values := netpbm(path)) is not None:
        return [values]
    with Image.open(path) as image:
        frames = getattr(image, "n_frames", 1)
        if kind == ".png" and frames == 1 and path.read_bytes()[24] == 16:
            import imagecodecs

            values = imagecodecs.png_decode(path.read_bytes())
            return [values.reshape(*values.shape[:2], -1)]
        out = []
        for n in range(frames):
            image.seek(n)
            out.append(shown(image))
        return out


def alike(left, right):
    """The same pixels with the same number of channels: grey as colours, without an alpha that says nothing."""
    deepest = {np.dtype("u1"): 255, np.dtype("u2"): 65535}

    def opaque(values):
        most = deepest.get(values.dtype.newbyteorder("="), 1)
        return values[..., -1].min() == most if values.size else True

    def simple(values):
        if values.shape[2] in (2, 4) and opaque(values):
            values = values[..., :-1]
        if values.shape[2] == 3 and np.array_equal(values[..., 0], values[..., 1]) and np.array_equal(values[..., 0], values[..., 2]):
            values = values[..., :1]
        if values.shape[2] == 4 and np.array_equal(values[..., 0], values[..., 1]) and np.array_equal(values[..., 0], values[..., 2]):
            values = values[..., 2:]
        return values

    return (left, right) if left.shape[2] == right.shape[2] else (simple(left), simple(right))


def compare_images(source, out):
    left = source_pages(source)
    # A file of a folder of frames says by its name which it is.
    stem, _, number = out.stem.rpartition("_")
    right = pages(out)
    if len(number) >= 4 and number.isdigit() and out.parent.suffix in (".pngs", ".tiffs"):
        left = left[int(number) :]
    if len(left) < len(right):
        yield f"{len(right)} frames, the source has {len(left)}"
    if out.suffix.lower() in TIFFS and out.parent.suffix != ".tiffs" and len(left) != len(right):
        yield f"{len(right)} pages, the source has {len(left)} frames"
    for n, (a, b) in enumerate(zip(left, right)):
        for line in compare_frames(a, b, out):
            yield f"frame {n}: {line}" if len(left) > 1 else line


def source_pages(source):
    if source.suffix.lower() in IMAGES:
        return pages(source)
    array = np.load(source)
    if array.ndim < 3 or array.shape[-1] > 4:
        array = array[..., None]
    return list(array.reshape(-1, *array.shape[-3:]))


def compare_frames(left, right, out):
    if left.shape[:2] != right.shape[:2]:
        yield f"{right.shape[1]} x {right.shape[0]}, the source is {left.shape[1]} x {left.shape[0]}"
        return
    left, right = alike(left, right)
    if out.suffix.lower() in LOSSY:
        # What a lossy format has no place for is not there: alpha, and more than eight bits.
        left, right = left[..., :3], right[..., :3]
        left = left / 257 if left.dtype.itemsize == 2 and left.dtype.kind == "u" else left
        if left.shape[2] == 1 or right.shape[2] == 1:
            left, right = left.mean(2, keepdims=True), right.mean(2, keepdims=True)
    if left.shape[2] != right.shape[2]:
        yield f"{right.shape[2]} channels, the source has {left.shape[2]}"
        return
    if out.suffix.lower() in LOSSY:
        left, right = left.astype(np.float64), right.astype(np.float64)
        off = np.abs(left.mean((0, 1)) - right.mean((0, 1))).max()
        noise = ((left - right) ** 2).mean()
        if off > 4:
            yield f"the mean of a channel is off by {off:.1f}"
        if noise > 0 and (ratio := 10 * np.log10(255**2 / noise)) < 24:
            yield f"a signal to noise of {ratio:.1f} dB"
    elif not np.array_equal(left, right, equal_nan=left.dtype.kind in "fc" and right.dtype.kind in "fc"):
        wrong = np.argwhere((left != right).any(axis=2))
        y, x = wrong[0]
        yield f"{len(wrong)} pixels differ, the first at x {x}, y {y}: {right[y, x].tolist()}, the source has {left[y, x].tolist()}"


# ---------------------------------------------------------------- sounds


def compare_sounds(source, out):
    import soundfile

    with soundfile.SoundFile(source) as left, soundfile.SoundFile(out) as right:
        if (left.samplerate, left.channels, left.frames) != (right.samplerate, right.channels, right.frames):
            yield f"{right.frames} x {right.channels} at {right.samplerate}, the source is {left.frames} x {left.channels} at {left.samplerate}"
            return
        # Whole numbers lie at the upper end of 32 bits, whatever their width.
        is_float = any(word in ("FLOAT", "DOUBLE") for word in (left.subtype, right.subtype))
        kind = "float64" if is_float else "int32"
        a, b = left.read(dtype=kind, always_2d=True), right.read(dtype=kind, always_2d=True)
        if out.suffix.lower() == ".flac" and is_float:
            a = np.clip(np.round(a * 2**23), -(2**23), 2**23 - 1) / 2**23
        if out.suffix.lower() == ".flac" and left.subtype == "PCM_32":
            a = a >> 8 << 8
        if not np.array_equal(a, b, equal_nan=is_float):
            wrong = np.argwhere((a != b).any(axis=1))[:, 0]
            at = wrong[0]
            yield f"{len(wrong)} frames differ, the first is {at}: {b[at].tolist()}, the source has {a[at].tolist()}"


# ---------------------------------------------------------------- all


def compare(source, out):
    if source.suffix.lower() == ".npy" and out.suffix.lower() in IMAGES:
        return list(compare_images(source, out))
    if suffix(out) in SCIENCE:
        if suffix(source) in SCIENCE | {".npy", ".npz"}:
            return list(compare_science(source, out))
        if source.suffix.lower() in TABLES and suffix(out) in (".fits", ".mat"):
            return list((compare_fits_tables if suffix(out) == ".fits" else compare_mat_tables)(source, out))
        raise Unreadable("is of another kind than the source")
    for kinds, check in [(TABLES, compare_tables), (ARRAYS, compare_arrays), (IMAGES, compare_images), (SOUNDS, compare_sounds)]:
        if suffix(source) in kinds:
            if suffix(out) not in kinds:
                raise Unreadable("is of another kind than the source")
            return list(check(source, out))
    raise Unreadable("the kind of the source is not known here")


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, failed = Path(sys.argv[1]), False
    known = TABLES | ARRAYS | IMAGES | SCIENCE | SOUNDS
    outs = []
    for name in map(Path, sys.argv[2:]):
        # A Zarr or N5 store is a folder and one thing; those below a folder are found by their names.
        folder = name.is_dir() and name.suffix not in FOLDERS
        inside = sorted(f for f in name.rglob("*") if {f.suffix.lower(), suffix(f)} & known and not any(p.suffix in FOLDERS for p in f.parents)) if folder else [name]
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
