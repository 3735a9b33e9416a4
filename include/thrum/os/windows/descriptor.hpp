// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors: the calls that files, pipes and sockets share.
//
// The system has one kind of handle for all of them, and other calls for each: a socket is read by
// recv() and closed by closesocket(). What a handle is the system is asked each time.
//
// A file has one position, which the system moves also when a call says where to read. So calls that
// say it put the position back.
//
// PO1  all calls on one file that use its position take turns: by a table of locks, as there is nothing
//      else to keep one in.
#ifndef THRUM_OS_WINDOWS_DESCRIPTOR_HPP
#define THRUM_OS_WINDOWS_DESCRIPTOR_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/handle.hpp>  // IWYU pragma: export
#include <thrum/os/windows/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// From where a file stands, or from a stream; 0 at the end of either.
io_result read(handle fd, void* to, std::size_t n) noexcept;

io_result write(handle fd, const void* from, std::size_t n) noexcept;

/// The handle is gone afterwards, whatever the result.
io_result close(handle fd) noexcept;

/// A socket alone can be set not to wait, and a pipe of ours never does: `not_supported` of others.
io_result set_nonblocking(handle fd, bool on) noexcept;

/// Waits with the thread until a socket or a pipe of ours is readable (or writable), or a child has
/// ended, for at most timeout_ms. 1, 0 after the time, or an error below zero: bad_handle if it is no
/// handle. Others are taken for ready.
io_result wait_for(handle fd, bool to_write, int timeout_ms) noexcept;

/// Whether it is a socket.
bool is_socket(handle fd) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/windows/descriptor_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_DESCRIPTOR_HPP
