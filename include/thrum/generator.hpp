// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// generator: the values that a function yields, one at a time, for a loop over them.
//
//   thrum::generator<int> squares([](auto& yield) {
//     for (int i = 0;; ++i) { yield(i * i); }
//   });
//   for (int square : squares) { if (square > 100) break; }
//
// The function runs in a goroutine of its own, on its own stack, and the two take turns: one of them
// runs while the other is parked. The side that passes the turn makes the other the next of its
// processor and parks, so the switch goes past all queues. A value stays in the frame of the function
// that yields it, and the loop uses it there.
//
// Source: Go's iter.Pull, from its documentation.
#ifndef THRUM_GENERATOR_HPP
#define THRUM_GENERATOR_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/section.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/go.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

namespace generator_detail {

/// Whose turn it is, and what lies between the two.
class turns {
 public:
  turns() noexcept : spares_(is_spared(sched::section())) {}
  turns(const turns&) = delete;
  turns& operator=(const turns&) = delete;

  // The loop's side.

  /// Lets the function go on until it yields or ends; what it has yielded, null at its end. A
  /// cancellation point.
  void* resume();
  /// After a resume() that has given null: whether the function was ended by this_goroutine::exit or by its
  /// runtime's stop.
  bool was_cut_short() const noexcept { return is_cut_short_; }
  /// Whether nothing may be thrown at the caller: no wait of it would be cancelled now.
  static bool is_spared() noexcept { return is_spared(sched::section()); }
  /// The function is to end: where it yields, or before it begins.
  void stop() noexcept;

  // The function's side.

  /// Waits for the first resume(). A cancellation point, as yield().
  void begin();
  /// Passes the turn, with a value, and waits for the next resume().
  void yield(void* value);
  /// The function has ended.
  void end() noexcept;

 private:
  enum class side : std::uint8_t { loop, function };

  static bool is_spared(const sched::section& here) noexcept;
  /// Gives the turn to the other side and makes it run next.
  void pass(sched::section& here, side to, void* value) noexcept;
  /// Waits until it is the turn of `self`, or the other side has ended it.
  sched::wake_cause wait_for_turn(sched::section& here, side self) noexcept;
  void end_if_stopped(sched::wake_cause cause) const;

  sched::spin_lock lock_{sched::lock_rank::waiters};
  // -- under the lock; value_: of the side whose turn it is --
  side turn_ = side::loop;
  base::under_lock<bool> stops_{false};
  bool has_ended_ = false;     // the function
  bool is_cut_short_ = false;  // it has no result
  bool spares_;  // the loop's waits are not cancelled, so the function's are not either
  void* value_ = nullptr;
  sync_detail::wait_list loop_{lock_};
  sync_detail::wait_list function_{lock_};
};

}  // namespace generator_detail

/// The values of type T that a function yields. Move-only; for one goroutine or thread at a time.
/// The function runs only while a value is asked for. Destroying the generator ends the function
/// where it yields, by unwinding it (goroutine_exit), and waits for that.
///
/// When not to use: for values that are worth being made side by side with their use; a chan and a
/// goroutine do that.
template <class T>
class [[nodiscard]] generator {
 public:
  /// What the function is given to call: yield(value).
  class yielder {
   public:
    /// Gives a value to the loop and waits until it asks for the next one. A cancellation point; and
    /// the function ends here if the generator is destroyed. Only in the generator's function.
    void operator()(T value) { turns_->yield(std::addressof(value)); }

   private:
    friend class generator;
    explicit yielder(generator_detail::turns& of) noexcept : turns_(&of) {}
    generator_detail::turns* turns_;
  };

  /// No values.
  generator() noexcept = default;
  /// What f(yield) yields, run on the current runtime. f is moved or copied. Errors as spawn.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, generator>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): it takes no generator
      explicit generator(F&& f) {
    start([](auto body) { return spawn(std::move(body)); }, std::forward<F>(f));
  }
  /// What f(yield) yields, run on the runtime `where`; from any thread. f is moved or copied. Errors as
  /// runtime::spawn.
  template <class F>
  generator(runtime& where, F&& f) {
    start([&](auto body) { return where.spawn(std::move(body)); }, std::forward<F>(f));
  }
  generator(generator&&) noexcept = default;
  generator& operator=(generator&& other) noexcept {
    if (this != &other) {
      end_function();
      turns_ = std::move(other.turns_);
      handle_ = std::move(other.handle_);
    }
    return *this;
  }
  ~generator() { end_function(); }

  /// The next value; empty when the function has ended. An exception that leaves the function leaves
  /// here, once. If the function was ended by this_goroutine::exit or by its runtime's stop, throws once
  /// as join_handle::join does: goroutine_exit in a goroutine, usage_error elsewhere; inside
  /// `uncancellable` it is empty. A cancellation point. While the loop is inside `uncancellable`, a stop of
  /// the runtime does not end the function where it yields.
  std::optional<T> next() {
    T* const value = advance();
    return value != nullptr ? std::optional<T>(std::move(*value)) : std::nullopt;
  }

  /// Goes over the values; one at a time: each is destroyed before the next is waited for.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;

    /// The value, which is the function's: it may be moved from.
    T& operator*() const noexcept { return *value_; }
    /// As operator*.
    T* operator->() const noexcept { return value_; }
    /// Waits for the next value, as next().
    iterator& operator++() {
      value_ = of_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return value_ == nullptr; }

   private:
    friend class generator;
    explicit iterator(generator& of) : of_(&of), value_(of.advance()) {}
    generator* of_ = nullptr;
    T* value_ = nullptr;
  };

  /// Waits for the first value, or the next one if there were some.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  template <class Start, class F>
  void start(Start start_it, F&& f) {
    constexpr bool callable = std::is_invocable_v<std::decay_t<F>&, yielder&>;
    static_assert(callable, "generator<T>: the function must be callable with a yielder&");
    if constexpr (callable) {
      turns_ = std::make_unique<generator_detail::turns>();
      handle_ = start_it([turns = turns_.get(), function = std::forward<F>(f)]() mutable {
        struct at_end {
          generator_detail::turns* turns;
          ~at_end() { turns->end(); }
        } const passes_the_turn{turns};
        turns->begin();
        yielder yield(*turns);
        function(yield);
      });
    }
  }

  /// The next value, where the function has it; null at its end.
  T* advance() {
    if (!handle_.joinable()) {
      return nullptr;
    }
    void* const value = turns_->resume();
    if (value == nullptr) {
      turns_->was_cut_short() && turns_->is_spared() ? end_function() : handle_.join();
    }
    return static_cast<T*>(value);
  }

  void end_function() noexcept {
    if (handle_.joinable()) {
      turns_->stop();
      handle_ = {};  // waits
    }
  }

  std::unique_ptr<generator_detail::turns> turns_;
  join_handle<void> handle_;  // destroyed before the turns
};

/// Says that there is none of references.
template <class T>
class [[nodiscard]] generator<T&> : public generator<T> {
  static_assert(
      sizeof(T*) == 0,
      "generator<T>: T must not be a reference; yield a pointer or a std::reference_wrapper");

 public:
  using generator<T>::generator;
};

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/sched/core/g_state.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace generator_detail {

THRUM_OUT_OF_LINE bool turns::is_spared(const sched::section& here) noexcept {
  const sched::machine* const m = here.m();
  return m != nullptr && m->g != nullptr && !sched::may_cancel(*m);
}

THRUM_OUT_OF_LINE void turns::pass(sched::section& here, side to, void* value) noexcept {
  lock_.lock();
  turn_ = to;
  value_ = value;
  if (to == side::function) {
    spares_ = is_spared(here);
  }
  sched::wait_point* const other =
      (to == side::loop ? loop_ : function_).pop(sched::wake_cause::notified);
  lock_.unlock();
  if (other != nullptr) {
    wake(here.m(), *other);
  }
}

THRUM_OUT_OF_LINE sched::wake_cause turns::wait_for_turn(sched::section& here, side self) noexcept {
  sync_detail::waiting point(here, self == side::loop ? loop_ : function_);
  lock_.lock();
  const bool is_over = self == side::function ? stops_.get() : has_ended_;
  if (turn_ == self || is_over) {
    lock_.unlock();
    return sched::wake_cause::notified;
  }
  const bool may_be_cancelled = self == side::loop || !spares_;
  return point.wait({sched::wait_reason::generator_turn, may_be_cancelled});
}

THRUM_OUT_OF_LINE void turns::end_if_stopped(sched::wake_cause cause) const {
  sched::exit_if_cancelled(cause);
  if (stops_.get()) {
    sched::exit_goroutine();
  }
}

THRUM_OUT_OF_LINE void* turns::resume() {
  sched::wake_cause cause;
  {
    sched::section here;
    pass(here, side::function, nullptr);
    cause = wait_for_turn(here, side::loop);
  }
  sched::exit_if_cancelled(cause);
  return value_;
}

THRUM_OUT_OF_LINE void turns::stop() noexcept {
  const sched::section here;
  lock_.lock();
  stops_.set(true);
  sched::wait_point* const waiter = function_.pop(sched::wake_cause::notified);
  lock_.unlock();
  if (waiter != nullptr) {
    wake(here.m(), *waiter);
  }
}

THRUM_OUT_OF_LINE void turns::begin() {
  sched::wake_cause cause;
  {
    sched::section here;
    cause = wait_for_turn(here, side::function);
  }
  end_if_stopped(cause);
}

THRUM_OUT_OF_LINE void turns::yield(void* value) {
  sched::wake_cause cause;
  {
    sched::section here;
    pass(here, side::loop, value);
    cause = wait_for_turn(here, side::function);
  }
  end_if_stopped(cause);
}

THRUM_OUT_OF_LINE void turns::end() noexcept {
  sched::section here;
  {
    const sched::scoped guard(lock_);
    has_ended_ = true;  // a later resume() must not wait
    is_cut_short_ = here.g()->exiting;
  }
  pass(here, side::loop, nullptr);
}

}}}  // namespace thrum::THRUM_ABI::generator_detail
#endif

#endif
