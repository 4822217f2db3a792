// An exported page: the token strip, the overview and a large map of the chosen head, with no server behind them. It
// stands after encoding.js and `parts`, the components (viz/browser.py).

const data = JSON.parse(document.getElementById("data").textContent);
const place = (id) => document.getElementById(id);
const { token_strip: strip, overview } = parts;
const stripMaps = document.createElement("div");
const overviewMaps = document.createElement("div");
const figure = place("large");
const canvas = document.createElement("canvas");
figure.querySelector(".map").append(canvas);
const now = { layer: data.layer, heads: [data.head] };
const queries = data.strip_view.tokens.labels;
const keys = (data.strip_view.keys ?? data.strip_view.tokens).labels;

const WIDEST = 544; // pixels of the large map
const LEAST = 2; // pixels of one of its cells
const WIDE = /[\u2e80-\u{3ffff}]/u; // Chinese, Japanese and Korean characters

const nameOf = (head) => `${now.layer + 1}-${head + 1}`;

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
  const map = new LargeMap(maps, head, (await unpack(maps)).codes);
  map.paintCells();
  map.paintLabels();
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${fill(data.text.head, { name: nameOf(head) })}: ${data.text.axes}`);
  const blocks = map.step.some((step) => step > 1) && fill(data.text.blocks, { rows: map.step[0], columns: map.step[1] });
  const atRest = [data.text.axes, blocks].filter(Boolean).join(" · ");
  says.textContent = atRest;
  canvas.onpointermove = (event) => (says.textContent = map.says(event) ?? says.textContent);
  canvas.onpointerleave = () => (says.textContent = atRest);
}

// One head's map: queries down, keys across. Where cells would be smaller than LEAST pixels, a cell is the largest
// weight of its block: no column falls between two pixels.
class LargeMap {
  constructor(maps, head, codes) {
    const width = Math.min(figure.clientWidth, WIDEST);
    const [rows, columns] = maps.shape.slice(1);
    const font = getComputedStyle(document.body).fontFamily;
    this.pen = canvas.getContext("2d");
    this.size = Math.max(9, Math.min(14, ((width - 90) / Math.max(rows, columns)) * 0.85));
    this.font = `${this.size}px ${font}`;
    this.pen.font = this.font;
    this.room = Math.min(110, Math.max(...[...queries, ...keys].map((label) => this.pen.measureText(label).width)) + 8);
    const most = Math.max(1, Math.floor((width - this.room) / LEAST));
    this.step = [rows, columns].map((n) => Math.ceil(n / most));
    [this.rows, this.columns] = [Math.ceil(rows / this.step[0]), Math.ceil(columns / this.step[1])];
    const tall = this.columns / this.rows / shapeOf(this.rows, this.columns); // height of a cell over its width
    this.wide = (width - this.room) / Math.max(this.rows * tall, this.columns);
    this.high = this.wide * tall;
    this.height = this.high * this.rows;
    this.maps = maps;
    this.largest = new Int32Array(this.rows * this.columns).fill(-1); // -1 = masked
    for (let query = 0; query < rows; query += 1) {
      for (let key = 0; key < columns; key += 1) {
        const code = codes[(head * rows + query) * columns + key];
        const at = Math.floor(query / this.step[0]) * this.columns + Math.floor(key / this.step[1]);
        if (code <= maps.top && code > this.largest[at]) this.largest[at] = code;
      }
    }
    this.resize(width, this.height + this.room);
  }

  resize(width, height) {
    canvas.hidden = false;
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    canvas.style.maxWidth = `${width}px`;
    this.pen.scale(devicePixelRatio, devicePixelRatio);
  }

  paintCells() {
    const rgb = bytesOf(data.overview_view.colours);
    const curve = bytesOf(data.overview_view.curve);
    const snap = (v) => Math.round(v * devicePixelRatio) / devicePixelRatio; // to whole pixels: no seams between cells
    this.largest.forEach((code, at) => {
      const [row, column] = [Math.floor(at / this.columns), at % this.columns];
      const k = code < 0 ? -1 : 3 * curve[Math.round((code / this.maps.top) * 254)];
      this.pen.fillStyle = k < 0 ? "rgba(128, 128, 128, 0.35)" : `rgb(${rgb[k]} ${rgb[k + 1]} ${rgb[k + 2]})`;
      const [x, y] = [snap(this.room + column * this.wide), snap(row * this.high)];
      const [right, below] = [snap(this.room + (column + 1) * this.wide), snap((row + 1) * this.high)];
      this.pen.fillRect(x, y, right - x, below - y);
    });
  }

  paintLabels() {
    Object.assign(this.pen, { font: this.font, fillStyle: getComputedStyle(document.body).color, textBaseline: "middle" });
    const [down, across] = [this.high, this.wide].map((side) => Math.ceil(this.size / side));
    this.pen.textAlign = "right";
    for (let row = 0; row < this.rows; row += down) {
      this.pen.fillText(queries[row * this.step[0]], this.room - 5, Math.max(this.size / 2, (row + 0.5) * this.high), this.room - 5);
    }
    for (let column = 0; column < this.columns; column += across) {
      this.paintBelow(keys[column * this.step[1]], this.room + (column + 0.5) * this.wide);
    }
  }

  // Latin turned, Chinese character under character.
  paintBelow(label, x) {
    const letters = [...label];
    if (letters.some((letter) => WIDE.test(letter)) && label.split(WIDE).every((run) => run.length <= 2)) {
      this.pen.textAlign = "center";
      letters.forEach((letter, i) => this.pen.fillText(letter, x, this.height + 5 + (i + 0.6) * this.size * 1.15));
      return;
    }
    this.pen.save();
    this.pen.textAlign = "right";
    this.pen.translate(x, this.height + 5);
    this.pen.rotate(-Math.PI / 2);
    this.pen.fillText(label, 0, 0, this.room - 5);
    this.pen.restore();
  }

  // What the pointed cell holds, in words.
  says(event) {
    const row = Math.floor(event.offsetY / this.high);
    const column = Math.floor((event.offsetX - this.room) / this.wide);
    if (!(row >= 0 && row < this.rows && column >= 0 && column < this.columns)) return null;
    const code = this.largest[row * this.columns + column];
    const weight = ((code / this.maps.top) * this.maps.maximum).toFixed(3);
    const values = { query: this.name(queries, row, 0), key: this.name(keys, column, 1), weight };
    return fill(code < 0 ? data.text.masked : data.text.cell, values);
  }

  name(labels, at, side) {
    const block = labels.slice(at * this.step[side], (at + 1) * this.step[side]);
    return block.length > 1 ? `${block[0]} … ${block.at(-1)}` : block[0];
  }
}

overview({ data: data.overview, parentElement: overviewMaps });
show();
addEventListener("resize", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
