#!/bin/bash
# elastic.sh LAZY_LAUNCH PROGRAM RANKS KILLS [background]: ends ranks of a training at random moments, by SIGKILL
# and SIGSTOP: each time it is back within 10 seconds, and all losses are those of a training that nobody disturbs.
set -u
launch=$1 program=$2 ranks=$3 kills=$4 background=${5:-}
seed=${LAZY_TEST_SEED:-$$}
RANDOM=$seed
echo "LAZY_TEST_SEED=$seed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=$((150 * kills + 150))
mkdir "$work/calm" "$work/wild"
"$launch" --nproc "$ranks" "$program" "$work/calm" "$steps" 50 || { echo "the calm one failed"; exit 1; }
"$launch" --nproc "$ranks" --max-restarts 1000 --heartbeat 3 "$program" "$work/wild" "$steps" 10 $background &
launcher=$!
worst=0 done_kills=0
now() { echo $(($(date +%s%N) / 1000000)); }
generations() { cat "$work/wild/log" 2>/dev/null | grep -c '^generation'; }
while [ $done_kills -lt "$kills" ]; do
  until [ "$(generations)" -gt $done_kills ]; do
    kill -0 $launcher 2>/dev/null || { echo "the launcher ended after $done_kills kills"; exit 1; }
    sleep 0.02
  done
  sleep 0.$((RANDOM % 9))$((RANDOM % 9))
  victim=$(cat "$work/wild/pid.$((RANDOM % ranks))")
  signal=KILL
  [ $((RANDOM % 4)) = 0 ] && signal=STOP
  kill -$signal "$victim" || { echo "rank's process $victim is not there"; break; }
  begun=$(now)
  done_kills=$((done_kills + 1))
  until [ "$(generations)" -gt $done_kills ]; do
    [ $(($(now) - begun)) -lt 10000 ] || { echo "not back within 10 seconds of SIG$signal"; kill -9 $launcher; exit 1; }
    sleep 0.02
  done
  took=$(($(now) - begun))
  echo "back $took ms after SIG$signal"
  [ $took -gt $worst ] && worst=$took
  # Nothing of a generation that has ended goes on.
  grep -q '^State:.[^ZX]' "/proc/$victim/status" 2>/dev/null && { echo "process $victim is left"; exit 1; }
done
wait $launcher || { echo "the wild one failed"; exit 1; }
sort -u "$work/calm/log" | grep '^step' | sort > "$work/calm.losses"
sort -u "$work/wild/log" | grep '^step' | sort > "$work/wild.losses"
cmp "$work/calm.losses" "$work/wild.losses" || { diff "$work/calm.losses" "$work/wild.losses" | head -5; exit 1; }
# So are the weights at the end.
last=checkpoint-$(printf %012d $steps)
for run in calm wild; do
  "$launch" merge-weights --part model0 "$work/$run/state/$last" "$work/$run.safetensors" || exit 1
done
cmp "$work/calm.safetensors" "$work/wild.safetensors" || exit 1
repeated=$(($(grep -c '^step' "$work/wild/log") - steps))
echo "$done_kills kills, back after at most $worst ms, $repeated steps computed again, all losses the same"
