# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
#
# This machine's Linux, of which threads use only what every POSIX system has: what a port falls back
# on is run by all tests.
set(CMAKE_CXX_FLAGS_INIT -DTHRUM_OS_PORTABLE=1)
