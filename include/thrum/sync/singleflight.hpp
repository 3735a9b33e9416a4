// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// singleflight: of several calls for the same key at the same time one does the work, and all get
// its result.
//
// A flight is what the calls for one key share. It stands in the table while its function runs, and
// lives as long as one of them looks at it. Calls join it, and it leaves the table, under the
// table's mutex: so no call joins one that has ended.
//
// If the call that runs the function is unwound by goroutine_exit, there is no result, and the
// others have no reason to end: the first of those that wait runs its own function, and the rest
// join that flight. Go ends the waiting goroutines too.
//
// Source: golang.org/x/sync/singleflight, from its documentation.
#ifndef THRUM_SYNC_SINGLEFLIGHT_HPP
#define THRUM_SYNC_SINGLEFLIGHT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sync/kept_result.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/latch.hpp>
#include <thrum/sync/mutex.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// Keeps calls for the same thing at the same time from doing the same work: of those with equal
/// keys one runs its function, the others wait for its result. A result is not kept longer than
/// they need it: it is no cache, but stands behind one. Goroutines and foreign threads alike.
///
/// Each caller gets a copy of the value: take a std::shared_ptr for a large one. Hash and Equal
/// must not throw.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class singleflight {
 public:
  static_assert(std::is_copy_constructible_v<Value>,
                "singleflight<Key, Value>: Value must be copyable, because each caller gets a "
                "copy; use a std::shared_ptr");

  /// What do_ returns.
  struct result {
    /// What the function returned.
    Value value;
    /// Whether others have got it too.
    bool shared;
  };

  /// No call is under way.
  singleflight() = default;
  singleflight(const singleflight&) = delete;
  singleflight& operator=(const singleflight&) = delete;

  /// Runs f() and returns its result; or, if another call with this key runs its function, waits
  /// for that result. An exception that leaves the function is thrown to all that wait for it.
  /// Waiting is a cancellation point. If the goroutine that runs the function ends by
  /// goroutine_exit, one of those that wait runs its own. A call with the same key inside f blocks
  /// for ever.
  template <class F>
  result do_(const Key& key, F&& f) {
    return *fly_or_wait(key, f, [](const latch& ended) { return ended.wait(), true; });
  }

  /// do_(key, f), unless a stop is requested while it waits for the function of another call: then no
  /// result. A stop does not end its own function.
  template <class F, until_condition Stop>
  [[nodiscard]] std::optional<result> do_(const Key& key, F&& f, const Stop& stop) {
    return fly_or_wait(key, f, [&](const latch& ended) { return ended.wait(stop); });
  }

  /// The next call with this key runs its function, also if another one is still under way; those
  /// that wait for that one get its result. Does not block.
  void forget(const Key& key) {
    const std::lock_guard guard(mutex_);
    flights_.erase(key);
  }

 private:
  struct flight {
    latch ended{1};
    go_detail::result_slot<Value> outcome;  // written by the call that flies, before `ended`
    bool is_shared = false;                 // written under mutex_, while it is in the table
  };
  using flight_ptr = std::shared_ptr<flight>;

  /// A call's part in a flight.
  struct seat {
    flight_ptr in;
    bool flies;
  };

  seat take_seat(const Key& key) {
    const std::lock_guard guard(mutex_);
    const auto found = flights_.find(key);
    if (found != flights_.end()) {
      found->second->is_shared = true;
      return {found->second, false};
    }
    auto fresh = std::make_shared<flight>();
    flights_.emplace(key, fresh);
    return {std::move(fresh), true};
  }

  /// Waits by wait(ended), which says whether it has.
  template <class F, class Wait>
  std::optional<result> fly_or_wait(const Key& key, F& f, Wait wait) {
    constexpr bool fits = std::is_invocable_r_v<Value, F&>;
    static_assert(
        fits,
        "singleflight::do_: the function must be callable without arguments and return the value");
    if constexpr (fits) {
      for (;;) {
        const seat own = take_seat(key);
        if (own.flies) {
          fly(key, own.in, f);
          return result_of(*own.in);
        }
        if (!wait(own.in->ended)) {
          return std::nullopt;
        }
        if (own.in->outcome.value.has_value() || own.in->outcome.error) {
          return result_of(*own.in);
        }
      }
    }
  }

  template <class F>
  void fly(const Key& key, const flight_ptr& own, F& f) {
    THRUM_TRY { sync_detail::keep_outcome(own->outcome, f); }
    THRUM_CATCH_ALL {
      land(key, own);
      THRUM_RETHROW;
    }
    land(key, own);
  }

  void land(const Key& key, const flight_ptr& own) {
    {
      const std::lock_guard guard(mutex_);
      const auto found = flights_.find(key);
      if (found != flights_.end() && found->second == own) {
        flights_.erase(found);
      }
    }
    own->ended.count_down();
  }

  static result result_of(flight& of) {
    sync_detail::rethrow_kept(of.outcome);
    if (of.is_shared) {
      return {std::as_const(*of.outcome.value), true};
    }
    return {std::move(*of.outcome.value), false};
  }

  mutex mutex_;
  std::unordered_map<Key, flight_ptr, Hash, Equal> flights_;  // under mutex_
};

}}  // namespace thrum::THRUM_ABI

#endif
