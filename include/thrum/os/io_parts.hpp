// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Chooses the operating system, for descriptors: files, sockets, pipes and processes. With
// THRUM_OS_PORTABLE, by what POSIX has and no more.
#ifndef THRUM_OS_IO_PARTS_HPP
#define THRUM_OS_IO_PARTS_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_POSIX
#include <thrum/os/posix/child_pipe.hpp>  // IWYU pragma: export
#include <thrum/os/posix/descriptor.hpp>  // IWYU pragma: export
#include <thrum/os/posix/directory.hpp>   // IWYU pragma: export
#include <thrum/os/posix/file.hpp>        // IWYU pragma: export
#include <thrum/os/posix/handle.hpp>      // IWYU pragma: export
#include <thrum/os/posix/result.hpp>      // IWYU pragma: export
#include <thrum/os/posix/socket.hpp>      // IWYU pragma: export
#endif

#if THRUM_OS_WINDOWS
#include <thrum/os/windows/child_watch.hpp>  // IWYU pragma: export
#include <thrum/os/windows/descriptor.hpp>   // IWYU pragma: export
#include <thrum/os/windows/directory.hpp>    // IWYU pragma: export
#include <thrum/os/windows/file.hpp>         // IWYU pragma: export
#include <thrum/os/windows/file_watch.hpp>   // IWYU pragma: export
#include <thrum/os/windows/handle.hpp>       // IWYU pragma: export
#include <thrum/os/windows/message.hpp>      // IWYU pragma: export
#include <thrum/os/windows/pipe.hpp>         // IWYU pragma: export
#include <thrum/os/windows/process.hpp>      // IWYU pragma: export
#include <thrum/os/windows/result.hpp>       // IWYU pragma: export
#include <thrum/os/windows/socket.hpp>       // IWYU pragma: export
#elif THRUM_OS_MACOS
#include <thrum/os/bsd/child_watch.hpp>     // IWYU pragma: export
#include <thrum/os/bsd/file_watch.hpp>      // IWYU pragma: export
#include <thrum/os/bsd/process.hpp>         // IWYU pragma: export
#include <thrum/os/darwin/plain_write.hpp>  // IWYU pragma: export
#include <thrum/os/darwin/send_file.hpp>    // IWYU pragma: export
#include <thrum/os/posix/new_handles.hpp>   // IWYU pragma: export
#include <thrum/os/posix/no_splice.hpp>     // IWYU pragma: export
#include <thrum/os/posix/transfer.hpp>      // IWYU pragma: export
#elif THRUM_OS_FREEBSD
#include <thrum/os/bsd/child_watch.hpp>      // IWYU pragma: export
#include <thrum/os/bsd/file_watch.hpp>       // IWYU pragma: export
#include <thrum/os/bsd/process.hpp>          // IWYU pragma: export
#include <thrum/os/freebsd/new_handles.hpp>  // IWYU pragma: export
#include <thrum/os/freebsd/send_file.hpp>    // IWYU pragma: export
#include <thrum/os/posix/no_splice.hpp>      // IWYU pragma: export
#include <thrum/os/posix/plain_write.hpp>    // IWYU pragma: export
#include <thrum/os/posix/transfer.hpp>       // IWYU pragma: export
#elif THRUM_OS_PORTABLE
#include <thrum/os/posix/new_handles.hpp>     // IWYU pragma: export
#include <thrum/os/posix/no_child_watch.hpp>  // IWYU pragma: export
#include <thrum/os/posix/no_file_watch.hpp>   // IWYU pragma: export
#include <thrum/os/posix/no_send_file.hpp>    // IWYU pragma: export
#include <thrum/os/posix/no_splice.hpp>       // IWYU pragma: export
#include <thrum/os/posix/plain_process.hpp>   // IWYU pragma: export
#include <thrum/os/posix/plain_write.hpp>     // IWYU pragma: export
#include <thrum/os/posix/transfer.hpp>        // IWYU pragma: export
#elif THRUM_OS_LINUX
#include <thrum/os/linux/child_watch.hpp>  // IWYU pragma: export
#include <thrum/os/linux/file_watch.hpp>   // IWYU pragma: export
#include <thrum/os/linux/pipe.hpp>         // IWYU pragma: export
#include <thrum/os/linux/process.hpp>      // IWYU pragma: export
#include <thrum/os/linux/socket.hpp>       // IWYU pragma: export
#include <thrum/os/linux/splice.hpp>       // IWYU pragma: export
#endif

#endif  // THRUM_OS_IO_PARTS_HPP
