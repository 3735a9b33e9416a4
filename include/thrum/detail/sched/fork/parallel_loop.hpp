// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a parallel loop shares its iterations out to processors that have nothing to do.
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
#ifndef THRUM_DETAIL_SCHED_FORK_PARALLEL_LOOP_HPP
#define THRUM_DETAIL_SCHED_FORK_PARALLEL_LOOP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/fork/fork.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/sched/run/park.hpp>
#include <thrum/detail/sched/run/yield.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace fork_detail {

using namespace sched;

/// The place of an iteration in its loop: 64 bits also where memory is smaller, as integers may be larger.
using position = std::uint64_t;

/// How many iterations to run before looking up.
class chunk_size {
 public:
  /// Grain 0: automatic.
  explicit chunk_size(std::size_t grain) noexcept
      : size_(grain != 0 ? grain : 1), is_fixed_(grain != 0) {}

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
  bool has_failed() const noexcept { return failed_.get(); }

  /// Inside a handler.
  void fail(bool by_exit) noexcept {
    if (by_exit) {
      exited_.set(true);
      failed_.set(true);
      return;
    }
    failed_.set(true);
#if THRUM_EXCEPTIONS
    // Only the first one writes the error. Its reader has joined it since.
    if (!has_error_.swap(true)) {
      error_ = std::current_exception();
    }
#endif
  }

  /// When all have ended.
  void rethrow() {
#if THRUM_EXCEPTIONS
    if (exited_.get()) {
      exit_goroutine();
    }
    if (error_) {
      std::rethrow_exception(std::move(error_));
    }
#endif
  }

 private:
  base::hint<bool> failed_{false};
  base::hint<bool> exited_{false};  // by goroutine_exit
  base::hint<bool> has_error_{false};
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

}}}  // namespace thrum::THRUM_ABI::fork_detail

#endif
