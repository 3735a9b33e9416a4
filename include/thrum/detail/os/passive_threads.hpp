// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Threads that make nothing runnable.
#ifndef THRUM_DETAIL_OS_PASSIVE_THREADS_HPP
#define THRUM_DETAIL_OS_PASSIVE_THREADS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// How many threads of this process are in a passive_thread_scope. A thread that is not counted yet, or not
/// any more, may as well be any thread.
inline constinit base::shared_figure<unsigned> passive_threads{0};

/// While it lives, the calling thread makes no goroutine runnable, except by locks that it takes and
/// releases. So a deadlock is reported although the thread runs.
class passive_thread_scope {
 public:
  passive_thread_scope() noexcept { passive_threads.add(); }
  ~passive_thread_scope() { passive_threads.take(); }
  passive_thread_scope(const passive_thread_scope&) = delete;
  passive_thread_scope& operator=(const passive_thread_scope&) = delete;
};

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_PASSIVE_THREADS_HPP
