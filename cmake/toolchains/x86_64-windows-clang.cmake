# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Windows on x86-64 by zig's clang and libc++, run under wine.
set(system Windows)
set(triple x86_64-windows-gnu)
find_program(THRUM_WINE wine64 HINTS /usr/lib/wine REQUIRED)
set(emulator ${CMAKE_CURRENT_LIST_DIR}/../../tests/support/wine.sh)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
