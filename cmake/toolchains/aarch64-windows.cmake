# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Windows on 64-bit Arm by zig's clang and libc++. Nothing here runs its programs.
set(system Windows)
set(triple aarch64-windows-gnu)
set(runs_here FALSE)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
