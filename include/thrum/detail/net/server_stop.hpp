// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Stops a server, in the order that the head of net/server.hpp lists.
#ifndef THRUM_DETAIL_NET_SERVER_STOP_HPP
#define THRUM_DETAIL_NET_SERVER_STOP_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/request_stop.hpp>
#include <thrum/net/server.hpp>
#include <thrum/sync/mutex.hpp>

#include <chrono>
#include <mutex>
#include <stop_token>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE server::~server() {
  const sched::uncancellable until_all_have_left;
  request_stop();
  std::unique_lock lock(mutex_);
  close_sessions(lock);
  changed_.wait(lock, [this] { return has_ended() && visits_ == 0; });
}

THRUM_OUT_OF_LINE server::visit::visit(server& at) : at_(at) {
  const std::lock_guard guard(at_.mutex_);
  ++at_.visits_;
}

THRUM_OUT_OF_LINE server::visit::~visit() {
  const std::lock_guard guard(at_.mutex_);
  --at_.visits_;
  at_.changed_.notify_all();
}

THRUM_OUT_OF_LINE void server::wait_for_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_ended(); });
}

THRUM_OUT_OF_LINE void server::request_stop() {
  const visit here(*this);
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  listener_.close();
  {
    const std::lock_guard guard(mutex_);
    if (!is_told_) {
      is_told_ = true;
      grace_ends_ =
          time_point(std::chrono::nanoseconds(time_detail::deadline_after(how_.idle_grace)));
      for (session* each = sessions_.front(); each != nullptr; each = sessions_.next(*each)) {
        each->tell(grace_ends_);
      }
    }
  }
  std::stop_source own = stop_source_;
  static_cast<void>(go_detail::request_stop_here(own));
}

THRUM_OUT_OF_LINE void server::stop() { stop_until(time_point::max()); }

THRUM_OUT_OF_LINE bool server::stop_until(time_point deadline) {
  const visit here(*this);
  request_stop();
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return has_ended(); }) || end_at_once(lock);
}

THRUM_OUT_OF_LINE bool server::end_at_once(std::unique_lock<mutex>& lock) {
  close_sessions(lock);
  changed_.wait(lock, [this] { return has_ended(); });
  return false;
}

THRUM_OUT_OF_LINE void server::close_sessions(std::unique_lock<mutex>& lock) {
  is_closing_ = true;
  for (session* each = sessions_.front(); each != nullptr; each = sessions_.next(*each)) {
    if (!each->is_closed_) {
      each->is_closed_ = true;
      each->is_pinned_ = true;
      lock.unlock();
      each->conn_.close();
      lock.lock();
      each->is_pinned_ = false;
      changed_.notify_all();  // it goes when we wait
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
