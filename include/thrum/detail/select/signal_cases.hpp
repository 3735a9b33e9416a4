// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The cases of a select that wait for something else than a channel: a requested stop, the end of a
// goroutine.
//
// The engine sees each as a receive from a channel of its own, which lives from prepare() to
// release(). The event, whatever it is, closes that channel. So events need no place in the engine,
// and the engine no other kind of operation.
#ifndef THRUM_DETAIL_SELECT_SIGNAL_CASES_HPP
#define THRUM_DETAIL_SELECT_SIGNAL_CASES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/chan/base.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/detail/select/cases.hpp>
#include <thrum/detail/select/engine.hpp>
#include <thrum/join_handle.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace select_detail {

using namespace sched;
using namespace chan_detail;

/// A case with a channel of its own, a Source::channel, which is closed once an event has happened that is
/// no operation on a channel. has_happened() looks for the event, if a look is all it takes (else
/// false, and is_polled). A watch(source, channel) listens while it lives and closes the channel; its
/// destructor waits for a thread that uses the channel. is_polled: the poller brings the event about.
template <class Source, class F>
class signal_case : public select_case_base {
 public:
  signal_case(Source source, F handler)
      : source_(std::move(source)), handler_(std::move(handler)) {}
  signal_case(signal_case&& other) noexcept
      : source_(std::move(other.source_)), handler_(std::move(other.handler_)) {}

  static constexpr bool is_channel = true;

  quick_try try_now(machine* /*m*/) const noexcept {
    return source_.has_happened() ? quick_try::done
           : Source::is_polled    ? quick_try::unclear  // prepare() asks the system
                                  : quick_try::not_ready;
  }

  void prepare() {
    operation_.core = &happened_.emplace();
    operation_.polled = Source::is_polled;
    operation_.closed = false;
    operation_.try_locked = [](select_operation& self, wait_point*&) noexcept {
      return static_cast<typename Source::channel*>(self.core)->look_locked();
    };
    watch_.emplace(source_, *happened_);
  }

  void release(bool /*chosen*/) noexcept {
    watch_.reset();
    happened_.reset();
    operation_.core = nullptr;
  }

  void run() { call_handler(handler_); }

 private:
  Source source_;
  std::optional<typename Source::channel> happened_;
  std::optional<typename Source::watch> watch_;
  [[no_unique_address]] F handler_;
};

/// A channel that only what happens closes.
struct signal final : chan_base {
  signal() noexcept : chan_base(0, nullptr, nullptr) {}
  attempt look_locked() const noexcept {
    return is_closed() ? attempt::closed : attempt::not_ready;
  }
};

/// A stop is requested.
struct stop_signal {
  using channel = signal;
  static constexpr bool is_polled = false;

  std::stop_token token;

  bool has_happened() const noexcept { return token.stop_requested(); }

  /// Its destructor waits for a request that is being made on another thread.
  class watch {
   public:
    watch(const stop_signal& of, signal& to) : callback_(of.token, request{&to}) {}

   private:
    struct request {
      signal* to;
      void operator()() const noexcept { to->close(); }
    };
    std::stop_callback<request> callback_;
  };
};

/// A goroutine has ended. Null: there is none, and nothing will happen.
struct end_signal {
  using channel = signal;
  static constexpr bool is_polled = false;

  goroutine* target;

  bool has_happened() const noexcept {
    return target != nullptr && go_detail::join_protocol::done(*target);
  }

  /// The goroutine tells this point when it ends, in place of a waiter for its end. Several cases may
  /// have the same handle: each leads to the one that came before.
  class watch : callback_point {
   public:
    watch(const end_signal& of, signal& to) noexcept
        : callback_point(&tell_all), to_(&to), target_(of.target) {
      if (target_ == nullptr) {
        return;
      }
      bool is_done = false;
      {
        const section here;
        const scoped guard(target_->join_lock);
        is_done = target_->join.get() == join_state::done;
        if (!is_done) {
          before_ = static_cast<watch*>(target_->joiner);
          target_->joiner = this;
        }
      }
      if (is_done) {
        to.close();
        target_ = nullptr;
      }
    }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch() {
      for (std::uint32_t turn = 0; target_ != nullptr && !unlink() && !was_told(); ++turn) {
        sched::back_off(turn);
      }
    }

   private:
    bool was_told() const noexcept {
      return told_.load(acquire);  // [join.told <] the last that the end did with this
    }
    bool unlink() noexcept {
      const section here;
      const scoped guard(target_->join_lock);
      watch* after = nullptr;
      for (auto* each = static_cast<watch*>(target_->joiner); each != nullptr;
           after = each, each = each->before_) {
        if (each == this) {
          if (after != nullptr) {
            after->before_ = before_;
          } else {
            target_->joiner = before_;
          }
          return true;
        }
      }
      return false;
    }

    static void tell_all(callback_point& last) noexcept {
      for (auto* each = static_cast<watch*>(&last); each != nullptr;) {
        watch* const before = each->before_;
        each->to_->close();
        each->told_.store(true, release);  // [join.told >] our last look at it
        each = before;
      }
    }

    signal* to_;
    goroutine* target_;
    watch* before_ = nullptr;  // under the join lock
    std::atomic<bool> told_{false};
  };
};

template <class F>
using done_case = signal_case<stop_signal, F>;

template <class F>
using join_case = signal_case<end_signal, F>;

}}}  // namespace thrum::THRUM_ABI::select_detail

#endif
