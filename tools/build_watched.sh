# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by bash: a build by ninja that shows how far it is.
#
#   build_watched FOLDER TARGET...
#
# On a terminal it draws a bar of the steps, with the time; elsewhere it writes a line every half minute. What
# compilers say is written when the build has ended.

# It has a shell of its own, with which its traps end: an interrupted build leaves no process and no file.
build_watched() (
  folder=$1 begin=$SECONDS told=0 status=0
  shift
  log=$(mktemp)
  NINJA_STATUS='@%f/%t@ ' ninja -C "$folder" "$@" >"$log" 2>&1 &
  ninja=$!
  trap 'kill $ninja 2>/dev/null || true; wait $ninja || true; rm -f "$log"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  while kill -0 $ninja 2>/dev/null; do
    show_steps
    sleep 0.2
  done
  wait $ninja || status=$?
  [ ! -t 2 ] || printf '\r\033[K' >&2
  grep -vE '^(@[0-9]+/[0-9]+@|ninja: )' "$log" >&2 || true
  [ $status = 0 ] || printf 'dev: building %s failed; what the compiler says is above: ninja -C %q %s\n' "$*" "$folder" "$*" >&2
  exit $status
)

# build_watched's picture of how far it is, by what its variables say.
show_steps() {
  local seconds=$((SECONDS - begin)) steps finished all width
  steps=$(sed -nE 's,^@([0-9]+/[0-9]+)@.*,\1,p' "$log" | tail -n 1)
  [ -n "$steps" ] || steps=0/1
  finished=${steps%/*} all=${steps#*/}
  if [ -t 2 ]; then
    width=$((30 * finished / all))
    printf '\r[%-30s] %s of %s steps, %s s\033[K' "${bar:0:width}" "$finished" "$all" $seconds >&2
  elif [ $((seconds / 30)) -gt $told ]; then
    told=$((seconds / 30))
    printf 'building: %s of %s steps, %s s\n' "$finished" "$all" $seconds >&2
  fi
}
bar='##############################'
