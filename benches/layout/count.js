// Crossings and lengths of the lines of two folders of layouts: `node count.js OURS DAGRES`. Two lines cross where pieces of
// them do in one point inside of both; lines that share a way or an end do not. A piece is counted for each edge.
const fs = require("fs");
const path = require("path");

function crossings(lines) {
  const pieces = [];
  lines.forEach((line, edge) => {
    for (let n = 1; n < line.length; n++) {
      const [a, b] = [line[n - 1], line[n]];
      if (Math.hypot(a[0] - b[0], a[1] - b[1]) > 1e-6) {
        pieces.push({ edge, a, b, top: Math.min(a[1], b[1]), bottom: Math.max(a[1], b[1]) });
      }
    }
  });
  pieces.sort((p, q) => p.top - q.top);
  const side = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  let [sum, active] = [0, []];
  for (const p of pieces) {
    active = active.filter((q) => q.bottom > p.top);
    for (const q of active) {
      if (q.edge === p.edge) continue;
      const eps = 1e-3;
      const [s, t] = [side(p.a, p.b, q.a), side(p.a, p.b, q.b)];
      const [u, v] = [side(q.a, q.b, p.a), side(q.a, q.b, p.b)];
      if (Math.min(...[s, t, u, v].map(Math.abs)) > eps && s > 0 !== t > 0 && u > 0 !== v > 0) sum++;
    }
    active.push(p);
  }
  return sum;
}

function length(lines) {
  let sum = 0;
  for (const line of lines) {
    for (let n = 1; n < line.length; n++) {
      sum += Math.hypot(line[n][0] - line[n - 1][0], line[n][1] - line[n - 1][1]);
    }
  }
  return sum;
}

const [ours, theirs] = process.argv.slice(2);
const sum = { crossings: [0, 0], length: [0, 0], ms: [0, 0] };
const better = { crossings: [0, 0, 0], length: [0, 0, 0] };
const files = fs.readdirSync(ours).filter((file) => fs.existsSync(path.join(theirs, file)));
for (const file of files) {
  const two = [ours, theirs].map((folder) => JSON.parse(fs.readFileSync(path.join(folder, file))));
  const counted = two.map(({ lines, ms }) => ({ crossings: crossings(lines), length: Math.round(length(lines)), ms }));
  for (const what of ["crossings", "length", "ms"]) counted.forEach((c, n) => (sum[what][n] += c[what]));
  for (const what of ["crossings", "length"]) {
    const [a, b] = counted.map((c) => c[what]);
    better[what][Math.abs(a - b) <= (what === "length" ? b * 0.001 : 0) ? 1 : a < b ? 0 : 2]++;
  }
  const texts = counted.map((c) => `${c.crossings} ${c.length} ${c.ms.toFixed(1)} ms`);
  console.log(`${two[0].name}: ${texts.join(" | ")}`);
}
console.log(`${files.length} graphs; ours | dagre`);
for (const what of ["crossings", "length", "ms"]) console.log(`${what}: ${sum[what].map(Math.round).join(" | ")}`);
for (const what of ["crossings", "length"]) console.log(`${what}: better, as good, worse: ${better[what].join(", ")}`);
