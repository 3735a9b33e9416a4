// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A lock that is held to the end of a block.
#ifndef THRUM_DETAIL_SCHED_QUEUE_SCOPED_HPP
#define THRUM_DETAIL_SCHED_QUEUE_SCOPED_HPP

#include <thrum/detail/base/config.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Holds a lock for a scope; `std::lock_guard` without <mutex>, which costs a user 50 ms a file.
template <class Lock>
class [[nodiscard]] scoped {
 public:
  explicit scoped(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~scoped() { lock_.unlock(); }
  scoped(const scoped&) = delete;
  scoped& operator=(const scoped&) = delete;

 private:
  Lock& lock_;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
