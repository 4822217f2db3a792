// A mask drawn by hand: one button a cell, a row for each query. The matrix lives here while it is edited; Python gets
// all of it after each change (state "drawn") and sends it back with the number of the change it has seen, so that an
// answer that was overtaken by another click doesn't undo it.

const MANY = 14; // tokens; with more, cells are smaller where there is a mouse

const grids = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const grid = grids.get(parentElement) ?? new Grid(parentElement);
  grids.set(parentElement, grid);
  grid.send = setStateValue;
  grid.show(data);
  return () => {
    grid.root.remove();
    grids.delete(parentElement);
  };
}

function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

class Grid {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    [this.bar, this.table, this.live] = [".bar", "table", ".live"].map((name) => this.root.querySelector(name));
    this.edit = 0;
    this.focus = [0, 0];
    this.table.onclick = (event) => this.click(event.target.closest("button"));
    this.table.onkeydown = (event) => this.key(event);
  }

  show(data) {
    const isOther = this.data?.id !== data.id;
    const isNewText = isOther || this.data.text.title !== data.text.title;
    this.data = data;
    const n = data.labels.length;
    if (isOther) this.edit = data.edit;
    if (isOther || data.edit >= this.edit) this.cells = [...data.cells].map((cell) => cell === "1");
    if (isNewText) this.build(n);
    this.paint(n);
  }

  build(n) {
    const { labels, text } = this.data;
    this.root.classList.toggle("many", n > MANY);
    this.table.setAttribute("aria-label", text.title);
    this.bar.setAttribute("aria-label", text.start);
    this.bar.replaceChildren(
      make("span", text.start),
      ...["all", "causal", "none"].map((name) => {
        const button = make("button", text[name], { type: "button" });
        button.onclick = () => this.set(() => this.cells.map((_, at) => name === "all" || (name === "causal" && at % n <= Math.floor(at / n))));
        return button;
      }),
    );
    const head = make("thead", "");
    const top = make("tr", "");
    top.append(make("td", ""));
    for (const label of labels) {
      const column = make("th", "", { scope: "col" });
      column.append(make("span", label));
      top.append(column);
    }
    head.append(top);
    const body = make("tbody", "");
    this.buttons = [];
    this.flags = [];
    labels.forEach((query, i) => {
      const row = make("tr", "");
      const name = make("th", "", { scope: "row" });
      name.append(make("button", query, { type: "button", "data-row": i, title: fill(text.row, { query }), "aria-label": fill(text.row, { query }) }));
      row.append(name);
      labels.forEach((key, j) => {
        const cell = make("td", "", { role: "gridcell" });
        const button = make("button", "", { type: "button", role: "switch", "data-at": i * n + j, "aria-label": fill(text.cell, { query, key }) });
        button.title = fill(text.cell, { query, key });
        this.buttons.push(button);
        cell.append(button);
        row.append(cell);
      });
      const flag = make("td", "", { class: "flag" });
      this.flags.push(flag);
      row.append(flag);
      body.append(row);
    });
    this.table.replaceChildren(head, body);
    this.focus = [Math.min(this.focus[0], n - 1), Math.min(this.focus[1], n - 1)];
  }

  paint(n) {
    this.cells.forEach((on, at) => {
      const button = this.buttons[at];
      button.setAttribute("aria-checked", String(on));
      button.textContent = on ? "1" : "0";
      button.tabIndex = at === this.focus[0] * n + this.focus[1] ? 0 : -1;
    });
    this.flags.forEach((flag, i) => {
      flag.textContent = this.cells.slice(i * n, (i + 1) * n).some(Boolean) ? "" : this.data.text.empty;
      flag.title = flag.textContent && this.data.text.empty_row;
      flag.setAttribute("aria-label", flag.title);
    });
  }

  set(change) {
    const n = this.data.labels.length;
    this.cells = change();
    this.edit += 1;
    this.paint(n);
    this.send("drawn", { id: this.data.id, edit: this.edit, cells: this.cells.map((on) => (on ? "1" : "0")).join("") });
  }

  click(button) {
    if (!button) return;
    const n = this.data.labels.length;
    if (button.dataset.row !== undefined) {
      const start = Number(button.dataset.row) * n;
      const isFull = this.cells.slice(start, start + n).every(Boolean);
      this.set(() => this.cells.map((on, at) => (at >= start && at < start + n ? !isFull : on)));
    } else {
      const clicked = Number(button.dataset.at);
      this.focus = [Math.floor(clicked / n), clicked % n];
      this.set(() => this.cells.map((on, at) => (at === clicked ? !on : on)));
      this.live.textContent = `${button.getAttribute("aria-label")}: ${this.cells[clicked] ? this.data.text.may : this.data.text.may_not}`;
    }
  }

  // Arrow keys move between cells, Home and End within a row; Space and Enter press the button by themselves.
  key(event) {
    if (event.target.dataset.at === undefined) return;
    const n = this.data.labels.length;
    let [row, column] = this.focus;
    if (event.key === "ArrowRight") column = Math.min(n - 1, column + 1);
    else if (event.key === "ArrowLeft") column = Math.max(0, column - 1);
    else if (event.key === "ArrowDown") row = Math.min(n - 1, row + 1);
    else if (event.key === "ArrowUp") row = Math.max(0, row - 1);
    else if (event.key === "Home") column = 0;
    else if (event.key === "End") column = n - 1;
    else return;
    event.preventDefault();
    this.focus = [row, column];
    this.paint(n);
    this.buttons[row * n + column].focus();
  }
}
