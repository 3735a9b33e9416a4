// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// select: waits for several channel operations, carries out one of them.
//
//   for (;;) {
//     switch (thrum::select(thrum::on_recv(jobs, [&](job j) { ... }),
//                           thrum::on_send(results, std::move(r), [&] { ... }),
//                           thrum::on_timeout(1s))) {
//       case 2: return;  // what a handler cannot do: leave the loop
//     }
//   }
#ifndef THRUM_SELECT_HPP
#define THRUM_SELECT_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/select/carry_out.hpp>
#include <thrum/detail/select/cases.hpp>
#include <thrum/detail/select/engine.hpp>
#include <thrum/detail/select/signal_cases.hpp>
#include <thrum/join_handle.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum { inline namespace THRUM_ABI {

// ---- the cases ---------------------------------------------------------------------------------
//
// A case refers to what it is given as an lvalue, so it must not outlive it; what it is given as an
// rvalue it owns, but for the value of on_send. Handlers run after the operation, on the caller's
// stack, and may do anything.

/// Receives from a channel. `f` takes one of these:
///   (T)                 not called if the channel is closed and drained; a generic f gets a T
///   (std::optional<T>)  empty if the channel is closed and drained
///   (T&&, bool)         T() and false if it is
///   ()                  called in both cases
/// For a channel of signals: (bool) or nothing. A closed channel is always ready: a loop over select
/// with an f(T) looks at is_closed(), or spins. Never ready on the nil channel.
template <class T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_recv(
    const chan<T>& channel, F f = {}) {
  return select_detail::recv_case<T, F>(channel, std::move(f));
}
template <class T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_recv(
    const recv_chan<T>& channel, F f = {}) {
  return select_detail::recv_case<T, F>(channel, std::move(f));
}
template <class T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_recv(chan<T>&& channel,
                                                                              F f = {}) {
  return select_detail::recv_case<T, F>(std::move(channel), std::move(f));
}
template <class T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_recv(
    recv_chan<T>&& channel, F f = {}) {
  return select_detail::recv_case<T, F>(std::move(channel), std::move(f));
}

namespace select_detail {

template <class Channel>
struct sends_to;  // T of a channel that can be sent to
template <class T>
struct sends_to<chan<T>> {
  using type = T;
};
template <class T>
struct sends_to<send_chan<T>> {
  using type = T;
};
template <class Channel>
using sent_type = typename sends_to<std::remove_cvref_t<Channel>>::type;

/// How on_send keeps what it is given: a reference where the value is to be moved from (an rvalue,
/// or an lvalue that cannot be copied), else a copy or a conversion. To move what is trivial is to
/// copy it.
template <class T, class V>
using kept_value =
    std::conditional_t<std::is_same_v<std::remove_cvref_t<V>, T> &&
                           !std::is_trivially_copyable_v<T> &&
                           !std::is_const_v<std::remove_reference_t<V>> &&
                           (!std::is_lvalue_reference_v<V> || !std::is_copy_constructible_v<T>),
                       T&, T>;

}  // namespace select_detail

/// Sends `value` to a channel, then calls f(). An rvalue is moved from only if this case is chosen;
/// it must live until the select has returned. An lvalue is copied, or, if it cannot be copied,
/// treated as an rvalue. What is not of the channel's type is converted when the case is made. If
/// the case is chosen and the channel is closed: usage_error. Never ready on the nil channel.
template <class Channel, class V, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_send(
    Channel&& channel, V&& value,
    F f = {}) requires(!std::is_void_v<select_detail::sent_type<Channel>>) {
  using T = select_detail::sent_type<Channel>;
  using kept = select_detail::kept_value<T, V>;
  if constexpr (std::is_reference_v<kept>) {
    return select_detail::send_case<T, kept, F>(std::forward<Channel>(channel), value,
                                                std::move(f));
  } else {
    return select_detail::send_case<T, kept, F>(std::forward<Channel>(channel),
                                                std::forward<V>(value), std::move(f));
  }
}

/// Sends a signal, then calls f().
template <class Channel, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_send(
    Channel&& channel, F f = {}) requires(std::is_void_v<select_detail::sent_type<Channel>>) {
  return select_detail::send_case<void, std::monostate, F>(std::forward<Channel>(channel),
                                                           std::monostate(), std::move(f));
}

/// Chosen if nothing else was for a time, counted from the call of select.
template <class Rep, class Period, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_timeout(
    std::chrono::duration<Rep, Period> time, F f = {}) {
  return select_detail::timeout_case<std::chrono::duration<Rep, Period>, F>(time, std::move(f));
}

/// Chosen if nothing else was until a moment, of any clock.
template <class Clock, class Duration, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_deadline(
    std::chrono::time_point<Clock, Duration> when, F f = {}) {
  return select_detail::deadline_case<std::chrono::time_point<Clock, Duration>, F>(when,
                                                                                   std::move(f));
}

/// Chosen once a stop is requested.
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_done(std::stop_token token,
                                                                              F f = {}) {
  return select_detail::done_case<F>({std::move(token)}, std::move(f));
}

/// Chosen once the goroutine has ended: join() does not block then, and is left to the caller. Until the
/// select has returned, the handle must stay where it is, and no other goroutine or thread may join it.
/// Never ready if the handle is empty when the case is made.
template <class T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_join(
    const join_handle<T>& handle, F f = {}) {
  return select_detail::join_case<F>({handle.target()}, std::move(f));
}

/// Chosen if no other case is ready: the select does not wait.
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto otherwise(F f = {}) {
  return select_detail::default_case<F>(std::move(f));
}

// ---- select ------------------------------------------------------------------------------------

/// A case of any kind, for a select whose number of cases is known only at run time. Owns its
/// channel and its value; may take part in any number of selects, one at a time. A value that was
/// sent is left moved-from.
class select_case {
 public:
  /// Takes over what on_recv and its siblings returned.
  template <class Case>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a select_case is no case
  requires select_detail::is_select_case<std::remove_cvref_t<Case>> select_case(
      Case&& of)  // NOLINT: a case is one
      : erased_(erase(std::remove_cvref_t<Case>(std::forward<Case>(of)))) {}

 private:
  friend std::size_t select(std::span<select_case>);

  struct erased {
    virtual ~erased() = default;
    virtual void prepare() = 0;
    virtual void release(bool chosen) = 0;
    virtual void run() = 0;
    virtual select_detail::select_operation& operation() noexcept = 0;
    virtual std::int64_t deadline() const noexcept = 0;
    virtual bool has_come() = 0;
    virtual bool is_default() const noexcept = 0;
  };

  template <class Case>
  struct holder final : erased {
    explicit holder(Case&& of) : held(std::move(of)) {
      if constexpr (requires { held.own(); }) {
        held.own();
      }
    }
    void prepare() override { held.prepare(); }
    void release(bool chosen) override { held.release(chosen); }
    void run() override { held.run(); }
    select_detail::select_operation& operation() noexcept override { return held.operation(); }
    std::int64_t deadline() const noexcept override { return held.deadline(); }
    bool has_come() override { return held.has_come(); }
    bool is_default() const noexcept override { return Case::is_default; }
    Case held;
  };

  template <class Case>
  static base::owner<erased> erase(Case&& of) {
    if constexpr (requires { typename Case::owning; }) {
      return base::owner<erased>(new holder<typename Case::owning>(
          std::move(of).with_own_value()));  // NOLINT(bugprone-move-forwarding-reference)
    } else {
      return base::owner<erased>(
          new holder<Case>(std::move(of)));  // NOLINT(bugprone-move-forwarding-reference)
    }
  }

  base::owner<erased> erased_;
};

/// Carries out one of the cases and calls its handler; returns its index. Blocks until one of them
/// can be carried out; with otherwise(), does not block. If several can, each is as likely as the
/// others. No cases: blocks for ever. Allocates nothing, unless elements are boxed. usage_error if
/// a chosen case sends to a closed channel; and what the handler throws. If a value that was not
/// sent cannot be given back because moving it throws, that exception leaves select after the
/// handler of the chosen case has run. A cancellation point. From Go's select.
template <class... Cases>
requires(select_detail::is_select_case<std::remove_cvref_t<Cases>>&&...) std::size_t
    select(Cases&&... cases) {
  constexpr std::size_t n = sizeof...(Cases);
  static_assert((std::size_t{0} + ... + std::size_t{std::remove_cvref_t<Cases>::is_default}) <= 1,
                "select: it has more than one otherwise(); pass at most one");
  if constexpr (n == 0) {
    sched::exit_if_cancelled(
        chan_detail::wait_for_nothing(sched::wait_reason::select_no_cases, sched::no_deadline));
    return 0;
  } else {
    std::size_t chosen = n;
    std::uint32_t first = select_detail::select_frame::any;
    constexpr std::size_t channels =
        (std::size_t{0} + ... + std::size_t{std::remove_cvref_t<Cases>::is_channel});
    if constexpr (channels == 1 || channels == 2) {
      // One of the two by chance, and if that is not ready the other: what can be done now is done without
      // the engine, which is for those who must wait. (Of three, one after the other would not be equally
      // likely.)
      {
        sched::section here;
        first = channels == 1 ? 0 : select_detail::random_below(here.m(), 2);
        const auto outcome = select_detail::try_now(here.m(), first, chosen, cases...);
        if (channels == 2 && outcome == select_detail::quick_try::not_ready) {
          select_detail::try_now(here.m(), 1 - first, chosen, cases...);
        }
        if (chosen != n) {
          sched::preemption_point(here);
        }
      }
      if (chosen != n) {
        std::size_t i = 0;
        ((i++ == chosen ? cases.run() : void()), ...);
        return chosen;
      }
    }
    const auto choose = [&] {
      select_detail::select_operation* operations[n];
      std::size_t prepared = 0;
      (select_detail::prepare(cases, operations, prepared++), ...);
      chan_detail::chan_base* by_address[n];
      alignas(sched::wait_point) unsigned char points[n * sizeof(sched::wait_point)];
      std::int64_t deadlines[] = {cases.deadline()...};
      constexpr bool defaults[] = {std::remove_cvref_t<Cases>::is_default...};
      std::size_t default_index = 0;
      while (default_index != n && !defaults[default_index]) {
        ++default_index;
      }
      constexpr bool asks_clocks = (std::remove_cvref_t<Cases>::asks_clock || ...);
      chosen = select_detail::chosen_case<asks_clocks>(
          {operations, n, by_address, reinterpret_cast<sched::wait_point*>(points), first},
          default_index, [&](std::size_t i) { return deadlines[i]; },
          [&](std::size_t which) {
            bool has = true;
            std::size_t i = 0;
            ((i == which ? void((has = cases.has_come(), deadlines[i] = cases.deadline())) : void(),
              ++i),
             ...);
            return has;
          });
    };
    using releases =
        std::conditional_t<(noexcept(cases.release(true)) && ...),
                           select_detail::release_of_all_surely, select_detail::release_of_all>;
    const auto release = [&](releases& each) noexcept {
      std::size_t i = 0;
      (each([&]() noexcept(noexcept(cases.release(true))) { cases.release(i++ == chosen); }), ...);
    };
    select_detail::carry_out<releases>(choose, release, [&] {
      std::size_t i = 0;
      ((i++ == chosen ? cases.run() : void()), ...);
    });
    return chosen;
  }
}

/// select(cases...) for cases whose number is known only at run time. Allocates nothing for up to 8.
/// usage_error if more than one is an otherwise().
THRUM_OUT_OF_LINE std::size_t select(std::span<select_case> cases);

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>

#include <memory>
#include <vector>

namespace thrum { inline namespace THRUM_ABI {

THRUM_OUT_OF_LINE std::size_t select(std::span<select_case> cases) {
  const std::size_t n = cases.size();
  if (n == 0) {
    return select();
  }
  constexpr std::size_t few = 8;
  select_detail::select_operation* few_operations[few];
  chan_detail::chan_base* few_by_address[few];
  alignas(sched::wait_point) unsigned char few_points[few * sizeof(sched::wait_point)];
  std::vector<select_detail::select_operation*> operations;
  std::vector<chan_detail::chan_base*> by_address;
  std::unique_ptr<sched::wait_point[]> points;
  select_detail::select_frame frame{few_operations, n, few_by_address,
                                    reinterpret_cast<sched::wait_point*>(few_points)};
  if (n > few) {
    operations.resize(n);
    by_address.resize(n);
    points.reset(new sched::wait_point[n]);
    frame = {operations.data(), n, by_address.data(), points.get()};
  }
  std::size_t chosen = n;
  std::size_t prepared = 0;
  const auto choose = [&] {
    std::size_t default_index = n;
    for (; prepared < n; ++prepared) {
      auto& erased = *cases[prepared].erased_;
      if (erased.is_default() && std::exchange(default_index, prepared) != n) {
        base::throw_usage("select: it has more than one otherwise(); pass at most one");
      }
      erased.prepare();
      frame.operations[prepared] = &erased.operation();
    }
    chosen = select_detail::chosen_case<true>(
        frame, default_index, [&](std::size_t i) { return cases[i].erased_->deadline(); },
        [&](std::size_t i) { return cases[i].erased_->has_come(); });
  };
  const auto release = [&](select_detail::release_of_all& each) noexcept {
    for (std::size_t i = 0; i < prepared; ++i) {
      each([&] { cases[i].erased_->release(i == chosen); });
    }
  };
  select_detail::carry_out<select_detail::release_of_all>(choose, release,
                                                          [&] { cases[chosen].erased_->run(); });
  return chosen;
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
