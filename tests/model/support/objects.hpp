// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What models are made of: atomics, plain cells, mutexes and notes of a modelled machine.
// memory.hpp says what they promise.

#ifndef THRUM_TESTS_MODEL_OBJECTS_HPP
#define THRUM_TESTS_MODEL_OBJECTS_HPP

#include "explorer.hpp"
#include "memory.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace model {

/// The atomics constructed from here on are called `name`.0, `name`.1 ... in a trace.
inline void name_atomics(const char* name) { memory::active().name_locations(name); }

/// Stands for std::atomic<T>.
template <class T, bool Checked = false>
class basic_atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  basic_atomic() noexcept : basic_atomic(T{}) {}
  basic_atomic(T value) noexcept  // not explicit: as std::atomic
      : location_(memory::active().add_location(pack(value), Checked)) {}
  basic_atomic(const basic_atomic&) = delete;
  basic_atomic& operator=(const basic_atomic&) = delete;

  T load(std::memory_order how) const noexcept {
    return unpack(memory::active().load(location_, how));
  }
  void store(T value, std::memory_order how) noexcept {
    memory::active().store(location_, pack(value), how);
  }
  /// As memory::own().
  T own() const noexcept { return unpack(memory::active().own(location_)); }
  T exchange(T value, std::memory_order how) noexcept {
    return update(how, "exchange", [value](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    const std::uint64_t wanted = pack(expected);
    const std::uint64_t old = memory::active().update(location_, success, failure, "cas",
                                                      [&](std::uint64_t now, std::uint64_t& next) {
                                                        next = pack(desired);
                                                        return now == wanted;
                                                      });
    expected = unpack(old);
    return old == wanted;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T value, std::memory_order how) noexcept {
    return update(how, "add", [value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order how) noexcept {
    return update(how, "sub", [value](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order how) noexcept {
    return update(how, "or", [value](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, std::memory_order how) noexcept {
    return update(how, "and", [value](T old) { return static_cast<T>(old & value); });
  }

 private:
  template <class Change>
  T update(std::memory_order how, const char* what, Change change) noexcept {
    return unpack(memory::active().update(location_, how, how, what,
                                          [&](std::uint64_t now, std::uint64_t& next) {
                                            next = pack(change(unpack(now)));
                                            return true;
                                          }));
  }
  static std::uint64_t pack(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T unpack(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  const unsigned location_;
};

template <class T>
using atomic = basic_atomic<T>;

/// An atomic that is an error to overwrite while another thread may still be reading it, in the
/// sense of memory.hpp. The check lasts as long as all accesses are relaxed loads and stores.
template <class T>
using checked_atomic = basic_atomic<T, true>;

/// Stands for a plain variable, and finds data races on it.
template <class T>
class cell {
 public:
  cell() = default;
  cell(T value) : value_(value) {}  // not explicit: as a plain variable
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;

  cell& operator=(T value) {
    memory::active().write_plain(last_);
    value_ = value;
    return *this;
  }
  operator T() const {  // not explicit: as a plain variable
    memory::active().read_plain(last_);
    return value_;
  }
  T operator->() const requires std::is_pointer_v<T> { return *this; }

 private:
  T value_{};
  mutable memory::access last_;
};

/// Stands for a lock.
class mutex {
 public:
  mutex() noexcept = default;
  /// The rank is ignored: a circle of locks shows as a state in which no thread can go on.
  template <class Rank>
  explicit mutex(Rank) noexcept {}

  void lock() noexcept {
    explorer::active().point();
    if (explorer::active().inside()) {
      explorer::active().wait(&is_free, this, false);
    }
    if (explorer::active().tracing()) {
      explorer::active().trace("locks");
    }
    locked_ = true;
    memory::active().acquire_from(carried_);
  }
  void unlock() noexcept {
    if (explorer::active().tracing()) {
      explorer::active().trace("unlocks");
    }
    memory::active().release_to(carried_, false);
    explorer::active().progress();
    locked_ = false;
  }

 private:
  static bool is_free(const void* self) { return !static_cast<const mutex*>(self)->locked_; }

  bool locked_ = false;
  knowledge carried_;
};

/// Stands for os::note: one thread sleeps until another wakes it.
class note {
 public:
  /// False: the execution is at rest, nobody will ever call wake().
  bool sleep() noexcept {
    explorer::active().point();
    if (!explorer::active().wait(&was_set, this, true)) {
      return false;
    }
    if (explorer::active().tracing()) {
      explorer::active().trace("woken");
    }
    memory::active().acquire_from(carried_);
    return true;
  }
  void clear() noexcept { set_ = false; }
  void wake() noexcept {
    explorer::active().point();
    if (explorer::active().tracing()) {
      explorer::active().trace("wakes a sleeper");
    }
    memory::active().release_to(carried_, true);
    explorer::active().progress();
    set_ = true;
  }

 private:
  static bool was_set(const void* self) { return static_cast<const note*>(self)->set_; }

  bool set_ = false;
  knowledge carried_;
};

}  // namespace model

#endif
