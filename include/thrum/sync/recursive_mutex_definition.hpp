// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/recursive_mutex.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_RECURSIVE_MUTEX_DEFINITION_HPP
#define THRUM_SYNC_RECURSIVE_MUTEX_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/convert.hpp>
#include <thrum/sched/core/current.hpp>
#include <thrum/sync/recursive_mutex.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

THRUM_OUT_OF_LINE std::uintptr_t caller_identity() noexcept {
  const auto* const m = sched::current_m();
  if (m != nullptr && m->g != nullptr) {
    return reinterpret_cast<std::uintptr_t>(m->g);
  }
  return base::convert<std::uintptr_t>(os::thread_id()) << 1 | 1;  // a G's address is even
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
