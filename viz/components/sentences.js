// What the strip says in words. The templates come from Python, translated.

const LEAST = 0.005; // with two decimals, less says nothing
const LISTED = 4; // tokens named in the sentence beside the switch
const LISTED_BESIDE = 2; // of each of several tokens

// Right-to-left tokens would turn the numbers beside them round.
const isolate = (token) => `\u2068${token}\u2069`;

function ranked(row, most) {
  const found = row.map((weight, i) => ({ weight, i })).filter(({ weight }) => weight >= LEAST);
  return found.sort((a, b) => b.weight - a.weight).slice(0, most);
}

// For each small map: the weight and the token its head gives most to; while a cell is pointed at, its weight.
function captions(strip, { cell, row }) {
  return strip.indices.map((head) => {
    if (cell) {
      const weight = strip.weight(head, cell.query, cell.key);
      return Number.isNaN(weight) ? "" : shown(weight);
    }
    const weights = row(head);
    const best = weights.reduce((most, weight, i) => (weight > (weights[most] ?? LEAST) ? i : most), -1);
    return best < 0 ? "" : `${shown(weights[best])} ${isolate(strip.labels[best])}`;
  });
}

function sentence(strip, { cell, heads, looks, source, beside, weights }) {
  const { text, layer } = strip.data;
  if (source === null) return text.hint;
  const label = (i) => isolate(strip.labels[i]);
  const names = heads.map((head) => `${layer + 1}-${head + 1}`);
  const template = heads[0] === MEAN ? text.mean_of : heads.length === 1 ? text.head : text.heads;
  const said = { heads: fill(template, { layer: layer + 1, name: names[0], names: names.join(", ") }), token: label(source) };
  if (cell) {
    const weight = strip.weight(cell.head, cell.query, cell.key);
    const pair = { query: label(cell.query), key: label(strip.keysFrom + cell.key) };
    if (Number.isNaN(weight)) return fill(text.says_masked, { ...said, ...pair });
    return fill(text.says_cell, { ...said, ...pair, weight: shown(weight) });
  }
  if (!weights.flat().some((weight) => weight >= 0)) return fill(looks ? text.says_nothing : text.says_nobody, said);
  const isOne = heads.length === 1;
  const most = isOne ? (beside.length ? LISTED_BESIDE : LISTED) : 1;
  const list = (rows) => {
    const parts = rows.flatMap((row, k) =>
      ranked(row, most).map(({ weight, i }) => `${isOne ? "" : `${names[k]} `}${label(i)} ${shown(weight)}`),
    );
    return parts.join(" · ") || text.says_little;
  };
  const first = fill(looks ? text.says_looks_at : text.says_looked_at_by, { ...said, list: list(weights) });
  const others = beside.map((i) => fill(text.says_beside, { token: label(i), list: list(strip.rows(heads, i)) }));
  return [first, ...others].join(" | ");
}
