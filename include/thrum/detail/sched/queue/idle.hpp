// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which Ms sleep, which search, and why no goroutine is ever left behind.
//
// Purpose
//   Keeps the idle Ps and the idle Ms, and decides when a thread is woken and when one may sleep.
//
// Why it is hard
//   Waking a thread costs 16 us and more, ten thousand switches; not waking one leaves a processor
//   idle while work waits; and it is decided by a state that others are changing. Rejected:
//   - one lock around every queue: serialises what per-P queues exist to keep apart;
//   - handing each new goroutine to an idle P directly: thrashes when goroutines come and go in
//     pairs, and destroys the locality of runnext;
//   - waking a thread for each new goroutine: most would find nothing left and sleep again.
//   Chosen, as in Go: an M without work *spins* for a bounded while, and a submitter wakes another
//   only if no M spins. A spinner that finds work, and sees more, wakes the next one, so the number
//   of busy Ps grows as long as there is work, and only then. By one in the time that a thread takes to
//   wake, which is long where there are many: so two may spin once eight are busy, before a submitter
//   leaves it at that (traits::searchers_at_a_time, docs/decisions/0032-two-searchers-at-a-time.md).
//
// State
//   spinning_       Ms that search and hold a P (or are being started to do so). Each such M's
//                   `spinning` flag is one unit; a submitter that is about to start one holds a
//                   unit meanwhile.
//   need_spinning_  1: a thread had work for a spinner but found no idle P. An M that is about to
//                   give up its P without having spun becomes a spinner instead.
//   idle_p_count_   length of the list of idle Ps.
//   at_a_time_      so many that spin are enough: at least one, whatever it says.
//
// Invariants
//   ID1  a P on the idle list has an empty run queue (it may have timers).
//   ID2  spinning_ is never negative; need_spinning_ is written under the lock or by a new spinner.
//   ID3  if a goroutine is on a queue and no P runs it, then a P is running, or an M spins, or an M
//        is being started: some M is still to look at every queue.
//   ID4  need_spinning_ is 0 while a P is on the idle list: an M that would put one there and finds
//        the flag set spins, or starts a spinner, on it instead.
//
// The two sides
//   submitter                                    idler (holds a P, found nothing)
//   S1 publish the goroutine                     I1 lock
//   S2 fence                                     I2 take from the global queue if it holds anything
//   S3 enough spin, or need_spinning_: done      I3 need_spinning_: clear it, spin, start over
//   S4 ++spinning_ unless it changed: done       I4 put the P on the idle list; unlock
//   S5 lock; take an idle P; none:               I5 if spinning: --spinning_, fence
//      --spinning_, need_spinning_ = 1; unlock   I6 if it was spinning: look at every queue and
//   S6 start an M on it, spinning                   timer again; work and an idle P: take it, spin
//
// Why nothing is lost
//   Either S3 reads spinning_ before I5 lowers it, and then the fences make S1 visible to I6, also if
//   S4 fails for that; or it reads it after, and goes on to S5. At S5 the lock orders it with I4:
//   after I4 there is an idle P to start; before I3 that idler will see need_spinning_. A submitter
//   that reads need_spinning_ set may leave for the same reason: the flag is only cleared by an M that
//   then looks at every queue. An idler that was not spinning need not look again: it read the flag
//   under the lock in which it became visible as idle.
//
// Fences of [id.spin]: end_spinning, give_back_unit, wake_processor, wake_m.
// Fences of [id.need]: clear_need, wake_processor, wake_m.
//
// Sources: Go, src/runtime/proc.go (the head comment and findRunnable), issues 45867 and 43997.
// Checked by tests/model/idle_protocol_model.cpp, with each fence and each step removed in turn.
#ifndef THRUM_DETAIL_SCHED_QUEUE_IDLE_HPP
#define THRUM_DETAIL_SCHED_QUEUE_IDLE_HPP

#include <thrum/detail/base/cache_line.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/queue/lock.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// P needs a member `P* idle_next`, M one `M* idle_next` and a flag `spinning`. Functions named
/// `_locked` want the caller to hold `lock()`.
template <class Traits, class P, class M, class Lock = blocking_lock>
class idle_set {
 public:
  Lock& lock() noexcept { return lock_; }

  // ---- the submitter's side ----

  /// S3 and S4. True: the caller now holds a unit of `spinning` and must go on with
  /// take_p_to_spin_locked. The caller has published its work and then passed a full fence, or
  /// published it by a sequentially consistent read-modify-write.
  bool claim_wake() noexcept {
    // [id.spin =] seq_cst: after the publication in one total order with I5's decrement.
    std::uint32_t n = spinning_.load(seq_cst);
    // [id.need =] seq_cst: as well
    if ((n != 0 && n >= at_a_time()) || need_spinning_.load(seq_cst) != 0) {
      return false;
    }
    // [id.spin =] seq_cst: counts as a spinner from here. relaxed: the loser publishes nothing; another
    // counts as one since, or one that did has yet to look (I6)
    return spinning_.compare_exchange_strong(n, n + 1, seq_cst, relaxed);
  }

  /// S5. Null: no P idles, the unit is returned, and the next idler will spin. The unit first:
  /// a thread that saw it and left its work to us must find the flag set by what we do next, and a
  /// spinner that clears the flag must not do so between our setting it and dropping the unit (Go
  /// has this window).
  P* take_p_to_spin_locked() noexcept {
    P* const p = take_p_locked();
    if (p == nullptr) {
      drop_unit();
      ask_for_spinner_locked();
    }
    return p;
  }

  /// A thread has work and found no idle P: the next M that runs out of work looks once more.
  void ask_for_spinner_locked() noexcept {
    // [id.need =] seq_cst: read by S3 without the lock.
    need_spinning_.exchange(1, seq_cst);
  }

  // ---- the idler's side ----

  /// I3. Whether an M that is about to give up its P must search with it first.
  bool spinner_wanted_locked() const noexcept {
    return need_spinning_.load(relaxed) != 0;  // relaxed: set under the lock that we hold
  }

  /// Whether a thread had work for a spinner but found no idle P. Without the lock: a hint.
  bool spinner_wanted() const noexcept {
    return need_spinning_.load(relaxed) != 0;  // relaxed: the monitor looks again
  }

  void begin_spinning(M& m) noexcept {
    m.spinning = true;
    // [id.spin =] seq_cst: a submitter that sees it leaves its work to this M.
    spinning_.fetch_add(1, seq_cst);
    clear_need();
  }

  /// I3 for an M that spins already: it takes the request over, and must search again.
  void take_request() noexcept { clear_need(); }

  /// The caller starts a spinning M; this is the unit for it.
  void add_unit() noexcept {
    // [id.spin =] seq_cst: as in begin_spinning.
    spinning_.fetch_add(1, seq_cst);
    clear_need();
  }

  /// Takes the unit of a spinner that hand_off starts. False: an M spins already, or a P idles.
  bool claim_first_spinner() noexcept {
    std::uint32_t none = 0;
    // [id.spin =] seq_cst: as in claim_wake.
    if (spinning_.load(seq_cst) + idle_ps() != 0 ||
        // [id.spin =] as in claim_wake; relaxed: the loser publishes nothing
        !spinning_.compare_exchange_strong(none, 1, seq_cst, relaxed)) {
      return false;
    }
    clear_need();
    return true;
  }

  /// I5, or: a spinner has found work. The fence stands between the decrement and whatever the
  /// caller reads next.
  void end_spinning(M& m) noexcept {
    THRUM_ASSERT(ID2, m.spinning);
    m.spinning = false;
    drop_unit();
    Traits::fence(seq_cst);  // [id.spin =] I5: pairs with the submitter's fence at S2
  }

  /// Gives back a unit that no M has got: there is none to search.
  void give_back_unit() noexcept {
    drop_unit();
    Traits::fence(seq_cst);  // [id.spin =] I5: as in end_spinning
  }

  // ---- the lists ----

  /// So many Ps there are: those that do not idle are busy.
  void expect_locked(std::uint32_t ps) noexcept {
    expected_ = ps;
    allow_locked(idle_p_count_.load(relaxed));  // relaxed: under the lock
  }

  void put_p_locked(P& p) noexcept {
    THRUM_ASSERT(ID4, !spinner_wanted_locked());
    p.idle_next = ps_;
    ps_ = &p;
    count_ps_locked(1);
  }

  P* take_p_locked() noexcept {
    P* const p = ps_;
    if (p != nullptr) {
      ps_ = p->idle_next;
      count_ps_locked(-1);
    }
    return p;
  }

  /// Takes one certain P off the list; false if it is not there.
  bool remove_p_locked(P& p) noexcept {
    for (P** link = &ps_; *link != nullptr; link = &(*link)->idle_next) {
      if (*link == &p) {
        *link = p.idle_next;
        count_ps_locked(-1);
        return true;
      }
    }
    return false;
  }

  void put_m_locked(M& m) noexcept {
    m.idle_next = ms_;
    ms_ = &m;
    idle_m_count_.set(idle_m_count_.get() + 1);
  }

  M* take_m_locked() noexcept {
    M* const m = ms_;
    if (m != nullptr) {
      ms_ = m->idle_next;
      const std::uint32_t left = idle_m_count_.get() - 1;
      idle_m_count_.set(left);
      least_ms_ = left < least_ms_ ? left : least_ms_;
    }
    return m;
  }

  // ---- Ms that are too many: give_back ----

  /// The smallest number of Ms that were here since forget_least_ms_locked(): so many are too many.
  std::uint32_t least_ms_locked() const noexcept { return least_ms_; }
  void forget_least_ms_locked() noexcept { least_ms_ = idle_m_count_.get(); }
  /// One of the Ms that are too many, to be ended.
  M* take_m_to_end_locked() noexcept {
    const std::uint32_t others = least_ms_ - 1;
    M* const m = take_m_locked();
    least_ms_ = others;
    return m;
  }

  template <class F>
  void for_each_p_locked(F f) noexcept {
    for (P* p = ps_; p != nullptr; p = p->idle_next) {
      f(*p);
    }
  }

  /// Rather one of the last few that `suits(m)`.
  template <class Suits>
  M* take_m_locked(Suits suits) noexcept {
    constexpr int few = 8;
    M** link = &ms_;
    for (int i = 0; i < few && *link != nullptr; ++i, link = &(*link)->idle_next) {
      M* const m = *link;
      if (suits(*m)) {
        *link = m->idle_next;
        m->idle_next = ms_;
        ms_ = m;  // as if it had come last
        break;
      }
    }
    return take_m_locked();
  }

  // ---- figures ----

  std::uint32_t spinning() const noexcept {
    return spinning_.load(seq_cst);  // [id.spin =] for the gate and for hand-off's decision
  }
  std::uint32_t idle_ps() const noexcept {
    return idle_p_count_.load(seq_cst);  // [id.idle =] a hint without the lock, exact with it
  }
  std::uint32_t idle_ms() const noexcept { return idle_m_count_.peek(); }

 private:
  void count_ps_locked(int more) noexcept {
    // relaxed: under the lock
    const std::uint32_t n = idle_p_count_.load(relaxed) + static_cast<std::uint32_t>(more);
    // [id.idle =] seq_cst: read without the lock where a hint is enough.
    idle_p_count_.exchange(n, seq_cst);
    allow_locked(n);
  }

  void allow_locked(std::uint32_t idle) noexcept {
    const std::uint32_t busy = expected_ > idle ? expected_ - idle : 0;
    at_a_time_.set(Traits::searchers_at_a_time(busy));
  }
  std::uint32_t at_a_time() const noexcept { return at_a_time_.get(); }

  void clear_need() noexcept {
    // [id.need =] seq_cst, and the fence: whatever a submitter published before it read the flag
    // set is seen by the search that follows.
    need_spinning_.exchange(0, seq_cst);
    Traits::fence(seq_cst);  // [id.need =] pairs with S2
  }

  void drop_unit() noexcept {
    // [id.spin =] seq_cst: I5; sees: claim_wake
    [[maybe_unused]] const std::uint32_t before = spinning_.fetch_sub(1, seq_cst);
    THRUM_ASSERT(ID2, before != 0);
  }

  template <class T>
  using atomic = typename Traits::template atomic<T>;
  template <class U>
  using under_lock = base::under_lock<U, atomic<U>>;
  template <class U>
  using hint = base::hint<U, atomic<U>>;

  alignas(base::cache_line_size) atomic<std::uint32_t> spinning_{0};
  atomic<std::uint32_t> need_spinning_{0};
  atomic<std::uint32_t> idle_p_count_{0};
  under_lock<std::uint32_t> idle_m_count_{0};
  hint<std::uint32_t> at_a_time_{1};

  alignas(base::cache_line_size) Lock lock_{lock_rank::idle};
  P* ps_ = nullptr;
  M* ms_ = nullptr;
  std::uint32_t least_ms_ = 0;
  std::uint32_t expected_ = 0;
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
