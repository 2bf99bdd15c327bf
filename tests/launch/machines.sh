#!/bin/bash
# machines.sh LAZY_LAUNCH RATE PROGRAM [ARGUMENT...]: runs a program as two ranks on two "machines", network namespaces with a cable
# between them that carries RATE (of tc: 1gbit; none: as much as it can). The launcher runs on the first one. Status 77: namespaces
# can't be made here.
set -u
launch=$1 rate=$2
shift 2
a=10.77.$(($$ % 200)).1 b=10.77.$(($$ % 200)).2
work=$(mktemp -d)
cleanup() {
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root makes network namespaces"
command -v ip >/dev/null || skip "there is no ip (iproute2)"
ip netns add "$a" 2>/dev/null && ip netns add "$b" 2>/dev/null || skip "network namespaces can't be made"
ip -n "$a" link add cable type veth peer name cable netns "$b" 2>/dev/null || skip "there are no virtual cables"
for host in "$a" "$b"; do
  ip -n "$host" addr add "$host/24" dev cable
  ip -n "$host" link set cable up
  ip -n "$host" link set lo up
  [ "$rate" = none ] || ip netns exec "$host" tc qdisc add dev cable root tbf rate "$rate" burst 256kb latency 100ms || skip "there is no tc"
done
printf '%s slots=1\n%s slots=1\n' "$a" "$b" > "$work/hosts"
printf '#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "$host" sh -c "$*"\n' > "$work/rsh"
chmod +x "$work/rsh"
ip netns exec "$a" "$launch" --hostfile "$work/hosts" --rsh "$work/rsh" "$@"
