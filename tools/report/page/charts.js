// Draws the summary, memory over time, compile time by phase, kernels and the machine's limits.
function makeTiles() {
  const f = data.flushes, hits = sum(f.hit), n = f.start.length;
  const peak = data.memory.bytes.reduce((a, b) => Math.max(a, b), 0);
  const tiles = [
    [plain(n), n === 1 ? "flush" : "flushes"],
    [n ? digits((hits / n) * 100) + "%" : "–", "found their program"],
    [plain(n - hits - sum(f.failed)), "programs compiled"],
    [plain(sum(f.ops)), "ops run"],
    [plain(sum(data.kernels.launches)), "kernels launched"],
    [duration(sum(f.length)), "in flushes"],
    [duration(sum(data.kernels.total)), "in kernels"],
    [duration(sum(f.compiling)), "compiling"],
    [bytes(peak), data.of_ranks ? "memory of rank 0 at most" : "memory at most"],
    [plain(data.guards.at.length), "guards failed"],
  ];
  for (const [value, label] of tiles) byId("tiles").append(element("div", { class: "tile" }, element("b", { textContent: value }), element("span", { textContent: label })));
  const m = data.machine;
  byId("about").textContent = duration(data.duration) + ", " + plain(data.events) + " events" +
    (m ? " · " + m.instruction_set + ", " + m.threads + (m.threads === 1 ? " thread" : " threads") : "") +
    (data.left_out ? " · " + plain(data.left_out) + " of the shortest spans left out" : "");
}

// Draws memory over time: the area is all of it, bands are what the largest holders have, the last one all others.
function makeMemory() {
  const { at, bytes: b, bands, holders, peaks, of } = data.memory, W = 640, H = 220, left = 62, bottom = 22;
  const top = Math.max(b.reduce((x, y) => Math.max(x, y), 0), 1), end = Math.max(data.duration, 1), start = at.length ? Math.min(at[0], end * 0.9) : 0;
  byId("memory-peak").textContent = "at most " + bytes(top) + (of ? " on " + of : "");
  const x = (t) => left + ((t - start) / (end - start)) * (W - left - 4), y = (v) => 8 + (1 - v / (top * 1.06)) * (H - bottom - 8);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}` });
  for (let k = 0; k <= 4; ++k) {
    const v = (top * k) / 4;
    chart.append(svg("line", { class: "grid", x1: left, x2: W, y1: y(v), y2: y(v) }));
    chart.append(svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, bytes(Math.round(v))));
  }
  for (let k = 0; k <= 3; ++k) chart.append(svg("text", { x: left + (k / 3) * (W - left - 4), y: H - 4, "text-anchor": k === 0 ? "start" : k === 3 ? "end" : "middle" }, duration(start + ((end - start) * k) / 3)));
  // Returns points of a line that keeps each value until the next one.
  const steps = (times, values) => {
    let path = "", last = 0;
    times.forEach((t, i) => {
      path += `L${x(Math.max(t, start)).toFixed(1)},${y(last).toFixed(1)}L${x(Math.max(t, start)).toFixed(1)},${y(values[i]).toFixed(1)}`;
      last = values[i];
    });
    return path + `L${x(end)},${y(last)}`;
  };
  chart.append(svg("path", { class: "area", d: `M${left},${y(0)}` + steps(at, b) + `L${x(end)},${y(0)}` }));
  const sums = bands.at.map(() => 0), drawn = [], legend = element("div", { class: "legend" });
  const names = bands.names.map(text).concat(holders.length > bands.names.length ? ["other lines"] : []);
  names.forEach((name, k) => {
    bands.at.forEach((_, i) => (sums[i] += bands.bytes[k][i]));
    const band = svg("path", { class: "band", d: `M${left},${y(0)}` + steps(bands.at, sums) + `L${x(end)},${y(0)}` });
    band.append(svg("title", {}, name));
    band.style.fill = `var(--band-${k})`;
    drawn.unshift(band);
    const mark = element("i");
    mark.style.background = `var(--band-${k})`;
    legend.append(element("span", {}, mark, document.createTextNode(name)));
  });
  chart.append(...drawn);
  byId("memory").append(chart, legend);
  if (peaks.length > 1) byId("memory").append(element("div", { class: "muted hint", textContent: "At most: " + peaks.map((p) => "rank " + p.rank + " " + bytes(p.bytes)).join(", ") + "." }));
  if (!holders.length) return null;
  const box = element("div", { class: "table" }), h = (r) => holders[r];
  box.id = "holders";
  byId("memory").append(element("h3", { textContent: "Who held it, when it was most, at " + duration(data.memory.peak_at) }), box);
  const table = new Table(box, [
    { title: "line", width: "minmax(150px, 2fr)", value: (r) => text(h(r).name), show: (r) => text(h(r).name) },
    { title: "then", width: "76px", value: (r) => h(r).at_peak, show: (r) => bytes(h(r).at_peak), tip: "when all held most together", right: true },
    { title: "most", width: "76px", value: (r) => h(r).most, show: (r) => bytes(h(r).most), tip: "at any time", right: true },
    { title: "at the end", width: "76px", value: (r) => h(r).at_end, show: (r) => bytes(h(r).at_end), right: true },
  ], [...holders.keys()], (r) => drawn.slice().reverse().forEach((band, k) => band.classList.toggle("chosen", k === r)));
  table.bands = drawn;
  return table;
}

function makeCompile() {
  const order = ["simplify", "fuse", "lower", "tile_groups", "codegen"], around = ["key", "lookup", "guards"], p = data.phases;
  const total = p.compile ? p.compile.total : 0;
  byId("compile-total").textContent = total ? duration(total) + " for " + plain(p.compile.times) + (p.compile.times === 1 ? " program" : " programs") : "nothing compiled";
  const most = Math.max(...order.concat(around).map((n) => (p[n] ? p[n].total : 0)), 1e-9);
  const row = (name, kind) => {
    if (!p[name]) return;
    const bar = element("i");
    bar.style.width = (p[name].total / most) * 100 + "%";
    byId("compile").append(element("div", { class: "phase " + kind }, element("span", { textContent: name }), element("div", { class: "bar" }, bar),
      element("span", { class: "number", textContent: duration(p[name].total) }), element("span", { class: "muted number", textContent: plain(p[name].times) + "×" })));
  };
  order.forEach((n) => row(n, "compile"));
  byId("compile").append(element("h3", { textContent: "Of every flush" }));
  around.forEach((n) => row(n, "flush"));
}

// Plots arithmetic over intensity, both logarithmic; the lines are one thread's limits in each level of memory.
function makeRoofline() {
  const k = data.kernels, m = data.machine, box = byId("roofline");
  const points = [...k.total.keys()].filter((i) => k.flops[i] > 0 && k.bytes[i] > 0 && k.total[i] > 0).map((i) => ({ i, x: k.flops[i] / k.bytes[i], y: k.flops[i] / k.total[i] / 1000 }));
  if (!m || !points.length) return box.append(element("div", { class: "muted", textContent: "No kernel with arithmetic." }));
  const W = 430, H = 360, left = 44, bottom = 34, peak = m.peak_gflops * m.threads;
  const x0 = Math.min(0.02, ...points.map((p) => p.x)) / 1.5, x1 = Math.max(50, ...points.map((p) => p.x)) * 1.5;
  const y1 = Math.max(peak, ...points.map((p) => p.y)) * 2, y0 = Math.max(Math.min(0.1, ...points.map((p) => p.y)) / 1.5, y1 / 1e7);
  const log = Math.log10, x = (v) => left + (log(v / x0) / log(x1 / x0)) * (W - left - 8), y = (v) => H - bottom - (log(Math.max(v, y0) / y0) / log(y1 / y0)) * (H - bottom - 10);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}` });
  for (let e = Math.ceil(log(x0)); e <= log(x1); ++e) {
    chart.append(svg("line", { class: "grid", x1: x(10 ** e), x2: x(10 ** e), y1: 8, y2: H - bottom }));
    chart.append(svg("text", { x: x(10 ** e), y: H - bottom + 14, "text-anchor": "middle" }, String(10 ** e)));
  }
  for (let e = Math.ceil(log(y0)); e <= log(y1); ++e) {
    chart.append(svg("line", { class: "grid", x1: left, x2: W, y1: y(10 ** e), y2: y(10 ** e) }));
    chart.append(svg("text", { x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, String(10 ** e)));
  }
  for (const [label, gbs] of [["L1", m.l1_gbs], ["L2", m.l2_gbs], ["L3", m.l3_gbs], ["memory", m.memory_gbs]]) {
    const knee = m.peak_gflops / gbs;
    chart.append(svg("path", { class: "roof", d: `M${x(x0)},${y(gbs * x0)}L${x(knee)},${y(m.peak_gflops)}` }));
    if (label === "L1" || label === "memory") chart.append(svg("text", { x: x(x0) + 6, y: y(gbs * x0 * 1.6) - (label === "L1" ? 8 : -16) }, label + " " + digits(gbs) + " GB/s"));
  }
  chart.append(svg("line", { class: "roof", x1: x(m.peak_gflops / m.l1_gbs), x2: W, y1: y(m.peak_gflops), y2: y(m.peak_gflops) }));
  chart.append(svg("text", { x: W - 6, y: y(m.peak_gflops) - 6, "text-anchor": "end" }, digits(m.peak_gflops) + " GFLOP/s a thread"));
  const most = Math.max(...k.total);
  for (const p of points) {
    const dot = svg("circle", { class: "dot", cx: x(p.x), cy: y(p.y), r: 3.5 + 9 * Math.sqrt(k.total[p.i] / most) });
    dot.append(svg("title", {}, text(k.name[p.i]) + "\n" + digits(p.x) + " flop/byte, " + digits(p.y) + " GFLOP/s, " + duration(k.total[p.i]) + " in all"));
    chart.append(dot);
  }
  chart.append(svg("text", { x: (W + left) / 2, y: H - 4, "text-anchor": "middle" }, "operations a byte"), svg("text", { x: left + 6, y: 18 }, "GFLOP/s"));
  box.append(chart);
}
