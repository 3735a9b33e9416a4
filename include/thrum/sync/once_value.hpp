// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// once_value: a value that is computed when it is first asked for.
#ifndef THRUM_SYNC_ONCE_VALUE_HPP
#define THRUM_SYNC_ONCE_VALUE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sync/kept_result.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/sync/once.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// What f() returns, computed by the first call of get() and kept: for a table, a configuration, a
/// connection that not every run of the program needs. An exception that leaves f is kept instead,
/// and thrown by every get(). Goroutines and foreign threads may call get() at the same time; those
/// that come while f runs wait for it. f is called once and destroyed when it has returned.
///
///   thrum::once_value table([] { return read_table("names"); });
///   ... table.get().find(name) ...
///
/// Source: Go's sync.OnceValue; for a function without a result, sync.OnceFunc.
template <class F>
class once_value {
 public:
  static_assert(
      std::is_object_v<F> && std::is_invocable_v<F&>,
      "once_value: the function that computes the value must be callable without arguments");

  /// What f returns.
  using result_type = typename std::conditional_t<std::is_invocable_v<F&>, std::invoke_result<F&>,
                                                  std::type_identity<void>>::type;

  /// Keeps f, and does not call it yet.
  explicit once_value(F f) : f_(std::move(f)) {}
  once_value(const once_value&) = delete;
  once_value& operator=(const once_value&) = delete;

  /// A const reference to the value, which holds as long as this object; if f returns a reference,
  /// that; if it returns nothing, nothing. Throws what left f. Not a cancellation point by itself,
  /// but f may contain some: if goroutine_exit leaves f, the caller ends, nothing is kept, and the
  /// next caller calls f again. A call of get() inside f blocks for ever.
  decltype(auto) get() const {
    call_once(once_, [this] { compute(); });
    sync_detail::rethrow_kept(kept_);
    if constexpr (std::is_reference_v<result_type>) {
      return static_cast<result_type>(**kept_.value);
    } else if constexpr (!std::is_void_v<result_type>) {
      return static_cast<const result_type&>(*kept_.value);
    }
  }

  /// As get().
  decltype(auto) operator()() const { return get(); }

 private:
  void compute() const {
    sync_detail::keep_outcome(kept_, *f_);
    f_.reset();
  }

  mutable once_flag once_;
  mutable std::optional<F> f_;
  mutable go_detail::result_slot<result_type> kept_;
};

}}  // namespace thrum::THRUM_ABI

#endif
