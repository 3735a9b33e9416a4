// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the registry of all schedulers (sched/life/registry.hpp) knows of one.
#ifndef THRUM_DETAIL_SCHED_CORE_REGISTRATION_HPP
#define THRUM_DETAIL_SCHED_CORE_REGISTRATION_HPP

#include <thrum/detail/base/config.hpp>

#include <atomic>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

class runtime_scheduler;

class registration {
 public:
  /// Its number among all that were ever registered; constant from then on.
  std::uint64_t number() const noexcept { return number_; }

 private:
  friend class registry;

  // -- under the registry's lock --
  runtime_scheduler* next_ = nullptr;
  std::uint64_t number_ = 0;
  bool is_retired_ = false;
  bool is_shown_ = false;               // complete
  std::atomic<std::uint32_t> pins_{0};  // threads that look at it: it is not destroyed
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
