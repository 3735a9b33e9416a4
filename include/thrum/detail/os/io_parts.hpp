// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for descriptors: files, sockets, pipes and processes. With
// THRUM_OS_PORTABLE, by what POSIX has and no more.
#ifndef THRUM_DETAIL_OS_IO_PARTS_HPP
#define THRUM_DETAIL_OS_IO_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/handle.hpp>        // IWYU pragma: export
#include <thrum/detail/os/remove_tree.hpp>   // IWYU pragma: export
#include <thrum/detail/os/result.hpp>        // IWYU pragma: export
#include <thrum/detail/os/socket_types.hpp>  // IWYU pragma: export

#if THRUM_OS_POSIX
#include <thrum/detail/os/posix/descriptor.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/directory.hpp>   // IWYU pragma: export
#include <thrum/detail/os/posix/file.hpp>        // IWYU pragma: export
#include <thrum/detail/os/posix/socket.hpp>      // IWYU pragma: export
#endif

#if THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/descriptor.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/directory.hpp>   // IWYU pragma: export
#include <thrum/detail/os/windows/file.hpp>        // IWYU pragma: export
#include <thrum/detail/os/windows/file_watch.hpp>  // IWYU pragma: export
#include <thrum/detail/os/windows/pipe.hpp>        // IWYU pragma: export
#include <thrum/detail/os/windows/process.hpp>     // IWYU pragma: export
#include <thrum/detail/os/windows/socket.hpp>      // IWYU pragma: export
#elif THRUM_OS_BSD
#include <thrum/detail/os/bsd/process.hpp>        // IWYU pragma: export
#include <thrum/detail/os/bsd/vnode_watch.hpp>    // IWYU pragma: export
#include <thrum/detail/os/posix/new_handles.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/transfer.hpp>     // IWYU pragma: export
#elif THRUM_OS_PORTABLE
#include <thrum/detail/os/posix/absent.hpp>       // IWYU pragma: export
#include <thrum/detail/os/posix/new_handles.hpp>  // IWYU pragma: export
#include <thrum/detail/os/posix/transfer.hpp>     // IWYU pragma: export
#elif THRUM_OS_LINUX
#include <thrum/detail/os/linux/file_watch.hpp>  // IWYU pragma: export
#include <thrum/detail/os/linux/pipe.hpp>        // IWYU pragma: export
#include <thrum/detail/os/linux/process.hpp>     // IWYU pragma: export
#include <thrum/detail/os/linux/socket.hpp>      // IWYU pragma: export
#endif

// Changes of files: as os/bsd/vnode_watch.hpp has them.
#if THRUM_OS_BSD

#include <thrum/detail/os/answers.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using file_watch = vnode_watch;

inline const std::byte* take_change(const std::byte* at, file_change_seen& change) noexcept {
  return vnode_watch::take_change(at, change);
}

}}}  // namespace thrum::THRUM_ABI::os

#endif  // THRUM_OS_BSD

#endif  // THRUM_DETAIL_OS_IO_PARTS_HPP
