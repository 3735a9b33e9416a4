# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by ./dev: programs of tests, several beside each other.
#
#   run_suite LABEL COMMAND...      begins a run, as soon as a processor has room for it
#   report_suites MOST              reports the runs that ended, until fewer than MOST run; counts in `passed` and `failed`
#   find_emulator PRESET            what runs the preset's programs, into `emulator`
#   program PRESET NAME             prints the path of one
#   limit SECONDS                   the words that limit a command, into `limited`
#   wine_cannot [PROGRAM...]        what wine cannot run, into `left_out`

what_failed() {  # what_failed LOG: failed checks, reports of sanitizers, and the end
  grep -aE 'FAILED|error:|ERROR:|WARNING: Thread|this test takes longer' -A 6 "$1" | head -n 100 || true
  tail -n 15 "$1"
}

processors() {
  getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}

# macOS has no timeout, but it has perl.
limit() {  # limit SECONDS: the words that go in front of a command that may hang, into `limited`
  limited=(timeout "$1")
  command -v timeout >/dev/null || limited=(perl -e 'alarm shift; exec @ARGV' "$1")
}

at_once=$(($(processors) + 1))
running=()
passed=0 failed=0
scratch=""

# What an interrupt leaves behind: nothing. What a shell runs in the background ignores the terminal's.
trap leave_nothing EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

leave_nothing() {
  local i
  for ((i = 2; i < ${#running[@]}; i += 3)); do end_tree "${running[i]}"; done
  [ -z "$scratch" ] || rm -rf "$scratch"
  [ -z "${wine_folders-}" ] || leave_own_wine
}

end_tree() {  # end_tree PID: a process and all below it
  local child
  for child in $(pgrep -P "$1" 2>/dev/null); do end_tree "$child"; done
  kill "$1" 2>/dev/null || true
}

own_wine() {
  use_own_wine && trap leave_nothing EXIT
}

# A suite leaves a processor idle half of the time, and none of its tests may depend on having the
# machine to itself: more runs than processors.
run_suite() {  # run_suite LABEL COMMAND...: begins a run when fewer than `at_once` are under way
  report_suites "$at_once"
  local log label=$1
  [ -n "$scratch" ] || scratch=$(mktemp -d)
  log=$(mktemp "$scratch/XXXXXX")
  shift
  (
    status=0
    "$@" >"$log" 2>&1 || status=$?
    echo $status >"$log.status"
  ) &
  running+=("$label" "$log" $!)
}

report_suites() {  # report_suites MOST: a line for each that has ended, until fewer than MOST run
  local label log pid status still
  while :; do
    still=()
    while [ ${#running[@]} != 0 ]; do
      label=${running[0]} log=${running[1]} pid=${running[2]} running=("${running[@]:3}") status=lost
      if kill -0 "$pid" 2>/dev/null; then
        still+=("$label" "$log" "$pid")
        continue
      fi
      [ -f "$log.status" ] && read -r status <"$log.status"
      if [ "$status" = 0 ]; then
        printf 'ok    %s: %s\n' "$label" "$(grep -aE 'All tests passed|assertions' "$log" | tail -n 1)"
        passed=$((passed + 1))
      else
        printf 'FAIL  %s (exit %s)\n' "$label" "$status"
        what_failed "$log"
        failed=$((failed + 1))
      fi
      rm -f "$log" "$log.status"
    done
    running=(${still[@]+"${still[@]}"})
    [ $((${#running[@]} / 3)) -ge "$1" ] || return 0
    sleep 0.2
  done
}

read_emulator() {  # read_emulator PRESET: the command that runs its programs, into `emulator`
  local word
  emulator=()
  while IFS= read -r word; do
    [ -z "$word" ] || emulator+=("$word")
  done <"build/$1/tests/emulator"
}

# What was configured may need an emulator, as may the programs that tests start.
find_emulator() {  # find_emulator PRESET: into `emulator`
  read_emulator "$1"
  [ ${#emulator[@]} != 0 ] || return 0
  export THRUM_TEST_SCALE=${THRUM_TEST_SCALE:-10}  # some ten times as slow
  # qemu translates the code of a child that was forked with memory from glib, whose lock another thread
  # may have held at that moment: the child would wait for ever. The C library's can be forked.
  export G_SLICE=always-malloc
  # Under wine what a program starts runs there as well.
  [ "$1" = x86_64-windows ] || export THRUM_TEST_EMULATOR="${emulator[*]}"
}

program() {  # program PRESET NAME: one of the tests' programs
  local path=build/$1/tests/$2
  [ ! -e "$path.exe" ] || path=$path.exe
  printf '%s' "$path"
}

# What wine cannot do: a test and the reason a line. A name that no test has is an error.
wine_cannot() {  # wine_cannot [PROGRAM...]: into `left_out`; PROGRAM has all tests, by which names are checked
  local line name known=""
  left_out=('~[.]')  # by exclusions alone Catch2 would take the hidden ones, too
  [ $# = 0 ] || known=$("$@" --list-test-names-only | tr -d '\r') || true
  while IFS= read -r line; do
    case $line in '' | '#'*) continue ;; esac
    name=${line%% | *}
    [ "$name" != "$line" ] || die "tests/wine_cannot.txt: no reason is given for: $line"
    [ $# = 0 ] || grep -qxF -e "$name" <<<"$known" || die "tests/wine_cannot.txt: there is no test $name"
    name=${name//\\/\\\\}
    left_out+=("~\"${name//,/\\,}\"")
  done <tests/wine_cannot.txt
}
