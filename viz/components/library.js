// The end of the library (viz/browser.py): every component's function, markup and styles, for the loaders that wait.

const dressed = new WeakSet(); // what has its markup and styles already

function dress(parent, { html, css }) {
  if (dressed.has(parent)) return;
  dressed.add(parent);
  const style = document.createElement("style");
  style.textContent = css;
  parent.append(document.createRange().createContextualFragment(html), style);
}

export default function () {
  globalThis.headworkLibrary ??= {};
  globalThis.headworkLibrary.draw = (name, given) => {
    if (given.data.part !== "maps") dress(given.parentElement, looks[name]); // maps are kept, not drawn
    return parts[name](given);
  };
  for (const wake of globalThis.headworkLibrary.waiting?.splice(0) ?? []) wake(); // once: what they were given grows old
}
