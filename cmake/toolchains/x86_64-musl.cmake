# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# Linux with musl, which is loaded when a program starts: by /lib/ld-musl-x86_64.so.1.
set(system Linux)
set(triple x86_64-linux-musl)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
set(CMAKE_EXE_LINKER_FLAGS_INIT -dynamic)
# Without this zig's linker gives stdin, stdout and stderr one place, as its list of the C library has no sizes.
string(APPEND CMAKE_CXX_FLAGS_INIT " -fPIC")
