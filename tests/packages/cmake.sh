#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# What the installed CMake package and the pkg-config file say to projects that are not like ours.
#
#   cmake.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install_with() {  # install_with FOLDER OPTION...
  local to=$1
  shift
  cmake -S "$source" -B "$work/build-$to" -DCMAKE_INSTALL_PREFIX="$work/$to" "$@" >"$work/said" 2>&1 &&
    cmake --install "$work/build-$to" >>"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
}
check() {  # check WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/said" 2>&1; then echo "ok    $what"; else
    echo "FAIL  $what"
    cat "$work/said"
    exit 1
  fi
}

install_with usual
targets=$work/usual/share/cmake/thrum/thrum-targets.cmake
check "CMake 3.22 is told the include folder by a package of a newer CMake" \
  grep -q 'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include' "$targets"

mkdir "$work/c"
printf 'cmake_minimum_required(VERSION 3.22)\nproject(only_c C)\nfind_package(thrum REQUIRED)\n' >"$work/c/CMakeLists.txt"
check "a project of C alone finds the package" cmake -S "$work/c" -B "$work/c/build" -DCMAKE_PREFIX_PATH="$work/usual"

mkdir "$work/strict"
cat >"$work/strict/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(strict CXX)
find_package(thrum REQUIRED)
get_target_property(libraries thrum::thrum INTERFACE_LINK_LIBRARIES)
if(libraries MATCHES "atomic")
  message(FATAL_ERROR "links ${libraries}")
endif()
TEXT
for compiler in g++ clang++-19; do
  command -v $compiler >/dev/null || continue
  flags="-Wall -Wextra -Wmissing-declarations -Werror"
  [ $compiler = g++ ] || flags="-Weverything -Werror"
  check "$compiler: warnings that are errors bring no library of atomics" cmake -S "$work/strict" \
    -B "$work/strict/$compiler" -DCMAKE_CXX_COMPILER=$compiler -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$work/usual"
done

# An OpenSSL of the project's own, as far as FindOpenSSL looks.
mkdir -p "$work/own/include/openssl" "$work/own/lib" "$work/openssl"
echo '#define OPENSSL_VERSION_STR "3.9.9"' >"$work/own/include/openssl/opensslv.h"
touch "$work"/own/include/openssl/{ssl,crypto}.h "$work"/own/lib/lib{ssl,crypto}.a
cat >"$work/openssl/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(openssl CXX)
function(must_be_own what where)
  if(NOT "${where}" MATCHES "^${OWN}/")
    message(FATAL_ERROR "${what} is ${where}, not in ${OWN}")
  endif()
endfunction()
if(BEFORE)
  set(OPENSSL_ROOT_DIR "${OWN}")
endif()
find_package(thrum REQUIRED)
find_package(thrum REQUIRED)
if(BEFORE)
  get_target_property(where thrum::tls INTERFACE_INCLUDE_DIRECTORIES)
  must_be_own("the include folder of thrum::tls" "${where}")
endif()
set(OPENSSL_ROOT_DIR "${OWN}")
find_package(OpenSSL REQUIRED)
must_be_own(OPENSSL_INCLUDE_DIR "${OPENSSL_INCLUDE_DIR}")
get_target_property(where OpenSSL::SSL IMPORTED_LOCATION)
must_be_own(OpenSSL::SSL "${where}")
TEXT
for before in ON OFF; do
  check "a project finds its own OpenSSL (OPENSSL_ROOT_DIR before find_package(thrum): $before)" cmake -S "$work/openssl" \
    -B "$work/openssl/$before" -DBEFORE=$before -DOWN="$work/own" -DCMAKE_PREFIX_PATH="$work/usual"
  check "... and finds it again when it configures again" cmake "$work/openssl/$before"
done
mkdir -p "$work/targets/modules"
echo 'add_library(own::ssl INTERFACE IMPORTED)
set_target_properties(own::ssl PROPERTIES INTERFACE_COMPILE_DEFINITIONS OWN_SSL)
set(OPENSSL_LIBRARIES own::ssl)
set(OPENSSL_FOUND TRUE)
set(OpenSSL_FOUND TRUE)' >"$work/targets/modules/FindOpenSSL.cmake"
echo 'int main() {}' >"$work/targets/main.cpp"
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(targets CXX)' 'set(CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/modules)' \
  'find_package(thrum REQUIRED)' 'add_executable(app main.cpp)' 'target_link_libraries(app thrum::tls)' >"$work/targets/CMakeLists.txt"
check "a project with an OpenSSL that is known by its targets finds the package" cmake -S "$work/targets" -B "$work/targets/build" \
  -DCMAKE_PREFIX_PATH="$work/usual"
check "... and what links thrum::tls uses these targets" grep -q OWN_SSL "$work/targets/build/CMakeFiles/app.dir/flags.make"
mkdir "$work/no_openssl"
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(no_openssl CXX)' 'set(CMAKE_DISABLE_FIND_PACKAGE_OpenSSL ON)' \
  'find_package(thrum REQUIRED)' 'find_package(thrum REQUIRED)' >"$work/no_openssl/CMakeLists.txt"
check "a project without OpenSSL finds the package twice" cmake -S "$work/no_openssl" -B "$work/no_openssl/build" \
  -DCMAKE_PREFIX_PATH="$work/usual"

install_with absolute -DCMAKE_INSTALL_INCLUDEDIR="$work/elsewhere"
check "thrum.pc names an absolute include folder as it is" \
  grep -qx "includedir=$work/elsewhere" "$work/absolute/share/pkgconfig/thrum.pc"

if command -v x86_64-w64-mingw32-g++-posix >/dev/null; then
  install_with mingw -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix
  check "thrum.pc names the libraries of Windows" \
    grep -qx 'Libs: -pthread -lws2_32 -liphlpapi -lntdll' "$work/mingw/share/pkgconfig/thrum.pc"
fi
