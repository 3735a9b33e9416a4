#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# The library as one file, in a program of two source files: by each compiler that is installed, as C++20 and
# C++23, with and without exceptions and run-time types, and with the implementation compiled once. The
# whole suite with it: ./dev amalgamate --test.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/main.cpp" <<'TEXT'
#include <thrum.hpp>
#include <cstdio>
int sum_of_squares(int n);
int main() {
  return thrum::run([] {
    thrum::wait_group all;
    int sum = 0;
    all.go([&] { sum = sum_of_squares(5); });
    all.wait();
    std::printf("sum %d\n", sum);
  });
}
TEXT
cat >"$work/sum.cpp" <<'TEXT'
#include <thrum.hpp>
int sum_of_squares(int n) {
  auto squares = thrum::make_chan<int>();
  thrum::go([squares, n] {
    for (int i = 1; i <= n; ++i) squares.send(i * i);
    squares.close();
  });
  int sum = 0;
  for (int square : squares) sum += square;
  return sum;
}
TEXT
cat >"$work/implementation.cpp" <<'TEXT'
#define THRUM_IMPLEMENTATION
#include <thrum.hpp>
TEXT

try_it() {  # try_it COMPILER OPTION...
  local compiler=$1 sources=("$work/main.cpp" "$work/sum.cpp")
  shift
  command -v "$compiler" >/dev/null || { echo "skip  $compiler is not installed"; return; }
  [[ $* != *THRUM_SEPARATE* ]] || sources+=("$work/implementation.cpp")
  "$compiler" "$@" -O0 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Isingle_include -pthread \
    "${sources[@]}" -o "$work/program"
  [ "$("$work/program")" = "sum 55" ]
  echo "ok    $compiler $*"
}

try_it g++ -std=c++20
try_it g++ -std=c++23 -fno-exceptions -fno-rtti -DTHRUM_SEPARATE=1
try_it clang++-14 -std=c++20 -fno-exceptions -fno-rtti
try_it clang++-19 -std=c++23 -DTHRUM_SEPARATE=1
