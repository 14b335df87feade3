#!/usr/bin/env python3
"""Makes the tables of operators' documentation: `onnx.json.xz` from the schemas of the package onnx (1.23.2),
`tensorflow.json.xz` from the operators and their texts in the package tensorflow (2.21.0).

    assets/operators/make.py [onnx] [tensorflow]

A list of objects, sorted by domain and name; of each operator of ONNX its newest version, or the last one before it was given
up: `domain` (empty for ai.onnx and for TensorFlow), `name`, `since` (the opset of that version, or null), `versions` (all of them),
`deprecated` (the opset that gave it up, or null), `text` (Markdown), `inputs` and `outputs` (`name`, `type`: a name among `types` or
a type; `option`: single, optional or variadic; `text`), `attributes` (`name`, `type`, `required`, `default`: a JSON value or null,
`text`), `types` (`name`, `allowed`, `text`).
"""

import json
import lzma
import math
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).parent


def clean(text):
    """Without the indentation of its source and without spaces at the ends of lines."""
    lines = (text or "").strip("\n").expandtabs(4).splitlines()
    # The first line often stands further left than the rest.
    rest = textwrap.dedent("\n".join(lines[1:]))
    return "\n".join(line.rstrip() for line in ([lines[0].strip()] if lines else []) + rest.splitlines()).strip()


def default(attribute):
    from onnx import helper

    value = attribute.default_value
    if not value.name:
        return None
    value = helper.get_attribute_value(value)
    if isinstance(value, float):
        # Of 32 bits: the shortest number that is read as the same.
        import numpy as np

        return float(str(np.float32(value)))
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (int, str)):
        return value
    if hasattr(value, "data_type"):
        return "a tensor" if value.data_type else None
    return [item.decode() if isinstance(item, bytes) else item for item in value]


def ports(formal):
    return [
        {"name": port.name, "type": port.type_str, "option": port.option.name.lower(), "text": clean(port.description)}
        for port in formal
    ]


def operator(schema, versions, given_up):
    attributes = [
        {"name": own.name, "type": own.type.name, "required": own.required, "default": default(own), "text": clean(own.description)}
        for own in sorted(schema.attributes.values(), key=lambda own: own.name)
    ]
    types = [
        {"name": own.type_param_str, "allowed": sorted(own.allowed_type_strs), "text": clean(own.description)}
        for own in schema.type_constraints
    ]
    return {
        "domain": schema.domain, "name": schema.name, "since": schema.since_version, "versions": versions, "deprecated": given_up,
        "text": clean(schema.doc), "inputs": ports(schema.inputs), "outputs": ports(schema.outputs), "attributes": attributes, "types": types,
    }


def onnx():
    from onnx import defs

    history = {}
    for schema in defs.get_all_schemas_with_history():
        history.setdefault((schema.domain, schema.name), []).append(schema)
    operators = []
    for _, schemas in sorted(history.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        kept = [schema for schema in schemas if not schema.deprecated] or schemas
        given_up = schemas[-1].since_version if schemas[-1].deprecated else None
        operators.append(operator(kept[-1], [schema.since_version for schema in schemas], given_up))
    return operators


# The words of TensorFlow's operators about a parameter that say its type, which stands beside them.
TYPE = re.compile(r"^(A `Tensor`|A list of|A `[^`]*`|An optional|A mutable|An `[^`]*`|The type hidden|A tuple|A name for)")


def arguments(section):
    """The parameters of a section of a docstring: {name: text}, without the sentences that say types."""
    told, name = {}, None
    for line in section.splitlines():
        begin = re.match(r"^(\w+): (.*)$", line)
        if begin:
            name, first = begin.groups()
            told[name] = [] if TYPE.match(first) else [first]
        elif name:
            told[name].append(line)
    return {name: clean("\n" + "\n".join(lines)) for name, lines in told.items()}


def plain(value):
    """The value of an attribute (`AttrValue`) as JSON."""
    from tensorflow import dtypes

    kind = value.WhichOneof("value")
    if kind in ("i", "b"):
        return getattr(value, kind)
    if kind == "f":
        return float(f"{value.f:.7g}")
    if kind == "s":
        return value.s.decode("utf-8", "replace")
    if kind == "type":
        return dtypes.as_dtype(value.type).name
    if kind == "list":
        own = value.list
        if own.type:
            return [dtypes.as_dtype(item).name for item in own.type]
        texts = [item.decode("utf-8", "replace") for item in own.s]
        return list(own.i) or [float(f"{item:.7g}") for item in own.f] or list(own.b) or texts
    return None


def tensorflow():
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    def kind(port):
        own = port.type_attr or port.type_list_attr or (tf.dtypes.as_dtype(port.type).name if port.type else "")
        return f"{port.number_attr} * {own}" if port.number_attr else own

    operators = []
    for name in sorted(name for name in dir(tf.raw_ops) if not name.startswith("_")):
        definition, text = op_def_registry.get(name), getattr(tf.raw_ops, name).__doc__ or ""
        if definition is None:
            continue
        text, _, returns = clean(text).partition("\nReturns:")
        text, _, told = text.partition("\nArgs:")
        told = arguments(clean("\n" + told))
        returns = clean("\n" + returns)
        several = arguments(returns.partition("\n")[2]) if returns.startswith("A tuple") else {}
        one = "" if TYPE.match(returns) and "\n" not in returns else clean(returns.partition("\n")[2] if TYPE.match(returns) else returns)
        ports = lambda listed, texts: [
            {"name": port.name, "type": kind(port), "option": "variadic" if port.number_attr or port.type_list_attr else "single", "text": texts(port.name)}
            for port in listed
        ]
        types = [
            {"name": own.name, "allowed": sorted(tf.dtypes.as_dtype(item).name for item in own.allowed_values.list.type), "text": ""}
            for own in definition.attr
            if own.type == "type" and own.allowed_values.list.type
        ]
        attributes = [
            {
                "name": own.name, "type": own.type, "required": not own.HasField("default_value"),
                "default": plain(own.default_value) if own.HasField("default_value") else None, "text": told.get(own.name, ""),
            }
            for own in definition.attr
        ]
        operators.append({
            "domain": "", "name": name, "since": None, "versions": [], "deprecated": None, "text": "" if text.startswith("TODO") else text.strip(),
            "inputs": ports(definition.input_arg, lambda name: told.get(name, "")),
            "outputs": ports(definition.output_arg, lambda name: several.get(name, one if len(definition.output_arg) == 1 else "")),
            "attributes": attributes, "types": types,
        })
    return operators


def finite(value):
    """JSON has no infinities: they are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


def write(name, operators):
    text = json.dumps(finite(operators), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 4 << 20}]
    packed = lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)
    (HERE / name).write_bytes(packed)
    print(f"{name}: {len(operators)} operators, {len(text)} bytes, {len(packed)} packed")


if __name__ == "__main__":
    tables = {"onnx": onnx, "tensorflow": tensorflow}
    for name in sys.argv[1:] or tables:
        write(f"{name}.json.xz", tables[name]())
