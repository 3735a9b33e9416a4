// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Time: everything of include/thrum/time.
#ifndef THRUM_TIME_HPP
#define THRUM_TIME_HPP

#include <thrum/time/after.hpp>
#include <thrum/time/sleep.hpp>
#include <thrum/time/ticker.hpp>
#include <thrum/time/timer.hpp>

#endif
