// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/network.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_NETWORK_DEFINITION_HPP
#define THRUM_NET_NETWORK_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/net/network.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sched/core/scheduler.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

/// The caller's virtual clock; null if its time is the system's.
inline sched::virtual_clock* clock_of_caller() noexcept {
  const sched::machine* const m = sched::current_m();
  return m != nullptr && m->g != nullptr && m->scheduler->clock.is_virtual()
             ? &m->scheduler->clock.own()
             : nullptr;
}

THRUM_OUT_OF_LINE network* network_of_caller() noexcept {
  const sched::virtual_clock* const clock = clock_of_caller();
  return clock == nullptr ? nullptr
                          : static_cast<network*>(clock->network.load(
                                std::memory_order_acquire));  // [vn.set <] sees what it is made of
}

THRUM_OUT_OF_LINE bool set_network_of_caller(network* own) noexcept {
  sched::virtual_clock* const clock = clock_of_caller();
  if (clock == nullptr) {
    return false;
  }
  void* none = nullptr;
  if (own == nullptr) {
    clock->network.store(nullptr, std::memory_order_relaxed);  // relaxed: nothing to be seen
    return true;
  }
  // [vn.set >] publishes it; sees: network_of_caller. relaxed: another one is not looked at
  return clock->network.compare_exchange_strong(none, own, std::memory_order_release,
                                                std::memory_order_relaxed);
}

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif
