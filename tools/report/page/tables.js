// Shows flushes with their filter, and kernels.
const pill = (label, kind) => element("span", { class: "pill " + kind, textContent: label });

// Matches words that must all be in a row; "hit:no", "cause:item" and "line:14" match one column. Words such as "foo:bar"
// that name no column are in `unknown`; "main.cpp:14" is a line.
const filterKeys = ["line", "cause", "hit", "program", "failed"];
function flushFilter(words) {
  const f = data.flushes, unknown = [];
  const tests = words.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, named, value] = word.match(/^([a-z_]+):(.*)$/) || [];
    if (named && named !== "at" && !filterKeys.includes(named)) unknown.push(named);
    const key = named === "line" ? "at" : ["hit", "cause", "at", "program", "failed"].includes(named) ? named : null;
    if (key === "at" && /^\d+$/.test(value)) return (i) => text(f.at[i]).endsWith(":" + value);
    if (key === "hit" || key === "failed") return (i) => String(f[key][i] ? "yes" : "no").startsWith(value);
    if (key === "program") return (i) => String(f.program[i]) === value || value === "";
    if (key) return (i) => text(f[key][i]).toLowerCase().includes(value);
    return (i) => (text(f.cause[i]) + " " + text(f.at[i]) + " " + text(f.miss[i]) + " " + (f.hit[i] ? "hit" : "compiled")).toLowerCase().includes(word);
  });
  return { keeps: (i) => tests.every((t) => t(i)), unknown };
}

function makeFlushes() {
  const f = data.flushes, all = [...f.start.keys()];
  const table = new Table(byId("flushes"), [
    { title: "at", width: "90px", value: (i) => f.start[i], show: (i) => duration(f.start[i]), right: true },
    { title: "line", width: "minmax(120px, 1.2fr)", value: (i) => text(f.at[i]), show: (i) => text(f.at[i]) },
    { title: "cause", width: "100px", value: (i) => text(f.cause[i]), show: (i) => text(f.cause[i]) },
    { title: "program", width: "110px", value: (i) => f.hit[i], show: (i) => (f.failed[i] ? pill("failed", "bad") : f.hit[i] ? pill("hit", "good") : pill("compiled", "warn")) },
    { title: "ops", width: "60px", value: (i) => f.ops[i], show: (i) => plain(f.ops[i]), right: true },
    { title: "kernels", width: "64px", value: (i) => f.kernels[i], show: (i) => plain(f.kernels[i]), right: true },
    { title: "kept", width: "50px", value: (i) => f.outputs[i], show: (i) => plain(f.outputs[i]), right: true },
    { title: "in all", width: "86px", value: (i) => f.length[i], show: (i) => duration(f.length[i]), right: true },
    { title: "compiling", width: "86px", value: (i) => f.compiling[i], show: (i) => (f.compiling[i] ? duration(f.compiling[i]) : "–"), right: true },
    { title: "in kernels", width: "86px", value: (i) => f.in_kernels[i], show: (i) => duration(f.in_kernels[i]), right: true },
    { title: "why not in the cache", width: "minmax(160px, 2.4fr)", value: (i) => text(f.miss[i]), show: (i) => text(f.miss[i]) },
  ], all, (i) => say("flush", i, "table"));
  const apply = () => {
    const typed = byId("filter").value, filter = flushFilter(typed), rows = all.filter(filter.keeps);
    table.body.scrollTop = 0;
    table.none = all.length ? "No flush matches " + typed.trim() + "." : "Nothing was flushed.";
    byId("filter-note").textContent = filter.unknown.length ? "There is no column " + filter.unknown.join(", ") + ": columns are " + filterKeys.join(", ") + "." : "";
    table.set(rows);
    byId("flush-count").textContent = rows.length === all.length ? plain(all.length) : plain(rows.length) + " of " + plain(all.length);
  };
  byId("filter").addEventListener("input", apply);
  apply();
  on("flush", (i, from) => from !== "table" && table.choose(i, true));
  return table;
}

// Returns the least microseconds of a kernel's mean launch: its arithmetic at peak, or its bytes at the bandwidth of
// the smallest cache that holds them, on as many threads as it used.
function limitOf(k) {
  const m = data.machine;
  if (!m) return 0;
  const n = data.kernels.launches[k], size = data.kernels.bytes[k] / n, threads = Math.min(data.kernels.parts[k], m.threads);
  const gbs = size <= m.l1_bytes ? m.l1_gbs : size <= m.l2_bytes ? m.l2_gbs : size <= m.l3_bytes ? m.l3_gbs : m.memory_gbs;
  return Math.max(data.kernels.flops[k] / n / (m.peak_gflops * threads), size / (gbs * threads)) / 1000;
}

// Kernels of one name and line are one row, which opens if they differ in how many ops they have.
function groupKernels() {
  const k = data.kernels, groups = new Map();
  for (const i of k.total.keys()) {
    const key = [k.name[i], k.at[i], k.purpose[i]].join();
    groups.has(key) ? groups.get(key).push(i) : groups.set(key, [i]);
  }
  const all = (of, members) => sum(members.map((i) => of[i])), most = (of, members) => Math.max(...members.map((i) => of[i]));
  return [...groups.values()].map((members) => ({
    members, name: text(k.name[members[0]]), at: text(k.at[members[0]]), purpose: text(k.purpose[members[0]]),
    total: all(k.total, members), launches: all(k.launches, members), bytes: all(k.bytes, members), flops: all(k.flops, members),
    parts: most(k.parts, members), ops: most(k.ops, members), fewest: Math.min(...members.map((i) => k.ops[i])),
    limit: sum(members.map((i) => limitOf(i) * k.launches[i])),
  }));
}

// Rows of the table are numbers: a group's, or, from groups.length on, a kernel's.
function makeKernels() {
  const k = data.kernels, groups = groupKernels(), whole = Math.max(sum(k.total), 1e-9), open = new Set();
  const one = (i) => ({ members: [i], name: text(k.name[i]), at: text(k.at[i]), purpose: text(k.purpose[i]), total: k.total[i], launches: k.launches[i], bytes: k.bytes[i],
    flops: k.flops[i], parts: k.parts[i], ops: k.ops[i], fewest: k.ops[i], limit: limitOf(i) * k.launches[i] });
  const of = (r) => (r < groups.length ? groups[r] : one(r - groups.length));
  const gbs = (r) => of(r).bytes / Math.max(of(r).total, 1e-9) / 1000, gflops = (r) => of(r).flops / Math.max(of(r).total, 1e-9) / 1000;
  const reached = (r) => (of(r).limit / Math.max(of(r).total, 1e-9)) * 100;
  // The line has a separate column; the purpose says more than the name.
  const short = (r) => {
    const x = of(r), line = "_" + x.at.replace(":", "_"), name = x.name.endsWith(line) ? x.name.slice(0, -line.length) : x.name;
    const shown = x.purpose ? `${x.purpose} (${name})` : name;
    return r >= groups.length ? "\u2003\u2003" + shown : x.members.length > 1 ? `${open.has(r) ? "▾" : "▸"} ${shown} × ${x.members.length}` : shown;
  };
  const bar = (r) => {
    const inner = element("i");
    inner.style.width = (of(r).total / whole) * 100 + "%";
    return element("div", { class: "bar" }, inner);
  };
  const ops = (r) => (of(r).fewest < of(r).ops ? plain(of(r).fewest) + "–" + plain(of(r).ops) : plain(of(r).ops));
  const table = new Table(byId("kernels"), [
    { title: "kernel", width: "minmax(140px, 2fr)", value: short, show: short },
    { title: "line", width: "minmax(120px, 1.2fr)", value: (r) => of(r).at, show: (r) => of(r).at },
    { title: "share", width: "50px", value: (r) => of(r).total, show: bar },
    { title: "total", width: "68px", value: (r) => of(r).total, show: (r) => duration(of(r).total), right: true },
    { title: "launches", width: "64px", value: (r) => of(r).launches, show: (r) => plain(of(r).launches), right: true },
    { title: "mean", width: "68px", value: (r) => of(r).total / of(r).launches, show: (r) => duration(of(r).total / of(r).launches), right: true },
    { title: "ops", width: "64px", value: (r) => of(r).ops, show: ops, right: true },
    { title: "parts", width: "36px", value: (r) => of(r).parts, show: (r) => plain(of(r).parts), right: true },
    { title: "GB/s", width: "48px", value: gbs, show: (r) => digits(gbs(r)), right: true },
    { title: "GFLOP/s", width: "60px", value: gflops, show: (r) => digits(gflops(r)), right: true },
    { title: "of limit", width: "56px", value: reached, show: (r) => limitText(reached(r)), say: (r) => limitTip(reached(r)), tip: limitTip(0), right: true },
  ], [...groups.keys()], (r) => {
    if (r < groups.length && groups[r].members.length > 1) {
      open.has(r) ? open.delete(r) : open.add(r);
      return table.set(table.top);
    }
    byId("filter").value = "";
    const program = data.programs.find((p) => p.kernels.some((x) => x.name === of(r).name));
    if (program) say("program", program.program);
  }, (r) => (open.has(r) ? groups[r].members.map((i) => groups.length + i) : []));
  table.groups = groups;
  table.sort(3);
  if (groups.some((g, i) => Math.round(reached(i)) > 100)) byId("kernels-note").textContent = limitTip(101);
  return table;
}

const limitText = (percent) => (data.machine ? Math.round(percent) + "%" : "–");
const limitTip = (percent) =>
  percent > 100 ? "Above 100%: the limit is that of the smallest cache which holds a launch's bytes, as measured once; operands that a launch before left in a faster cache, or were read by several parts at once, come sooner."
    : "The time that the machine's arithmetic, or the smallest cache which holds a launch's bytes, would take on as many threads, over the time it took.";

// Adds up kernels by the user's line, the dearest first; a line opens to its kernels.
function makeLines(kernels) {
  const lines = new Map(), open = new Set(), groups = kernels.groups;
  groups.forEach((g, i) => lines.has(g.at) ? lines.get(g.at).push(i) : lines.set(g.at, [i]));
  const all = [...lines].map(([at, members]) => {
    const of = (key) => sum(members.map((i) => groups[i][key]));
    const first = members.slice().sort((a, b) => groups[b].total - groups[a].total)[0];
    return { at: at || "an unknown line", members, total: of("total"), launches: of("launches"), bytes: of("bytes"), flops: of("flops"), limit: of("limit"), mostly: groups[first].name };
  });
  const whole = Math.max(sum(all.map((l) => l.total)), 1e-9);
  const of = (r) => (r < all.length ? all[r] : groups[r - all.length]);
  const per = (r, key) => of(r)[key] / Math.max(of(r).total, 1e-9) / 1000, reached = (r) => (of(r).limit / Math.max(of(r).total, 1e-9)) * 100;
  const name = (r) => (r >= all.length ? "\u2003\u2003" + (groups[r - all.length].purpose || groups[r - all.length].name) : (open.has(r) ? "▾ " : "▸ ") + all[r].at);
  const table = new Table(byId("lines"), [
    { title: "line", width: "minmax(150px, 1.6fr)", value: name, show: name },
    { title: "share", width: "52px", value: (r) => of(r).total, show: (r) => Math.round((of(r).total / whole) * 100) + "%", right: true },
    { title: "in kernels", width: "78px", value: (r) => of(r).total, show: (r) => duration(of(r).total), right: true },
    { title: "launches", width: "66px", value: (r) => of(r).launches, show: (r) => plain(of(r).launches), right: true },
    { title: "GB/s", width: "56px", value: (r) => per(r, "bytes"), show: (r) => digits(per(r, "bytes")), right: true },
    { title: "GFLOP/s", width: "64px", value: (r) => per(r, "flops"), show: (r) => digits(per(r, "flops")), right: true },
    { title: "of limit", width: "58px", value: reached, show: (r) => limitText(reached(r)), say: (r) => limitTip(reached(r)), tip: limitTip(0), right: true },
    { title: "mostly", width: "minmax(160px, 1.6fr)", value: (r) => (r < all.length ? all[r].mostly : ""), show: (r) => (r < all.length ? all[r].mostly : "") },
  ], [...all.keys()], (r) => {
    if (r >= all.length) return;
    open.has(r) ? open.delete(r) : open.add(r);
    table.set(table.top);
  }, (r) => (open.has(r) ? all[r].members.map((i) => all.length + i) : []));
  table.lines = all;
  table.none = "No kernel ran.";
  table.sort(2);
  return table;
}

function makeMisses() {
  const f = data.flushes, g = data.guards, box = byId("misses"), reasons = new Map();
  const add = (label, kind, at, program) => {
    const r = reasons.get(label) || { kind, times: 0, at, program };
    ++r.times;
    reasons.set(label, r);
  };
  for (let i = 0; i < f.start.length; ++i)
    if (!f.hit[i] && !f.failed[i] && f.miss[i] >= 0 && !text(f.miss[i]).startsWith("guard ")) add(text(f.miss[i]), "new graph", text(f.at[i]), f.program[i]);
  for (let i = 0; i < g.at.length; ++i) add(text(g.text[i]), "guard", "program " + g.program[i], g.program[i]);
  const list = element("ul", { class: "plain" });
  for (const [label, r] of [...reasons].sort((a, b) => b[1].times - a[1].times).slice(0, 200))
    list.append(element("li", {}, pill(r.kind, r.kind === "guard" ? "bad" : "warn"), " ", element("b", { class: "number", textContent: r.times + "× " }), label + "  ",
      element("a", { href: "#program-section", textContent: r.at, onclick: () => say("program", r.program) })));
  box.append(reasons.size ? list : element("div", { class: "muted", textContent: "Every flush found its program." }));
}
