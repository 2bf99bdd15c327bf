// Draws threads over time, on a canvas. Only the part of each lane in view is read, and a span that would share a pixel
// with the one before is skipped by bisection, so that drawing depends on pixels and not on the number of spans.
class Timeline {
  constructor(box) {
    this.box = box;
    this.canvas = box.querySelector("canvas");
    this.tip = box.querySelector(".tip");
    this.left = 116;
    this.rowHeight = 20;
    this.ruler = 26;
    this.colors = { flush: "--c-flush", compile: "--c-compile", kernel: "--c-kernel", part: "--c-part", record: "--c-record" };
    this.chosenExchange = -1;
    this.lanes = this.makeLanes();
    this.joins = exchangeJoins();
    this.from = 0;
    this.all = this.to = Math.max(data.duration, 1);
    this.frame();
    this.wire();
    this.resize();
  }

  frame() {
    const first = [data.spans, data.exchanges].reduce((t, of) => of.start.reduce((a, b) => Math.min(a, b), t), Infinity);
    this.begin = Number.isFinite(first) && first > this.all * 0.02 ? Math.max(0, first - (this.all - first) * 0.02) : 0;
    this.from = this.begin;
  }

  // Makes one lane for each thread and depth. Components that wait for their flush get lanes above their thread's, and what a
  // rank exchanged above its first thread's.
  makeLanes() {
    const lanes = [], exchanges = exchangeLanes();
    data.threads.forEach((name, thread) => {
      lanes.push(...(exchanges[data.ranks_of_threads[thread]] || []).splice(0));
      const waits = [], spans = [];
      const ends = [];
      const order = [...data.waits.start.keys()].filter((i) => data.waits.thread[i] === thread).sort((a, b) => data.waits.start[a] - data.waits.start[b]);
      for (const i of order) {
        let lane = ends.findIndex((e) => e <= data.waits.start[i]);
        if (lane < 0) lane = ends.length < 3 ? ends.push(0) - 1 : -1;
        if (lane < 0) continue;
        ends[lane] = data.waits.start[i] + data.waits.length[i];
        (waits[lane] ||= []).push(i);
      }
      for (let i = 0; i < data.spans.start.length; ++i)
        if (data.spans.thread[i] === thread) (spans[data.spans.depth[i]] ||= []).push(i);
      waits.forEach((items, k) => lanes.push({ source: data.waits, items, label: k ? "" : "recorded", wait: true }));
      spans.forEach((items, depth) => lanes.push({ source: data.spans, items: items || [], label: depth ? "" : name, first: !depth && !waits.length || (!depth && !waits.length) }));
    });
    let y = this.ruler + 4;
    this.laneOfExchange = new Map(lanes.filter((l) => l.exchange).flatMap((l) => l.items.map((i) => [i, l])));
    for (const lane of lanes) {
      if (lane.label && lane !== lanes[0]) y += 8;
      lane.y = y;
      y += this.rowHeight;
    }
    this.height = Math.max(y + 8, 90);
    return lanes;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.box.clientWidth;
    this.canvas.style.height = this.height + "px";
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  x(t) { return this.left + ((t - this.from) / (this.to - this.from)) * (this.width - this.left); }
  time(x) { return this.from + ((x - this.left) / (this.width - this.left)) * (this.to - this.from); }

  show(from, to) {
    const least = 0.05, length = Math.min(Math.max(to - from, least), this.all * 1.02);
    this.from = Math.max(-this.all * 0.01, Math.min(from, this.all * 1.01 - length));
    this.to = this.from + length;
    this.draw();
  }
  zoom(factor, at = (this.from + this.to) / 2) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); }

  // Returns the first item of a lane that ends after `t`: in a lane, ends are in the order of starts.
  firstAfter(lane, t) {
    const { start, length } = lane.source;
    let low = 0, high = lane.items.length;
    while (low < high) {
      const mid = (low + high) >> 1, i = lane.items[mid];
      if (start[i] + length[i] < t) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  draw() {
    const c = this.context;
    const palette = Object.fromEntries(Object.entries(this.colors).map(([k, v]) => [k, color(v)]));
    const other = color("--c-other"), ink = color("--ink"), soft = color("--soft"), line = color("--line");
    c.clearRect(0, 0, this.width, this.height);
    c.font = "11px Inter, system-ui, sans-serif";
    c.textBaseline = "middle";
    const step = this.niceStep((this.to - this.from) / Math.max(2, (this.width - this.left) / 130));
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.x(t);
      c.fillStyle = line;
      c.fillRect(x, this.ruler - 4, 1, this.height);
      c.fillStyle = soft;
      c.fillText(this.tick(t, step), x + 4, 12);
    }
    this.drawn = 0;
    for (const lane of this.lanes)
      if (lane.exchange) this.drawExchanges(c, lane, ink);
      else this.drawLane(c, lane, palette, other, ink);
    this.drawJoins(c, ink);
    c.fillStyle = color("--card");
    c.fillRect(0, this.ruler, this.left - 1, this.height);
    c.fillStyle = ink;
    for (const lane of this.lanes) {
      if (!lane.label) continue;
      c.fillStyle = lane.wait ? soft : ink;
      c.fillText(lane.label.slice(0, 18), 12, lane.y + this.rowHeight / 2);
    }
    byId("timeline-range").textContent = duration(this.to - this.from) + " of " + duration(this.all);
  }

  drawLane(c, lane, palette, other, ink) {
    const { start, length, category, name } = lane.source, items = lane.items, h = this.rowHeight - 3;
    for (let k = this.firstAfter(lane, this.from); k < items.length; ) {
      const i = items[k];
      if (start[i] > this.to) break;
      const x0 = Math.max(this.x(start[i]), this.left), x1 = this.x(start[i] + length[i]), w = Math.max(x1 - x0, 1);
      c.fillStyle = palette[strings[category[i]]] || other;
      c.globalAlpha = i === this.chosen && !lane.wait ? 1 : 0.88;
      c.fillRect(x0, lane.y, w > 3 ? w - 0.6 : w, h);
      c.globalAlpha = 1;
      ++this.drawn;
      this.drawName(c, lane, x0, w, palette[strings[category[i]]] || other, strings[name[i]]);
      if (!lane.wait && i === this.chosen) this.drawOutline(c, lane, x0, w, ink);
      k = this.nextShown(lane, k, x0, w);
    }
  }

  // Writes a name into its box, if there is room.
  drawName(c, lane, x, w, fill, name) {
    if (w <= 34) return;
    const h = this.rowHeight - 3;
    c.save();
    c.beginPath();
    c.rect(x, lane.y, w - 3, h);
    c.clip();
    c.fillStyle = inkOn(fill);
    c.fillText(name, x + 5, lane.y + h / 2 + 0.5);
    c.restore();
  }
  drawOutline(c, lane, x, w, ink) {
    c.strokeStyle = ink;
    c.lineWidth = 1.5;
    c.strokeRect(x + 0.5, lane.y + 0.5, w - 1, this.rowHeight - 4);
  }
  // Returns the item to draw after item k: those within its pixel are left out.
  nextShown(lane, k, x, w) {
    return w <= 1 ? Math.max(k + 1, this.firstAfter(lane, this.time(x + 1))) : k + 1;
  }

  // Draws a lane of exchanges: what was waited, then the rest.
  drawExchanges(c, lane, ink) {
    const { start, length, waited, name } = lane.source, h = this.rowHeight - 3, carry = color("--c-exchange"), wait = color("--c-wait");
    for (let k = this.firstAfter(lane, this.from); k < lane.items.length; ) {
      const i = lane.items[k];
      if (start[i] > this.to) break;
      const x0 = Math.max(this.x(start[i]), this.left), w = Math.max(this.x(start[i] + length[i]) - x0, 1), x1 = x0 + w, turn = Math.max(x0, Math.min(x1, this.x(start[i] + waited[i])));
      const parts = [[x0, turn, wait], [turn, x1, carry]];
      for (const [from, to, fill] of parts) {
        c.fillStyle = fill;
        c.fillRect(from, lane.y, to - from, h);
      }
      ++this.drawn;
      const [from, to, fill] = parts[0][1] - parts[0][0] > parts[1][1] - parts[1][0] ? parts[0] : parts[1];
      this.drawName(c, lane, from, to - from, fill, text(name[i]));
      if (i === this.chosenExchange) this.drawOutline(c, lane, x0, w, ink);
      k = this.nextShown(lane, k, x0, w);
    }
  }

  // Joins the parts of each exchange that is wide enough to be seen, or was picked, where the last rank came: there the
  // others' waiting ends.
  drawJoins(c, ink) {
    this.joined = 0;
    const numberOf = data.exchanges.number, picked = this.chosenExchange >= 0 ? numberOf[this.chosenExchange] : -1;
    let low = 0, high = this.joins.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.joins[mid].at < this.from) low = mid + 1;
      else high = mid;
    }
    for (let k = low; k < this.joins.length && this.joins[k].at <= this.to; ++k) {
      const { at, last, others, longest } = this.joins[k], mine = numberOf[last] === picked;
      if (!mine && (longest / (this.to - this.from)) * (this.width - this.left) < 8) continue;
      const h = this.rowHeight - 3, ys = [last, ...others].map((i) => this.laneOfExchange.get(i).y), x = Math.max(this.x(at), this.left);
      const y = this.laneOfExchange.get(last).y + h / 2, top = Math.min(...ys), bottom = Math.max(...ys) + h;
      c.fillStyle = ink;
      c.globalAlpha = mine ? 1 : 0.6;
      c.fillRect(x - (mine ? 1 : 0.5), top, mine ? 2 : 1, bottom - top);
      c.globalAlpha = 1;
      c.beginPath();
      c.arc(x, y, mine ? 4.5 : 3.5, 0, 2 * Math.PI);
      c.fill();
      ++this.joined;
    }
  }

  niceStep(least) {
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    return [1, 2, 5, 10].find((m) => m * power >= least) * power;
  }
  tick(t, step) {
    const [unit, name] = step >= 1e5 ? [1e6, " s"] : step >= 100 ? [1e3, " ms"] : [1, " µs"];
    const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / unit) - 1e-9)));
    return (t / unit).toFixed(decimals) + name;
  }

  at(px, py) {
    for (const lane of this.lanes) {
      if (py < lane.y || py >= lane.y + this.rowHeight) continue;
      const t = this.time(px), slack = (this.to - this.from) / (this.width - this.left);
      const k = this.firstAfter(lane, t - slack);
      if (k >= lane.items.length) return null;
      const i = lane.items[k];
      return lane.source.start[i] <= t + slack ? { lane, i } : null;
    }
    return null;
  }

  describe({ lane, i }) {
    if (lane.exchange) return describeExchange(i);
    const s = lane.source, name = text(s.name[i]), lines = [];
    if (lane.wait) return "recorded ops waiting\nflushed at " + name + "\n" + duration(s.length[i]);
    lines.push(name + "  " + duration(s.length[i]));
    const row = s.row[i], kind = text(s.category[i]);
    if (kind === "flush" && row >= 0) {
      const f = data.flushes;
      lines.push("by " + text(f.cause[row]) + " at " + text(f.at[row]));
      lines.push(counted(f.ops[row], "op") + ", " + counted(f.kernels[row], "kernel") + ", " + (f.hit[row] ? "hit" : "compiled") + " (program " + f.program[row] + ")");
      if (f.miss[row] >= 0) lines.push(text(f.miss[row]));
    }
    if (kind === "kernel" && row >= 0) {
      const k = data.kernels;
      lines.push("at " + text(k.at[row]) + ", " + k.ops[row] + " ops fused");
      lines.push("a mean of " + duration(k.total[row] / k.launches[row]) + " over " + plain(k.launches[row]) + " launches");
    }
    lines.push("at " + duration(s.start[i]));
    return lines.join("\n");
  }

  pick(hit) {
    this.chosen = hit && !hit.lane.wait && !hit.lane.exchange ? hit.i : -1;
    this.chosenExchange = hit && hit.lane.exchange ? hit.i : -1;
    byId("picked").textContent = hit ? this.describe(hit) : "Nothing picked.";
    if (hit && !hit.lane.wait && !hit.lane.exchange && text(hit.lane.source.category[hit.i]) === "flush" && hit.lane.source.row[hit.i] >= 0)
      say("flush", hit.lane.source.row[hit.i], "timeline");
    this.draw();
  }

  showFlush(row) {
    const f = data.flushes, margin = Math.max(f.length[row] * 0.3, 0.5);
    const i = data.spans.row.findIndex((r, k) => r === row && text(data.spans.category[k]) === "flush");
    this.chosen = i;
    this.chosenExchange = -1;
    this.show(f.start[row] - margin, f.start[row] + f.length[row] + margin);
    const lane = this.lanes.find((l) => !l.wait && !l.exchange && l.items.includes(i));
    if (lane) byId("picked").textContent = this.describe({ lane, i });
  }

  showExchange(i) {
    const x = data.exchanges, parts = [...x.start.keys()].filter((k) => x.number[k] === x.number[i]);
    const from = Math.min(...parts.map((k) => x.start[k])), to = Math.max(...parts.map((k) => x.start[k] + x.length[k])), margin = Math.max((to - from) * 0.3, 0.5);
    this.chosen = -1;
    this.chosenExchange = i;
    this.show(from - margin, to + margin);
    byId("picked").textContent = this.describe({ lane: this.laneOfExchange.get(i), i });
  }

  wire() {
    const canvas = this.canvas, pointers = new Map();
    let moved = 0, spread = 0;
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const by = (e.deltaX / this.width) * (this.to - this.from);
        return this.show(this.from + by, this.to + by);
      }
      this.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.006), this.time(e.offsetX));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      pointers.set(e.pointerId, e.offsetX);
      moved = 0;
      spread = 0;
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!pointers.has(e.pointerId)) return this.hover(e.offsetX, e.offsetY);
      const by = e.offsetX - pointers.get(e.pointerId);
      pointers.set(e.pointerId, e.offsetX);
      moved += Math.abs(by);
      canvas.classList.add("drag");
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], now = Math.abs(a - b);
        if (spread && now) this.zoom(spread / now, this.time((a + b) / 2));
        spread = now;
      } else {
        const t = (by / (this.width - this.left)) * (this.to - this.from);
        this.show(this.from - t, this.to - t);
      }
    });
    const end = (e) => {
      if (pointers.delete(e.pointerId) && moved < 4 && e.type === "pointerup") this.pick(this.at(e.offsetX, e.offsetY));
      canvas.classList.remove("drag");
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", () => this.show(this.begin, this.all));
    this.box.addEventListener("keydown", (e) => {
      const by = (this.to - this.from) * 0.2;
      const act = { "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1.4), 0: () => this.show(this.begin, this.all),
        ArrowLeft: () => this.show(this.from - by, this.to - by), ArrowRight: () => this.show(this.from + by, this.to + by) }[e.key];
      if (act) act(), e.preventDefault();
    });
    byId("timeline-in").onclick = () => this.zoom(0.6);
    byId("timeline-out").onclick = () => this.zoom(1.6);
    byId("timeline-all").onclick = () => this.show(this.begin, this.all);
    new ResizeObserver(() => this.width !== this.box.clientWidth && this.resize()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  hover(x, y) {
    const hit = x > this.left ? this.at(x, y) : null;
    this.tip.hidden = !hit;
    if (!hit) return;
    this.tip.textContent = this.describe(hit);
    this.tip.style.left = Math.min(x + 14, this.width - Math.min(this.tip.offsetWidth + 8, this.width)) + "px";
    this.tip.style.top = Math.min(y + 16, Math.max(0, this.height - this.tip.offsetHeight)) + "px";
  }
}

function timelineLegend() {
  const names = { record: "recorded, waiting", flush: "flush", compile: "compiling", kernel: "kernel", part: "a thread's part" };
  if (data.ranks.length > 1) names.wait = "waiting for a rank";
  if (data.ranks.length) names.exchange = data.ranks.length > 1 ? "exchange; a dot: who came last" : "exchange";
  for (const [key, label] of Object.entries(names)) {
    const dot = element("i");
    dot.style.background = "var(--c-" + key + ")";
    byId("timeline-legend").append(element("span", {}, dot, label));
  }
}
