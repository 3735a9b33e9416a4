// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the ring of io_uring.hpp asks of Linux: its two queues, mapped, and the call that submits
// and waits.
//
// The structures are the kernel's, written down here: not every C library's headers have them, and
// those that do may be older than the kernel.
//
// A model puts a kernel of its own in its place.
#ifndef THRUM_NETPOLL_IO_URING_SYSTEM_HPP
#define THRUM_NETPOLL_IO_URING_SYSTEM_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/netpoll/epoll.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll { namespace uring {

/// What is to be done; the same 64 bytes for all operations.
struct submission {
  std::uint8_t opcode;
  std::uint8_t flags;
  std::uint16_t priority;
  std::int32_t fd;
  std::uint64_t offset;  // or an address
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t operation_flags;
  std::uint64_t user_data;
  std::uint64_t unused[3];
};
static_assert(sizeof(submission) == 64);

/// What has become of it.
struct completion {
  std::uint64_t user_data;
  std::int32_t result;
  std::uint32_t flags;
};
static_assert(sizeof(completion) == 16);

enum opcode : std::uint8_t {
  op_nop = 0,
  op_poll_add = 6,
  op_async_cancel = 14,
  op_read = 22,
  op_write = 23,
  op_receive = 27,
};

/// A place that the kernel and the program share.
using shared_word = std::atomic<std::uint32_t>;
static_assert(shared_word::is_always_lock_free && sizeof(shared_word) == sizeof(std::uint32_t));

/// The priority of a receive that waits first.
inline constexpr std::uint16_t wait_first = 1;

/// Of enter(): there was no memory for a request. Another call may find some.
inline constexpr int no_memory_now = -EAGAIN;

/// Both queues, mapped. The kernel takes from the first and puts into the second.
struct queues {
  int fd = -1;
  void* mapped = nullptr;
  std::size_t mapped_bytes = 0;
  submission* submissions = nullptr;
  std::size_t submission_bytes = 0;
  shared_word* submission_head = nullptr;  // the kernel's
  shared_word* submission_tail = nullptr;  // ours
  shared_word* submission_flags = nullptr;
  std::uint32_t submission_mask = 0;
  const completion* completions = nullptr;
  shared_word* completion_head = nullptr;  // ours
  shared_word* completion_tail = nullptr;  // the kernel's
  std::uint32_t completion_mask = 0;
  /// A receive may be told to wait first and then to try (Linux 5.19).
  bool can_wait_first = false;

  /// 0 or an error below zero; os::not_supported: the kernel has none, or too old a one.
  int open(std::uint32_t submissions_at_once, std::uint32_t completions_at_once) noexcept;
  void close() noexcept;

  /// Hands over what stands in the first queue, and waits until something stands in the second one
  /// if `wait`: delay_ns < 0 for ever. An error below zero, which says only that it came back early.
  int enter(std::uint32_t to_submit, bool wait, std::int64_t delay_ns) const noexcept;

  /// Something is completed that only enter() brings: there is no room for it, or the thread that
  /// has asked for it has not been in the kernel since.
  static constexpr std::uint32_t flags_of_more = 2 | 4;
};

}}}}  // namespace thrum::THRUM_ABI::netpoll::uring

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// What the ring asks of the system. The model has another one.
struct io_uring_system {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using plain = T;  // under a lock
  using queues = uring::queues;
  using others = epoll;

  static void yield() noexcept;
};

}}}  // namespace thrum::THRUM_ABI::netpoll

#if !THRUM_SEPARATE
#include <thrum/netpoll/io_uring_system_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX
#endif
