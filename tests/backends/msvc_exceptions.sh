#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# The C++ ABI of MSVC by clang, with wine's vcruntime140.dll: goroutines that park inside catch blocks.
# With zig's clang, linker and dlltool; nothing of Microsoft's is needed, and nothing of theirs is run.
#
#   ZIG="python3 -m ziglang" tests/backends/msvc_exceptions.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/own_wine.sh
read -ra zig <<<"${ZIG:-zig}"
use_own_wine
out=$(mktemp -d)
trap 'leave_own_wine; rm -rf "$out"' EXIT

import() {  # import LIBRARY NAME...: what is linked for them
  printf 'LIBRARY %s.dll\nEXPORTS\n' "$1" >"$out/$1.def"
  printf '%s\n' "${@:2}" >>"$out/$1.def"
  "${zig[@]}" dlltool -m i386:x86-64 -d "$out/$1.def" -l "$out/$1.lib"
}
import vcruntime140 _CreateFrameInfo _FindAndUnlinkFrame _CxxThrowException __CxxFrameHandler3 \
  __current_exception __current_exception_context __processing_throw __std_terminate
import kernel32 ExitProcess VirtualAlloc
import msvcrt malloc free

for level in -O0 -O2; do
  for moves in 1 0; do
    "${zig[@]}" clang --target=x86_64-pc-windows-msvc -std=c++20 $level -fexceptions -fcxx-exceptions \
      -fno-sanitize=all -DMOVES=$moves -Wall -Wextra -Werror -Wno-unused-function \
      -c tests/backends/msvc_exceptions.cpp -o "$out/program.obj"
    "${zig[@]}" lld-link /nologo /entry:start /subsystem:console /nodefaultlib "$out/program.obj" \
      "$out"/{vcruntime140,kernel32,msvcrt}.lib "/out:$out/program.exe"
    status=0
    timeout 60 wine64 "$out/program.exe" >/dev/null 2>&1 || status=$?
    if [ $((status == 0)) != $moves ]; then
      echo "$level, record moved: $moves: exit $status"
      exit 1
    fi
  done
  echo "$level: right with the record moved, wrong without"
done
