# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by bash: installs the tools that a command of ./dev needs.
#
#   need TOOL...   installs the missing ones of them; ends the shell with one sentence if it cannot
#   has TOOL       whether it is there
#   manager        prints the package manager; fails if there is none that it knows
#
# A package manager fails at once while another program holds its lock, as unattended-upgrades does for
# minutes on a fresh Ubuntu. need waits for that, at most $longest_wait seconds, and says so once. It retries the
# whole command: apt's own DPkg::Lock::Timeout covers the lock of dpkg, but not the one of the lists.
#
# The shell that sources this file has say() and die().

longest_wait=900  # seconds
wait_step=5

manager() {
  local m
  for m in apt-get dnf pacman brew pkg; do
    ! command -v $m >/dev/null || { echo $m; return; }
  done
  return 1
}

# The package that holds a tool, by package manager: tool apt dnf pacman brew pkg. A - stands where there
# is none of that name: compilers for Linux, emulators of its programs, compilers of one version.
packages='
c++                     g++                       gcc-c++                   gcc                     gcc              llvm
g++                     g++                       gcc-c++                   gcc                     gcc              gcc
cmake                   cmake                     cmake                     cmake                   cmake            cmake
ninja                   ninja-build               ninja-build               ninja                   ninja            ninja
git                     git                       git                       git                     git              git
python3                 python3                   python3                   python                  python3          python3
python-venv             python3-venv              python3                   python                  python3          python3
clang-format            clang-format              clang-tools-extra         clang                   clang-format     llvm
clang-tidy              clang-tidy                clang-tools-extra         clang                   llvm             llvm
clang-include-cleaner-19 clang-tools-19           clang-tools-extra         clang                   -                -
clang++-14              clang-14                  clang                     clang                   -                -
clang++-19              clang-19                  clang                     clang                   -                -
aarch64-linux-gnu-g++   g++-aarch64-linux-gnu     gcc-c++-aarch64-linux-gnu aarch64-linux-gnu-gcc   -                -
riscv64-linux-gnu-g++   g++-riscv64-linux-gnu     gcc-c++-riscv64-linux-gnu riscv64-linux-gnu-gcc   -                -
i686-linux-gnu-g++      g++-i686-linux-gnu        gcc-c++-i686-linux-gnu    lib32-gcc-libs          -                -
arm-linux-gnueabihf-g++ g++-arm-linux-gnueabihf   gcc-c++-arm-linux-gnu     arm-linux-gnueabihf-gcc -                -
s390x-linux-gnu-g++     g++-s390x-linux-gnu       gcc-c++-s390x-linux-gnu   s390x-linux-gnu-gcc     -                -
powerpc64le-linux-gnu-g++ g++-powerpc64le-linux-gnu gcc-c++-powerpc64le-linux-gnu powerpc64le-linux-gnu-gcc -        -
musl                    musl                      musl-libc                 musl                    -                -
lib32-stdc++            lib32stdc++6              libstdc++.i686            lib32-gcc-libs          -                -
qemu-aarch64            qemu-user                 qemu-user                 qemu-user               -                -
qemu-riscv64            qemu-user                 qemu-user                 qemu-user               -                -
qemu-arm                qemu-user                 qemu-user                 qemu-user               -                -
qemu-s390x              qemu-user                 qemu-user                 qemu-user               -                -
qemu-ppc64le            qemu-user                 qemu-user                 qemu-user               -                -
mingw-g++               g++-mingw-w64-x86-64-posix mingw64-gcc-c++          mingw-w64-gcc           mingw-w64        -
wine64                  wine64                    wine-core                 wine                    wine-stable      wine
libclang-rt-19          libclang-rt-19-dev        compiler-rt               compiler-rt             -                -
pkg-config              pkg-config                pkgconf-pkg-config        pkgconf                 pkgconf          pkgconf
dpkg-buildpackage       dpkg-dev                  -                         -                       -                -
dh                      debhelper                 -                         -                       -                -
lintian                 lintian                   -                         -                       -                -
wrk                     wrk                       -                         wrk                     wrk              wrk
curl                    curl                      curl                      curl                    curl             curl
taskset                 util-linux                util-linux                util-linux              -                -
go                      golang                    golang                    go                      go               go
cargo                   cargo                     cargo                     rust                    rust             rust
header:boost/fiber      libboost-fiber-dev        boost-devel               boost                   boost            boost-libs
header:oneapi/tbb       libtbb-dev                tbb-devel                 onetbb                  tbb              onetbb
header:catch2           catch2                    catch-devel               catch2                  catch2           catch2
header:benchmark        libbenchmark-dev          google-benchmark-devel    benchmark               google-benchmark benchmark
'

any_of() {  # any_of PATH...: whether one of them exists
  local path
  for path in "$@"; do [ -e "$path" ] && return; done
  return 1
}

has() {
  case $1 in
    header:*) any_of {/usr,/usr/local,/opt/homebrew}/include/"${1#header:}" ;;
    python-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    lib32-stdc++) any_of {/usr,}/lib32/libstdc++.so.6 /usr/lib/i386-linux-gnu/libstdc++.so.6 ;;
    mingw-g++) command -v x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++ >/dev/null ;;
    wine64) PATH=$PATH:/usr/lib/wine command -v wine64 >/dev/null ;;
    musl) any_of /lib/ld-musl-x86_64.so.1 ;;
    libclang-rt-19) any_of "$(clang++-19 -print-resource-dir)"/lib/*/libclang_rt.tsan* ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# packages_of MANAGER TOOL...: into `names`.
packages_of() {
  local m=$1 column tool name
  shift
  case $m in apt-get) column=2 ;; dnf) column=3 ;; pacman) column=4 ;; brew) column=5 ;; pkg) column=6 ;; esac
  names=()
  for tool in "$@"; do
    name=$(awk -v t="$tool" -v c=$column '$1 == t { print $c }' <<<"$packages")
    [ "${name:--}" != - ] || die "$tool is missing, and $m has no package for it: install it by hand"
    names+=("$name")
  done
}

# need TOOL...: installs those that are missing.
need() {
  local missing=() names=() tool m
  for tool in "$@"; do has "$tool" || missing+=("$tool"); done
  [ ${#missing[@]} != 0 ] || return 0
  m=$(manager) ||
    die "missing: ${missing[*]#header:}; I know no package manager of this system (apt-get, dnf, pacman, brew, pkg): install them by hand"
  packages_of "$m" "${missing[@]}"
  local install by_hand
  case $m in
    apt-get) install=(apt-get install -y "${names[@]}") ;;
    dnf) install=(dnf install -y "${names[@]}") ;;
    pacman) install=(pacman -S --needed --noconfirm "${names[@]}") ;;
    brew) install=(brew install "${names[@]}") ;;
    pkg) install=(pkg install -y "${names[@]}") ;;
  esac
  local root=()
  by_hand="${install[*]}"
  [ "$m" != apt-get ] || by_hand="apt-get update && $by_hand"
  [ "$m" = brew ] || become_root
  say "installing ${names[*]} ($m): a minute or two"
  install_packages
  for tool in "${missing[@]}"; do
    has "$tool" || die "$tool is still missing after: ${install[*]}"
  done
}

# The words that make a command one of root, into `root`; need's variables say what for. sudo asks for its
# password here, where a person sees the question, and not again later.
become_root() {
  [ "$(id -u)" != 0 ] || return 0
  command -v sudo >/dev/null ||
    die "missing: ${missing[*]#header:}; to install them needs root, and there is no sudo: run this as root: $by_hand"
  root=(sudo)
  by_hand="sudo ${install[*]}"
  [ "$m" != apt-get ] || by_hand="sudo apt-get update && $by_hand"
  sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; } ||
    die "missing: ${missing[*]#header:}; sudo gives no root here (it wants a password, and may ask only on a terminal): run by hand: $by_hand"
}

# Runs `install`, and says in one sentence why it failed.
install_packages() {
  local said why lists=''
  # Older lists may do where new ones cannot be fetched, which apt-get itself calls a success.
  if [ "$m" = apt-get ]; then
    run_manager apt-get update -qq || true
    lists=$(sed -nE 's/^[WE]: Failed to fetch [^ ]+ +(.*)/\1/p' <<<"$said" | head -n 1)
  fi
  ! run_manager "${install[@]}" || return 0
  why=$(reason)
  case $why in
    *"Failed to fetch"* | *"Unable to locate"* | *"no installation candidate"*)
      [ -z "$lists" ] || why="is there a network? $lists" ;;
  esac
  die "missing: ${missing[*]#header:}; \"${install[*]}\" failed: $why; when that is mended, run by hand: $by_hand"
}

# run_manager COMMAND...: its output goes into `said`. While another program holds its lock it is tried again.
run_manager() {
  local waited=0
  until said=$(${root[@]+"${root[@]}"} env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" </dev/null 2>&1); do
    is_locked || return 1
    [ $waited -lt $longest_wait ] ||
      die "missing: ${missing[*]#header:}; after $((longest_wait / 60)) minutes $(holder): end it, or wait longer, then run this again"
    [ $waited != 0 ] || say "$(holder): waiting for that, at most $((longest_wait / 60)) minutes"
    sleep $wait_step
    waited=$((waited + wait_step))
  done
}

# What a package manager says of a lock that another program holds. Of one that it may not open, which no
# waiting mends, it says other things.
is_locked() {
  local texts='Could not get lock|(frontend|database) lock was locked'  # apt, dpkg
  texts+='|Failed to obtain rpm transaction lock|transaction lock on .*temporarily unavailable'  # dnf, rpm
  texts+='|could not lock database: File exists|Cannot get an advisory lock'  # pacman, pkg
  texts+='|process has already locked|Another active Homebrew'  # brew
  grep -qE "$texts" <<<"$said"
}

# Who holds it, as far as that is known. apt says "Could not get lock /PATH. It is held by process 12 (NAME)".
holder() {
  local lock held
  lock=$(sed -nE 's/.*Could not get lock ([^ ]*[^ .]).*/\1/p' <<<"$said" | head -n 1)
  held=$(sed -nE 's/.*held by process ([0-9]+) \((.*)\).*/\2 (process \1)/p' <<<"$said" | head -n 1)
  printf '%s' "${held:-another program} holds ${lock:-the lock of $m}"
}

# The line of `said` that says most.
reason() {
  local line
  line=$(grep -E '^ *(E:|[Ee]rror:|pkg: )' <<<"$said" | head -n 1)
  [ -n "$line" ] || line=$(grep -v '^ *$' <<<"$said" | tail -n 1)
  printf '%s' "${line:-it did not say why}"
}
