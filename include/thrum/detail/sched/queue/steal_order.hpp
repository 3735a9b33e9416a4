// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The order in which a thief visits the Ps: each exactly once, in a different order each time.
//
// Purpose
//   A thief that always starts at P 0 makes P 0 the victim of all; one that draws a random P each
//   time misses some. So a walk starts anywhere and goes on by a fixed stride that has no factor in
//   common with the number of Ps: such a walk comes to every P before it comes back to its start.
//   Start and stride are drawn independently; derived from one another they would favour some Ps.
//
// Finding a stride without a table
//   The numbers below `count` that are coprime to it are chosen by number, from 0 to strides() - 1.
//   Let p1..pk be the primes that divide `count` and r their product. For digits d1..dk with
//   1 <= di < pi, the sum of di * (r / pi), modulo r, is divisible by no pi, and every number below
//   r that is coprime to r comes from exactly one choice of digits (Chinese remainders). Adding a
//   multiple of r keeps it coprime. So a number in mixed radix gives a stride in k steps, and k is
//   at most 9 for 32 bits, at most 5 up to 4,096 Ps.
//
//   Thus a steal_order is a small value: each M keeps its own and resets it when it finds that the
//   number of Ps has changed. Nothing is shared, so a resize needs not wait for walks that are
//   under way, and no table has to be kept until the last walk is over.
//
// Tried and rejected
//   A table of coprimes, as in Go: it has to be allocated, shared and kept alive while others walk
//   (Go stops the world to resize), and at 4,096 Ps it is as large as a cache. Drawing a number and
//   testing it with gcd: up to five draws of 10 divisions each for each walk.
//
// Source
//   Go's runtime, proc.go, randomOrder: the walk. The numbering of the strides is ours.
//
// Checked by tests/unit/sched/queue/steal_order_test.cpp and tests/go/proc_queue_test.cpp.

#ifndef THRUM_DETAIL_SCHED_QUEUE_STEAL_ORDER_HPP
#define THRUM_DETAIL_SCHED_QUEUE_STEAL_ORDER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>

#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace sched {

/// Random walks over the numbers 0..count-1. Not for use by several threads at once; cheap to copy.
class steal_order {
 public:
  /// One walk: `for (auto w = order.start(r); !w.done(); w.next()) use(w.position());`
  class walk {
   public:
    constexpr walk(std::uint32_t count, std::uint32_t position, std::uint32_t stride) noexcept
        : count_(count), left_(count), position_(position), stride_(stride) {}

    [[nodiscard]] constexpr bool done() const noexcept { return left_ == 0; }
    [[nodiscard]] constexpr std::uint32_t position() const noexcept { return position_; }
    [[nodiscard]] constexpr std::uint32_t stride() const noexcept { return stride_; }

    constexpr void next() noexcept {
      --left_;
      const std::uint32_t to_end = count_ - position_;
      position_ = stride_ < to_end ? position_ + stride_ : stride_ - to_end;
    }

   private:
    std::uint32_t count_;
    std::uint32_t left_;
    std::uint32_t position_;
    std::uint32_t stride_;
  };

  /// An order over nothing; its walks are done at once.
  constexpr steal_order() noexcept = default;

  /// As reset(count).
  constexpr explicit steal_order(std::uint32_t count) noexcept { reset(count); }

  /// Prepares walks over 0..count-1. Factorises `count`: at most sqrt(count) divisions.
  constexpr void reset(std::uint32_t count) noexcept;

  /// The number given to the constructor or to reset().
  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_; }

  /// How many strides there are: Euler's phi of count().
  [[nodiscard]] constexpr std::uint32_t strides() const noexcept { return strides_; }

  /// A walk chosen by `random`. The values 0..count()*strides()-1 give all walks, each once.
  [[nodiscard]] constexpr walk start(std::uint32_t random) const noexcept;

 private:
  // 2*3*5*7*11*13*17*19*23 fits 32 bits, times 29 does not.
  static constexpr std::uint32_t max_primes = 9;

  struct digit {
    std::uint32_t radix;     // p - 1
    std::uint32_t cofactor;  // r / p
  };

  constexpr std::uint32_t stride(std::uint32_t number) const noexcept;

  std::uint32_t count_ = 0;
  std::uint32_t strides_ = 0;
  std::uint32_t radical_ = 1;  // r, the product of the primes
  std::uint32_t primes_ = 0;
  digit digits_[max_primes] = {};
};

constexpr void steal_order::reset(std::uint32_t count) noexcept {
  *this = steal_order();
  count_ = count;
  if (count == 0) {
    return;
  }
  const auto add_prime = [this](std::uint32_t prime) {
    digits_[primes_++] = {prime - 1, prime};  // the cofactor follows when r is known
    radical_ *= prime;
  };
  std::uint32_t rest = count;
  for (std::uint32_t divisor = 2; divisor <= rest / divisor; ++divisor) {
    if (rest % divisor == 0) {
      add_prime(divisor);
      while (rest % divisor == 0) {
        rest /= divisor;
      }
    }
  }
  if (rest != 1) {
    add_prime(rest);
  }
  strides_ = count / radical_;
  for (std::uint32_t i = 0; i != primes_; ++i) {
    digits_[i].cofactor = radical_ / digits_[i].cofactor;
    strides_ *= digits_[i].radix;
  }
}

constexpr steal_order::walk steal_order::start(std::uint32_t random) const noexcept {
  if (count_ == 0) {
    return walk(0, 0, 0);
  }
  return walk(count_, random % count_, stride(random / count_ % strides_));
}

constexpr std::uint32_t steal_order::stride(std::uint32_t number) const noexcept {
  THRUM_ASSERT(steal_order_stride, number < strides_);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i != primes_; ++i) {
    const digit& d = digits_[i];
    sum += std::uint64_t{number % d.radix + 1} * d.cofactor;
    number /= d.radix;
  }
  return static_cast<std::uint32_t>(sum % radical_) + radical_ * number;
}

}}}  // namespace thrum::THRUM_ABI::sched

#endif  // THRUM_DETAIL_SCHED_QUEUE_STEAL_ORDER_HPP
