#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# From what ./dev package has made to a running goroutine, in an empty folder, by each package manager whose
# tool is here; the commands are those that a user types.
#
#   packages.sh [pkg-config | fetch-content | conan | meson | debian | cpm | vcpkg | xrepo | bazel | homebrew | nix]...
#
# CONAN and MESON say how they are started, XMAKE and BAZEL too; CPM is the file CPM.cmake. What is not here is skipped. vcpkg's tool
# is not asked for: its port is run by what vcpkg_layout.cmake has of it, and its files are checked by ./dev package.
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$PWD/build/packages tests=$PWD/tests consume=$PWD/tests/consume
archive=$(echo "$packages"/thrum-*.tar.gz)
version=${archive##*/thrum-} version=${version%.tar.gz}
cpm=${CPM:+$(realpath "$CPM")}
read -ra conan <<<"${CONAN:-conan}"
read -ra meson <<<"${MESON:-meson}"
read -ra xmake <<<"${XMAKE:-xmake}"
read -ra bazel <<<"${BAZEL:-bazel}"

has() {
  command -v "$1" >/dev/null || { echo "skip  $name: $1 is not installed"; exit 0; }
}

# What the program says.
expect() {
  local said
  said=$("$@")
  [ "$said" = "sum 55" ] || { echo "$name: the program says \"$said\""; exit 1; }
}

pkg-config_() {
  has pkg-config
  tar xf "$archive"
  cmake -S "thrum-$version" -B build -DCMAKE_INSTALL_PREFIX="$PWD/prefix"
  cmake --install build
  export PKG_CONFIG_PATH=$PWD/prefix/share/pkgconfig
  # shellcheck disable=SC2046
  c++ -std=c++20 "$consume/find_package/main.cpp" $(pkg-config --cflags --libs thrum) -o app
  expect ./app
}

fetch-content_() {
  has cmake
  cmake -S "$consume/fetch_content" -B build -DTHRUM_ARCHIVE="$archive"
  cmake --build build
  expect build/app
}

conan_() {
  has "${conan[0]}"
  export CONAN_HOME=$PWD/conan
  "${conan[@]}" profile detect
  local options=()
  if pkg-config --exists 'openssl >= 3'; then
    # A stand-in for the package that Conan's own index has: the system's OpenSSL.
    mkdir openssl
    printf '%s\n' 'from conan import ConanFile' 'class OpenSSL(ConanFile):' '    name, version = "openssl", "3.0.0"' \
      '    def package_info(self):' '        self.cpp_info.includedirs = []' \
      '        self.cpp_info.system_libs = ["ssl", "crypto"]' >openssl/conanfile.py
    "${conan[@]}" create openssl
    options=(-o 'thrum/*:tls=True')
  fi
  "${conan[@]}" create "$packages/conan/all" --version "$version" -s compiler.cppstd=20 ${options[@]+"${options[@]}"}
}

meson_() {
  has "${meson[0]}"
  mkdir subprojects
  cp "$packages/thrum.wrap" subprojects
  cp "$consume/meson/meson.build" "$consume/find_package/main.cpp" .
  "${meson[@]}" setup build
  "${meson[@]}" compile -C build
  expect build/app
}

debian_() {
  has dpkg-buildpackage
  has lintian
  cp "$archive" "thrum_$version.orig.tar.gz"
  tar xf "$archive"
  cp -r "thrum-$version/packaging/debian" "thrum-$version/debian"
  (cd "thrum-$version" && dpkg-buildpackage -us -uc)
  # No bug of Debian's asks for the package yet.
  lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.changes
  dpkg-deb -x ./*.deb root
  c++ -std=c++20 "$consume/find_package/main.cpp" -Iroot/usr/include -pthread -o app
  expect ./app
}

cpm_() {
  has cmake
  [ -f "$cpm" ] || { echo "skip  $name: CPM= names no CPM.cmake"; exit 0; }
  cmake -S "$consume/cpm" -B build -DTHRUM_ARCHIVE="$archive" -DCPM_FILE="$cpm"
  cmake --build build
  expect build/app
}

vcpkg_() {
  has cmake
  cmake -DPORT_FOLDER="$packages/vcpkg/ports/thrum" -DWORK="$PWD" -P "$tests/packages/vcpkg_layout.cmake"
  cmake -S "$consume/find_package" -B build -DCMAKE_PREFIX_PATH="$PWD/packages"
  cmake --build build
  expect build/app
}

xrepo_() {
  has "${xmake[0]}"
  export XMAKE_GLOBALDIR=$PWD XMAKE_ROOT=y THRUM_XREPO=$packages/xrepo
  cp "$consume/xrepo/xmake.lua" "$consume/find_package/main.cpp" .
  "${xmake[@]}" global --network=private  # of repositories only ours
  "${xmake[@]}" config --yes --mode=release
  "${xmake[@]}" build
  expect "${xmake[@]}" run app
}

# The native rules of Bazel 2 under the names of the repository that a newer Bazel takes them from.
native_rules() {  # native_rules FOLDER RULE...
  local folder=$1 rule
  shift
  mkdir -p "$folder"
  touch "${folder%/*}/WORKSPACE" "$folder/BUILD"
  for rule; do echo "$rule = native.$rule"; done >"$folder/defs.bzl"
}

bazel_() {
  has "${bazel[0]}"
  tar xf "$archive"
  mv "thrum-$version" thrum
  touch thrum/WORKSPACE
  printf '%s\n' thrum root >.bazelignore
  cp "$consume"/bazel/* "$consume/find_package/main.cpp" .
  native_rules rules_cc/cc cc_{binary,import,library,proto_library,test,toolchain,toolchain_suite} fdo_profile objc_library
  native_rules rules_java/java java_{binary,import,library,runtime,test,toolchain}
  trap 'chmod -R u+w root' EXIT
  local programs=(app app_separate) each
  ! pkg-config --exists 'openssl >= 3' || programs+=(app_tls)
  "${bazel[@]}" --output_user_root="$PWD/root" --batch build --cxxopt=-std=c++20 --copt=-fstack-clash-protection "${programs[@]}"
  for each in "${programs[@]}"; do expect "bazel-bin/$each"; done
}

homebrew_() {  # by stand-ins for Homebrew's own functions
  has ruby
  has cmake
  tar xf "$archive"
  ruby --disable-gems "$consume/homebrew/brew.rb" "$packages/homebrew/thrum.rb" "thrum-$version"
}

nix_() {  # evaluated with stand-ins for nixpkgs, which would make of it a call of CMake and of its install
  has nix-instantiate
  export HOME=$PWD NIX_STORE_DIR=$PWD/store NIX_STATE_DIR=$PWD/state NIX_LOG_DIR=$PWD/log NIX_CONF_DIR=$PWD
  local said
  said=$(nix-instantiate --eval --strict -E "(import $packages/nix/default.nix {
    stdenv.mkDerivation = x: x; fetchurl = x: x; cmake = \"cmake\"; lib.licenses.mit = \"MIT\"; }).src.sha256")
  [ "$said" = "\"$(sha256sum "$archive" | cut -d ' ' -f 1)\"" ] || { echo "$name: the archive's checksum is $said"; exit 1; }
}

[ $# != 0 ] || set -- pkg-config fetch-content conan meson debian cpm vcpkg xrepo bazel homebrew nix
status=0
for name in "$@"; do
  folder=$(mktemp -d)
  # Not as a condition, in which bash would go on behind a command that fails.
  set +e
  (set -e; cd "$folder"; "${name}_") >"$folder.log" 2>&1
  result=$?
  set -e
  if [ $result = 0 ]; then
    grep -a '^skip ' "$folder.log" || echo "ok    $name"
  else
    echo "FAIL  $name"
    tail -n 30 "$folder.log"
    status=1
  fi
  rm -rf "$folder" "$folder.log"
done
exit $status
