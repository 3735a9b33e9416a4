// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Traits that put a modelled machine under a part of the scheduler, and the mutants: the same part
// with one memory order, fence or atomic operation weakened. An explorer that does not find a
// mutant's mistake proves nothing about the original.

#ifndef THRUM_TESTS_MODEL_MODEL_TRAITS_HPP
#define THRUM_TESTS_MODEL_MODEL_TRAITS_HPP

#include "objects.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace model {

/// Rings of 4 on checked slots: pointers are slots as long as they are only loaded and stored.
struct traits {
  static constexpr std::uint32_t run_queue_capacity = 4;
  static constexpr std::uint32_t fork_capacity = 4;
  static constexpr std::uint32_t fork_credit = 1;
  static constexpr std::uint32_t fork_walk = 1'000;

  template <class T>
  using atomic = basic_atomic<T, std::is_pointer_v<T>>;

  using heap_lock = mutex;
  static void back_off(std::uint32_t) noexcept { explorer::active().yield(); }

  static void fence(std::memory_order order) noexcept { memory::active().fence(order); }
  static void light_fence() noexcept { memory::active().light_fence(); }
  static void heavy_fence() noexcept { memory::active().heavy_fence(); }
};

/// What a mutant gets wrong.
enum class mutation {
  relaxed_store,     // every release store is relaxed
  relaxed_cas,       // every compare-and-swap is relaxed
  relaxed_exchange,  // every exchange is relaxed
  relaxed_load,      // every acquire load is relaxed
  torn_cas,          // compare-and-swap is a load and a store
  torn_exchange,     // exchange is a load and a store
  no_fence,          // fences do nothing
  release_acquire    // sequentially consistent accesses are merely release and acquire
};

/// An atomic that has that mistake.
template <class T, mutation Mistake>
class mutant_atomic : public basic_atomic<T, std::is_pointer_v<T>> {
  using base = basic_atomic<T, std::is_pointer_v<T>>;
  using order = std::memory_order;

  static order weaken(order how, mutation if_mistake) {
    if (Mistake == if_mistake) {
      return order::relaxed;
    }
    return Mistake == mutation::release_acquire && how == order::seq_cst ? order::acq_rel : how;
  }

 public:
  mutant_atomic() noexcept = default;
  mutant_atomic(T value) noexcept : base(value) {}  // not explicit: as std::atomic

  T load(order how) const noexcept { return base::load(weaken(how, mutation::relaxed_load)); }
  void store(T value, order how) noexcept {
    const order weak = weaken(how, mutation::relaxed_store);
    base::store(value, weak == order::acq_rel ? order::release : weak);
  }
  T exchange(T value, order how) noexcept {
    if (Mistake == mutation::torn_exchange) {
      const T old = base::load(order::acquire);
      base::store(value, order::release);
      return old;
    }
    return base::exchange(value, weaken(how, mutation::relaxed_exchange));
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    if (Mistake == mutation::torn_cas) {
      const T old = base::load(order::acquire);
      const bool equal = old == expected;
      if (equal) {
        base::store(desired, order::release);
      }
      expected = old;
      return equal;
    }
    return base::compare_exchange_strong(expected, desired, weaken(success, mutation::relaxed_cas),
                                         failure);
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
};

template <mutation Mistake>
struct mutant_traits : traits {
  template <class T>
  using atomic = mutant_atomic<T, Mistake>;

  static void fence(std::memory_order order) noexcept {
    if (Mistake != mutation::no_fence) {
      traits::fence(order);
    }
  }
};

}  // namespace model

#endif
