() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith('color(srgb') ? [m[0]*255,m[1]*255,m[2]*255,m[3] ?? 1] : [m[0],m[1],m[2],m[3] ?? 1] };
  const over = (a, b) => [0,1,2].map(i => a[i]*a[3] + b[i]*(1-a[3])).concat(1);
  const lum = c => { const f = c.slice(0,3).map(v => { v/=255; return v <= .03928 ? v/12.92 : ((v+.055)/1.055)**2.4 }); return .2126*f[0]+.7152*f[1]+.0722*f[2] };
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x+.05)/(y+.05) };
  const up = e => e.parentElement || (e.getRootNode() instanceof ShadowRoot ? e.getRootNode().host : null);
  const ground = e => { const stack = []; for (; e; e = up(e)) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3]) { stack.push(c); if (c[3] === 1) break; } } return stack.reverse().reduce((b, c) => over(c, b), [255,255,255,1]) };
  const opacity = e => { let o = 1; for (; e; e = up(e)) o *= +getComputedStyle(e).opacity; return o };
  const found = new Map();
  const visit = root => {
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let n = walk.currentNode; n; n = walk.nextNode()) {
      if (n.shadowRoot) visit(n.shadowRoot);
      const input = n.nodeType === 1 && (n.tagName === 'INPUT' || n.tagName === 'TEXTAREA') && !n.value && n.placeholder;
      if (n.nodeType === 3 ? !n.data.trim() : !input) continue;
      const e = n.nodeType === 3 ? n.parentElement : n;
      if (!e || e.closest('svg, style, script, [disabled], [aria-disabled=true], .katex') || !e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
      const r = e.getBoundingClientRect(); if (r.width < 2 || r.height < 2) continue;
      const s = getComputedStyle(e, input ? '::placeholder' : null), b = ground(e), c = parse(s.color);
      c[3] *= opacity(e);
      const v = ratio(over(c, b), b);
      if (v < 4.5) found.set([e.dataset.testid || e.closest('[data-testid]')?.dataset.testid, e.tagName, s.color, b.slice(0,3).map(Math.round)].join(' '), v.toFixed(2) + ' “' + (input || n.data).trim().slice(0, 30) + '”');
    }
  };
  visit(document.body);
  return [...found].map(([k, v]) => v + ' ' + k);
}
