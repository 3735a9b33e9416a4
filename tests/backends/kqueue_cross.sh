#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Compiles and links the kqueue poller for the systems that have one, with zig's compilers, which
# carry the headers and libraries of all of them. Nothing is run: that takes a Mac or a FreeBSD.
#
#   ZIG="python3 -m ziglang" tests/backends/kqueue_cross.sh     (python3 -m pip install ziglang)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
read -ra zig <<<"${ZIG:-zig}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for target in aarch64-macos x86_64-macos x86_64-freebsd; do
  "${zig[@]}" c++ -target $target -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Werror -fno-sanitize=all -Iinclude tests/backends/kqueue_alone.cpp -pthread -o "$out/$target"
  printf '%s: ' $target
  case $(head -c 4 "$out/$target" | od -An -tx1 | tr -d ' \n') in
    cffaedfe) echo "a Mach-O program" ;;
    7f454c46) echo "an ELF program" ;;
    *) echo "not a program"; exit 1 ;;
  esac
done
