// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The recorder: all chunks, and the half that each M has of it. One for the process, or for each shared object
// that hides the library. Once made, its memory stays: an M may write at any time.
#ifndef THRUM_DETAIL_TRACE_RECORDER_HPP
#define THRUM_DETAIL_TRACE_RECORDER_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/trace/chunk.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

struct chunk_traits {
  template <class T>
  using atomic = std::atomic<T>;
  /// 32 KiB: claimed once in a thousand events, and a thread that writes little keeps little.
  static constexpr std::uint32_t events_per_chunk = 1022;
};

using chunk = basic_chunk<chunk_traits>;

/// What an M keeps. Its thread alone uses it, inside the scheduler.
struct writer {
  chunk* at = nullptr;
  std::uint32_t used = 0;
  std::uint32_t object = 0;  // what the goroutine that is about to park waits on

  writer() noexcept = default;
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  ~writer() {
    if (at != nullptr) {
      at->give_up();
    }
  }
};

class recorder {
 public:
  /// Whether events are wanted.
  THRUM_INLINE bool is_on() const noexcept { return (wants_.get() & events) != 0; }
  /// Whether events are wanted, or the program's hook wants to see switches.
  THRUM_INLINE bool sees_switches() const noexcept { return wants_.get() != 0; }

  /// Makes room for so many bytes, unless there is some. False: there is no memory.
  bool make(std::size_t bytes) noexcept {
    if (chunks_.load(relaxed) != nullptr) {  // relaxed: one thread starts and stops
      return true;
    }
    constexpr std::size_t fewest = 16;
    count_ = bytes / sizeof(chunk) < fewest ? fewest : bytes / sizeof(chunk);
    auto* const all = new (std::nothrow) chunk[count_];
    by_counter_.set(arch::has_steady_counter());
    chunks_.store(all, release);  // [tr.all >] release: the chunks
    return all != nullptr;
  }
  void turn(bool on) noexcept { want(events, on); }
  void show_switches(bool on) noexcept { want(switches, on); }

  std::uint64_t now() const noexcept {
    return by_counter_.get() ? arch::read_counter() : static_cast<std::uint64_t>(os::now());
  }

  /// Likewise, behind what the thread has done: for an event that another thread's event has made possible
  /// a few instructions ago.
  std::uint64_t now_in_order() const noexcept {
    return by_counter_.get() ? arch::read_counter_in_order()
                             : static_cast<std::uint64_t>(os::now());
  }

  /// Adds an event, and `more` that stand beside it. `owner` names the M.
  void add(writer& to, std::uint64_t owner, const raw_event& first, const raw_event* rest = nullptr,
           std::uint32_t more = 0) noexcept {
    const std::uint32_t wanted = 1 + more;
    if (to.at == nullptr || to.used + wanted > chunk::capacity) [[unlikely]] {
      if (!next_chunk(to, owner)) {
        lost_.add(wanted);
        return;
      }
    }
    to.at->put(to.used++, first);
    for (std::uint32_t i = 0; i != more; ++i) {
      to.at->put(to.used++, rest[i]);
    }
  }

  /// Events that were overwritten, or had no room.
  std::uint64_t lost() const noexcept { return lost_.get(); }

  /// The claims so far.
  std::uint64_t claims() const noexcept { return next_.get(); }
  std::size_t size() const noexcept {
    // [tr.all <] acquire: the chunks
    return chunks_.load(acquire) == nullptr ? 0 : count_;
  }
  const chunk& operator[](std::size_t i) const noexcept {
    return chunks_.load(acquire)[i];  // [tr.all <] acquire: the chunk
  }

 private:
  [[gnu::cold]] bool next_chunk(writer& to, std::uint64_t owner) noexcept {
    if (to.at != nullptr) {
      to.at->give_up();
      to.at = nullptr;
    }
    chunk* const all = chunks_.load(acquire);  // [tr.all <] acquire: the chunks
    if (all == nullptr) {
      return false;
    }
    for (std::size_t tries = 0; tries != count_; ++tries) {
      const std::uint64_t number = next_.add();
      chunk& each = all[number % count_];
      std::uint64_t lost = 0;
      if (each.claim(number, owner, lost)) {
        lost_.add(lost);
        to.at = &each;
        to.used = 0;
        return true;
      }
    }
    return false;
  }

  static constexpr std::uint8_t events = 1;
  static constexpr std::uint8_t switches = 2;

  /// One thread at a time.
  void want(std::uint8_t what, bool on) noexcept {
    const unsigned rest = wants_.get() & ~unsigned{what};
    wants_.set(static_cast<std::uint8_t>(on ? rest | what : rest));
  }

  base::hint<std::uint8_t> wants_{0};
  base::set_once<bool> by_counter_{false};
  std::atomic<chunk*> chunks_{nullptr};
  std::size_t count_ = 0;  // written before chunks_
  base::shared_figure<std::uint64_t> next_{0};
  base::shared_figure<std::uint64_t> lost_{0};
};

inline constinit recorder the_recorder;

/// How long a goroutine may be ready before it runs, in the clock's units; when one was for longer, the
/// flight record is written.
inline constinit base::hint<std::uint64_t> longest_wait{~std::uint64_t{0}};
/// How long it is not written again then.
inline constinit base::hint<std::uint64_t> pause_when_late{0};

/// Writes the record before a report ends the program. Null: there is no file to write to.
inline constinit base::set_once<void (*)() noexcept> write_at_trouble{nullptr};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
