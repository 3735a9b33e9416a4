#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Compiles what there is of Windows' layer by mingw, header-only and apart, and a library that has a
# copy of it, and runs them under wine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/own_wine.sh
use_own_wine
cxx=x86_64-w64-mingw32-g++
command -v $cxx-posix >/dev/null && cxx=$cxx-posix
out=$(mktemp -d)
trap 'leave_own_wine; rm -rf "$out"' EXIT

# bodies MODE: a source with those that are compiled apart
bodies() {
  [[ $1 = *SEPARATE* ]] || return 0
  echo "#define THRUM_BODIES 1" >"$out/bodies.cpp"
  for file in base/fatal os/clock os/exit os/fence os/note os/processors os/result os/wait_table os/windows/{memory,preempt_signal,process_wide} \
    os/windows/{thread,thread_ref}; do
    echo "#include <thrum/detail/${file}.hpp>"
  done >>"$out/bodies.cpp"
  echo "$out/bodies.cpp"
}

run_alone() {  # run_alone MODE LAST: the program, which says LAST where it comes to its end
  if ! timeout 120 wine64 "$out/alone.exe" >"$out/log" 2>&1 || ! grep -q "$2" "$out/log"; then
    echo "$1: failed"
    cat "$out/log"
    exit 1
  fi
}

# The names that <windows.h> takes are a program's own, unless it includes that itself, before or after.
cat >"$out/names.cpp" <<'TEXT'
#include <thrum.hpp>
enum class level { INFO, WARNING, ERROR };
inline int near = 1, far = 2;
inline int least(int a, int b) { using std::min; return min(a, b) + std::max(a, b); }
#include <windows.h>
#include <commdlg.h>
#include <shellapi.h>
#include <ole2.h>
inline bool is_valid(HANDLE h) { return h != INVALID_HANDLE_VALUE && near + far == 3; }
TEXT
cat >"$out/before.cpp" <<'TEXT'
#include <windows.h>
#include <thrum.hpp>
#include <windows.h>
#include <mmsystem.h>
inline bool is_valid(HANDLE h) { return h != INVALID_HANDLE_VALUE && ERROR == 0; }
TEXT
for name in names before; do
  for mode in -DTHRUM_SEPARATE=0 -DTHRUM_SEPARATE=1; do
    $cxx $mode -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
      -fsyntax-only -Iinclude "$out/$name.cpp"
  done
done
echo "<windows.h> before and after: ok"

for mode in "-O2" "-O2 -DTHRUM_SEPARATE=1" "-O0 -DTHRUM_CHECKS=1" "-O3 -march=x86-64-v3" \
  "-O2 -fno-exceptions -fsyntax-only"; do
  # shellcheck disable=SC2086
  if [[ $mode = *-fsyntax-only ]]; then
    echo '#include "ports/chosen_threads.hpp"' |
      $cxx $mode -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude -Itests -x c++ -
    echo "$mode: ok"
    continue
  fi
  # shellcheck disable=SC2086
  $cxx ${mode%-DTHRUM_SEPARATE=1} -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    -Iinclude -shared tests/backends/windows_library.cpp -static -o "$out/library.dll"
  # shellcheck disable=SC2086
  $cxx $mode -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude \
    tests/backends/windows_alone.cpp $(bodies "$mode") "$out/library.dll" -static -o "$out/alone.exe"
  run_alone "$mode" "what was written last is not lost"
  # shellcheck disable=SC2086
  $cxx ${mode%-DTHRUM_SEPARATE=1} -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    -Iinclude tests/backends/afd_alone.cpp -static -lws2_32 -liphlpapi -lntdll -o "$out/alone.exe"
  run_alone "$mode" "all of it is so"
  echo "$mode: ok"
done
