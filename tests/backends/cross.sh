#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Compiles and links, for macOS and FreeBSD, the README's program, optimised as a user would, and for macOS the
# parts of its layers alone: the kqueue poller, threads, and files, sockets and processes. With zig's
# compilers, which carry the headers and libraries of all of them. Nothing is run: that takes a Mac or a
# FreeBSD. The suite, which is not optimised: ./dev test --target x86_64-freebsd --build-only.
#
#   ZIG="python3 -m ziglang" tests/backends/cross.sh     (python3 -m pip install ziglang)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
read -ra zig <<<"${ZIG:-zig}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# The first program that it shows.
sed -n '/^```cpp$/,/^```$/p' README.md | sed '1d; /^```$/,$d' >"$out/readme.cpp"

for target in aarch64-macos x86_64-macos x86_64-freebsd; do
  parts=(tests/backends/{kqueue,threads,io}_alone.cpp)
  [ $target != x86_64-freebsd ] || parts=()
  for source in "$out/readme.cpp" ${parts[@]+"${parts[@]}"}; do
    program=$(basename "$source" .cpp)
    "${zig[@]}" c++ -target $target -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
      -Werror -fno-sanitize=all -Iinclude "$source" -pthread -o "$out/$target"
    printf '%s, %s: ' $target $program
    case $(head -c 4 "$out/$target" | od -An -tx1 | tr -d ' \n') in
      cffaedfe) echo "a Mach-O program" ;;
      7f454c46) echo "an ELF program" ;;
      *) echo "not a program"; exit 1 ;;
    esac
  done
done
