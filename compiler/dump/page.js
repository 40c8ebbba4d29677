"use strict";
(function () {
  const all = (q) => Array.from(document.querySelectorAll(q));
  const colours = 6;
  const marked = new Map(); // value -> class

  document.querySelectorAll("section > h2").forEach((h) =>
    h.addEventListener("click", () => h.parentElement.classList.toggle("folded")));

  // show scrolls the first hit of every open column into its view.
  function show(hits, from) {
    const seen = new Set([from.closest("section")]);
    for (const e of hits) {
      const s = e.closest("section");
      if (!s || seen.has(s) || s.classList.contains("folded")) continue;
      seen.add(s);
      const d = e.closest("details");
      if (d) d.open = true;
      const body = s.querySelector(".body");
      const at = e.getBoundingClientRect().top - body.getBoundingClientRect().top;
      if (at < 0 || at > body.clientHeight - 20) body.scrollTop += at - body.clientHeight / 3;
    }
  }

  function toggleValue(t) {
    const ref = t.dataset.v;
    const hits = all('[data-v="' + CSS.escape(ref) + '"]');
    if (marked.has(ref)) {
      hits.forEach((e) => e.classList.remove(marked.get(ref)));
      marked.delete(ref);
      return;
    }
    const used = new Set(marked.values());
    let c = "h" + (marked.size % colours);
    for (let i = 0; i < colours; i++) if (!used.has("h" + i)) { c = "h" + i; break; }
    marked.set(ref, c);
    hits.forEach((e) => e.classList.add(c));
    show(hits, t);
  }

  function toggleLine(l) {
    const hits = all('[data-l="' + CSS.escape(l.dataset.l) + '"]');
    const on = !l.classList.contains("line");
    hits.forEach((e) => e.classList.toggle("line", on));
    if (on) show(hits, l);
  }

  function clear() {
    all(".l.line").forEach((e) => e.classList.remove("line"));
    marked.forEach((c, ref) => all('[data-v="' + CSS.escape(ref) + '"]').forEach((e) => e.classList.remove(c)));
    marked.clear();
  }

  document.querySelector("main").addEventListener("click", (ev) => {
    const v = ev.target.closest(".v");
    if (v) return toggleValue(v);
    const l = ev.target.closest(".l[data-l]");
    if (l && String(window.getSelection()) === "") toggleLine(l);
  });
  document.addEventListener("keydown", (ev) => { if (ev.key === "Escape") clear(); });
  document.getElementById("unfold").addEventListener("click", () => all("section").forEach((s) => s.classList.remove("folded")));
  document.getElementById("fold").addEventListener("click", () => all("section").forEach((s) => s.classList.toggle("folded", !s.hasAttribute("data-open"))));
  document.getElementById("clear").addEventListener("click", clear);

  window.addEventListener("beforeprint", () => all("details").forEach((d) => { d.open = true; }));

  // A page may be opened with marks: page.html#%12 or page.html#line=24.
  let want = location.hash.slice(1);
  try { want = decodeURIComponent(want); } catch { /* "%12" is as good as "%2512" */ }
  const at = want.startsWith("line=")
    ? all(".source .l[data-l]").find((e) => e.dataset.n === want.slice(5))
    : want && all(".v").find((e) => e.textContent === want);
  if (at) (at.classList.contains("v") ? toggleValue : toggleLine)(at);
})();
