# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Linux on another processor by Debian's cross compiler: `triple` names the one, `emulator` runs what
# is built. The files beside this one set both. Or with its library by the clang that THRUM_CROSS_CLANG
# names, which takes less than half of the time where nothing is optimised.
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${triple})
if(THRUM_CROSS_CLANG)
  set(CMAKE_CXX_COMPILER ${THRUM_CROSS_CLANG})
  set(CMAKE_CXX_COMPILER_TARGET ${triple})
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES THRUM_CROSS_CLANG)
  foreach(kind EXE MODULE SHARED)  # binutils 2.40 faults on what clang 19 says to a debugger of riscv64
    set(CMAKE_${kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
  endforeach()
else()
  set(CMAKE_CXX_COMPILER ${triple}-g++)
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator} -L /usr/${triple})
set(CMAKE_FIND_ROOT_PATH /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
