# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# aarch64, run under qemu-user.
set(triple aarch64-linux-gnu)
set(emulator qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
