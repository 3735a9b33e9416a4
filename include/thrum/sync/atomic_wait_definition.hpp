// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What sync/atomic_wait.hpp declares: the bodies that are not inlined.
#ifndef THRUM_SYNC_ATOMIC_WAIT_DEFINITION_HPP
#define THRUM_SYNC_ATOMIC_WAIT_DEFINITION_HPP

#include <thrum/base/cache_line.hpp>
#include <thrum/base/config.hpp>
#include <thrum/base/convert.hpp>
#include <thrum/base/order.hpp>
#include <thrum/os/os.hpp>
#include <thrum/sched/core/section.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sched/run/wake_list.hpp>
#include <thrum/sync/atomic_wait.hpp>
#include <thrum/sync/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sync_detail {

/// The queues. A wait point's `slot` is the address that it waits for.
struct address_table {
  static constexpr std::string_view process_name = "sync_detail::address_table";
  static constexpr std::size_t size = 256;

  struct alignas(base::cache_line_size) queue {
    sched::spin_lock lock{sched::lock_rank::waiters};
    wait_list waiters{lock};
  };
  queue queues[size];

  static queue& of(const void* object) noexcept {
    // The golden ratio in 64 bits: neighbours go far apart. (Knuth, The Art of Computer Programming,
    // volume 3, 6.4.)
    constexpr std::uint64_t far_apart = 0x9e37'79b9'7f4a'7c15;
    constexpr unsigned bits = 8;
    static_assert(size == std::size_t{1} << bits);
    const std::uint64_t hash =
        base::convert<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object)) * far_apart;
    return os::process_wide<address_table>::get().queues[hash >> (64 - bits)];
  }
};

THRUM_OUT_OF_LINE bool wait_on_address(const void* object, bool (*is_old)(const void*, const void*),
                                       const void* old, std::int64_t deadline) {
  address_table::queue& queue = address_table::of(object);
  sched::wake_cause cause;
  {
    sched::section here;
    waiting self(here, queue.waiters, const_cast<void*>(object));
    queue.lock.lock();
    if (!is_old(object, old)) {
      queue.lock.unlock();
      return true;
    }
    cause = self.wait({sched::wait_reason::cond_wait, true, deadline});
  }
  sched::exit_if_cancelled(cause);
  return cause == sched::wake_cause::notified;
}

THRUM_OUT_OF_LINE void notify_address(const void* object, std::size_t most) noexcept {
  address_table::queue& queue = address_table::of(object);
  const sched::section here;
  sched::wake_list released;
  // [aw.value >] release: what was done before, also if the value was changed relaxed.
  sched::traits::fence(base::orders::release);
  queue.lock.lock();
  auto& points = queue.waiters.points;
  for (sched::wait_point* each = points.front(); each != nullptr && most != 0;) {
    sched::wait_point* const after = points.next(*each);
    if (each->slot == object) {
      points.remove(*each);
      settle(*each, sched::wake_cause::notified);
      released.push_back(each);
      --most;
    }
    each = after;
  }
  queue.lock.unlock();
  released.wake_all();
}

}}}  // namespace thrum::THRUM_ABI::sync_detail

#endif
