// All layers × all heads on one canvas. A click, or Enter, tells Python which head (state "head"); pointing tells nobody.

const SMALLEST = 14; // pixels of a thumbnail
const LARGEST = 72;
const FINGER = 32; // least side of a thumbnail's place under a finger
const HIGHEST = 900; // of all thumbnails together, where a mouse points: 30 layers stay small enough to be compared
const APART = 8; // pixels between heads of different keys
const NUMBERED = 30; // pixels from which a thumbnail has room for its number

const overviews = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  if (data.part === "maps") return keepMaps(parentElement, data);
  const overview = overviews.get(parentElement) ?? new Overview(parentElement);
  overviews.set(parentElement, overview);
  overview.send = setStateValue;
  overview.show(data);
  return () => {
    overview.close();
    overviews.delete(parentElement);
  };
}

class Overview {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    const part = (name) => this.root.querySelector(`.${name}`);
    [this.grid, this.pointer] = ["grid", "pointer"].map(part);
    this.near = new LargerMap(part("near"), part("stage"));
    [this.chosen, this.cursor, this.linked] = ["chosen", "cursor", "linked"].map(part);
    [this.marks, this.legend] = ["marks", "legend"].map(part);
    [this.scroller, this.sheet, this.layers] = ["scroller", "sheet", "layers"].map(part);
    this.selected = new Choice();
    this.at = null; // [layer, head] under the pointer or the keyboard's cursor
    this.told = pointed.token ?? null; // what is pointed at in the other components
    this.deafen = listen("token", (told) => {
      this.told = told;
      if (this.data) this.markTold();
    });
    this.listen();
    this.width = 0;
    this.observer = new ResizeObserver(() => this.data && this.root.clientWidth !== this.width && this.draw());
    this.observer.observe(this.root);
  }

  close() {
    undrawn.delete(this.root);
    this.observer.disconnect();
    this.deafen();
    tell("head", null);
    this.root.remove();
  }

  async show(data) {
    this.wanted = data;
    const maps = await mapsOf(data.maps);
    if (this.wanted !== data || !this.root.isConnected) return; // newer data came meanwhile
    const began = performance.now();
    const before = JSON.stringify(this.selected.value);
    this.selected.fromPython(data.selected);
    const looks = JSON.stringify([{ ...data, selected: null }, theme(this.root)]);
    if (this.looks === looks && this.maps === maps) this.mark(); // another choice alone: all pictures stand
    else this.dress(data, maps);
    this.looks = looks;
    if (JSON.stringify(this.selected.value) !== before) this.reveal(this.selected.value);
    this.root.dataset.drawMs = (performance.now() - began).toFixed(1);
    undrawn.delete(this.root);
  }

  dress(data, maps) {
    this.data = data;
    this.maps = maps;
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.text.title);
    this.theme = theme(this.root);
    this.accent = css(visibleOn(rgbOf(data.accent, "#000"), this.theme.ground, this.theme.ink));
    this.root.style.setProperty("--accent-ink", this.accent);
    this.table = colourTable(data);
    this.images = new Map();
    this.near.forget();
    this.buildOptions();
    this.scale = data.metric && new MetricScale(data.metric);
    showLegend(this.legend, this);
    this.draw();
  }

  name(layer, head) {
    return `${layer + 1}-${head + 1}`;
  }

  value(layer, head) {
    return this.data.metric?.values[layer][head] ?? null;
  }

  // "head 4-2", with its number when heads are coloured by one.
  label(layer, head) {
    const { metric, text } = this.data;
    const name = fill(text.head, { name: this.name(layer, head) }) + this.sharers(layer, head);
    if (!metric) return name;
    const value = this.value(layer, head);
    return `${name} · ${metric.label} ${value === null ? text.no_value : value.toFixed(metric.decimals)}`;
  }

  // In grouped-query attention: the heads that look through the same keys and values.
  sharers(layer, head) {
    const { group, text } = this.data;
    if (group < 2) return "";
    const first = head - (head % group);
    const others = Array.from({ length: group }, (_, i) => first + i).filter((other) => other !== head);
    return ` · ${fill(text.shares, { names: others.map((other) => this.name(layer, other)).join(", ") })}`;
  }

  image(layer, head) {
    const key = layer * this.data.n_heads + head;
    if (!this.images.has(key)) {
      const { codes, shape, top } = this.maps;
      const [rows, columns] = shape.slice(2);
      const map = { codes, offset: key * rows * columns, rows, columns, top };
      this.images.set(key, mapImage(map, this.table));
    }
    return this.images.get(key);
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  draw() {
    const { n_layers, n_heads, group, text_scale, text, metric } = this.data;
    this.width = this.root.clientWidth;
    const fontSize = Math.round(12 * text_scale);
    const gap = this.width / n_heads > 26 ? 4 : 2;
    const [left, top] = [Math.round(fontSize * 2.9), Math.round(fontSize * 1.6)];
    const apart = group > 1 ? APART : 0;
    const room = this.width - left - 4 - apart * (Math.ceil(n_heads / Math.max(1, group)) - 1);
    const isFinger = matchMedia("(pointer: coarse)").matches;
    const widest = isFinger ? LARGEST : Math.min(LARGEST, Math.floor(HIGHEST / n_layers) - gap);
    let tile = Math.max(SMALLEST, Math.min(widest, Math.floor(room / n_heads) - gap));
    if (tile + gap < FINGER && isFinger) tile = this.underFinger(left) - gap;
    const pitch = [tile + gap, tile + gap];
    Object.assign(this, { tile, pitch, left, top, apart });
    const [width, height] = [this.column(n_heads - 1) + pitch[0], top + n_layers * pitch[1]];
    const density = window.devicePixelRatio || 1;
    this.grid.width = Math.round(width * density);
    this.grid.height = Math.round(height * density);
    this.grid.style.width = this.sheet.style.width = `${width}px`;
    this.grid.style.height = `${height}px`;
    Object.assign(this.pointer.style, { left: `${left}px`, top: `${top}px`, width: `${width - left}px`, height: `${height - top}px` });
    const pen = this.grid.getContext("2d");
    pen.scale(density, density);
    pen.fillStyle = css(this.theme.ground);
    pen.fillRect(0, 0, width, height);
    pen.font = `${fontSize}px ${this.theme.font}`;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.fillStyle = css(mix(this.theme.ground, this.theme.ink, 0.8));
    for (let head = 0; head < n_heads; head += 1) {
      pen.fillText(head + 1, this.column(head) + tile / 2, top / 2 - 1);
      if (apart && head % group === 0) this.bracket(pen, head, Math.min(head + group, n_heads) - 1);
    }
    pen.textAlign = "right";
    for (let layer = 0; layer < n_layers; layer += 1) pen.fillText(layer + 1, left - 8, top + layer * pitch[1] + tile / 2);
    this.corner(pen, fontSize, text);
    pen.imageSmoothingQuality = "high";
    this.eachHead((x, y, layer, head) => {
      pen.clearRect(x, y, tile, tile);
      if (metric) this.drawValue(pen, layer, head, x, y, fontSize);
      else {
        const image = this.image(layer, head);
        pen.imageSmoothingEnabled = image.width > tile * density;
        pen.drawImage(image, x, y, tile, tile);
      }
    });
    this.keepLayers(density, width > this.width);
    this.mark();
    this.markTold();
  }

  // The side of a place that a finger can hit, so that the edge cuts a thumbnail in two: one sees that more follow.
  underFinger(left) {
    const room = this.width - left;
    const whole = Math.max(1, Math.floor(room / FINGER - 0.5));
    return Math.max(FINGER, Math.floor(room / (whole + 0.5)));
  }

  // The layers' numbers once more, over the left edge, where they stay while the heads scroll.
  keepLayers(density, isWide) {
    this.scroller.classList.toggle("wide", isWide);
    this.cue();
    if (!isWide) return;
    const { layers, left, grid } = this;
    layers.width = Math.round((left - 2) * density);
    layers.height = grid.height;
    Object.assign(layers.style, { width: `${left - 2}px`, height: grid.style.height, marginRight: `${2 - left}px` });
    layers.getContext("2d").drawImage(grid, 0, 0);
  }

  // Fades the side on which more heads follow.
  cue() {
    const { scrollLeft, clientWidth, scrollWidth } = this.scroller;
    this.scroller.classList.toggle("more", scrollLeft + clientWidth < scrollWidth - 4);
  }

  // Scrolls until a head can be seen.
  reveal(at) {
    if (!at) return;
    const [x] = this.place(...at);
    const { scroller, left, tile } = this;
    scroller.scrollLeft = Math.max(x + tile + 6 - scroller.clientWidth, Math.min(scroller.scrollLeft, x - left - 2));
  }

  // The corner says which edge is which: "head" to the right, "layer" downwards.
  corner(pen, fontSize, text) {
    pen.save();
    pen.font = `${Math.round(fontSize * 0.85)}px ${this.theme.font}`;
    pen.textAlign = "left";
    pen.fillText(`${text.heads} →`, 0, this.top / 2 - 1, this.left - 2);
    pen.translate(Math.round(fontSize * 0.5), this.top + 2);
    if (/^[\u2e80-\u{3ffff}]+$/u.test(text.layers)) { // Chinese: upright, character under character
      pen.textBaseline = "top";
      [...text.layers, "↓"].forEach((letter, i) => pen.fillText(letter, -fontSize * 0.5, i * fontSize));
    } else {
      pen.rotate(Math.PI / 2);
      pen.fillText(`${text.layers} →`, 0, 0);
    }
    pen.restore();
  }

  drawValue(pen, layer, head, x, y, fontSize) {
    const value = this.value(layer, head);
    if (value === null) return; // the hatching shows
    const colour = this.scale.colour(value);
    pen.fillStyle = css(colour);
    pen.fillRect(x, y, this.tile, this.tile);
    if (this.tile < NUMBERED) return;
    pen.save();
    pen.textAlign = "center";
    pen.font = `${Math.min(fontSize, Math.floor(this.tile * 0.36))}px ${this.theme.font}`;
    pen.fillStyle = css(inkOn(colour, [0, 0, 0]));
    pen.fillText(value.toFixed(this.data.metric.decimals), x + this.tile / 2, y + this.tile / 2 + 1, this.tile - 4);
    pen.restore();
  }

  eachHead(draw) {
    for (let layer = 0; layer < this.data.n_layers; layer += 1) {
      for (let head = 0; head < this.data.n_heads; head += 1) draw(...this.place(layer, head), layer, head);
    }
  }

  // Where the column of a head begins.
  column(head) {
    const { group } = this.data;
    return this.left + head * this.pitch[0] + (this.apart ? Math.floor(head / group) * this.apart : 0);
  }

  // A line over heads that share keys and values.
  bracket(pen, first, last) {
    pen.fillRect(this.column(first), this.top - 4, this.column(last) + this.tile - this.column(first), 1);
  }

  place(layer, head) {
    return [this.column(head), this.top + layer * this.pitch[1]];
  }

  // -- pointing and picking --------------------------------------------------------------------------------------

  buildOptions() {
    const { n_layers, n_heads, text } = this.data;
    this.pointer.setAttribute("aria-label", `${text.title}. ${text.pick}`);
    if (this.pointer.childElementCount !== n_layers * n_heads) {
      const option = (_, i) => {
        const made = element("div", "option");
        made.setAttribute("role", "option");
        made.setAttribute("aria-selected", "false");
        made.id = `head-${i}`;
        return made;
      };
      this.pointer.replaceChildren(...Array.from({ length: n_layers * n_heads }, option));
      this.at = null;
    }
    [...this.pointer.children].forEach((option, i) => {
      option.setAttribute("aria-label", this.label(Math.floor(i / n_heads), i % n_heads));
    });
  }

  listen() {
    const under = (event) => {
      const area = this.pointer.getBoundingClientRect();
      const { n_layers, n_heads } = this.data;
      const layer = Math.floor((event.clientY - area.top) / this.pitch[1]);
      let head = 0;
      while (head < n_heads - 1 && event.clientX - area.left >= this.column(head + 1) - this.left) head += 1;
      return [Math.max(0, Math.min(n_layers - 1, layer)), head];
    };
    this.pointer.onpointermove = this.pointer.onpointerdown = (event) => this.data && this.goTo(under(event));
    this.pointer.onpointerleave = () => this.goTo(null);
    this.pointer.onclick = (event) => {
      if (!this.data) return;
      this.pick(under(event));
      if (event.pointerType === "touch") this.goTo(null); // the larger map would hide its neighbours from the finger
    };
    this.scroller.onscroll = () => this.cue();
    this.pointer.onblur = () => this.goTo(null);
    this.pointer.onfocus = () => this.pointer.matches(":focus-visible") && this.goTo(this.selected.value ?? [0, 0]);
    this.pointer.onkeydown = (event) => this.key(event);
  }

  key(event) {
    if (!this.data || event.ctrlKey || event.metaKey || event.altKey) return;
    const [layer, head] = this.at ?? this.selected.value ?? [0, 0];
    const moves = {
      ArrowUp: [layer - 1, head],
      ArrowDown: [layer + 1, head],
      ArrowLeft: [layer, head - 1],
      ArrowRight: [layer, head + 1],
      Home: [layer, 0],
      End: [layer, this.data.n_heads - 1],
    };
    if (event.key === "Enter" || event.key === " ") this.pick([layer, head]);
    else if (event.key === "Escape" && this.at) this.goTo(null);
    else if (moves[event.key]) {
      const [nextLayer, nextHead] = moves[event.key];
      const within = (i, n) => Math.max(0, Math.min(n - 1, i));
      this.goTo([within(nextLayer, this.data.n_layers), within(nextHead, this.data.n_heads)]);
      this.reveal(this.at);
    } else return;
    event.preventDefault();
  }

  goTo(at) {
    if (JSON.stringify(at) === JSON.stringify(this.at)) return;
    this.at = at;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.data && this.mark());
    tell("head", at && { layer: at[0], head: at[1] });
  }

  pick(at) {
    this.at = at;
    this.selected.fromPerson(at);
    this.send("head", { value: this.name(...at), at: Date.now() });
    this.mark();
  }

  ring(mark, at) {
    const isThere = at && at[0] < this.data.n_layers && at[1] < this.data.n_heads;
    mark.style.display = isThere ? "block" : "none";
    if (!isThere) return;
    const [x, y] = this.place(...at);
    Object.assign(mark.style, { left: `${x}px`, top: `${y}px`, width: `${this.tile}px`, height: `${this.tile}px` });
  }

  mark() {
    const { n_heads } = this.data;
    this.ring(this.chosen, this.selected.value);
    this.ring(this.cursor, this.at);
    const chosen = this.selected.value && this.selected.value[0] * n_heads + this.selected.value[1];
    this.option?.setAttribute("aria-selected", "false");
    this.option = this.pointer.children[chosen];
    this.option?.setAttribute("aria-selected", "true");
    if (this.at) this.pointer.setAttribute("aria-activedescendant", `head-${this.at[0] * n_heads + this.at[1]}`);
    else this.pointer.removeAttribute("aria-activedescendant");
    this.showNear();
  }

  // The head, the row and the column pointed at elsewhere, in every thumbnail.
  markTold() {
    const { marks, grid, told, tile } = this;
    Object.assign(marks, { width: grid.width, height: grid.height }); // also wipes it
    Object.assign(marks.style, { width: grid.style.width, height: grid.style.height });
    this.ring(this.linked, told && told.head !== null && told.head !== MEAN ? [told.layer, told.head] : null);
    if (!told || this.data.metric) return;
    const pen = marks.getContext("2d");
    const density = window.devicePixelRatio || 1;
    pen.scale(density, density);
    pen.fillStyle = this.accent;
    const [rows, columns] = this.maps.shape.slice(2);
    const [down, across] = this.maps.step;
    const at = (token, step, cells) => (Math.floor(token / step) / cells) * tile;
    this.eachHead((x, y) => {
      if (told.query !== null) pen.fillRect(x, y + at(told.query, down, rows), tile, Math.max(1, tile / rows / 3));
      if (told.key !== null) pen.fillRect(x + at(told.key, across, columns), y, Math.max(1, tile / columns / 3), tile);
    });
  }

  showNear() {
    if (!this.at) return this.near.hide();
    const [x, y] = this.place(...this.at);
    this.near.show(this.image(...this.at), this.label(...this.at), this.name(...this.at), {
      box: [x - this.scroller.scrollLeft, y, this.tile],
      width: this.width,
      above: this.top,
    });
  }
}
