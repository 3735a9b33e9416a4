// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// dial to several endpoints: their order, and the race between the tries. The head of net/dial.hpp has
// the rules.
//
// One try to connect to one endpoint; dial_end ends it while it is under way.
#ifndef THRUM_DETAIL_NET_HAPPY_EYEBALLS_HPP
#define THRUM_DETAIL_NET_HAPPY_EYEBALLS_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>  // IWYU pragma: keep: the wait with a stop
#include <thrum/go.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/dial.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

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

/// Several endpoints, one after the other.
inline conn dial_each(std::span<const endpoint> all, const endpoint& local, time_point deadline,
                      std::error_code& error) {
  std::error_code first_error;
  for (std::size_t i = 0; i != all.size(); ++i) {
    time_point until = deadline;
    const time_point now = now_of_deadlines();
    if (deadline != time_point::max() && deadline > now) {
      const auto left = deadline - now;
      const auto share = left / static_cast<std::int64_t>(all.size() - i);
      const auto least = std::min<std::chrono::nanoseconds>(left, std::chrono::seconds(2));
      until = now + std::max<std::chrono::nanoseconds>(share, least);
    }
    if (conn made = dial_one(all[i], local, until, error); !error) {
      return made;
    }
    if (sched::is_io_stopped()) {
      return conn();
    }
    if (!first_error) {
      first_error = error;
    }
  }
  error = first_error;
  return conn();
}

/// The tries of one dial that are under way. They end when this does, and do not wait for the
/// system to give up.
class dial_race {
 public:
  /// How one ended.
  struct outcome {
    conn made;
    std::error_code error;
  };

  /// There is room for all outcomes: a try that is too late leaves its connection in a channel that has no
  /// receiver any more. The connection is closed with the channel.
  explicit dial_race(std::size_t tries) : outcomes_(tries) { ends_.reserve(tries); }
  dial_race(const dial_race&) = delete;
  dial_race& operator=(const dial_race&) = delete;
  ~dial_race() {
    for (const std::shared_ptr<dial_end>& each : ends_) {
      each->end();
    }
  }

  /// An error: there is no goroutine for it.
  std::error_code start(const endpoint& where, const endpoint& local, time_point deadline) {
#if THRUM_EXCEPTIONS
    try {
      start_try(where, local, deadline);
    } catch (const std::system_error& no_memory) {
      return no_memory.code();
    }
#else
    start_try(where, local, deadline);
#endif
    return {};
  }

  /// The next outcome, if there is one in time.
  bool wait(outcome& result, const sched::io_deadline& deadline) {
    return outcomes_.recv(result, deadline) == recv_status::ok;
  }

 private:
  void start_try(const endpoint& where, const endpoint& local, time_point deadline) {
    const auto& ended = ends_.emplace_back(std::make_shared<dial_end>());
    // No caller waits for a try: what it needs of the caller's network, which may be gone when it begins,
    // goes with it.
    base::owner<other_dial> begun;
    if (network* const other = network_of_caller()) {
      begun = other->dial(where, local);
    }
    go([outcomes = outcomes_, where, local, deadline, ended, making = std::move(begun)] {
      outcome result;
      result.made = making ? finish_other(*making, deadline, result.error, ended.get())
                           : dial_one(where, local, deadline, result.error, ended.get());
      outcomes.send(std::move(result));
    });
  }

  chan<outcome> outcomes_;
  std::vector<std::shared_ptr<dial_end>> ends_;
};

/// Several endpoints, each with a head start before the next.
inline conn dial_staggered(std::span<const endpoint> all, const dial_options& how,
                           time_point deadline, std::error_code& error) {
  dial_race race(all.size());
  std::error_code first_error;
  std::size_t started = 0;
  for (std::size_t failed = 0; failed != all.size();) {
    if (started != all.size()) {
      const std::error_code not_started = race.start(all[started], how.local, deadline);
      ++started;
      if (not_started) {
        first_error = first_error ? first_error : not_started;
        ++failed;
        continue;
      }
    }
    const bool is_last = started == all.size();
    const sched::io_deadline until(is_last ? sched::no_deadline
                                           : time_detail::deadline_after(how.head_start));
    dial_race::outcome result;
    if (!race.wait(result, until)) {
      if (until.is_stopped()) {
        error = io_detail::error_of(os::cancelled);
        return conn();
      }
      continue;
    }
    if (!result.error) {
      error.clear();
      return std::move(result.made);
    }
    if (!first_error) {
      first_error = result.error;
    }
    ++failed;
  }
  error = first_error;
  return conn();
}

THRUM_OUT_OF_LINE std::vector<endpoint> alternating(std::span<const endpoint> all) {
  std::vector<endpoint> first;
  std::vector<endpoint> second;
  for (const endpoint& each : all) {
    (each.family() == all.front().family() ? first : second).push_back(each);
  }
  std::vector<endpoint> result;
  result.reserve(all.size());
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    for (const std::vector<endpoint>* list : {&first, &second}) {
      if (i < list->size()) {
        result.push_back((*list)[i]);
      }
    }
  }
  return result;
}

/// Declared in net/dial.hpp.
THRUM_OUT_OF_LINE conn dial_several(std::span<const endpoint> all, const dial_options& how,
                                    time_point deadline, std::error_code& error) {
  if (all.empty()) {
    error = os::error_code_of(os::no_address);
    return conn();
  }
  if (all.size() == 1) {
    return dial_endpoint(all.front(), how, deadline, error);
  }
  const address_family own = how.local.family();
  std::vector<endpoint> fit = alternating(all);
  if (own != address_family::none) {
    std::erase_if(fit, [&](const endpoint& each) { return each.family() != own; });
  }
  if (fit.size() < 2) {
    return dial_endpoint(fit.empty() ? all.front() : fit.front(), how, deadline, error);
  }
  // Sockets that are there at the same time cannot have one port.
  return runtime::current() == nullptr || how.local.port() != 0
             ? dial_each(fit, how.local, deadline, error)
             : dial_staggered(fit, how, deadline, error);
}

}}}  // namespace thrum::THRUM_ABI::net_detail

#endif  // THRUM_DETAIL_NET_HAPPY_EYEBALLS_HPP
