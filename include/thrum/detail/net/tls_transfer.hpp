// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What reading and writing of a tls_conn share: turns, waits for the other side, and the passing of
// records to and from the connection below. Needs OpenSSL, so it is not among the definitions that are
// compiled once with the implementation.
#ifndef THRUM_DETAIL_NET_TLS_TRANSFER_HPP
#define THRUM_DETAIL_NET_TLS_TRANSFER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/tls_conn.hpp>
#include <thrum/detail/net/tls_session.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>  // IWYU pragma: keep: the wait with a stop
#include <thrum/net/conn.hpp>
#include <thrum/sync/condition_variable.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

inline std::error_code tls_conn::refusal(const state& s, time_point deadline) noexcept {
  if (s.closed) {
    return io_detail::error_of(os::cancelled);
  }
  const bool is_late = deadline != time_point::max() &&
                       time_detail::time_now() >= time_detail::deadline_at(deadline);
  return is_late ? std::error_code(errc::deadline_exceeded) : s.session.failure();
}

inline bool tls_conn::take_turn(std::unique_lock<mutex>& turn, std::error_code& error) {
  if (turn.mutex()->lock(sched::io_deadline(sched::no_deadline))) {
    turn = std::unique_lock(*turn.mutex(), std::adopt_lock);
    return true;
  }
  error = io_detail::error_of(os::cancelled);
  return false;
}

inline bool tls_conn::has_agreed(const state& s) {
  const std::lock_guard guard(s.lock);
  return s.session.has_agreed();
}

inline time_point tls_conn::deadline_of(const state& s, direction whose) noexcept {
  switch (whose) {
    case direction::write: return s.write_deadline;
    case direction::both: return std::min(s.read_deadline, s.write_deadline);
    case direction::none:
    case direction::read: break;
  }
  return s.read_deadline;
}

inline void tls_conn::tell_news(state& s) noexcept {
  ++s.news_count;
  s.news.notify_all();
}

inline bool tls_conn::await_news(state& s, std::unique_lock<mutex>& lock, direction whose,
                                 std::error_code& error) {
  const sched::io_deadline ends(time_detail::deadline_at(deadline_of(s, whose)));
  const auto is_news = [&, seen = s.news_count] { return s.news_count != seen; };
  if (!s.news.wait(lock, ends, is_news) && ends.is_stopped()) {
    error = io_detail::error_of(os::cancelled);
    return false;
  }
  return true;  // also if the deadline has come: the caller sees that before it tries again
}

template <tls_conn::pace Pace>
bool tls_conn::receive(state& s, std::unique_lock<mutex>& lock, direction whose,
                       std::error_code& error) {
  if (s.session.has_input()) {  // another has received since the caller has tried
    return true;
  }
  if (s.receives != direction::none) {
    error.clear();
    return Pace == pace::waiting && await_news(s, lock, whose, error);
  }

  struct receiver {
    state& s;
    std::unique_lock<mutex>& lock;

    ~receiver() {
      if (!lock.owns_lock()) {  // goroutine_exit comes by
        lock.lock();
      }
      const time_point deadline = deadline_of(s, s.receives);
      s.receives = direction::none;
      if (deadline != s.read_deadline) [[unlikely]] {
        s.transport->set_read_deadline(s.read_deadline);
      }
      tell_news(s);
    }
  };
  s.receives = whose;
  const receiver here{s, lock};
  if (deadline_of(s, whose) != s.read_deadline) [[unlikely]] {
    s.transport->set_read_deadline(deadline_of(s, whose));
  }
  const std::span<std::byte> room = s.session.room();
  lock.unlock();
  const os::io_result n =
      Pace == pace::waiting ? s.transport->read_some(room) : s.transport->try_read_some(room);
  lock.lock();
  if (Pace == pace::at_once && n == os::would_block) {
    error.clear();
    return false;
  }
  if (n < 0) {
    error = io_detail::error_of(n);
    return false;
  }
  s.session.received(static_cast<std::size_t>(n));
  return true;
}

inline bool tls_conn::take_output(state& s) noexcept {
  if (s.sent != s.sending.size()) {
    return false;
  }
  s.sending.clear();
  s.sent = 0;
  s.owed = false;
  s.sending.swap(s.session.output);
  return true;
}

inline bool tls_conn::send(state& s, std::error_code& error) {
  const os::io_result n = s.transport->write_all(s.sending, s.sent);
  if (n < 0) {
    error = io_detail::error_of(n);
    return false;
  }
  constexpr std::size_t kept = std::size_t{20} * 1024;
  s.sending.clear();
  s.sent = 0;
  if (s.sending.capacity() > kept) {
    s.sending.shrink_to_fit();
  }
  return true;
}

inline bool tls_conn::send_all(state& s, std::error_code& error) {
  for (;;) {
    {
      const std::lock_guard guard(s.lock);
      if (take_output(s) && s.sending.empty()) {
        return true;
      }
    }
    if (!send(s, error)) {
      return false;
    }
  }
}

inline bool tls_conn::send_at_once(state& s, std::error_code& error) {
  error.clear();
  for (;;) {
    {
      const std::lock_guard guard(s.lock);
      if (take_output(s) && s.sending.empty()) {
        return true;
      }
    }
    const os::io_result n = s.transport->try_write_some(std::span(s.sending).subspan(s.sent));
    if (n < 0) {
      error = n == os::would_block ? std::error_code() : io_detail::error_of(n);
      return false;
    }
    s.sent += static_cast<std::size_t>(n);
  }
}

inline void tls_conn::send_at_once(state& s) noexcept {
  std::error_code unheard;  // the next read or write meets it
  send_at_once(s, unheard);
}

inline void tls_conn::send_what_reading_made(state& s) noexcept {
  if (const std::unique_lock turn(s.writing, std::try_to_lock); turn.owns_lock()) {
    send_at_once(s);
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
