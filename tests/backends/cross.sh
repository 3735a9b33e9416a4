#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Compiles and links, for other systems, the README's program, which includes the one file: it is all of the
# library but for what only templates use. With zig's compilers, which carry the headers and libraries of all of
# them; warnings are errors. Nothing is run: that takes a Mac, a FreeBSD, a Windows. -O2, as a user would
# optimise, takes six times as long; so does linking, for which zig first compiles a system's C++ library: -c leaves
# that away. Where the suite is built for a system (./dev test --target NAME
# --build-only), that is the tree, and the same program with it.
#
#   ZIG="python3 -m ziglang" tests/backends/cross.sh [-O2] [-c] [TARGET...]     (python3 -m pip install ziglang)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
read -ra zig <<<"${ZIG:-zig}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# The first program that it shows.
sed -n '/^```cpp$/,/^```$/p' README.md | sed '1d; /^```$/,$d' >"$out/readme.cpp"

level=-O0
[[ ${1-} != -O* ]] || { level=$1 && shift; }
links=1
[[ ${1-} != -c ]] || { links= && shift; }
targets=("$@")
[ $# != 0 ] || targets=(aarch64-macos x86_64-macos x86_64-freebsd aarch64-windows-gnu x86_64-windows-gnu)
for target in "${targets[@]}"; do
  "${zig[@]}" c++ -target $target -std=c++20 $level -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Werror -Wno-unused-command-line-argument -fno-sanitize=all -Isingle_include \
    -c "$out/readme.cpp" -o "$out/readme.o"
  [ -n "$links" ] || { echo "$target: compiled" && continue; }
  libraries=(-pthread)
  [[ $target != *windows* ]] || libraries=(-lws2_32 -liphlpapi -lntdll)
  "${zig[@]}" c++ -target $target "$out/readme.o" "${libraries[@]}" -o "$out/readme"
  printf '%s: ' $target
  case $(head -c 4 "$out/readme" | od -An -tx1 | tr -d ' \n') in
    cffaedfe) echo "a Mach-O program" ;;
    7f454c46) echo "an ELF program" ;;
    4d5a*) echo "a PE program" ;;
    *) echo "not a program"; exit 1 ;;
  esac
done
