# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# armhf, run under qemu-user.
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm)
set(CMAKE_CXX_FLAGS_INIT "-funwind-tables -Wno-psabi")
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
