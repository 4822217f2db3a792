// Which token or cell is pointed at, by mouse, finger or keyboard. What is pinned is the strip's own matter.

class Pointing {
  constructor(line, { onChange, onPoint, onPin, onFocus }) {
    this.on = { onChange, onPoint, onPin, onFocus };
    this.buttons = [];
    this.forget();
    const index = (event) => {
      const button = event.target.closest?.(".token");
      return button ? Number(button.dataset.index) : null;
    };
    line.onpointerover = (event) => this.point({ hovered: index(event) });
    line.onpointerleave = () => this.point({ hovered: null });
    line.onclick = (event) => {
      const at = index(event);
      if (at === null) return;
      this.buttons[at].focus({ preventScroll: true }); // Safari leaves a clicked button without focus: Escape needs it
      onPin(at);
    };
    line.onfocusin = (event) => {
      this.stop(index(event));
      if (event.target.matches(":focus-visible")) this.focus(index(event));
    };
    line.onfocusout = () => this.point({ focused: null });
    line.onkeydown = (event) => this.key(event);
  }

  forget() {
    this.hovered = this.focused = this.cell = null;
  }

  // Paints with the next frame, and only if something has changed.
  point(change) {
    const same = ([name, value]) => JSON.stringify(this[name]) === JSON.stringify(value);
    if (Object.entries(change).every(same)) return;
    Object.assign(this, change);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(this.on.onPoint);
    this.on.onChange(change);
  }

  focus(at) {
    this.point({ focused: at });
    this.on.onFocus();
  }

  // boxes: where each token lies, and its text; home: the token that Tab reaches while none has the focus.
  lie(boxes, home) {
    this.boxes = boxes;
    this.stop(this.focused ?? home);
  }

  stop(at) {
    this.buttons.forEach((button, i) => {
      button.tabIndex = i === at ? 0 : -1;
    });
  }

  key(event) {
    const at = this.buttons.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.neighbour(at, event.key);
    if (next === null) return;
    event.preventDefault();
    this.buttons[next].focus();
    this.focus(next);
  }

  neighbour(at, key) {
    const { text } = this.boxes[at];
    const first = this.boxes.findIndex((box) => box.text === text);
    const last = first + text.labels.length - 1;
    const forward = text.dir === "rtl" ? -1 : 1;
    const within = (i) => Math.max(first, Math.min(last, i));
    if (key === "ArrowRight") return within(at + forward);
    if (key === "ArrowLeft") return within(at - forward);
    if (key === "Home") return first;
    if (key === "End") return last;
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const line = this.boxes[at].line + (key === "ArrowDown" ? 1 : -1);
    const there = this.boxes.map((box, i) => ({ i, far: Math.abs(box.x - this.boxes[at].x), line: box.line }));
    const nearest = there.filter((box) => box.line === line).sort((a, b) => a.far - b.far)[0];
    return nearest ? nearest.i : null;
  }
}
