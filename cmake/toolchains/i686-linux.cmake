# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# 32-bit x86, which x86-64 runs itself.
set(triple i686-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")  # x87 computes with more digits than it stores
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
unset(CMAKE_CROSSCOMPILING_EMULATOR)
