// The maps of one layer: the weight of a cell in a head, or in the mean of all heads.

class LayerMaps {
  constructor({ codes, shape, top, maximum }) {
    const [heads, rows, columns] = shape; // query × key
    Object.assign(this, { all: codes, heads, rows, columns, top, maximum });
    const size = rows * columns;
    this.mean = new Uint16Array(size);
    for (let cell = 0; cell < size; cell += 1) {
      let sum = 0;
      let isMasked = false;
      for (let head = 0; head < heads; head += 1) {
        const code = codes[head * size + cell];
        if (code > top) isMasked = true;
        sum += code;
      }
      this.mean[cell] = isMasked ? top + 1 : Math.round(sum / heads);
    }
  }

  // The map of a head, as mapImage takes it.
  map(head) {
    const [codes, offset] = head === MEAN ? [this.mean, 0] : [this.all, head * this.rows * this.columns];
    return { codes, offset, rows: this.rows, columns: this.columns, top: this.top };
  }

  // NaN where the query may not look at the key.
  weight(head, query, key) {
    const { codes, offset } = this.map(head);
    const code = codes[offset + query * this.columns + key];
    return code > this.top ? NaN : (code / this.top) * this.maximum;
  }
}
