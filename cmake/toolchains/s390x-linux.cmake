# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# s390x, run under qemu-user.
set(triple s390x-linux-gnu)
set(emulator qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
