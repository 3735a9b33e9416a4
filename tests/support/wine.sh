#!/usr/bin/env bash
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Runs a program of Windows under wine, without its own messages.
PATH=$PATH:/usr/lib/wine
export WINEDEBUG=${WINEDEBUG:--all} WINEPREFIX=${WINEPREFIX:-$HOME/.cache/thrum-wine}
mkdir -p "$WINEPREFIX"
exec wine64 "$@"
