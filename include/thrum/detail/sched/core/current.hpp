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
//
// The library may be in several shared objects of a process (os/posix/process_wide.hpp), and each
// has a thread-local of its own. The thread's M is also kept under a key that all of them know; a
// shared object that finds its own variable null looks there, and keeps what it has found: a thread
// has one M from its start to its end. The executable is loaded before any M exists: each M tells it
// when it starts, so the executable need not look.
#ifndef THRUM_DETAIL_SCHED_CORE_CURRENT_HPP
#define THRUM_DETAIL_SCHED_CORE_CURRENT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/m.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <atomic>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct current_slot {
  static inline constinit THRUM_THREAD_LOCAL os::thread_word<machine*> value = nullptr;
};

/// What all objects of the process know of the threads' Ms.
struct current_key {
  static constexpr std::string_view process_name = "sched::current_key";
  os::thread_key key;
  /// Sets the executable's own variable. Null: it has no such library.
  std::atomic<void (*)(machine*) noexcept> tell_executable{nullptr};
};

THRUM_NOINLINE inline void set_current_slot(machine* m) noexcept {
  asm volatile("");
  current_slot::value = m;
}

#if THRUM_SHARED_OBJECT

/// The variable of this object is null.
THRUM_NOINLINE inline machine* find_current_m() noexcept {
  void* const m = os::process_wide<current_key>::get().key.get();
  if (m != nullptr) {
    set_current_slot(static_cast<machine*>(m));
  }
  return static_cast<machine*>(m);
}

#else

/// Asks each M to tell this executable when it starts.
THRUM_CALLED_AT_LOAD inline void ask_to_be_told() noexcept {
  // [cm.tell >] release: pairs with set_current_m.
  os::process_wide<current_key>::get().tell_executable.store(&set_current_slot, release);
}
THRUM_ELSE_AT_START(ask_to_be_told);

#endif

/// The M of the calling thread, null on a thread that no scheduler owns. Good until the next
/// switch.
THRUM_NOINLINE inline machine* current_m() noexcept {
  asm volatile("");
#if THRUM_SHARED_OBJECT
  machine* const m = current_slot::value;
  if constexpr (traits::is_process_wide) {
    return m != nullptr ? m : find_current_m();
  }
  return m;
#else
  if constexpr (traits::is_process_wide) {
    THRUM_AT_LOAD(&ask_to_be_told);
  }
  return current_slot::value;
#endif
}

/// Sets the calling thread's M. The thread calls it as it begins and as it ends.
inline void set_current_m(machine* m) noexcept {
  if constexpr (traits::is_process_wide) {
    auto& known = os::process_wide<current_key>::get();
    known.key.set(m);
    // [cm.tell <] acquire: pairs with ask_to_be_told.
    if (auto* const tell = known.tell_executable.load(acquire)) {
      tell(m);
    }
  }
  set_current_slot(m);
}

/// Whether the caller is a goroutine that may park: not a foreign thread, not inside blocking().
inline bool is_goroutine() noexcept {
  const machine* const m = current_m();
  return m != nullptr && m->g != nullptr && m->p != nullptr;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif
