// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The shared handle that chan and its one-way views are.
#ifndef THRUM_DETAIL_CHAN_HANDLE_HPP
#define THRUM_DETAIL_CHAN_HANDLE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/chan/core.hpp>
#include <thrum/detail/chan/element.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace chan_detail {

using namespace sched;

/// Says that a handle takes over a reference that the caller owns.
struct adopt_reference {};

/// A counted reference to a channel, or none: the nil channel.
template <class T>
class chan_handle {
 public:
  using core_type = chan_core<typename chan_element<T>::type>;

  chan_handle() noexcept = default;
  /// A new channel. Its buffer has room for `capacity` elements; with 0 each send waits for its receiver.
  explicit chan_handle(std::size_t capacity) : core_(core_type::make(capacity)) {}
  chan_handle(adopt_reference, core_type* core) noexcept : core_(core) {}
  chan_handle(const chan_handle& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) {
      core_->add_reference();
    }
  }
  chan_handle(chan_handle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  chan_handle& operator=(chan_handle other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~chan_handle() {
    if (core_ != nullptr) {
      core_->drop_reference();
    }
  }

  /// Elements that are buffered now. 0 for the nil channel.
  std::size_t size() const noexcept { return core_ != nullptr ? core_->size() : 0; }
  /// Elements that can be buffered.
  std::size_t capacity() const noexcept { return core_ != nullptr ? core_->capacity() : 0; }
  /// Whether it has been closed; elements may still be buffered.
  bool is_closed() const noexcept { return core_ != nullptr && core_->is_closed(); }
  /// False for the nil channel.
  explicit operator bool() const noexcept { return core_ != nullptr; }

  friend bool operator==(const chan_handle& a, const chan_handle& b) noexcept {
    return a.core_ == b.core_;
  }
  /// An order for std::set and std::map, which says nothing of the channels.
  friend std::strong_ordering operator<=>(const chan_handle& a, const chan_handle& b) noexcept {
    return std::compare_three_way()(a.core_, b.core_);
  }

  /// For the library.
  core_type* core() const noexcept { return core_; }

 private:
  core_type* core_ = nullptr;
};

/// Hashes a handle by what it is equal to.
template <class Handle>
struct handle_hash {
  std::size_t operator()(const Handle& of) const noexcept {
    return std::hash<typename Handle::core_type*>()(of.core());
  }
};

/// Says what is wrong with comparing channels of two types of elements.
template <class A, class B>
requires(!std::is_same_v<A, B>) constexpr bool operator==(const chan_handle<A>&,
                                                          const chan_handle<B>&) noexcept {
  static_assert(std::is_same_v<A, B>,
                "chan: channels with different element types are never the same channel; compare "
                "channels of one type");
  return false;
}

/// An operation on the nil channel.
THRUM_COLD inline chan_result block_on_nil(wait_reason reason, std::int64_t deadline) {
  exit_if_cancelled(wait_for_nothing(reason, deadline));
  return chan_result::timed_out;
}

}}}  // namespace thrum::THRUM_ABI::chan_detail

#endif
