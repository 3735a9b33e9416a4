// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// All descriptors of the process that goroutines may wait for.
#ifndef THRUM_DETAIL_SCHED_IO_POLL_TABLE_HPP
#define THRUM_DETAIL_SCHED_IO_POLL_TABLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/doubling.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/io/poll_desc.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// All descriptors of the process, by number of their own. Their memory is never given back.
class poll_table {
 public:
  /// Null: no memory. Inside.
  static poll_desc* take() noexcept {
    state& all = known();
    scoped guard(all.lock);
    if (poll_desc* const d = all.free_list) {
      all.free_list = d->next_free;
      return d;
    }
    const std::uint32_t index = all.count.get();
    if (index >= most) {
      return nullptr;
    }
    const auto place = places::of(index);
    poll_desc* chunk = all.chunks[place.chunk].get();
    if (chunk == nullptr) {
      const std::size_t size = places::size_of(place.chunk) * sizeof(poll_desc);
      if ((chunk = static_cast<poll_desc*>(os::map(size))) == nullptr) {
        return nullptr;
      }
      all.chunks[place.chunk].set(chunk);
    }
    poll_desc* const d = ::new (&chunk[place.at]) poll_desc(index);
    // [pd.count >] release: the chunk and the descriptor.
    all.count.store(index + 1, release);
    return d;
  }

  /// Takes back a descriptor whose number is closed and that no goroutine waits for. Inside.
  static void give_back(poll_desc& d) noexcept {
    state& all = known();
    scoped guard(all.lock);
    d.next_free = all.free_list;
    all.free_list = &d;
  }

  /// Null: a tag that was never given.
  static poll_desc* find(std::uint32_t index) noexcept {
    state& all = known();
    // [pd.count <] acquire: the chunk and the descriptor.
    if (index >= all.count.load(acquire)) {
      return nullptr;
    }
    const auto place = places::of(index);
    return &all.chunks[place.chunk].get()[place.at];
  }

  template <class F>
  static void for_each(F f) noexcept {
    state& all = known();
    const std::uint32_t n = all.count.load(acquire);  // [pd.count <] acquire: as in find
    for (std::uint32_t i = 0; i < n; ++i) {
      f(*find(i));
    }
  }

  /// So that after_fork need not look for it, which takes locks of the loader.
  static void prepare_for_fork() noexcept { static_cast<void>(known()); }

  /// In a child process, which has none of the threads that may have held a lock: above all, that of a
  /// goroutine that was about to park. What they were changing stays as it is; end_use() drops those lists.
  static void after_fork() noexcept {
    known().lock.abandon();
    for_each([](poll_desc& d) noexcept { d.lock.abandon(); });
  }

 private:
  using places = base::doubling_place<10>;
  static constexpr unsigned most_bits = 24;
  static constexpr std::uint32_t most = std::uint32_t{1} << most_bits;

  struct state {
    static constexpr std::string_view process_name = "sched::poll_table";
    spin_lock lock{lock_rank::descriptors};
    poll_desc* free_list = nullptr;
    base::under_lock<std::uint32_t> count{0};
    base::one_writer<poll_desc*> chunks[places::chunks_for(most_bits)] = {};
  };
  static state& known() noexcept { return os::process_wide<state>::get(); }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
