# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# FreeBSD 14. Nothing here runs its programs.
set(system FreeBSD)
set(triple x86_64-freebsd)
set(runs_here FALSE)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
