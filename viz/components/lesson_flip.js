// One word changed there and back: the arcs of one head from one word move, or visibly don't.

const flips = new WeakMap();

export default function ({ data, parentElement }) {
  const flip = flips.get(parentElement) ?? new Flip(parentElement);
  flips.set(parentElement, flip);
  flip.show(data);
  return () => {
    flip.close();
    flips.delete(parentElement);
  };
}

const EDGE = "http://www.w3.org/2000/svg";

class Flip {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    [this.turn, this.says, this.sheet, this.svg, this.line] = [".turn", ".says", ".sheet", ".edges", ".tokens"].map((part) => this.root.querySelector(part));
    this.at = 0;
    this.observer = new ResizeObserver(() => this.data && this.layout());
    this.observer.observe(this.root);
  }

  close() {
    this.observer.disconnect();
    undrawn.delete(this.root);
    this.root.remove();
  }

  show(data) {
    if (JSON.stringify(data.texts) !== JSON.stringify(this.data?.texts)) this.at = 0;
    this.data = data;
    this.root.style.setProperty("--text-scale", data.text_scale);
    const { ground, ink } = theme(this.root);
    this.root.style.setProperty("--accent-ink", css(visibleOn(rgbOf(data.accent, "#000"), ground, ink, TEXT_CONTRAST)));
    this.root.setAttribute("aria-label", data.text.title);
    this.build();
    this.layout();
    undrawn.delete(this.root);
  }

  build() {
    const { texts, changed, text, query, dir } = this.data;
    this.turn.setAttribute("aria-label", text.turn);
    this.turn.replaceChildren(
      ...texts.map((labels, which) => {
        const button = element("button", "", changed.map((at) => labels[at]).join(" … "));
        button.type = "button";
        button.onclick = () => {
          this.at = which;
          this.paint();
        };
        return button;
      }),
    );
    this.line.dir = dir;
    this.tokens = texts[0].map((label, at) => {
      const token = element("span", ["token", at === query && "query", changed.includes(at) && "changed"].filter(Boolean).join(" "));
      // Both words take their room, so that the sentence stands still.
      const words = element("span", "words");
      words.append(...texts.map((labels) => element("span", "", labels[at])));
      token.append(words, element("span", "weight"));
      return token;
    });
    this.line.replaceChildren(...this.tokens);
    this.paths = texts[0].map(() => document.createElementNS(EDGE, "path"));
    this.svg.replaceChildren(...this.paths);
  }

  layout() {
    const sheet = this.sheet.getBoundingClientRect();
    if (!sheet.width) return;
    const places = this.tokens.map((token) => {
      const box = token.getBoundingClientRect();
      return { x: box.left + box.width / 2 - sheet.left, top: box.top - sheet.top };
    });
    const from = places[this.data.query];
    this.svg.setAttribute("width", sheet.width);
    this.svg.setAttribute("height", sheet.height);
    places.forEach((to, at) => {
      const lift = Math.min(52, 12 + Math.abs(to.x - from.x) * 0.16);
      const [high, low] = [from.top - lift, to.top - lift];
      this.paths[at].setAttribute("d", `M${from.x} ${from.top} C${from.x} ${high} ${to.x} ${low} ${to.x} ${to.top}`);
    });
    this.paint();
  }

  paint() {
    const { texts, weights, query, text } = this.data;
    const now = weights[this.at];
    [...this.turn.children].forEach((button, which) => button.setAttribute("aria-pressed", String(which === this.at)));
    this.tokens.forEach((token, at) => {
      [...token.firstChild.children].forEach((word, which) => {
        const isShown = texts[0][at] === texts[1][at] ? which === 0 : which === this.at;
        word.style.visibility = isShown ? "" : "hidden";
        word.setAttribute("aria-hidden", String(!isShown));
      });
      token.querySelector(".weight").textContent = now[at] >= 0.005 ? shown(now[at]) : "";
      this.paths[at].style.strokeWidth = `${at === query ? 0 : 7 * now[at]}px`;
      this.paths[at].style.opacity = at === query || now[at] < 0.01 ? 0 : 0.35 + 0.65 * now[at];
    });
    const others = now.map((weight, at) => (at === query ? -1 : weight));
    const best = others.indexOf(Math.max(...others));
    this.tokens.forEach((token, at) => token.classList.toggle("best", at === best));
    const most = Math.max(...now.map((weight, at) => Math.abs(weight - weights[1 - this.at][at])));
    const says = fill(text.says, { query: texts[this.at][query], key: texts[this.at][best], weight: shown(now[best]) });
    this.says.textContent = `${says} · ${fill(text.moved, { most: shown(most) })}`;
  }
}
