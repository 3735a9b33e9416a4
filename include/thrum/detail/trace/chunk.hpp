// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where the recorder keeps its events: chunks of a fixed size, claimed in turn.
//
// Purpose
//   An M writes its events without a lock, an allocation or a wait, while a reader copies what all Ms have
//   written. All chunks together are the last N MiB: an M that writes much claims many of them.
//
// State
//   held    an M writes into the chunk; no other M claims it
//   stamp   one more than the number of the claim; 0: never claimed
//   owner   whose events they are
//   count   events that are complete
//
// Invariants
//   TC1  only the holder writes. It claims a chunk by an exchange on `held`, and passes over those that are held.
//   TC2  a reader that has seen a part of claim n sees the stamp of claim n or of a later one at its second look.
//
// The race: a chunk is claimed anew while a reader copies it.
//   writer                                reader
//   count = 0                             reads stamp
//   stamp = n + 1, release                reads count, acquire
//   owner, each word, count, release      reads owner and words, acquire
//                                         reads stamp again: differs? throws the copy away
//   A word, a count or an owner of claim n carries the stamp of claim n. The count is 0 before the stamp changes:
//   a reader with the new stamp sees no count of the old claim.
//
// Rejected: one ring for each M. An idle M would keep memory for nothing, and the memory for all of them would grow
// with the threads. A fence instead of release stores of the words: the same instructions on x86-64, and
// ThreadSanitizer does not know fences.
//
// Checked by tests/model/trace_chunk_model.cpp.
#ifndef THRUM_DETAIL_TRACE_CHUNK_HPP
#define THRUM_DETAIL_TRACE_CHUNK_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace trace_detail {

using namespace base::orders;

/// An event as it lies in memory: see event.hpp for what its words mean.
struct raw_event {
  static constexpr std::uint32_t words = 4;
  std::uint64_t word[words];
};

template <class Traits>
class alignas(base::cache_line_size) basic_chunk {
 public:
  static constexpr std::uint32_t capacity = Traits::events_per_chunk;
  template <class T>
  using atomic = typename Traits::template atomic<T>;

  // ---- the M that holds it ----

  /// Claims the chunk, whose events are lost. False: an M holds it.
  [[nodiscard]] bool claim(std::uint64_t number, std::uint64_t owner,
                           std::uint64_t& lost) noexcept {
    // [tr.held <] acquire: TC1, what its last holder has written
    if (held_.exchange(true, acquire)) {
      return false;
    }
    lost = count_.load(relaxed);        // relaxed: the holder's own from here on
    count_.store(0, relaxed);           // relaxed: published by the stamp
    stamp_.store(number + 1, release);  // [tr.stamp >] release: that the count is 0
    owner_.store(owner, release);       // [tr.chunk >] release: the stamp
    return true;
  }

  /// Adds the event behind the `n` that there are.
  THRUM_INLINE void put(std::uint32_t n, const raw_event& event) noexcept {
    for (std::uint32_t i = 0; i != raw_event::words; ++i) {
      words_[n][i].store(event.word[i], release);  // [tr.chunk >] release: the stamp
    }
    count_.store(n + 1, release);  // [tr.chunk >] release: the event
  }

  /// Lets go of it.
  void give_up() noexcept {
    held_.store(false, release);  // [tr.held >] release: all that was written
  }

  // ---- any thread ----

  struct seen {
    std::uint64_t stamp = 0;
    std::uint64_t owner = 0;
    std::uint32_t count = 0;
    bool is_held = false;
  };

  /// Copies the events of one claim. A count of 0: there are none, or the chunk was claimed meanwhile.
  seen copy(raw_event (&to)[capacity]) const noexcept {
    seen result;
    result.stamp =
        stamp_.load(acquire);  // [tr.stamp <] acquire: the count is of this claim or a later one
    const std::uint32_t n = count_.load(acquire);  // [tr.chunk <] acquire: so many events
    result.owner = owner_.load(acquire);           // [tr.chunk <] acquire: TC2
    for (std::uint32_t e = 0; e != n; ++e) {
      for (std::uint32_t i = 0; i != raw_event::words; ++i) {
        to[e].word[i] = words_[e][i].load(acquire);  // [tr.chunk <] acquire: TC2
      }
    }
    result.is_held = held_.load(relaxed);        // relaxed: a hint
    if (stamp_.load(relaxed) == result.stamp) {  // relaxed: ordered by the acquires before it (TC2)
      result.count = n;
    }
    return result;
  }

 private:
  atomic<std::uint64_t> stamp_{0};
  atomic<std::uint64_t> owner_{0};
  atomic<std::uint32_t> count_{0};
  atomic<bool> held_{false};
  atomic<std::uint64_t> words_[capacity][raw_event::words] = {};
};

}}}  // namespace thrum::THRUM_ABI::trace_detail

#endif
