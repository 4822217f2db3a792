// A number: a slider, and a field for those who would rather type. No number is guessed before one is touched.

function numberKind(p) {
  const { range, text, locked } = p.data;
  const { least, most, step, unit } = range;
  const decimals = Math.max(...[least, step].map((value) => (String(value).split(".")[1] ?? "").length));
  // With the step's decimals; with more only where the number would be another one.
  const written = (value) => {
    let digits = decimals;
    while (digits < 6 && Math.abs(Number(value.toFixed(digits)) - value) > 0.02 * Math.abs(value)) digits += 1;
    return Number(value.toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits });
  };
  const withUnit = (value) => `${written(value)} ${unit}`.trim();
  const share = (value) => Math.max(0, Math.min(1, (value - least) / (most - least)));

  const node = element("div", "number");
  const slider = element("div", "slider");
  const marks = element("div", "marks");
  marks.setAttribute("aria-hidden", "true");
  const input = Object.assign(element("input"), { type: "range", min: least, max: most, step, disabled: locked });
  input.setAttribute("aria-label", text.question);
  const ends = element("div", "ends");
  ends.append(element("span", "", written(least)), element("span", "", withUnit(most)));
  slider.append(marks, input, ends);
  const typed = Object.assign(element("input", "typed"), { type: "number", min: least, max: most, step: "any", disabled: locked });
  typed.setAttribute("aria-label", text.type_number);
  const field = element("label", "field");
  field.append(typed, element("span", "unit", unit));
  node.append(slider, field);

  input.oninput = () => p.set(Number(input.value));
  input.onpointerdown = () => p.guess === null && queueMicrotask(() => p.set(Number(input.value)));
  typed.onchange = () => {
    const value = typed.value.trim() === "" ? NaN : Number(typed.value);
    p.set(Number.isFinite(value) ? Math.max(least, Math.min(most, value)) : null);
  };
  typed.onkeydown = (event) => {
    if (event.key !== "Enter") return;
    typed.onchange();
    p.reveal();
  };

  function markAt(value, mark, words) {
    const made = element("span", `at ${mark}`);
    made.style.left = `calc(var(--thumb) / 2 + ${share(value)} * (100% - var(--thumb)))`;
    made.append(element("b", "", SIGNS[mark] || "▼"), element("span", "", words));
    made.classList.toggle("late", share(value) > 0.6);
    return made;
  }

  return {
    node,
    words: withUnit,
    paint() {
      const { guess, answer } = p;
      node.classList.toggle("unset", guess === null);
      if (guess !== null) input.value = guess;
      else input.value = answer ?? (least + most) / 2;
      if (p.root.getRootNode().activeElement !== typed || locked) typed.value = guess === null ? "" : Number(guess.toFixed(6));
      input.setAttribute("aria-valuetext", guess === null ? text.hint : withUnit(guess));
      const drawn = [];
      if (answer !== null) drawn.push(markAt(answer, p.data.is_right && guess !== null ? "hit" : "right", withUnit(answer)));
      if (answer !== null && guess !== null && guess !== answer) drawn.push(markAt(guess, p.data.is_right ? "guess" : "miss", withUnit(guess)));
            marks.replaceChildren(...drawn);
    },
  };
}
