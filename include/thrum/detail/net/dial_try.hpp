// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One try to connect to one endpoint; dial_end ends it while it is under way.
#ifndef THRUM_DETAIL_NET_DIAL_TRY_HPP
#define THRUM_DETAIL_NET_DIAL_TRY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/sync/mutex.hpp>

#include <chrono>
#include <mutex>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

/// Ends a dial that is under way, on behalf of another goroutine: the dial fails with deadline_exceeded,
/// and so do later dials with the same dial_end.
class dial_end {
 public:
  /// While a socket connects.
  class scope {
   public:
    /// `of` may be null. While this exists, end() ends the connecting of `socket`.
    scope(dial_end* of, io::descriptor& socket) : of_(of) {
      if (of_ != nullptr) {
        of_->connecting(&socket, nullptr);
      }
    }
    /// `of` may be null. While this exists, end() ends `other`, a dial in another network.
    scope(dial_end* of, other_dial& other) : of_(of) {
      if (of_ != nullptr) {
        of_->connecting(nullptr, &other);
      }
    }
    ~scope() {
      if (of_ != nullptr) {
        of_->connecting(nullptr, nullptr);
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
  void connecting(io::descriptor* socket, other_dial* other) {
    const std::lock_guard guard(mutex_);
    socket_ = socket;
    other_ = other;
    apply();
  }
  void apply() noexcept {
    if (ended_ && socket_ != nullptr) {
      socket_->set_deadline(io::side::write, time_point::min());
    }
    if (ended_ && other_ != nullptr) {
      other_->end();
    }
  }

  mutex mutex_;
  io::descriptor* socket_ = nullptr;
  other_dial* other_ = nullptr;
  bool ended_ = false;
};

/// The rest of a try that has begun in place of the system's.
inline conn finish_other(other_dial& making, time_point deadline, std::error_code& error,
                         dial_end* ended) {
  const dial_end::scope scope(ended, making);
  os::io_result result = 0;
  base::owner<other_stream> made = making.finish(deadline, result);
  error = io_detail::error_of(result);
  return made ? conn(std::move(made)) : conn();
}

/// One try. `local`: none, or the address of this end.
inline conn dial_once(const endpoint& where, const endpoint& local, time_point deadline,
                      std::error_code& error, dial_end* ended) {
  if (network* const other = network_of_caller()) {
    return finish_other(*other->dial(where, local), deadline, error, ended);
  }
  io::descriptor socket = open_socket(where, SOCK_STREAM, error);
  if (error) {
    const auto instead = without_ipv6(where, error);
    return instead ? dial_once(*instead, local, deadline, error, ended) : conn();
  }
  const os::handle fd = socket.native_handle();
  const bool is_tcp = is_internet(where);
  if (is_tcp) {
    os::set_no_delay(fd, true);
    set_keep_alive(fd, {});
  }
  if (local.family() != address_family::none) {
    const os::io_result bound = os::bind(fd, local.data(), local.size());
    if (bound < 0) {
      error = io_detail::error_of(bound);
      return conn();
    }
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
inline conn dial_one(const endpoint& where, const endpoint& local, time_point deadline,
                     std::error_code& error, dial_end* ended = nullptr) {
  conn made = dial_once(where, local, deadline, error, ended);
  // If no socket listens, and the system chooses the very port for our end, TCP connects the socket with
  // itself. While that connection lives, the next try gets another port, and its answer.
  if (!error && is_internet(where) && made.local() == made.remote()) {
    made = dial_once(where, local, deadline, error, ended);
  }
  return made;
}

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif
