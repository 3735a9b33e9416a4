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
//   lost. What becomes readable is told by an operation that reads no bytes, which ends when some
//   have come (netpoll/object_waits.hpp).
//
// Writing
//   An operation that was taken back may have written a part, of which nobody says how much. So none
//   is: the bytes are copied, at most `most_at_once`, and their writing goes on by itself if the pipe
//   has no room for them; until it has ended the end would block. Who closes the end meanwhile leaves
//   the handle to that writing, which closes it when the reader has taken all, or has gone. What the
//   reader never takes is lost with the process, as is all of it with POSIX when the reader ends.
//   The end of a writing is heard by the system's own threads (CreateThreadpoolIo): an operation that no
//   port hears of would be cancelled when the thread ends that has begun it, and its bytes be lost.
//
// A handle that was opened elsewhere is none of these: it blocks its thread.
#ifndef THRUM_OS_WINDOWS_PIPE_HPP
#define THRUM_OS_WINDOWS_PIPE_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_WINDOWS

#include <thrum/os/windows/handle.hpp>
#include <thrum/os/windows/message.hpp>
#include <thrum/os/windows/result.hpp>

#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// The ends to read from and to write to, for ourselves: neither blocks.
io_result open_pipe(handle (&fds)[2]) noexcept;

/// The same with one end for a child, which blocks: its input, or what it writes to.
io_result open_pipe_to_child(handle (&fds)[2], bool child_reads) noexcept;

/// Whether it is an end that does not block.
bool is_own_pipe(handle fd) noexcept;

/// Of such an end, what read(), write() and close() do. `not_supported`: it is none.
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

/// The same for several pieces, one after the other, as far as none would wait. What comes before an
/// error counts: the next call says it again.
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

#if !THRUM_SEPARATE
#include <thrum/os/windows/pipe_definition.hpp>
#endif

#endif  // THRUM_OS_WINDOWS
#endif  // THRUM_OS_WINDOWS_PIPE_HPP
