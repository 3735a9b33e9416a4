// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Threads that make nothing runnable.
#ifndef THRUM_DETAIL_OS_BYSTANDERS_HPP
#define THRUM_DETAIL_OS_BYSTANDERS_HPP

#include <thrum/detail/base/config.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// How many threads of this process are in a bystander_scope.
inline constinit std::atomic<unsigned> bystanders{0};

/// While it lives, the calling thread makes no goroutine runnable, except by locks that it takes and
/// releases. So a deadlock is reported although the thread runs.
class bystander_scope {
 public:
  // relaxed: each counts itself, and a thread that is not counted yet, or not any more, may as well
  // be any thread
  bystander_scope() noexcept { bystanders.fetch_add(1, std::memory_order_relaxed); }
  ~bystander_scope() { bystanders.fetch_sub(1, std::memory_order_relaxed); }  // relaxed: as above
  bystander_scope(const bystander_scope&) = delete;
  bystander_scope& operator=(const bystander_scope&) = delete;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_BYSTANDERS_HPP
