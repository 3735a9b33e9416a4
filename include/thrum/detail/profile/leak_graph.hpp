// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The graph of leak_search.hpp, in memory that was mapped before the goroutines stopped: nothing here allocates.
#ifndef THRUM_DETAIL_PROFILE_LEAK_GRAPH_HPP
#define THRUM_DETAIL_PROFILE_LEAK_GRAPH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/all_memory.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/freeze/frame_walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace profile_detail {

/// A place that words may point to.
struct leak_node {
  std::uintptr_t low = 0;               // a word that points from here
  std::uintptr_t high = 0;              // to here leads to the node
  std::uintptr_t end = 0;               // the node's own words go up to here
  const sched::goroutine* g = nullptr;  // whose stack it is; null: a channel
  goroutine_id id = 0;
  std::uint32_t references = 0;  // handles of the channel
  std::uint32_t words = 0;       // on the stacks that were counted last, like a handle
  std::uint32_t first_edge = 0;
  std::uint32_t end_edge = 0;
  bool waits_for_nothing = false;
  bool is_live = false;
};

class leak_graph {
 public:
  /// For so many goroutines, alive and dead. has_memory() tells whether there is memory.
  explicit leak_graph(std::size_t goroutines) noexcept
      : most_(goroutines), bytes_(lay_out(0)), memory_(os::map(bytes_)) {
    if (memory_ != nullptr) {
      lay_out(reinterpret_cast<std::uintptr_t>(memory_));
    }
  }
  ~leak_graph() {
    if (memory_ != nullptr) {
      os::unmap(memory_, bytes_);
    }
  }
  leak_graph(const leak_graph&) = delete;
  leak_graph& operator=(const leak_graph&) = delete;

  bool has_memory() const noexcept { return memory_ != nullptr; }
  bool has_nodes() const noexcept { return used_ != 0; }

  // ---- what there is ----

  void note(sched::goroutine& g) noexcept {
    if (noted_used_ != most_) {
      noted_[noted_used_++] = &g;
    }
  }
  template <class F>
  void for_each_noted(F f) noexcept {
    for (std::size_t i = 0; i != noted_used_; ++i) {
      f(*noted_[i]);
    }
  }

  /// Memory without a handle.
  void leave_out(std::uintptr_t low, std::uintptr_t high) noexcept {
    if (left_out_used_ != most_left_out()) {
      left_out_[left_out_used_++] = {low, high};
    }
  }

  /// The stack of a candidate from its stack pointer up, and what the scheduler keeps above it.
  void add_goroutine(const sched::goroutine& g, std::uintptr_t sp,
                     bool waits_for_nothing) noexcept {
    if (used_ != most_nodes()) {
      leak_node& made = nodes_[used_++] = {};
      made.low = sp;
      made.high = reinterpret_cast<std::uintptr_t>(&g);
      made.end = made.high + sizeof g;
      made.g = &g;
      made.id = g.id;
      made.waits_for_nothing = waits_for_nothing;
      leave_out(made.low, made.end);
    }
  }

  /// The body of a channel with that many handles.
  void add_channel(std::uintptr_t body, std::size_t bytes, std::uint32_t references) noexcept {
    if (!is_known(body) && used_ != most_nodes()) {
      leak_node& made = nodes_[used_++] = {};
      made.low = body;
      made.end = body + bytes;
      made.high =
          made.end -
          sizeof body;  // glibc's malloc points to the last word: the next block begins there
      made.references = references;
      known_[slot_of(body)] = body;
      leave_out(made.low, made.end);
    }
  }
  bool is_known(std::uintptr_t body) const noexcept { return known_[slot_of(body)] == body; }

  /// Whether a word was not asked for just now.
  bool is_untested(std::uintptr_t word) noexcept {
    std::uintptr_t& last = tested_[hash(word) % tested_size];
    const bool is_new = last != word;
    last = word;
    return is_new;
  }

  /// Calls f(node) for each goroutine; f may add channels.
  template <class F>
  void for_each_goroutine(F f) noexcept {
    for (std::size_t i = 0, n = used_; i != n; ++i) {
      if (nodes_[i].g != nullptr) {
        f(nodes_[i]);
      }
    }
  }

  /// All nodes are there.
  void order() noexcept {
    std::sort(nodes_, nodes_ + used_,
              [](const leak_node& a, const leak_node& b) { return a.low < b.low; });
    for (std::size_t i = 0; i != used_; ++i) {
      for (std::uintptr_t page = nodes_[i].low >> 12; page <= (nodes_[i].high - 1) >> 12; ++page) {
        pages_[page % page_bits / 64] |= std::uint64_t{1} << page % 64;
      }
    }
  }
  void order_left_out() noexcept {
    const auto own = reinterpret_cast<std::uintptr_t>(memory_);
    leave_out(own, own + bytes_);
    std::sort(left_out_, left_out_ + left_out_used_,
              [](const range& a, const range& b) { return a.low < b.low; });
  }

  // ---- edges ----

  void read_nodes() noexcept {
    for (std::size_t i = 0; i != used_; ++i) {
      leak_node& from = nodes_[i];
      from.first_edge = edges_used_;
      for (std::uintptr_t at = from.low; at < from.end; at += sizeof at) {
        const std::uintptr_t word = sched::word_at(at);
        leak_node* const to = find(word);
        if (to == nullptr || to == &from) {
          continue;
        }
        if (edges_used_ == most_edges()) {
          to->is_live = true;  // hides a leak at worst
          continue;
        }
        edges_[edges_used_++] = {static_cast<std::uint32_t>(to - nodes_),
                                 from.g != nullptr && to->g == nullptr && word == to->low};
      }
      from.end_edge = edges_used_;
    }
  }

  /// False: the system has not shown all memory.
  bool read_roots() noexcept {
    if constexpr (os::sees_all_memory) {
      os::used_memory all(buffer_, half_buffer);
      if (left_out_used_ == most_left_out() || !all.is_open()) {
        return false;
      }
      std::uintptr_t low = 0;
      std::uintptr_t high = 0;
      bool is_good = true;
      std::size_t next = 0;  // of what is left out; both lists ascend
      while (is_good && all.next(low, high)) {
        while (next != left_out_used_ && left_out_[next].high <= low) {
          ++next;
        }
        std::uintptr_t from = low;
        for (std::size_t i = next; from < high && is_good; ++i) {
          const bool is_last = i == left_out_used_ || left_out_[i].low >= high;
          const std::uintptr_t to = is_last ? high : left_out_[i].low;
          is_good =
              from >= to || all.for_each_run(from, to, [this](auto a, auto b) { read_root(a, b); });
          from = is_last ? high : std::max(from, left_out_[i].high);
        }
      }
      return is_good;
    } else {
      return false;
    }
  }

  /// Which nodes are live. LK4
  void mark() noexcept {
    for (bool has_changed = true; has_changed;) {
      spread();
      has_changed = false;
      count_words();
      for (std::size_t i = 0; i != used_; ++i) {
        leak_node& each = nodes_[i];
        if (each.g == nullptr && !each.is_live && each.words < each.references) {
          each.is_live = has_changed = true;
        }
      }
    }
    is_marked_ = true;
  }

  /// Calls f(id) for each goroutine that is lost.
  template <class F>
  void for_each_lost(F f) const {
    for (std::size_t i = 0; i != used_; ++i) {
      const leak_node& each = nodes_[i];
      if (each.g != nullptr && (each.waits_for_nothing || (is_marked_ && !each.is_live))) {
        f(each.id);
      }
    }
  }

 private:
  struct range {
    std::uintptr_t low, high;
  };
  struct edge {
    std::uint32_t to;
    bool is_like_handle;
  };

  static constexpr std::size_t tested_size = 4096;
  static constexpr std::size_t page_bits = 1 << 16;
  static constexpr std::size_t half_buffer = 64 << 10;

  std::size_t most_nodes() const noexcept { return 2 * most_; }
  std::size_t most_edges() const noexcept { return 32 * most_; }
  std::size_t most_left_out() const noexcept { return 4 * most_ + 8192; }
  std::size_t known_size() const noexcept { return 4 * most_; }

  /// Gives each array its place behind `begin`; how many bytes they take.
  std::size_t lay_out(std::uintptr_t begin) noexcept {
    std::uintptr_t at = begin;
    const auto place = [&at](auto*& array, std::size_t n) {
      array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(at);
      at += (n * sizeof *array + 63) / 64 * 64;
    };
    place(noted_, most_);
    place(nodes_, most_nodes());
    place(left_out_, most_left_out());
    place(known_, known_size());
    place(edges_, most_edges());
    place(waiting_, most_nodes());
    place(tested_, tested_size);
    place(pages_, page_bits / 64);
    place(buffer_, 2 * half_buffer);
    return at - begin;
  }

  static std::uint32_t hash(std::uintptr_t word) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{word} >> 3) * 0x9e37'79b9'7f4a'7c15U >> 32);
  }
  /// Where a body stands in the table, or has room.
  std::size_t slot_of(std::uintptr_t body) const noexcept {
    std::size_t at = hash(body) % known_size();
    while (known_[at] != 0 && known_[at] != body) {
      at = (at + 1) % known_size();
    }
    return at;
  }

  /// The node that a word points to; null if there is none.
  leak_node* find(std::uintptr_t word) noexcept {
    const std::uintptr_t page = word >> 12;
    if ((pages_[page % page_bits / 64] >> page % 64 & 1) == 0) {
      return nullptr;
    }
    leak_node* const behind =
        std::upper_bound(nodes_, nodes_ + used_, word,
                         [](std::uintptr_t at, const leak_node& each) { return at < each.low; });
    return behind != nodes_ && word < behind[-1].high ? behind - 1 : nullptr;
  }

  void read_root(std::uintptr_t low, std::uintptr_t high) noexcept {
    if constexpr (os::sees_all_memory) {
      auto* const words = reinterpret_cast<std::uintptr_t*>(buffer_ + half_buffer);
      while (low < high) {
        const std::size_t wanted = std::min<std::size_t>(high - low, half_buffer);
        const std::size_t n = os::copy_own_memory(words, low, wanted);
        for (std::size_t i = 0; i != n / sizeof *words; ++i) {
          if (leak_node* const to = find(words[i])) {
            to->is_live = true;
          }
        }
        low += n == wanted ? n : n / os::page_size() * os::page_size() + os::page_size();
      }
    }
  }

  /// All nodes that live ones lead to are live.
  void spread() noexcept {
    std::size_t n = 0;
    for (std::size_t i = 0; i != used_; ++i) {
      if (nodes_[i].is_live) {
        waiting_[n++] = static_cast<std::uint32_t>(i);
      }
    }
    while (n != 0) {
      const leak_node& from = nodes_[waiting_[--n]];
      for (std::uint32_t e = from.first_edge; e != from.end_edge; ++e) {
        leak_node& to = nodes_[edges_[e].to];
        if (!to.is_live) {
          to.is_live = true;
          waiting_[n++] = edges_[e].to;
        }
      }
    }
  }

  /// Counts the words on stacks of the lost that may be handles.
  void count_words() noexcept {
    for (std::size_t i = 0; i != used_; ++i) {
      nodes_[i].words = 0;
    }
    for (std::size_t i = 0; i != used_; ++i) {
      for (std::uint32_t e = nodes_[i].first_edge; e != nodes_[i].end_edge; ++e) {
        nodes_[edges_[e].to].words += edges_[e].is_like_handle && !nodes_[i].is_live;
      }
    }
  }

  const std::size_t most_;
  sched::goroutine** noted_ = nullptr;
  leak_node* nodes_ = nullptr;
  range* left_out_ = nullptr;
  std::uintptr_t* known_ = nullptr;
  edge* edges_ = nullptr;
  std::uint32_t* waiting_ = nullptr;
  std::uintptr_t* tested_ = nullptr;
  std::uint64_t* pages_ = nullptr;
  char* buffer_ = nullptr;
  const std::size_t bytes_;
  void* const memory_;
  std::size_t noted_used_ = 0;
  std::size_t used_ = 0;
  std::size_t left_out_used_ = 0;
  std::uint32_t edges_used_ = 0;
  bool is_marked_ = false;
};

}}}  // namespace thrum::THRUM_ABI::profile_detail

#endif
