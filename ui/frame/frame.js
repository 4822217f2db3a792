// The part of the frame that runs in the browser (history.js, shown.js), once a page load.
export default function () {
  oneStepEach();
  showOnceItStands();
}
