// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The fence that both sides take where there is nothing better.
//
// Fences of [fence.1]: full_fence, light_fence.
#ifndef THRUM_DETAIL_OS_FULL_FENCE_HPP
#define THRUM_DETAIL_OS_FULL_FENCE_HPP

#include <atomic>

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// A fence that every thread pays for itself: the fallback of both sides.
inline void full_fence() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && THRUM_TSAN
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  // [fence.1 =] orders the store before it and the load after it against those of the other side's
  // fence
  std::atomic_thread_fence(seq_cst);
#if defined(__GNUC__) && !defined(__clang__) && THRUM_TSAN
#pragma GCC diagnostic pop
#endif
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_DETAIL_OS_FULL_FENCE_HPP
