# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by ./dev: test_ is `./dev test`.

# Only these files: built without the others, and run once.
some_tests() {  # some_tests PRESET NAME...: by test_, whose emulator it sets
  local preset=$1 name files=() targets=(thrum_some_tests) there=() found all
  shift
  for name in "$@"; do
    name=${name##*/} name=${name%.cpp}  # a file's whole name will do
    name=${name%_test} name=${name%_model}
    found=$(find tests/unit tests/go tests/examples tests/opt_in tests/debuggers tests/tls tests/model -name "$name*_test.cpp" -o -name "$name*_model.cpp")
    [ -n "$found" ] || die "test: below tests/ no $name*_test.cpp and no $name*_model.cpp is part of a suite: give the beginning of a file's name"
    while read -r name; do files+=("${name#tests/}"); done <<<"$found"
  done
  need header:catch2
  # The programs that they start, by the macros that say where one is.
  grep -q 'run_program' "${files[@]/#/tests/}" && targets+=(thrum_programs)
  for name in $(grep -ohE '\bTHRUM_([A-Z_]+_PATH|SHARED_[A-Z_]+)\b' "${files[@]/#/tests/}" | sort -u); do
    name=${name%_PATH}
    targets+=("thrum_$(printf '%s' "${name#THRUM_}" | tr '[:upper:]' '[:lower:]')")
  done
  grep -q THRUM_EXAMPLES_DIR "${files[@]/#/tests/}" && targets+=(thrum_examples)
  configure "$preset" -DTHRUM_SOME_TESTS="$(IFS=';'; echo "${files[*]}")"
  # What another system does not have may be named by a test that it leaves out.
  all=$(cmake --build "build/$preset" --target help)
  for name in "${targets[@]}"; do
    if grep -qE "(^|[ /])$name(:|\$| )" <<<"$all"; then there+=("$name"); fi
  done
  [ ${#there[@]} != 0 ] || die "test: the preset $preset builds no tests: take another one"
  compile "$preset" "${there[@]}"
  find_emulator "$preset"
  [ "$preset" != x86_64-windows ] || wine_cannot
  ${emulator[@]+"${emulator[@]}"} "$(program "$preset" thrum_some_tests)" ${left_out[@]+"${left_out[@]}"}
}

test_() {
  local preset=dev target="" procs="" what=quick build_modes="" build_only="" part=all
  local emulator=() left_out=() names=() targets=(thrum_tests)
  while [ $# -gt 0 ]; do
    case $1 in
      --all) what=all; shift ;;
      --preset) preset=$2; shift 2 ;;
      --procs) procs=$2 what=procs; shift 2 ;;
      --system) part=system; shift ;;
      --target)
        is_target "${2-}" || die "test: --target knows $(targets)"
        target=$2 preset=$2; shift 2 ;;
      --build-modes) build_modes=1; shift ;;
      --build-only) build_only=1; shift ;;
      -*) usage; die "test: unknown argument $1" ;;
      *) names+=("$1"); shift ;;
    esac
  done
  if [ -n "$build_modes" ]; then
    case $target in
      x86_64-windows) need mingw-g++ wine64 && tests/arch/build_modes.sh --arch "$target" ;;
      "") tests/arch/build_modes.sh ;;
      *) need_target "$target" && tests/arch/build_modes.sh --arch "${target%%-*}" ;;
    esac
    return
  fi
  if [ "$target" = x86_64-windows ]; then
    need mingw-g++ wine64
    [ ${#names[@]} != 0 ] || tests/backends/windows.sh
    own_wine
  fi
  if [ -n "$build_only" ]; then
    need header:catch2
    build "$preset"
    return
  fi
  [ "$(says "${target:-none}" runs_here)" != FALSE ] ||
    die "test: nothing here runs programs of $target: they can only be built, with --build-only"
  if [ ${#names[@]} != 0 ]; then
    some_tests "$preset" "${names[@]}"
    return
  fi
  need header:catch2 python3 python-venv
  : "${procs:=${target:+4}}"
  configure "$preset"
  grep -qx "THRUM_TEST_PART:STRING=$part" "build/$preset/CMakeCache.txt" ||
    cmake "build/$preset" -DTHRUM_TEST_PART=$part >/dev/null
  if [ $part = all ]; then
    if [ -n "$target" ]; then
      targets+=(thrum_program_tests thrum_tls_tests)
    else
      targets+=(thrum_model)
      [ $what = quick ] || targets+=(thrum_program_tests thrum_tls_tests thrum_long_model)
    fi
  fi
  # What compiles one changed file leaves a processor to them.
  [ $what$part$target != quickall ] || run_suite "house rules" check --quick
  compile "$preset" "${targets[@]}"
  find_emulator "$preset"
  local limited=()
  limit 900
  [ "$preset" != x86_64-windows ] || wine_cannot "${emulator[@]}" "$(program "$preset" thrum_tests)"
  if [ $what$part = quickall ] && [ -z "$target" ]; then
    quick_tests
  else
    whole_tests
  fi
  report_suites 1
  if [ $what$part = quickall ] && [ -z "$target" ]; then
    say "left out: other numbers of processors, 50 us slices, io_uring, the examples, TLS, the long models, memory orders (./dev test --all; ./dev check)"
  fi
  printf '%s passed, %s failed\n' $passed $failed
  [ $failed = 0 ]
}

# Half of the time a suite waits: each fourth test in one run, and the four runs beside each other.
quick_tests() {  # by test_
  local bin=build/$preset/tests quarter lists count at_once=$((2 * $(processors)))
  [ -n "$scratch" ] || scratch=$(mktemp -d)
  lists=$scratch/lists
  mkdir "$lists"
  "$bin/thrum_tests" --list-test-names-only >"$lists/all" || true  # Catch2 2 returns how many there are
  # They try every order of steps: once passed, they pass until they are built anew.
  if [ "$bin/thrum_model.passed" -nt "$bin/thrum_model" ]; then
    say "models: not built anew since they passed"
  else
    run_suite "$preset, models" models_once
  fi
  for quarter in 0 1 2 3; do
    # In such a file a comma ends a name, and a backslash begins an escape.
    awk "NF && NR % 4 == $quarter" "$lists/all" | sed 's/[\\,]/\\&/g' >"$lists/$quarter"
    count=$("$bin/thrum_tests" --input-file "$lists/$quarter" --list-test-names-only | awk NF | wc -l) || true
    [ "$count" = "$(wc -l <"$lists/$quarter")" ] && [ "$count" != 0 ] ||
      die "test: of $(wc -l <"$lists/$quarter") tests $bin/thrum_tests finds $count by name; --all runs it whole"
    run_suite "$preset, quarter $((quarter + 1)) of the suite" \
      "${limited[@]}" "$bin/thrum_tests" --input-file "$lists/$quarter"
  done
}

models_once() {  # by quick_tests
  "${limited[@]}" "$bin/thrum_model" && touch "$bin/thrum_model.passed"
}

whole_tests() {  # by test_
  local bin=build/$preset/tests tests n which=()
  tests=$(program "$preset" thrum_tests)
  # First what computes all the time, beside the suites.
  if [ -z "$target" ] && [ $part = all ]; then
    run_suite "$preset, models" "${limited[@]}" "$bin/thrum_model"
    run_suite "$preset, long models" "${limited[@]}" "$bin/thrum_long_model"
  fi
  # What other programs and the kernel say of ours is the same however many processors there are: [once].
  for n in ${procs:-1 2 4 8 64}; do
    run_suite "$preset, $n processors" env THRUM_MAXPROCS="$n" "${limited[@]}" \
      ${emulator[@]+"${emulator[@]}"} "$tests" ${which[@]+"${which[@]}"} ${left_out[@]+"${left_out[@]}"}
    which=('~[once]~[.]')
  done
  [ $part = all ] || return 0
  run_suite "$preset, whole programs" env THRUM_MAXPROCS=4 "${limited[@]}" \
    ${emulator[@]+"${emulator[@]}"} "$(program "$preset" thrum_program_tests)" ${left_out[@]+"${left_out[@]}"}
  tests=$(program "$preset" thrum_tls_tests)
  if [ -e "$tests" ]; then  # else OpenSSL is not there
    run_suite "$preset, TLS" env THRUM_MAXPROCS=4 "${limited[@]}" ${emulator[@]+"${emulator[@]}"} "$tests"
  fi
  [ -z "$target" ] || return 0
  if [ $what = all ]; then
    run_suite "$preset, 4 processors, 50 us slices" \
      env THRUM_MAXPROCS=4 THRUM_TEST_SLICE_US=50 "${limited[@]}" "$bin/thrum_tests" '~[once]~[.]'
    [ "$(uname)" != Linux ] || run_suite "$preset, 4 processors, io_uring" \
      env THRUM_MAXPROCS=4 THRUM_POLLER=io_uring "${limited[@]}" "$bin/thrum_tests" '~[once]~[.]'
  fi
  run_suite "house rules" check
}
