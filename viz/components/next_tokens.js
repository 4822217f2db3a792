// The most probable next tokens after the token that is pointed at or pinned in the page's strip, else after the last.
// It follows the strip in the browser and sends nothing.

const panels = new WeakMap();

export default function ({ data, parentElement }) {
  const panel = panels.get(parentElement) ?? new NextTokens(parentElement);
  panels.set(parentElement, panel);
  panel.show(data);
  return () => {
    panel.close();
    panels.delete(parentElement);
  };
}

// Two decimals as for weights, and one more where they would say next to nothing.
const probability = (p) => (p >= 0.1 ? p.toFixed(2) : p >= 0.0005 ? p.toFixed(3) : "<0.001");
const apart = (token) => `\u2068${token}\u2069`; // right-to-left tokens would turn what stands beside them round

class NextTokens {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    [this.after, this.own] = this.root.querySelectorAll(".where > *");
    this.bars = this.root.querySelector(".bars");
    this.told = pointed.token ?? null;
    this.deafen = listen("token", (told) => {
      this.told = told;
      if (this.data) this.draw();
    });
  }

  close() {
    this.deafen();
    this.root.remove();
  }

  show(data) {
    this.data = data;
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.text.title);
    const { ground, ink } = theme(this.root);
    this.root.style.setProperty("--accent-ink", css(visibleOn(rgbOf(data.accent, "#000"), ground, ink)));
    this.drawn = null;
    this.draw();
  }

  draw() {
    const { rows, text } = this.data;
    const at = this.told?.query ?? this.told?.key ?? rows.length - 1;
    const row = rows[at] ?? rows.at(-1); // the strip may tell of the next text already
    if (!row || this.drawn === row) return;
    this.drawn = row;
    this.after.textContent = this.after.title = fill(text.after, { token: apart(row.label) });
    const template = row.surprise === null ? text.first : text.surprise;
    this.own.textContent = this.own.title = fill(template, { token: apart(row.label), nats: row.surprise?.toFixed(2) });
    const rank = row.came?.[2];
    const cells = row.next.map(([label, p], i) => this.cell(label, p, { came: rank === i + 1 }));
    if (row.came && !(rank && rank <= cells.length)) cells.push(this.cell(row.came[0], row.came[1], { came: true, rank, below: true }));
    this.bars.replaceChildren(...cells);
  }

  cell(label, p, { came, rank, below }) {
    const { text } = this.data;
    const cell = element("li", [came && "came", below && "below"].filter(Boolean).join(" "));
    const line = element("span", "line");
    line.append(element("span", "token", label));
    line.append(element("span", "number", probability(p)));
    const bar = element("span", "bar");
    bar.append(element("i"));
    bar.firstChild.style.width = `${100 * p}%`;
    cell.append(line, bar);
    const place = rank ? fill(text.rank, { rank }) : "";
    cell.title = [label, probability(p), place, came ? text.came : ""].filter(Boolean).join(" · ");
    return cell;
  }
}
