// The token strip: point at a token, and the chosen heads show what it looks at. Everything happens in the browser;
// Python hears only of clicks (states "pinned", "heads", "direction"). A strip without its sentence is the layer's maps
// alone; strips of the same maps on a page point together.
// In cross-attention the keys are another text, in a line above the queries; all tokens are counted as one row of places,
// the keys from `keysFrom` on. There the line of a token says whether it looks or is looked at.

const TALL_SHARE = 0.24; // of the window's height that a long sentence may take
const TWO_SHARE = 0.4; // that two texts may take

const strips = new Map(); // parentElement -> Strip

export default function ({ data, parentElement, setStateValue }) {
  if (data.part === "maps") return keepMaps(parentElement, data);
  const strip = strips.get(parentElement) ?? new Strip(parentElement);
  strips.set(parentElement, strip);
  strip.send = setStateValue;
  strip.show(data);
  return () => {
    strip.close();
    strips.delete(parentElement);
  };
}

class Strip {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    const part = (name) => this.root.querySelector(`.${name}`);
    [this.turn, this.says, this.scroll, this.sheet] = ["turn", "says", "scroll", "sheet"].map(part);
    [this.svg, this.also, this.live] = ["edges", "also", "live"].map(part);
    this.lines = [...this.root.querySelectorAll(".line")].reverse(); // of the queries, of the keys
    this.scroll.onscroll = () => this.cue();
    this.says.append(element("span"));
    this.choices = { pinned: new Choice(), pair: new Choice(), heads: new Choice(), direction: new Choice() };
    this.buttons = [];
    this.pointing = new Pointing(this.sheet, {
      onChange: (change) => this.others().forEach((other) => other.pointing.point(change)),
      onPoint: () => this.data && this.paint(),
      onPin: (at) => this.pick(at),
      onFocus: () => this.announce(),
    });
    this.root.onkeydown = (event) => {
      if (event.key !== "Escape" || this.pinned === null) return;
      event.stopPropagation();
      this.choose("pinned", null);
    };
    this.tiles = new Tiles(part("maps"), {
      onCell: (head, query, key) => this.pointing.point({ cell: { head, query, key } }),
      onLeave: () => this.pointing.point({ cell: null }),
      onOnly: (head) => this.choose("heads", head === MEAN ? [] : [head]),
      onToggle: (head) => this.toggle(head),
    });
    this.large = new LinkedMap((cell) => this.pointing.point({ cell: cell && { head: this.data.large.head, ...cell } }));
    this.deafen = listen("head", (at) => this.tiles.point(at && at.layer === this.data?.layer ? at.head : null));
    this.width = 0;
    this.observer = new ResizeObserver(() => this.root.clientWidth !== this.width && this.layout());
    this.observer.observe(this.root);
  }

  close() {
    undrawn.delete(this.root);
    this.observer.disconnect();
    this.large.close();
    this.deafen();
    if (this.data?.sentence) tell("token", null);
    this.root.remove();
  }

  // The other strips of the same maps.
  others() {
    const { maps, id } = this.data ?? {};
    return [...strips.values()].filter(({ root, data }) => root !== this.root && data?.maps === maps && data.id === id);
  }

  get pinned() {
    return this.choices.pinned.value ?? null;
  }

  get direction() {
    return this.choices.direction.value;
  }

  // Indices of the heads shown, or ["mean"].
  get heads() {
    const heads = this.choices.heads.value.filter((head) => head < this.maps.shape[0]);
    return heads.length ? heads : [MEAN];
  }

  // -- data ------------------------------------------------------------------------------------------------------

  async show(data) {
    this.wanted = data;
    const maps = await mapsOf(data.maps);
    if (this.wanted !== data || !this.root.isConnected) return; // newer data came meanwhile
    const hasNewTokens = this.data?.id !== data.id;
    const hasNewMaps = this.maps !== maps;
    if (hasNewTokens) this.choices.pinned = new Choice(); // its word was about another sentence
    if (this.data && this.data.layer !== data.layer) this.choices.heads = new Choice();
    this.data = data;
    this.maps = maps;
    this.texts = data.keys ? [data.tokens, data.keys] : [data.tokens];
    this.labels = this.texts.flatMap(({ labels }) => labels);
    this.keysFrom = data.keys ? data.tokens.labels.length : 0;
    if (hasNewMaps) this.layer = new LayerMaps(maps);
    this.curve = bytesOf(data.curve);
    this.choices.pinned.fromPython(data.pinned);
    this.choices.heads.fromPython(data.heads);
    this.choices.direction.fromPython(data.direction);
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.classList.toggle("bare", data.has_choices === false);
    this.root.classList.toggle("maps-only", !data.sentence);
    this.root.classList.toggle("two-texts", Boolean(data.keys));
    this.says.ariaHidden = String(!data.sentence); // the strip with the sentence says the same
    if (data.sentence) this.root.setAttribute("aria-label", data.text.title);
    this.theme = theme(this.root);
    this.accent = visibleOn(rgbOf(data.accent, "#000"), this.theme.ground, this.theme.ink);
    this.root.style.setProperty("--accent-ink", css(this.accent));
    this.palette = data.palette.map((colour) => visibleOn(rgbOf(colour, "#000"), this.theme.ground, this.theme.ink));
    if (hasNewTokens) this.pointing.forget();
    this.painted = []; // theme, colours or tokens may have changed
    if (data.sentence) {
      this.buildTurn();
      this.buildTokens();
    }
    this.buildTiles();
    if (data.large) this.large.show(data.large.key, [this.layer.rows, this.layer.columns]);
    this.layout();
    if (data.sentence && hasNewTokens && this.pinned !== null) this.reveal(this.pinned);
    undrawn.delete(this.root);
  }

  // Scrolls until a token can be seen: the last one of a text that grows stands below.
  reveal(at) {
    const { scroll, boxes } = this;
    const below = boxes[at].bottom + 4 - scroll.clientHeight;
    scroll.scrollTop = Math.max(below, Math.min(scroll.scrollTop, boxes[at].top - 4));
  }

  weight(head, query, key) {
    return this.layer.weight(head, query, key);
  }

  shade(weight) {
    return this.curve[Math.round(Math.min(1, weight / this.maps.maximum) * 254)] / 255;
  }

  colour(head) {
    return head === MEAN ? this.theme.ink : this.palette[head % this.palette.length];
  }

  // -- what stands on the page -----------------------------------------------------------------------------------

  buildTurn() {
    const { text } = this.data;
    this.turn.setAttribute("aria-label", text.direction);
    if (!this.turn.firstChild) {
      for (const direction of ["looks_at", "looked_at_by"]) {
        const button = element("button");
        button.type = "button";
        button.dataset.direction = direction;
        button.onclick = () => this.choose("direction", direction);
        this.turn.append(button);
      }
    }
    for (const button of this.turn.children) button.textContent = text[button.dataset.direction];
  }

  buildTokens() {
    const { tokens, text, id } = this.data;
    this.root.classList.toggle("surprised", tokens.surprise.length > 0);
    this.sheet.dir = tokens.dir;
    if (this.built !== id) {
      this.buttons = this.labels.map((label, i) => {
        const button = element("button", "token");
        button.type = "button";
        button.dataset.index = i;
        const word = element("span", "label calm", label.trim() ? label : "␣");
        button.append(word, element("span", "parts"), element("span", "number"), element("span", "surprise"));
        button.lastChild.append(element("i"));
        return button;
      });
      this.pointing.buttons = this.buttons;
      this.built = id;
    }
    this.lines.forEach((row, k) => {
      const [side, line] = row.children;
      const buttons = k ? this.buttons.slice(this.keysFrom || this.buttons.length) : this.buttons.slice(0, tokens.labels.length);
      if (buttons[0]?.parentElement !== line || line.childElementCount !== buttons.length) line.replaceChildren(...buttons);
      if (!this.texts[k]) return;
      line.dir = this.texts[k].dir;
      side.textContent = this.data.keys ? this.texts[k].name : "";
      line.setAttribute("aria-label", this.data.keys ? this.texts[k].name : text.title);
      buttons.forEach((button, i) => this.dress(button, this.texts[k], i));
    });
  }

  dress(button, { labels, special, padding, written, surprise }, i) {
    const { text } = this.data;
    button.classList.toggle("special", Boolean(special[i]));
    button.classList.toggle("padding", Boolean(padding[i]));
    button.classList.toggle("written", Boolean(written[i]));
    button.lastChild.firstChild.style.height = `${100 * Math.min(1, surprise?.[i] ?? 0)}%`;
    const kinds = [padding[i] ? text.padding : special[i] && text.special, written[i] && text.written];
    const kind = kinds.filter(Boolean).join(", ");
    const name = fill(text.token, { token: isolate(labels[i]), n: i + 1, total: labels.length });
    button.setAttribute("aria-label", kind ? `${name}, ${kind}` : name);
  }

  buildTiles() {
    const { text, layer } = this.data;
    const { heads, rows, columns } = this.layer;
    this.indices = [...Array(heads).keys(), MEAN];
    this.tiles.size(rows, columns);
    this.tiles.place.setAttribute("aria-label", fill(text.maps, { layer: layer + 1 }));
    this.tiles.build(
      this.indices.map((index) => {
        if (index === MEAN) return { index, name: text.mean, label: text.show_mean };
        return { index, name: String(index + 1), label: fill(text.show_head, { name: `${layer + 1}-${index + 1}` }) };
      }),
      this.data.sentence,
    );
    const pictured = [this.data.maps, this.data.colours, this.data.curve].join();
    if (!this.data.tile || this.pictured === pictured) return;
    this.pictured = pictured;
    const table = colourTable(this.data);
    this.tiles.draw(this.indices.map((index) => mapImage(this.layer.map(index), table, SHARPEST)));
  }

  // -- choosing --------------------------------------------------------------------------------------------------

  // A second token, where a pair is asked for; else the token is pinned, or freed.
  pick(at) {
    const { pinned, keysFrom } = this;
    const isOneLine = keysFrom && at < keysFrom === pinned < keysFrom; // no pair of two texts
    if (!this.data.asks_pair || pinned === null || at === pinned || isOneLine) {
      return this.choose("pinned", at === pinned ? null : at);
    }
    return this.choose("pair", this.looks(pinned) ? [pinned, at - keysFrom] : [at, pinned - keysFrom]);
  }

  // Whether the token at a place is a query: it looks. Else it is a key.
  looks(place) {
    return this.keysFrom ? place < this.keysFrom : this.direction === "looks_at";
  }

  choose(name, value) {
    this.choices[name].fromPerson(value);
    const of = ["pinned", "pair"].includes(name) ? this.data.id : this.data.layer;
    this.send(name, { value, of, at: Date.now() });
    if (name === "heads") this.layout(); // one head and several take different room under the tokens
    else this.paint();
    if (name === "pinned") this.announce();
  }

  toggle(head) {
    if (head === MEAN) return this.choose("heads", []);
    const heads = this.heads.filter((other) => other !== MEAN);
    const without = heads.filter((other) => other !== head);
    return this.choose("heads", without.length < heads.length ? without : [...heads, head].sort((a, b) => a - b));
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  layout() {
    if (!this.data) return;
    this.width = this.root.clientWidth;
    const share = this.data.keys ? TWO_SHARE : TALL_SHARE;
    const height = Math.max(this.data.height, innerHeight * share) * this.data.text_scale;
    this.scroll.style.maxHeight = `${height}px`;
    this.root.classList.remove("many-lines");
    this.root.classList.toggle("several", this.heads.length > 1);
    const isOneLine = new Set(this.buttons.map((button) => button.offsetTop)).size <= 1;
    this.root.classList.toggle("many-lines", !isOneLine);
    const tops = [...new Set(this.buttons.map((button) => button.offsetTop))].sort((a, b) => a - b);
    this.isOneLine = isOneLine;
    this.boxes = this.buttons.map((button, i) => ({
      x: button.offsetLeft + button.offsetWidth / 2,
      top: button.offsetTop,
      bottom: button.offsetTop + button.offsetHeight,
      line: tops.indexOf(button.offsetTop),
      text: this.texts[Number(Boolean(this.keysFrom) && i >= this.keysFrom)],
    }));
    this.svg.setAttribute("width", this.sheet.clientWidth);
    this.svg.setAttribute("height", this.sheet.clientHeight);
    this.cue();
    this.also.textContent = this.data.tile ? "" : this.data.text.also;
    this.tiles.layout(this.tiles.place.clientWidth || this.width, this.data.tile);
    this.pointing.lie(this.boxes, this.pinned ?? 0);
    this.paint();
  }

  // Shows that more lines follow below.
  cue() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroll;
    this.scroll.classList.toggle("more", scrollTop + clientHeight < scrollHeight - 4);
  }

  // What is shown now: the cell pointed at in a map, else the token under the pointer, the focused one, the pinned one.
  now() {
    const { cell, hovered, focused } = this.pointing;
    const { keysFrom } = this;
    const at = hovered ?? focused ?? this.pinned;
    const looks = cell && keysFrom ? true : this.looks(at);
    const source = cell ? (looks ? cell.query : cell.key) : at;
    const pair = (other) => (looks ? [source, other - keysFrom] : [other, source - keysFrom]);
    const isOther = (i) => !keysFrom || (looks ? i >= keysFrom : i < keysFrom); // of one line there are no weights
    const row = (head) => this.labels.map((_, i) => (isOther(i) ? this.weight(head, ...pair(i)) : undefined));
    const heads = cell ? [cell.head] : this.heads;
    const isWanted = looks && !cell && source !== null && source === this.data.pinned;
    const beside = isWanted ? this.data.beside : [];
    return { cell, heads, looks, source, pair, row, beside, weights: source === null ? [] : heads.map(row) };
  }

  // What a token looks at, head by head.
  rows(heads, query) {
    return heads.map((head) => this.labels.map((_, key) => this.weight(head, query, key)));
  }

  paint() {
    const now = this.now();
    const { cell, looks, source, heads } = now;
    for (const button of this.turn.children) {
      button.setAttribute("aria-pressed", String(button.dataset.direction === this.direction));
    }
    const [query, key] = cell ? [cell.query, cell.key] : looks || source === null ? [source, null] : [null, source - this.keysFrom];
    if (this.data.sentence) {
      paintTokens(this, now);
      paintEdges(this, now);
      tell("token", { layer: this.data.layer, head: cell?.head ?? null, query, key });
    }
    if (this.data.large) this.large.mark(query, key);
    this.tiles.colour((head) => css(this.colour(head)), heads);
    this.tiles.mark(query, key);
    this.tiles.say(source === null ? null : captions(this, now));
    this.says.firstChild.textContent = this.says.title = sentence(this, now);
  }

  announce() {
    this.live.textContent = sentence(this, this.now());
  }
}
