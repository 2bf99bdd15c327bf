#!/bin/bash
# exits.sh LAZY_LAUNCH COUNT: launches end in all ways, elastic ones too, and what ranks have started ends with them.
set -u
launch=$1 count=$2
mark=lazy-launch-exits-$$
# Each rank starts a process that would outlive it, which has the mark in its command line.
for ((i = 0; i < count; i++)); do
  elastic=""
  [ $((i % 2)) = 0 ] && elastic="--max-restarts 0"
  way=$((i % 5))
  end=": "
  [ $way = 0 ] && end='[ $RANK = 1 ] && { sleep 0.1; exit 3; }'
  [ $way = 1 ] && end='[ $RANK = 0 ] && { sleep 0.1; kill -9 $$; }'
  "$launch" $elastic --nproc 2 bash -c "(exec -a $mark sleep 300) & $end; wait" $mark 2>/dev/null &
  launcher=$!
  case $way in
    2) sleep 0.1; kill -9 $launcher ;;
    3) sleep 0.1; kill -TERM $launcher ;;
    4) sleep 0.1; kill -INT $launcher; kill -HUP $launcher ;;
  esac
  wait $launcher 2>/dev/null
done
for ((tries = 0; tries < 50; tries++)); do
  n=0 left=""
  for p in /proc/[0-9]*; do
    grep -qz -- "$mark" "$p/cmdline" 2>/dev/null && [ "${p#/proc/}" != $$ ] && grep -q '^State:.[^ZX]' "$p/status" 2>/dev/null && n=$((n + 1)) left="$left ${p#/proc/}"
  done
  [ $n = 0 ] && { echo "$count launches, none is left"; exit 0; }
  sleep 0.1
done
echo "$n processes are left"
kill -9 $left
exit 1
