// Puts the page together.
(() => {
  makeTiles();
  timelineLegend();
  const timeline = new Timeline(byId("timeline"));
  const flushes = makeFlushes(), kernels = makeKernels(), lines = makeLines(kernels);
  const exchanges = makeExchanges(timeline);
  const against = makeAgainst(), modules = makeModules();
  makeRoofline();
  const memory = makeMemory();
  makeCompile();
  makeMisses();
  const graph = new Graph(byId("graph"));
  on("flush", (i, from) => from === "table" && timeline.showFlush(i));
  // Goes to the place in the address: #flush=3 and #program=2 name one, so that it can be passed on.
  const [, what, number] = location.hash.match(/^#(flush|program)=(\d+)$/) || [];
  if (what === "flush" && number < data.flushes.start.length) flushes.choose(Number(number));
  if (what === "program") say("program", Number(number));
  if (location.hash === "#selftest") selftest({ timeline, flushes, kernels, lines, exchanges, against, modules, memory, graph });
})();
