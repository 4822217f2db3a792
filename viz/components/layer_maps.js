// The maps of one layer: the weight of a cell in a head, or in the mean of all heads.

const MEAN = "mean";

class LayerMaps {
  constructor({ codes, shape, top, maximum }) {
    Object.assign(this, { all: codes, heads: shape[0], n: shape[1], top, maximum });
    const size = this.n * this.n;
    this.mean = new Uint16Array(size);
    for (let cell = 0; cell < size; cell += 1) {
      let sum = 0;
      let isMasked = false;
      for (let head = 0; head < this.heads; head += 1) {
        const code = codes[head * size + cell];
        if (code > top) isMasked = true;
        sum += code;
      }
      this.mean[cell] = isMasked ? top + 1 : Math.round(sum / this.heads);
    }
  }

  // Where the codes of a head begin: [codes, offset].
  codes(head) {
    return head === MEAN ? [this.mean, 0] : [this.all, head * this.n * this.n];
  }

  // NaN where the query may not look at the key.
  weight(head, query, key) {
    const [codes, offset] = this.codes(head);
    const code = codes[offset + query * this.n + key];
    return code > this.top ? NaN : (code / this.top) * this.maximum;
  }
}
