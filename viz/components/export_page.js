// An exported page: the token strip, the overview and a large map of the chosen head, with no server behind them.

const data = JSON.parse(document.getElementById("data").textContent);
const place = (id) => document.getElementById(id);
const { strip, overview } = window;
const stripMaps = document.createElement("div");
const overviewMaps = document.createElement("div");
const figure = place("large");
const canvas = document.createElement("canvas");
figure.querySelector(".map").append(canvas);
const now = { layer: data.layer, heads: [data.head] };
const labels = data.strip_view.tokens.labels;

const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
const nameOf = (head) => `${now.layer + 1}-${head + 1}`;

// The weights of one layer as whole numbers, 0…top; above top = masked (viz/encoding.py).
async function codesOf(maps) {
  const stream = new Blob([bytes(maps.bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const plain = new Uint8Array(await new Response(stream).arrayBuffer());
  if (maps.bits === 8) return plain;
  const n = plain.length / 2;
  return Uint16Array.from({ length: n }, (_, i) => (plain[i] << 8) | plain[n + i]);
}

function show() {
  const maps = data.layers[now.layer];
  if (maps.id) {
    strip({ data: maps, parentElement: stripMaps });
    const view = { ...data.strip_view, maps: maps.id, layer: now.layer, heads: now.heads };
    strip({ data: view, parentElement: place("strip"), setStateValue: heard });
  }
  const head = now.heads[0] ?? 0;
  overview({
    data: { ...data.overview_view, selected: [now.layer, head] },
    parentElement: place("overview"),
    setStateValue: heard,
  });
  drawLarge(maps, head);
}

function heard(name, said) {
  if (name === "heads") now.heads = said.value;
  if (name === "head") {
    const [layer, head] = said.value.split("-").map(Number);
    now.layer = layer - 1;
    now.heads = [head - 1];
  }
  if (name === "head" || name === "heads") show();
}

async function drawLarge(maps, head) {
  figure.querySelector("figcaption").textContent = fill(data.text.head, { name: nameOf(head) });
  const says = figure.querySelector(".cell");
  if (!maps.id) {
    canvas.hidden = true;
    says.textContent = fill(data.text.left_out, { layer: data.layer + 1 });
    return;
  }
  const codes = await codesOf(maps);
  const n = labels.length;
  const ratio = devicePixelRatio;
  const width = Math.min(figure.clientWidth, 544);
  const size = Math.max(9, Math.min(14, ((width - 90) / n) * 0.85));
  const pen = canvas.getContext("2d");
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const room = Math.min(110, Math.max(...labels.map((label) => pen.measureText(label).width)) + 8);
  const cell = (width - room) / n;
  canvas.hidden = false;
  canvas.width = width * ratio;
  canvas.height = width * ratio;
  canvas.style.maxWidth = `${width}px`;
  pen.scale(ratio, ratio);
  const rgb = bytes(data.overview_view.colours);
  const curve = bytes(data.overview_view.curve);
  const snap = (v) => Math.round(v * ratio) / ratio; // to whole pixels: no seams between cells
  const at = (query, key) => codes[(head * n + query) * n + key];
  for (let query = 0; query < n; query += 1) {
    for (let key = 0; key < n; key += 1) {
      const code = at(query, key);
      const k = code > maps.top ? -1 : 3 * curve[Math.round((code / maps.top) * 254)];
      pen.fillStyle = k < 0 ? "rgba(128, 128, 128, 0.35)" : `rgb(${rgb[k]} ${rgb[k + 1]} ${rgb[k + 2]})`;
      const [x, y] = [snap(room + key * cell), snap(query * cell)];
      pen.fillRect(x, y, snap(room + (key + 1) * cell) - x, snap((query + 1) * cell) - y);
    }
  }
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  pen.fillStyle = getComputedStyle(document.body).color;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const every = Math.ceil(size / cell);
  for (let i = 0; i < n; i += every) {
    pen.fillText(labels[i], room - 5, (i + 0.5) * cell, room - 5);
    pen.save();
    pen.translate(room + (i + 0.5) * cell, n * cell + 5);
    pen.rotate(-Math.PI / 2);
    pen.fillText(labels[i], 0, 0, room - 5);
    pen.restore();
  }
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${fill(data.text.head, { name: nameOf(head) })}: ${data.text.axes}`);
  says.textContent = data.text.axes;
  canvas.onpointermove = (event) => {
    const query = Math.floor(event.offsetY / cell);
    const key = Math.floor((event.offsetX - room) / cell);
    if (!(query >= 0 && query < n && key >= 0 && key < n)) return;
    const code = at(query, key);
    const weight = ((code / maps.top) * maps.maximum).toFixed(3);
    const values = { query: labels[query], key: labels[key], weight };
    says.textContent = fill(code > maps.top ? data.text.masked : data.text.cell, values);
  };
  canvas.onpointerleave = () => (says.textContent = data.text.axes);
}

overview({ data: data.overview, parentElement: overviewMaps });
show();
addEventListener("resize", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
