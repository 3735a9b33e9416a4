# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# riscv64, run under qemu-user.
set(triple riscv64-linux-gnu)
set(emulator qemu-riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
