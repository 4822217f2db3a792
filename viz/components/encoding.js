// Shared by the components: maps as they travel (viz/encoding.py), their colours, and choices that Python and the
// browser both make.

const TEXT_CONTRAST = 4.5; // WCAG 2.2 AA
const SHAPE_CONTRAST = 3;

const MEAN = "mean"; // of the heads of a layer, among their indices

const stores = new Map(); // id of maps -> {maps: Promise, users}
const waiting = new Map(); // id -> [resolve]
const held = new WeakMap(); // parentElement -> id it holds

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

async function unpack(data) {
  const stream = new Blob([bytesOf(data.bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let codes = bytes;
  if (data.bits === 16) {
    const n = bytes.length / 2;
    codes = new Uint16Array(n);
    for (let i = 0; i < n; i += 1) codes[i] = (bytes[i] << 8) | bytes[n + i];
  }
  return { ...data, bytes: null, codes };
}

// A mount with part "maps" draws nothing: it keeps maps for the views that name them.
function keepMaps(parent, data) {
  const before = held.get(parent);
  if (before !== data.id) {
    const store = stores.get(data.id) ?? { maps: unpack(data), users: 0 };
    store.users += 1;
    stores.set(data.id, store);
    held.set(parent, data.id);
    for (const resolve of waiting.get(data.id) ?? []) resolve(store.maps);
    waiting.delete(data.id);
    release(before);
  }
  return () => {
    release(held.get(parent));
    held.delete(parent);
  };
}

function release(id) {
  const store = stores.get(id);
  if (store && (store.users -= 1) <= 0) stores.delete(id);
}

function mapsOf(id) {
  if (stores.has(id)) return stores.get(id).maps;
  return new Promise((resolve) => waiting.set(id, [...(waiting.get(id) ?? []), resolve]));
}

// Components that wait for their maps (ui/frame/shown.js waits for them).
const undrawn = (globalThis.headworkUndrawn ??= new Set());

// One pass, so that a token that looks like a placeholder stays as it is.
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// What is pointed at, told from component to component: "token" {layer, head, query, key}, "head" {layer, head}; what
// isn't pointed at is null.
const pointed = (globalThis.headworkPointed ??= new EventTarget());

function tell(what, detail) {
  pointed[what] = detail; // for who comes later
  pointed.dispatchEvent(new CustomEvent(what, { detail }));
}

// Returns a function that stops listening.
function listen(what, hear) {
  const handler = ({ detail }) => hear(detail);
  pointed.addEventListener(what, handler);
  return () => pointed.removeEventListener(what, handler);
}

const shown = (weight) => weight.toFixed(2);
const isChinese = (text) => /[\u2e80-\ufaff]/.test(text); // stands upright where a line runs downwards

// -- colours -----------------------------------------------------------------------------------------------------

const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

function rgbOf(css, fallback) {
  probe.fillStyle = fallback;
  probe.fillStyle = css.trim() || fallback;
  probe.clearRect(0, 0, 1, 1);
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

function theme(root) {
  const style = getComputedStyle(root);
  return {
    ground: rgbOf(style.getPropertyValue("--st-background-color"), "#fff"),
    ink: rgbOf(style.getPropertyValue("--st-text-color"), "#000"),
    font: style.getPropertyValue("--st-font") || "sans-serif",
  };
}

const css = (rgb) => `rgb(${rgb.map(Math.round).join(" ")})`;
const mix = (from, to, share) => from.map((value, i) => value + (to[i] - value) * share);

function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => {
    const s = value / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Black or white always reaches 4.5 : 1 on any colour; the theme's ink is kept where it does.
function inkOn(ground, ink) {
  if (contrast(ground, ink) >= TEXT_CONTRAST) return ink;
  return contrast(ground, [0, 0, 0]) > contrast(ground, [255, 255, 255]) ? [0, 0, 0] : [255, 255, 255];
}

// The colour, moved towards the ink until it stands out from the ground.
function visibleOn(colour, ground, ink, least = SHAPE_CONTRAST) {
  for (let share = 0; share < 1; share += 0.05) {
    const moved = mix(colour, ink, share);
    if (contrast(moved, ground) >= least) return moved;
  }
  return ink;
}

// Code of 8 bits -> colour. Masked cells stay transparent: the hatching behind the canvas shows.
function colourTable(data) {
  const rgb = bytesOf(data.colours);
  const curve = bytesOf(data.curve);
  const table = new Uint32Array(256);
  for (let code = 0; code < 255; code += 1) {
    const at = 3 * curve[code];
    table[code] = (255 << 24) | (rgb[at + 2] << 16) | (rgb[at + 1] << 8) | rgb[at];
  }
  return table;
}

// Width over height of a picture of a map: that of its cells, unless one side were more than twice the other
// (viz/maps.py, MOST_UNEVEN).
const shapeOf = (rows, columns) => Math.max(0.5, Math.min(2, columns / rows));

// A map (rows × columns of codes, from offset on) as an image of at most `most` cells a side, block by block the
// largest weight.
function mapImage({ codes, offset, rows, columns, top }, table, most = Infinity) {
  const [down, across] = [rows, columns].map((n) => Math.max(1, Math.ceil(n / most)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(columns / across);
  canvas.height = Math.ceil(rows / down);
  const largest = new Int32Array(canvas.width * canvas.height).fill(-1);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const code = codes[offset + row * columns + column];
      const cell = Math.floor(row / down) * canvas.width + Math.floor(column / across);
      if (code <= top && code > largest[cell]) largest[cell] = code;
    }
  }
  const image = new ImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) {
    pixels[i] = largest[i] < 0 ? 0 : table[Math.round((largest[i] / top) * 254)];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// -- choices -----------------------------------------------------------------------------------------------------

const ECHO = 5000; // milliseconds in which Python may still be answering to a choice made here

// A choice that the person makes here and Python may make too. Python's word counts when it changes, except while it
// is only the echo of a choice made here that a newer one has overtaken.
class Choice {
  constructor() {
    this.seen = undefined;
    this.sent = [];
    this.value = undefined;
  }

  fromPython(value) {
    const word = JSON.stringify(value);
    if (word === this.seen) return;
    this.seen = word;
    const recent = this.sent.filter(({ at }) => Date.now() - at < ECHO);
    const echo = recent.findIndex((choice) => choice.word === word);
    this.sent = echo < 0 ? [] : recent.slice(echo + 1);
    if (this.sent.length === 0) this.value = value;
  }

  fromPerson(value) {
    this.value = value;
    this.sent.push({ word: JSON.stringify(value), at: Date.now() });
  }
}
