// Architectures beside each other: stacks of boxes, of which each attention is a button with a small picture of who may
// see whom. One wire leads from what the encoder made to the keys and values of cross-attention.

const SVG = "http://www.w3.org/2000/svg";
const NARROW = 640; // pixels: below, the architectures stand under each other

const drawings = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const drawing = drawings.get(parentElement) ?? new Architectures(parentElement);
  drawings.set(parentElement, drawing);
  drawing.send = setStateValue;
  drawing.show(data);
  return () => {
    drawing.watch.disconnect();
    drawing.scheme.removeEventListener("change", drawing.paint);
    drawing.root.remove();
    drawings.delete(parentElement);
  };
}

class Architectures {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    this.place = this.root.querySelector(".columns");
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.root);
    this.paint = () => this.draw();
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", this.paint);
  }

  show(data) {
    const active = this.root.getRootNode().activeElement;
    const focused = this.root.contains(active) ? active.dataset.box : null;
    this.data = data;
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.title);
    this.place.replaceChildren(...data.columns.map((column) => this.column(column)));
    if (focused) this.place.querySelector(`[data-box="${focused}"]`)?.focus();
    this.draw();
  }

  column({ name, used, stacks }) {
    const article = made("article");
    const row = made("div", "stacks");
    for (const boxes of stacks) {
      const stack = made("div", "stack");
      stack.append(...boxes.map((box) => this.box(box)));
      row.append(stack);
    }
    const wires = document.createElementNS(SVG, "svg");
    wires.setAttribute("class", "wires");
    wires.setAttribute("aria-hidden", "true");
    article.append(made("h4", "", name), row, made("p", "", used), wires);
    return article;
  }

  box({ key, name, shape, sees, grid, gives, takes }) {
    const box = made(key ? "button" : "div", "box");
    const words = made("span");
    words.append(made("b", "", name), made("small", "", shape));
    box.append(words);
    if (gives) box.dataset.gives = "";
    if (takes) box.dataset.takes = takes;
    if (!key) return box;
    box.type = "button";
    box.dataset.box = key;
    box.setAttribute("aria-pressed", String(key === this.data.selected));
    box.setAttribute("aria-label", `${name} ${shape}. ${sees}`);
    const canvas = made("canvas");
    canvas.setAttribute("aria-hidden", "true");
    canvas.title = sees;
    canvas.grid = grid;
    box.append(canvas);
    box.onclick = () => {
      for (const other of this.place.querySelectorAll("button")) {
        other.setAttribute("aria-pressed", String(other === box));
      }
      this.send("box", key);
    };
    return box;
  }

  draw() {
    if (!this.data) return;
    this.root.classList.toggle("narrow", this.root.clientWidth < NARROW);
    for (const canvas of this.root.querySelectorAll("canvas")) paintGrid(canvas, getComputedStyle(this.root).color);
    for (const article of this.root.querySelectorAll("article")) this.wire(article);
  }

  wire(article) {
    const home = article.getBoundingClientRect();
    const at = (node) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return { left: left - home.left, right: right - home.left, top: top - home.top, bottom: bottom - home.top };
    };
    const parts = [];
    for (const stack of article.querySelectorAll(".stack")) {
      const boxes = [...stack.children].map(at);
      for (let i = 1; i < boxes.length; i++) {
        const x = (boxes[i].left + boxes[i].right) / 2;
        parts.push(...arrow(`M${x} ${boxes[i - 1].bottom} V${boxes[i].top - 6}`, x, boxes[i].top, "down"));
      }
    }
    const [from, to] = [article.querySelector("[data-gives]"), article.querySelector("[data-takes]")];
    if (from && to) {
      const [start, end] = [at(from), at(to)];
      const [y, goal, x] = [(start.top + start.bottom) / 2, (end.top + end.bottom) / 2, (start.right + end.left) / 2];
      parts.push(...arrow(`M${start.right} ${y} H${x} V${goal} H${end.left - 6}`, end.left, goal, "right"));
      const label = document.createElementNS(SVG, "text");
      label.setAttribute("x", x);
      label.setAttribute("y", Math.min(y, goal) - 7);
      label.setAttribute("text-anchor", "middle");
      label.textContent = to.dataset.takes;
      parts.push(label);
    }
    article.querySelector("svg.wires").replaceChildren(...parts);
  }
}

// Rows look at columns: full = may see, a dot = may not.
function paintGrid(canvas, ink) {
  const size = canvas.clientWidth * devicePixelRatio;
  const [rows, columns] = [canvas.grid.length, canvas.grid[0].length];
  const cell = size / Math.max(rows, columns);
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  context.fillStyle = context.strokeStyle = ink;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [x, y] = [column * cell, row * cell];
      if (canvas.grid[row][column]) context.fillRect(x + 0.08 * cell, y + 0.08 * cell, 0.84 * cell, 0.84 * cell);
      else context.fillRect(x + 0.42 * cell, y + 0.42 * cell, 0.16 * cell, 0.16 * cell);
    }
  }
}

function arrow(d, x, y, way) {
  const shapes = { right: "l-8 -4 v8 z", down: "l-4 -8 h8 z" };
  const [path, tip] = [document.createElementNS(SVG, "path"), document.createElementNS(SVG, "path")];
  path.setAttribute("d", d);
  tip.setAttribute("d", `M${x} ${y} ${shapes[way]}`);
  tip.setAttribute("class", "tip");
  return [path, tip];
}

function made(tag, name = "", text = "") {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text) node.textContent = text;
  return node;
}
