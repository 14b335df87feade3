"""Graphs for the comparison of layouts: those of models, flat, as `{name, sizes, edges}`, one file each.

    graphs.py GANDER TO MODEL...
"""

import json
import pathlib
import subprocess
import sys

gander, to, *models = sys.argv[1:]
to = pathlib.Path(to)
to.mkdir(parents=True, exist_ok=True)


def size(title, detail):
    return [max(72, 24 + 7.5 * len(title[:40]), 24 + 6.5 * len(detail[:40])), 48 if detail else 32]


def flat(graph):
    sizes = [size(node["op"], node["name"]) for node in graph["nodes"]]
    ends, edges = {}, {}

    def end(role, tensor):
        if (role, tensor) not in ends:
            ends[role, tensor] = len(sizes)
            sizes.append(size(tensor, role))
        return ends[role, tensor]

    for edge in graph["edges"]:
        a = end("input", edge["tensor"]) if edge["from"] is None else edge["from"]
        b = end("output", edge["tensor"]) if edge["to"] is None else edge["to"]
        edges[a, b] = True
    return {"sizes": sizes, "edges": [list(edge) for edge in edges]}


for model in models:
    shown = subprocess.run([gander, "show", "--json", model], capture_output=True, text=True, timeout=60)
    try:
        graph = json.loads(shown.stdout)
        made = flat(graph)
    except (ValueError, KeyError, TypeError):
        continue
    if len(made["sizes"]) >= 6 and len(made["edges"]) >= 5:
        name = "_".join(pathlib.Path(model.split("#")[0]).parts[-2:])
        (to / f"{name}.json").write_text(json.dumps({"name": name, **made}))
