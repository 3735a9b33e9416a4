// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Time: everything of include/thrum/time.
#ifndef THRUM_TIME_HPP
#define THRUM_TIME_HPP

#include <thrum/time/sleep.hpp>

#endif
