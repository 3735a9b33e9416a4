// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Asymmetric fences where the system has none: both sides pay for themselves. Known when this is
// compiled, so nothing asks which of the two ways it is.
#ifndef THRUM_DETAIL_OS_POSIX_FENCE_HPP
#define THRUM_DETAIL_OS_POSIX_FENCE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_PORTABLE

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/full_fence.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace os {

class thread_ref;

inline fence_kind prepare_heavy_fence() noexcept { return fence_kind::on_both_sides; }
inline void light_fence() noexcept { full_fence(); }
inline void heavy_fence() noexcept { full_fence(); }
inline void heavy_fence_for(const thread_ref&) noexcept { full_fence(); }

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_PORTABLE
#endif  // THRUM_DETAIL_OS_POSIX_FENCE_HPP
