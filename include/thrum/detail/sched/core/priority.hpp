// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The two levels of priority. What they do is in sched/run/background.hpp.
#ifndef THRUM_DETAIL_SCHED_CORE_PRIORITY_HPP
#define THRUM_DETAIL_SCHED_CORE_PRIORITY_HPP

#include <thrum/detail/base/config.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// How urgent a goroutine is.
enum class priority : std::uint8_t {
  /// The priority of goroutines unless another one is given.
  normal = 0,
  /// It runs where a processor has found nothing else to run; and where none ever does, in one turn of 61
  /// of each processor, and once in 61 time slices. While others wait it is asked to give way after 1 ms.
  background = 1,
};

}}  // namespace thrum::THRUM_ABI

#endif
