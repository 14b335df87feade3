// Layouts by dagre of the graphs of graphs.py: `node dagre.js FOLDER TO`, with `@dagrejs/dagre` in NODE_PATH.
const fs = require("fs");
const path = require("path");
const dagre = require("@dagrejs/dagre");

const [from, to] = process.argv.slice(2);
fs.mkdirSync(to, { recursive: true });
for (const file of fs.readdirSync(from)) {
  const { name, sizes, edges } = JSON.parse(fs.readFileSync(path.join(from, file)));
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 28, edgesep: 14, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach(([width, height], n) => graph.setNode(String(n), { width, height }));
  edges.forEach(([a, b]) => graph.setEdge(String(a), String(b)));
  const start = process.hrtime.bigint();
  dagre.layout(graph);
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  const lines = edges.map(([a, b]) => graph.edge(String(a), String(b)).points.map(({ x, y }) => [x, y]));
  fs.writeFileSync(path.join(to, file), JSON.stringify({ name, ms, lines }));
}
