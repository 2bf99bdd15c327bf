"""Tables of figures: a row a line, the library beside its peers."""

import math

from . import limits
from .against import mean

# These fuse when the program is compiled, not when it runs: below 5 us, where deciding is all the work, they don't count.
BUILT_AHEAD = ("hand", "eigen", "onednn", "openblas")
DECIDING_US = 5
LESS_ACCURATE = 4  # times the library's error in ulp, from which a peer's figure is marked


def short(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def by_row(figures, threads):
    """Returns {(workload, size): {peer: figure}}, in the order of the figures."""
    rows = {}
    for f in figures:
        if f.threads == threads:
            rows.setdefault((f.workload, f.size), {})[f.peer] = f
    return rows


def less_accurate(peer, own):
    """True if the peer's results are so much further off that its time is another row's."""
    return peer["max_ulp"] > LESS_ACCURATE * max(own["max_ulp"], 1)


def counts(peer, f, own):
    """True if the peer's time is one to compare with: it decides at run time too, or deciding hardly matters."""
    return not peer.startswith("lazy") and (own.median_us >= DECIDING_US or peer not in BUILT_AHEAD)


def best_peer(row):
    """Returns the fastest figure of a peer that counts and is as accurate, or None."""
    own = row["lazy"]
    others = [f for p, f in row.items() if p != "lazy" and counts(p, f, own) and not less_accurate(f, own)]
    return min(others, key=lambda f: f.median_us, default=None)


def times(figures, threads, peers):
    """Returns the table of one number of threads."""
    lines = [f"### {threads} thread(s): median us, in brackets the peer's time over the library's", "",
             "| workload | size | lazy | limit | " + " | ".join(peers) + " |", "|---" * (len(peers) + 4) + "|"]
    best, marked = [], False
    for (workload, size), row in by_row(figures, threads).items():
        if "lazy" not in row:
            continue
        own = row["lazy"]
        floor = limits.shortest(own)
        share = f"{min(floor / own.median_us, 9.99):.0%}" if floor else ""
        cells = []
        for p in peers:
            f = row.get(p)
            mark = "~" if f and less_accurate(f, own) else ""
            marked |= bool(mark)
            cells.append(f"{short(f.median_us)} ({f.median_us / own.median_us:.2f}){mark}" if f else "")
        fastest = best_peer(row)
        if fastest:
            best.append(fastest.median_us / own.median_us)
        lines.append(f"| {workload} | {size} | {short(own.median_us)} | {share} | " + " | ".join(cells) + " |")
    if marked:
        lines += ["", f"~: its largest error, in ulp, is more than {LESS_ACCURATE} times the library's; it counts for no mean."]
    if best:
        lines += ["", f"First in {sum(r >= 1 for r in best)} of {len(best)} rows; geometric mean over the best peer of each row: {mean(best):.2f}."]
    return lines


def ordered(figures, threads):
    """Returns the table of every row beside its best peer, where the library is furthest behind first."""
    found = []
    for row in by_row(figures, threads).values():
        if "lazy" in row and (best := best_peer(row)):
            found.append((best.median_us / row["lazy"].median_us, row["lazy"], best))
    lines = [f"### {threads} thread(s): each row beside its best peer, by the peer's time over the library's", "",
             "| workload | size | lazy us | best peer us | | ratio | spread | ulp |", "|---" * 8 + "|"]
    for ratio, own, best in sorted(found, key=lambda x: x[0]):
        spreads = " / ".join("?" if math.isnan(f["spread_pct"]) else f"{f['spread_pct']:.1f}%" for f in (own, best))
        ulps = " / ".join("?" if math.isnan(f["max_ulp"]) else f"{f['max_ulp']:.3g}" for f in (own, best))
        lines.append(f"| {own.workload} | {own.size} | {short(own.median_us)} | {short(best.median_us)} | {best.peer} | {ratio:.2f} | {spreads} | "
                     f"{ulps if ulps != '? / ?' else ''} |")
    if found:
        ratios = [r for r, _, _ in found]
        lines += ["", f"First in {sum(r >= 1 for r in ratios)} of {len(ratios)} rows; geometric mean {mean(ratios):.2f}."]
    return lines


def errors(figures, threads, peers):
    """Returns the table of the largest errors: ulp, absolute in brackets; [] if none are known."""
    told = lambda f: f"{f['max_ulp']:.3g} ({f['max_abs']:.1g})" if f and not math.isnan(f["max_ulp"]) else ""
    columns = ["lazy", *peers]
    body = []
    for (workload, size), row in by_row(figures, threads).items():
        cells = [told(row.get(p)) for p in columns]
        if any(cells):
            body.append(f"| {workload} | {size} | " + " | ".join(cells) + " |")
    if not body:
        return []
    return [f"### {threads} thread(s): largest error in ulp, absolute in brackets", "",
            "| workload | size | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|", *body]


def about(texts):
    """Returns what the rows of a side ran on: the parts that all of them have."""
    parts = [t.split("; ") for t in texts if t]
    common = [p for p in parts[0] if all(p in other for other in parts)] if parts else []
    return "; ".join(common) or "unknown"


def draw(path, points, peers):
    """Draws points (label, peer, ratio): one line a row, ratios on a logarithmic axis from 1/8 to 128."""
    labels = list(dict.fromkeys(p[0] for p in points))
    colours = dict(zip(peers, ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#9c6b4e"] * 3))
    left, width, step, top = 260, 700, 18, 60
    height = top + step * len(labels) + 40
    x = lambda r: left + width * (math.log2(min(max(r, 0.125), 128)) + 3) / 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="18">a peer\'s time over the library\'s: to the right of 1 the library is faster</text>']
    for i, p in enumerate(peers):
        out.append(f'<circle cx="{left + 100 * i + 6}" cy="36" r="4" fill="{colours[p]}"/><text x="{left + 100 * i + 14}" y="40">{p}</text>')
    for e in range(-3, 8):
        r = 2.0**e
        out.append(f'<line x1="{x(r):.1f}" x2="{x(r):.1f}" y1="{top - 8}" y2="{height - 30}" stroke="{"black" if e == 0 else "#ddd"}"/>')
        out.append(f'<text x="{x(r):.1f}" y="{height - 12}" text-anchor="middle">{r:g}</text>')
    for i, label in enumerate(labels):
        y = top + step * i + 6
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{label}</text>')
        for l, p, r in points:
            if l == label:
                out.append(f'<circle cx="{x(r):.1f}" cy="{y}" r="4" fill="{colours[p]}"><title>{label}: {p} {r:.2f}</title></circle>')
    with open(path, "w") as f:
        f.write("\n".join(out + ["</svg>"]) + "\n")
