// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The waits of coroutines: each is the slow path of a goroutine's operation, with a record in place of a
// goroutine's point.
#ifndef THRUM_DETAIL_COROUTINE_WAITS_HPP
#define THRUM_DETAIL_COROUTINE_WAITS_HPP

#include <thrum/chan.hpp>  // IWYU pragma: keep: chan_detail, in templates
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/coroutine/promise.hpp>
#include <thrum/detail/coroutine/wait_end.hpp>
#include <thrum/detail/sched/run/yield.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/join_handle.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace coroutine_detail {

using namespace sync_detail;

// ---- what has a lock and no list ----

inline withdrawal withdraw_alone(wait_point& point, bool locked) noexcept {
  auto& lock = *static_cast<spin_lock*>(
      static_cast<wait_record&>(static_cast<callback_point&>(point)).place);
  return unlink_under(lock, locked, [&]() noexcept { return std::exchange(point.linked, false); });
}

/// Waits under a lock of its own, until something else ends the wait.
inline bool park_alone(section& here, wait_record& self, spin_lock& lock) noexcept {
  lock.lock();
  self.place = &lock;
  self.withdraw = &withdraw_alone;
  self.linked = true;
  return park_record(here, self, lock);
}

/// The lock of those that wait on the nil channel.
inline constinit spin_lock nil_lock{lock_rank::sleeper};

// ---- channels ----

inline withdrawal withdraw_from_list(wait_point& point, bool locked) noexcept {
  auto& list = *static_cast<wait_list*>(
      static_cast<wait_record&>(static_cast<callback_point&>(point)).place);
  return unlink_under(list.lock, locked, [&]() noexcept { return list.unlink(point); });
}

inline bool park_in(section& here, wait_record& self, wait_list& list, void* slot) noexcept {
  self.place = &list;
  self.withdraw = &withdraw_from_list;
  self.slot = slot;
  list.points.push_back(self);
  return park_record(here, self, list.lock);
}

/// An attempt was made and the lock is held: ends a start().
inline bool end_attempt(section& here, wait_record& self, spin_lock& lock, wait_point* partner,
                        wake_cause cause) noexcept {
  lock.unlock();
  if (partner != nullptr) {
    wake(here.m(), *partner);
  }
  preemption_point(here);
  return not_waiting(self, cause);
}

template <class T>
using element_of = typename chan_detail::chan_element<T>::type;

/// Whether a channel with such elements may have a clock.
template <class T>
inline constexpr bool may_have_clock = std::is_void_v<T> || std::is_same_v<T, time_point>;

template <class T, class End>
class recv_wait : public awaiting<recv_wait<T, End>, End> {
  using core_type = chan_detail::chan_core<element_of<T>>;

 public:
  explicit recv_wait(core_type* core, End end = {})
      : awaiting<recv_wait, End>(std::move(end)), core_(core) {
    this->again = &recv_wait::start_again;
  }

  bool start(bool may_wait) noexcept {
    section here;
    if (core_ == nullptr) {
      return may_wait ? park_alone(here, *this, nil_lock)
                      : not_waiting(*this, wake_cause::timed_out);
    }
    for (;;) {
      core_->lock().lock();
      wait_point* partner = nullptr;
      switch (core_->try_recv_locked(out_, partner)) {
        case chan_detail::attempt::done:
          return end_attempt(here, *this, core_->lock(), partner, wake_cause::notified);
        case chan_detail::attempt::closed:
          return end_attempt(here, *this, core_->lock(), partner, wake_cause::closed);
        case chan_detail::attempt::expired:
          core_->lock().unlock();
          here.outside([this] { core_->expire(); });
          continue;
        case chan_detail::attempt::not_ready: break;
      }
      if (!may_wait) {
        return end_attempt(here, *this, core_->lock(), nullptr, wake_cause::timed_out);
      }
      if constexpr (may_have_clock<T>) {
        this->until->deadline = std::min(this->until->deadline, core_->due());
      }
      return park_in(here, *this, core_->receivers(), &out_);
    }
  }

  auto await_resume() {
    this->exit_if_cancelled();
    if constexpr (std::is_void_v<T>) {
      return signal_status(status());
    } else if (out_) {
      return chan_detail::received_value<T>(std::in_place,
                                            chan_detail::chan_element<T>::unwrap(*out_));
    } else {
      return chan_detail::received_value<T>(std::nullopt);
    }
  }

 private:
  recv_status status() const noexcept {
    return this->cause.get() == wake_cause::notified ? recv_status::ok
           : this->cause.get() == wake_cause::closed ? recv_status::closed
           : End::is_stop                            ? recv_status::stopped
                                                     : recv_status::timeout;
  }

  core_type* core_;
  std::optional<element_of<T>> out_;
};

template <class T, class End>
class send_wait : public awaiting<send_wait<T, End>, End> {
  using core_type = chan_detail::chan_core<element_of<T>>;

 public:
  template <class From>
  send_wait(core_type* core, From&& value, End end = {})
      : awaiting<send_wait, End>(std::move(end)),
        core_(core),
        value_(wrapped(std::forward<From>(value))) {
    this->again = &send_wait::start_again;
  }

  bool start(bool may_wait) noexcept {
    section here;
    if (core_ == nullptr) {
      return may_wait ? park_alone(here, *this, nil_lock)
                      : not_waiting(*this, wake_cause::timed_out);
    }
    core_->lock().lock();
    wait_point* partner = nullptr;
    switch (core_->try_send_locked(value_, partner)) {
      case chan_detail::attempt::done:
        return end_attempt(here, *this, core_->lock(), partner, wake_cause::notified);
      case chan_detail::attempt::closed:
        return end_attempt(here, *this, core_->lock(), partner, wake_cause::closed);
      case chan_detail::attempt::expired:
      case chan_detail::attempt::not_ready: break;
    }
    if (!may_wait) {
      return end_attempt(here, *this, core_->lock(), nullptr, wake_cause::timed_out);
    }
    return park_in(here, *this, core_->senders(), &value_);
  }

  auto await_resume() {
    this->exit_if_cancelled();
    if (this->cause.get() == wake_cause::closed) [[unlikely]] {
      base::throw_usage("async_send: send on closed channel");
    }
    if constexpr (!End::is_endless) {
      return this->cause.get() == wake_cause::notified;
    }
  }

 private:
  template <class From>
  static element_of<T> wrapped(From&& value) {
    if constexpr (std::is_void_v<T>) {
      return value;
    } else {
      return chan_detail::chan_element<T>::wrap(std::forward<From>(value));
    }
  }

  core_type* core_;
  element_of<T> value_;
};

template <class T, class Core>
auto recv_of(Core* core) {
  using end = std::conditional_t<may_have_clock<T>, ended_by_clock, endless>;
  return recv_wait<T, end>(core);
}
template <class T, class Core, class Until>
auto recv_of(Core* core, const Until& until) {
  using end = ended_by<Until>;
  return recv_wait<T, end>(core, end(until));
}
template <class T, class Core, class From>
auto send_of(Core* core, From value) {
  return send_wait<T, endless>(core, std::move(value));
}
template <class T, class Core, class From, class Until>
auto send_of(Core* core, From value, const Until& until) {
  using end = ended_by<Until>;
  return send_wait<T, end>(core, std::move(value), end(until));
}

// ---- time ----

template <class End>
class sleep_wait : public awaiting<sleep_wait<End>, End> {
 public:
  explicit sleep_wait(std::int64_t when, End end = {})
      : awaiting<sleep_wait, End>(std::move(end)), when_(when) {
    this->again = &sleep_wait::start_again;
  }

  bool start(bool may_wait) noexcept {
    if (time_detail::time_now() >= when_) {
      return not_waiting(*this, wake_cause::notified);
    }
    if (!may_wait) {
      return not_waiting(*this, wake_cause::timed_out);
    }
    this->until->deadline = std::min(this->until->deadline, when_);
    section here;
    return park_alone(here, *this, lock_);
  }

  auto await_resume() {
    this->exit_if_cancelled();
    if constexpr (!End::is_endless) {
      return this->cause.get() == wake_cause::notified;
    }
  }

 private:
  const std::int64_t when_;
  spin_lock lock_{lock_rank::sleeper};
};

// ---- the end of a goroutine, and of a coroutine ----

template <class T>
class join_wait : public awaiting<join_wait<T>, endless> {
 public:
  explicit join_wait(join_handle<T>& handle) noexcept : handle_(handle) {}

  bool start(bool /*may_wait*/) noexcept {
    section here;
    goroutine* const target = handle_.target();
    if (target == nullptr) {
      return not_waiting(*this, wake_cause::notified);  // join() says what is wrong
    }
    target->join_lock.lock();
    if (target->join.get() == join_state::done) {
      target->join_lock.unlock();
      return not_waiting(*this, wake_cause::notified);
    }
    this->place = target;
    this->withdraw = &take_out;
    target->joiner = this;
    return park_record(here, *this, target->join_lock);
  }

  T await_resume() {
    this->exit_if_cancelled();
    return handle_.join();
  }

 private:
  static withdrawal take_out(wait_point& point, bool locked) noexcept {
    auto& target = *static_cast<goroutine*>(
        static_cast<join_wait&>(static_cast<callback_point&>(point)).place);
    return unlink_under(target.join_lock, locked, [&]() noexcept {
      const bool waits = target.joiner == &point;
      if (waits) {
        target.joiner = nullptr;
      }
      return waits;
    });
  }

  join_handle<T>& handle_;
};

template <class Handle>
class task_wait : public awaiting<task_wait<Handle>, endless> {
 public:
  explicit task_wait(Handle& handle) noexcept : handle_(handle) {}

  bool start(bool /*may_wait*/) noexcept {
    section here;
    task* const target = handle_.target();
    this->place = target;
    this->withdraw = &take_out;
    if (target == nullptr || !target->lock_to_wait(*this)) {
      return not_waiting(*this, wake_cause::notified);
    }
    return park_record(here, *this, target->join_lock());
  }

  decltype(auto) await_resume() {
    this->exit_if_cancelled();
    return handle_.take_result();
  }

 private:
  static withdrawal take_out(wait_point& point, bool locked) noexcept {
    auto& self = static_cast<task_wait&>(static_cast<callback_point&>(point));
    return static_cast<task*>(self.place)->withdraw_joiner(point, locked);
  }

  Handle& handle_;
};

}}}  // namespace thrum::THRUM_ABI::coroutine_detail

#endif
