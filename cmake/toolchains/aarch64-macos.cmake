# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# macOS on Apple's processors. Nothing here runs its programs.
set(system Darwin)
set(triple aarch64-macos)
set(runs_here FALSE)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
# Where there are modules macOS's headers leave constants to clang's <float.h>, which zig's order of folders hides.
string(APPEND CMAKE_CXX_FLAGS_INIT " -fno-cxx-modules")
