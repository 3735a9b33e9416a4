// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// on_readable, on_writable: cases of a select that wait until a descriptor is ready.
//
// The case has a channel of its own, like every case that waits for what is no channel
// (select/signal_cases.hpp). An event makes the channel's clock due: then the select calls expire(),
// which asks the system, and closes the channel or begins again. The event alone does not count. It
// may belong to an earlier request whose caller has given up (a poller of requests answers when it
// comes to it), and what it reports may have been read long since. The clock is due as well when the
// descriptor's deadline is moved, and when that comes.
#ifndef THRUM_IO_ON_READY_HPP
#define THRUM_IO_ON_READY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/chan/base.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/select/cases.hpp>
#include <thrum/detail/select/signal_cases.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/select.hpp>  // IWYU pragma: export

#include <atomic>
#include <concepts>
#include <cstdint>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

using namespace io;

/// A descriptor is ready on one side. Of ours `desc` is known, of others the number.
struct ready_signal {
  sched::poll_desc* desc = nullptr;
  native_handle_type foreign = os::no_handle;
  side which = side::read;

  static constexpr bool is_polled = true;
  bool has_happened() const noexcept { return false; }  // prepare() asks the system

  class watch;
  struct channel;
};

struct ready_signal::channel final : chan_detail::chan_clock, chan_detail::chan_base {
  channel() noexcept : chan_base(0, this, nullptr) { chan_clock::expire = &look_again; }

  chan_detail::attempt look_locked() const noexcept;
  static void look_again(chan_clock& clock) noexcept;

  watch* watched_by = nullptr;
};

class ready_signal::watch : sched::foreign_point {
 public:
  watch(const ready_signal& of, channel& to) noexcept;
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  ~watch() { end(); }

  /// Closes the channel if the descriptor is ready; else watches for the next event.
  void begin() noexcept;

 private:
  /// When it returns, no event reaches the channel any more.
  void end() noexcept;
  /// Has begin() called at that moment, or before.
  void look_at(std::int64_t moment) noexcept;
  bool was_told() const noexcept;
  static void tell_channel(sched::callback_point& self) noexcept;

  ready_signal of_;
  channel* to_;
  std::atomic<bool> told_{false};
};

template <class F>
using ready_case = select_detail::signal_case<ready_signal, F>;

/// What has a descriptor of ours.
template <class T>
concept has_descriptor = requires(const T& of) {
  { of.waits_on() } -> std::same_as<const io::descriptor&>;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// A case of select that is chosen once the descriptor can be read without blocking (also: its end,
/// or an error), and then calls f(). Errors of the descriptor are left to the read. As with poll(),
/// there may be nothing any more when f runs: use descriptors that do not block. If it is closed
/// while the select waits, what was said of wait_readable holds. Where neither the calling thread nor
/// the descriptor has a runtime, the system is asked every 10 ms.
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_readable(
    native_handle_type fd, F f = {}) {
  return io_detail::ready_case<F>({nullptr, fd, side::read}, std::move(f));
}

/// As on_readable(fd), but chosen once the descriptor can be written without blocking.
template <class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_writable(
    native_handle_type fd, F f = {}) {
  return io_detail::ready_case<F>({nullptr, fd, side::write}, std::move(f));
}

/// As on_readable(fd), for a connection, a datagram socket or a pipe's end; and for a listener, which can
/// be read when a connection is there to be accepted. Chosen also when it is closed or its deadline has
/// passed, which the read reports. It must stay where it is until the select has returned. What a reader of
/// your own has buffered does not count.
template <io_detail::has_descriptor T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_readable(const T& of,
                                                                                  F f = {}) {
  return io_detail::ready_case<F>({of.waits_on().waited_on(), os::no_handle, side::read},
                                  std::move(f));
}

/// As on_readable(of), but chosen once it can be written without blocking.
template <io_detail::has_descriptor T, class F = select_detail::no_handler>
[[nodiscard("a case does nothing until it is given to select")]] auto on_writable(const T& of,
                                                                                  F f = {}) {
  return io_detail::ready_case<F>({of.waits_on().waited_on(), os::no_handle, side::write},
                                  std::move(f));
}

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/io/poll_watch.hpp>
#include <thrum/detail/sched/queue/lock.hpp>
#include <thrum/detail/sched/run/wait_point.hpp>
#include <thrum/io/wait.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE chan_detail::attempt ready_signal::channel::look_locked() const noexcept {
  using chan_detail::attempt;
  if (is_closed()) {
    return attempt::closed;
  }
  return when <= sched::traits::now() ? attempt::expired : attempt::not_ready;
}

THRUM_OUT_OF_LINE void ready_signal::channel::look_again(chan_clock& clock) noexcept {
  static_cast<channel&>(clock).watched_by->begin();
}

THRUM_OUT_OF_LINE ready_signal::watch::watch(const ready_signal& of, channel& to) noexcept
    : foreign_point(&tell_channel), of_(of), to_(&to) {
  to.watched_by = this;
  if (of_.desc == nullptr && os::is_handle(of_.foreign)) {
    of_.desc = watch_table::find(of_.foreign);
  }
  begin();
}

THRUM_OUT_OF_LINE void ready_signal::watch::begin() noexcept {
  using outcome = sched::poll_watch::outcome;
  constexpr std::int64_t until_next_look_ns = 10'000'000;
  end();
  told_.store(false, base::orders::relaxed);  // relaxed: published by the lock of the descriptor
  to_->change_clock([&] { to_->when = sched::no_deadline; });
  deadline = sched::no_deadline;
  outcome found = outcome::ready;  // what is no descriptor fails at once
  if (of_.desc != nullptr) {
    scheduler = nullptr;
    found = of_.foreign == os::no_handle
                ? sched::poll_watch::begin(*of_.desc, of_.which, *this)
                : sched::poll_watch::begin_foreign(*of_.desc, of_.foreign, of_.which, *this);
  }
  if (found == outcome::ready) {
    to_->close();
    return;
  }
  if (found == outcome::unknown) {
    look_at(sched::traits::now() + until_next_look_ns);
  }
  if (deadline != sched::no_deadline) {
    look_at(deadline);
  }
}

THRUM_OUT_OF_LINE void ready_signal::watch::look_at(std::int64_t moment) noexcept {
  // It may have been told meanwhile, and then it is due already.
  to_->change_clock([&] { to_->when = moment < to_->when ? moment : to_->when; });
}

THRUM_OUT_OF_LINE bool ready_signal::watch::was_told() const noexcept {
  return told_.load(base::orders::acquire);  // [ready.told <] the last that was done with this
}

THRUM_OUT_OF_LINE void ready_signal::watch::end() noexcept {
  for (std::uint32_t turn = 0;
       is_linked && !sched::poll_watch::end(*of_.desc, of_.which, *this) && !was_told(); ++turn) {
    sched::back_off(turn);
  }
  is_linked = false;
}

THRUM_OUT_OF_LINE void ready_signal::watch::tell_channel(sched::callback_point& self) noexcept {
  using namespace base::orders;
  auto& own = static_cast<watch&>(self);
  if (own.cause.get() == sched::wake_cause::closed) {
    own.to_->close();
  } else {
    own.to_->change_clock([&] { own.to_->when = sched::traits::now(); });
  }
  own.told_.store(true, release);  // [ready.told >] our last look at it
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif
