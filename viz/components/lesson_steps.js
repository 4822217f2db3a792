// Where one is in a lesson: its steps, the way back to all lessons, the projector; and the keys for a lecture. Keeps in
// the browser what was done. Python hears where to go (state "go": a step from 1, "test", "all") and of the projector.

const stepBars = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const bar = stepBars.get(parentElement) ?? new LessonSteps(parentElement);
  stepBars.set(parentElement, bar);
  bar.send = setStateValue;
  bar.show(data);
  return () => {
    bar.close();
    stepBars.delete(parentElement);
  };
}

class LessonSteps {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    [this.all, this.title, this.dots, this.projector] = [".all", ".title", ".dots", ".projector"].map((name) => this.root.querySelector(name));
    this.all.onclick = () => this.go("all");
    this.projector.onclick = () => this.project(!this.data.projector);
    this.press = (event) => this.key(event);
    document.addEventListener("keydown", this.press);
  }

  close() {
    document.removeEventListener("keydown", this.press);
    undrawn.delete(this.root);
    this.root.remove();
  }

  show(data) {
    this.data = data;
    const { lesson, n_steps, place, is_done, results, text } = data;
    const bits = (places) => places.reduce((sum, at) => sum | (1n << BigInt(at)), 0n);
    const answered = Object.keys(results).map(Number);
    const added = { done: is_done ? bits([place]) : 0n, answered: bits(answered), right: bits(answered.filter((at) => results[at])) };
    const kept = progress.add(new Map([[lesson, added]])).get(lesson);
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", text.steps);
    this.root.classList.toggle("wall", data.projector);
    this.all.textContent = text.all;
    this.title.textContent = data.title;
    this.projector.textContent = text.projector;
    this.projector.title = text.projector_key;
    this.projector.setAttribute("aria-pressed", String(data.projector));
    const names = Array.from({ length: n_steps }, (_, at) => [at, String(at + 1), fill(text.step, { n: at + 1, total: n_steps })]);
    if (data.has_test) names.push([n_steps, text.test, text.test]);
    this.dots.replaceChildren(...names.map(([at, short, long]) => this.dot(at, short, long, at < n_steps && (kept.done >> BigInt(at)) & 1n)));
    undrawn.delete(this.root);
  }

  dot(at, short, long, isDone) {
    const item = element("li");
    const button = element("button", "", (isDone ? "✓" : "") + short);
    button.type = "button";
    button.title = isDone ? `${long} · ${this.data.text.done}` : long;
    button.setAttribute("aria-label", button.title);
    if (at === this.data.place) button.setAttribute("aria-current", "step");
    button.onclick = () => this.go(at < this.data.n_steps ? String(at + 1) : "test");
    item.append(button);
    return item;
  }

  go(to) {
    this.send("go", { to, at: Date.now() });
  }

  project(on) {
    this.send("projector", { on, at: Date.now() });
  }

  // P: the projector. On it Escape leaves, arrows and Space step on; Space shows the answer first where a guess waits.
  key(event) {
    const from = event.composedPath()[0];
    const isTyping = from.matches?.("input:not([type=range]), textarea, select, [contenteditable]");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping || !this.data) return;
    const { place, n_steps, has_test, projector } = this.data;
    if (event.key === "p" || event.key === "P") return this.project(!projector);
    if (!projector) return;
    if (event.key === "Escape") return this.project(false);
    const isControl = from.matches?.("button, a, input, [role=slider]") && from.getRootNode().host;
    if (event.key === " " && isControl) return; // presses what has the focus
    if (from.matches?.("input[type=range]") && event.key.startsWith("Arrow")) return;
    const by = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (event.key === " " && !this.data.is_done && place < n_steps) return void dispatchEvent(new Event("headwork-reveal"));
    const to = place + by;
    if (to < 0 || to > n_steps - (has_test ? 0 : 1)) return;
    this.go(to < n_steps ? String(to + 1) : "test");
  }
}
