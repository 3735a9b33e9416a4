# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by ./dev: lint is `./dev lint`.

# What has changed since the branch left origin's, or, on that one itself, with the last commit.
changed_sources() {
  local main base
  is_clone || die "lint: this folder is no clone made by git, so what has changed is unknown: name files, or --all"
  main=$(git symbolic-ref -q refs/remotes/origin/HEAD || true)
  base=$(git merge-base HEAD ${main:+"$main"} 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse -q --verify HEAD~1) || {
      say "lint: there is no earlier commit to compare with: name files, or --all"
      return 0
    }
  fi
  { git diff --name-only --diff-filter=d "$base" -- '*.hpp' '*.cpp' ':!single_include'
    git ls-files --others --exclude-standard -- '*.hpp' '*.cpp' ':!single_include'; } | sort -u
}

# Headers are looked at as users see them, through thrum.hpp, which costs as much as one of them; only
# what that does not reach is looked at by itself.
lint_headers() {  # lint_headers FILE...
  local reached file status=0 flags=(-x c++ -std=c++20 -Iinclude)
  [ $# != 0 ] || return 0
  reached=$(c++ "${flags[@]}" -MM include/thrum.hpp)
  clang-tidy --quiet include/thrum.hpp -- "${flags[@]}" || status=1
  while [ $# != 0 ] && has_time; do
    python3 tools/lint_includes.py "${@:1:8}" || status=1
    for file in "${@:1:8}"; do
      grep -qF " $file" <<<"$reached" || clang-tidy --quiet "$file" -- "${flags[@]}" || status=1
    done
    shift $(($# < 8 ? $# : 8))
  done
  [ $# = 0 ] || say "lint: $# headers were left out: the time is over"
  return $status
}

# Not by CMake's list of commands, in which a test stands as one of eight in a file.
lint_programs() {  # lint_programs FILE...
  local flags=(-std=c++20 -DTHRUM_CHECKS=1 -Iinclude -Itests) name status=0
  flags+=(-isystem "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')")
  for name in $(grep -rhoE '\bTHRUM_[A-Z_]+_(PATH|SCRIPT|DIR)\b' tests | sort -u); do
    flags+=("-D$name=\"\"")
  done
  while [ $# != 0 ] && has_time; do
    printf '%s\n' "${@:1:4}" | xargs -P 2 -I FILE clang-tidy --quiet FILE -- "${flags[@]}" || status=1
    shift $(($# < 4 ? $# : 4))
  done
  [ $# = 0 ] || say "lint: $# programs were left out: the time is over"
  return $status
}

lint() {
  need git python3 c++ clang-tidy clang-include-cleaner-19 header:catch2
  local files headers programs status=0 end=""
  [ "${1:-}" != --seconds ] || { end=$((SECONDS + ${2:?lint: --seconds wants a number})) && shift 2; }
  has_time() { [ -z "$end" ] || [ $SECONDS -lt "$end" ]; }
  case ${1:-} in
    "") files=$(changed_sources) || exit ;;
    --all) files=$(sources) ;;
    *) files=$(printf '%s\n' "$@") ;;
  esac
  # The two halves around others' macros are no code by themselves.
  headers=$(grep -E '^include/.*\.hpp$' <<<"$files" | grep -v '/put_macros_' || true)
  programs=$(grep -E '^(tests/(unit|go|model|stress)|examples)/.*\.cpp$' <<<"$files" || true)
  say "lint: $(grep -c . <<<"$headers" || true) headers, $(grep -c . <<<"$programs" || true) programs"
  # shellcheck disable=SC2086
  lint_headers $headers || status=1
  # shellcheck disable=SC2086
  lint_programs $programs || status=1
  return $status
}
