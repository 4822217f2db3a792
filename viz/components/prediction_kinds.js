// Kinds of a guess that are taps: one token or two, one of several texts, and their order.

function tokenKind(p, count) {
  const { labels, text, locked, dir } = p.data;
  const node = element("div", "tokens");
  node.dir = dir;
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", text.question);
  let first = null; // of two, while the second is missing
  const places = (value) => (value === null ? [] : [value].flat());
  const buttons = labels.map((label, at) => {
    const button = signed(label);
    button.append(element("span", "role"));
    button.disabled = locked;
    button.tabIndex = at ? -1 : 0;
    button.onclick = () => {
      if (count === 1) return p.set(at);
      if (first === null) {
        first = at;
        p.set(null);
        p.live.textContent = fill(text.first, { token: label });
        return;
      }
      const pair = [first, at];
      first = null;
      p.set(pair);
    };
    return button;
  });
  node.append(...buttons);
  node.onkeydown = (event) => roving(buttons, event);
  return {
    node,
    words: (value) => places(value).map((at) => `“${labels[at]}”`).join(" → "),
    paint() {
      const guess = p.guess === null && first !== null ? [first] : places(p.guess);
      const answer = places(p.answer);
      buttons.forEach((button, at) => {
        // Of two the order counts: the query is marked right only as the query.
        const isGuess = guess.includes(at);
        const isAnswer = answer.includes(at) && (count === 1 || !isGuess || guess.indexOf(at) === answer.indexOf(at));
        markButton(button, p.mark(isAnswer, isGuess), text);
        const shownAs = p.answer === null || !answer.includes(at) ? guess : answer;
        button.querySelector(".role").textContent = count === 2 && shownAs.includes(at) ? [text.query, text.key][shownAs.indexOf(at)] : "";
      });
    },
  };
}

function choiceKind(p) {
  const { choices, text, locked } = p.data;
  const node = element("div", "choices");
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", text.question);
  const buttons = choices.map(([id, words], at) => {
    const button = signed(words);
    button.disabled = locked;
    button.tabIndex = at ? -1 : 0;
    button.onclick = () => p.set(id);
    return button;
  });
  node.append(...buttons);
  node.onkeydown = (event) => roving(buttons, event);
  const names = new Map(choices);
  return {
    node,
    words: (value) => `“${names.get(value)}”`,
    paint: () => choices.forEach(([id], at) => markButton(buttons[at], p.mark(id === p.answer, id === p.guess), text)),
  };
}

// Moved by buttons or dragged. The order at first is a guess only once somebody has touched it.
function orderKind(p) {
  const { choices, text, locked } = p.data;
  const names = new Map(choices);
  const node = element("ol", "order");
  node.setAttribute("aria-label", text.question);
  const rows = new Map(choices.map(([id, words]) => [id, rowOf(id, words)]));
  let order = choices.map(([id]) => id);

  function rowOf(id, words) {
    const row = element("li");
    const [up, down] = [-1, 1].map((by) => {
      const button = element("button", "", by < 0 ? "↑" : "↓");
      button.type = "button";
      button.setAttribute("aria-label", fill(by < 0 ? text.up : text.down, { item: words }));
      button.onclick = () => {
        move(id, order.indexOf(id) + by);
        (button.disabled ? row.querySelector("button:enabled") : button)?.focus();
      };
      return button;
    });
    const sign = element("span", "sign");
    const was = element("span", "was");
    row.append(element("span", "grip", "⠿"), sign, element("span", "words", words), was, up, down);
    row.onpointerdown = (event) => {
      const isFinger = event.pointerType === "touch" && !event.target.closest(".grip"); // it scrolls the page
      if (!locked && !isFinger && !event.target.closest("button")) drag(event, id, row);
    };
    return { row, up, down, sign, was };
  }

  function move(id, to) {
    const rest = order.filter((each) => each !== id);
    rest.splice(Math.max(0, Math.min(rest.length, to)), 0, id);
    p.set(rest);
  }

  function drag(event, id, row) {
    event.preventDefault();
    node.setPointerCapture(event.pointerId); // a row that changes its place would lose it
    row.classList.add("dragged");
    node.onpointermove = ({ clientY }) => {
      const to = order.filter((each) => each !== id).filter((each) => {
        const area = rows.get(each).row.getBoundingClientRect();
        return clientY > area.top + area.height / 2;
      }).length;
      if (to !== order.indexOf(id)) move(id, to);
    };
    node.onpointerup = node.onpointercancel = () => {
      node.onpointermove = node.onpointerup = node.onpointercancel = null;
      row.classList.remove("dragged");
      if (p.guess === null) p.set([...order]); // taken as it stands
    };
  }

  return {
    node,
    words: (value) => value.map((id) => names.get(id)).join(" → "),
    paint() {
      order = p.answer ?? p.guess ?? order;
      if ([...node.children].some((row, at) => row !== rows.get(order[at]).row) || !node.children.length) {
        node.append(...order.map((id) => rows.get(id).row));
      }
      order.forEach((id, at) => {
        const { row, up, down, sign, was } = rows.get(id);
        const before = p.guess?.indexOf(id);
        const mark = p.answer === null ? "" : p.guess === null ? "right" : before === at ? "hit" : "miss";
        row.dataset.mark = mark;
        sign.textContent = SIGNS[mark];
        was.textContent = mark === "miss" ? fill(text.was_at, { place: before + 1 }) : "";
        up.disabled = locked || at === 0;
        down.disabled = locked || at === order.length - 1;
        up.hidden = down.hidden = locked;
      });
    },
  };
}
