// Heads while they learn: curves, every head's map at a checkpoint, and who looks at what. Going back through the
// checkpoints, playing and pointing happen here alone; Python is told nothing.

const TICK = 130; // milliseconds a checkpoint is shown while playing
const BEND = 20; // steps; the axis of steps is even below and logarithmic far above, since heads part early
const CHART = 176; // pixels of the chart's height
const NAME = 24; // pixels from one name in the chart to the next
const TALLEST = 366; // pixels of all maps together beside the curves
const TALLEST_ON_A_PHONE = 460; // the same above the curves
const FOR_WORDS = 60; // more of them where words stand beside maps
const HEADING = 20; // pixels above a network's maps
const WIDEST = 260; // of one map
const LETTER = 8.4; // pixels of a letter in a caption

const SVG = "http://www.w3.org/2000/svg";
const learnings = new WeakMap();

// A link with play=once plays a finished training from its first step, for who doesn't mind movement.
let isToPlay = new URLSearchParams(location.search).get("play") === "once" && !matchMedia("(prefers-reduced-motion: reduce)").matches;

export default function ({ data, parentElement }) {
  if (data.part === "maps") return keepMaps(parentElement, data);
  const learning = learnings.get(parentElement) ?? new Learning(parentElement);
  learnings.set(parentElement, learning);
  learning.show(data);
  return () => {
    learning.close();
    learnings.delete(parentElement);
  };
}

// The checkpoints of a network, from the parts in which they came.
function joined(parts) {
  const all = (name) => parts.flatMap((part) => part[name]);
  const maps = parts.flatMap((part) => {
    const size = part.shape.slice(1).reduce((a, b) => a * b, 1);
    return part.steps.map((_, i) => part.codes.subarray(i * size, (i + 1) * size));
  });
  return { maps, steps: all("steps"), share: all("share"), hit: all("hit"), loss: all("loss"), accuracy: all("accuracy"), top: parts[0].top };
}

// In whole per cent; 100 only where nothing is missing, as in Python (viz.theme.percent).
const whole = (share) => Math.min(Math.round(100 * share), share < 1 ? 99 : 100);
const percent = (share) => `${whole(share)} %`;
const letters = (text) => [...text].reduce((sum, sign) => sum + (sign > "\u2e7f" ? 2 : 1), 0); // Chinese is twice as wide
const spare = () => (isWide() ? Math.max(0, Math.min(200, window.innerHeight - 720)) : 0); // pixels that a laptop lacks
const isWide = () => matchMedia("(min-width: 801px)").matches;

function svg(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Learning {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    const part = (name) => this.root.querySelector(name);
    [this.result, this.of, this.who, this.live, this.cell] = [".result", ".of", ".who", ".live", ".cell"].map(part);
    [this.play, this.range, this.output] = [".play", ".scrub input", ".scrub output"].map(part);
    [this.turn, this.chart, this.table, this.shows, this.note] = [".curves", ".chart", "table", ".shows", ".note"].map(part);
    [this.stage, this.line] = [".stage", ".tokens"].map(part);
    this.at = 0;
    this.follows = true;
    this.quantity = "accuracy"; // in the chart
    this.cellsShow = "weight"; // or "hit"
    this.relation = { pinned: null, pointed: null };
    this.pointed = null; // {tile, query, key}
    this.range.oninput = () => this.goTo(Number(this.range.value));
    this.range.onchange = () => this.announce();
    this.play.onclick = () => (this.timer ? this.stop() : this.start());
    this.listenToChart();
    this.width = 0;
    this.observer = new ResizeObserver(() => this.data && this.root.clientWidth !== this.width && this.layout());
    this.observer.observe(this.root);
  }

  close() {
    undrawn.delete(this.root);
    this.stop();
    this.observer.disconnect();
    this.root.remove();
  }

  async show(data) {
    this.wanted = data;
    const networks = await Promise.all(data.networks.map(async ({ parts }) => joined(await Promise.all(parts.map(mapsOf)))));
    if (this.wanted !== data || !this.root.isConnected) return; // newer data came meanwhile
    const began = performance.now();
    const before = this.data;
    this.data = data;
    this.networks = networks;
    this.main = networks.length - 1;
    this.frames = networks[this.main].steps;
    if (before?.name !== data.name) {
      this.stop();
      this.follows = true;
      this.relation = { pinned: null, pointed: null };
      this.pointed = null;
    }
    if (this.follows && !this.timer) this.at = this.frames.length - 1;
    if (before?.opens_on !== data.opens_on) this.quantity = data.opens_on;
    if (!data.shows.includes(this.cellsShow)) this.cellsShow = data.shows[0];
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.text.title);
    const colours = theme(this.root);
    this.root.style.setProperty("--accent-ink", css(visibleOn(rgbOf(data.accent, "#000"), colours.ground, colours.ink, 4.5)));
    this.colours = colourTable(data);
    this.build();
    this.layout();
    this.root.dataset.frames = this.frames.length;
    this.root.dataset.drawMs = (performance.now() - began).toFixed(1);
    undrawn.delete(this.root);
    if (!isToPlay || data.live) return;
    isToPlay = false;
    this.start();
  }

  // -- building --------------------------------------------------------------------------------------------------

  // Again only when there is something else to build: while a network learns, everything stays where it is.
  build() {
    const { networks, relations, labels, rows, shows, n_answers, chance, text } = this.data;
    const form = JSON.stringify([networks.map(({ name, shape }) => [name, shape]), relations, labels, rows, shows, n_answers, chance, text]);
    if (form === this.form) return;
    this.form = form;
    this.buildWords();
    this.tiles = networks.flatMap(({ shape: [layers, heads] }, of) =>
      Array.from({ length: layers * heads }, (_, i) => this.tile(of, Math.floor(i / heads), i % heads)),
    );
    this.groups = networks.map((_, of) => {
      const group = element("div", "group");
      group.append(...this.tiles.filter((tile) => tile.of === of).map(({ box }) => box));
      return group;
    });
    this.stage.replaceChildren(
      ...this.groups.map((group, of) => {
        const part = element("section", of === this.main ? "" : "beside");
        part.append(element("h4", "", networks[of].name), group);
        return part;
      }),
    );
    this.line.replaceChildren(...(rows.length ? [] : labels.map((label) => element("span", "", label))));
    this.buildTable(networks[this.main].shape[0]);
  }

  buildWords() {
    const { text } = this.data;
    this.range.setAttribute("aria-label", text.scrub);
    this.buildTurn(this.turn, text.quantity, ["accuracy", "loss"], (name) => {
      this.quantity = name;
      this.paintChart();
    });
    this.shows.hidden = this.data.shows.length < 2;
    this.buildTurn(this.shows, text.table, this.data.shows, (name) => {
      this.cellsShow = name;
      this.paintTable();
    });
    this.of.textContent = fill(text.of, { n: this.data.n_answers.toLocaleString("en"), chance: percent(this.data.chance ?? 0) });
  }

  buildTurn(turn, label, names, choose) {
    turn.setAttribute("aria-label", label);
    turn.replaceChildren(
      ...names.map((name) => {
        const button = element("button", "", this.data.text[name]);
        button.type = "button";
        button.dataset.name = name;
        button.onclick = () => choose(name);
        return button;
      }),
    );
  }

  tile(of, layer, head) {
    const box = element("figure", "tile");
    const caption = element("figcaption");
    const [name, best] = [element("b"), element("span")];
    caption.append(name, best);
    const map = element("div", "map");
    map.setAttribute("role", "img");
    const [weights, over] = [element("canvas", "weights"), element("canvas", "over")];
    map.append(weights, over);
    box.append(caption, map);
    if (this.data.rows.length) this.nameSides(box, map);
    const { shape, name: network } = this.data.networks[of];
    const offset = layer * shape[1] + head; // of its map among those of a checkpoint
    const tile = { of, layer, head, offset, box, map, weights, over, best, title: `${network}, ${this.name(layer, head)}` };
    name.textContent = this.name(layer, head);
    const cell = (at, size, n) => Math.min(n - 1, Math.max(0, Math.floor((at / size) * n)));
    map.onpointermove = map.onpointerdown = (event) => {
      const area = map.getBoundingClientRect();
      const query = cell(event.clientY - area.top, area.height, this.queries.length);
      this.point({ tile, query, key: cell(event.clientX - area.left, area.width, this.data.labels.length) });
    };
    map.onpointerleave = () => this.point(null);
    return tile;
  }

  // Words of rows and columns beside a map of two texts.
  nameSides(box, map) {
    box.classList.add("named");
    const sides = [this.data.labels, this.data.rows].map((words, i) => {
      const side = element("div", i ? "queries" : "keys");
      side.setAttribute("aria-hidden", "true");
      side.append(...words.map((word) => element("span", word > "\u2e7f" ? "wide" : "", word)));
      return side;
    });
    map.before(...sides);
  }

  get queries() {
    return this.data.rows.length ? this.data.rows : this.data.labels;
  }

  buildTable(n_layers) {
    const { networks, relations, text } = this.data;
    const head = element("tr");
    const corner = element("th", "row", n_layers > 1 ? text.corner : "");
    corner.scope = "col";
    head.append(corner);
    const columns = networks.flatMap(({ shape: [, heads], name }, of) =>
      Array.from({ length: heads }, (_, i) => ({ of, head: i, isApart: of !== this.main, title: heads === 1 ? name : String(i + 1) })),
    );
    for (const column of columns) {
      const th = element("th", column.isApart ? "apart" : "", column.title);
      th.scope = "col";
      if (column.title !== networks[column.of].name) th.setAttribute("aria-label", fill(text.head, { name: column.title }));
      head.append(th);
    }
    const thead = element("thead");
    thead.append(head);
    const body = element("tbody");
    this.cells = [];
    this.rows = [];
    for (let layer = 0; layer < n_layers; layer += 1) {
      relations.forEach((relation, r) => {
        const row = element("tr", layer && !r ? "gap" : "");
        const th = element("th", "row");
        th.scope = "row";
        const button = element("button", "", n_layers > 1 ? `${layer + 1} · ${relation}` : relation);
        button.type = "button";
        button.title = n_layers > 1 ? `${fill(text.layer, { n: layer + 1 })} · ${relation}` : relation;
        button.setAttribute("aria-label", button.title);
        button.onclick = () => {
          this.relation.pinned = this.relation.pinned === r ? null : r;
          this.paintPointing();
        };
        button.onfocus = row.onpointerenter = () => this.pointRelation(r);
        button.onblur = row.onpointerleave = () => this.pointRelation(null);
        th.append(button);
        row.append(th);
        for (const column of columns) {
          const cell = element("td", column.isApart ? "apart" : "");
          this.cells.push({ cell, relation: r, layer, ...column });
          row.append(cell);
        }
        this.rows.push({ row, button, relation: r });
        body.append(row);
      });
    }
    this.table.replaceChildren(thead, body);
    const longest = Math.max(...this.rows.map(({ button }) => letters(button.textContent)));
    this.table.style.setProperty("--names", `${Math.min(9.5, 1.2 + 0.52 * longest)}em`);
    this.table.classList.toggle("many", columns.length > 6);
    this.table.style.setProperty("--apart", `${Math.max(3.4, 0.56 * letters(networks[0].name))}em`);
  }

  name(layer, head) {
    return `${layer + 1}-${head + 1}`;
  }

  // -- the place in the training -----------------------------------------------------------------------------------

  goTo(at) {
    this.stop();
    this.at = Math.max(0, Math.min(this.frames.length - 1, at));
    this.follows = this.at === this.frames.length - 1;
    this.paint();
  }

  start() {
    if (this.at >= this.frames.length - 1) this.at = 0;
    this.follows = false;
    this.timer = setInterval(() => {
      this.at = Math.min(this.frames.length - 1, this.at + 1);
      if (this.at === this.frames.length - 1 && !this.data.live) {
        this.stop();
        this.follows = true;
        this.announce();
      }
      this.paint();
    }, TICK);
    this.paint();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.root.classList.remove("plays");
    if (this.data) this.play.lastElementChild.textContent = this.data.text.play;
  }

  get step() {
    return this.frames[this.at];
  }

  // The checkpoint of a network that belongs to the step shown: its last one up to there.
  frame(of) {
    const { steps } = this.networks[of];
    if (of === this.main) return Math.min(this.at, steps.length - 1);
    let found = 0;
    while (found + 1 < steps.length && steps[found + 1] <= this.step) found += 1;
    return found;
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  layout() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const { networks } = this.data;
    const [layers, heads] = networks[this.main].shape;
    const named = this.data.rows.length > 0;
    const isStacked = named && !isWide(); // on a phone the other network stands below
    const isBeside = networks.length > 1 && !isStacked;
    const besideRows = isBeside ? networks[0].shape[0] * networks[0].shape[1] : 0;
    const room = this.stage.clientWidth - (isBeside ? 30 : 0);
    const longest = Math.max(...this.data.relations.map(letters));
    const scale = this.data.text_scale;
    const roomy = named ? 0 : LETTER * (longest + 9) * scale; // a head's name, the relation and its weight in a line
    const side = named ? { x: 7.2 * scale * Math.max(...this.data.rows.map(letters)) + 6, y: 7.2 * scale * Math.max(...this.data.labels.map(letters)) + 6 } : { x: 0, y: 0 };
    let best = { tile: 0, columns: 1 };
    for (let columns = 1; columns <= heads; columns += 1) {
      if (heads % columns) continue;
      const rows = Math.max(layers * (heads / columns), besideRows);
      const across = (room + 8 - side.x * (isBeside ? 2 : 1)) / (columns + (isBeside ? 1 : 0)) - 8;
      const most = (isWide() ? TALLEST + spare() : TALLEST_ON_A_PHONE) + (named ? FOR_WORDS : 0);
      const row = (most - HEADING * scale - side.y) / rows - 6;
      const down = row - (row - 24 * scale >= roomy ? 24 : 44) * scale;
      const tile = Math.floor(Math.min(across, down, WIDEST));
      if (tile > best.tile) best = { tile, columns };
    }
    this.size = best.tile;
    this.stage.style.setProperty("--tile", `${best.tile}px`);
    this.stage.classList.toggle("stacked", isStacked);
    this.stage.style.setProperty("--row", `${best.tile / this.queries.length}px`);
    this.stage.style.setProperty("--side-x", `${side.x}px`);
    this.stage.style.setProperty("--side-y", `${side.y}px`);
    this.stage.classList.toggle("small", best.tile < roomy);
    this.groups.forEach((group, of) => {
      const columns = of === this.main ? best.columns : 1;
      group.style.gridTemplateColumns = [best.tile + side.x, ...Array(columns - 1).fill(best.tile)].map((width) => `${width}px`).join(" ");
      // Words stand beside the first map of a row and above the first of a column.
      [...group.children].forEach((box, i) => {
        box.classList.toggle("inner", i % columns > 0);
        box.classList.toggle("lower", i >= columns);
      });
    });
    this.paint();
  }

  paint() {
    const { text, networks } = this.data;
    const values = { step: this.step, steps: networks[this.main].steps };
    this.range.max = networks[this.main].n_frames - 1; // what is to come has its room too
    this.range.value = this.at;
    this.output.textContent = fill(text.step, values);
    this.range.setAttribute("aria-valuetext", this.output.textContent);
    this.root.classList.toggle("plays", Boolean(this.timer));
    this.play.lastElementChild.textContent = this.timer ? text.pause : text.play;
    this.root.dataset.step = this.step;
    this.paintSentence();
    this.paintChart();
    this.paintTiles();
    this.paintTable();
    this.paintPointing();
  }

  share(of, layer, head, relation, kind = "share") {
    return this.networks[of][kind][this.frame(of)][layer]?.[head]?.[relation] ?? null;
  }

  // For each relation the heads that give its key at least half of their weight, the one with most first.
  owners() {
    const { relations, own, networks } = this.data;
    const [n_layers, n_heads] = networks[this.main].shape;
    return relations.map((_, r) => {
      const found = [];
      for (let layer = 0; layer < n_layers; layer += 1) {
        for (let head = 0; head < n_heads; head += 1) {
          const weight = this.share(this.main, layer, head, r);
          if (weight !== null && weight >= own) found.push({ name: this.name(layer, head), weight });
        }
      }
      return found.sort((a, b) => b.weight - a.weight);
    });
  }

  paintSentence() {
    const { text, networks, relations } = this.data;
    this.result.textContent = networks
      .map(({ name }, of) => fill(text.right, { network: name, share: percent(this.networks[of].accuracy[this.frame(of)]) }))
      .reverse()
      .join(text.between);
    const owners = this.owners();
    const said = owners.flatMap((heads, r) => {
      if (!heads.length) return [];
      const also = heads.slice(1).map(({ name }) => name).join(", ");
      const first = fill(text.took, { relation: relations[r], head: heads[0].name, weight: shown(heads[0].weight) });
      return [also ? first + fill(text.also, { heads: also }) : first];
    });
    this.who.textContent = [said.join(text.between) + (said.length ? text.end : ""), this.verdict(owners)].join("");
  }

  verdict(owners) {
    const { text, relations, networks } = this.data;
    const suffix = this.step === networks[this.main].steps ? "_at_end" : "";
    const taken = owners.filter((heads) => heads.length);
    if (!taken.length) return text[`none${suffix}`];
    const left = relations.filter((_, r) => !owners[r].length);
    if (left.length) return fill(text[`some${suffix}`], { relations: left.join(", ") });
    const first = taken.map((heads) => heads[0].name);
    const several = first.find((name, i) => first.indexOf(name) < i);
    return several ? fill(text.several, { head: several }) : text.each;
  }

  announce() {
    this.live.textContent = `${this.output.textContent}. ${this.result.textContent} ${this.who.textContent}`;
  }

  paintTiles() {
    const [rows, columns] = [this.queries.length, this.data.labels.length];
    const found = []; // heads that have their job since the checkpoint before
    for (const tile of this.tiles) {
      const { maps, top } = this.networks[tile.of];
      const image = mapImage({ codes: maps[this.frame(tile.of)], offset: tile.offset * rows * columns, rows, columns, top }, this.colours);
      [tile.weights.width, tile.weights.height] = [columns, rows];
      tile.weights.getContext("2d").drawImage(image, 0, 0);
      const shares = this.data.relations.map((_, r) => this.share(tile.of, tile.layer, tile.head, r) ?? 0);
      const best = shares.indexOf(Math.max(...shares));
      const has = shares[best] >= this.data.own;
      if (this.timer && has && !tile.box.classList.contains("has")) found.push(`${tile.title}: ${this.data.relations[best]}`);
      tile.box.classList.toggle("has", has);
      tile.best.textContent = has && !this.data.rows.length ? `${this.data.relations[best]} ${shown(shares[best])}` : "";
      tile.map.setAttribute("aria-label", fill(this.data.text.map, { head: tile.title, step: this.step }));
    }
    if (found.length) this.live.textContent = found.join(", ");
  }

  paintTable() {
    const rgb = bytesOf(this.data.colours);
    const isHit = this.cellsShow === "hit";
    for (const button of this.shows.children) button.setAttribute("aria-pressed", String(button.dataset.name === this.cellsShow));
    this.note.textContent = this.data.text[`about_${this.cellsShow}`];
    this.table.setAttribute("aria-label", this.note.textContent);
    for (const { cell, of, layer, head, relation } of this.cells) {
      const weight = this.share(of, layer, head, relation, isHit ? "hit" : "share");
      cell.textContent = weight === null ? "" : isHit ? whole(weight) : shown(weight);
      const at = 3 * Math.round(Math.max(0, Math.min(1, weight ?? 0)) * 255);
      const colour = [...rgb.slice(at, at + 3)];
      cell.style.background = weight === null ? "" : css(colour);
      cell.style.color = weight === null ? "" : css(inkOn(colour, [255, 255, 255]));
    }
  }

  // -- the chart -------------------------------------------------------------------------------------------------

  paintChart() {
    const { networks, chance, floor, text, text_scale: scale } = this.data;
    const width = this.chart.clientWidth || 320;
    const height = CHART * scale + 0.6 * spare();
    const [left, right, top, bottom] = [46 * scale, 8, 12, 38 * scale];
    const steps = networks[this.main].steps;
    const bent = (step) => Math.log1p(step / BEND) / Math.log1p(steps / BEND);
    const x = (step) => left + bent(step) * (width - left - right);
    const isLoss = this.quantity === "loss";
    const highest = isLoss ? Math.max(0.1, ...this.networks.flatMap(({ loss }) => loss)) * 1.05 : 1;
    const y = (value) => height - bottom - (value / highest) * (height - top - bottom);
    for (const button of this.turn.children) button.setAttribute("aria-pressed", String(button.dataset.name === this.quantity));
    const drawn = [];
    for (const value of isLoss ? [0, highest / 2, highest] : [0, 0.5, 1]) {
      drawn.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
      const words = isLoss ? value.toFixed(1) : percent(value);
      drawn.push(svg("text", { class: "axis", x: left - 6, y: y(value) + 4 * scale, "text-anchor": "end" }, words));
    }
    const ticks = (scale > 1 ? [0, 50, 200, 1000] : [0, 20, 50, 100, 200, 500, 1000, 2000, 5000]).filter((step) => step < steps * 0.7).concat(steps);
    for (const step of ticks) {
      const anchor = step === steps ? "end" : "middle";
      drawn.push(svg("text", { class: "axis", x: x(step) + (step === steps ? right : 0), y: height - bottom + 16 * scale, "text-anchor": anchor }, step));
    }
    drawn.push(svg("text", { class: "axis", x: width - right, y: height - 4, "text-anchor": "end" }, text.x_axis));
    const level = isLoss ? floor : chance; // what nobody goes below, or gets by chance
    if (level !== null) drawn.push(svg("line", { class: "baseline", x1: left, x2: width - right, y1: y(level), y2: y(level) }));
    drawn.push(svg("line", { class: "cursor", x1: x(this.step), x2: x(this.step), y1: top - 6, y2: height - bottom }));
    const names = [];
    networks.forEach((network, of) => {
      const kind = of === this.main ? "main" : "beside";
      const { steps: at, [this.quantity]: values } = this.networks[of];
      const points = at.map((each, i) => `${x(each).toFixed(1)},${y(values[i]).toFixed(1)}`).join(" ");
      drawn.push(svg("polyline", { class: `line ${kind}`, points }));
      const now = this.frame(of);
      drawn.push(svg("circle", { class: `dot ${kind}`, cx: x(at[now]), cy: y(values[now]), r: 5 }));
      const last = values[values.length - 1];
      names.push({ words: `${network.name} ${isLoss ? last.toFixed(2) : percent(last)}`, at: y(last), x: Math.max(x(at[at.length - 1]), left + 90 * scale) });
    });
    // Each name beside the end of its curve, inside the picture, and never over the other.
    names.sort((a, b) => a.at - b.at);
    names.forEach((name, i) => {
      name.y = Math.max(name.at < top + 20 * scale ? name.at + 20 * scale : name.at - 8, i ? names[i - 1].y + NAME * scale : 0);
    });
    names.reduceRight((lowest, name) => (name.y = Math.min(name.y, lowest)) - NAME * scale, height - bottom - 4);
    for (const { x: end, y: line, words } of names) {
      drawn.push(svg("text", { class: "name", x: end, y: line, "text-anchor": "end" }, words));
    }
    // What the baseline gets, above its line at the right, where no name stands.
    if (level !== null && isLoss) {
      drawn.push(svg("text", { class: "axis said", x: left + 4, y: y(level) - 5 }, fill(text.floor, { floor: shown(level) })));
    } else if (level !== null && names.every((name) => name.y < y(level) - 22 * scale)) {
      const words = fill(text.baseline, { chance: percent(level) });
      drawn.push(svg("text", { class: "axis said", x: width - right, y: y(level) - 5, "text-anchor": "end" }, words));
    }
    this.chart.setAttribute("height", height);
    this.chart.replaceChildren(...drawn);
    this.toStep = (at) => {
      const share = Math.max(0, Math.min(1, (at - left) / (width - left - right)));
      return BEND * Math.expm1(share * Math.log1p(steps / BEND));
    };
  }

  listenToChart() {
    const scrub = (event) => {
      if (!this.data || (event.type === "pointermove" && !event.buttons)) return;
      const step = this.toStep(event.clientX - this.chart.getBoundingClientRect().left);
      const far = this.frames.map((each) => Math.abs(each - step));
      this.goTo(far.indexOf(Math.min(...far)));
    };
    this.chart.onpointerdown = this.chart.onpointermove = scrub;
  }

  // -- pointing --------------------------------------------------------------------------------------------------

  point(pointed) {
    this.pointed = pointed;
    this.paintPointing();
  }

  pointRelation(relation) {
    this.relation.pointed = relation;
    this.paintPointing();
  }

  paintPointing() {
    const { text, labels, relations, keys } = this.data;
    const relation = this.relation.pointed ?? this.relation.pinned;
    const density = window.devicePixelRatio || 1;
    const [n, n_rows] = [labels.length, this.queries.length];
    for (const tile of this.tiles) {
      const pen = tile.over.getContext("2d");
      tile.over.width = tile.over.height = Math.round(this.size * density);
      const [wide, high] = [tile.over.width / n, tile.over.height / n_rows];
      const frame = (column, row, columns, rows) => {
        for (const [colour, by] of [["#000", 3], ["#fff", 1.2]]) {
          pen.strokeStyle = colour;
          pen.lineWidth = by * density;
          pen.strokeRect(column * wide + density, row * high + density, columns * wide - 2 * density, rows * high - 2 * density);
        }
      };
      if (relation === null) this.outlineGold(tile, pen, frame, density);
      if (relation !== null) keys.forEach((of, query) => of[relation] >= 0 && frame(of[relation], query, 1, 1));
      if (this.pointed) {
        frame(0, this.pointed.query, n, 1);
        if (this.pointed.tile === tile) frame(this.pointed.key, this.pointed.query, 1, 1);
      }
    }
    for (const { row, button, relation: r } of this.rows) {
      row.classList.toggle("on", r === relation);
      button.setAttribute("aria-pressed", String(r === this.relation.pinned));
    }
    for (const { box } of this.data.rows.length ? this.tiles : []) {
      [...box.querySelectorAll(".queries span")].forEach((span, i) => span.classList.toggle("query", i === this.pointed?.query));
      [...box.querySelectorAll(".keys span")].forEach((span, i) => span.classList.toggle("key", i === this.pointed?.key));
    }
    [...this.line.children].forEach((span, i) => {
      span.classList.toggle("query", i === this.pointed?.query);
      span.classList.toggle("key", i === this.pointed?.key);
    });
    this.cell.classList.toggle("pointed", Boolean(this.pointed) || relation !== null);
    this.cell.textContent = this.pointed ? this.cellSentence() : relation === null ? (this.data.gold.length ? text.all_gold : text.point) : fill(text.gold, { relation: relations[relation] });
  }

  // Where each row should look: solid where its largest weight is, dashed where that is elsewhere.
  outlineGold(tile, pen, frame, density) {
    const [n, n_rows] = [this.data.labels.length, this.queries.length];
    const { maps, top } = this.networks[tile.of];
    this.data.gold.forEach((key, row) => {
      const start = (tile.offset * n_rows + row) * n;
      const weights = maps[this.frame(tile.of)].subarray(start, start + n);
      if (key < 0 || weights[key] > top) return; // nowhere, or hidden by the mask
      const largest = Math.max(...weights.filter((code) => code <= top));
      pen.setLineDash(weights[key] === largest ? [] : [3 * density, 3 * density]);
      frame(key, row, 1, 1);
    });
    pen.setLineDash([]);
  }

  cellSentence() {
    const { tile, query, key } = this.pointed;
    const { text, labels } = this.data;
    const { maps, top } = this.networks[tile.of];
    const code = maps[this.frame(tile.of)][(tile.offset * this.queries.length + query) * labels.length + key];
    const values = { query: `“${this.queries[query]}”`, key: `“${labels[key]}”`, weight: shown(code / top) };
    return `${tile.title} · ${fill(code > top ? text.cell_masked : text.cell, values)}`;
  }
}
