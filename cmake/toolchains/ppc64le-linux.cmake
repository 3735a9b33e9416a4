# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# ppc64le, run under qemu-user.
set(triple powerpc64le-linux-gnu)
set(emulator qemu-ppc64le)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
