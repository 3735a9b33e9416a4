// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What net/dial.hpp declares: the bodies that are not inlined.
#ifndef THRUM_NET_DIAL_DEFINITION_HPP
#define THRUM_NET_DIAL_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/message.hpp>
#include <thrum/chan.hpp>
#include <thrum/deadline.hpp>
#include <thrum/go.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/resolve.hpp>
#include <thrum/net/socket.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

/// By which others end a dial that is under way: it fails with deadline_exceeded, and so do those
/// that follow with the same one.
class dial_end {
 public:
  /// While a socket connects.
  class scope {
   public:
    /// `of` may be null. While this exists, end() ends the connecting of `socket`.
    scope(dial_end* of, io::descriptor& socket) : of_(of) {
      if (of_ != nullptr) {
        of_->connecting(&socket);
      }
    }
    ~scope() {
      if (of_ != nullptr) {
        of_->connecting(nullptr);
      }
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    dial_end* of_;
  };

  /// Ends it now. Any goroutine or thread; more than once is as once.
  void end() {
    const std::lock_guard guard(mutex_);
    ended_ = true;
    apply();
  }

 private:
  void connecting(io::descriptor* socket) {
    const std::lock_guard guard(mutex_);
    socket_ = socket;
    apply();
  }
  void apply() noexcept {
    if (ended_ && socket_ != nullptr) {
      socket_->set_deadline(io::side::write, time_point::min());
    }
  }

  mutex mutex_;
  io::descriptor* socket_ = nullptr;
  bool ended_ = false;
};

/// One try.
inline conn dial_once(const endpoint& where, time_point deadline, std::error_code& error,
                      dial_end* ended) {
  io::descriptor socket = open_socket(where, SOCK_STREAM, error);
  if (error) {
    const auto instead = without_ipv6(where, error);
    return instead ? dial_once(*instead, deadline, error, ended) : conn();
  }
  const os::handle fd = socket.native_handle();
  const bool is_tcp = is_internet(where);
  if (is_tcp) {
    os::set_no_delay(fd, true);
    set_keep_alive(fd, {});
  }
  socket.set_deadline(io::side::write, deadline);
  bool begun = false;
  bool refused = false;
  const auto connect = [&](os::handle own) -> os::io_result {
    if (!begun) {
      begun = true;
      const os::io_result result = os::connect(own, where.data(), where.size());
      // A Unix listener whose queue is full says "would block" where TCP would let us wait, and no event
      // tells when it is not full any more.
      refused = result == os::would_block;
      if (refused) {
        return 0;
      }
      return result == os::in_progress ? os::would_block : result;
    }
    const os::io_result state = os::connection_state(own);
    return state == os::in_progress ? os::would_block : state;
  };
  os::io_result done;
  {
    const dial_end::scope scope(ended, socket);
    done = socket.run(io::side::write, connect);
  }
  if (refused) {
    done = os::would_block;
  }
  if (done < 0) {
    error = io_detail::error_of(done);
    return conn();
  }
  socket.set_deadline(io::side::write, time_point::max());
  error.clear();
  return conn(std::move(socket), is_tcp);
}

/// The time that deadlines are compared with: in a bubble, the bubble's.
inline time_point now_of_deadlines() noexcept {
  return time_point(std::chrono::nanoseconds(sched::traits::now()));
}

/// One endpoint; `error` is errc::deadline_exceeded at the deadline.
inline conn dial_until(const endpoint& where, time_point deadline, std::error_code& error,
                       dial_end* ended = nullptr) {
  conn made = dial_once(where, deadline, error, ended);
  // If nobody listens, and the system chooses the very port for our end, TCP connects the socket
  // with itself. While that lives, the next try gets another port, and its answer.
  if (!error && is_internet(where) && made.local() == made.remote()) {
    made = dial_once(where, deadline, error, ended);
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial_each(std::span<const endpoint> all, time_point deadline,
                                 std::error_code& error, dial_end* ended) {
  error = os::error_code_of(os::no_address);
  for (std::size_t i = 0; i != all.size(); ++i) {
    time_point until = deadline;
    if (deadline != time_point::max()) {
      const auto left = deadline - now_of_deadlines();
      const auto share = left / static_cast<std::int64_t>(all.size() - i);
      const auto least = std::min<std::chrono::nanoseconds>(left, std::chrono::seconds(2));
      until = deadline - left + std::max<std::chrono::nanoseconds>(share, least);
    }
    if (conn made = dial_until(all[i], until, error, ended); !error) {
      return made;
    }
  }
  return conn();
}

THRUM_OUT_OF_LINE conn dial_race(std::vector<endpoint> first, std::vector<endpoint> second,
                                 time_point deadline, std::error_code& error) {
  constexpr auto delay = std::chrono::milliseconds(300);
  struct outcome {
    conn made;
    std::error_code error;
  };
  // Room for both: the try that ends too late leaves its connection in a channel that nobody reads
  // any more, and is closed with it.
  chan<outcome> outcomes(2);
  // The other try gives up when this returns, and does not wait for the system to do so.
  struct end_of_race {
    std::shared_ptr<dial_end> first = std::make_shared<dial_end>();
    std::shared_ptr<dial_end> second = std::make_shared<dial_end>();
    ~end_of_race() {
      first->end();
      second->end();
    }
  } const race;
  const auto start = [&](std::vector<endpoint> list, const std::shared_ptr<dial_end>& ended) {
    go([outcomes, candidates = std::move(list), deadline, ended] {
      outcome result;
      result.made = dial_each(candidates, deadline, result.error, ended.get());
      outcomes.send(std::move(result));
    });
  };
  start(std::move(first), race.first);
  int running = 1;
  bool second_started = false;
  std::error_code first_error;
  for (;;) {
    outcome result;
    const bool came = second_started ? outcomes.recv(result) == recv_status::ok
                                     : outcomes.recv_for(result, delay) == recv_status::ok;
    if (came && !result.error) {
      error.clear();
      return std::move(result.made);
    }
    if (!second_started) {
      start(std::move(second), race.second);  // NOLINT(bugprone-use-after-move): once
      second_started = true;
      ++running;
    }
    if (!came) {
      continue;
    }
    if (!first_error) {
      first_error = result.error;
    }
    if (--running == 0) {
      error = first_error;
      return conn();
    }
  }
}

/// The moment that a time-out of dial() means: see there. time_point::max() is never.
inline time_point dial_deadline(std::chrono::nanoseconds timeout) noexcept {
  const time_point now = now_of_deadlines();
  return timeout.count() == 0 || timeout >= time_point::max() - now ? time_point::max()
                                                                    : now + timeout;
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  return net_detail::dial_until(where, net_detail::dial_deadline(timeout), error);
}

THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout) {
  std::error_code error;
  conn made = dial(where, timeout, error);
  if (error) {
    net_detail::throw_endpoint(error, "dial", where);
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  const time_point deadline = net_detail::dial_deadline(timeout);
  const std::vector<endpoint> all = resolve_until(text, deadline, error);
  if (error) {
    return conn();
  }
  const auto other = [&](const endpoint& e) { return e.family() != all.front().family(); };
  std::vector<endpoint> second;
  std::copy_if(all.begin(), all.end(), std::back_inserter(second), other);
  if (second.empty() || runtime::current() == nullptr) {
    return net_detail::dial_each(all, deadline, error);
  }
  std::vector<endpoint> first;
  std::remove_copy_if(all.begin(), all.end(), std::back_inserter(first), other);
  return net_detail::dial_race(std::move(first), std::move(second), deadline, error);
}

THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout) {
  std::error_code error;
  conn made = dial(text, timeout, error);
  if (error) {
    base::throw_system(error, base::message<>("dial ").append_quoted(text).view());
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial(const char* text, std::chrono::nanoseconds timeout) {
  return dial(std::string_view(text), timeout);
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
