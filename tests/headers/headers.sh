#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What a compiler says when a user includes the header: nothing, with warnings that the developers'
# own build does not ask for; and one sentence where the standard is too old. A compiler that is not
# installed is skipped with a line that says so.
#
#   headers.sh
set -u
cd "$(dirname "$0")" || exit 1
include=$(cd ../../include && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <thrum.hpp>\nint main() {}\n' >"$work/empty.cpp"
failed=0

report() {  # report STATUS WHAT
  if [ "$1" = 0 ]; then echo "ok    $2"; else
    echo "FAIL  $2"
    head -n 20 "$work/said"
    failed=1
  fi
}

silent() {  # silent WHAT COMMAND...: the compiler accepts it and says nothing
  local what=$1
  shift
  "$@" >"$work/said" 2>&1 && [ ! -s "$work/said" ]
  report $? "$what"
}

one_error() {  # one_error WHAT SENTENCE COMMAND...: it says this one thing
  local what=$1 sentence=$2
  shift 2
  ! "$@" >"$work/said" 2>&1 && [ "$(grep -cE '(^|[^#]|fatal )error: ' "$work/said")" = 1 ] &&
    grep -qF "$sentence" "$work/said"
  report $? "$what"
}

# What other libraries define: thrum.hpp has a test of its own, behind all of them.
cat >"$work/behind_macros.cpp" <<'TEXT'
#define check(x) check_macro(x)
#define clear() clear_macro
#define debug(...) debug_macro(__VA_ARGS__)
#define erase() erase_macro
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define move(y, x) move_macro(y, x)
#define panic(...) panic_macro(__VA_ARGS__)
#define signals public
#define slots
#define trace(...) trace_macro(__VA_ARGS__)
#include <thrum/implementation.hpp>
#if !defined(slots) || !defined(check)
#error "a macro was not given back"
#endif
TEXT
printf '#include <thrum/implementation.hpp>\nint main() {}\n' >"$work/implementation.cpp"
printf '#include <thrum.hpp>\n#include <thrum/implementation.hpp>\nint main() {}\n' >"$work/late.cpp"

for compiler in g++ clang++-14 clang++-19; do
  command -v $compiler >/dev/null || { echo "skip  $compiler is not installed"; continue; }
  case $compiler in
    g++) more=(-Wuseless-cast) ;;
    *) more=(-Wshadow-all) ;;
  esac
  warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch-enum -Wredundant-decls "${more[@]}")
  silent "$compiler: more warnings than the developers' own" \
    $compiler -std=c++20 "${warnings[@]}" -I"$include" -fsyntax-only uses.cpp
  # These are looked for in inlined code, also of system headers.
  silent "$compiler: null pointers at -O3, as a system header" \
    $compiler -std=c++20 -O3 -Wnull-dereference -isystem "$include" -c uses.cpp -o "$work/uses.o"
  silent "$compiler: the implementation, behind macros of others" \
    $compiler -std=c++20 -DTHRUM_SEPARATE=1 -I"$include" -fsyntax-only "$work/behind_macros.cpp"
  one_error "$compiler: C++17 is refused in one sentence, by the implementation, too" "thrum needs C++20" \
    $compiler -std=c++17 -DTHRUM_SEPARATE=1 -I"$include" -fsyntax-only "$work/implementation.cpp"
  one_error "$compiler: the implementation behind another header is refused in one sentence" \
    "before any other header of the library" \
    $compiler -std=c++20 -DTHRUM_SEPARATE=1 -I"$include" -fsyntax-only "$work/late.cpp"
  for standard in 98 11 17; do
    one_error "$compiler: C++$standard is refused in one sentence" "thrum needs C++20" \
      $compiler -std=c++$standard -I"$include" -fsyntax-only "$work/empty.cpp"
  done
done

# A source file that only includes the header. A static object that has a destructor brings all that this calls into
# each such file.
printf '#include <thrum.hpp>\n' >"$work/only.cpp"
for form in 0:1024 1:1024; do
  most=${form#*:}
  g++ -std=c++20 -O2 -DTHRUM_SEPARATE="${form%:*}" -I"$include" -c "$work/only.cpp" -o "$work/only.o" \
    >"$work/said" 2>&1 &&
    size "$work/only.o" | awk -v most="$most" \
      'NR == 2 && $1 + $2 < most { small = 1 } { print } END { exit !small }' >"$work/said"
  report $? "g++: an include alone emits less than $most bytes where THRUM_SEPARATE is ${form%:*}"
done

# Which options of the standard library are part of the tag.
cat >"$work/tag.cpp" <<'TEXT'
#include <thrum/detail/base/config.hpp>
#include <string_view>
static_assert(std::string_view(THRUM_SYMBOL("f")).ends_with(TAG));
TEXT
for compiler in g++ clang++-19; do
  command -v $compiler >/dev/null || continue
  for option in _GLIBCXX_DEBUG:_glibcxxdebug _GLIBCXX_USE_CXX11_ABI=0:_oldstrings; do
    silent "$compiler: -D${option%:*} is part of the tag" $compiler -std=c++20 -D"${option%:*}" \
      -DTAG="\"${option#*:}\"" -I"$include" -fsyntax-only "$work/tag.cpp"
  done
done

# libc++ 17 and older have no std::stop_token at all: a macro stands for them.
mkdir "$work/libcxx17"
cat >"$work/libcxx17/version" <<'TEXT'
#define _LIBCPP_VERSION 170006
TEXT
one_error "libc++ 17: a newer one is asked for, no flag" "use libc++ 18 or newer" \
  g++ -std=c++20 -I"$work/libcxx17" -I"$include" -fsyntax-only "$work/empty.cpp"

# What gives each thread a second stack.
if command -v clang++-19 >/dev/null; then
  one_error "clang++-19: -fsanitize=safe-stack is refused in one sentence" "without -fsanitize=safe-stack" \
    clang++-19 -std=c++20 -fsanitize=safe-stack -I"$include" -fsyntax-only "$work/empty.cpp"
  one_error "clang++-19: -fsanitize=shadow-call-stack is refused in one sentence" \
    "without -fsanitize=shadow-call-stack" clang++-19 -std=c++20 --target=aarch64-linux-gnu -ffixed-x18 \
    -fsanitize=shadow-call-stack -I"$include" -fsyntax-only "$work/empty.cpp"
fi

# A library without std::stop_token: libc++ before 20 has it behind a flag. Where there is none, a
# macro of the standard's library that says so is taken away.
printf '#include <version>\n#undef __cpp_lib_jthread\n#include <thrum.hpp>\nint main() {}\n' \
  >"$work/without.cpp"
one_error "g++: a library without std::stop_token is refused in one sentence" \
  "thrum needs std::stop_token" g++ -std=c++20 -I"$include" -fsyntax-only "$work/without.cpp"
libcxx=(clang++-19 -std=c++20 -stdlib=libc++ -I"$include" -fsyntax-only)
if printf '#include <version>\n' | "${libcxx[@]}" -x c++ - 2>/dev/null; then
  one_error "libc++ 19: the flag for std::stop_token is named" \
    "want -fexperimental-library" "${libcxx[@]}" "$work/empty.cpp"
  silent "libc++ 19: with that flag it compiles" "${libcxx[@]}" -fexperimental-library uses.cpp
else
  echo "skip  libc++ is not installed"
fi
exit $failed
