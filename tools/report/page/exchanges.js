// Shows what ranks exchanged: a table by kind and line, and in the timeline lanes of each rank, where waiting for others is
// told apart from the rest, and lines that join the parts of an exchange where the last rank came.
const rankName = (r) => data.ranks[r] || "this rank";

function describeExchange(i) {
  const x = data.exchanges, lines = [(data.ranks[x.rank[i]] ? data.ranks[x.rank[i]] + ", " : "") + text(x.name[i]) + "  " + duration(x.length[i])];
  if (text(x.at[i])) lines.push("at " + text(x.at[i]));
  if (x.elements[i]) lines.push(counted(x.elements[i], "element") + (x.bytes[i] ? ", " + bytes(x.bytes[i]) : ""));
  if (x.awaited[i] < 0) lines.push("Who was waited for is not known of one rank's trace.");
  else if (x.awaited[i] !== x.rank[i]) lines.push("waited " + duration(x.waited[i]) + " for " + rankName(x.awaited[i]) + ", then took " + duration(x.length[i] - x.waited[i]));
  else lines.push("waited for no other rank");
  lines.push("at " + duration(x.start[i]));
  return lines.join("\n");
}

// Returns the lanes of each rank's exchanges. Those that overlap, which several threads are at, lie below each other.
function exchangeLanes() {
  const x = data.exchanges, lanes = data.ranks.map(() => []);
  const order = [...x.start.keys()].sort((a, b) => x.start[a] - x.start[b]);
  for (const i of order) {
    const of = lanes[x.rank[i]];
    let lane = of.find((l) => l.end <= x.start[i]);
    if (!lane) of.push((lane = { source: x, items: [], exchange: true, label: of.length ? "" : (data.ranks[x.rank[i]] + " exchanges").trim() }));
    lane.end = x.start[i] + x.length[i];
    lane.items.push(i);
  }
  return lanes;
}

// Returns where the last rank came to each exchange that others waited in: {at, last, others (parts), longest}, by time.
function exchangeJoins() {
  const x = data.exchanges, byNumber = new Map();
  for (const i of x.start.keys()) byNumber.has(x.number[i]) ? byNumber.get(x.number[i]).push(i) : byNumber.set(x.number[i], [i]);
  const joins = [];
  for (const parts of byNumber.values()) {
    const last = parts.reduce((a, b) => (x.start[b] > x.start[a] ? b : a));
    const others = parts.filter((i) => i !== last && x.awaited[i] === x.rank[last]);
    if (others.length) joins.push({ at: x.start[last], last, others, longest: Math.max(...parts.map((i) => x.length[i])) });
  }
  return joins.sort((a, b) => a.at - b.at);
}

function makeExchanges(timeline) {
  const all = data.exchange_rows, x = data.exchanges;
  if (!all.length) return null;
  byId("exchanges-section").hidden = false;
  byId("exchanges-link").hidden = false;
  const known = x.awaited.some((r) => r >= 0), open = new Set(), rows = all.map((row) => ({ ...row, row, members: [] }));
  all.forEach((row, r) => {
    for (const of of row.ranks) rows[r].members.push(rows.push({ ...of, kind: row.kind, at: row.at, elements: row.elements, bytes: row.bytes, row }) - 1);
  });
  const of = (r) => rows[r], top = (r) => r < all.length;
  const label = (r) => (!top(r) ? "\u2003\u2003" + of(r).rank : (of(r).members.length ? (open.has(r) ? "▾ " : "▸ ") : "") + of(r).kind);
  const forWhom = (r) => (of(r).for || []).map((f) => f.rank + " " + duration(f.waited)).join(", ");
  const waited = (r) => of(r).waited || 0, share = (r) => waited(r) / Math.max(of(r).time, 1e-9);
  // Shows in the timeline the exchange of a row that was waited in longest, or that took longest.
  const show = (r) => {
    const mine = [...x.start.keys()].filter((i) => text(x.name[i]) === of(r).kind && text(x.at[i]) === of(r).at && (top(r) || data.ranks[x.rank[i]] === of(r).rank));
    if (mine.length) timeline.showExchange(mine.reduce((a, b) => (x.waited[b] - x.waited[a] || x.length[b] - x.length[a]) > 0 ? b : a));
  };
  const table = new Table(byId("exchanges"), [
    { title: "exchange", width: "minmax(140px, 1fr)", value: label, show: label },
    { title: "line", width: "minmax(130px, 1.2fr)", value: (r) => of(r).at, show: (r) => of(r).at },
    { title: "times", width: "56px", value: (r) => of(r).exchanges, show: (r) => plain(of(r).exchanges), right: true },
    { title: "elements", width: "84px", value: (r) => of(r).elements, show: (r) => (of(r).elements ? plain(Math.round(of(r).elements)) : "–"), tip: "of a rank, in one exchange, on average", right: true },
    { title: "bytes", width: "72px", value: (r) => of(r).bytes, show: (r) => (of(r).bytes ? bytes(Math.round(of(r).bytes)) : "–"), tip: "of a rank, in one exchange, on average", right: true },
    { title: "in all", width: "84px", value: (r) => of(r).time, show: (r) => duration(of(r).time), tip: "of all ranks together", right: true },
    { title: "waited", width: "84px", value: waited, show: (r) => (known ? duration(waited(r)) : "–"), tip: "until the last rank came", right: true },
    { title: "of it", width: "50px", value: share, show: (r) => (known ? Math.round(share(r) * 100) + "%" : "–"), right: true },
    { title: "for whom", width: "minmax(200px, 1.8fr)", value: forWhom, show: forWhom },
  ], [...all.keys()], (r) => {
    show(r);
    if (!top(r) || !of(r).members.length) return;
    open.has(r) ? open.delete(r) : open.add(r);
    table.set(table.top);
  }, (r) => (open.has(r) ? of(r).members : []));
  table.of = of;
  table.sort(5);
  const time = sum(all.map((r) => r.time)), wait = sum(all.map((r) => r.waited || 0));
  byId("exchanges-all").textContent = duration(time) + (known ? ", of which " + duration(wait) + " waiting" : "");
  if (known) byId("exchanges-hint").textContent += ", times of all ranks added up; a row opens to its ranks and shows where most was waited";
  byId("exchanges-note").textContent = known ? "" : "Who was waited for is not known of one rank's trace; lazy-launch --profile joins those of all ranks.";
  table.ranks = known ? makeRanks(timeline, all) : null;
  return table;
}

// Adds up exchanges by rank: how long each waited, and was waited for.
function makeRanks(timeline, lines) {
  const x = data.exchanges;
  const ranks = data.ranks.map((name, rank) => {
    const own = lines.flatMap((l) => l.ranks.filter((r) => r.rank === name)), of = (key) => sum(own.map((r) => r[key]));
    return { name, rank, exchanges: of("exchanges"), time: of("time"), waited: of("waited"), awaited: sum(lines.flatMap((l) => l.for.filter((f) => f.rank === name).map((f) => f.waited))) };
  });
  byId("ranks-part").hidden = false;
  const table = new Table(byId("ranks"), [
    { title: "rank", width: "minmax(140px, 2fr)", value: (r) => -r, show: (r) => ranks[r].name },
    { title: "exchanges", width: "84px", value: (r) => ranks[r].exchanges, show: (r) => plain(ranks[r].exchanges), right: true },
    { title: "in all", width: "84px", value: (r) => ranks[r].time, show: (r) => duration(ranks[r].time), right: true },
    { title: "waited", width: "84px", value: (r) => ranks[r].waited, show: (r) => duration(ranks[r].waited), right: true },
    { title: "waited for it", width: "110px", value: (r) => ranks[r].awaited, show: (r) => duration(ranks[r].awaited), tip: "what the others did, together", right: true },
  ], [...ranks.keys()], (r) => {
    const kept = [...x.start.keys()].filter((i) => x.awaited[i] === r && x.waited[i] > 0);
    if (kept.length) timeline.showExchange(kept.reduce((a, b) => (x.waited[b] > x.waited[a] ? b : a)));
  });
  table.of = (r) => ranks[r];
  table.sort(4);
  return table;
}
