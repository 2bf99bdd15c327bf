#!/bin/sh
# traces.sh LAZY_LAUNCH LAZY_REPORT PROGRAM: traces of ranks become one, in which each has threads and programs of its own, and
# arrows join their exchanges.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --nproc 2 --profile "$work/trace.json" "$3" "$work" 6 3 2> "$work/said" || { cat "$work/said"; exit 1; }
for r in 0 1; do
  grep -q "^rank $r: [0-9.]*% of its time in exchanges, [0-9.]*% waiting for others; last to [0-9]* of" "$work/said" || { cat "$work/said"; exit 1; }
done
"$2" --text "$work/trace.json" > "$work/summary" || { echo "no trace for lazy-report"; exit 1; }
"$2" -o "$work/page.html" "$work/trace.json" || exit 1
for r in 0 1; do
  grep -q "\"rank $r main\"" "$work/trace.json" || { echo "rank $r has no thread"; exit 1; }
  grep -q "\"pid\":$r," "$work/trace.json" || { echo "rank $r has no events"; exit 1; }
done
grep -q '"cat":"comm".*"name":"all_reduce"' "$work/trace.json" || { echo "no exchange is in the trace"; exit 1; }
[ "$(grep -c '"ph":"s"' "$work/trace.json")" -gt 5 ] || { echo "no arrows join exchanges"; exit 1; }
lines() { grep '"ph"' "$1" | grep -v -c '"ph":"[sf]"'; }
[ "$(lines "$work/trace.json")" = $(($(lines "$work/trace.rank0.json") + $(lines "$work/trace.rank1.json"))) ] ||
  { echo "events are missing"; exit 1; }
echo "one trace of two"
