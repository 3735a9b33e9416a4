// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a poll leaves the goroutines that it makes runnable, and where they go from there.
#ifndef THRUM_DETAIL_SCHED_RUN_POLL_SINK_HPP
#define THRUM_DETAIL_SCHED_RUN_POLL_SINK_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/run/latency.hpp>
#include <thrum/detail/sched/run/ready.hpp>
#include <thrum/detail/trace/hooks.hpp>

#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Takes the events of one poll and collects the goroutines of one scheduler that they make
/// runnable; others are made so at once. What a tag stands for is known in io/poll_events.hpp.
struct poll_sink : netpoll::sink {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): looks into the scheduler
  explicit poll_sink(runtime_scheduler& of) noexcept
      : netpoll::sink{&deliver_event, of.upcalls().announce_event}, scheduler(of) {}

  runtime_scheduler& scheduler;
  netpoll::ready_list ready;

 private:
  static void deliver_event(netpoll::sink& to, std::uint64_t tag, std::uint32_t events) noexcept {
    auto& self = static_cast<poll_sink&>(to);
    self.scheduler.upcalls().take_event(self, tag, events);
  }
};

/// The goroutines of one poll, runnable now.
struct polled_goroutines {
  base::intrusive_queue<goroutine> others;
  base::intrusive_queue<goroutine> returned;  // had moved much: see io/io_share.hpp

  explicit polled_goroutines(netpoll::ready_list& list) noexcept {
    while (netpoll::ready_node* const node = list.pop_front()) {
      auto& g = *static_cast<goroutine*>(node);
      if ((g.flags & g_outside_ring) != 0) [[unlikely]] {
        g.moved_much = false;
        ready_outside_ring(g);
        continue;
      }
      g.status.set(g_status::runnable);
      (std::exchange(g.moved_much, false) ? returned : others).push_back(&g);
    }
  }
};

/// What a poll has found, to the global queue. They go in front of those that gave way and could
/// have gone on. None starves by that: the queue was empty a moment ago, or it is the monitor that
/// polls, once in 10 ms.
inline void inject(poll_sink& sink) noexcept {
  std::size_t n = sink.ready.size;
  if (n == 0) {
    return;
  }
  polled_goroutines found(sink.ready);
  sink.scheduler.global.append_returned(std::move(found.returned));
  sink.scheduler.global.prepend(std::move(found.others));
  for (; n != 0; --n) {
    sink.scheduler.wake_processor();
  }
}

/// Polls once, without waiting. False: no goroutine waits for a descriptor, or another thread is in
/// the poller already.
inline bool poll_once(runtime_scheduler& scheduler, poll_sink& sink) noexcept {
  const auto poll = [&] {
    scheduler.poller.poll(0, sink);
    trace_detail::polled(scheduler, sink.ready.size);
    time_last(sink);
  };
  return scheduler.poller.descriptors() != 0 && scheduler.poll.look(poll, &traits::now);
}

/// For a P that always has something to run. Goroutines that have become ready go into its ring: so
/// they come before those in the global queue that gave way and could have gone on. They alternate
/// with those in the ring already, so that neither wait for all of the others. Those that had moved
/// much stand behind those that gave way.
inline void poll_in_turn(machine& m) noexcept {
  poll_sink sink(*m.scheduler);
  if (!poll_once(*m.scheduler, sink) || sink.ready.size == 0) {
    return;
  }
  polled_goroutines found(sink.ready);
  base::intrusive_queue<goroutine> waiting = m.p->queue.drain();
  base::intrusive_queue<goroutine> all;
  while (goroutine* const g = found.others.pop_front()) {
    all.push_back(g);
    if (!waiting.empty()) {
      all.push_back(waiting.pop_front());
    }
  }
  all.append(std::move(waiting));
  m.p->queue.push_batch(all);
  if (!all.empty()) {
    m.scheduler->global.prepend(std::move(all));
  }
  m.scheduler->global.append_returned(std::move(found.returned));
  if (m.scheduler->has_other_ps()) {
    m.scheduler->wake_processor();
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
