// One step of the browser's history for each thing that a person does. Streamlit adds one for every setting that is
// written to the address, and one more for the page itself: Back would show states that never were.
function oneStepEach() {
  if (history.isOneStepEach) return;
  history.isOneStepEach = true;
  const push = history.pushState.bind(history);
  let hasActed = false;
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => { hasActed = true; }, true);
  addEventListener("popstate", () => { hasActed = false; }, true);
  history.pushState = (...step) => {
    if (hasActed) push(...step);
    else history.replaceState(...step);
    hasActed = false;
  };
}
