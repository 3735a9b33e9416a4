// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Time: sleep, after, timer and ticker. <thrum/time/rate_limiter.hpp> stands by itself.
#ifndef THRUM_TIME_HPP
#define THRUM_TIME_HPP

#include <thrum/time/after.hpp>   // IWYU pragma: export
#include <thrum/time/sleep.hpp>   // IWYU pragma: export
#include <thrum/time/ticker.hpp>  // IWYU pragma: export
#include <thrum/time/timer.hpp>   // IWYU pragma: export

#endif
