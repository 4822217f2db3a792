// A Transformer block as a row of boxes, or a column where there is little room. A click on a box opens its tensors.
// Residual connections are drawn over the boxes that they pass.

const SVG = "http://www.w3.org/2000/svg";
const APART = 9; // pixels from a box to where x parts
const NARROW = 700; // pixels: below, the boxes stand under each other

const diagrams = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const diagram = diagrams.get(parentElement) ?? new Diagram(parentElement);
  diagrams.set(parentElement, diagram);
  diagram.send = setStateValue;
  diagram.show(data);
  return () => {
    diagram.watch.disconnect();
    diagram.root.remove();
    diagrams.delete(parentElement);
  };
}

class Diagram {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    this.flow = this.root.querySelector(".flow");
    this.svg = this.root.querySelector("svg");
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.root);
  }

  show(data) {
    const focused = this.flow.contains(this.flow.getRootNode().activeElement)
      ? this.flow.getRootNode().activeElement.dataset.box
      : null;
    this.data = data;
    this.root.setAttribute("aria-label", data.title);
    this.flow.replaceChildren(...this.places(data.boxes.map((box) => this.button(box))));
    this.flow.querySelector(`[data-box="${focused}"]`)?.focus();
    this.draw();
  }

  // The boxes in a row; those of branches stand in lanes beside each other, where the first of them would stand.
  places(buttons) {
    const branches = this.data.branches;
    if (!branches.length) return buttons;
    const block = document.createElement("div");
    block.className = "branches";
    for (const keys of branches) {
      const lane = document.createElement("div");
      lane.className = "lane";
      lane.append(...keys.map((key) => buttons.find((button) => button.dataset.box === key)));
      block.append(lane);
    }
    const alone = buttons.filter((button) => !branches.flat().includes(button.dataset.box));
    const before = this.data.boxes.findIndex((box) => branches.flat().includes(box.key));
    return [...alone.slice(0, before), block, ...alone.slice(before)];
  }

  buttons() {
    return [...this.flow.querySelectorAll("button")];
  }

  button(box) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.box = box.key;
    button.className = box.is_sum ? "sum" : "";
    button.setAttribute("aria-pressed", String(box.key === this.data.selected));
    button.setAttribute("aria-label", `${box.name} ${box.shape}`);
    const name = document.createElement("b");
    name.textContent = box.is_sum ? "+" : box.name;
    button.append(name);
    if (!box.is_sum) {
      const shape = document.createElement("small");
      shape.textContent = box.shape;
      button.append(shape);
    }
    button.onclick = () => {
      for (const other of this.buttons()) other.setAttribute("aria-pressed", String(other === button));
      this.send("box", box.key);
    };
    return button;
  }

  draw() {
    if (!this.data) return;
    const tall = this.root.clientWidth < NARROW;
    this.root.classList.toggle("tall", tall);
    const home = this.root.getBoundingClientRect();
    const boxes = Object.fromEntries(
      this.buttons().map((node) => {
        const at = node.getBoundingClientRect();
        return [
          node.dataset.box,
          {
            parts: this.data.arrows.filter(([from]) => from === node.dataset.box).length > 1, // x goes to several
            left: at.left - home.left,
            right: at.right - home.left,
            top: at.top - home.top,
            bottom: at.bottom - home.top,
          },
        ];
      }),
    );
    const parts = [];
    for (const [from, to] of this.data.arrows) parts.push(...this.step(boxes[from], boxes[to], tall));
    for (const [from, to] of this.data.skips) parts.push(...this.skip(boxes[from], boxes[to], tall, Object.values(boxes)));
    this.svg.replaceChildren(...parts);
  }

  // From box to box; into and out of branches with a corner, where x parts or the branches meet.
  step(from, to, tall) {
    if (tall) {
      const [x, end] = [(from.left + from.right) / 2, (to.left + to.right) / 2];
      const y = from.parts ? from.bottom + APART : to.top - 1.7 * APART;
      const bend = Math.abs(x - end) > 1 ? `V${y} H${end} ` : "";
      return [line(`M${x} ${from.bottom} ${bend}V${to.top - 6}`), tip(end, to.top, "down")];
    }
    const [y, end] = [(from.top + from.bottom) / 2, (to.top + to.bottom) / 2];
    const x = from.parts ? from.right + APART : to.left - 1.7 * APART;
    const bend = Math.abs(y - end) > 1 ? `H${x} V${end} ` : "";
    return [line(`M${from.right} ${y} ${bend}H${to.left - 6}`), tip(to.left, end, "right")];
  }

  skip(from, to, tall, all) {
    if (tall) {
      const y = from.bottom + APART;
      const x = (from.left + from.right) / 2;
      const side = Math.max(...all.map((box) => box.right)) + 22;
      const end = (to.top + to.bottom) / 2;
      const label = word(this.data.residual, side + 6, (y + end) / 2, "start");
      return [line(`M${x} ${y} H${side} V${end} H${to.right + 6}`), tip(to.right, end, "left"), label];
    }
    const x = from.right + APART;
    const y = (from.top + from.bottom) / 2;
    const end = (to.left + to.right) / 2;
    const high = Math.min(...all.map((box) => box.top)) - 22;
    return [
      line(`M${x} ${y} V${high} H${end} V${to.top - 6}`),
      tip(end, to.top, "down"),
      word(this.data.residual, (x + end) / 2, high - 5, "middle"),
    ];
  }
}

function line(d) {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", d);
  return path;
}

function tip(x, y, way) {
  const shapes = { right: "l-8 -4 v8 z", left: "l8 -4 v8 z", down: "l-4 -8 h8 z" };
  const path = line(`M${x} ${y} ${shapes[way]}`);
  path.setAttribute("class", "tip");
  return path;
}

function word(text, x, y, anchor) {
  const label = document.createElementNS(SVG, "text");
  label.setAttribute("x", x);
  label.setAttribute("y", y);
  label.setAttribute("text-anchor", anchor);
  label.textContent = text;
  return label;
}
