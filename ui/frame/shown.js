// Shows the page (first_paint.py hides it) once the styles are there and nothing within the window is still to come but
// pictures with a place of their own; at the latest when the server says what it is waiting for.
const PLACES = ".st-key-strip-strip, .st-key-overview-overview, [class*=st-key-large-map]"; // on a wide page: style.css
const LONGEST = 4000; // milliseconds

function showOnceItStands() {
  const began = performance.now();
  let before = 0;
  const look = () => {
    const height = isComing() ? 0 : document.querySelector(".stMainBlockContainer").scrollHeight;
    const stands = (height && height === before) || performance.now() - began > LONGEST;
    before = height;
    if (stands) document.documentElement.dataset.stands = "";
    else requestAnimationFrame(look);
  };
  look();
}

function isComing() {
  if (!getComputedStyle(document.documentElement).getPropertyValue("--headwork-styles")) return true;
  const isRunning = document.querySelector(".stApp").dataset.testScriptState !== "notRunning";
  if (isRunning && !document.querySelector(".stSpinner")) return true;
  const hasPlace = (one) => innerWidth >= 800 && one.closest(PLACES);
  const isAwaited = (one) => one.getBoundingClientRect().top < innerHeight && !hasPlace(one);
  const isDrawn = Boolean(globalThis.headworkLibrary?.draw); // the components: viz/components/library.js
  const parts = `[data-testid=stSkeleton]${isDrawn ? "" : ", .stMain [data-testid^=stBidiComponent]"}`;
  const undrawn = [...(globalThis.headworkUndrawn ?? [])].map((root) => root.getRootNode().host ?? root);
  return [...document.querySelectorAll(parts), ...undrawn].some(isAwaited);
}
