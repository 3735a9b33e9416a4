// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes, as POSIX has them: ends that do not wait, and that become ready.
//
// Purpose
//   The system's anonymous pipes block, and none says when it can be read or written: it only
//   completes operations. Here an end is that of a named pipe of its own which completes in its own
//   time, and what makes it look ready is kept beside its handle, in a table.
//
// Reading
//   An operation that does not end at once is taken back: then there was nothing, and nothing is
//   lost. An operation that reads no bytes says when an end becomes readable: it ends when some have
//   come (netpoll/object_waits.hpp).
//
// Writing
//   An operation that was taken back may have written a part; the system does not say how much. So
//   none is taken back: the bytes are copied, at most `most_at_once`, and if the pipe has no room for
//   them their writing continues by itself. Until it has ended, the end would block. A close meanwhile
//   leaves the handle to that writing, which closes it when the reader has taken all, or has gone. What
//   the reader never takes is lost with the process, as is all of it with POSIX when the reader ends.
//   The system's own threads hear of the end of a writing (CreateThreadpoolIo). If no port heard of an
//   operation, it would be cancelled when the thread that began it ends, and its bytes would be lost.
//
// A handle that was opened elsewhere is none of these: it blocks its thread.
#ifndef THRUM_DETAIL_OS_WINDOWS_PIPE_HPP
#define THRUM_DETAIL_OS_WINDOWS_PIPE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>
#include <thrum/detail/os/socket_types.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The ends to read from and to write to, for ourselves: neither blocks.
io_result open_pipe(handle (&fds)[2]) noexcept;

/// Opens a pipe with one end for a child, its input or output, which blocks. Ours does not.
io_result open_pipe_to_child(handle (&fds)[2], bool child_reads) noexcept;

/// Whether it is an end that does not block.
bool is_own_pipe(handle fd) noexcept;

/// What read(), write() and close() do with an end that does not block. `not_supported`: it is none.
io_result read_pipe(handle fd, void* to, std::size_t n) noexcept;
io_result write_pipe(handle fd, const void* from, std::size_t n) noexcept;
io_result close_pipe(handle fd) noexcept;

/// An event of its own, which the caller closes, that is set while such an end can be written to.
/// no_handle: it is none, or there is no memory.
handle writable_event(handle fd) noexcept;

/// For at most so long, with the thread: 1, 0 after the time; not_supported: it is no such end.
io_result wait_for_pipe(handle fd, bool to_write, int timeout_ms) noexcept;

/// What a call that does not wait returns where the system has none.
inline constexpr io_result cannot_tell = not_supported;

/// There is no signal.
io_result write_without_signal(handle fd, const void* from, std::size_t n) noexcept;

/// Reads or writes several pieces, one after the other, as far as none would wait. What comes before an
/// error counts: the next call returns it again.
io_result read_pieces(handle fd, const piece* parts, std::size_t count) noexcept;
io_result write_pieces(handle fd, const piece* parts, std::size_t count) noexcept;

/// Whether the system moves bytes between descriptors without copying them.
inline constexpr bool has_splice = false;
inline io_result splice_to_pipe(handle, handle, std::size_t) noexcept { return not_supported; }
inline io_result splice_from_pipe(handle, handle, std::size_t) noexcept { return not_supported; }
constexpr bool cannot_splice(io_result moved) noexcept { return moved == not_supported; }
inline void widen_pipe(handle, std::size_t) noexcept {}

inline io_result read_at_once(handle, void*, std::size_t) noexcept { return cannot_tell; }
inline io_result write_at_once(handle, const void*, std::size_t) noexcept { return cannot_tell; }

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/windows/api.hpp>
#include <thrum/detail/os/windows/pipe_table.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <cwchar>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Opens both ends, each with its own flags. No other pipe has its name, which holds the process, a
/// count and the time. The pipe has one instance, and is refused to other machines.
inline io_result open_named_pipe(handle (&fds)[2], ::DWORD reader_flags,
                                 ::DWORD writer_flags) noexcept {
  ::LARGE_INTEGER time{};
  ::QueryPerformanceCounter(&time);
  wchar_t name[96];
  const unsigned count = pipe_table::known().names.add();
  std::swprintf(name, sizeof name / sizeof name[0], L"\\\\.\\pipe\\thrum-%lu-%u-%llx",
                ::GetCurrentProcessId(), count, static_cast<unsigned long long>(time.QuadPart));
  const ::HANDLE reader = ::CreateNamedPipeW(
      name, PIPE_ACCESS_INBOUND | FILE_FLAG_FIRST_PIPE_INSTANCE | reader_flags,
      PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1,
      pipe_table::most_at_once, pipe_table::most_at_once, 0, nullptr);
  if (reader == INVALID_HANDLE_VALUE) {
    return result_of(false, 0);
  }
  const ::HANDLE writer =
      ::CreateFileW(name, GENERIC_WRITE, 0, nullptr, OPEN_EXISTING, writer_flags, nullptr);
  if (writer == INVALID_HANDLE_VALUE) {
    const io_result error = result_of(false, 0);
    ::CloseHandle(reader);
    return error;
  }
  fds[0] = reinterpret_cast<handle>(reader);
  fds[1] = reinterpret_cast<handle>(writer);
  return 0;
}

/// Opens it, and keeps those ends that do not block.
inline io_result open_any_pipe(handle (&fds)[2], bool keeps_reader, bool keeps_writer) noexcept {
  io_result result = open_named_pipe(fds, keeps_reader ? FILE_FLAG_OVERLAPPED : 0,
                                     keeps_writer ? FILE_FLAG_OVERLAPPED : 0);
  if (result < 0) {
    return result;
  }
  if (keeps_reader) {
    result = keep_pipe_end(fds[0]);
  }
  if (result == 0 && keeps_writer) {
    result = keep_pipe_end(fds[1]);
  }
  if (result < 0) {
    for (const handle fd : fds) {
      if (close_pipe(fd) == not_supported) {
        ::CloseHandle(native(fd));
      }
    }
  }
  return result;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe(handle (&fds)[2]) noexcept {
  return open_any_pipe(fds, true, true);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result open_pipe_to_child(handle (&fds)[2],
                                                              bool child_reads) noexcept {
  return open_any_pipe(fds, !child_reads, child_reads);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE bool is_own_pipe(handle fd) noexcept {
  return static_cast<bool>(locked_pipe_end(fd));
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result read_pipe(handle fd, void* to, std::size_t n) noexcept {
  if (!is_own_pipe(fd)) {
    return not_supported;
  }
  ::OVERLAPPED one{};
  one.hEvent = take_event();
  if (one.hEvent == nullptr) {
    return no_memory;
  }
  constexpr std::size_t most = std::size_t{1} << 30;
  ::DWORD got = 0;
  bool worked =
      ::ReadFile(native(fd), to, static_cast<::DWORD>(std::min(n, most)), &got, &one) != 0;
  if (!worked && ::GetLastError() == ERROR_IO_PENDING) {
    ::CancelIoEx(native(fd), &one);
    worked = ::GetOverlappedResult(native(fd), &one, &got, TRUE) != 0;
  }
  const io_result result = result_of(worked, got);
  give_back_event(one.hEvent);
  return result == cancelled            ? io_result{would_block}
         : result == -ERROR_BROKEN_PIPE ? io_result{0}
                                        : result;
}

/// Whether nothing is being written; `result`: how the last writing has ended. Locked.
inline bool has_written(pipe_table::end& one, io_result& result) noexcept {
  result = 0;
  if (!one.is_writing) {
    result = one.ended;
    one.ended = 0;
  }
  return !one.is_writing;
}

/// Called by the system's own threads. Not by an event of the operation: those that end with one are
/// cancelled when the thread ends that has begun them.
inline void __stdcall end_writing(::PTP_CALLBACK_INSTANCE, void* of, void* /*writing*/,
                                  ::ULONG error, ::ULONG_PTR /*bytes*/, ::PTP_IO) noexcept {
  auto* const one = static_cast<pipe_table::end*>(of);
  ::AcquireSRWLockExclusive(&one->lock);
  one->is_writing = false;
  one->ended = -static_cast<io_result>(error);
  ::SetEvent(one->written);
  const bool is_closed = one->is_closed;
  ::ReleaseSRWLockExclusive(&one->lock);
  if (is_closed) {
    free_pipe_end(one);
  }
}

/// Makes room for so many bytes, an event, and the callback for the end. Locked.
inline bool prepare_writing(pipe_table::end& one, std::size_t n) noexcept {
  if (one.written == nullptr) {
    one.written = ::CreateEventW(nullptr, TRUE, TRUE, nullptr);
  }
  if (one.ends == nullptr) {
    // If a writing ends at once, the call alone says so.
    ::SetFileCompletionNotificationModes(native(one.fd), FILE_SKIP_COMPLETION_PORT_ON_SUCCESS);
    one.ends = ::CreateThreadpoolIo(native(one.fd), &end_writing, &one, nullptr);
  }
  if (one.room < n) {
    constexpr std::size_t least = 1024;
    const std::size_t room = std::max(n, least);
    delete[] one.bytes;
    one.bytes = new (std::nothrow) char[room];
    one.room = one.bytes != nullptr ? room : 0;
  }
  return one.written != nullptr && one.ends != nullptr && (n == 0 || one.bytes != nullptr);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result write_pipe(handle fd, const void* from,
                                                      std::size_t n) noexcept {
  const locked_pipe_end one(fd);
  if (!one) {
    return not_supported;
  }
  io_result result = 0;
  if (!has_written(*one, result)) {
    return would_block;
  }
  if (result < 0) {
    return result;
  }
  const std::size_t now = std::min<std::size_t>(n, pipe_table::most_at_once);
  if (!prepare_writing(*one, now)) {
    return no_memory;
  }
  std::memcpy(one->bytes, from, now);
  one->writing = {};
  ::DWORD put = 0;
  ::StartThreadpoolIo(one->ends);
  const bool is_done =
      ::WriteFile(native(fd), one->bytes, static_cast<::DWORD>(now), &put, &one->writing) != 0;
  if (const io_result error = result_of(is_done, 0); error != in_progress) {
    ::CancelThreadpoolIo(one->ends);
    return is_done ? io_result{put} : error;
  }
  one->is_writing = true;
  ::ResetEvent(one->written);
  return static_cast<io_result>(now);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result close_pipe(handle fd) noexcept {
  pipe_table::end* const one = take_pipe_end(fd);
  if (one == nullptr) {
    return not_supported;
  }
  ::AcquireSRWLockExclusive(&one->lock);
  one->is_closed = one->is_writing;
  const bool goes_on = one->is_writing;
  ::ReleaseSRWLockExclusive(&one->lock);
  if (!goes_on) {
    free_pipe_end(one);
  }
  return 0;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE handle writable_event(handle fd) noexcept {
  const locked_pipe_end one(fd);
  if (!one || !prepare_writing(*one, 0)) {
    return no_handle;
  }
  const ::HANDLE process = ::GetCurrentProcess();
  ::HANDLE copy = nullptr;
  return ::DuplicateHandle(process, one->written, process, &copy, SYNCHRONIZE, FALSE, 0) != 0
             ? reinterpret_cast<handle>(copy)
             : no_handle;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE io_result wait_for_pipe(handle fd, bool to_write,
                                                         int timeout_ms) noexcept {
  if (!is_own_pipe(fd)) {
    return not_supported;
  }
  if (to_write) {
    const handle written = writable_event(fd);
    if (written == no_handle) {
      return no_memory;
    }
    const ::DWORD wait = timeout_ms < 0 ? INFINITE : static_cast<::DWORD>(timeout_ms);
    const bool is_set = ::WaitForSingleObject(native(written), wait) == WAIT_OBJECT_0;
    ::CloseHandle(native(written));
    return is_set ? 1 : 0;
  }
  for (int waited = 0;; ++waited) {
    ::DWORD there = 0;
    // An end to read from that says nothing else has come to its end.
    if (::PeekNamedPipe(native(fd), nullptr, 0, nullptr, &there, nullptr) == 0 || there != 0) {
      return 1;
    }
    if (timeout_ms >= 0 && waited >= timeout_ms) {
      return 0;
    }
    ::Sleep(1);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_DETAIL_OS_WINDOWS_PIPE_HPP
