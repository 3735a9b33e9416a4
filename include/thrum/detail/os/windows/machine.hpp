// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What differs between the processors of Windows: the words of a thread, and the registers of
// interrupted code.
// One of its files holds something.
#ifndef THRUM_DETAIL_OS_WINDOWS_MACHINE_HPP
#define THRUM_DETAIL_OS_WINDOWS_MACHINE_HPP

#include <thrum/detail/base/config.hpp>

#include <thrum/detail/os/windows/machine_aarch64.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/machine_x86_64.hpp>   // IWYU pragma: export

#endif  // THRUM_DETAIL_OS_WINDOWS_MACHINE_HPP
