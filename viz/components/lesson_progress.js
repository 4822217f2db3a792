// How far a person is in each lesson. Kept by this browser alone, as one text that also fits into a link:
// one-head.1f.7.5~find-the-head.3.0.0 = lesson, steps done, questions answered, questions right; bits from the first on.

const KEPT = "headwork-lessons";
const MOST_LESSONS = 100;
const RECORD = /^([a-z0-9][a-z0-9-]{0,39})\.([0-9a-f]{1,10})\.([0-9a-f]{1,8})\.([0-9a-f]{1,8})$/;

let heldProgress = ""; // in a browser that keeps nothing: until the page is loaded again

const progress = {
  // What makes no sense is left out.
  parse(text) {
    const records = String(text ?? "").split("~").slice(0, MOST_LESSONS).map((each) => RECORD.exec(each));
    return new Map(
      records.filter(Boolean).map(([, id, done, answered, right]) => {
        const [a, b, c] = [done, answered, right].map((bits) => BigInt(`0x${bits}`));
        return [id, { done: a, answered: b, right: b & c }];
      }),
    );
  },
  text: (all) => [...all].map(([id, { done, answered, right }]) => [id, ...[done, answered, right].map((bits) => bits.toString(16))].join(".")).join("~"),
  read() {
    try {
      return progress.parse(localStorage.getItem(KEPT) ?? heldProgress);
    } catch {
      return progress.parse(heldProgress);
    }
  },
  write(all) {
    heldProgress = progress.text(all);
    try {
      if (heldProgress) localStorage.setItem(KEPT, heldProgress);
      else localStorage.removeItem(KEPT);
    } catch {
      // a browser that keeps nothing
    }
  },
  // Puts more to what is kept; a question's later result counts.
  add(more) {
    const all = progress.read();
    for (const [id, one] of more) {
      const before = all.get(id) ?? { done: 0n, answered: 0n, right: 0n };
      all.set(id, {
        done: before.done | one.done,
        answered: before.answered | one.answered,
        right: (before.right & ~one.answered) | one.right,
      });
    }
    if (more.size) progress.write(all);
    return all;
  },
  count(bits, n) {
    let found = 0;
    for (let at = 0n; at < BigInt(n); at += 1n) found += Number((bits >> at) & 1n);
    return found;
  },
};
