#!/bin/sh
# Compiles for a project that takes the library's sources in; a compiler launcher: reuse.sh THERE HERE COMMAND...
# THERE is where the library was built on its own, HERE where the project builds it. What was compiled there by the same
# command is the same object, and taken from there. HERE/commands has those commands as reuse.sed leaves them;
# HERE/compiled gets the names of objects that are made anew.
set -eu
there=$1 here=$2
shift 2
within=${here#"$PWD"/}
object=
previous=
for word in "$@"; do
  [ "$previous" != -o ] || object=$word
  previous=$word
done
same=$there/${object#"$within"/}
normal=$(printf '%s\n' "$*" | sed -e "s|$here|$there|g; s|$within/||g" -f "${0%.sh}.sed")
if [ -f "$same" ] && grep -Fxq -e "$normal" "$here/commands"; then
  cp "$same" "$object"
  : > "$object.d"
else
  printf '%s\n' "$object" >> "$here/compiled"
  exec "$@"
fi
