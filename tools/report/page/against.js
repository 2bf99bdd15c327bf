// Shows two traces beside each other: this one, A, and the one that it is held against, B.
function makeAgainst() {
  if (!data.sums) return null;
  const [a, b] = data.sums, box = byId("against-section");
  box.hidden = false;
  byId("against-link").hidden = false;
  byId("against-titles").textContent = "A is " + a.title + ", B is " + b.title;
  const times = (x, y) => (x > 0 && y > 0 ? "×" + digits(y / x) : x === y ? "–" : x > 0 ? "gone" : "new");
  const kind = (x, y) => (y > x * 1.1 ? "bad" : x > y * 1.1 ? "good" : "");
  const totals = [
    ["in all", a.duration, b.duration, duration], ["in flushes", a.all.in_flushes, b.all.in_flushes, duration], ["in kernels", a.all.in_kernels, b.all.in_kernels, duration],
    ["compiling", a.all.compiling, b.all.compiling, duration], ["flushes", a.all.flushes, b.all.flushes, plain], ["programs compiled", a.all.compiled, b.all.compiled, plain],
    ["kernels launched", a.all.launches, b.all.launches, plain], ["memory at most", a.peak, b.peak, bytes],
  ];
  for (const [label, x, y, show] of totals)
    byId("against-totals").append(element("div", { class: "tile" }, element("span", { textContent: label }), element("b", { textContent: show(x) + " → " + show(y) }),
      element("span", { class: kind(x, y), textContent: times(x, y) })));
  const none = { flushes: 0, compiled: 0, launches: 0, in_flushes: 0, compiling: 0, in_kernels: 0 };
  const lines = [...new Set([...Object.keys(a.lines), ...Object.keys(b.lines)])].map((at) => ({ at, a: a.lines[at] || none, b: b.lines[at] || none }));
  // A line's time is that of its kernels; where it flushes, also what its flushes took beside kernels is shown.
  const change = (i) => lines[i].b.in_kernels - lines[i].a.in_kernels, slower = (i) => lines[i].b.in_flushes - lines[i].a.in_flushes;
  const both = (title, width, key, show) => ["a", "b"].map((of) => ({ title: title + " " + of.toUpperCase(), width, value: (i) => lines[i][of][key], show: (i) => (lines[i][of][key] ? show(lines[i][of][key]) : "–"), right: true }));
  const table = new Table(byId("against"), [
    { title: "line", width: "minmax(140px, 1.4fr)", value: (i) => lines[i].at, show: (i) => lines[i].at },
    ...both("kernels", "84px", "in_kernels", duration),
    { title: "change", width: "84px", value: (i) => Math.abs(change(i)), show: (i) => element("span", { class: kind(lines[i].a.in_kernels, lines[i].b.in_kernels), textContent: (change(i) > 0 ? "+" : "") + duration(change(i)) }), right: true },
    { title: "B / A", width: "64px", value: (i) => lines[i].b.in_kernels / Math.max(lines[i].a.in_kernels, 1e-9), show: (i) => times(lines[i].a.in_kernels, lines[i].b.in_kernels), right: true },
    ...both("launches", "84px", "launches", plain),
    ...both("flushes", "74px", "flushes", plain),
    ...both("in flushes", "92px", "in_flushes", duration),
    { title: "change", width: "84px", value: (i) => Math.abs(slower(i)), show: (i) => element("span", { class: kind(lines[i].a.in_flushes, lines[i].b.in_flushes), textContent: (slower(i) > 0 ? "+" : "") + duration(slower(i)) }), right: true },
    ...both("compiled", "84px", "compiled", plain),
  ], [...lines.keys()], () => {});
  table.lines = lines;
  table.none = "Neither of them flushed.";
  table.sort(3);
  return table;
}
