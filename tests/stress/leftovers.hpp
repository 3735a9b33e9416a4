// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What runtimes leave to their process when they have ended: nothing. A look before, behind a first
// runtime that has made what is made once for all, and one behind the last.
#ifndef THRUM_TESTS_STRESS_LEFTOVERS_HPP
#define THRUM_TESTS_STRESS_LEFTOVERS_HPP

#include "stress/host.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

#include <cstddef>
#include <cstdio>

namespace stress {

/// What a process has of the system's.
struct belongings {
  std::size_t threads = support::thread_count();
  std::size_t events = support::open_events();
  std::size_t handles = support::open_handles() - events;
  std::size_t mappings = support::mapping_count();
  std::size_t reserved = support::reserved_bytes();
};

class leftovers {
 public:
  /// True if no more is there than when this was made: at once, or when the threads that end have
  /// ended. Otherwise says what is.
  [[nodiscard]] bool none(const char* program) const {
    if (support::eventually([&] { return holds(belongings()); })) {
      return true;
    }
    const belongings now;
    std::fprintf(
        stderr,
        "%s: FAILED: something is left over: threads %zu, then %zu; handles %zu, then %zu; "
        "events %zu, then %zu; mappings %zu, then %zu; address space %zu KiB, then %zu KiB\n",
        program, before_.threads, now.threads, before_.handles, now.handles, before_.events,
        now.events, before_.mappings, now.mappings, before_.reserved >> 10, now.reserved >> 10);
    return false;
  }

 private:
  bool holds(const belongings& now) const {
    // The wait table keeps eight events in each of 64 buckets for the next that sleeps there.
    constexpr std::size_t kept_events = 512;
    // The C library keeps up to 40 MB of stacks of threads that have ended; a slab of ours is 64 MiB.
    constexpr std::size_t kept_mappings = 32;
    constexpr std::size_t kept_bytes = std::size_t{56} << 20;
    return now.threads <= before_.threads && now.handles <= before_.handles &&
           now.events <= before_.events + kept_events &&
           (!host::sees_own_memory() || (now.mappings <= before_.mappings + kept_mappings &&
                                         now.reserved <= before_.reserved + kept_bytes));
  }

  const belongings before_{};
};

}  // namespace stress

#endif
