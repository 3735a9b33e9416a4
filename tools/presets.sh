# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by ./dev: presets of CMakePresets.json and targets, which are presets for another processor or C library.
#
#   configure PRESET [OPTION...]    installs what the preset needs, and configures build/PRESET
#   build PRESET [TARGET...]        configures it and compiles the targets
#   compile PRESET [TARGET...]      compiles them in a configured folder
#   is_target NAME, targets         whether cmake/toolchains has it; which ones it has
#   need_target NAME                installs the compiler and the emulator of a target

# A target is a preset whose toolchain file has its name.
targets() { basename -s .cmake cmake/toolchains/*-*.cmake | xargs; }

is_target() { case " $(targets) " in *" $1 "*) ;; *) return 1 ;; esac; }

says() {  # says TARGET VARIABLE
  [ ! -f "cmake/toolchains/$1.cmake" ] || sed -nE "s/^set\\($2 (.*)\\)\$/\1/p" "cmake/toolchains/$1.cmake"
}

need_target() {  # need_target NAME: what compiles for it, and what runs that
  local emulator
  if grep -q '/zig\.cmake' "cmake/toolchains/$1.cmake"; then
    need_zig
  elif [ -n "$(says "$1" triple)" ]; then
    need "$(says "$1" triple)-g++"
  fi
  emulator=$(says "$1" emulator)
  [ -z "$emulator" ] || need "$emulator"
  case $1 in
    i686-linux) need lib32-stdc++ ;;
    x86_64-musl) need musl ;;
    x86_64-windows) need mingw-g++ wine64 ;;
  esac
}

# Its compilers carry the headers and libraries of other systems.
need_zig() {
  need python3 python-venv
  any_of build/zig/lib/python*/site-packages/ziglang/zig && return
  command -v zig >/dev/null && return
  say "installing zig (python's package index) into build/zig"
  python3 -m venv build/zig && build/zig/bin/python -m pip install -q ziglang
}

# configure PRESET [OPTION...]: every time, since what was missing may have been installed meanwhile. What a
# folder was configured with by hand is kept: the preset is read again only if it has changed since.
configure() {
  need cmake ninja
  if is_target "$1"; then need_target "$1"; fi
  case $1 in
    gcc | asan | tsan | no-exceptions) need g++ ;;
    clang) need clang++-14 ;;
    clang-19) need clang++-19 ;;
    clang-asan | clang-tsan) need clang++-19 libclang-rt-19 ;;
    *) need c++ ;;
  esac
  if [ $# = 1 ] && [ "build/$1/CMakeCache.txt" -nt CMakePresets.json ]; then
    cmake "build/$1" >/dev/null
  else
    cmake --preset "$@" >/dev/null
  fi
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  configure "$preset"
  compile "$preset" "$@"
}

# compile PRESET [TARGET...]: says what it does, and how far it is.
compile() {
  local preset=$1
  shift
  say "building ${*:-all} ($preset): minutes the first time, seconds later"
  build_watched "build/$preset" "$@"
}
