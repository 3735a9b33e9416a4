// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The traits of a build in which the scheduler runs on a simulated machine, and the constants that are
// tried there: each may be given on the compiler's command line.
#ifndef THRUM_TESTS_SIMULATION_TRAITS_HPP
#define THRUM_TESTS_SIMULATION_TRAITS_HPP

#include <thrum/detail/netpoll/contract.hpp>

#include "machine.hpp"

#include <atomic>
#include <cstdint>
#include <limits>

namespace simulation {

/// Nobody waits for descriptors.
class poller {
 public:
  int open() noexcept { return 0; }
  void close() noexcept {}
  std::uint32_t descriptors() const noexcept { return 0; }
  void poll(std::int64_t, thrum::netpoll::sink&) noexcept {}
  void wake() noexcept {}
};

}  // namespace simulation

namespace thrum { inline namespace THRUM_ABI { namespace sched {

struct traits : default_traits {
  static constexpr bool is_process_wide = false;
  static constexpr unsigned max_procs = 512;
  static constexpr unsigned max_hosts = 0;

#ifdef SIMULATED_STEAL_ROUNDS
  static constexpr int steal_rounds = SIMULATED_STEAL_ROUNDS;
#endif
#ifdef SIMULATED_BUSY_PER_SPINNER
  static constexpr unsigned busy_per_spinner = SIMULATED_BUSY_PER_SPINNER;
#endif
#ifdef SIMULATED_RUN_QUEUE_CAPACITY
  static constexpr std::uint32_t run_queue_capacity = SIMULATED_RUN_QUEUE_CAPACITY;
#endif
#ifdef SIMULATED_GLOBAL_CHECK_INTERVAL
  static constexpr std::uint32_t global_check_interval = SIMULATED_GLOBAL_CHECK_INTERVAL;
#endif
#ifdef SIMULATED_SEARCHERS
  static std::uint32_t searchers_at_a_time([[maybe_unused]] std::uint32_t busy) noexcept {
    return SIMULATED_SEARCHERS;
  }
#endif
#ifdef SIMULATED_WORTH_A_MOVE
  static constexpr std::int64_t worth_a_move_ns = SIMULATED_WORTH_A_MOVE;
#endif
#ifdef SIMULATED_WAKE_CREDIT
  static constexpr std::uint32_t wake_credit = SIMULATED_WAKE_CREDIT;
#endif

  template <class T>
  using atomic = simulation::atomic<T>;
  using heap_lock = simulation::spin_lock;
  using poller = simulation::poller;

  static void fence(std::memory_order) noexcept {
    simulation::machine& on = simulation::machine::active();
    on.compute(on.cost.locked);
  }
  static void light_fence() noexcept {}
  static void heavy_fence() noexcept {}

  static std::int64_t now() noexcept {
    return static_cast<std::int64_t>(simulation::machine::active().now()) + 1;
  }
  static void back_off(std::uint32_t) noexcept {
    simulation::machine& on = simulation::machine::active();
    on.compute(on.cost.pause);
  }
  static void pause_search() noexcept {
    simulation::machine& on = simulation::machine::active();
    on.nap(20'000 + on.cost.nap);
  }
  static void pause_before_runnext() noexcept {
#ifdef SIMULATED_PAUSE_BEFORE_RUNNEXT
    simulation::machine& on = simulation::machine::active();
    if (SIMULATED_PAUSE_BEFORE_RUNNEXT != 0) {
      on.nap(SIMULATED_PAUSE_BEFORE_RUNNEXT);
    }
#else
    simulation::machine& on = simulation::machine::active();
    on.nap(3'000 + on.cost.nap);
#endif
  }
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
