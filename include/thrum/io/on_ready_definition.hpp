// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/on_ready.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_ON_READY_DEFINITION_HPP
#define THRUM_IO_ON_READY_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/order.hpp>
#include <thrum/chan/base.hpp>
#include <thrum/io/on_ready.hpp>
#include <thrum/io/wait_definition.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sched/io/poll_watch.hpp>
#include <thrum/sched/queue/lock.hpp>
#include <thrum/sched/run/wait_point.hpp>

#include <cstdint>

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

THRUM_OUT_OF_LINE void ready_signal::watch::tell_channel(sched::told_point& self) noexcept {
  using namespace base::orders;
  auto& own = static_cast<watch&>(self);
  // relaxed: written before it was told
  if (own.cause.load(relaxed) == sched::wake_cause::closed) {
    own.to_->close();
  } else {
    own.to_->change_clock([&] { own.to_->when = sched::traits::now(); });
  }
  own.told_.store(true, release);  // [ready.told >] our last look at it
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
