// Draws one program: its graph in layers, the nodes of each fused kernel in a box, and what is known of the kernels.
class Graph {
  constructor(box) {
    this.box = box;
    this.mostInBox = 60;  // a kernel with more ops is drawn as a summary
    this.root = svg("svg", { role: "img" });
    box.append(this.root);
    this.wire();
    byId("program-choice").addEventListener("change", (e) => this.show(Number(e.target.value)));
    on("program", (number) => this.show(number));
    on("flush", (i) => this.show(data.flushes.program[i]));
    const runs = new Map();
    data.flushes.program.forEach((p) => runs.set(p, (runs.get(p) || 0) + 1));
    for (const p of data.programs) {
      const flush = data.flushes.program.indexOf(p.program);
      byId("program-choice").append(element("option", { value: p.program,
        textContent: `program ${p.program}: ${counted(p.ops, "op")} → ${counted(p.kernels.length, "kernel")}, run ${plain(runs.get(p.program) || 0)}×` + (flush >= 0 ? `, ${text(data.flushes.at[flush])}` : "") }));
    }
    const spent = new Map();  // the one that took most is shown first
    data.flushes.program.forEach((p, i) => spent.set(p, (spent.get(p) || 0) + data.flushes.length[i] - data.flushes.compiling[i]));
    const dearest = data.programs.reduce((a, b) => (!a || (spent.get(b.program) || 0) > (spent.get(a.program) || 0) ? b : a), null);
    if (dearest) this.show(dearest.program);
    else byId("program-facts").textContent = "No program was compiled while this was recorded.";
  }

  show(number) {
    const p = data.programs.find((x) => x.program === number);
    if (!p || p === this.program) return;
    this.program = p;
    byId("program-choice").value = number;
    byId("program-facts").textContent = `${p.variant}; ${counted(p.ops, "op")} recorded, ${counted(p.kernels.length, "kernel")}, ${counted(p.guards.length, "guard")}` +
      (p.nodes_in_all > p.nodes.length ? `; the first ${plain(p.nodes.length)} of ${plain(p.nodes_in_all)} values are drawn` : "") +
      (p.tile_groups.length ? "; " + p.tile_groups.map((b) => b.text).join("; ") : "");
    this.draw(this.layout(p));
    this.fit();
    this.side(p);
  }

  // Finds the kernel that computes each value: one without a group is computed where it is used first.
  groupsOf(p) {
    const group = new Map(), users = new Map();
    if (p.nodes.every((n) => n.group === undefined)) {  // loaded from disk: the fusion groups are not known
      for (const n of p.nodes) if (n.op !== "input") group.set(n.v, 0);
      return group;
    }
    for (const n of p.nodes) for (const f of n.from) users.has(f) ? users.get(f).push(n.v) : users.set(f, [n.v]);
    for (const n of [...p.nodes].reverse()) {
      if (n.group !== undefined) group.set(n.v, n.group);
      else if (n.op !== "input") {
        const used = (users.get(n.v) || []).map((u) => group.get(u)).filter((g) => g !== undefined);
        if (used.length) group.set(n.v, Math.min(...used));
      }
    }
    return group;
  }

  layout(p) {
    const group = this.groupsOf(p), boxes = new Map(), boxOf = new Map(), known = new Map(p.nodes.map((n) => [n.v, n]));
    for (const n of p.nodes) {
      const key = group.has(n.v) ? "g" + group.get(n.v) : "v" + n.v;
      if (!boxes.has(key)) boxes.set(key, { key, group: group.get(n.v), nodes: [], before: new Set(), after: new Set() });
      boxes.get(key).nodes.push(n);
      boxOf.set(n.v, boxes.get(key));
    }
    for (const n of p.nodes)
      for (const f of n.from)
        if (known.has(f) && boxOf.get(f) !== boxOf.get(n.v)) boxOf.get(f).after.add(boxOf.get(n.v)), boxOf.get(n.v).before.add(boxOf.get(f));
    for (const b of boxes.values()) this.inner(b, boxOf);
    const order = [...boxes.values()].sort((a, b) => (a.group ?? -1) - (b.group ?? -1));
    for (const b of order) b.layer = b.group === undefined ? 0 : 1 + Math.max(-1, ...[...b.before].filter((x) => x.group !== undefined).map((x) => x.layer));
    for (const b of order) if (b.group !== undefined && [...b.before].some((x) => x.group === undefined)) b.layer = Math.max(b.layer, 1);
    for (const b of order) if (b.group !== undefined) b.layer = Math.max(b.layer, 1 + Math.max(-1, ...[...b.before].filter((x) => x.group !== undefined).map((x) => x.layer)));
    for (const b of order) if (b.group === undefined && b.after.size) b.layer = Math.max(0, Math.min(...[...b.after].map((x) => x.layer)) - 1);
    const layers = [];
    for (const b of order) (layers[b.layer] ||= []).push(b);
    const rows = layers.filter(Boolean);
    rows.forEach((row) => row.forEach((b, i) => (b.place = i)));
    for (let sweep = 0; sweep < 6; ++sweep)
      for (const row of sweep % 2 ? [...rows].reverse() : rows) {
        const side = sweep % 2 ? "after" : "before";
        for (const b of row) b.weight = b[side].size ? sum([...b[side]].map((x) => x.place)) / b[side].size : b.place;
        row.sort((a, b) => a.weight - b.weight).forEach((b, i) => (b.place = i));
      }
    let y = 0;
    const gap = 26, widest = Math.max(...rows.map((r) => sum(r.map((b) => b.w)) + gap * (r.length - 1)));
    for (const row of rows) {
      let x = (widest - sum(row.map((b) => b.w)) - gap * (row.length - 1)) / 2;
      for (const b of row) (b.x = x), (b.y = y), (x += b.w + gap);
      y += Math.max(...row.map((b) => b.h)) + 46;
    }
    return { p, boxes: order, boxOf, known, width: widest, height: y - 46 };
  }

  // Places the nodes of one box in layers.
  inner(b, boxOf) {
    const W = 150, H = 36, gx = 12, gy = 16, titled = b.group !== undefined, top = titled ? 30 : 0, pad = titled ? 12 : 0;
    b.summary = titled && b.nodes.length > this.mostInBox;
    if (b.summary) {
      const ops = new Map();
      for (const n of b.nodes) if (n.op !== "constant") ops.set(n.op, (ops.get(n.op) || 0) + 1);
      b.lines = [...ops].sort((x, y) => y[1] - x[1]).slice(0, 8).map(([op, n]) => `${op} × ${n}`);
      b.w = 230;
      b.h = top + b.lines.length * 17 + 14;
      return;
    }
    const level = new Map(), rows = [];
    for (const n of b.nodes) {
      const before = n.from.filter((f) => boxOf.get(f) === b && level.has(f)).map((f) => level.get(f));
      level.set(n.v, before.length ? 1 + Math.max(...before) : 0);
    }
    for (const n of [...b.nodes].reverse()) {  // constants right before their first user
      if (n.op !== "constant") continue;
      const after = b.nodes.filter((u) => u.from.includes(n.v)).map((u) => level.get(u.v));
      if (after.length) level.set(n.v, Math.max(0, Math.min(...after) - 1));
    }
    for (const n of b.nodes) (rows[level.get(n.v)] ||= []).push(n);
    const filled = rows.filter(Boolean), widest = Math.max(...filled.map((r) => r.length)) * (W + gx) - gx;
    b.w = Math.max(widest + 2 * pad, titled ? 190 : 0);
    filled.forEach((row, k) => {
      const width = row.length * (W + gx) - gx;
      row.forEach((n, i) => Object.assign(n, { dx: (b.w - width) / 2 + i * (W + gx), dy: top + k * (H + gy), w: W, h: H }));
    });
    b.h = top + filled.length * (H + gy) - gy + pad;
  }

  draw({ p, boxes, boxOf, known, width, height }) {
    const edges = svg("g"), front = svg("g"), back = svg("g");
    const hue = (g) => `hsl(${(g * 137.5 + 205) % 360} 60% 55%`;
    const place = (v, end) => {
      const b = boxOf.get(v), n = known.get(v);
      return b.summary ? [b.x + b.w / 2, end ? b.y + b.h : b.y] : [b.x + n.dx + n.w / 2, b.y + n.dy + (end ? n.h : 0)];
    };
    for (const b of boxes) {
      if (b.group !== undefined) {
        const kernels = p.kernels.map((k, i) => ({ ...k, i })).filter((k) => k.group === b.group);
        const label = kernels.length ? kernels.map((k) => "kernel " + k.i).join(", ") : "as recorded; the program came from disk";
        const r = svg("rect", { x: b.x, y: b.y, width: b.w, height: b.h, rx: 10, fill: hue(b.group) + " / .13)", stroke: hue(b.group) + " / .8)" });
        r.append(svg("title", {}, kernels.map((k) => k.name).join("\n")));
        r.addEventListener("click", () => kernels[0] && this.open(kernels[0].i));
        back.append(r, svg("text", { class: "title", x: b.x + 12, y: b.y + 19 }, label), svg("text", { class: "sub", x: b.x + b.w - 10, y: b.y + 19, "text-anchor": "end" }, kernels[0] ? kernels[0].at : ""));
        if (b.summary) b.lines.forEach((l, i) => front.append(svg("text", { x: b.x + 14, y: b.y + 46 + i * 17 }, l)));
      }
      if (b.summary) continue;
      for (const n of b.nodes) {
        const x = b.x + n.dx, y = b.y + n.dy;
        const g = svg("g", { "data-v": n.v });
        const r = svg("rect", { class: "node" + (n.kept ? " kept" : n.stored ? " stored" : ""), x, y, width: n.w, height: n.h, rx: n.op === "input" ? 18 : 7 });
        r.append(svg("title", {}, `v${n.v} = ${n.op} ${n.dtype} [${n.shape.join(", ")}]` + (n.at ? "\nrecorded at " + n.at : "") + (n.kept ? "\nkept: a tensor holds it" : n.stored ? "\nin memory" : "")));
        g.append(r, svg("text", { x: x + n.w / 2, y: y + 15, "text-anchor": "middle" }, (n.op === "input" ? "input" : n.op).slice(0, 20)),
          svg("text", { class: "sub", x: x + n.w / 2, y: y + 28, "text-anchor": "middle" }, (n.dtype + " [" + n.shape.join(", ") + "]").slice(0, 25)));
        front.append(g);
      }
    }
    const drawn = new Set();
    for (const n of p.nodes)
      for (const f of n.from) {
        if (!known.has(f)) continue;
        const a = boxOf.get(f), b = boxOf.get(n.v);
        if (a === b && a.summary) continue;
        const [x0, y0] = place(f, true), [x1, y1] = place(n.v, false), key = [x0, y0, x1, y1].join();
        if (drawn.has(key)) continue;
        drawn.add(key);
        const bend = Math.max(14, (y1 - y0) / 2);
        edges.append(svg("path", { class: "edge", d: `M${x0},${y0}C${x0},${y0 + bend} ${x1},${y1 - bend} ${x1},${y1}` }));
      }
    this.root.replaceChildren(back, edges, front);
    this.size = { width, height };
  }

  view(x, y, w, h) {
    this.at = { x, y, w, h };
    this.root.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
  }
  fit() {
    const W = this.box.clientWidth || 800, H = this.box.clientHeight || 560, pad = 24;
    // Shows all of it if that can be read, else the top.
    const scale = Math.max(0.6, Math.min(1.25, W / (this.size.width + 2 * pad), H / (this.size.height + 2 * pad)));
    const w = W / scale, h = H / scale, fits = this.size.height + 2 * pad <= h;
    this.view((this.size.width - w) / 2, fits ? (this.size.height - h) / 2 : -pad, w, h);
  }
  zoom(factor, fx = 0.5, fy = 0.5) {
    const { x, y, w, h } = this.at, f = Math.min(Math.max(factor, 40 / w), (20 * Math.max(this.size.width, 400)) / w);
    this.view(x + w * fx * (1 - f), y + h * fy * (1 - f), w * f, h * f);
  }

  wire() {
    let last = null;
    this.root.addEventListener("wheel", (e) => {
      e.preventDefault();
      const r = this.root.getBoundingClientRect();
      this.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.005), (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
    }, { passive: false });
    this.root.addEventListener("pointerdown", (e) => (last = [e.clientX, e.clientY]));
    window.addEventListener("pointermove", (e) => {
      if (!last || !this.at) return;
      const scale = this.at.w / this.box.clientWidth;
      this.view(this.at.x - (e.clientX - last[0]) * scale, this.at.y - (e.clientY - last[1]) * scale, this.at.w, this.at.h);
      last = [e.clientX, e.clientY];
    });
    window.addEventListener("pointerup", () => (last = null));
    byId("graph-in").onclick = () => this.zoom(0.7);
    byId("graph-out").onclick = () => this.zoom(1.4);
    byId("graph-all").onclick = () => this.fit();
  }

  open(i) {
    const d = byId("program-side").querySelector(`[data-kernel="${i}"]`);
    if (d) (d.open = true), d.scrollIntoView({ block: "nearest" });
  }

  side(p) {
    const side = byId("program-side");
    side.replaceChildren(element("h3", { textContent: "Kernels" }));
    p.kernels.forEach((k, i) => {
      const d = element("details", {}, element("summary", {}, `${i}  `, element("code", { textContent: k.name })));
      d.dataset.kernel = i;
      d.append(element("div", { class: "muted", textContent: `${counted(k.ops, "op")}, ${bytes(k.code_bytes)} of code` }), element("div", { class: "muted", textContent: k.schedule }), element("pre", { class: "mono", textContent: k.ir || "loaded from disk" }));
      side.append(d);
    });
    side.append(element("h3", { textContent: "Guards" }));
    const kinds = new Map(), failed = data.guards.program.filter((x) => x === p.program).length;
    for (const g of p.guards) kinds.set(g.kind, [...(kinds.get(g.kind) || []), g]);
    const list = element("ul", { class: "plain" });
    for (const [kind, gs] of kinds) {
      const where = gs.slice(0, 24).map((g) => (["contiguous", "extent", "scalar", "position"].includes(kind) ? `v${g.v}` + (kind === "extent" ? ` dim ${g.dim} = ${g.value}` : "") : `kernel ${g.kernel} operand ${g.operand}`));
      list.append(element("li", {}, element("b", { textContent: kind + " " }), element("span", { class: "muted", textContent: [...new Set(where)].join("; ") + (gs.length > 24 ? "; …" : "") })));
    }
    side.append(p.guards.length ? list : element("div", { class: "muted", textContent: "None: it serves every size and layout." }));
    if (failed) side.append(element("div", { class: "bad", textContent: `turned down ${plain(failed)}×, see Guards and misses` }));
  }
}
