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
#ifndef THRUM_DETAIL_OS_WINDOWS_DESCRIPTOR_HPP
#define THRUM_DETAIL_OS_WINDOWS_DESCRIPTOR_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/os/handle.hpp>  // IWYU pragma: export
#include <thrum/detail/os/result.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Reads from the position of a file, or from a stream; 0 at the end of either.
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

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/pipe.hpp>
#include <thrum/detail/os/windows/process_wide.hpp>

#include <algorithm>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What one call takes at most.
inline ::DWORD call_size(std::size_t n) noexcept {
  constexpr std::size_t most = std::size_t{1} << 30;
  return static_cast<::DWORD>(std::min(n, most));
}

/// PO1: one of the locks that calls on files take.
struct position_locks {
  static constexpr std::string_view process_name = "os::position_locks";
  static constexpr std::size_t size = 64;
  ::SRWLOCK all[size] = {};
};

/// The file keeps its position for the others to the end of a block.
class held_position {
 public:
  explicit held_position(handle fd) noexcept
      : lock_(process_wide<position_locks>::get().all[number_of(fd) % position_locks::size]) {
    ::AcquireSRWLockExclusive(&lock_);
  }
  ~held_position() { ::ReleaseSRWLockExclusive(&lock_); }
  held_position(const held_position&) = delete;
  held_position& operator=(const held_position&) = delete;

 private:
  ::SRWLOCK& lock_;
};

/// What a call on a stream says at its end.
inline io_result end_is_zero(io_result result) noexcept {
  return result == -ERROR_BROKEN_PIPE || result == -ERROR_HANDLE_EOF ? 0 : result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool is_socket(handle fd) noexcept {
  int type = 0;
  ::socklen_t size = sizeof type;
  return ::GetFileType(native(fd)) == FILE_TYPE_PIPE &&
         ::getsockopt(fd, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&type), &size) == 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read(handle fd, void* to, std::size_t n) noexcept {
  if (is_socket(fd)) {
    const int got = ::recv(fd, static_cast<char*>(to), static_cast<int>(call_size(n)), 0);
    return result_of(got >= 0, got);
  }
  if (const io_result got = read_pipe(fd, to, n); got != not_supported) {
    return got;
  }
  ::DWORD got = 0;
  if (::GetFileType(native(fd)) == FILE_TYPE_DISK) {
    const held_position turn(fd);
    const bool worked = ::ReadFile(native(fd), to, call_size(n), &got, nullptr) != 0;
    return end_is_zero(result_of(worked, got));
  }
  const bool worked = ::ReadFile(native(fd), to, call_size(n), &got, nullptr) != 0;
  return end_is_zero(result_of(worked, got));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write(handle fd, const void* from,
                                                 std::size_t n) noexcept {
  if (is_socket(fd)) {
    const int put = ::send(fd, static_cast<const char*>(from), static_cast<int>(call_size(n)), 0);
    return result_of(put >= 0, put);
  }
  if (const io_result put = write_pipe(fd, from, n); put != not_supported) {
    return put;
  }
  ::DWORD put = 0;
  if (::GetFileType(native(fd)) == FILE_TYPE_DISK) {
    const held_position turn(fd);
    const bool worked = ::WriteFile(native(fd), from, call_size(n), &put, nullptr) != 0;
    return result_of(worked, put);
  }
  const bool worked = ::WriteFile(native(fd), from, call_size(n), &put, nullptr) != 0;
  return result_of(worked, put);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_without_signal(handle fd, const void* from,
                                                                std::size_t n) noexcept {
  return write(fd, from, n);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result close(handle fd) noexcept {
  if (is_socket(fd)) {
    if (::closesocket(fd) == 0) {
      return 0;
    }
    if (const io_result error = -static_cast<io_result>(::WSAGetLastError());
        error != would_block) {
      return error;
    }
    unsigned long off = 0;  // it lingers, and one that does not block cannot
    ::ioctlsocket(fd, static_cast<long>(FIONBIO), &off);
    return result_of(::closesocket(fd) == 0, 0);
  }
  const io_result closed = close_pipe(fd);
  return closed != not_supported ? closed : result_of(::CloseHandle(native(fd)) != 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result set_nonblocking(handle fd, bool on) noexcept {
  if (!is_socket(fd)) {
    return ::GetFileType(native(fd)) == FILE_TYPE_UNKNOWN ? io_result{bad_handle}
           : on && is_own_pipe(fd)                        ? io_result{0}
                                                          : io_result{not_supported};
  }
  unsigned long value = on ? 1 : 0;
  return result_of(::ioctlsocket(fd, static_cast<long>(FIONBIO), &value) == 0, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_for(handle fd, bool to_write,
                                                    int timeout_ms) noexcept {
  if (!is_socket(fd)) {
    if (const io_result waited = wait_for_pipe(fd, to_write, timeout_ms); waited != not_supported) {
      return waited;
    }
    if (::GetProcessId(native(fd)) != 0) {
      const ::DWORD wait = timeout_ms < 0 ? INFINITE : static_cast<::DWORD>(timeout_ms);
      return ::WaitForSingleObject(native(fd), wait) == WAIT_OBJECT_0 ? 1 : 0;
    }
    return ::GetFileType(native(fd)) == FILE_TYPE_UNKNOWN ? bad_handle : io_result{1};
  }
  ::WSAPOLLFD one{fd, static_cast<short>(to_write ? POLLWRNORM : POLLRDNORM), 0};
  const int returned = ::WSAPoll(&one, 1, timeout_ms);
  return returned > 0 && (one.revents & POLLNVAL) != 0 ? io_result{bad_handle}
                                                       : result_of(returned >= 0, returned);
}

/// transfer(piece) for each, until one is not moved whole.
template <class Transfer>
io_result transfer_pieces(const piece* parts, std::size_t count, Transfer transfer) noexcept {
  io_result moved = 0;
  for (std::size_t i = 0; i != count; ++i) {
    const io_result n = transfer(parts[i]);
    if (n < 0) {
      return moved != 0 ? moved : n;
    }
    moved += n;
    if (n != static_cast<io_result>(parts[i].len)) {
      break;
    }
  }
  return moved;
}

THRUM_OUT_OF_LINE io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept {
  return transfer_pieces(parts, count,
                         [&](const piece& each) { return read(fd, each.buf, each.len); });
}

THRUM_OUT_OF_LINE io_result write_pieces(handle fd, const piece* parts,
                                         std::size_t count) noexcept {
  return transfer_pieces(parts, count, [&](const piece& each) {
    return write_without_signal(fd, each.buf, each.len);
  });
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_DESCRIPTOR_HPP
