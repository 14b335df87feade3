#!/usr/bin/env python3
"""Shapes and types of values of ONNX models that Gander concludes, beside those of onnx.shape_inference.

    tests/onnx_judge.py BINARY [FOLDER…] [--no-node-tests] [--keep DIR]

Needs onnx (1.23). The models are those of the folders, of onnx's own backend tests (its node tests are made anew), and of
the functions in `made` below. Each loses its `value_info`; then `gander show --json` must open it, count its operators as onnx
does, and contradict `onnx.shape_inference.infer_shapes(data_prop=True)` nowhere: a type, a rank, a length that both know must be the
same. The share of shapes that onnx knows and Gander knows as well is printed. Exit status 0 only when nothing differs.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
from onnx import TensorProto, helper

warnings.filterwarnings("ignore")
WORDS = {
    "FLOAT": "float32", "DOUBLE": "float64", "BFLOAT16": "bfloat16", "FLOAT16": "float16", "STRING": "str",
    "COMPLEX64": "complex64", "COMPLEX128": "complex128", "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz", "FLOAT8E5M2": "float8_e5m2", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT4E2M1": "float4_e2m1fn", "FLOAT8E8M0": "float8_e8m0fnu",
}


def word(code):
    name = TensorProto.DataType.Name(code)
    return WORDS.get(name, name.lower())


def facts(values):
    """{name: (type, lengths)} of tensors; a length is a number, a name or None."""
    found = {}
    for value in values:
        if not value.type.HasField("tensor_type"):
            continue
        tensor = value.type.tensor_type
        shape = None
        if tensor.HasField("shape"):
            shape = [
                # Below zero is another spelling of open.
                dim.dim_param or None if not dim.HasField("dim_value") else dim.dim_value if dim.dim_value >= 0 else None
                for dim in tensor.shape.dim
            ]
        found[value.name] = (word(tensor.elem_type) if tensor.elem_type else None, shape)
    return found


def made(folder):
    """Models of PyTorch's and of torchvision's, where these are there."""
    try:
        import torch
        import torchvision
    except ImportError:
        return
    picture = torch.zeros(1, 3, 224, 224)
    nets = {name: (getattr(torchvision.models, name)(weights=None), (picture,)) for name in ("resnet18", "mobilenet_v2", "shufflenet_v2_x0_5", "squeezenet1_1", "vit_b_16")}
    nets["lstm"] = (torch.nn.LSTM(8, 16, num_layers=2, bidirectional=True), (torch.zeros(5, 2, 8),))
    nets["encoder"] = (torch.nn.TransformerEncoderLayer(32, 4, batch_first=True), (torch.zeros(2, 7, 32),))
    for name, (net, inputs) in nets.items():
        for dynamo in (False, True):
            path = folder / f"{name}_{'dynamo' if dynamo else 'script'}.onnx"
            more = {} if dynamo else {"dynamic_axes": {"x": {0: "batch"}}, "input_names": ["x"]}
            try:
                torch.onnx.export(net.eval(), inputs, str(path), dynamo=dynamo, verbose=False, **more)
            except Exception as error:  # An exporter that refuses a net says nothing of Gander.
                print(f"{path.name}: not exported ({type(error).__name__})", file=sys.stderr)


def node_tests(folder):
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        if case.model is not None:
            (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs(body)


def gander(binary, path):
    done = subprocess.run([binary, "show", str(path), "--json"], capture_output=True, timeout=120)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stdout[-300:].decode(errors="replace") + done.stderr[-300:].decode(errors="replace")}


def judge(binary, path, folder, totals, wrong):
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:
        return
    for graph in graphs(model.graph):
        del graph.value_info[:]
    bare = folder / "bare.onnx"
    bare.write_bytes(model.SerializeToString())
    shown = gander(binary, bare)
    if "nodes" not in shown:
        wrong.append(f"{path.name}: not opened: {shown.get('error')}")
        return
    totals["models"] += 1
    own, theirs = (collections.Counter(items) for items in ([node["op"] for node in shown["nodes"]], [node.op_type for node in model.graph.node]))
    if own != theirs:
        wrong.append(f"{path.name}: operators {own} for {theirs}")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True).graph
    except Exception:
        totals["not inferred by onnx"] += 1
        return
    known = facts(inferred.value_info)
    given = facts([*model.graph.input, *model.graph.output])
    mine = {edge["tensor"]: (edge["dtype"], edge["shape"]) for edge in shown["edges"]}
    for name, (dtype, shape) in known.items():
        if name in given or name not in mine:
            continue
        own_type, own_shape = mine[name]
        operator = next(node.op_type for node in inferred.node if name in node.output)
        totals["types"] += 1
        totals["types known"] += own_type is not None
        if own_type is not None and dtype is not None and own_type != dtype:
            wrong.append(f"{path.name}: {name} ({operator}) is {own_type}, not {dtype}")
        if shape is None:
            totals["more"] += own_shape is not None
            continue
        totals["shapes"] += 1
        if own_shape is None:
            totals[f"no {operator}"] += 1
            continue
        if len(own_shape) != len(shape) or any(a != b for a, b in zip(own_shape, shape) if isinstance(a, int) and isinstance(b, int)):
            wrong.append(f"{path.name}: {name} ({operator}) has {own_shape}, not {shape}")
            continue
        if any(isinstance(a, str) and isinstance(b, str) and a != b and not b.startswith("unk__") for a, b in zip(own_shape, shape)):
            wrong.append(f"{path.name}: {name} ({operator}) has {own_shape}, not {shape}")
        totals["ranks known"] += 1
        whole = all(a is not None for a, b in zip(own_shape, shape) if isinstance(b, int))
        totals["shapes known"] += whole
        if not whole:
            totals[f"less {operator}"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--no-node-tests", action="store_true")
    parser.add_argument("--keep", help="keep the models that are made here, and use those that are there")
    args = parser.parse_args()
    totals, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(args.keep or scratch)
        paths = []
        for given in args.folders:
            paths += sorted(path for path in Path(given).rglob("*.onnx"))
        if not args.no_node_tests:
            (folder / "node").mkdir(parents=True, exist_ok=True)
            (folder / "net").mkdir(exist_ok=True)
            if not any((folder / "node").iterdir()):
                node_tests(folder / "node")
                made(folder / "net")
            data = Path(onnx.__file__).parent / "backend/test/data"
            paths += [*sorted((folder / "node").iterdir()), *sorted((folder / "net").glob("*.onnx")), *sorted(data.rglob("*.onnx"))]
        for path in paths:
            judge(args.binary, path, Path(scratch), totals, wrong)
    print("\n".join(wrong[:100]))
    for name in sorted(totals):
        print(f"{name}: {totals[name]}")
    print(f"{len(wrong)} contradictions; {totals['shapes known']} of {totals['shapes']} shapes are known")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
