// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Changes of files: as os/bsd/vnode_watch.hpp has them.
#ifndef THRUM_DETAIL_OS_BSD_FILE_WATCH_HPP
#define THRUM_DETAIL_OS_BSD_FILE_WATCH_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_BSD

#include <thrum/detail/os/answers.hpp>
#include <thrum/detail/os/bsd/vnode_watch.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using file_watch = vnode_watch;

inline const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept {
  return vnode_watch::take_change(at, change);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD
#endif
