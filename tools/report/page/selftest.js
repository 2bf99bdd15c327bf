// Returns the elements that reach out of the window or their card, but for what scrolls in a box of its own.
function overflowing() {
  const root = document.documentElement, wide = root.scrollWidth > root.clientWidth ? ["the page, by " + (root.scrollWidth - root.clientWidth) + " px"] : [];
  for (const card of document.querySelectorAll(".card, .tile, header.top")) {
    const right = card.getBoundingClientRect().right;
    for (const e of card.querySelectorAll("*"))
      if (!e.closest(".table, #flame, pre, .graph-box, aside, svg, .brand, select") && e.getBoundingClientRect().right > right + 1)
        wide.push((e.id || e.className || e.tagName) + " by " + Math.round(e.getBoundingClientRect().right - right) + " px");
  }
  return wide;
}

// Returns the texts whose color is too near to what is behind them (WCAG AA: 4.5, of large ones 3).
function faint() {
  const found = new Map();
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = parsedColor(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reduceRight((under, [r, g, b, a]) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a)), [255, 255, 255]);
  };
  const seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = seen.nextNode(); n; n = seen.nextNode()) {
    const e = n.parentElement, style = getComputedStyle(e);
    if (!n.textContent.trim() || ["SCRIPT", "STYLE", "OPTION", "title"].includes(e.tagName) || !e.getClientRects().length || e.closest("#flame")) continue;
    const inSvg = e instanceof SVGElement, back = behind(inSvg ? e.closest("svg").parentElement : e);
    const [r, g, b, a] = parsedColor(inSvg ? style.fill : style.color);
    const ink = [r, g, b].map((v, i) => v * a + back[i] * (1 - a)), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 600), ratio = contrast(ink, back);
    if (ratio < (large ? 3 : 4.5)) found.set((e.id || e.className.baseVal || e.className || e.tagName) + " " + ratio.toFixed(2), true);
  }
  for (const name of ["--c-flush", "--c-compile", "--c-kernel", "--c-part", "--c-record", "--c-other", "--c-exchange", "--c-wait"]) {
    const ratio = contrast(parsedColor(inkOn(color(name))), parsedColor(color(name)));
    if (ratio < 4.5) found.set("text on " + name + " " + ratio.toFixed(2), true);
  }
  const apart = contrast(parsedColor(color("--c-exchange")), parsedColor(color("--c-wait")));
  if (apart < 3) found.set("waiting beside exchanging " + apart.toFixed(2), true);
  return [...found.keys()];
}

// Tests what is shown of exchanges: `check` takes what is said and if it is so.
function testExchanges(check, timeline, exchanges) {
  const x = data.exchanges, n = x.start.length, lanes = timeline.lanes.filter((l) => l.exchange);
  if (!n) return check("nothing is said of exchanges", !exchanges && byId("exchanges-section").hidden && byId("exchanges-link").hidden && !lanes.length && !byId("timeline-legend").textContent.includes("exchange"));
  const rows = exchanges.rows.map(exchanges.of), several = data.ranks.length > 1, near = (a, b) => Math.abs(a - b) < 1e-3 * (n + 1);
  check("each rank has a lane of exchanges", data.ranks.every((name) => lanes.filter((l) => l.label === (name + " exchanges").trim()).length === 1));
  const ofRank = (name) => timeline.lanes.filter((l) => l.label.startsWith(name + " "));
  check("they are above the rank's threads", !data.of_ranks || data.ranks.every((name) => ofRank(name)[0].exchange && ofRank(name).filter((l) => !l.exchange).length === data.threads.filter((t, i) => t.startsWith(name + " ") && data.spans.thread.includes(i)).length));
  check("lanes have all exchanges", sum(lanes.map((l) => l.items.length)) === n && new Set(lanes.flatMap((l) => l.items)).size === n);
  check("exchanges of a lane follow each other", lanes.every((l) => l.items.every((i, k) => !k || x.start[l.items[k - 1]] + x.length[l.items[k - 1]] <= x.start[i] + 1e-3)));
  check("exchanges are in no lane of a thread", !timeline.lanes.some((l) => !l.exchange && l.items.some((i) => text(l.source.category[i]) === "comm")));
  check("the table has all exchanges' time", near(sum(rows.map((r) => r.time)), sum(x.length)));
  check("the dearest is first", rows.every((r, k) => !k || rows[k - 1].time >= r.time));
  check("no longer was waited than it took", [...x.start.keys()].every((i) => x.waited[i] >= 0 && x.waited[i] <= x.length[i] + 1e-3));
  const press = (key) => exchanges.body.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true })), closed = exchanges.rows.length;
  exchanges.body.focus();
  press("Home"), press("Enter");
  check("Enter shows an exchange in the timeline", timeline.chosenExchange >= 0 && text(x.name[timeline.chosenExchange]) === rows[0].kind && byId("picked").textContent.includes(rows[0].at));
  check("a row shows its figures", [...byId("exchanges").querySelectorAll(".body .row")].every((e) => {
    const r = exchanges.of(exchanges.rows[e.getAttribute("aria-rowindex") - 2]), cells = [...e.children].map((c) => c.textContent);
    return cells[0].includes(r.rank || r.kind) && cells[1] === r.at && cells[2] === plain(r.exchanges) && cells[4] === (r.bytes ? bytes(Math.round(r.bytes)) : "–") && cells[5] === duration(r.time) && cells[6] === (several ? duration(r.waited) : "–") &&
      (r.for || []).every((f) => cells[8].includes(f.rank + " " + duration(f.waited)));
  }));
  check("all texts can be read in full", [...byId("exchanges").querySelectorAll(".body .row span")].every((e) => e.title === e.textContent));
  if (several) {
    const members = rows[0].members.map(exchanges.of), part = timeline.chosenExchange, longest = Math.max(...[...x.start.keys()].filter((i) => text(x.name[i]) === rows[0].kind && text(x.at[i]) === rows[0].at).map((i) => x.waited[i]));
    check("a row opens to its ranks", members.length > 0 && exchanges.rows.length === closed + members.length && near(sum(members.map((m) => m.time)), rows[0].time));
    check("it shows where most was waited", x.waited[part] === longest);
    check("and the timeline joins its ranks", timeline.joined > 0 || longest === 0);
    check("all that was waited was for somebody", rows.every((r) => near(r.waited, sum(r.for.map((f) => f.waited)))) && near(sum(rows.map((r) => r.waited)), sum(x.waited)));
    // Waiting ends where the last rank comes, on all others at once.
    check("exchanges are joined where the last came", timeline.joins.length > 0 && timeline.joins.every((j) => j.others.every((i) => x.number[i] === x.number[j.last] && x.rank[i] !== x.rank[j.last] && Math.abs(x.start[i] + x.waited[i] - j.at) < 0.01)));
    check("who came last waited for none", timeline.joins.every((j) => x.waited[j.last] === 0));
    press("ArrowDown"), press("Enter");
    check("a rank's row shows its own", data.ranks[x.rank[timeline.chosenExchange]] === exchanges.of(exchanges.rows[1]).rank);
    press("Home"), press("Enter");
    check("the row closes", exchanges.rows.length === closed);
    const ranks = exchanges.ranks, each = ranks.rows.map(ranks.of);
    check("each rank has a row", each.length === data.ranks.length && near(sum(each.map((r) => r.time)), sum(x.length)) && near(sum(each.map((r) => r.waited)), sum(x.waited)) && near(sum(each.map((r) => r.awaited)), sum(x.waited)));
    check("who is waited for most is first", each.every((r, k) => !k || each[k - 1].awaited >= r.awaited) && byId("ranks").querySelector(".body .row").textContent.includes(each[0].name));
    if (each[0].awaited) {
      ranks.choose(ranks.rows[0]);
      const kept = [...x.start.keys()].filter((i) => x.awaited[i] === each[0].rank && x.rank[i] !== each[0].rank);
      check("its row shows where", x.waited[timeline.chosenExchange] === Math.max(...kept.map((i) => x.waited[i])) && kept.includes(timeline.chosenExchange));
    }
    check("no note is needed", byId("exchanges-note").textContent === "");
  } else {
    check("of one rank waiting is not known", x.awaited.every((r) => r === -1) && byId("exchanges-note").textContent.includes("not known") && !timeline.joins.length && !exchanges.ranks && byId("ranks-part").hidden);
    check("a row of one rank doesn't open", exchanges.rows.length === closed);
  }
  const lane = timeline.laneOfExchange.get(timeline.chosenExchange), at = { lane, i: timeline.chosenExchange };
  check("the picked exchange is in view", x.start[at.i] >= timeline.from && x.start[at.i] <= timeline.to);
  check("it is found where it is drawn", timeline.at(timeline.x(x.start[at.i] + x.length[at.i] / 2), lane.y + 5)?.i === at.i);
  timeline.pick(at);
  check("a click picks an exchange, and no span", timeline.chosen === -1 && timeline.chosenExchange === at.i);
  timeline.pick(null);
  byId("timeline-all").click();
}

// Tests the page if #selftest is in the address, and writes the result to the element of that name.
function selftest({ timeline, flushes, kernels, lines: byLine, exchanges, against, modules, memory, graph }) {
  const lines = [], out = byId("selftest");
  const check = (what, good) => lines.push((good ? "ok " : "FAILED ") + what);
  const type = (s) => {
    byId("filter").value = s;
    byId("filter").dispatchEvent(new Event("input"));
  };
  const all = data.flushes.start.length;
  try {
    check("all flushes are listed", flushes.rows.length === all);
    check("few rows are in the document", byId("flushes").querySelectorAll(".body .row").length <= 40);
    type("hit:no");
    check("hit:no keeps what compiled", flushes.rows.length === all - sum(data.flushes.hit) && flushes.rows.every((i) => !data.flushes.hit[i]));
    type("no such flush anywhere");
    check("a filter can leave nothing", flushes.rows.length === 0);
    check("and says so", byId("flushes").textContent.includes(all ? "No flush matches no such flush anywhere." : "Nothing was flushed."));
    type("foo:bar hit:yes");
    check("an unknown column is said", byId("filter-note").textContent.includes("no column foo"));
    if (all) {
      const at = text(data.flushes.at[0]);
      type(at), check("a line finds its flushes", flushes.rows.includes(0));
      check("a line is no unknown column", byId("filter-note").textContent === "");
      type("line:" + at), check("so does line:", flushes.rows.includes(0) && flushes.rows.every((i) => text(data.flushes.at[i]).toLowerCase().includes(at.toLowerCase())));
      type("line:" + at.split(":")[1]), check("so does its number", flushes.rows.includes(0) && flushes.rows.every((i) => text(data.flushes.at[i]).endsWith(":" + at.split(":")[1])));
    }
    type("");
    check("an empty filter shows all", flushes.rows.length === all);
    flushes.sort(7);
    const lengths = flushes.rows.map((i) => data.flushes.length[i]);
    check("sorting by time", lengths.every((v, i) => i === 0 || lengths[i - 1] >= v));
    if (all) {
      const press = (key) => flushes.body.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
      flushes.body.focus();
      press("Home"), press("ArrowDown"), press("ArrowUp"), press("End");
      check("keys move the cursor", flushes.cursor === flushes.rows.length - 1 && !!byId("flushes").querySelector(".row.cursor"));
      press("Enter");
      check("Enter picks a row", flushes.chosen === flushes.rows[flushes.rows.length - 1]);
      const header = byId("flushes").querySelectorAll(".header span")[4];
      header.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true }));
      check("Enter sorts in the header", flushes.sorted === 4);
      flushes.sort(7);
      byId("timeline-all").click();
    }
    const span = timeline.to - timeline.from;
    timeline.canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -50, cancelable: true }));
    check("the wheel zooms the timeline", timeline.to - timeline.from < span);
    check("the timeline draws", timeline.drawn > 0 || !all);
    byId("timeline-all").click();
    check("nothing begins before what is shown", [data.spans, data.exchanges].every((of) => of.start.every((t) => t >= timeline.begin)));
    check("all is shown again", Math.abs(timeline.to - timeline.from - span) < span * 0.1);
    if (all) {
      const picked = flushes.rows[0], start = data.flushes.start[picked];
      flushes.choose(picked);
      check("a picked flush fills the timeline", timeline.from <= start && timeline.to >= start && timeline.to - timeline.from < 2 * data.flushes.length[picked] + 2);
    }
    byId("timeline-all").click();
    if (data.programs.length) {
      const nodes = graph.program.nodes.length, shown = byId("graph").querySelectorAll("g[data-v]").length;
      check("the graph has its nodes", shown > 0 && shown <= nodes);
      const width = graph.at.w;
      graph.root.dispatchEvent(new WheelEvent("wheel", { deltaY: -50, clientX: 10, clientY: 10, cancelable: true }));
      check("the wheel zooms the graph", graph.at.w < width);
      byId("graph-all").click();
      check("the whole graph is shown again", Math.abs(graph.at.w - width) < 1);
      const last = data.programs[data.programs.length - 1].program;
      byId("program-choice").value = last;
      byId("program-choice").dispatchEvent(new Event("change"));
      check("another program can be chosen", graph.program.program === last);
      check("its kernels are listed", byId("program-side").querySelectorAll("details").length === graph.program.kernels.length);
    }
    check("kernels of one line are one row", kernels.rows.length === kernels.groups.length && sum(kernels.groups.map((g) => g.members.length)) === data.kernels.total.length);
    check("a row has its kernels' time", Math.abs(sum(kernels.groups.map((g) => g.total)) - sum(data.kernels.total)) < 1e-3);
    const several = kernels.groups.findIndex((g) => g.members.length > 1);
    if (several >= 0) {
      const closed = kernels.rows.length, members = kernels.groups[several].members.length;
      kernels.choose(several);
      check("it opens", kernels.rows.length === closed + members && kernels.rows.indexOf(several) + 1 === kernels.rows.findIndex((r) => r >= kernels.groups.length));
      kernels.choose(several);
      check("it closes", kernels.rows.length === closed);
    } else check("no kernels share a line", kernels.groups.length === data.kernels.total.length);
    check("lines have all kernels' time", Math.abs(sum(byLine.lines.map((l) => l.total)) - sum(data.kernels.total)) < 1e-3);
    check("the dearest line is first", byLine.rows.every((r, i) => i === 0 || byLine.lines[byLine.rows[i - 1]].total >= byLine.lines[r].total));
    if (byLine.lines.length) {
      byLine.choose(byLine.rows[0]);
      check("a line opens to its kernels", byLine.rows.length === byLine.lines.length + byLine.lines[byLine.rows[0]].members.length);
      byLine.choose(byLine.rows[0]);
    }
    if (data.sums) {
      const [a, b] = data.sums;
      check("A is this trace", Math.abs(a.all.in_kernels - sum(data.kernels.total)) < 1 && a.all.flushes === all);
      check("lines of both are there", against.rows.length === new Set([...Object.keys(a.lines), ...Object.keys(b.lines)]).size);
      check("the largest change is first", against.rows.every((r, i) => i === 0 || Math.abs(against.lines[against.rows[i - 1]].b.in_kernels - against.lines[against.rows[i - 1]].a.in_kernels) >= Math.abs(against.lines[r].b.in_kernels - against.lines[r].a.in_kernels)));
    } else check("nothing is compared", byId("against-section").hidden && !against);
    testExchanges(check, timeline, exchanges);
    const placed = [...data.kernels.total.keys()].filter((i) => placeOf(text(data.kernels.purpose[i])));
    if (modules) {
      const root = modules.tree.root, time = sum(placed.map((i) => data.kernels.total[i]));
      check("modules have their kernels' time", Math.abs(timeOf(root) - time) < 1e-3 && Math.abs(time + modules.tree.elsewhere - sum(data.kernels.total)) < 1e-3);
      check("no module has less time than those in it", modules.all.every((m) => sum(m.members.map((r) => timeOf(modules.all[r].n))) <= timeOf(m.n) + 1e-6));
      check("a step goes forward, backward and updates", Object.values(root.time).every((t) => t > 0));
      const closed = modules.rows.length, inner = modules.rows.slice().reverse().find((r) => modules.all[r].members.length);
      if (inner) modules.choose(inner), check("a module opens", modules.rows.length === closed + modules.all[inner].members.length), modules.choose(inner);
      check("the flame graph is there", byId("flame").querySelectorAll("rect").length > 3);
    } else check("no kernel is of a module", placed.length === 0 && byId("modules-section").hidden);
    const wide = overflowing(), pale = faint();
    check("nothing overflows" + (wide.length ? ": " + wide.slice(0, 5).join("; ") : ""), wide.length === 0);
    check("texts have contrast" + (pale.length ? ": " + pale.slice(0, 8).join("; ") : ""), pale.length === 0);
    const cut = [...document.querySelectorAll("svg.chart text")].filter((t) => {
      const box = t.getBBox(), chart = t.ownerSVGElement.viewBox.baseVal;
      return box.x < -0.5 || box.x + box.width > chart.width + 0.5 || box.y < -0.5 || box.y + box.height > chart.height + 0.5;
    });
    check("no label of a chart is cut" + (cut.length ? ": " + cut.map((t) => t.textContent).join("; ") : ""), !cut.length);
    check("the memory chart is there", !!byId("memory").querySelector("path.area"));
    const { bands, holders } = data.memory;
    if (memory) {
      check("who held most at the peak is first", holders.every((h, r) => !r || holders[r - 1].at_peak >= h.at_peak) && byId("memory").querySelector(".body .row").textContent.includes(text(holders[0].name)));
      check("nobody ever had more than its most", holders.every((h) => h.most >= h.at_peak && h.most >= h.at_end));
      const sums = bands.at.map((_, i) => sum(bands.bytes.map((of) => of[i]))), highest = Math.max(...sums);
      check("bands have at the peak what all holders have", Math.abs(highest - sum(holders.map((h) => h.at_peak))) < 1);
      check("and no more than all memory", highest <= Math.max(...data.memory.bytes, 0) * 1.0001 || !data.memory.bytes.length);
      memory.choose(memory.rows[0]);
      check("a row shows its band", byId("memory").querySelectorAll("path.band.chosen").length === 1);
    } else check("nobody held memory", !holders.length && !bands.names.length);
  } catch (e) {
    lines.push("FAILED with " + e);
  }
  const failed = lines.filter((l) => !l.startsWith("ok ")).length;
  out.hidden = false;
  out.textContent = `selftest: ${failed ? failed + " failed" : "passed"}, ${lines.length} checks, ${innerWidth} px, ${matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"}\n` + lines.join("\n");
}
