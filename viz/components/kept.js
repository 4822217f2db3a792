// One value that the browser keeps for the app, in this tab or in all of them, and says to Python (state "kept").
// data: {name, area: "tab" | "browser", value}. value: what to keep from now on, "" = nothing any more; absent = what is
// there, and where nothing is and `made` is set, 32 random hexadecimal digits. Nothing kept is not said.

const held = {}; // where the browser keeps nothing: until the page is loaded again

export default function ({ data, setStateValue }) {
  const { name, area, value, made } = data;
  if (value !== undefined) return keep(area, name, value);
  let found = kept(area, name);
  if (!found && made) keep(area, name, (found = random()));
  if (found) setStateValue("kept", found);
}

function kept(area, name) {
  try {
    return storage(area).getItem(name) ?? held[name] ?? "";
  } catch {
    return held[name] ?? "";
  }
}

function keep(area, name, value) {
  held[name] = value;
  try {
    if (value) storage(area).setItem(name, value);
    else storage(area).removeItem(name);
  } catch {
    // a browser that keeps nothing
  }
}

function storage(area) {
  return area === "tab" ? sessionStorage : localStorage;
}

function random() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID needs https
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
