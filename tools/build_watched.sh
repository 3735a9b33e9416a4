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

# build_watched's picture of how far it is, by what its variables say. ninja says that when a step has ended.
show_steps() {
  local seconds=$((SECONDS - begin)) steps width=0 text
  steps=$(sed -nE '/Re-checking/d; s,^@([0-9]+/[0-9]+)@.*,\1,p' "$log" | tail -n 1)
  text="$seconds s"
  if [ -n "$steps" ]; then
    width=$((30 * $steps))
    text="${steps%/*} of ${steps#*/} steps, $text"
  fi
  if [ -t 2 ]; then
    printf '\r[%-30s] %s\033[K' "${bar:0:width}" "$text" >&2
  elif [ $((seconds / 30)) -gt $told ]; then
    told=$((seconds / 30))
    printf 'building: %s\n' "$text" >&2
  fi
}
bar='##############################'
