// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Atomics whose type says why relaxed is enough. Their calls below need no comment.
//
//   figure<T>         One thread at a time writes: the owner, or the holder of a lock. Readers want
//                     a number, and an old one will do. An addition is a load and a store.
//   shared_figure<T>  Any thread adds. No addition is lost, and none orders anything else.
//   hint<T>           Any thread reads and writes. An old value is as right as the new one: at most
//                     it costs a try in vain, or a moment. A reader follows no pointer from it.
//   set_once<T>       Every write is of one value, or happens before the readers' threads exist.
//   under_lock<T>     Written under one lock. The holder calls get and set.
//   one_writer<T>     Written by the owner of the object. What hands the object over or publishes it (a
//                     queue, a lock, a note, a release beside it) orders the writes. The owner calls
//                     get and set; a thread that the object was published to calls get.
//
// under_lock and one_writer have peek() for all other threads: it returns a hint. Each type is its atomic:
// an access that needs another order writes it, with a bracket (base/order.hpp). In every build the
// calls are the same instructions as the atomic's. A template over its traits, which the models run,
// passes its own atomic.
#ifndef THRUM_DETAIL_BASE_RELAXED_HPP
#define THRUM_DETAIL_BASE_RELAXED_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/order.hpp>

#include <atomic>

namespace thrum { inline namespace THRUM_ABI { namespace base {

/// A number that one thread at a time writes. The writer reads it exactly.
template <class T, class Atomic = std::atomic<T>>
class figure : public Atomic {
 public:
  constexpr figure(T value = T{}) noexcept : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE void add(T n = 1) noexcept { Atomic::store(get() + n, orders::relaxed); }
  THRUM_INLINE void take(T n = 1) noexcept { Atomic::store(get() - n, orders::relaxed); }
};

/// A number that any thread changes. add and take return what it was.
template <class T, class Atomic = std::atomic<T>>
class shared_figure : public Atomic {
 public:
  constexpr shared_figure(T value = T{}) noexcept
      : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE T add(T n = 1) noexcept { return Atomic::fetch_add(n, orders::relaxed); }
  THRUM_INLINE T take(T n = 1) noexcept { return Atomic::fetch_sub(n, orders::relaxed); }
  /// While no other thread changes it.
  THRUM_INLINE void set(T value) noexcept { Atomic::store(value, orders::relaxed); }
};

/// A value of which an old one does no harm.
template <class T, class Atomic = std::atomic<T>>
class hint : public Atomic {
 public:
  constexpr hint(T value = T{}) noexcept : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE void set(T value) noexcept { Atomic::store(value, orders::relaxed); }
  /// Returns what it was: of several threads that set a flag, one sees it unset.
  THRUM_INLINE T swap(T value) noexcept { return Atomic::exchange(value, orders::relaxed); }
};

/// A constant that is known only at run time.
template <class T, class Atomic = std::atomic<T>>
class set_once : public Atomic {
 public:
  constexpr set_once(T value = T{}) noexcept : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE void set(T value) noexcept { Atomic::store(value, orders::relaxed); }
  /// Sets it unless another thread was first. Returns what it is now.
  THRUM_INLINE T settle(T value) noexcept {
    T before{};
    return Atomic::compare_exchange_strong(before, value, orders::relaxed, orders::relaxed)
               ? value
               : before;
  }
};

/// A value that the holder of a lock writes.
template <class T, class Atomic = std::atomic<T>>
class under_lock : public Atomic {
 public:
  constexpr under_lock(T value = T{}) noexcept : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE void set(T value) noexcept { Atomic::store(value, orders::relaxed); }
  /// Without the lock: a hint.
  THRUM_INLINE T peek() const noexcept { return Atomic::load(orders::relaxed); }
};

/// A value that the owner of the object writes.
template <class T, class Atomic = std::atomic<T>>
class one_writer : public Atomic {
 public:
  constexpr one_writer(T value = T{}) noexcept : Atomic(value) {}  // not explicit: as std::atomic
  using Atomic::operator=;

  THRUM_INLINE T get() const noexcept { return Atomic::load(orders::relaxed); }
  THRUM_INLINE void set(T value) noexcept { Atomic::store(value, orders::relaxed); }
  /// For all others: a hint.
  THRUM_INLINE T peek() const noexcept { return Atomic::load(orders::relaxed); }
};

}}}  // namespace thrum::THRUM_ABI::base

#endif  // THRUM_DETAIL_BASE_RELAXED_HPP
