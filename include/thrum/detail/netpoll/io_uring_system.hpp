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
#ifndef THRUM_DETAIL_NETPOLL_IO_URING_SYSTEM_HPP
#define THRUM_DETAIL_NETPOLL_IO_URING_SYSTEM_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/epoll.hpp>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll { namespace uring {

/// A request to the kernel; 64 bytes for each kind of operation.
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

/// The kernel's answer to a request.
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

/// The error of enter() if there was no memory for a request. Another call may find some.
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

using namespace base::orders;

// The kernel takes part as another thread would.
template <class Word>
std::uint32_t from_kernel(const Word& word) noexcept {
  return word.load(acquire);  // [ur.kernel <] what it has written, or will not read any more
}
template <class Word>
void to_kernel(Word& word, std::uint32_t value) noexcept {
  word.store(value, release);  // [ur.kernel >] what stands in the places, or was read from them
}

/// As the kernel reads it: two halves of 16 bits, the lower one first.
constexpr std::uint32_t poll_mask(unsigned what) noexcept {
  return std::endian::native == std::endian::big ? what << 16 | what >> 16 : what;
}

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

#if THRUM_BODIES
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/os/os.hpp>

#include <sys/mman.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll { namespace uring {

// The numbers are equal on all processors.
inline constexpr long number_of_setup = 425;
inline constexpr long number_of_enter = 426;

/// Where the parts of the queues lie; the kernel fills it in.
struct setup_parameters {
  std::uint32_t submission_entries;
  std::uint32_t completion_entries;
  std::uint32_t flags;
  std::uint32_t sq_thread_cpu;
  std::uint32_t sq_thread_idle;
  std::uint32_t features;
  std::uint32_t wq_fd;
  std::uint32_t reserved[3];
  struct {
    std::uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, reserved;
    std::uint64_t user_address;
  } submissions;
  struct {
    std::uint32_t head, tail, ring_mask, ring_entries, overflow, entries, flags, reserved;
    std::uint64_t user_address;
  } completions;
};
static_assert(sizeof(setup_parameters) == 120);

struct enter_argument {
  std::uint64_t signal_mask;
  std::uint32_t signal_mask_bytes;
  std::uint32_t reserved;
  std::uint64_t time;  // the address of two words of 64 bits, on every processor
};

inline constexpr std::uint32_t setup_completion_entries = 1U << 3;
inline constexpr std::uint32_t setup_interrupts_nobody = 1U << 8;  // Linux 5.19
inline constexpr std::uint32_t setup_flags_what_waits = 1U << 9;   // the same
inline constexpr std::uint32_t feature_one_mapping = 1U << 0;
inline constexpr std::uint32_t feature_drops_nothing = 1U << 1;
inline constexpr std::uint32_t feature_waits_with_time = 1U << 8;  // Linux 5.11
inline constexpr std::uint32_t enter_waits = 1U << 0;
inline constexpr std::uint32_t enter_has_argument = 1U << 3;
inline constexpr std::int64_t offset_of_queues = 0;
inline constexpr std::int64_t offset_of_submissions = 0x10000000;

THRUM_OUT_OF_LINE int queues::open(std::uint32_t submissions_at_once,
                                   std::uint32_t completions_at_once) noexcept {
  if constexpr (THRUM_TRIES_SYSTEM_CALLS == 0) {
    return os::not_supported;
  }
  setup_parameters about{};
  const auto make = [&](std::uint32_t more_flags) {
    about = setup_parameters();
    about.flags = setup_completion_entries | more_flags;
    about.completion_entries = completions_at_once;
    return ::syscall(number_of_setup, submissions_at_once, &about);
  };
  long made = make(setup_interrupts_nobody | setup_flags_what_waits);
  can_wait_first = made >= 0;
  if (made < 0 && errno == EINVAL) {
    made = make(0);
  }
  if (made < 0) {
    return errno == ENOSYS || errno == EPERM || errno == EINVAL ? os::not_supported : -errno;
  }
  fd = static_cast<int>(made);
  constexpr std::uint32_t needed =
      feature_one_mapping | feature_drops_nothing | feature_waits_with_time;
  if ((about.features & needed) != needed) {
    close();
    return os::not_supported;
  }
  const std::size_t end_of_first =
      about.submissions.array + about.submission_entries * sizeof(std::uint32_t);
  const std::size_t end_of_second =
      about.completions.entries + about.completion_entries * sizeof(completion);
  mapped_bytes = end_of_first > end_of_second ? end_of_first : end_of_second;
  submission_bytes = about.submission_entries * sizeof(submission);
  const auto map = [this](std::size_t bytes, std::int64_t offset) -> void* {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                            base::convert<off_t>(offset));
    return at == MAP_FAILED ? nullptr : at;
  };
  mapped = map(mapped_bytes, offset_of_queues);
  submissions = static_cast<submission*>(map(submission_bytes, offset_of_submissions));
  if (mapped == nullptr || submissions == nullptr) {
    const int error = -errno;
    close();
    return error;
  }
  const auto at = [this](std::uint32_t offset) { return static_cast<char*>(mapped) + offset; };
  const auto word = [&](std::uint32_t offset) {
    return reinterpret_cast<shared_word*>(at(offset));
  };
  const auto constant = [&](std::uint32_t offset) {
    return *reinterpret_cast<const std::uint32_t*>(at(offset));
  };
  submission_head = word(about.submissions.head);
  submission_tail = word(about.submissions.tail);
  submission_flags = word(about.submissions.flags);
  submission_mask = constant(about.submissions.ring_mask);
  completion_head = word(about.completions.head);
  completion_tail = word(about.completions.tail);
  completion_mask = constant(about.completions.ring_mask);
  completions = reinterpret_cast<const completion*>(at(about.completions.entries));
  // The kernel takes them in the order in which this array names them: in that of their places.
  auto* const order = reinterpret_cast<std::uint32_t*>(at(about.submissions.array));
  for (std::uint32_t i = 0; i != about.submission_entries; ++i) {
    order[i] = i;
  }
  if (enter(0, false, 0) != 0) {  // a filter refuses this call alone: nothing would ever complete
    close();
    return os::not_supported;
  }
  return 0;
}

THRUM_OUT_OF_LINE void queues::close() noexcept {
  if (mapped != nullptr) {
    ::munmap(mapped, mapped_bytes);
  }
  if (submissions != nullptr) {
    ::munmap(submissions, submission_bytes);
  }
  if (fd >= 0) {
    ::close(fd);
  }
  *this = queues();
}

THRUM_OUT_OF_LINE int queues::enter(std::uint32_t to_submit, bool wait,
                                    std::int64_t delay_ns) const noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t time[2] = {delay_ns / second, delay_ns % second};
  enter_argument argument{};
  argument.time = wait && delay_ns >= 0 ? reinterpret_cast<std::uintptr_t>(time) : 0;
  const int before = errno;  // goroutines come here, too
  const long result = ::syscall(number_of_enter, fd, to_submit, wait ? 1U : 0U,
                                enter_waits | enter_has_argument, &argument, sizeof(argument));
  const int error = result < 0 ? -errno : 0;
  errno = before;
  return error;
}

}}}}  // namespace thrum::THRUM_ABI::netpoll::uring

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

THRUM_OUT_OF_LINE void io_uring_system::yield() noexcept { os::yield_thread(); }

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX
#endif
