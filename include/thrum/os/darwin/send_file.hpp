// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The call of macOS that sends a file inside the system: see os/bsd/send_file.hpp.
#ifndef THRUM_OS_DARWIN_SEND_FILE_HPP
#define THRUM_OS_DARWIN_SEND_FILE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#include <thrum/os/bsd/send_file.hpp>  // IWYU pragma: export

#if !THRUM_SEPARATE
#include <thrum/os/darwin/send_file_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_SEND_FILE_HPP
