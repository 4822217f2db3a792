// The page's large map, a Plotly figure, beside the strip: the row and the column of what is pointed at are outlined in
// it, and a cell pointed at in it is told to the strip. Plotly makes the figure anew with each choice.

class LinkedMap {
  // onCell: called with the query and the key pointed at, or with nothing.
  constructor(onCell) {
    this.onCell = onCell;
    this.marks = [0, 1].map(() => element("div"));
    for (const mark of this.marks) {
      mark.className = "headwork-mark";
      mark.style.cssText = "position: absolute; pointer-events: none; outline: 1px solid transparent; box-shadow: 0 0 0 1px #000, 0 0 0 2px #fff";
    }
    this.observer = new MutationObserver(() => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.place());
    });
    this.observer.observe(document.querySelector(".stMain") ?? document.body, { childList: true, subtree: true });
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.marks.forEach((mark) => mark.remove());
  }

  // name: key of the figure on the page; sizes: how many queries and keys its rows and columns stand for.
  show(name, sizes) {
    Object.assign(this, { name, sizes });
    this.place();
  }

  mark(query, key) {
    this.at = [query, key];
    this.place();
  }

  // What the figure shows now: its element, the box of its cells, and for rows and columns the tokens of a cell and
  // where the axis begins and ends.
  figure() {
    const plot = document.querySelector(`.st-key-${this.name} .js-plotly-plot`);
    const area = plot?._fullLayout && plot.querySelector(".nsewdrag");
    const z = plot?._fullData?.[0]?.z;
    if (!area || !z) return null;
    const { xaxis, yaxis } = plot._fullLayout;
    const axis = (n, cells, range) => ({ step: Math.ceil(n / cells), first: range[0], last: range[1] });
    const [rows, columns] = this.sizes;
    return {
      plot,
      box: area.getBoundingClientRect(),
      axes: [axis(rows, z.length, [...yaxis.range].reverse()), axis(columns, z[0].length, xaxis.range)],
    };
  }

  place() {
    const found = this.name && this.figure();
    if (!found) return;
    const { plot, box, axes } = found;
    const stage = plot.querySelector(".svg-container") ?? plot;
    const origin = stage.getBoundingClientRect();
    plot.onpointermove = (event) => this.point(event);
    plot.onpointerleave = () => this.onCell(null);
    this.marks.forEach((mark, i) => {
      const at = this.at?.[i] ?? null;
      const { step, first, last } = axes[i];
      const share = (cell) => Math.min(1, Math.max(0, (cell - first) / (last - first)));
      const cell = Math.floor(at / step);
      const [from, to] = [share(cell - 0.5), share(cell + 0.5)];
      mark.style.display = at === null || to <= from ? "none" : "block";
      const [left, top] = [box.left - origin.left, box.top - origin.top];
      const across = { left: left + from * box.width, width: (to - from) * box.width, top, height: box.height };
      const along = { left, width: box.width, top: top + from * box.height, height: (to - from) * box.height };
      for (const [side, pixels] of Object.entries(i ? across : along)) mark.style[side] = `${pixels}px`;
      if (mark.parentElement !== stage) stage.append(mark);
    });
  }

  point(event) {
    const found = this.figure();
    if (!found) return;
    const { box, axes } = found;
    const shares = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    const cell = shares.map((share, i) => {
      const { step, first, last } = axes[i];
      return Math.round(first + share * (last - first)) * step;
    });
    const isInside = shares.every((share) => share >= 0 && share < 1);
    this.onCell(isInside ? { query: cell[0], key: cell[1] } : null);
  }
}
