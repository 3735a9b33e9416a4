// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The sessions of a server: how one begins with a connection, waits for requests, and ends.
//
// Stops a server, in the order that the head of net/server.hpp lists.
#ifndef THRUM_DETAIL_NET_SERVER_SESSION_HPP
#define THRUM_DETAIL_NET_SERVER_SESSION_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/errc.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/server.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <stop_token>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE base::owner<server::session> server::next(std::error_code& error) {
  // One that may become a session, and counts as one for the limit.
  struct expected {
    server& at;
    ~expected() {
      const std::lock_guard guard(at.mutex_);
      --at.accepting_;
      at.changed_.notify_all();
    }
  };
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      const std::size_t most = how_.max_connections;
      return is_stopping_ || most == 0 || connections_ + accepting_ < most;
    });
    if (is_stopping_) {
      return {};
    }
    ++accepting_;
  }
  const expected one{*this};
  std::int64_t pause_ns = listener::first_pause_ns;
  conn accepted = listener_.accept(error);
  while (error == std::errc::not_enough_memory && wait_for_memory(pause_ns)) {
    accepted = listener_.accept(error);  // that connection was closed
  }
  while (!error) {
    {
      const std::lock_guard guard(mutex_);
      // Without memory nothing is moved.
      // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
      base::owner<session> result(new (std::nothrow) session(*this, std::move(accepted)));
      if (result) {
        ++connections_;
        sessions_.push_back(*result);
        return result;
      }
    }
    if (!wait_for_memory(pause_ns)) {
      return {};
    }
  }
  const std::lock_guard guard(mutex_);
  if (is_stopping_) {
    error.clear();
  }
  return {};
}

THRUM_OUT_OF_LINE server::session::session(server& of, conn connection)
    : server_(of), conn_(std::move(connection)) {
  if (of.is_told_) {
    is_told_ = true;
    grace_ends_ = of.grace_ends_;
  }
  if (of.is_closing_) {
    is_closed_ = true;
    conn_.close();
  }
}

THRUM_OUT_OF_LINE server::session::~session() {
  const sched::uncancellable until_it_has_left;
  conn_.close();
  handler_.reset();
  std::unique_lock lock(server_.mutex_);
  server_.changed_.wait(lock, [this] { return !is_pinned_; });
  server_.sessions_.remove(*this);
  --server_.connections_;
  server_.changed_.notify_all();
}

THRUM_OUT_OF_LINE bool server::session::wait_request_until(time_point deadline) {
  begin_idle(deadline);
  std::error_code error;
  conn_.wait_readable(error);
  return end_idle(deadline, error);
}

THRUM_OUT_OF_LINE void server::session::begin_idle(time_point deadline) {
  const std::lock_guard guard(lock_);
  is_idle_ = true;
  idle_until_ = deadline;
  conn_.set_read_deadline(is_told_ ? std::min(deadline, grace_ends_) : deadline);
}

THRUM_OUT_OF_LINE bool server::session::end_idle(time_point deadline,
                                                 const std::error_code& error) {
  const std::lock_guard guard(lock_);
  is_idle_ = false;
  if (!is_told_) {
    return !error;
  }
  conn_.set_read_deadline(deadline);
  return !error || (error == errc::deadline_exceeded && conn_.is_readable());
}

THRUM_OUT_OF_LINE bool server::session::stopping() const {
  const std::lock_guard guard(lock_);
  return is_told_;
}

THRUM_OUT_OF_LINE void server::session::tell(time_point grace_ends) {
  const std::lock_guard guard(lock_);
  is_told_ = true;
  grace_ends_ = grace_ends;
  if (is_idle_) {
    conn_.set_read_deadline(std::min(idle_until_, grace_ends));
  }
}

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

#endif  // THRUM_DETAIL_NET_SERVER_SESSION_HPP
