// A guess, made before the answer is known: a token, two, a choice, an order, a number or cells. It is made here alone;
// Python gets it when the button is pressed (state "guess"), and sends the answer back, which is marked beside it.

const predictions = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const prediction = predictions.get(parentElement) ?? new Prediction(parentElement);
  predictions.set(parentElement, prediction);
  prediction.send = setStateValue;
  prediction.show(data);
  return () => {
    prediction.close();
    predictions.delete(parentElement);
  };
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

class Prediction {
  constructor(parent) {
    this.root = parent.querySelector("template").content.firstElementChild.cloneNode(true);
    parent.append(this.root);
    undrawn.add(this.root);
    [this.ask, this.legend, this.go, this.hint, this.live] = [".ask", ".legend", ".go", ".hint", ".live"].map((name) =>
      this.root.querySelector(name),
    );
    this.go.onclick = () => this.reveal();
    this.hear = () => this.reveal();
    addEventListener("headwork-reveal", this.hear); // the projector's key
  }

  close() {
    removeEventListener("headwork-reveal", this.hear);
    undrawn.delete(this.root);
    this.root.remove();
  }

  show(data) {
    const isOther = this.data?.id !== data.id;
    const isAnswered = data.answer !== null && (isOther || this.answer === null);
    const form = JSON.stringify([data.id, data.text, data.labels, data.columns, data.choices, data.locked]);
    this.data = data;
    if (isOther) this.guess = null;
    if (data.guess !== null) this.guess = data.guess;
    this.answer = data.answer;
    this.root.style.setProperty("--text-scale", data.text_scale);
    this.root.setAttribute("aria-label", data.text.question);
    this.root.classList.toggle("locked", data.locked);
    const { ground, ink } = theme(this.root);
    this.root.style.setProperty("--accent-ink", css(visibleOn(rgbOf(data.accent, "#000"), ground, ink, TEXT_CONTRAST)));
    if (form !== this.form) {
      this.form = form;
      this.kind = KINDS[data.predict](this);
      this.ask.replaceChildren(this.kind.node);
    }
    this.paint();
    if (isAnswered) this.live.textContent = this.spoken();
    else if (isOther && this.wasShown) this.live.textContent = data.text.question;
    this.wasShown = true;
    undrawn.delete(this.root);
  }

  // A guess that is complete, or null while there is none.
  set(guess) {
    this.guess = guess;
    this.paint();
    if (guess !== null) this.live.textContent = fill(this.data.text.guessed, { guess: this.kind.words(guess) });
  }

  paint() {
    const { data, guess } = this;
    this.kind.paint();
    const isSent = data.sent !== null && same(data.sent, guess);
    this.go.hidden = data.locked || !data.text.button;
    this.go.textContent = isSent ? data.text.is_sent : data.text.button;
    this.go.setAttribute("aria-disabled", String(guess === null || isSent)); // focusable, so that it can say why
    this.hint.textContent = guess === null && !data.locked ? data.text.hint : "";
    this.legend.hidden = this.answer === null;
    if (this.answer !== null) this.legend.textContent = this.said();
  }

  reveal() {
    const { data, guess } = this;
    if (data.locked || guess === null || (data.sent !== null && same(data.sent, guess))) return;
    this.send("guess", { of: data.id, value: guess });
  }

  // What the signs mean, in a line; `spoken` says in words what the control shows.
  said() {
    const { text, is_right, predict } = this.data;
    if (this.guess === null) return text.sign_answer;
    if (is_right) return text.sign_hit;
    return predict === "cells" ? text.sign_cells : predict === "order" ? text.sign_order : text.sign_miss;
  }

  spoken() {
    const { text, is_right } = this.data;
    const [guess, answer] = [this.guess, this.answer].map((value) => (value === null ? "" : this.kind.words(value)));
    return fill(guess ? (is_right ? text.hit : text.miss) : text.only_answer, { guess, answer });
  }

  // "right" where a place belongs to the answer, "missed" where it was guessed and doesn't, "hit" where both.
  mark(isAnswer, isGuess) {
    if (this.answer === null) return isGuess ? "guess" : "";
    return isAnswer ? (isGuess ? "hit" : "right") : isGuess ? "miss" : "";
  }
}

const SIGNS = { right: "●", hit: "●", miss: "✕", guess: "", "": "" };

// A button's look and words for its mark; the sign stands in its first child.
function markButton(button, mark, text) {
  button.dataset.mark = mark;
  button.querySelector(".sign").textContent = SIGNS[mark];
  button.setAttribute("aria-pressed", String(mark === "guess" || mark === "hit" || mark === "miss"));
  button.setAttribute("aria-description", mark && mark !== "guess" ? text[`mark_${mark}`] : "");
}

function signed(text, className = "") {
  const button = element("button", className);
  button.type = "button";
  const sign = element("span", "sign");
  sign.setAttribute("aria-hidden", "true");
  button.append(sign, element("span", "words", text));
  return button;
}

// Arrow keys move between buttons, of which one can be reached by Tab.
function roving(buttons, event, columns = 1) {
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
  const from = buttons.indexOf(event.target);
  if (from < 0 || (by === undefined && event.key !== "Home" && event.key !== "End")) return;
  const turned = getComputedStyle(event.target).direction === "rtl" && columns === 1 ? -1 : 1;
  const to = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : from + by * turned;
  event.preventDefault();
  if (!buttons[to]) return;
  buttons[from].tabIndex = -1;
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}
