#!/bin/bash
# ssh.sh LAZY_LAUNCH ELASTIC_TRAIN: two "machines", network namespaces with a cable between them, each with an sshd of Debian's that has
# keys of its own in a folder that is thrown away. The launcher on the first one starts ranks on both by `ssh`, as it does by default: they
# meet; variables and words arrive as they are; a rank that fails is told of last; signals are passed on; and whatever ends, nobody is left
# behind. Status 77: there is no sshd, or namespaces can't be made here.
set -u
launch=$1 train=$2
net=10.78.$(($$ % 200))
a=$net.1 b=$net.2 port=2222
mark=lazy-ssh-$$
work=$(mktemp -d)
cleanup() {
  [ -f "$work/$a.pid" ] && kill "$(cat "$work/$a.pid")" 2>/dev/null
  [ -f "$work/$b.pid" ] && kill "$(cat "$work/$b.pid")" 2>/dev/null
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "failed: $1"; for f in "$work"/*.log "$work/out" "$work/err"; do [ -s "$f" ] && { echo "--- $f"; tail -20 "$f"; }; done; exit 1; }
[ "$(id -u)" = 0 ] || skip "only root makes network namespaces"
sshd=$(command -v sshd || echo /usr/sbin/sshd)
[ -x "$sshd" ] && command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || skip "there is no sshd, ssh or ssh-keygen (openssh-server)"
command -v ip >/dev/null || skip "there is no ip (iproute2)"
ip netns add "$a" 2>/dev/null && ip netns add "$b" 2>/dev/null || skip "network namespaces can't be made"
ip -n "$a" link add cable type veth peer name cable netns "$b" 2>/dev/null || skip "there are no virtual cables"
ssh-keygen -q -t ed25519 -N '' -f "$work/user" && ssh-keygen -q -t ed25519 -N '' -f "$work/other" || skip "ssh-keygen makes no keys"
for host in "$a" "$b"; do
  ip -n "$host" addr add "$host/24" dev cable
  ip -n "$host" link set cable up
  ip -n "$host" link set lo up
  ssh-keygen -q -t ed25519 -N '' -f "$work/$host.key"
  cat > "$work/$host.config" <<END
Port $port
ListenAddress $host
HostKey $work/$host.key
PidFile $work/$host.pid
AuthorizedKeysFile $work/user.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
END
  echo "[$host]:$port $(cut -d' ' -f1,2 "$work/$host.key.pub")" >> "$work/known"
  # Where sshd separates its privileges is its own folder: it is made in a mount that nobody else sees.
  ip netns exec "$host" sh -c "mount -t tmpfs none /run && mkdir -p /run/sshd && exec $sshd -f $work/$host.config -E $work/$host.log" ||
    skip "sshd does not start here"
done
cat > "$work/client" <<END
Host *
  Port $port
  User root
  IdentityFile $work/user
  IdentitiesOnly yes
  UserKnownHostsFile $work/known
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 10
END
rsh="ssh -F $work/client"
for host in "$a" "$b"; do
  tries=0
  until ip netns exec "$a" $rsh "$host" true 2> "$work/err"; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || fail "ssh does not reach $host"
    sleep 0.1
  done
done
printf '%s slots=1\n%s slots=1\n' "$a" "$b" > "$work/hosts"

# run STATUS COMMAND...: as the ranks of both machines.
start() { ip netns exec "$a" "$launch" --hostfile "$work/hosts" --rsh "$rsh" "$@" > "$work/out" 2> "$work/err"; }
run() {
  local wanted=$1
  shift
  start "$@"
  local status=$?
  [ $status = "$wanted" ] || fail "$* ended with status $status, not $wanted"
}
says() { grep -qE -- "$2" "$work/$1" || fail "standard $1 lacks: $2"; }
await() {  # await FILE...: until these are there
  local tries=0
  for f in "$@"; do
    until [ -s "$f" ]; do
      tries=$((tries + 1))
      [ $tries -lt 300 ] || fail "$f does not come"
      sleep 0.1
    done
  done
}
# nobody: looks for processes that have the mark in their command line, or are ssh's of these machines.
nobody() {
  local tries=0 left
  while :; do
    left=""
    for p in /proc/[0-9]*; do
      grep -qzE -- "$mark|^$work/client$" "$p/cmdline" 2>/dev/null && [ "${p#/proc/}" != $$ ] &&
        grep -q '^State:.[^ZX]' "$p/status" 2>/dev/null && left="$left ${p#/proc/}"
    done
    [ -z "$left" ] && return
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { for p in $left; do tr '\0' ' ' < "/proc/$p/cmdline"; echo; done; kill -9 $left; fail "$1: processes are left"; }
    sleep 0.1
  done
}

LAZY_COMM=tcp LAZY_LOG=comm run 0 "$launch" test-rank
says out '2 ranks: collectives and a training step ok'
says err 'rank 1: all_reduce of' # LAZY_LOG has reached the other machine

LAZY_SEED='a "b" $c' run 0 sh -c 'echo "$RANK: $0, $1, $LAZY_SEED, $(ip -o -4 addr show cable | grep -o "10[.0-9]*" | head -1)" # it is' "it's" 'two  words'
says out "^\[0\] 0: it's, two  words, a \"b\" \\\$c, $a$"
says out "^\[1\] 1: it's, two  words, a \"b\" \\\$c, $b$"

# A rank fails: its last lines come last, the others end with it.
run 7 bash -c "(exec -a $mark sleep 300) & [ \$RANK = 1 ] && { echo no data >&2; exit 7; }; wait" $mark
says err 'was the first to fail: it ended with status 7'
[ "$(tail -1 "$work/err")" = '  | no data' ] || [ "$(tail -1 "$work/err")" = '  |   | no data' ] || fail "its error does not come last"
nobody "a rank failed"
run 137 bash -c "(exec -a $mark sleep 300) & [ \$RANK = 0 ] && kill -9 \$\$; wait" $mark
nobody "a rank was killed"

# Signals reach the ranks of both machines; the launcher ends by what it was ended by.
for signal in TERM INT HUP; do
  rm -f "$work"/rank.* "$work"/got.*
  start bash -c "trap 'echo \$RANK > $work/got.\$RANK; exit 0' TERM INT HUP; (exec -a $mark sleep 300) & echo \$\$ > $work/rank.\$RANK; wait" $mark &
  await "$work/rank.0" "$work/rank.1"
  launcher=$(pgrep -f -x "$launch --hostfile $work/hosts .*" | head -1)
  kill -$signal "$launcher"
  wait $!
  await "$work/got.0" "$work/got.1"
  nobody "SIG$signal"
done
# Nobody is left where the launcher, or the connection, has no time to say anything.
for victim in launcher connection server; do
  rm -f "$work"/rank.*
  start bash -c "(exec -a $mark sleep 300) & echo \$\$ > $work/rank.\$RANK; wait" $mark &
  await "$work/rank.0" "$work/rank.1"
  case $victim in
    launcher) kill -9 "$(pgrep -f -x "$launch --hostfile $work/hosts .*" | head -1)" ;;
    connection) kill -9 "$(pgrep -f -- "-F $work/client $b" | head -1)" ;;
    server) kill -9 "$(pgrep -P "$(cat "$work/$b.pid")" | head -1)" ;;
  esac
  wait $!
  nobody "SIGKILL of the $victim"
done

# A host whose key is another one is not taken for it.
sed -i "s|^\[$b\]:$port .*|[$b]:$port $(cut -d' ' -f1,2 "$work/other.pub")|" "$work/known"
run 255 true
says err 'Host key verification failed'
nobody "a wrong key"
echo "[$b]:$port $(cut -d' ' -f1,2 "$work/$b.key.pub")" > "$work/known"
echo "[$a]:$port $(cut -d' ' -f1,2 "$work/$a.key.pub")" >> "$work/known"

# An elastic launch goes on after a rank of the other machine was killed.
mkdir "$work/train"
start --min 1 --max 2 --cooldown 0 "$train" "$work/train" 400 20 $mark &
await "$work/train/pid.1"
sleep 0.3
kill -9 "$(cat "$work/train/pid.1")"
wait $! || fail "the elastic launch failed"
says out 'done: 1 restarts'
nobody "an elastic launch"
echo "two machines by ssh: all is well, and nobody is left"
