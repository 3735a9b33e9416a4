// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How often each of few things was seen among many: a million goroutines stand at a few places.
//
// An array that is sorted and freed of repetitions whenever it has doubled, so that it stays as
// small as the number of different things. No std::map and std::sort: every source file of a
// program pays for what this header brings, unless the library is compiled apart.
#ifndef THRUM_DETAIL_DEBUG_TALLY_HPP
#define THRUM_DETAIL_DEBUG_TALLY_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

class tally {
 public:
  /// Something of that kind at that place, n times.
  struct entry {
    const void* place = nullptr;
    std::uint32_t kind = 0;
    std::uint64_t n = 0;
  };

  void add(const void* place, std::uint32_t kind = 0) {
    entries_.push_back({place, kind, 1});
    if (entries_.size() >= room_) {
      merge();
      room_ = 2 * entries_.size() < least_room ? least_room : 2 * entries_.size();
    }
  }

  /// Each once, in order of kinds, then places.
  const std::vector<entry>& by_kind() {
    merge();
    return entries_;
  }

  /// Each once, the most frequent first.
  const std::vector<entry>& by_frequency() {
    merge();
    sort([](const void* a, const void* b) {
      const auto& one = *static_cast<const entry*>(a);
      const auto& other = *static_cast<const entry*>(b);
      return one.n != other.n ? (one.n > other.n ? -1 : 1) : order(one, other);
    });
    return entries_;
  }

 private:
  static constexpr std::size_t least_room = 256;

  static int order(const entry& one, const entry& other) noexcept {
    if (one.kind != other.kind) {
      return one.kind < other.kind ? -1 : 1;
    }
    const auto place = reinterpret_cast<std::uintptr_t>(one.place);
    const auto other_place = reinterpret_cast<std::uintptr_t>(other.place);
    return place < other_place ? -1 : place == other_place ? 0 : 1;
  }

  void sort(int (*compare)(const void*, const void*)) {
    if (!entries_.empty()) {
      std::qsort(entries_.data(), entries_.size(), sizeof(entry), compare);
    }
  }

  void merge() {
    sort([](const void* a, const void* b) {
      return order(*static_cast<const entry*>(a), *static_cast<const entry*>(b));
    });
    std::size_t last = 0;  // of those that stay
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (order(entries_[last], entries_[i]) == 0) {
        entries_[last].n += entries_[i].n;
      } else {
        entries_[++last] = entries_[i];
      }
    }
    if (!entries_.empty()) {
      entries_.resize(last + 1);
    }
  }

  std::vector<entry> entries_;
  std::size_t room_ = least_room;
};

}}}  // namespace thrum::THRUM_ABI::debug

#endif
