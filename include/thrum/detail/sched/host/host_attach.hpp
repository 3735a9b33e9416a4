// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A thread becomes a host of a scheduler, and ceases to be one: at its end, or with the scheduler.
//
// A slot of host_table is made once, and is free again when its thread has ended. Its thread finds it
// by the list of its attachments, which all shared objects see (host.hpp); that list and who
// has which slot change under the lock of host_threads. A host in a call, or one that helps while it
// waits, is pinned: the thread that destroys the scheduler waits for it to come back.
//
// What is bound to the first host waits while there is no thread: before one attaches, and after it
// has ended until the next one does. When the scheduler stops and there is none, its inbox is closed:
// then those goroutines end on any thread.
#ifndef THRUM_DETAIL_SCHED_HOST_HOST_ATTACH_HPP
#define THRUM_DETAIL_SCHED_HOST_HOST_ATTACH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/current.hpp>
#include <thrum/detail/sched/core/scheduler.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/host/host.hpp>
#include <thrum/detail/sched/run/ready.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

inline host_threads& all_hosts() noexcept { return os::process_wide<host_threads>::get(); }

inline runtime_scheduler& scheduler_of(host_thread& h) noexcept { return *h.m.scheduler; }

/// Lets what is bound to the first host run on any thread: its own will run none of it.
inline void orphan(host_thread& first) noexcept {
  auto left = first.inbox.close();
  while (goroutine* const g = left.pop_front()) {
    ready_on_host(*g);
  }
}

/// The host slots of a thread, one for each scheduler that it serves. Lives as long as the thread.
struct attachments {
  attachments() noexcept = default;
  attachments(const attachments&) = delete;
  attachments& operator=(const attachments&) = delete;
  ~attachments();

  /// A stack overflow is reported on another stack than that which has overflowed.
  void prepare_for_faults() noexcept {
    if (!is_prepared_) {
      is_prepared_ = true;
      has_signal_stack_ = for_faults_.open_for_faults();
    }
  }

  host_thread* first = nullptr;  // under the lock of host_threads

 private:
  // -- its thread only --
  os::signal_stack for_faults_;
  bool is_prepared_ = false;
  bool has_signal_stack_ = false;
};

/// What stands for the attachments of a thread whose own have been destroyed. Not null: it would make
/// others, in memory that goes with the thread.
inline void* ended_attachments() noexcept { return &all_hosts(); }

/// The calling thread's. Null: it has none, or ends.
inline attachments* own_attachments() noexcept {
  void* const own = all_hosts().key.get();
  return own == ended_attachments() ? nullptr : static_cast<attachments*>(own);
}

/// Whether the calling thread is at its end, and can become no scheduler's host any more.
inline bool is_ending_thread() noexcept { return all_hosts().key.get() == ended_attachments(); }

/// The thread ends. One that calls exit() inside a goroutine, on a host, stays what it is.
inline attachments::~attachments() {
  const section here;
  scoped guard(all_hosts().lock);
  all_hosts().key.set(ended_attachments());
  for (host_thread* h = first; h != nullptr;) {
    host_thread* const next = h->next_of_thread;
    if (h->pins == 0) {
      h->m.self.close();
      h->next_of_thread = nullptr;
      h->thread.set(nullptr);
      runtime_scheduler& scheduler = scheduler_of(*h);
      if (h == &scheduler.hosts[0] && scheduler.ending.has_begun()) {
        orphan(*h);
      }
    }
    h = next;
  }
  first = nullptr;
  if (has_signal_stack_) {
    for_faults_.close();
  }
}

/// One more slot. Null: there is no memory, or there are as many as may be.
inline host_thread* make_host(runtime_scheduler& scheduler, bool only_the_first) noexcept {
  for (;;) {
    const unsigned made = scheduler.hosts.made();
    if (only_the_first && made != 0) {
      return &scheduler.hosts[0];
    }
    if (made == traits::max_hosts) {
      return nullptr;
    }
    auto* const fresh = scheduler.memory().make<host_thread>(
        scheduler, scheduler.upcalls(), scheduler.config().max_threads + made,
        traits::max_procs + made, runtime_scheduler::seed(made),
        made == 0 ? scheduler.config().bell : nullptr);
    if (fresh == nullptr) {
      return nullptr;
    }
    {
      const section here;
      scoped guard(scheduler.idle.lock());
      if (scheduler.hosts.made() == made) {
        scheduler.ps.add_host_locked(fresh->p);
        scheduler.hosts.add_locked(*fresh);
        traits::heavy_fence();  // [s.procs =] the number before the search; see has_other_ps
        return fresh;
      }
    }
    scheduler.memory().destroy(fresh);  // another thread was faster
  }
}

/// The slot of the calling thread, which is `own`'s; null: it has none.
inline host_thread* own_slot_locked(runtime_scheduler& scheduler, const attachments& own) noexcept {
  for (host_thread* h = own.first; h != nullptr; h = h->next_of_thread) {
    if (&scheduler_of(*h) == &scheduler) {
      return h;
    }
  }
  return nullptr;
}

/// A slot without a thread, the first before others. Null: there is none.
inline host_thread* vacant_slot_locked(runtime_scheduler& scheduler) noexcept {
  for (unsigned i = 0; i < scheduler.hosts.made(); ++i) {
    if (scheduler.hosts[i].thread.get() == nullptr) {
      return &scheduler.hosts[i];
    }
  }
  return nullptr;
}

/// What the M of a host has to know of the calling thread.
inline void take_thread(host_thread& h,
                        help_end (*help)(os::note&, std::int64_t) noexcept) noexcept {
  machine& m = h.m;
  m.exceptions = os::thread_exception_state();
  m.error_number = os::thread_error_number();
  m.self.open();
  os::this_threads_exit_watch().watch(scheduler_of(h).config().exit_hook);
#if THRUM_CHECKS
  may_lock.set(&is_lock_allowed);
#endif
  all_hosts().help.store(help, release);  // [ho.help >] release: nothing; sees: wait_as_thread
}

/// Makes the calling thread a host, if it is none yet, and pins it. Null: as make_host. The thread is
/// no M, and does not end.
inline host_thread* attach(runtime_scheduler& scheduler,
                           help_end (*help)(os::note&, std::int64_t) noexcept) noexcept {
  auto* own = own_attachments();
  if (own == nullptr) {
    own = &os::of_this_thread<attachments>();
    all_hosts().key.set(own);
  }
  for (;;) {
    {
      scoped guard(all_hosts().lock);
      host_thread* h = own_slot_locked(scheduler, *own);
      if (h == nullptr) {
        h = vacant_slot_locked(scheduler);
        if (h != nullptr) {
          take_thread(*h, help);
          h->thread.set(own);
          h->next_of_thread = own->first;
          own->first = h;
        }
      }
      if (h != nullptr) {
        ++h->pins;
        return h;
      }
    }
    if (make_host(scheduler, false) == nullptr) {
      return nullptr;
    }
  }
}

inline void unpin(host_thread& h) noexcept {
  scoped guard(all_hosts().lock);
  --h.pins;
}

/// If the scheduler stops: what is bound to a first host without a thread need not wait. Nor if that
/// thread is the caller, inside a goroutine of another scheduler: it waits for the stop and runs
/// nothing meanwhile.
inline void orphan_if_nobody_comes(runtime_scheduler& scheduler) noexcept {
  const section here;
  scoped guard(all_hosts().lock);
  if (!scheduler.ending.has_begun() || scheduler.hosts.made() == 0) {
    return;
  }
  const auto* const thread = scheduler.hosts[0].thread.get();
  if (thread == nullptr || (current_m() != nullptr && thread == own_attachments())) {
    orphan(scheduler.hosts[0]);
  }
}

/// The host to which on_host goroutines are bound, with or without a thread; makes it if there is none.
/// Null: no memory. Not inside a section.
inline host_thread* first_host(runtime_scheduler& scheduler) noexcept {
  if (scheduler.hosts.made() != 0) [[likely]] {
    return &scheduler.hosts[0];
  }
  host_thread* const made = make_host(scheduler, true);
  orphan_if_nobody_comes(scheduler);  // stop() may have looked before
  return made;
}

/// The scheduler has stopped, and is going to be destroyed: no thread is its host any more. Waits for
/// those that are on their way out of a call.
inline void detach_all_hosts(runtime_scheduler& scheduler) noexcept {
  for (unsigned i = 0; i < scheduler.hosts.made(); ++i) {
    host_thread& h = scheduler.hosts[i];
    for (;;) {
      {
        scoped guard(all_hosts().lock);
        if (h.pins == 0) {
          attachments* const own = h.thread.get();
          if (own != nullptr) {
            host_thread** link = &own->first;
            while (*link != &h) {
              link = &(*link)->next_of_thread;
            }
            *link = h.next_of_thread;
            h.m.self.close();
          }
          break;
        }
      }
      os::sleep_ns(100'000);
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
