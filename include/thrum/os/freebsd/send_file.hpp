// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The call of FreeBSD that sends a file inside the system: see os/bsd/send_file.hpp.
#ifndef THRUM_OS_FREEBSD_SEND_FILE_HPP
#define THRUM_OS_FREEBSD_SEND_FILE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

#include <thrum/os/bsd/send_file.hpp>  // IWYU pragma: export

#if !THRUM_SEPARATE
#include <thrum/os/freebsd/send_file_definition.hpp>
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_OS_FREEBSD_SEND_FILE_HPP
