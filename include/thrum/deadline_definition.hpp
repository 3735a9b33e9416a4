// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What deadline.hpp declares: the bodies that are not inlined.
#ifndef THRUM_DEADLINE_DEFINITION_HPP
#define THRUM_DEADLINE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sched/core/scheduler.hpp>
#include <thrum/sched/core/traits.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace time_detail {

THRUM_OUT_OF_LINE std::int64_t time_now() noexcept { return traits::now(); }

THRUM_OUT_OF_LINE bool is_time_virtual() noexcept {
  // relaxed: a constant once set
  if (traits::virtual_now().load(std::memory_order_relaxed) == nullptr) {
    return false;
  }
  const auto* const m = current_m();
  return m != nullptr && m->scheduler->clock.is_virtual();
}

}}}  // namespace thrum::THRUM_ABI::time_detail

#endif
