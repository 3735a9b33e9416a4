// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on macOS. What it promises is in os/note.hpp.
//
// Since macOS 14.4 there are calls for it that the system's headers declare, os_sync_...; before that
// __ulock_wait and __ulock_wake, which its own libraries use, also the C++ one. Which of them there
// are is seen when the program runs. They are declared here by names of ours, so that a header of the
// system may declare them as well.
#ifndef THRUM_OS_DARWIN_WAIT_ON_ADDRESS_HPP
#define THRUM_OS_DARWIN_WAIT_ON_ADDRESS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_MACOS

#if !THRUM_SEPARATE
#include <thrum/os/darwin/wait_on_address_definition.hpp>
#endif

#endif  // THRUM_OS_MACOS
#endif  // THRUM_OS_DARWIN_WAIT_ON_ADDRESS_HPP
