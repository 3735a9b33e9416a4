// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// task_group::map and task_group::first_success: a goroutine for each element of a range. `Group` is
// task_group, which includes this file.
//
// The caller walks the range and starts the goroutines, and waits where the limit is reached: so a
// range may be a stream, and results lie in a deque, whose elements stay where they are as it grows.
#ifndef THRUM_DETAIL_GROUP_EACH_HPP
#define THRUM_DETAIL_GROUP_EACH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/sync/kept_result.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/sync/mutex.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace group_detail {

/// How f gets the elements of a range: by reference if the range goes on standing, else moved.
template <class Range>
struct element_of {
  using iterator = decltype(std::begin(std::declval<Range&>()));
  using reference = std::iter_reference_t<iterator>;
  static constexpr bool stands =
      std::is_lvalue_reference_v<reference> && std::forward_iterator<iterator>;
  using type = std::conditional_t<stands, reference, std::iter_value_t<iterator>&&>;
};

/// f(element), or f(element, token) if it takes one.
template <class F, class Element>
decltype(auto) call_for(F& f, Element&& element, [[maybe_unused]] std::stop_token token) {
  if constexpr (std::is_invocable_v<F&, Element, std::stop_token>) {
    return std::invoke(f, std::forward<Element>(element), std::move(token));
  } else {
    return std::invoke(f, std::forward<Element>(element));
  }
}

template <class Range, class F>
inline constexpr bool fits =
    std::is_invocable_v<F&, typename element_of<Range>::type> ||
    std::is_invocable_v<F&, typename element_of<Range>::type, std::stop_token>;

/// What f returns for an element, as a value.
template <class Range, class F>
using result_for = std::decay_t<decltype(call_for(
    std::declval<F&>(), std::declval<typename element_of<Range>::type>(), std::stop_token()))>;

/// Calls make_body() for each element, and what that returns, with the element and the group's token,
/// in a goroutine that go(group, task...) starts. No more once a stop is requested.
template <class Group, class Range, class Go, class Body>
void for_each(Group& group, Range& range, Go& go, Body make_body) {
  using element = element_of<Range>;
  const std::stop_token token = group.stop_token();
  for (auto&& each : range) {
    if (token.stop_requested()) {
      break;
    }
    const auto unless_stopped = [token, body = make_body()](auto&& own) {
      if (!token.stop_requested()) {
        body(std::forward<decltype(own)>(own), token);
      }
    };
    if constexpr (element::stands) {
      go(group, [unless_stopped, &each] { unless_stopped(each); });
    } else {
      using value = std::iter_value_t<typename element::iterator>;
      if constexpr (std::is_constructible_v<value, decltype(each)>) {
        go(group, unless_stopped, value(std::forward<decltype(each)>(each)));
      } else {
        go(group, unless_stopped,
           value(std::move(each)));  // a stream's own, which it moves on from
      }
    }
  }
}

/// For a result that is not there although nothing was thrown.
[[noreturn]] [[gnu::cold]] void throw_no_result(const char* message);

template <class Group, class Range, class F, class Go>
auto map(Range& range, std::size_t limit, F& f, Go go) {
  static_assert(fits<Range, F>,
                "task_group::map: the function must be callable with an element of the range, or "
                "with an element and a std::stop_token");
  if constexpr (fits<Range, F>) {
    using result = result_for<Range, F>;
    static_assert(!std::is_void_v<result>,
                  "task_group::map: the function must return something; without results, call "
                  "task_group::go for each element");
    if constexpr (!std::is_void_v<result>) {
      std::deque<std::optional<result>> slots;
      Group group(limit);
      for_each(group, range, go, [&] {
        return [&f, &slot = slots.emplace_back()](auto&& element, const std::stop_token& token) {
          slot.emplace(call_for(f, std::forward<decltype(element)>(element), token));
        };
      });
      group.wait();
      std::vector<result> results;
      results.reserve(slots.size());
      for (std::optional<result>& slot : slots) {
        if (!slot.has_value()) {
          throw_no_result(
              "task_group::map: an element has no result; this_goroutine::exit or the runtime's "
              "stop ended its goroutine");
        }
        results.push_back(std::move(*slot));
      }
      return results;
    }
  }
}

template <class Group, class Range, class F, class Go>
auto first_success(Range& range, std::size_t limit, F& f, Go go) {
  static_assert(fits<Range, F>,
                "task_group::first_success: the function must be callable with an element of the "
                "range, or with an element and a std::stop_token");
  if constexpr (fits<Range, F>) {
    using result = result_for<Range, F>;
    static_assert(!std::is_void_v<result>,
                  "task_group::first_success: the function must return something");
    if constexpr (!std::is_void_v<result>) {
      mutex outcome_mutex;
      go_detail::result_slot<result> outcome;
      bool has_begun = false;
      Group group(limit);
      for_each(group, range, go, [&] {
        has_begun = true;
        return [&](auto&& element, const std::stop_token& token) {
          go_detail::result_slot<result> own;
          sync_detail::keep_outcome(own, [&]() -> result {
            return call_for(f, std::forward<decltype(element)>(element), token);
          });
          const bool is_success = own.value.has_value();
          {
            const std::lock_guard guard(outcome_mutex);
            if (is_success && !outcome.value.has_value()) {
              outcome.value.emplace(std::move(*own.value));
            } else if (!is_success && !outcome.error) {
              outcome.error = std::move(own.error);
            }
          }
          if (is_success) {
            group.request_stop();
          }
        };
      });
      group.wait();
      if (!outcome.value.has_value()) {
        if (!has_begun) {
          base::throw_usage(
              "task_group::first_success: the range is empty; pass at least one element");
        }
        sync_detail::rethrow_kept(outcome);
        throw_no_result(
            "task_group::first_success: no goroutine has a result; this_goroutine::exit or the "
            "runtime's stop ended all of them");
      }
      return std::move(*outcome.value);
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::group_detail

#endif
