# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Sourced by bash: wine in a folder of its own, apart from the user's.
#
# Now and then wine does not fill a fresh folder on a loaded machine. Each program that is started there
# then ends with 53, as kernel32.dll is missing. That is no error of ours, so another folder is made; what
# wine says is told when the third is not filled either.

# use_own_wine: sets WINEPREFIX. Folder and server go when the shell exits, so it sets the EXIT trap.
use_own_wine() {
  export WINEPREFIX WINEDEBUG=-all PATH=$PATH:/usr/lib/wine
  local try
  wine_folders=$(mktemp -d)
  trap leave_own_wine EXIT
  for try in 1 2 3; do
    WINEPREFIX=$wine_folders/$try
    ! timeout 120 wine64 cmd /c exit >"$wine_folders/said" 2>&1 || return 0
    wineserver -k || true
  done
  printf 'wine: no program starts in a fresh folder; try "wine64 cmd /c exit" by hand. It says:\n' >&2
  cat "$wine_folders/said" >&2
  return 1
}

leave_own_wine() {
  wineserver -k || true
  rm -rf "$wine_folders"
}
