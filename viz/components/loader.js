// A component whose scripts are in the library, which is sent once a session: draws as soon as that is there.
function draw(name, given) {
  const library = (globalThis.headworkLibrary ??= {});
  if (library.draw) return library.draw(name, given);
  let isGone = false;
  let clean;
  (library.waiting ??= []).push(() => {
    if (!isGone) clean = library.draw(name, given);
  });
  return () => {
    isGone = true;
    clean?.();
  };
}
