// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How select carries out its cases: tries, prepares, chooses, releases, runs.
#ifndef THRUM_DETAIL_SELECT_CARRY_OUT_HPP
#define THRUM_DETAIL_SELECT_CARRY_OUT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/select/cases.hpp>
#include <thrum/detail/select/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

using namespace sched;

/// Releases cases one after the other, all of them whatever one throws.
class release_of_all {
 public:
  template <class Release>
  void operator()(Release release) noexcept {
    if constexpr (noexcept(release())) {
      release();
    } else {
      THRUM_TRY { release(); }
      THRUM_CATCH_ALL {
        if (first_ == nullptr) {
          first_ = std::current_exception();
        }
      }
    }
  }
  /// At the end: throws the first exception.
  void finish() {
#if THRUM_EXCEPTIONS
    if (first_ != nullptr) {
      std::rethrow_exception(std::move(first_));
    }
#endif
  }

 private:
  std::exception_ptr first_;
};

/// release_of_all for cases that throw nothing.
struct release_of_all_surely {
  template <class Release>
  void operator()(Release release) noexcept {
    release();
  }
  void finish() const noexcept {}
};

/// Calls choose(), then release(released) in any case, then run(). What a release throws must wait
/// until the handler has what was received, and is dropped if another exception is on its way.
template <class Releases, class Choose, class Release, class Run>
void carry_out(Choose choose, Release release, Run run) {
  Releases released;
  THRUM_TRY { choose(); }
  THRUM_CATCH_ALL {
    release(released);
    THRUM_RETHROW;
  }
  release(released);
  run();
  released.finish();
}

/// Tries the case on the `which`-th channel under its lock alone, and says in `chosen` which case that is
/// if it was carried out.
template <class... Cases>
quick_try try_now(machine* m, std::uint32_t which, std::size_t& chosen, Cases&... cases) noexcept {
  std::size_t i = 0;
  std::uint32_t channel = 0;
  auto outcome = quick_try::unclear;
  const auto visit = [&](auto& of) {
    if constexpr (std::remove_reference_t<decltype(of)>::is_channel) {
      if (channel++ == which) {
        outcome = of.try_now(m);
        chosen = outcome == quick_try::done ? i : chosen;
      }
    }
    ++i;
  };
  (visit(cases), ...);
  return outcome;
}

/// Gets a case ready whose operation is to be the n-th.
template <class Case>
void prepare(Case& of, select_operation** operations, std::size_t n) {
  if constexpr (requires { of.prepare(operations, n); }) {
    of.prepare(operations, n);
  } else {
    of.prepare();
  }
  operations[n] = &of.operation();
}

/// The index of the case that is to run. `deadline_of(i)` is the time of the i-th case, and
/// `has_come(i)` says whether it has passed by its own clock too, if there may be another clock.
template <bool AskClocks, class DeadlineOf, class HasCome>
std::size_t chosen_case(const select_frame& frame, std::size_t default_index,
                        DeadlineOf deadline_of, HasCome has_come) {
  for (;;) {
    std::int64_t first = no_deadline;
    std::size_t first_index = frame.n;
    for (std::size_t i = 0; i < frame.n; ++i) {
      if (deadline_of(i) < first) {
        first = deadline_of(i);
        first_index = i;
      }
    }
    const select_outcome outcome = run_select(frame, default_index == frame.n, first);
    switch (outcome.what) {
      case select_outcome::kind::chosen: return outcome.index;
      case select_outcome::kind::none_ready: return default_index;
      case select_outcome::kind::timed_out: break;
      case select_outcome::kind::cancelled: exit_goroutine();
    }
    if (!AskClocks || has_come(first_index)) {
      return first_index;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::select_detail

#endif
