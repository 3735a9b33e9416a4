# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# 32-bit x86, which x86-64 runs itself.
set(triple i686-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
unset(CMAKE_CROSSCOMPILING_EMULATOR)
