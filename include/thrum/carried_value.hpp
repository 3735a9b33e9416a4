// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// carried_value: a value of the thread, a thread_local of a library for example, that goes with a goroutine.
//
// A goroutine that carries values is one that switches look at: see sched/run/latency.hpp. So switches between
// others cost no instruction more.
#ifndef THRUM_CARRIED_VALUE_HPP
#define THRUM_CARRIED_VALUE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/core/g.hpp>

#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// The calling goroutine carries this value from now on, and its thread has it. On a foreign thread only the
/// latter. Returns the goroutine.
sched::goroutine* begin_carrying(sched::carried& value) noexcept;
/// Called by the goroutine that began.
void end_carrying(sched::goroutine* g, sched::carried& value) noexcept;

}  // namespace go_detail

/// While it exists, the calling goroutine has a value of its own of something that each thread has one of, a
/// thread_local of a library or the locale, on whatever thread it runs. Other goroutines on these threads
/// see the threads' own value.
///
/// `exchange(value)` exchanges `value` with the calling thread's: [](int& v) noexcept { std::swap(v, x); }
/// for a thread_local x, [](locale_t& v) noexcept { v = uselocale(v); } for the locale. It is called whenever
/// the goroutine leaves a thread or comes to one, inside the scheduler: it must not wait, lock or allocate.
///
/// Keep it in a variable of the goroutine's own function, which destroys several in reverse order. A
/// goroutine that this one starts carries nothing. On a foreign thread the thread has the value for as long.
///
/// When not to use: for state of your own, where goroutine_local does; for a library that keeps addresses,
/// where thread_lock does.
template <class T>
class carried_value : sched::carried {
 public:
  /// The goroutine has `initial` from now on.
  explicit carried_value(void (*exchange)(T& value) noexcept, T initial = T())
      : exchange_(exchange), other_(std::move(initial)) {
    this->exchange_now = [](sched::carried& self) noexcept {
      auto& own = static_cast<carried_value&>(self);
      own.exchange_(own.other_);
    };
    g_ = go_detail::begin_carrying(*this);
  }
  /// The thread has its own value again.
  ~carried_value() { go_detail::end_carrying(g_, *this); }
  carried_value(const carried_value&) = delete;
  carried_value& operator=(const carried_value&) = delete;

 private:
  void (*const exchange_)(T& value) noexcept;
  T other_;  // the thread's while the goroutine runs, the goroutine's while it does not
  sched::goroutine* g_ = nullptr;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/sched/core/current.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace go_detail {

/// Null on a foreign thread.
THRUM_NOINLINE inline sched::goroutine* carrying_goroutine() noexcept {
  asm volatile("");
  const auto* const m = sched::current_m();
  return m == nullptr ? nullptr : m->g;
}

// No switch can come between these lines: only library calls lead to one.
THRUM_OUT_OF_LINE sched::goroutine* begin_carrying(sched::carried& value) noexcept {
  sched::goroutine* const g = carrying_goroutine();
  value.exchange_now(value);
  if (g != nullptr) {
    value.older = g->newest_carried;
    if (value.older != nullptr) {
      value.older->newer = &value;
    }
    g->newest_carried = &value;
    g->flags |= sched::g_timed;
  }
  return g;
}

THRUM_OUT_OF_LINE void end_carrying(sched::goroutine* g, sched::carried& value) noexcept {
  if (carrying_goroutine() != g) {
    base::fatal(
        "carried_value: destroyed by another goroutine than the one that made it; keep it in a "
        "variable of one function");
  }
  if (g != nullptr) {
    (value.newer == nullptr ? g->newest_carried : value.newer->older) = value.older;
    if (value.older != nullptr) {
      value.older->newer = value.newer;
    }
    if (g->newest_carried == nullptr) {
      g->flags &= static_cast<std::uint8_t>(~sched::g_timed);
    }
  }
  value.exchange_now(value);
}

}}}  // namespace thrum::THRUM_ABI::go_detail
#endif

#endif
