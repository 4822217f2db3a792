// Edges between tokens, as SVG over the sentence. An edge ends in an arrowhead at the key that is looked at.

const SVG = "http://www.w3.org/2000/svg";
const TALLEST = 46; // of an edge over a sentence in one line; the sheet leaves 3.5rem
const LOW = 22; // of an edge between two lines of a long sentence

// queries, keys: {x, top, bottom, line} of each token's label. edges: {query, key, weight, colour, shift, dashed}.
function drawEdges(svg, queries, keys, edges, isOneLine) {
  const paths = [];
  for (const edge of edges) {
    const from = queries[edge.query];
    const to = keys[edge.key];
    if (from && to) paths.push(...edgeShape(from, to, edge, isOneLine));
  }
  svg.replaceChildren(...paths);
}

function edgeShape(from, to, edge, isOneLine) {
  const width = 1.2 + 5 * edge.weight;
  const tip = 3 + 0.8 * width;
  let d, end, down;
  if (from === to) {
    const y = from.top;
    const r = 9 + Math.abs(edge.shift);
    d = `M${from.x - r * 0.6} ${y} C${from.x - r * 1.5} ${y - 2.6 * r} ${from.x + r * 1.5} ${y - 2.6 * r} ${from.x + r * 0.6} ${y - tip}`;
    end = [from.x + r * 0.6, y];
    down = true;
  } else if (from.line === to.line) {
    const [a, b] = [from.x + edge.shift, to.x + edge.shift];
    const most = isOneLine ? TALLEST : LOW;
    const height = Math.min(most, 14 + 0.12 * Math.abs(a - b)) + 0.6 * Math.abs(edge.shift);
    const y = Math.min(from.top, to.top) - Math.min(height, most) / 0.75;
    d = `M${a} ${from.top} C${a} ${y} ${b} ${y} ${b} ${to.top - tip}`;
    end = [b, to.top];
    down = true;
  } else {
    down = from.line < to.line;
    const [a, b] = [from.x + edge.shift, to.x + edge.shift];
    const start = down ? from.bottom : from.top;
    const stop = down ? to.top - tip : to.bottom + tip;
    const bend = (stop - start) / 2;
    d = `M${a} ${start} C${a} ${start + bend} ${b} ${stop - bend} ${b} ${stop}`;
    end = [b, down ? to.top : to.bottom];
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", d);
  path.setAttribute("fill", "none");
  path.setAttribute("stroke", edge.colour);
  path.setAttribute("stroke-width", width.toFixed(1));
  path.setAttribute("stroke-opacity", (0.6 + 0.4 * Math.min(1, 2 * edge.weight)).toFixed(2));
  if (edge.dashed) path.setAttribute("stroke-dasharray", "6 3");
  path.dataset.query = edge.query;
  path.dataset.key = edge.key;
  path.dataset.head = edge.head;
  const head = document.createElementNS(SVG, "path");
  const back = end[1] + (down ? -1 : 1) * 1.6 * tip;
  head.setAttribute("d", `M${end[0]} ${end[1]} L${end[0] - tip} ${back} L${end[0] + tip} ${back} Z`);
  head.setAttribute("fill", edge.colour);
  return [path, head];
}
