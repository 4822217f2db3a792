// What the colours of the overview stand for: weights, or a number of each head.

class MetricScale {
  constructor({ low, high, colours }) {
    Object.assign(this, { low, high, table: bytesOf(colours) });
  }

  colour(value) {
    const share = this.high > this.low ? (value - this.low) / (this.high - this.low) : 0;
    const at = 3 * Math.round(Math.max(0, Math.min(1, share)) * 255);
    return [...this.table.slice(at, at + 3)];
  }
}

function showLegend(legend, { data, maps, table, scale }) {
  const { metric, text, has_scale } = data;
  const part = (name) => legend.querySelector(`.${name}`);
  legend.classList.toggle("no-scale", !metric && !has_scale);
  part("what").textContent = metric ? metric.label : text.weight;
  part("low").textContent = metric ? metric.low.toFixed(metric.decimals) : "0";
  part("high").textContent = metric ? metric.high.toFixed(metric.decimals) : String(+maps.maximum.toPrecision(3));
  part("coarse").textContent = metric ? "" : text.coarse;
  const hasHoles = metric ? metric.values.flat().includes(null) : maps.codes.includes(maps.top + 1);
  part("hole").classList.toggle("none", !hasHoles);
  part("hole").lastElementChild.textContent = metric ? text.no_value : text.masked;
  const image = new ImageData(256, 1);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < 256; i += 1) {
    if (!metric) pixels[i] = table[Math.min(254, i)];
    else image.data.set([...scale.colour(metric.low + ((metric.high - metric.low) * i) / 255), 255], 4 * i);
  }
  part("scale").getContext("2d").putImageData(image, 0, 0);
}
