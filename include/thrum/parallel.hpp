// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// parallel_for and parallel_reduce: loops whose iterations are shared out to processors that have
// nothing to do.
//
// How a loop is shared out
//   A goroutine that runs a range keeps the second half of it on offer. It works on the first half
//   chunk by chunk, and before each chunk looks whether its offer is still there. If another processor
//   has taken it, the goroutine offers half of what it has left (lazy binary splitting). So a loop
//   without helpers makes log2(n) offers in all, a loop with many helpers as many as they take. The
//   last ranges to be shared out are single chunks.
//
// How large a chunk is
//   With `automatic`: what takes about ten microseconds. The first chunk is one iteration; as long
//   as chunks take less than 5 us the next is twice as large, after one that took more than 20 it is
//   half as large. Reading the clock twice for each costs less than a hundredth; and iterations that
//   grow dearer are shared out more finely. A goroutine that takes a half begins with the size that
//   was right for its owner.
//   With a grain: that many iterations. Nothing smaller is offered.
//
// Errors
//   The first exception is kept and makes all others stop at their next chunk. It is thrown when
//   they have. An iteration that is cancelled, or calls this_goroutine::exit(), ends the caller,
//   whatever has come first.
//
// Tried and rejected
//   n / (64 * processors) as the automatic chunk: too large at the end of an uneven loop, too small
//   in a short one. Offering from the start as many ranges as there are processors: the same.
//
// Source: Tzannes, Caragea, Barua and Vishkin 2010 (lazy binary splitting).
#ifndef THRUM_PARALLEL_HPP
#define THRUM_PARALLEL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/fork/fork.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI {

/// As the grain of parallel_for and parallel_reduce: so many iterations as take about ten
/// microseconds.
inline constexpr std::size_t automatic = 0;

namespace fork_detail {

using namespace sched;

/// The place of an iteration in its loop: 64 bits also where memory is smaller, as integers may be larger.
using position = std::uint64_t;

/// How many iterations to run before looking up.
class chunk_size {
 public:
  explicit chunk_size(std::size_t grain) noexcept
      : size_(grain != automatic ? grain : 1), is_fixed_(grain != automatic) {}

  position size() const noexcept { return size_; }

  /// Whether a range is worth being cut in two.
  bool cuts(position n) const noexcept { return is_fixed_ ? n / 2 >= size_ : n > size_; }

  /// Runs a chunk of `n` iterations, and learns from how long that takes.
  template <class F>
  void run(position n, F f) {
    if (is_fixed_) {
      f();
      return;
    }
    constexpr std::int64_t short_ns = 5'000;
    constexpr std::int64_t long_ns = 20'000;
    const std::int64_t begin = os::now();
    f();
    const std::int64_t took = os::now() - begin;
    if (took < short_ns && n == size_ && size_ <= most / 2) {
      size_ *= 2;
    } else if (took > long_ns && size_ > 1) {
      size_ /= 2;
    }
  }

 private:
  static constexpr position most = position{1} << 30;
  position size_;
  bool is_fixed_;
};

/// What came of a loop: nothing, or how it failed.
class loop_outcome {
 public:
  bool has_failed() const noexcept {
    return failed_.load(std::memory_order_relaxed);  // relaxed: seen at a later chunk if missed
  }

  /// Inside a handler.
  void fail(bool by_exit) noexcept {
    if (by_exit) {
      exited_.store(true, std::memory_order_relaxed);  // relaxed: its reader has joined since
      failed_.store(true, std::memory_order_relaxed);  // relaxed: seen late, or joined since
      return;
    }
    failed_.store(true, std::memory_order_relaxed);  // relaxed: seen late, or joined since
#if THRUM_EXCEPTIONS
    // relaxed: only the first one writes the error; its reader has joined it since
    if (!has_error_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::current_exception();
    }
#endif
  }

  /// When all have ended.
  void rethrow() {
#if THRUM_EXCEPTIONS
    if (exited_.load(std::memory_order_relaxed)) {  // relaxed: all have been joined
      exit_goroutine();
    }
    if (error_) {
      std::rethrow_exception(std::move(error_));
    }
#endif
  }

 private:
  std::atomic<bool> failed_{false};
  std::atomic<bool> exited_{false};  // by goroutine_exit
  std::atomic<bool> has_error_{false};
  std::exception_ptr error_;
};

/// A loop. `Work` has a type `part`, what one goroutine makes of its iterations; run(part, first,
/// last); and join(part, part of the iterations behind).
template <class Work>
class loop {
 public:
  using part = typename Work::part;

  explicit loop(Work& work) noexcept : work_(work) {}

  void run_all(part& all, position n, std::size_t grain) {
    if (forker* const own = forker_of(current_m())) {
      run(*own, all, 0, n, chunk_size(grain));
    } else if (may_fork()) {
      forker outermost;
      run(outermost, all, 0, n, chunk_size(grain));
    } else {
      work_.run(all, 0, n);
      return;
    }
    outcome_.rethrow();
  }

 private:
  struct half : forked {
    half(loop& whole, position from, position to, chunk_size chunk, bool may_be_cancelled) noexcept
        : forked(&run_for_thief, may_be_cancelled), of(whole), first(from), last(to), size(chunk) {}
    half(const half&) = delete;
    ~half() {}  // the result is there once a thief has run it

    static void run_for_thief(forked& taken) noexcept {
      auto& own = static_cast<half&>(taken);
      ::new (static_cast<void*>(&own.result)) part;
      own.of.run(*forker_of(current_m()), own.result, own.first, own.last, own.size);
    }

    loop& of;
    const position first;
    const position last;
    const chunk_size size;
    union {
      part result;
    };
  };

  THRUM_NOINLINE void run(forker& own, part& result, position first, position last,
                          chunk_size chunk) noexcept {
    run_adapting(own, result, first, last, chunk);
  }

  void run_adapting(forker& own, part& result, position first, position last,
                    chunk_size& chunk) noexcept {
    while (first != last && !outcome_.has_failed()) {
      const position left = last - first;
      if (chunk.cuts(left) && own.deque.is_drained()) {
        const position middle = first + left / 2;
        half second(*this, middle, last, chunk, may_cancel(*current_m()));
        if (offer(own, second)) {
          run_adapting(own, result, first, middle, chunk);
          if (!take_back(own, second)) {
            join(result, second.result);
            std::destroy_at(&second.result);
            return;
          }
          first = middle;
          continue;
        }
      }
      const position n = left < chunk.size() ? left : chunk.size();
      run_chunk(result, first, n, chunk);
      own.deque.go_on();
      first += n;
      if (is_preemption_asked()) [[unlikely]] {
        section here;
        preemption_point(here);
      }
    }
  }

  void run_chunk(part& result, position first, position n, chunk_size& chunk) noexcept {
    keep_failure([&] { chunk.run(n, [&] { work_.run(result, first, first + n); }); });
  }

  void join(part& result, part& behind) noexcept {
    if (!outcome_.has_failed()) {
      keep_failure([&] { work_.join(result, behind); });
    }
  }

  template <class F>
  void keep_failure(F f) noexcept {
#if THRUM_EXCEPTIONS
    try {
      f();
    } catch (const goroutine_exit&) {
      outcome_.fail(true);
    } catch (...) {
      outcome_.fail(false);
    }
#else
    f();
#endif
  }

  Work& work_;
  loop_outcome outcome_;
};

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
