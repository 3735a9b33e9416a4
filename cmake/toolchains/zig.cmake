# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Systems whose headers and libraries zig carries, by its clang and its libc++: `triple` is zig's name
# of the one, `system` CMake's, `processor` what it must run on if that is less than usual, `emulator` what
# runs it here. The files beside this one set them. ./dev puts a zig into build/zig.
file(GLOB installed ${CMAKE_CURRENT_LIST_DIR}/../../build/zig/lib/python*/site-packages/ziglang)
find_program(THRUM_ZIG zig HINTS ${installed} REQUIRED)
set(CMAKE_SYSTEM_NAME ${system})
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${triple})
set(CMAKE_CXX_COMPILER ${THRUM_ZIG} c++ -target ${triple})
if(processor)
  list(APPEND CMAKE_CXX_COMPILER -mcpu=${processor})
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
# Otherwise what is not optimised is compiled with its UndefinedBehaviorSanitizer.
set(CMAKE_CXX_FLAGS_INIT -fno-sanitize=all)
# Nothing of this machine but the headers that tests/CMakeLists.txt asks for by name.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
