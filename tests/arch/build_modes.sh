#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Proves the context switch in every way a program may be built: compilers x optimisation, link-time
# optimisation, position independence, shared library, instrumentation. Builds the program
# build_modes in each, runs it, prints one line a mode, fails if any mode does.
#
#   build_modes.sh [--arch NAME] [--quick]
#   NAME: x86_64 aarch64 riscv64 i686 armhf s390x ppc64le loongarch64 x86_64-windows
#
# A compiler or linker that is not installed is skipped with a line that says so. Another processor
# than the machine's is built for with cross compilers and run under qemu-user; i686 runs on x86_64.
# CXX_LIST overrides the compilers, separated by colons. loongarch64 has zig's, statically linked;
# Windows has mingw's and zig's, and its programs run under wine.
set -u
cd "$(dirname "$0")" || exit 1
include=$(cd ../../include && pwd)
arch=$(uname -m)
quick=0
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:?--arch needs a name}; shift 2 ;;
    --quick) quick=1; shift ;;
    *) echo "usage: $0 [--arch NAME] [--quick]" >&2; exit 2 ;;
  esac
done

run=()
target=()
compilers="g++:clang++-14:clang++-19:clang++"
if [ "$arch" != "$(uname -m)" ]; then
  case $arch in
    aarch64 | riscv64 | s390x) triple=$arch-linux-gnu emulator=qemu-$arch ;;
    i686) triple=i686-linux-gnu emulator=qemu-i386 ;;
    armhf) triple=arm-linux-gnueabihf emulator=qemu-arm ;;
    ppc64le) triple=powerpc64le-linux-gnu emulator=qemu-ppc64le ;;
    loongarch64) triple=loongarch64-linux-musl emulator=qemu-loongarch64 ;;
    x86_64-windows) triple=x86_64-w64-mingw32 emulator=wine64 ;;
    *) echo "no way to run $arch here" >&2; exit 2 ;;
  esac
  sysroot=/usr/$triple
  # A distribution may keep it out of the path.
  [ "$emulator" != wine64 ] || PATH=$PATH:/usr/lib/wine
  target=("--target=$triple")
  compilers="$triple-g++:$triple-g++-12:clang++-14:clang++-19:clang++"
  if [ "$arch-$(uname -m)" != i686-x86_64 ]; then
    if [ "$emulator" = wine64 ]; then run=(wine64); else run=("$emulator" -L "$sysroot"); fi
    command -v "$emulator" >/dev/null || { echo "$emulator is not installed" >&2; exit 2; }
  fi
fi
compilers=${CXX_LIST:-$compilers}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
suffix=
linking="-pthread"
case $arch-$(uname -m) in
  loongarch64-loongarch64) zig_target= ;;
  # The emulator has no vectors.
  loongarch64-*) zig_target="$triple -mcpu=generic_la64+d" ;;
  x86_64-windows-*)
    zig_target=x86_64-windows-gnu suffix=.exe linking=-static
    . ../support/own_wine.sh
    use_own_wine || { rm -rf "$work"; exit 1; }
    trap 'leave_own_wine; rm -rf "$work"' EXIT ;;
  *) zig_target= ;;
esac
if [ -n "$zig_target" ]; then
  for zig in ../../build/zig/lib/python*/site-packages/ziglang/zig "$(command -v zig)"; do
    if [ -x "$zig" ]; then
      printf '#!/bin/sh\nexec "%s" c++ -target %s -fno-sanitize=all -Wno-unused-command-line-argument "$@"\n' \
        "$(readlink -f "$zig")" "$zig_target" >"$work/zig-clang++" && chmod +x "$work/zig-clang++"
      PATH=$work:$PATH
      break
    fi
  done
  [ "$arch" = loongarch64 ] && compilers=${CXX_LIST:-zig-clang++}
  [ -n "$suffix" ] && compilers=${CXX_LIST:-$triple-g++-posix:$triple-g++:zig-clang++}
fi
units="main integers doubles"
failures=0
ran=0
seen=" "

# report COMPILER MODE RESULT: one line
report() { printf '%-28s %-52s %s\n' "$1" "$2" "$3"; }

# fail COMPILER MODE WHAT: one line and the log
fail() {
  report "$1" "$2" "FAILED: $3"
  sed 's/^/    /' "$work/log" | head -20
  failures=$((failures + 1))
}

# one COMPILER MODE COMPILE_FLAGS [LINK_FLAGS]: builds three units apart, links, runs
one() {
  local cxx=$1 mode=$2 cflags=$3 lflags=${4-} unit
  local -a base=("$cxx") arguments=()
  case $cxx in clang*) base+=(${target[@]+"${target[@]}"}) ;; esac
  # x87 compares what it has just computed, with more digits, to what was stored.
  [ "$arch" != i686 ] || base+=(-msse2 -mfpmath=sse)
  rm -f "$work"/*.o "$work"/*.so "$work"/*.dll "$work"/*.gc* "$work/program$suffix"
  for unit in $units; do
    # shellcheck disable=SC2086
    if ! "${base[@]}" -std=c++20 -Wall -Wextra -Wpedantic -Werror -I"$include" $cflags \
        -c "build_modes_$unit.cpp" -o "$work/$unit.o" >"$work/log" 2>&1; then
      fail "$cxx" "$mode" "compile"
      return
    fi
  done
  if [ "$mode" = "shared library" ]; then
    # Two of the three units in a library: fibres yield there and the program resumes them. Each
    # side has its own hidden copy of the switch.
    arguments=(two-copies)
    # shellcheck disable=SC2086
    if ! "${base[@]}" $cflags $lflags -shared -Wl,-soname,libbuild_modes.so "$work/integers.o" \
        "$work/doubles.o" -o "$work/libbuild_modes.so" >"$work/log" 2>&1 ||
      ! "${base[@]}" $cflags $lflags -pthread "$work/main.o" -o "$work/program" -L"$work" \
        -lbuild_modes -Wl,-rpath,"$work" >"$work/log" 2>&1; then
      fail "$cxx" "$mode" "link"
      return
    fi
  elif [ "$mode" = DLL ]; then
    arguments=(two-copies)
    # shellcheck disable=SC2086
    if ! "${base[@]}" $cflags $lflags -shared "$work/integers.o" "$work/doubles.o" \
        -o "$work/build_modes.dll" >"$work/log" 2>&1 ||
      ! "${base[@]}" $cflags $lflags "$work/main.o" "$work/build_modes.dll" -o "$work/program$suffix" \
        >"$work/log" 2>&1; then
      fail "$cxx" "$mode" "link"
      return
    fi
    # Both have the same library of C++, and so the same record of exceptions.
    for unit in libstdc++-6 libgcc_s_seh-1 libwinpthread-1; do
      cp "$("$cxx" -print-file-name=$unit.dll)" "$work"
    done
  else
    # shellcheck disable=SC2086
    if ! "${base[@]}" $cflags $lflags $linking "$work/main.o" "$work/integers.o" \
        "$work/doubles.o" -o "$work/program$suffix" >"$work/log" 2>&1; then
      fail "$cxx" "$mode" "link"
      return
    fi
  fi
  ran=$((ran + 1))
  (cd "$work" && timeout 30 ${run[@]+"${run[@]}"} "./program$suffix" \
    ${arguments[@]+"${arguments[@]}"}) >"$work/log" 2>&1
  local code=$?
  if [ $code -ne 0 ]; then
    fail "$cxx" "$mode" "run, exit code $code"
  else
    report "$cxx" "$mode" ok
  fi
}

# linker_for COMPILER: prints the flag that selects an lld which can read this compiler's bitcode
linker_for() {
  local version=${1##*-} candidate
  for candidate in "ld.lld-$version" ld.lld; do
    if command -v "$candidate" >/dev/null; then
      # An older lld does not read newer bitcode: try it on an empty program.
      if echo 'int main() {}' | "$1" ${target[@]+"${target[@]}"} -flto \
          -fuse-ld="$(command -v "$candidate")" -x c++ - -o "$work/probe" >/dev/null 2>&1; then
        command -v "$candidate"
        return
      fi
    fi
  done
}

IFS=: read -ra list <<<"$compilers"
for cxx in "${list[@]}"; do
  path=$(command -v "$cxx") || { report "$cxx" "-" "skipped: not installed"; continue; }
  path=$(readlink -f "$path")
  case $seen in *" $path "*) continue ;; esac
  seen="$seen$path "

  for mode in -O0 -O1 -O2 -O3 -Os; do one "$cxx" "$mode" "$mode"; done
  if [ -z "$suffix" ]; then
    one "$cxx" "-O2 -fPIC" "-O2 -fPIC"
    one "$cxx" "-O2 -fno-pie" "-O2 -fno-pie" "-no-pie"
    [ "$cxx" = zig-clang++ ] || one "$cxx" "shared library" "-O2 -fPIC"
  else  # all code is position independent
    [ "$cxx" = zig-clang++ ] || one "$cxx" DLL -O2
  fi
  one "$cxx" "-O2 -fno-omit-frame-pointer" "-O2 -fno-omit-frame-pointer"
  one "$cxx" "-O2 -ffunction-sections, gc-sections" "-O2 -ffunction-sections -fdata-sections" \
    "-Wl,--gc-sections"
  one "$cxx" "-O2 -g" "-O2 -g"
  case $cxx in *clang*) no_cfi=-DTHRUM_NO_CFI ;; *) no_cfi= ;; esac
  case $suffix$cxx in
    .exe*-g++*) ;;  # without them it wants a library of exceptions that is not there
    *) one "$cxx" "-O2 -fno-asynchronous-unwind-tables $no_cfi" \
      "-O2 -fno-asynchronous-unwind-tables $no_cfi" ;;
  esac
  if [ "$quick" = 0 ]; then
    one "$cxx" "-O2 -fstack-protector-all" "-O2 -fstack-protector-all"
    # Windows' C library has no functions for it.
    [ -n "$suffix" ] || one "$cxx" "-O2 -finstrument-functions" "-O2 -finstrument-functions"
    # clang's run-time library for coverage exists for the machine's own processor only.
    case ${#run[@]}$cxx in
      0* | *linux-gnu*-g++*)
        one "$cxx" "-O0 --coverage" "-O0 --coverage"
        one "$cxx" "-O2 --coverage" "-O2 --coverage" ;;
    esac
    one "$cxx" "-O2 -fvisibility=hidden" "-O2 -fvisibility=hidden -fvisibility-inlines-hidden"
  fi
  case $arch in
    x86_64)
      one "$cxx" "-O2 -fcf-protection=full" "-O2 -fcf-protection=full"
      # Clang 19 warns of what it finds itself on a processor with AVX10.
      one "$cxx" "-O2 -march=native" "-O2 -march=native -Wno-error" ;;
    aarch64)
      one "$cxx" "-O2 -mbranch-protection=standard" "-O2 -mbranch-protection=standard"
      one "$cxx" "-O2 -mbranch-protection=bti" "-O2 -mbranch-protection=bti" ;;
  esac

  case $cxx in
    *clang*)
      lld=$(linker_for "$cxx")
      if [ -z "$lld" ]; then
        report "$cxx" "-flto, full and thin" "skipped: no lld that reads its bitcode"
        continue
      fi
      # Each of these takes zig a minute: it compiles its libraries anew.
      [ "$cxx" = zig-clang++ ] && kinds=full || kinds="full thin"
      for lto in $kinds; do
        for level in -O0 -O2 -O3; do
          one "$cxx" "$level -flto=$lto" "$level -flto=$lto" "-fuse-ld=$lld"
        done
        [ -n "$suffix" ] || one "$cxx" "-O2 -fPIC -flto=$lto" "-O2 -fPIC -flto=$lto" "-fuse-ld=$lld"
      done ;;
    *)
      for partition in none one max 1to1 balanced; do
        one "$cxx" "-O2 -flto -flto-partition=$partition" "-O2 -flto" \
          "-flto-partition=$partition"
      done
      one "$cxx" "-O0 -flto" "-O0 -flto"
      one "$cxx" "-O3 -flto" "-O3 -flto"
      [ -n "$suffix" ] || one "$cxx" "-O3 -fPIC -flto" "-O3 -fPIC -flto" ;;
  esac
done

echo "$ran modes ran, $failures failed"
[ "$failures" = 0 ] && [ "$ran" -gt 0 ]
