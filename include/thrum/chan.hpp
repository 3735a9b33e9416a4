// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// chan<T>: what goroutines talk through, and its one-way views.
#ifndef THRUM_CHAN_HPP
#define THRUM_CHAN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/chan/element.hpp>
#include <thrum/detail/chan/handle.hpp>
#include <thrum/detail/chan/receiving.hpp>
#include <thrum/detail/chan/sending.hpp>

#include <cstddef>
#include <functional>

namespace thrum { inline namespace THRUM_ABI {

template <class T>
class chan;

/// The sending end of a channel: a shared handle, cheap to copy, compares by identity, has an order
/// for std::set, and a std::hash.
template <class T>
class send_chan : public chan_detail::chan_handle<chan_detail::element_or_other<T>>,
                  public chan_detail::sending<send_chan<T>, chan_detail::element_or_other<T>> {
  static_assert(chan_detail::must_be_element<T>());
  using handle = chan_detail::chan_handle<chan_detail::element_or_other<T>>;

 public:
  /// The nil channel: sending blocks for ever.
  send_chan() noexcept = default;

  /// Nothing is received from it: range over the chan, or over a recv_chan.
  void begin() const = delete;
  void end() const = delete;

 private:
  friend class chan<T>;
  send_chan(const handle& of, int) noexcept : handle(of) {}
};

/// The receiving end of a channel: a shared handle, cheap to copy, compares by identity, has an
/// order for std::set, and a std::hash.
template <class T>
class recv_chan : public chan_detail::chan_handle<chan_detail::element_or_other<T>>,
                  public chan_detail::receiving<recv_chan<T>, chan_detail::element_or_other<T>> {
  static_assert(chan_detail::must_be_element<T>());
  using handle = chan_detail::chan_handle<chan_detail::element_or_other<T>>;

 public:
  /// The nil channel: receiving blocks for ever.
  recv_chan() noexcept = default;

  /// For the library: of a channel that is part of a timer or a context.
  recv_chan(chan_detail::adopt_reference, typename handle::core_type* core) noexcept
      : handle(chan_detail::adopt_reference{}, core) {}

 private:
  friend class chan<T>;
  recv_chan(const handle& of, int) noexcept : handle(of) {}
};

/// A channel of elements of type T: a shared handle, cheap to copy, compares by identity, and has an
/// order and a std::hash, which its views share. T must be movable, and may be move-only. chan<void> carries
/// signals. All members may be called from any goroutine and from any thread at the same time.
///
/// A send happens before the receive that gets its element completes; the k-th receive of a channel
/// of capacity C happens before the (k + C)-th send completes; close happens before a receive that
/// returns because of it. Waiters are served first come, first served.
///
/// When not to use: to guard a structure that several goroutines change, a mutex is cheaper.
template <class T>
class chan : public chan_detail::chan_handle<chan_detail::element_or_other<T>>,
             public chan_detail::sending<chan<T>, chan_detail::element_or_other<T>>,
             public chan_detail::receiving<chan<T>, chan_detail::element_or_other<T>> {
  static_assert(chan_detail::must_be_element<T>());
  using handle = chan_detail::chan_handle<chan_detail::element_or_other<T>>;

 public:
  /// The nil channel: sending and receiving block for ever.
  chan() noexcept = default;

  /// A channel that holds up to `capacity` elements; with 0, a send waits for its receive.
  /// usage_error if so many cannot be counted; std::bad_alloc.
  explicit chan(std::size_t capacity) : handle(capacity) {}

  /// The one-way views.
  send_chan<T> sender() const noexcept { return send_chan<T>(*this, 0); }
  recv_chan<T> receiver() const noexcept { return recv_chan<T>(*this, 0); }
  operator send_chan<T>() const noexcept { return sender(); }    // NOLINT: a chan is both
  operator recv_chan<T>() const noexcept { return receiver(); }  // NOLINT: a chan is both
};

/// A channel of that capacity.
template <class T>
[[nodiscard]] chan<T> make_chan(std::size_t capacity = 0) {
  return chan<T>(capacity);
}

}}  // namespace thrum::THRUM_ABI

/// Equal channels have the same, whether they are seen whole or one way.
template <class T>
struct std::hash<thrum::chan<T>> : thrum::chan_detail::handle_hash<thrum::chan<T>> {};
/// As of the channel.
template <class T>
struct std::hash<thrum::send_chan<T>> : thrum::chan_detail::handle_hash<thrum::send_chan<T>> {};
/// As of the channel.
template <class T>
struct std::hash<thrum::recv_chan<T>> : thrum::chan_detail::handle_hash<thrum::recv_chan<T>> {};

#endif
