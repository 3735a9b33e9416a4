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
chains=()
rm -f build/ci/*.worker

# An interrupt ends the steps that run, which have groups of their own, and the chains that would begin others.
trap 'end_all; exit 130' INT
trap 'end_all; exit 143' TERM HUP

end_all() {
  local file
  for file in ${chains[@]+"${chains[@]}"}; do kill -KILL "$file" 2>/dev/null; done
  for file in build/ci/*.worker; do
    [ ! -f "$file" ] || kill -TERM -- -"$(cat "$file")" 2>/dev/null
  done
  sleep 1
  for file in build/ci/*.worker; do
    [ ! -f "$file" ] || kill -KILL -- -"$(cat "$file")" 2>/dev/null
  done
  rm -f build/ci/*.worker
}

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
  echo $worker >"$log.worker"
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
  rm -f "$log.worker"
  [ -f "$log.result" ] && read -r status seconds user system <"$log.result"
  [ -f "$log.result" ] || echo "lost 0 0 0" >"$log.result"
  report "$name" "$log" "$status" "$seconds" $((user + system))
}

what_failed_in() {  # what_failed_in LOG LINES: with so many lines behind each
  grep -aE 'FAIL|error:|ERROR:|WARNING: Thread|this test takes longer' -A "$2" "$1"
}

report() {  # report NAME LOG STATUS SECONDS CPU: in one piece, whatever other chains have to say
  local told
  if [ "$3" = 0 ]; then
    told=$(printf 'ok    %-66s %4ss %5s CPU s' "$1" "$4" "$5")
  else
    # What failed first, as the end may be a long way from it.
    told=$(
      printf 'FAIL  %-66s %4ss  exit %s\n' "$1" "$4" "$3"
      what_failed_in "$2.log" 6 | head -n 60
      tail -n 10 "$2.log"
    )
  fi
  flock build/ci printf '%s\n' "$told"
}

# ---- results that are kept -----------------------------------------------------------------------

results=.ci/results  # a line each: NAME, ok or failed, commit, time, processor seconds; tabs between

holds_still() {  # holds_still NAME FILES: its last kept result is good, and none of its files has changed since
  local status commit
  IFS=$'\t' read -r status commit < <(awk -F '\t' -v n="$1" '$1 == n { print $2 "\t" $3 }' $results 2>/dev/null)
  # shellcheck disable=SC2086
  [ "${status-}" = ok ] && git diff --quiet "$commit" -- $2 2>/dev/null
}

keep_result() {  # keep_result NAME FILES: of the step that has just ended
  local status seconds user system word=failed
  read -r status seconds user system <"$(log_of "$1").result"
  # shellcheck disable=SC2086
  git diff --quiet HEAD -- $2 2>/dev/null || return 0
  [ "$status" != 0 ] || word=ok
  (
    flock 9
    awk -F '\t' -v n="$1" '$1 != n' $results 2>/dev/null >build/ci/results
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" $word "$(git rev-parse --short HEAD)" \
      "$(date -u +%Y-%m-%dT%H:%MZ)" $((user + system)) >>build/ci/results
    sort build/ci/results >$results
  ) 9>build/ci/lock
}

not_run() {  # of each step that .ci/more knows: whether its last result still holds, and since when it does not
  local file name files line known=0 stale=()
  for file in build/ci/*.known; do
    IFS=$'\t' read -r name files <"$file"
    known=$((known + 1))
    holds_still "$name" "$files" && continue
    line=$(awk -F '\t' -v n="$name" '$1 == n { print $2 " at " $3 ", " $4 }' $results 2>/dev/null)
    stale+=("$(printf '%-72s %s' "$name" "${line:-never}")")
  done
  printf '%s steps, %s hold for this tree\n' $known $((known - ${#stale[@]}))
  [ ${#stale[@]} = 0 ] || printf '%-72s %s\n' "not run since its files changed:" "last:"
  [ ${#stale[@]} = 0 ] || printf '%s\n' "${stale[@]}"
}

packages="packages: pkg-config, FetchContent, Conan, Meson, Debian, vcpkg's port"
packaging="packaging cmake CMakeLists.txt meson.build MODULE.bazel BUILD.bazel tests/packages tests/consume tools/package.py tools/ports.py"

step_if_changed() {  # step_if_changed NAME FILES COMMAND...: unless .ci/results says that it holds
  local name=$1 files=$2
  shift 2
  if holds_still "$name" "$files"; then
    flock build/ci printf 'held  %-66s nothing of it has changed since it passed\n' "$name"
  else
    step "$name" "$@"
  fi
}

# ---- a budget ------------------------------------------------------------------------------------

# Machines differ, and one machine differs from hour to hour. So time is told in a unit: the processor seconds that
# g++ needs for a file that has nothing to do with the library, measured several times while the steps run.
reference() {
  local text='#include <algorithm>
    #include <functional>
    #include <map>
    #include <regex>
    #include <sstream>
    int main(int n, char** v) {
      std::map<std::string, std::function<int(int)>> m;
      for (int i = 0; i < n; ++i) m[v[i]] = [i](int x) { return x + i; };
      std::ostringstream out;
      for (auto& each : m) out << std::regex_match(each.first, std::regex("a+")) << each.second(1);
      return static_cast<int>(out.str().size());
    }'
  local TIMEFORMAT='%U %S'
  { time env CCACHE_DISABLE=1 g++ -std=c++20 -O1 -x c++ -c - -o /dev/null <<<"$text" 2>/dev/null; } 2>&1 |
    awk '{ print $1 + $2 }' >>build/ci/reference.times
}

budget() {  # budget USED: fails if the steps take 5 % more than .ci/budget records, on the kind of processor it names
  local processor
  processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  sort -n build/ci/reference.times | awk -v used="$1" -v here="$processor" '
    { each[NR] = $1 }
    END {
      unit = each[int((NR + 1) / 2)]
      spread = (each[NR] - each[1]) / unit / 2
      while ((getline line < ".ci/budget") > 0)
        if (line !~ /^#/) { split(line, field, "\t"); recorded[field[1]] = field[2] }
      printf "time: %d units of %.2f s of a processor", used / unit, unit
      if (!(here in recorded)) { printf "; none is recorded for %s\n", here; exit 0 }
      grown = used / unit / recorded[here] - 1
      printf ", %+.1f %% beside the %d that .ci/budget records (a unit spread by %.1f %%)\n", \
        100 * grown, recorded[here], 100 * spread
      if (grown > 0.05 + spread) {
        print "FAIL  time: find the step that grew, or record the new figure in .ci/budget and say why"
        exit 1
      }
    }'
}

needs() {  # needs NAME: waits until that step of another chain has ended
  local log
  log=$(log_of "$1")
  while [ ! -f "$log.result" ]; do sleep 1; done
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

summary() {  # each step's share, the steps that failed, and one line for all; fails if any did
  local log status seconds user system count passed=0 failed=0 used=0 names=()
  for log in build/ci/*.result; do
    log=${log%.result}
    read -r status seconds user system <"$log.result"
    [[ $log = */install* ]] || used=$((used + user + system))  # a machine may have all of it
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
  printf 'shares of %s s of a processor:\n' $used
  for log in build/ci/*.result; do
    read -r status seconds user system <"$log"
    log=${log#build/ci/}
    printf '%5s s %4s %%  %s\n' $((user + system)) $(((user + system) * 100 / (used > 0 ? used : 1))) "${log%.result}"
  done | sort -rn
  # Once more and together, with the first that failed: what each step has said may be hundreds of lines above, or cut.
  for log in ${names[@]+"${names[@]}"}; do
    printf 'failed: %s\n' "$log"
    what_failed_in "build/ci/$log.log" 4 | head -n 15
  done
  if [ $failed = 0 ] && [ -f build/ci/reference.times ]; then budget $used || failed=1; fi
  printf '%s passed, %s failed\n' $passed $failed
  printf '%s s, %s s of a processor\n' $SECONDS $used
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

# Version 3 of Catch2 from the sources of a newer Debian: its library there needs a newer C++ library than this one's.
# The machine's own lists of packages stay as they are.
install_catch3() {
  local to=$PWD/build/catch3 site options
  [ ! -f "$to/lib/cmake/Catch2/Catch2Config.cmake" ] || return 0
  rm -rf "$to" && mkdir -p "$to"/{lists/partial,cache/archives/partial,parts,source} || return
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" >"$to/sources.list"
  options=(-o Dir::Etc::SourceList="$to/sources.list" -o Dir::Etc::SourceParts="$to/parts"
    -o Dir::State::Lists="$to/lists" -o Dir::Cache="$to/cache" -qq)
  apt-get "${options[@]}" update && (cd "$to" && apt-get "${options[@]}" source --download-only catch2) &&
    tar xf "$to"/catch2_3*.orig.tar.* -C "$to/source" --strip-components=1 &&
    cmake -S "$to/source" -B "$to/made" -G Ninja -DBUILD_TESTING=OFF -DCATCH_INSTALL_DOCS=OFF -DCATCH_INSTALL_EXTRAS=OFF \
      -DCMAKE_CXX_STANDARD=20 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 -DCMAKE_INSTALL_PREFIX="$to" &&
    cmake --build "$to/made" -- --quiet && cmake --install "$to/made" >/dev/null
}

catch3() {  # the tests that use what the two versions have in different headers
  local files
  install_catch3 || return
  files=$(cd tests && grep -rlE 'Catch::|TEMPLATE_|THROWS_WITH' unit go --include=*_test.cpp | paste -sd ';') &&
    cmake --preset gcc -B build/ci/catch3 -DCatch2_DIR="$PWD/build/catch3/lib/cmake/Catch2" -DTHRUM_SOME_TESTS="$files" \
      -DCMAKE_UNITY_BUILD=ON "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -g0" &&
    cmake --build build/ci/catch3 -- --quiet thrum_some_tests && build/ci/catch3/tests/thrum_some_tests
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
