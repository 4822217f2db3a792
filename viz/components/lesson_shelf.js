// The lessons that are there, each with how far this browser's person is. A click opens one (state "open").

const shelves = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const shelf = shelves.get(parentElement) ?? new LessonShelf(parentElement);
  shelves.set(parentElement, shelf);
  shelf.send = setStateValue;
  shelf.show(data);
  return () => {
    undrawn.delete(shelf.root);
    shelf.root.remove();
    shelves.delete(parentElement);
  };
}

class LessonShelf {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    const part = (name) => this.root.querySelector(`.${name}`);
    [this.cards, this.about, this.elsewhere, this.forget, this.link] = ["cards", "about", "elsewhere", "forget", "link"].map(part);
    this.elsewhere.onclick = () => this.showLink();
    this.forget.onclick = () => {
      progress.write(new Map());
      this.link.hidden = true;
      this.draw();
      this.cards.querySelector("button")?.focus();
    };
  }

  show(data) {
    this.data = data;
    progress.add(progress.parse(data.given));
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.text.title);
    this.draw();
    undrawn.delete(this.root);
  }

  draw() {
    const { lessons, text } = this.data;
    const all = progress.read();
    const scroll = this.cards.children.length;
    const cards = lessons.map((lesson, at) => this.card(lesson, at, all.get(lesson.id)));
    this.cards.replaceChildren(...cards);
    const hasSome = [...all.values()].some(({ done, answered }) => done || answered);
    this.about.textContent = text.kept;
    this.elsewhere.textContent = text.elsewhere;
    this.forget.textContent = text.forget;
    this.elsewhere.hidden = this.forget.hidden = !hasSome;
    return scroll;
  }

  card({ id, title, minutes, n_steps, n_questions }, at, kept) {
    const { text } = this.data;
    const done = kept ? progress.count(kept.done, n_steps) : 0;
    const answered = kept ? progress.count(kept.answered, n_questions) : 0;
    const right = kept ? progress.count(kept.right, n_questions) : 0;
    const item = element("li");
    const button = element("button");
    button.type = "button";
    button.onclick = () => this.send("open", { lesson: id, at: Date.now() });
    const first = done < n_steps ? [...Array(n_steps).keys()].find((step) => !kept || !((kept.done >> BigInt(step)) & 1n)) : 0;
    button.onclick = () => this.send("open", { lesson: id, step: done ? first + 1 : 1, at: Date.now() });
    const heading = element("span", "title");
    heading.append(element("span", "number", `${at + 1}`), element("b", "", title));
    const parts = [fill(text.minutes, { n: minutes }), fill(text.steps, { done, n: n_steps })];
    if (answered) parts.push(fill(text.test, { right, n: n_questions }));
    const bar = element("span", "bar");
    bar.append(element("i"));
    bar.firstChild.style.width = `${(100 * done) / n_steps}%`;
    button.append(heading, element("span", "far", (done === n_steps ? "✓ " : "") + parts.join(" · ")), bar);
    item.append(button);
    return item;
  }

  showLink() {
    const address = new URL(location.pathname, location.origin);
    address.searchParams.set("progress", progress.text(progress.read()));
    this.link.value = address.href;
    this.link.hidden = false;
    this.link.setAttribute("aria-label", this.data.text.link);
    this.link.focus();
    this.link.select();
    navigator.clipboard?.writeText(address.href).catch(() => {}); // else it is selected, to be copied by hand
  }
}
