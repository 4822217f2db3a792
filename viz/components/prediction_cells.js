// Cells of a matrix, coloured by a tap, by drawing over them, or with arrow keys and Space.

function cellsKind(p) {
  const { labels, text, locked } = p.data;
  const columns = p.data.columns.length ? p.data.columns : labels;
  const across = columns.length;
  const node = element("div", "sheet");
  const table = element("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", text.question);
  node.append(table);
  let drawn = new Set();
  let isOn = null; // what a pointer that is down makes of the cells it passes

  const head = element("tr");
  head.append(element("td"), ...columns.map((label) => headOf("col", element("span", isChinese(label) ? "upright" : "", label))));
  const buttons = [];
  const body = labels.map((label, row) => {
    const line = element("tr");
    const whole = element("button", "", label);
    whole.type = "button";
    whole.disabled = locked;
    whole.title = fill(text.whole_row, { row: label });
    whole.setAttribute("aria-label", whole.title);
    whole.onclick = () => {
      const cells = columns.map((_, column) => row * across + column);
      const isFull = cells.every((at) => drawn.has(at));
      cells.forEach((at) => (isFull ? drawn.delete(at) : drawn.add(at)));
      changed();
    };
    line.append(headOf("row", whole));
    columns.forEach((key, column) => {
      const button = element("button", "cell");
      button.type = "button";
      button.disabled = locked;
      button.tabIndex = buttons.length ? -1 : 0;
      button.setAttribute("role", "switch");
      button.setAttribute("aria-label", fill(p.data.columns.length ? text.plain_cell : text.cell, { query: label, key }));
      buttons.push(button);
      const cell = element("td");
      cell.setAttribute("role", "gridcell");
      cell.append(button);
      line.append(cell);
    });
    return line;
  });
  table.append(head, ...body);

  function headOf(scope, content) {
    const th = element("th");
    th.scope = scope;
    th.append(content);
    return th;
  }

  function changed() {
    p.set(drawn.size ? [...drawn].sort((a, b) => a - b).map((at) => [Math.floor(at / across), at % across]) : null);
  }

  function put(at, on) {
    if (at < 0 || drawn.has(at) === on) return;
    if (on) drawn.add(at);
    else drawn.delete(at);
    changed();
  }

  table.onpointerdown = (event) => {
    const at = buttons.indexOf(event.target.closest("button"));
    if (at < 0 || locked) return;
    isOn = !drawn.has(at);
    event.target.releasePointerCapture?.(event.pointerId); // a finger would keep all moves at the first cell
    put(at, isOn);
  };
  table.onpointermove = ({ clientX, clientY, buttons: down }) => {
    if (isOn === null || !down) return;
    const under = table.getRootNode().elementFromPoint(clientX, clientY);
    put(buttons.indexOf(under?.closest("button")), isOn);
  };
  table.onpointerup = table.onpointercancel = table.onpointerleave = () => {
    isOn = null;
  };
  table.onclick = (event) => {
    const at = buttons.indexOf(event.target.closest("button"));
    if (at >= 0 && event.detail === 0) put(at, !drawn.has(at)); // by the keyboard, or a reader's press
  };
  table.onkeydown = (event) => roving(buttons, event, across);

  return {
    node,
    words: (value) => (value.length === 1 ? text.one_cell : fill(text.n_cells, { n: value.length })),
    paint() {
      const numbers = (cells) => new Set((cells ?? []).map(([row, column]) => row * across + column));
      drawn = numbers(p.guess);
      const answer = numbers(p.answer);
      buttons.forEach((button, at) => {
        const mark = p.mark(answer.has(at), drawn.has(at));
        button.dataset.mark = mark;
        button.textContent = { right: "○", hit: "●", miss: "✕", guess: "■", "": "" }[mark];
        button.setAttribute("aria-checked", String(drawn.has(at)));
        button.setAttribute("aria-description", mark === "right" ? text.mark_missed : mark && mark !== "guess" ? text[`mark_${mark}`] : "");
      });
    },
  };
}

const KINDS = {
  token: (p) => tokenKind(p, 1),
  pair: (p) => tokenKind(p, 2),
  choice: choiceKind,
  order: orderKind,
  number: numberKind,
  cells: cellsKind,
};
