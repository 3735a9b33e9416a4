// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The parts of machine.hpp that see the system's own declarations.
#ifndef THRUM_OS_WINDOWS_MACHINE_DEFINITION_HPP
#define THRUM_OS_WINDOWS_MACHINE_DEFINITION_HPP

#include <thrum/base/config.hpp>

#include <thrum/os/windows/machine_aarch64_definition.hpp>  // IWYU pragma: export
#include <thrum/os/windows/machine_x86_64_definition.hpp>   // IWYU pragma: export

#endif  // THRUM_OS_WINDOWS_MACHINE_DEFINITION_HPP
