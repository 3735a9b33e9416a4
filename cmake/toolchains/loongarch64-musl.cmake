# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# loongarch64 with musl, everything linked into the program, run under qemu-user, which has no vectors.
set(system Linux)
set(triple loongarch64-linux-musl)
set(processor generic_la64+d)
set(emulator qemu-loongarch64)
set(THRUM_LINKED_STATICALLY TRUE)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
