// A causal mask drawn shut like a curtain. With the edge at key t, query i sees the keys up to max(i, t); each row is the
// softmax over the scores it sees, computed here at each move. A row is frozen once all of its future is hidden.

const curtains = new WeakMap();

export default function ({ data, parentElement }) {
  const curtain = curtains.get(parentElement) ?? new Curtain(parentElement);
  curtains.set(parentElement, curtain);
  curtain.show(data);
  return () => {
    undrawn.delete(curtain.root);
    curtain.root.remove();
    curtains.delete(parentElement);
  };
}

// Weights of the first n scores of a row.
function softmax(scores, n) {
  const largest = Math.max(...scores.slice(0, n));
  const raised = scores.slice(0, n).map((score) => Math.exp(score - largest));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((each) => each / sum);
}

class Curtain {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    [this.says, this.name, this.input, this.table] = [".says", ".edge .unseen", ".edge input", "table"].map((part) => this.root.querySelector(part));
    this.input.oninput = () => this.paint();
  }

  show(data) {
    const isOther = JSON.stringify(data) !== JSON.stringify(this.data);
    this.data = data;
    this.root.style.setProperty("--text-scale", data.text_scale);
    if (isOther) this.build();
    this.paint();
    undrawn.delete(this.root);
  }

  build() {
    const { labels, text } = this.data;
    const n = labels.length;
    this.root.setAttribute("aria-label", text.title);
    this.name.textContent = text.edge;
    Object.assign(this.input, { min: 0, max: n - 1, step: 1 });
    this.input.value = n - 1;
    const head = element("tr");
    head.append(element("td", "", "%"), ...labels.map((label) => this.head("col", label)), element("td"));
    this.cells = [];
    this.flags = [];
    const rows = labels.map((query, i) => {
      const row = element("tr");
      const cells = labels.map(() => element("td", "cell"));
      const flag = element("td", "flag");
      cells.forEach((cell, j) => {
        cell.onpointerdown = cell.onpointerenter = (event) => event.buttons && this.moveTo(j);
      });
      row.append(this.head("row", query), ...cells, flag);
      this.cells.push(cells);
      this.flags.push(flag);
      return row;
    });
    this.table.setAttribute("aria-label", text.title);
    this.table.replaceChildren(head, ...rows);
    this.columns = [...head.children].slice(1, -1);
  }

  head(scope, label) {
    const th = element("th");
    th.scope = scope;
    th.append(element("span", isChinese(label) ? "upright" : "", label));
    return th;
  }

  moveTo(edge) {
    this.input.value = edge;
    this.paint();
  }

  paint() {
    const { labels, scores, text } = this.data;
    const n = labels.length;
    const edge = Number(this.input.value);
    const rgb = bytesOf(this.data.colours);
    let frozen = 0;
    labels.forEach((query, i) => {
      const seen = Math.max(i, edge) + 1;
      const weights = softmax(scores[i], seen);
      const isFrozen = edge <= i;
      frozen += isFrozen;
      this.flags[i].textContent = isFrozen ? `❄ ${text.row}` : "";
      this.cells[i].forEach((cell, j) => {
        const isHidden = j >= seen;
        const at = isHidden ? 0 : 3 * Math.round(255 * weights[j]);
        const colour = [...rgb.slice(at, at + 3)];
        cell.classList.toggle("hidden", isHidden);
        cell.style.background = isHidden ? "" : css(colour);
        cell.style.color = isHidden ? "" : css(inkOn(colour, [255, 255, 255]));
        cell.textContent = isHidden ? "" : Math.round(100 * weights[j]);
        cell.title = isHidden ? text.hidden : fill(text.cell, { query, key: labels[j], weight: shown(weights[j]) });
      });
    });
    this.columns.forEach((column, j) => column.classList.toggle("edge", j === edge));
    const where = edge === n - 1 ? text.open : edge === 0 ? text.closed : fill(text.at, { token: labels[edge] });
    this.says.textContent = `${where} · ${fill(text.frozen, { n: frozen, total: n })}`;
    this.input.setAttribute("aria-valuetext", this.says.textContent);
  }
}
