# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# This machine's Linux, whose descriptors are waited for by macOS's and FreeBSD's poller, over libkqueue,
# which is to be installed; CMAKE_PREFIX_PATH says where, if not in the usual place.
find_path(KQUEUE_INCLUDE_DIR sys/event.h PATH_SUFFIXES kqueue REQUIRED)
find_library(KQUEUE_LIBRARY kqueue REQUIRED)
cmake_path(GET KQUEUE_LIBRARY PARENT_PATH folder)
set(CMAKE_CXX_FLAGS_INIT "-DTHRUM_POLLER_KQUEUE=1 -isystem ${KQUEUE_INCLUDE_DIR}")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT ${KQUEUE_LIBRARY})
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath,${folder})
set(CMAKE_MODULE_LINKER_FLAGS_INIT -Wl,-rpath,${folder})
