# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Linux with musl, everything linked into the program.
set(system Linux)
set(triple x86_64-linux-musl)
set(THRUM_LINKED_STATICALLY TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
