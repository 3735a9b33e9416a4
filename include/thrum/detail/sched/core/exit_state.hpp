// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The exit of the process, as one scheduler sees it (sched/life/process_exit.hpp).
#ifndef THRUM_DETAIL_SCHED_CORE_EXIT_STATE_HPP
#define THRUM_DETAIL_SCHED_CORE_EXIT_STATE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class exit_state {
 public:
  /// Whether the exit has begun: the functions that upper layers gave the scheduler to call may be gone.
  bool has_begun() const noexcept {
    return has_begun_.load(base::orders::relaxed);  // relaxed: seen in time
  }

 private:
  friend class process_exit;

  atomic<bool> has_begun_{false};
  // -- the monitor only: CPU time of the thread that exits --
  struct {
    std::int64_t cpu = 0;
    std::int64_t when = 0;
    std::int64_t cpu_since = 0;
    std::int64_t since = 0;
  } seen_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
