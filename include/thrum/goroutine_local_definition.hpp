// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What goroutine_local.hpp declares: the bodies that are not inlined.
#ifndef THRUM_GOROUTINE_LOCAL_DEFINITION_HPP
#define THRUM_GOROUTINE_LOCAL_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/goroutine_local.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sched/core/g.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

using namespace sched;

/// The values of a thread that is no goroutine's; destroyed when it ends.
struct thread_locals {
  local_value* first = nullptr;
  ~thread_locals() { destroy_locals(first); }
};

THRUM_NOINLINE THRUM_OUT_OF_LINE local_value*& callers_locals() {
  asm volatile("");
  auto* const m = current_m();
  if (m != nullptr && m->g != nullptr) {
    return m->g->locals;
  }
  return os::of_this_thread<thread_locals>().first;
}

/// A goroutine may come by several shared objects, which have one row of keys.
struct last_local_key {
  static constexpr std::string_view process_name = "go_detail::last_local_key";
  std::atomic<std::uint64_t> last{0};
};

THRUM_OUT_OF_LINE std::uint64_t next_local_key() noexcept {
  auto& last = os::process_wide<last_local_key>::get().last;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only uniqueness is asked
}

}}}  // namespace thrum::THRUM_ABI::go_detail

#endif
