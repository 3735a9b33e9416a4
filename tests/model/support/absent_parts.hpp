// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Parts of the scheduler that are there but do nothing, for builds in which its search for work runs on Gs, Ms
// and Ps of a test's own: the models, and the simulation. Included when those are declared.
#ifndef THRUM_TESTS_MODEL_ABSENT_PARTS_HPP
#define THRUM_TESTS_MODEL_ABSENT_PARTS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/intrusive_queue.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

enum class searchers : bool { ms, all };

struct upcall_table {
  void* (*m_main)(void*);
  bool (*start_spinner)(runtime_scheduler&, searchers which) noexcept;
  machine* (*make_spare)(runtime_scheduler&) noexcept;
  void (*take_event)(poll_sink&, std::uint64_t tag, std::uint32_t events) noexcept;
  void (*announce_event)(std::uint64_t tag) noexcept;
};

/// There are no hosts: what they add to the steps of others is tested elsewhere.
struct host_thread {
  struct {
    bool push(goroutine&) noexcept { return false; }
  } inbox;
  machine m;
};
struct host_table {
  static constexpr unsigned made() noexcept { return 0; }
  host_thread& operator[](unsigned) noexcept { return *none; }
  static constexpr bool are_quiet_locked() noexcept { return true; }
  static constexpr bool wake_one_locked() noexcept { return false; }
  static constexpr void nudge_impatient_locked() noexcept {}
  host_thread* none = nullptr;
};

struct stack_pool {
  void put(std::uint8_t, base::intrusive_queue<goroutine>&&) noexcept {}
};

}}}  // namespace thrum::THRUM_ABI::sched

#endif
