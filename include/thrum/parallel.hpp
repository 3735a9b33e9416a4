// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// parallel_for and parallel_reduce: loops whose iterations are shared out to processors that have
// nothing to do. How they are shared out: detail/sched/fork/parallel_loop.hpp.
#ifndef THRUM_PARALLEL_HPP
#define THRUM_PARALLEL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/fork/parallel_loop.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// As the grain of parallel_for and parallel_reduce: so many iterations as take about ten
/// microseconds.
inline constexpr std::size_t automatic = 0;

namespace fork_detail {

/// The i-th of a range that begins with a number: a number.
template <std::integral I>
struct numbers_from {
  I begin;
  I operator[](position i) const noexcept {
    return static_cast<I>(static_cast<std::make_unsigned_t<I>>(begin) +
                          static_cast<std::make_unsigned_t<I>>(i));
  }
};

/// The i-th of a range that begins with an iterator: an element.
template <class It>
struct elements_from {
  It begin;
  decltype(auto) operator[](position i) const {
    return begin[static_cast<std::iter_difference_t<It>>(i)];
  }
};

template <class T>
concept number =
    std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> && sizeof(T) <= sizeof(position);

template <class It>
concept iterator = std::input_or_output_iterator<It>;

template <class R>
concept range = requires(R& r) {
  { std::begin(r) } -> iterator;
  std::end(r);
};

template <class It, class End>
consteval bool is_indexed() {
  static_assert(std::random_access_iterator<It>,
                "parallel_for, parallel_reduce: the range must have random access; copy its "
                "elements to a std::vector, or loop over indices");
  if constexpr (std::random_access_iterator<It>) {
    static_assert(std::sized_sentinel_for<End, It>,
                  "parallel_for, parallel_reduce: the number of elements must be known; give the "
                  "range an end");
    return std::sized_sentinel_for<End, It>;
  } else {
    return false;
  }
}

/// Calls f(items, n) for the range [first, last).
template <number I, class F>
decltype(auto) with_items(I first, I last, F f) {
  using bits = std::make_unsigned_t<I>;
  const auto n = last > first
                     ? static_cast<bits>(static_cast<bits>(last) - static_cast<bits>(first))
                     : bits{0};
  return f(numbers_from<I>{first}, position{n});
}
template <iterator It, class End, class F>
decltype(auto) with_items(It first, End last, F f) {
  if constexpr (is_indexed<It, End>()) {
    const auto n = last - first;
    return f(elements_from<It>{std::move(first)}, n > 0 ? static_cast<position>(n) : position{0});
  }
}

template <class Items, class F>
struct each {
  struct part {};

  void run(part&, position first, position last) {
    for (; first != last; ++first) {
      std::invoke(f, items[first]);
    }
  }
  void join(part&, part&) noexcept {}

  const Items& items;
  F& f;
};

template <class Items, class T, class Reduce, class Transform>
struct sum {
  using part = std::optional<T>;  // none: of no iteration yet

  void run(part& result, position first, position last) {
    if (!result) {
      result.emplace(std::invoke(transform, items[first]));
      ++first;
    }
    T total = std::move(*result);
    for (; first != last; ++first) {
      total = std::invoke(reduce, std::move(total), std::invoke(transform, items[first]));
    }
    *result = std::move(total);
  }
  void join(part& result, part& behind) {
    *result = std::invoke(reduce, std::move(*result), std::move(*behind));
  }

  const Items& items;
  Reduce& reduce;
  Transform& transform;
};

template <class Items, class F>
void run_for(const Items& items, position n, F& f, std::size_t grain) {
  constexpr bool fits = std::is_invocable_v<F&, decltype(items[n])>;
  static_assert(fits, "parallel_for: the function must be callable with an element, or an index");
  if constexpr (fits) {
    each<Items, F> work{items, f};
    typename each<Items, F>::part nothing;
    loop<each<Items, F>>(work).run_all(nothing, n, grain);
  }
}

template <class T, class Items, class Reduce, class Transform>
T run_reduce(const Items& items, position n, T&& init, Reduce& reduce, Transform& transform,
             std::size_t grain) {
  using work_type = sum<Items, T, Reduce, Transform>;
  work_type work{items, reduce, transform};
  typename work_type::part total(std::forward<T>(init));
  if (n != 0) {
    loop<work_type>(work).run_all(total, n, grain);
  }
  return std::move(*total);
}

}  // namespace fork_detail

/// Calls f(i) for each integer i, or f(*i) for each random-access iterator i, of [first, last): on
/// the calling goroutine, and on each processor that has nothing to do meanwhile. Returns when all
/// have ended. f is not copied; it is called by several at a time, in no order.
///
/// `grain` is the number of iterations that are run in a row before others may take what is left;
/// `automatic` finds it by measuring. An exception that leaves f is thrown when all that had begun
/// have ended; of several, the first. What had not begun is left out. f may park and block; it should
/// not wait for another iteration, which may come later on the same goroutine. When the runtime
/// stops, calls that wait are cancelled, and the caller ends; so it does if f calls
/// this_goroutine::exit(). As with fork_join an iteration may run as another goroutine. On a foreign
/// thread, and inside a blocking() that stands in no fork, a loop in order. Integers of two types are
/// converted to the type that they are compared in, of 64 bits at most.
template <fork_detail::number I, fork_detail::number J, class F>
void parallel_for(I first, J last, F&& f, std::size_t grain = automatic) {
  using index = std::common_type_t<I, J>;
  fork_detail::with_items(static_cast<index>(first), static_cast<index>(last),
                          [&](const auto& items, fork_detail::position n) {
                            fork_detail::run_for(items, n, f, grain);
                          });
}
/// Calls f(*i) for each random-access iterator i of [first, last). The rest as for integers.
template <fork_detail::iterator It, class F>
void parallel_for(It first, It last, F&& f, std::size_t grain = automatic) {
  fork_detail::with_items(std::move(first), std::move(last),
                          [&](const auto& items, fork_detail::position n) {
                            fork_detail::run_for(items, n, f, grain);
                          });
}
/// Calls f(element) for each element of a range of random access. The rest as for integers.
template <fork_detail::range R, class F>
void parallel_for(R&& range, F&& f, std::size_t grain = automatic) {
  fork_detail::with_items(std::begin(range), std::end(range),
                          [&](const auto& items, fork_detail::position n) {
                            fork_detail::run_for(items, n, f, grain);
                          });
}

/// Combines init and transform(x) of all elements x of a range by reduce(T, T), which must be
/// associative; it need not be commutative, as neighbours are combined in their order. Starts from
/// `init` once. Where each element is run, errors and grain: as parallel_for. A T is movable, and
/// made of what transform returns.
template <fork_detail::range R, class T, class Reduce, class Transform = std::identity>
T parallel_reduce(R&& range, T init, Reduce&& reduce, Transform&& transform = {},
                  std::size_t grain = automatic) {
  return fork_detail::with_items(
      std::begin(range), std::end(range), [&](const auto& items, fork_detail::position n) {
        return fork_detail::run_reduce<T>(items, n, std::move(init), reduce, transform, grain);
      });
}
/// parallel_reduce for the elements of [first, last).
template <fork_detail::iterator It, class T, class Reduce, class Transform = std::identity>
T parallel_reduce(It first, It last, T init, Reduce&& reduce, Transform&& transform = {},
                  std::size_t grain = automatic) {
  return fork_detail::with_items(
      std::move(first), std::move(last), [&](const auto& items, fork_detail::position n) {
        return fork_detail::run_reduce<T>(items, n, std::move(init), reduce, transform, grain);
      });
}
/// parallel_reduce for the integers of [first, last).
template <fork_detail::number I, fork_detail::number J, class T, class Reduce,
          class Transform = std::identity>
T parallel_reduce(I first, J last, T init, Reduce&& reduce, Transform&& transform = {},
                  std::size_t grain = automatic) {
  using index = std::common_type_t<I, J>;
  return fork_detail::with_items(static_cast<index>(first), static_cast<index>(last),
                                 [&](const auto& items, fork_detail::position n) {
                                   return fork_detail::run_reduce<T>(items, n, std::move(init),
                                                                     reduce, transform, grain);
                                 });
}

}}  // namespace thrum::THRUM_ABI

#endif
