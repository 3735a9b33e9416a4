// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word, on FreeBSD: _umtx_op. What it promises is in os/note.hpp.
#ifndef THRUM_OS_FREEBSD_UMTX_HPP
#define THRUM_OS_FREEBSD_UMTX_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_FREEBSD

#if !THRUM_SEPARATE
#include <thrum/os/freebsd/umtx_definition.hpp>
#endif

#endif  // THRUM_OS_FREEBSD
#endif  // THRUM_OS_FREEBSD_UMTX_HPP
