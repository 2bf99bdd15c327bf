#!/bin/bash
# elastic_grow.sh LAZY_LAUNCH PROGRAM: slots come and go while a training runs, by a script that prints them.
set -u
launch=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "$1" > "$work/hosts.part"; mv "$work/hosts.part" "$work/hosts"; }
until_log_has() {
  for ((tries = 0; tries < 600; tries++)); do
    grep -q "$1" "$work/log" 2>/dev/null && return
    kill -0 $launcher 2>/dev/null || break
    sleep 0.05
  done
  echo "the log has no $1:"
  grep -v '^step' "$work/log"
  kill -9 $launcher
  exit 1
}
say localhost:1
"$launch" --min 1 --max 3 --heartbeat 3 --port 29651 --host-discovery-script "cat $work/hosts" "$program" "$work" 4000 20 &
launcher=$!
until_log_has '^generation 0 of 1 ranks goes on from step 0, 0 resets'
until_log_has '^step 30 '
say localhost:4
until_log_has '^generation 1 of 3 ranks goes on from step [1-9][0-9]*, 1 resets'
until_log_has '^step 300 '
say localhost:2
until_log_has '^generation 2 of 2 ranks goes on from step [1-9][0-9]*, 1 resets'
kill -TERM $launcher
wait $launcher
[ $? = 143 ] || { echo "it did not end by the signal"; exit 1; }
# Each generation goes on where the one before has committed: no step was computed twice.
[ -z "$(grep -o '^step [0-9]*' "$work/log" | sort | uniq -d)" ] || { echo "steps were computed again"; exit 1; }
echo "1, 3 and 2 ranks"
