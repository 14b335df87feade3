#!/usr/bin/env python3
"""Measures models that are graphs beside onnx and TensorFlow, in one run, turn by turn.

    graphs.py [--gander target/release/gander] [--data benches/data] [--only onnx,saved] [--repeat 5] [--out benches/README.md]

Needs a Python with numpy, onnx and tensorflow. The data are made in the data folder where they are not there
(`graphs.py --make DIR` only makes them): an ONNX model of 2 GB whose weights lie in a file beside it, a SavedModel with 500 MB
of variables. measure.py says how things are measured.
"""

import sys

from measure import Case, main, make, peer

LAYERS, WIDTH = 120, 2048


def external(folder):
    """Linear layers with an activation behind each: 120 matrices of 16 MiB."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    folder.mkdir()
    block = (np.random.default_rng(5).standard_normal((WIDTH, WIDTH), dtype=np.float32) * 0.02).tobytes()
    nodes, weights, last = [], [], "x"
    with open(folder / "model.onnx.data", "wb") as out:
        for n in range(LAYERS):
            tensor = TensorProto(name=f"layers.{n}.weight", data_type=TensorProto.FLOAT, dims=[WIDTH, WIDTH], data_location=TensorProto.EXTERNAL)
            for key, text in {"location": "model.onnx.data", "offset": str(out.tell()), "length": str(len(block))}.items():
                tensor.external_data.add(key=key, value=text)
            weights.append(tensor)
            out.write(block)
            nodes.append(helper.make_node("MatMul", [last, tensor.name], [f"m{n}"], f"/layers.{n}/MatMul"))
            nodes.append(helper.make_node("Relu", [f"m{n}"], [f"r{n}"], f"/layers.{n}/Relu"))
            last = f"r{n}"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH])
    graph = helper.make_graph(nodes, "layers", [value("x")], [value(last)], weights)
    onnx.save(helper.make_model(graph), folder / "model.onnx")


def saved(folder):
    """As many layers as make 500 MB, with a function that calls them."""
    import tensorflow as tf

    class Layers(tf.Module):
        def __init__(self):
            self.weights = [tf.Variable(tf.random.normal([WIDTH, WIDTH]), name=f"weight_{n}") for n in range(30)]

        @tf.function(input_signature=[tf.TensorSpec([None, WIDTH])])
        def __call__(self, x):
            for weight in self.weights:
                x = tf.nn.relu(x @ weight)
            return x

    tf.saved_model.save(Layers(), str(folder))


MADE = {"onnx_2gb": external, "saved_500mb": saved}


def onnx_cases(gander, data):
    path, group = data / "onnx_2gb/model.onnx", "ONNX model of 2 GB, weights beside it"
    return [
        Case(group, "opened, weights by name", "gander", [gander, "tree", path, "--json"]),
        Case(group, "opened, first 20 nodes", "gander", [gander, "show", path]),
        Case(group, "all nodes and edges", "gander", [gander, "show", path, "--json"]),
        peer(group, "loaded", "onnx.load", "import onnx", f"onnx.load({str(path)!r})"),
        peer(group, "loaded without weights", "onnx.load", "import onnx", f"onnx.load({str(path)!r}, load_external_data=False)"),
    ]


def saved_cases(gander, data):
    path, group = data / "saved_500mb", "SavedModel of 500 MB"
    setup = "import tensorflow as tf"
    return [
        Case(group, "opened, weights by name", "gander", [gander, "tree", path, "--json"]),
        Case(group, "opened, first 20 nodes", "gander", [gander, "show", path]),
        peer(group, "loaded", "tf.saved_model.load", setup, f"tf.saved_model.load({str(path)!r})"),
    ]


GROUPS = {"onnx": (onnx_cases, "onnx_2gb"), "saved": (saved_cases, "saved_500mb")}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        del sys.argv[1]
        make(MADE, __doc__)
    else:
        main(GROUPS, __doc__, "graphs")
