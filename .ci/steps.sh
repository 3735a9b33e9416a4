# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What .ci/run and .ci/more have together: steps, and chains of them that run beside each other. Sourced
# by bash, in the root of the tree.
#
# A step tells at once how it ended, so that of a run that was interrupted the half is known: one line,
# with its time and what it used of a processor; if it failed, what its log says of that. Each has a
# limit, after which all that it started is killed. Logs and results are kept in build/ci/.
mkdir -p build/ci
rm -f build/ci/*.result build/ci/*.left
chains=()

log_of() {  # log_of NAME: without the ending
  printf 'build/ci/%s' "$(printf '%s' "$1" | tr -cs 'a-zA-Z0-9' '-')"
}

: "${limit:=1200}"  # seconds; a step may have its own: limit=60 step ...

step() {  # step NAME COMMAND...: runs it, which may be a function, and reports it
  local name=$1 log worker guard status=lost seconds=0 user=0 system=0
  log=$(log_of "$1")
  shift
  set -m  # a group of processes of its own
  (
    TIMEFORMAT='%0R %0U %0S'
    { time "$@" >"$log.log" 2>&1 </dev/null; } 2>"$log.times"
    # The shell's word of a signal that ended it comes first.
    echo "$? $(tail -n 1 "$log.times")" >"$log.result"
  ) &
  worker=$!
  (
    sleep "$limit"
    printf '\nERROR: stopped after the %s seconds that this step has\n' "$limit" >>"$log.log"
    kill -TERM -- -$worker
    sleep 5
    kill -KILL -- -$worker
  ) >/dev/null 2>&1 &
  guard=$!
  set +m
  wait $worker 2>/dev/null
  kill -KILL -- -$guard 2>/dev/null
  wait $guard 2>/dev/null
  [ -f "$log.result" ] && read -r status seconds user system <"$log.result"
  [ -f "$log.result" ] || echo "lost 0 0 0" >"$log.result"
  report "$name" "$log" "$status" "$seconds" $((user + system))
}

report() {  # report NAME LOG STATUS SECONDS CPU: in one piece, whatever other chains have to say
  local told
  if [ "$3" = 0 ]; then
    told=$(printf 'ok    %-66s %4ss %5s CPU s' "$1" "$4" "$5")
  else
    # What failed first, as the end may be a long way from it.
    told=$(
      printf 'FAIL  %-66s %4ss  exit %s\n' "$1" "$4" "$3"
      grep -aE 'FAIL|error:|ERROR:|WARNING: Thread|this test takes longer' -A 6 "$2.log" | head -n 60
      tail -n 10 "$2.log"
    )
  fi
  flock build/ci printf '%s\n' "$told"
}

# On a slow machine the whole must end in its time. What is left out then .ci/more runs, too.
step_if_time() {  # step_if_time NAME COMMAND...: if it can begin in the first 45 minutes
  if ((SECONDS < 45 * 60)); then
    step "$@"
  else
    flock build/ci printf 'left  %-66s it is late; ./dev more runs it\n' "$1"
    touch "$(log_of "$1").left"
  fi
}

needs() {  # needs NAME: waits until that step of another chain has ended; fails if that is left out
  local log
  log=$(log_of "$1")
  while [ ! -f "$log.result" ]; do
    [ ! -f "$log.left" ] || return
    sleep 1
  done
}

beside() {  # beside NICENESS CHAIN: a function that takes steps, beside those that were begun
  (
    renice -n "$1" "$BASHPID" >/dev/null
    "$2"
  ) &
  chains+=($!)
}

all_ended() {  # waits for what was begun
  wait "${chains[@]}"
  chains=()
}

summary() {  # the steps that failed, and one line for all; fails if any did
  local log status seconds user system count passed=0 failed=0 used=0 names=()
  for log in build/ci/*.result; do
    log=${log%.result}
    read -r status seconds user system <"$log.result"
    used=$((used + user + system))
    # ./dev test counts its own runs; any other step is one.
    count=$(sed -nE 's/^([0-9]+) passed, [0-9]+ failed$/\1/p' "$log.log" | tail -n 1)
    if [ "$status" = 0 ]; then
      passed=$((passed + ${count:-1}))
    else
      passed=$((passed + ${count:-0}))
      count=$(sed -nE 's/^[0-9]+ passed, ([0-9]+) failed$/\1/p' "$log.log" | tail -n 1)
      failed=$((failed + (${count:-0} > 0 ? ${count:-0} : 1)))
      names+=("${log#build/ci/}")
    fi
  done
  # Once more and together: what each step has said may be hundreds of lines above.
  [ ${#names[@]} = 0 ] || printf 'failed: %s\n' "${names[@]}"
  printf '%s passed, %s failed; %s s, %s s of a processor\n' $passed $failed $SECONDS $used
  [ $failed = 0 ]
}

# ---- what steps do -------------------------------------------------------------------------------

configure_and_build() {  # configure_and_build PRESET [-D...] TARGET...
  local preset=$1 options=()
  shift
  while [[ ${1-} == -D* ]]; do options+=("$1") && shift; done
  cmake --preset "$preset" ${options[@]+"${options[@]}"} &&
    cmake --build --preset "$preset" -- --quiet "$@"
}

# ThreadSanitizer of these compilers does not start where the kernel spreads addresses too widely.
plain_addresses=()
setarch "$(uname -m)" -R true 2>/dev/null && plain_addresses=(setarch "$(uname -m)" -R)

suite() {  # suite PRESET PROCS [POLLER [WHICH]]: the tests with a number of processors
  THRUM_MAXPROCS=$2 THRUM_POLLER=${3-} ${plain_addresses[@]+"${plain_addresses[@]}"} \
    "build/$1/tests/thrum_tests" "${@:4}"
}

stress() {  # stress PRESET OPERATIONS
  ${plain_addresses[@]+"${plain_addresses[@]}"} "build/$1/tests/thrum_stress" --ops "$2"
}

# zig's compilers carry the headers and libraries of other systems.
install_zig() {
  python3 -m venv build/zig && build/zig/bin/python -m pip install -q ziglang
}

# $CMAKE is the one that a user has, $OUT where it builds.
: "${CMAKE:=cmake}" "${OUT:=build/ci}"

make_project() {  # make_project NAME: one of tests/consume
  "$CMAKE" -S "tests/consume/$1" -B "$OUT/consume-$1" -G Ninja \
    -DCMAKE_PREFIX_PATH="$PWD/$OUT/prefix" -DTHRUM_SOURCE="$PWD" &&
    "$CMAKE" --build "$OUT/consume-$1"
}

consumer() {  # consumer NAME: a project of ten lines, built and run
  make_project "$1" && "$OUT/consume-$1/app" | grep -qx 'sum 55'
}

install_library() {
  rm -rf "$OUT/prefix" && "$CMAKE" -S . -B "$OUT/plain" -G Ninja &&
    "$CMAKE" --install "$OUT/plain" --prefix "$PWD/$OUT/prefix"
}

exporting_consumer() {  # a library around thrum, installed where nothing else is, and its user
  rm -rf "$OUT/prefix" && make_project export &&
    "$CMAKE" --install "$OUT/consume-export" --prefix "$PWD/$OUT/prefix" && consumer export_user
}

consumers() {
  install_library && consumer find_package && consumer separate && consumer add_subdirectory && exporting_consumer
}

oldest_cmake() {  # all of it with the oldest that is promised
  python3 -m venv build/ci/cmake && build/ci/cmake/bin/python -m pip install -q 'cmake==3.22.*' || return
  CMAKE=$PWD/build/ci/cmake/bin/cmake OUT=build/ci/oldest consumers
}

build_benchmarks() {  # nothing of them is run: not optimised, and not where ./dev bench has its own
  cmake --preset bench -B build/ci/bench -DCMAKE_CXX_COMPILER=clang++-19 -DTHRUM_EXAMPLES=OFF \
    "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" &&
    cmake --build build/ci/bench -- --quiet
}
