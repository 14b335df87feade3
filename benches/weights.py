#!/usr/bin/env python3
"""Measures models and Python objects beside safetensors, torch, pickle and gguf-py, in one run, turn by turn.

    weights.py [--gander target/release/gander] [--data benches/data] [--only shards,scan,pth,pickle,gguf]
            [--repeat 5] [--out benches/README.md]

Needs a Python with numpy, safetensors, torch and gguf, and the bench `one` (`cargo bench --bench one --no-run`).
The data are made in the data folder where they are not there (`weights.py --make DIR` only makes them): 13 GB of shards
whose tensors are holes, 4 GB of random bfloat16, a 1 GB checkpoint of torch's, a 2 GB pickle of small objects, 150 MB
of Q4_K. measure.py says how things are measured; `copy` is a copy in memory of as many bytes, by all threads.
"""

import json
import struct
import sys

from make_data import make_pickle
from measure import Case, main, make, peer, program

SHARDS, LAYERS, HIDDEN, INNER, WORDS = 6, 32, 4096, 11008, 32000


def header(tensors):
    """A header of safetensors for {name: (dtype, shape)}, and the bytes of the tensors."""
    at, told = 0, {}
    for name, (dtype, shape) in tensors.items():
        size = 2
        for side in shape:
            size *= side
        told[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(told).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, at


def shards(folder):
    """The tensors of a model of seven billion parameters, without values."""
    tensors = {"model.embed_tokens.weight": [WORDS, HIDDEN], "model.norm.weight": [HIDDEN], "lm_head.weight": [WORDS, HIDDEN]}
    for layer in range(LAYERS):
        own = {f"self_attn.{part}_proj.weight": [HIDDEN, HIDDEN] for part in "qkvo"}
        own |= {f"mlp.{part}_proj.weight": [INNER, HIDDEN] for part in ("gate", "up")} | {"mlp.down_proj.weight": [HIDDEN, INNER]}
        own |= {f"{part}_layernorm.weight": [HIDDEN] for part in ("input", "post_attention")}
        tensors |= {f"model.layers.{layer}.{name}": shape for name, shape in own.items()}
    folder.mkdir()
    names, places = list(tensors), {}
    for shard in range(SHARDS):
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        part = names[shard * len(names) // SHARDS : (shard + 1) * len(names) // SHARDS]
        head, size = header({name: ("BF16", tensors[name]) for name in part})
        with open(folder / file, "wb") as out:
            out.write(head)
            out.truncate(len(head) + size)
        places |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def random_weights(path):
    """64 matrices of normal bfloat16, 4 GiB together."""
    import numpy as np

    head, _ = header({f"layers.{n}.weight": ("BF16", [8192, 4096]) for n in range(64)})
    rng = np.random.default_rng(3)
    with open(path, "wb") as out:
        out.write(head)
        block = (rng.standard_normal(4096 * 8192, dtype=np.float32) * 0.02).view(np.uint32)
        for n in range(64):
            # Another order of the same numbers: drawing as many anew would take minutes.
            (np.roll(block, n * 7919) >> 16).astype(np.uint16).tofile(out)


def checkpoint(path):
    import torch

    torch.save({f"layers.{n}.weight": torch.randn(2048, 2048) for n in range(64)}, path)


def objects(path):
    make_pickle(path, None, None)


def blocks(path):
    """Random blocks of Q4_K: 4096 × 65536 elements."""
    import gguf
    import numpy as np

    rng = np.random.default_rng(4)
    rows, columns = 65536, 4096
    data = rng.integers(0, 256, (rows, columns // 256 * 144), dtype=np.uint8)
    # Scales that are small numbers, as float16.
    data.reshape(rows, -1, 144)[:, :, 1] = 0x1C
    data.reshape(rows, -1, 144)[:, :, 3] = 0x1C
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("weight", data, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


MADE = {
    "shards_13gb": shards,
    "bf16_4gb.safetensors": random_weights,
    "checkpoint_1gb.pth": checkpoint,
    "objects.pkl": objects,
    "q4_k.gguf": blocks,
}


def one(group, what, who, *arguments, **options):
    return Case(group, what, who, [program("one"), *arguments], **options)


def shard_cases(gander, data):
    path, group = data / "shards_13gb", "13 GB in 6 shards"
    keys = "for f in sorted(glob.glob(folder + '/*.safetensors')):\n    with safe_open(f, 'np') as shard: names = list(shard.keys())"
    return [
        Case(group, "all tensors by name", "gander", [gander, "tree", path, "--depth", "1", "--json"]),
        one(group, "opened, first level", "gander", "children", path, ""),
        peer(group, "all tensors by name", "safetensors", f"import glob\nfrom safetensors import safe_open\nfolder = {str(path)!r}", keys),
    ]


def scan_cases(gander, data):
    path, group = data / "bf16_4gb.safetensors", "4 GB of bfloat16"
    size = path.stat().st_size
    return [
        one(group, "statistics and content hashes of all tensors", "gander", "parameters", path, work=size),
        one(group, "a copy in memory", "memcpy, all threads", "copy", path, work=size),
        Case(group, "health", "gander", [gander, "health", path, "--json"], work=size),
    ]


def pth_cases(gander, data):
    path, group = data / "checkpoint_1gb.pth", "1 GB checkpoint of torch's"
    load = f"torch.load({str(path)!r}, mmap=True, weights_only=True)"
    return [
        Case(group, "all tensors by name", "gander", [gander, "tree", path, "--json"]),
        one(group, "opened, first level", "gander", "children", path, ""),
        peer(group, "all tensors by name", "torch.load(mmap=True)", "import torch", load),
    ]


def pickle_cases(gander, data):
    path, group = data / "objects.pkl", "2 GB pickle of small objects"
    size = path.stat().st_size
    return [
        one(group, "opened, first level", "gander", "children", path, ""),
        Case(group, "first level", "gander", [gander, "tree", path, "--depth", "1", "--json"]),
        peer(group, "whole read", "pickle.load", "import pickle", f"pickle.load(open({str(path)!r}, 'rb'))", work=size),
    ]


def gguf_cases(gander, data):
    path, group = data / "q4_k.gguf", "Q4_K to float32, 268 M elements"
    setup = f"import gguf\ntensor = gguf.GGUFReader({str(path)!r}).tensors[0]"
    size = 65536 * 4096 * 4
    return [
        one(group, "values, one thread", "gander", "full", path, "weight", "1", work=size),
        one(group, "values, all threads", "gander", "full", path, "weight", work=size),
        peer(group, "values", "gguf-py", setup, "gguf.quants.dequantize(tensor.data, tensor.tensor_type)", work=size),
    ]


GROUPS = {
    "shards": (shard_cases, "shards_13gb"),
    "scan": (scan_cases, "bf16_4gb.safetensors"),
    "pth": (pth_cases, "checkpoint_1gb.pth"),
    "pickle": (pickle_cases, "objects.pkl"),
    "gguf": (gguf_cases, "q4_k.gguf"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        del sys.argv[1]
        make(MADE, __doc__)
    else:
        main(GROUPS, __doc__, "weights")
