// The small map of each head of the layer, with the pointed row or column marked in every one.

const WIDEST = 1.5; // of the least width; a few heads don't fill the whole width
const SHARPEST = 160; // cells along a side of a small map; more are shown block by block

class Tiles {
  constructor(place, { onCell, onLeave, onOnly, onToggle }) {
    this.place = place;
    this.tiles = [];
    this.on = { onCell, onLeave, onOnly, onToggle };
  }

  // heads: [{index, name, label}] with index "mean" for the mean. Built again only when their number changes.
  // Without buttons the maps are a picture: names are read, and a click on a map is all that chooses.
  build(heads, hasButtons) {
    if (this.tiles.length !== heads.length) {
      this.tiles = heads.map((head) => this.tile(head.index, hasButtons));
      this.place.setAttribute("role", hasButtons ? "group" : "img");
      this.place.replaceChildren(...this.tiles.map((tile) => tile.box));
    }
    heads.forEach((head, i) => {
      const { button, text } = this.tiles[i];
      text.textContent = head.name;
      if (hasButtons) button.setAttribute("aria-label", head.label);
    });
  }

  tile(index, hasButtons) {
    const box = element("div", "head");
    const button = element(hasButtons ? "button" : "span", "name");
    if (hasButtons) button.type = "button";
    const text = element("span");
    button.append(element("span", "swatch"), text);
    const map = element("div", "map");
    const [row, column] = [element("div", "mark row"), element("div", "mark column")];
    const canvas = element("canvas");
    map.append(canvas, row, column);
    const top = element("span", "top");
    box.append(button, map, top);
    if (hasButtons) button.onclick = () => this.on.onToggle(index);
    map.onclick = () => this.on.onOnly(index);
    map.onpointermove = map.onpointerdown = (event) => {
      const area = map.getBoundingClientRect();
      const cell = (at, size, n) => Math.min(n - 1, Math.max(0, Math.floor((at / size) * n)));
      const row = cell(event.clientY - area.top, area.height, this.rows);
      this.on.onCell(index, row, cell(event.clientX - area.left, area.width, this.columns));
    };
    map.onpointerleave = () => this.on.onLeave();
    return { index, box, button, text, map, canvas, row, column, top };
  }

  // How many queries and keys the maps have.
  size(rows, columns) {
    Object.assign(this, { rows, columns });
    this.place.style.setProperty("--shape", shapeOf(rows, columns));
  }

  // images: one canvas a tile, all of the same size.
  draw(images) {
    this.tiles.forEach((tile, i) => {
      tile.canvas.width = images[i].width;
      tile.canvas.height = images[i].height;
      tile.canvas.getContext("2d").drawImage(images[i], 0, 0);
    });
    this.sharpen();
  }

  sharpen() {
    for (const { canvas, map } of this.tiles) canvas.classList.toggle("pixels", canvas.width <= map.clientWidth);
  }

  // As many columns as fit, evened out so that the last line isn't a lonely one.
  layout(width, least) {
    this.place.classList.toggle("numbers", !least);
    const size = least || 40;
    const most = Math.max(1, Math.floor((width + 6) / (size + 6)));
    const lines = Math.ceil(this.tiles.length / most);
    const columns = Math.ceil(this.tiles.length / lines);
    this.place.style.gridTemplateColumns = `repeat(${columns}, minmax(0, ${size * WIDEST}px))`;
    this.sharpen();
  }

  colour(colours, chosen) {
    for (const { index, box, button } of this.tiles) {
      box.style.setProperty("--head", colours(index));
      const isOn = chosen.includes(index);
      box.classList.toggle("on", isOn);
      if (button.type) button.setAttribute("aria-pressed", String(isOn));
    }
  }

  // The head pointed at elsewhere on the page, or null.
  point(head) {
    for (const { index, box } of this.tiles) box.classList.toggle("pointed", index === head);
  }

  mark(row, column) {
    const place = (mark, at, n, side, size) => {
      mark.style.display = at === null ? "none" : "block";
      if (at === null) return;
      mark.style[side] = `${(100 * at) / n}%`;
      mark.style[size] = `max(2px, ${100 / n}%)`;
    };
    for (const tile of this.tiles) {
      place(tile.row, row, this.rows, "top", "height");
      place(tile.column, column, this.columns, "left", "width");
    }
  }

  say(captions) {
    this.tiles.forEach((tile, i) => {
      tile.top.textContent = captions?.[i] ?? "";
    });
  }
}
