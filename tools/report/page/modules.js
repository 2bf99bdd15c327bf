// Shows time, bytes and arithmetic by module, forward, backward and update, as a tree and as a flame graph. Kernels say in
// their purposes where they belong (TraceModules): "in layer1.0.conv1, forward: conv2d: products".
const placeOf = (purpose) => {
  const [, path, phase] = purpose.match(/^in (.+?), (forward|backward|update)(?:: |$)/) || [];
  return path ? { path, phase } : null;
};
const phaseColors = { forward: "--c-flush", backward: "--c-compile", update: "--c-kernel" };

// Returns the modules, each with what it and all in it took by phase; null if no kernel says where it belongs.
function moduleTree() {
  const k = data.kernels, none = () => ({ forward: 0, backward: 0, update: 0 });
  const node = (name, path) => ({ name, path, time: none(), bytes: 0, flops: 0, launches: 0, below: new Map() });
  const root = node("model", "");
  let any = false, elsewhere = 0;
  for (const i of k.total.keys()) {
    const place = placeOf(text(k.purpose[i]));
    if (!place) {
      elsewhere += k.total[i];
      continue;
    }
    any = true;
    const add = (n) => ((n.time[place.phase] += k.total[i]), (n.bytes += k.bytes[i]), (n.flops += k.flops[i]), (n.launches += k.launches[i]));
    add(root);
    // What is the model's own goes by its type, which is no path of a module: of these the first letter is small.
    if (/^[A-Z]/.test(place.path)) {
      root.name = place.path;
      continue;
    }
    let at = root;
    place.path.split(".").forEach((name, depth, names) => {
      if (!at.below.has(name)) at.below.set(name, node(name, names.slice(0, depth + 1).join(".")));
      add((at = at.below.get(name)));
    });
  }
  return any ? { root, elsewhere } : null;
}
const timeOf = (n) => n.time.forward + n.time.backward + n.time.update;
const byTime = (n) => [...n.below.values()].sort((a, b) => timeOf(b) - timeOf(a));

function makeModules() {
  const tree = moduleTree();
  if (!tree) return null;
  byId("modules-section").hidden = false;
  byId("modules-link").hidden = false;
  byId("modules-elsewhere").textContent = tree.elsewhere ? duration(tree.elsewhere) + " are of no module" : "";
  const all = [], open = new Set();
  const list = (n, depth) => {
    const i = all.push({ n, depth, members: [] }) - 1;
    for (const b of byTime(n)) all[i].members.push(list(b, depth + 1));
    return i;
  };
  list(tree.root, 0);
  for (let r = 0; ; r = all[r].members[0]) {  // down to where there is a choice
    open.add(r);
    if (all[r].members.length !== 1) break;
  }
  const whole = Math.max(timeOf(tree.root), 1e-9), n = (r) => all[r].n;
  const shown = () => {
    const rows = [];
    const add = (r) => (rows.push(r), open.has(r) && all[r].members.forEach(add));
    add(0);
    return rows;
  };
  const phase = (p) => ({ title: p, width: "84px", value: (r) => n(r).time[p], show: (r) => (n(r).time[p] ? duration(n(r).time[p]) : "–"), right: true });
  const label = (r) => "\u2003".repeat(all[r].depth) + (all[r].members.length ? (open.has(r) ? "▾ " : "▸ ") : "\u2002 ") + n(r).name;
  const table = new Table(byId("modules"), [
    { title: "module", width: "minmax(200px, 2fr)", value: () => 0, show: label, say: (r) => n(r).path || n(r).name },
    { title: "share", width: "52px", value: (r) => timeOf(n(r)), show: (r) => Math.round((timeOf(n(r)) / whole) * 100) + "%", right: true },
    { title: "in all", width: "84px", value: (r) => timeOf(n(r)), show: (r) => duration(timeOf(n(r))), right: true },
    phase("forward"), phase("backward"), phase("update"),
    { title: "moved", width: "84px", value: (r) => n(r).bytes, show: (r) => bytes(n(r).bytes), right: true },
    { title: "flops", width: "76px", value: (r) => n(r).flops, show: (r) => scaled(n(r).flops, 1000, ["", " K", " M", " G", " T"]), right: true },
    { title: "launches", width: "70px", value: (r) => n(r).launches, show: (r) => plain(n(r).launches), right: true },
  ], shown(), (r) => {
    if (!all[r].members.length) return;
    open.has(r) ? open.delete(r) : open.add(r);
    table.set(shown());
  });
  table.tree = tree;
  table.all = all;
  makeFlame(tree.root, whole);
  return table;
}

// Draws the modules under their phase, as wide as they took time.
function makeFlame(root, whole) {
  const W = 1000, H = 24, box = byId("flame"), chart = svg("svg", { class: "flame", preserveAspectRatio: "none", role: "img", "aria-label": "Time by phase and module" });
  let deepest = 0;
  const block = (x, depth, width, name, title, color) => {
    deepest = Math.max(deepest, depth);
    const rect = svg("rect", { x, y: depth * H, width: Math.max(0, width - 0.6), height: H - 2, rx: 3, fill: `var(${color})` });
    rect.append(svg("title", {}, title));
    chart.append(rect);
    return { x, depth, width, name, color };
  };
  const labels = [];
  const draw = (n, phase, x, depth) => {
    for (const b of byTime(n).filter((b) => b.time[phase] > 0)) {
      const width = (b.time[phase] / whole) * W;
      if (width > 0.5) {
        labels.push(block(x, depth, width, b.name, `${b.path}, ${phase}\n${duration(b.time[phase])}, ${Math.round((b.time[phase] / whole) * 100)}%`, phaseColors[phase]));
        draw(b, phase, x, depth + 1);
      }
      x += width;
    }
  };
  let x = 0;
  for (const phase of Object.keys(phaseColors)) {
    const width = (root.time[phase] / whole) * W;
    if (!width) continue;
    labels.push(block(x, 0, width, phase, `${phase}\n${duration(root.time[phase])}, ${Math.round((root.time[phase] / whole) * 100)}%`, phaseColors[phase]));
    draw(root, phase, x, 1);
    x += width;
  }
  const height = (deepest + 1) * H;
  chart.setAttribute("viewBox", `0 0 ${W} ${height}`);
  chart.style.height = height + "px";
  box.style.height = height + "px";
  // Texts are no part of the picture, which is stretched to the width of the page.
  const texts = labels.map((l) => {
    const t = element("span", { textContent: l.name, title: l.name });
    Object.assign(t.style, { left: (l.x / W) * 100 + "%", width: (l.width / W) * 100 + "%", top: l.depth * H + "px", color: inkOn(color(l.color)) });
    t.dataset.color = l.color;
    return t;
  });
  box.append(chart, ...texts);
  const fit = () => texts.forEach((t) => (t.style.visibility = t.clientWidth < 26 ? "hidden" : ""));
  new ResizeObserver(fit).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => texts.forEach((t) => (t.style.color = inkOn(color(t.dataset.color)))));
  fit();
}
