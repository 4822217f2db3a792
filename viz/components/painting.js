// What the strip paints in its sentence: the tokens with their weights, and the edges between them.

const LEAST_EDGE = 0.02; // smaller weights are told by their numbers alone
const LEAST_BESIDE = 0.1; // of a token shown beside another: its heaviest edges to words, dashed as its own outline is

function paintTokens(strip, { cell, heads, looks, source, beside, weights }) {
  const other = cell ? (looks ? strip.keysFrom + cell.key : cell.query) : null;
  strip.buttons.forEach((button, i) => {
    const here = weights.map((row) => row[i]).filter((weight) => weight !== undefined);
    const isMasked = here.length > 0 && here.every(Number.isNaN);
    const isOther = i === other || beside.includes(i);
    const flags = { masked: isMasked, source: i === source, other: isOther, pinned: i === strip.pinned };
    const best = isMasked || !here.length ? -1 : here.indexOf(Math.max(...here));
    const number = best >= 0 && here[best] >= LEAST ? shown(here[best]) : "";
    const shades = best < 0 ? [] : here.map((weight) => strip.shade(weight));
    // Of 512 tokens most look as before: what is already there is left alone.
    const looksLike = [heads, number, heads[best], Object.values(flags), shades].join();
    if (strip.painted[i] === looksLike) return;
    strip.painted[i] = looksLike;
    for (const [name, isOn] of Object.entries(flags)) button.classList.toggle(name, isOn);
    button.setAttribute("aria-pressed", String(flags.pinned));
    paintToken(strip, button, heads, shades, number, heads[best]);
  });
}

// One head tints the token itself; several stand as a bar of parts below it, and the number names its head.
function paintToken(strip, button, heads, shades, number, whose) {
  const [label, parts, place] = button.children;
  const isSeveral = heads.length > 1;
  const tint = isSeveral || !shades.length ? null : mix(strip.theme.ground, strip.colour(heads[0]), 0.9 * shades[0]);
  label.style.background = tint ? css(tint) : "";
  label.style.color = tint ? css(inkOn(tint, strip.theme.ink)) : "";
  place.textContent = number;
  const bars = isSeveral ? shades : [];
  parts.replaceChildren(
    ...bars.map((shade, k) => {
      const bar = element("i");
      bar.style.background = css(mix(strip.theme.ground, strip.colour(heads[k]), shade));
      return bar;
    }),
  );
  if (!isSeveral || !number) return;
  const name = element("b", "", whose + 1);
  name.style.borderColor = css(strip.colour(whose));
  place.append(name);
}

function paintEdges(strip, { cell, heads, pair, beside, weights }) {
  const isCell = (query, key) => query === cell.query && key === cell.key;
  const shown = (weight, query, key) => (cell ? weight >= 0 && isCell(query, key) : weight >= LEAST_EDGE); // NaN is not
  const edges = edgesOf(strip, heads, weights, pair, shown);
  const heavy = (weight, query, key) => weight >= LEAST_BESIDE && !strip.data.tokens.special[key];
  for (const query of beside) {
    const found = edgesOf(strip, heads, strip.rows(heads, query), (key) => [query, key], heavy);
    edges.push(...found.map((edge) => ({ ...edge, dashed: true })));
  }
  drawEdges(strip.svg, strip.boxes, strip.boxes.slice(strip.keysFrom), edges, strip.isOneLine);
}

// pair: place of the other token -> [query, key]; isShown: (weight, query, key) -> whether the edge is drawn.
function edgesOf(strip, heads, weights, pair, isShown) {
  const spread = heads.length > 1 ? Math.min(4, 26 / heads.length) : 0;
  return heads.flatMap((head, k) =>
    (weights[k] ?? [])
      .map((weight, i) => ({ weight, query: pair(i)[0], key: pair(i)[1] }))
      .filter(({ weight, query, key }) => isShown(weight, query, key))
      .map(({ weight, query, key }) => ({
        query,
        key,
        head: head === MEAN ? MEAN : head + 1,
        weight: Math.min(1, weight / strip.maps.maximum),
        colour: css(strip.colour(head)),
        shift: spread * (k - (heads.length - 1) / 2),
        dashed: head !== MEAN && head >= strip.palette.length,
      })),
  );
}
