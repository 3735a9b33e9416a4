// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which M is this thread?
//
// A goroutine may wake on another thread, so no address of a thread-local may live across a
// switch. Compilers do keep such addresses: measured, `&tls` cached over a switch is stale with gcc
// at -O2, with clang -fPIC and with LTO of both. What is never stale, in all build modes tried, is
// a function that is not inlined, returns the value and not the address, and holds an empty asm
// that stops its result from being taken for a constant. It costs 0.4 ns.
//
// Everything else is reached from the M, which a switch returns anew.
#ifndef THRUM_SCHED_CURRENT_HPP
#define THRUM_SCHED_CURRENT_HPP

#include <thrum/base/config.hpp>
#include <thrum/sched/m.hpp>

namespace thrum::inline THRUM_ABI::sched {

template <class Traits>
struct current_slot {
  static inline constinit thread_local basic_m<Traits>* value = nullptr;
};

/// The M of the calling thread, null on a thread that no scheduler owns. Good until the next
/// switch.
template <class Traits>
THRUM_NOINLINE basic_m<Traits>* current_m() noexcept {
  asm volatile("");
  return current_slot<Traits>::value;
}

template <class Traits>
THRUM_NOINLINE void set_current_m(basic_m<Traits>* m) noexcept {
  asm volatile("");
  current_slot<Traits>::value = m;
}

/// Whether the caller is a goroutine that may park: not a foreign thread, not inside blocking().
template <class Traits>
bool is_goroutine() noexcept {
  const basic_m<Traits>* const m = current_m<Traits>();
  return m != nullptr && m->g != nullptr && m->p != nullptr;
}

}  // namespace thrum::inline THRUM_ABI::sched

#endif
