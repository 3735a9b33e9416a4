// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sleep_for and sleep_until.
#ifndef THRUM_TIME_SLEEP_HPP
#define THRUM_TIME_SLEEP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/this_goroutine.hpp>

namespace thrum { inline namespace THRUM_ABI {

using this_goroutine::sleep_for;
using this_goroutine::sleep_until;

}}  // namespace thrum::THRUM_ABI

#endif
