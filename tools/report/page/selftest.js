// Tests the page if #selftest is in the address, and writes the result to the element of that name.
function selftest({ timeline, flushes, kernels, graph }) {
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
    if (all) type(text(data.flushes.at[0])), check("a line finds its flushes", flushes.rows.includes(0));
    type("");
    check("an empty filter shows all", flushes.rows.length === all);
    flushes.sort(7);
    const lengths = flushes.rows.map((i) => data.flushes.length[i]);
    check("sorting by time", lengths.every((v, i) => i === 0 || lengths[i - 1] >= v));
    const span = timeline.to - timeline.from;
    timeline.canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -50, cancelable: true }));
    check("the wheel zooms the timeline", timeline.to - timeline.from < span);
    check("the timeline draws", timeline.drawn > 0 || !all);
    byId("timeline-all").click();
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
    check("the memory chart is there", !!byId("memory").querySelector("path.area"));
  } catch (e) {
    lines.push("FAILED with " + e);
  }
  const failed = lines.filter((l) => !l.startsWith("ok ")).length;
  out.hidden = false;
  out.textContent = `selftest: ${failed ? failed + " failed" : "passed"}, ${lines.length} checks\n` + lines.join("\n");
}
