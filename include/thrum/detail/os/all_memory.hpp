// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All writable memory of the process, while all of its threads stand still: Linux has it.
//
// Purpose
//   A search for all pointers to an object is complete only if it sees every word that a thread may use, those in
//   registers, too, and if no thread moves a word meanwhile from where the search has not been to where it was.
//
// The steps
//   all_threads_stopped sends each other thread a real-time signal. The handler's frame holds the registers of the
//   thread, in the thread's memory; the handler waits. The kernel's list of mappings says which memory there is, its
//   page map which pages of it were used. The kernel copies them: a page that is gone is left out.
//
// Nothing here allocates or locks: a stopped thread may hold the lock.
#ifndef THRUM_DETAIL_OS_ALL_MEMORY_HPP
#define THRUM_DETAIL_OS_ALL_MEMORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_PORTABLE

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/linux/free_signal.hpp>
#include <thrum/detail/os/os.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

using namespace base::orders;

/// Their shadow takes terabytes of addresses, and ThreadSanitizer defers signals.
inline constexpr bool sees_all_memory = !THRUM_TSAN && !THRUM_ASAN;

/// Copies memory of the process. The bytes that were copied: fewer where a page is gone.
inline std::size_t copy_own_memory(void* to, std::uintptr_t from, std::size_t bytes) noexcept {
  const ::iovec local{to, bytes};
  const ::iovec remote{reinterpret_cast<void*>(from), bytes};
  const long n =
      ::syscall(SYS_process_vm_readv, static_cast<long>(::getpid()), &local, 1L, &remote, 1L, 0L);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

/// A file of the system, read without malloc.
class system_file {
 public:
  explicit system_file(const char* path, int flags = 0) noexcept
      : fd_(::open(path, O_RDONLY | O_CLOEXEC | flags)) {}
  ~system_file() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  system_file(const system_file&) = delete;
  system_file& operator=(const system_file&) = delete;

  bool is_open() const noexcept { return fd_ >= 0; }
  int descriptor() const noexcept { return fd_; }
  std::size_t read(void* to, std::size_t bytes) const noexcept {
    const ::ssize_t n = ::read(fd_, to, bytes);
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  /// Where ::off_t has 32 bits, offsets in the page map have fewer.
  std::size_t read_at(void* to, std::size_t bytes, std::uint64_t offset) const noexcept {
    const ::ssize_t n = ::pread(fd_, to, bytes, static_cast<::off_t>(offset));
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }

 private:
  int fd_;
};

/// All other threads of the process stand in a handler, from the construction to the destruction. If another one is alive,
/// the constructor waits for its end.
class [[nodiscard]] all_threads_stopped {
 public:
  static constexpr std::size_t most_threads = 4096;

  /// `is_harmless(number)`: whether a thread holds no word that matters, by its name. Such a thread does not stop.
  template <class IsHarmless>
  explicit all_threads_stopped(IsHarmless is_harmless) noexcept : is_only_(is_only()) {
    // Another copy of the library may stop all threads, too. If this thread answered, both would wait for ever.
    ::sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    if (!is_only_ || !install()) {
      return;
    }
    stopping.store(++phase_ * 2 + 1, release);  // [am.stop >] release: the list is empty
    bool is_complete = true;
    for (int quiet = 0; quiet != 2 && is_complete;) {
      // A thread that was just made is seen at the second look.
      quiet = ask_new_ones(is_harmless, is_complete) ? 0 : quiet + 1;
      is_complete = is_complete && wait_for_answers(is_harmless);
    }
    complete_ = is_complete;
  }
  ~all_threads_stopped() {
    if (is_only_) {
      for (; count_ != 0; --count_) {
        threads[count_ - 1].store(0, relaxed);  // relaxed: a handler changes its own number alone
      }
      stopping.store(0, release);  // [am.stop >] release: all looks
      ::syscall(SYS_futex, &stopping, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 0x7FFF'FFFF, nullptr,
                nullptr, 0);
      is_there_.store(false, release);  // [am.only >] release: the list is free
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  all_threads_stopped(const all_threads_stopped&) = delete;
  all_threads_stopped& operator=(const all_threads_stopped&) = delete;

  /// Whether each thread has answered, or is harmless.
  bool complete() const noexcept { return complete_; }

  /// Whether no thread has begun since the construction, and each harmless one still is. A harmless thread may make another
  /// one, which has its maker's name at first.
  template <class IsHarmless>
  bool still_complete(IsHarmless is_harmless) const noexcept {
    bool is_complete = complete_;
    for (std::size_t i = 0; i != count_ && is_complete; ++i) {
      // relaxed: this thread has written it
      const std::int32_t each = -threads[i].load(relaxed);
      is_complete = each < harmless || is_harmless(each - harmless);
    }
    return is_complete && !ask_new_ones(is_harmless, is_complete) && is_complete;
  }

  /// Whether the kernel's name of a thread begins with `text`.
  static bool is_named(std::int32_t thread, std::string_view text) noexcept {
    char path[64] = "/proc/self/task/";
    char* at = path + std::strlen(path);
    char digits[12];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + thread % 10);
      thread /= 10;
    } while (thread != 0);
    while (n != 0) {
      *at++ = digits[--n];
    }
    std::memcpy(at, "/comm", 6);
    char name[32];
    const std::size_t size = system_file(path).read(name, sizeof name);
    return std::string_view(name, size).starts_with(text);
  }

 private:
  static constexpr int patience = 2000;  // 200 ms on an idle machine
  static constexpr std::int32_t harmless =
      16'777'216;  // above the kernel's largest number of a thread

  /// Waits while another runtime searches; this thread answers its signal meanwhile. False: it searches for too long.
  static bool is_only() noexcept {
    for (int turn = 0; turn != patience; ++turn) {
      // [am.only <] acquire: the list is free
      if (!is_there_.exchange(true, acquire)) {
        return true;
      }
      sleep_ns(100'000);
    }
    return false;
  }

  /// Asks the threads that were not asked. False: there are none. Those that block all signals would keep each for ever.
  template <class IsHarmless>
  static bool ask_new_ones(IsHarmless is_harmless, bool& is_complete) noexcept {
    const auto own = static_cast<std::int32_t>(::syscall(SYS_gettid));
    const system_file list("/proc/self/task", O_DIRECTORY);
    alignas(8) char entries[4096];
    bool found = false;
    for (;;) {
      const long bytes =
          ::syscall(SYS_getdents64, static_cast<long>(list.descriptor()), entries, sizeof entries);
      if (bytes <= 0) {
        is_complete = is_complete && bytes == 0;
        return found;
      }
      for (long at = 0; at < bytes;) {
        std::uint16_t size = 0;
        std::memcpy(&size, entries + at + 16, sizeof size);  // linux_dirent64: length, type, name
        std::int32_t thread = 0;
        for (const char* c = entries + at + 19; *c >= '0' && *c <= '9'; ++c) {
          thread = thread * 10 + (*c - '0');
        }
        at += size;
        if (thread == 0 || thread == own || was_asked(thread)) {
          continue;
        }
        if (count_ == most_threads) {
          is_complete = false;
          return false;
        }
        std::atomic<std::int32_t>& next = threads[count_++];
        if (is_harmless(thread)) {
          next.store(-thread - harmless, relaxed);  // relaxed: no handler answers
          continue;
        }
        next.store(thread, relaxed);  // relaxed: the signal orders it
        if (::syscall(SYS_tgkill, static_cast<long>(::getpid()), static_cast<long>(thread),
                      signal_) != 0 &&
            errno == ESRCH) {
          next.store(-thread, relaxed);  // relaxed: it has ended
        }
        found = true;
      }
    }
  }

  static bool was_asked(std::int32_t thread) noexcept {
    for (std::size_t i = 0; i != count_; ++i) {
      const std::int32_t each = threads[i].load(relaxed);  // relaxed: the number, not what it means
      if (each == thread || each == -thread || each == -thread - harmless) {
        return true;
      }
    }
    return false;
  }

  template <class IsHarmless>
  static bool wait_for_answers(IsHarmless is_harmless) noexcept {
    for (int turn = 0; turn != patience; ++turn) {
      bool all = true;
      for (std::size_t i = 0; i != count_ && all; ++i) {
        // [am.answer <] acquire: the registers in the handler's frame
        std::int32_t each = threads[i].load(acquire);
        all = each < 0;
        const bool is_late = !all && turn % 16 == 15;
        if (is_late && is_harmless(each)) {
          // relaxed: if it fails, the thread has answered, which the next turn sees
          threads[i].compare_exchange_strong(each, -each - harmless, relaxed, relaxed);
        } else if (is_late && has_ended(each)) {
          threads[i].store(-each, relaxed);  // relaxed: no thread reads it
        }
      }
      if (all) {
        return true;
      }
      sleep_ns(100'000);
    }
    return false;
  }

  static bool has_ended(std::int32_t thread) noexcept {
    return ::syscall(SYS_tgkill, static_cast<long>(::getpid()), static_cast<long>(thread), 0) !=
               0 &&
           errno == ESRCH;
  }

  static bool install() noexcept {
    if (signal_ != 0) {
      struct ::sigaction found {};
      if (::sigaction(signal_, nullptr, &found) == 0 && found.sa_handler == &handle) {
        return true;
      }
    }
    struct ::sigaction ours {};
    ours.sa_handler = &handle;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    signal_ = install_at_free_signal(ours);
    return signal_ != 0;
  }

  static void handle(int) noexcept {
    const int kept = errno;
    const std::uint32_t phase = stopping.load(acquire);  // [am.stop <] acquire: the list
    // Else the signal comes too late, and another one may be on its way.
    if (phase != 0 && answers(static_cast<std::int32_t>(::syscall(SYS_gettid)))) {
      while (stopping.load(acquire) == phase) {  // [am.stop <] acquire: all looks
        ::syscall(SYS_futex, &stopping, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, phase, nullptr, nullptr,
                  0);
      }
    }
    errno = kept;
  }

  /// False: this thread was not asked.
  static bool answers(std::int32_t own) noexcept {
    for (std::size_t i = 0; i != most_threads; ++i) {
      std::int32_t found = threads[i].load(relaxed);  // relaxed: written before the signal was sent
      if (found == 0 || found == own) {
        // [am.answer >] release: what the thread did. relaxed: it was not asked
        return found == own && threads[i].compare_exchange_strong(found, -own, release, relaxed);
      }
    }
    return false;
  }

  // A handler comes to them without a guard of a static local.
  static inline constinit std::atomic<bool> is_there_{false};
  static inline constinit std::atomic<std::uint32_t> stopping{0};
  /// A number of a thread that was asked; below zero: it has answered, or, by `harmless` less, need not. 0: no more.
  static inline constinit std::atomic<std::int32_t> threads[most_threads]{};
  static inline constinit std::size_t count_ = 0;
  static inline constinit std::uint32_t phase_ = 0;
  static inline constinit int signal_ = 0;

  const bool is_only_;
  ::sigset_t before_{};
  bool complete_ = false;
};

/// The mappings that a program may have written to.
class used_memory {
 public:
  /// `buffer`: room of its own.
  used_memory(char* buffer, std::size_t bytes) noexcept : text_(buffer), capacity_(bytes) {}

  bool is_open() const noexcept { return maps_.is_open() && pages_.is_open(); }

  /// The next mapping. False: there is none.
  bool next(std::uintptr_t& low, std::uintptr_t& high) noexcept {
    for (;;) {
      std::string_view line;
      if (!next_line(line)) {
        return false;
      }
      low = number(line);
      high = number(line);  // behind the hyphen
      const bool is_readable = line.starts_with("r");
      const bool is_writable = line.size() > 1 && line[1] == 'w';
      const bool is_named = line.find('/') != line.npos || line.find("[v") != line.npos;
      if (is_readable && (is_writable || !is_named)) {
        return true;
      }
    }
  }

  /// Calls f(low, high) for runs of pages between two addresses that hold something. False: the system does not say.
  template <class F>
  bool for_each_run(std::uintptr_t low, std::uintptr_t high, F f) noexcept {
    const std::uintptr_t page = os::page_size();
    constexpr std::size_t at_once = 512;
    std::uint64_t entries[at_once];
    std::uintptr_t run = 0;
    for (std::uintptr_t at = low / page * page; at < high;) {
      std::size_t n = (high - at + page - 1) / page;
      n = n < at_once ? n : at_once;
      if (pages_.read_at(entries, n * sizeof *entries, at / page * sizeof *entries) !=
          n * sizeof *entries) {
        return false;
      }
      for (std::size_t i = 0; i != n; ++i, at += page) {
        const bool is_used = entries[i] >> 62 != 0;  // present, or swapped out
        if (is_used && run == 0) {
          run = at;
        } else if (!is_used && run != 0) {
          f(run < low ? low : run, at < high ? at : high);
          run = 0;
        }
      }
    }
    if (run != 0) {
      f(run < low ? low : run, high);
    }
    return true;
  }

 private:
  bool next_line(std::string_view& line) noexcept {
    for (;;) {
      const std::string_view rest(text_ + begin_, end_ - begin_);
      if (const std::size_t end = rest.find('\n'); end != rest.npos) {
        line = rest.substr(0, end);
        begin_ += end + 1;
        return true;
      }
      std::memmove(text_, text_ + begin_, rest.size());
      begin_ = 0;
      end_ = rest.size();
      const std::size_t n = maps_.read(text_ + end_, capacity_ - end_);
      if (n == 0) {
        return false;
      }
      end_ += n;
    }
  }

  /// Reads a hexadecimal number, and passes over one character behind it.
  static std::uintptr_t number(std::string_view& from) noexcept {
    std::uintptr_t value = 0;
    std::size_t at = 0;
    for (; at != from.size(); ++at) {
      const char c = from[at];
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<std::uintptr_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value * 16 + static_cast<std::uintptr_t>(c - 'a' + 10);
      } else {
        break;
      }
    }
    from.remove_prefix(at < from.size() ? at + 1 : at);
    return value;
  }

  system_file maps_{"/proc/self/maps"};
  system_file pages_{"/proc/self/pagemap"};
  char* text_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::os

#else

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace os {

inline constexpr bool sees_all_memory = false;

inline std::size_t copy_own_memory(void*, std::uintptr_t, std::size_t) noexcept { return 0; }

struct all_threads_stopped {
  template <class IsHarmless>
  explicit all_threads_stopped(IsHarmless) noexcept {}
  static bool complete() noexcept { return false; }
  template <class IsHarmless>
  static bool still_complete(IsHarmless) noexcept {
    return false;
  }
  static bool is_named(std::int32_t, std::string_view) noexcept { return false; }
};

struct used_memory {
  used_memory(char*, std::size_t) noexcept {}
  static bool is_open() noexcept { return false; }
  static bool next(std::uintptr_t&, std::uintptr_t&) noexcept { return false; }
  template <class F>
  static bool for_each_run(std::uintptr_t, std::uintptr_t, F) noexcept {
    return false;
  }
};

}}}  // namespace thrum::THRUM_ABI::os

#endif
#endif  // THRUM_DETAIL_OS_ALL_MEMORY_HPP
