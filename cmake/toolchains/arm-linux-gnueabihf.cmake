# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# armhf, run under qemu-user.
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
