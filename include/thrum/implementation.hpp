// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All of the implementation. With THRUM_SEPARATE=1 in all source files of a program, exactly one of
// them includes this, before any other header of the library. Without, each header brings what it
// needs, and this adds nothing.
#ifndef THRUM_IMPLEMENTATION_HPP
#define THRUM_IMPLEMENTATION_HPP

#ifndef THRUM_BODIES
#define THRUM_BODIES 1
#endif

#include <thrum.hpp>

#if THRUM_REQUIREMENTS_MET
#if !THRUM_BODIES
#error \
    "thrum: with THRUM_SEPARATE, include <thrum/implementation.hpp> before any other header of the library"
#endif

#include <thrum/detail/base/put_macros_aside.hpp>
//
#include <thrum/carried_value.hpp>
#include <thrum/generator.hpp>
#include <thrum/io/directory.hpp>
#include <thrum/io/file_watch.hpp>
#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/temporary.hpp>
#include <thrum/labels.hpp>
#include <thrum/sync/pool.hpp>
#include <thrum/sync/recursive_mutex.hpp>
#include <thrum/sync/singleflight.hpp>
#include <thrum/sync/weighted_semaphore.hpp>
#include <thrum/testing/bubble.hpp>
#include <thrum/time/rate_limiter.hpp>
#if THRUM_SEPARATE || defined(THRUM_FAKE_NET)
#include <thrum/testing/fake_net.hpp>
#endif
#if THRUM_SEPARATE && THRUM_TRACE
#include <thrum/trace.hpp>
#endif
#if THRUM_SEPARATE
// What <thrum/io_uring.hpp> makes available.
#include <thrum/detail/netpoll/io_uring.hpp>
// What <thrum/coroutine.hpp> uses.
#include <thrum/detail/select/call.hpp>
#endif
//
#include <thrum/detail/base/put_macros_back.hpp>
#endif

#endif
