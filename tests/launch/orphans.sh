#!/bin/sh
# orphans.sh LAZY_LAUNCH: kills the launcher by SIGKILL, which it can't hear, and looks for ranks that are left.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --nproc 2 sh -c 'echo $$ > "$0/$RANK.part"; mv "$0/$RANK.part" "$0/$RANK"; exec sleep 300' "$work" &
launcher=$!
tries=0
until test -s "$work/0" && test -s "$work/1"; do
  tries=$((tries + 1))
  test $tries -lt 300 || { echo "the ranks did not start"; kill -9 $launcher; exit 1; }
  sleep 0.1
done
kill -0 "$(cat "$work/0")" && kill -0 "$(cat "$work/1")" || { echo "a rank has ended by itself"; exit 1; }
kill -9 $launcher
wait $launcher 2>/dev/null
tries=0
# A rank that is dead but not yet waited for counts as gone.
while for r in 0 1; do grep -q '^State:.[^ZX]' "/proc/$(cat "$work/$r")/status" 2>/dev/null && break; done; do
  tries=$((tries + 1))
  test $tries -lt 100 || { echo "ranks are left: $(cat "$work"/[01])"; kill -9 $(cat "$work"/[01]); exit 1; }
  sleep 0.1
done
echo "none is left"
