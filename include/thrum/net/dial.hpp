// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// dial: making connections.
//
// A name may have several addresses. They are tried in turn, families alternating, the one in front
// first. Each has a head start of 250 ms before the next one; if it fails, that one begins at once.
// None is given up when the next one begins: whichever is connected first wins, and the others are
// ended then. They share one deadline (RFC 8305, sections 4, 5 and 8).
// Each is tried by a goroutine. Where there are none, on a thread of others, or if all are to have
// one local port, they are tried one after the other, each with its share of the time that is left.
//
// When a socket is connected: it became writable, has no error, and knows its peer. Only the three
// together say so; a socket that was registered with a poller too early is writable once for
// nothing (Go's issues 7474, 14548, 19289).
#ifndef THRUM_NET_DIAL_HPP
#define THRUM_NET_DIAL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/stop_condition.hpp>

#include <chrono>
#include <concepts>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// How to dial.
struct dial_options {
  /// The address of this end: an address of this machine, with port 0 unless it must be that
  /// one. Of several endpoints to dial only those of its family are tried. None: the system chooses.
  endpoint local{};
  /// Of several endpoints each has so long before the next one is tried as well.
  std::chrono::nanoseconds head_start = std::chrono::milliseconds(250);
};

}}}  // namespace thrum::THRUM_ABI::net

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// In the order to try them: those of the first one's family and the others in turns.
THRUM_OUT_OF_LINE std::vector<endpoint> alternating(std::span<const endpoint> all);

/// Throws what dial throws.
[[noreturn]] THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error, const endpoint& where);
[[noreturn]] THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error,
                                               std::span<const endpoint> all);
[[noreturn]] THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error, std::string_view text);

/// The moment that a time-out of dial() means: see there. time_point::max() is never.
THRUM_OUT_OF_LINE time_point dial_deadline(std::chrono::nanoseconds timeout) noexcept;

/// A time-out of any unit as dial() takes it: what is below 0 must not become 0.
template <class Rep, class Period>
std::chrono::nanoseconds dial_timeout(std::chrono::duration<Rep, Period> timeout) noexcept {
  const bool is_past = timeout < timeout.zero();
  return std::chrono::nanoseconds(is_past ? -1 : time_detail::nanoseconds_of(timeout));
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Connects to an endpoint. timeout 0: as long as the system tries, about two minutes; below 0: it
/// has passed already.
/// errc::deadline_exceeded, errc::connection_refused and so on. A cancellation point.
THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout = {});

/// The same for a text: that of an endpoint, or "host:service". The timeout is for all of it,
/// looking up the name included.
THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout = {});
THRUM_OUT_OF_LINE conn dial(const char* text, std::chrono::nanoseconds timeout = {});

/// The same for several endpoints, of which the one that is connected first is taken: see the head
/// of the file. If all fail, the error is that of the one that failed first. The timeout is for all
/// of it.
THRUM_OUT_OF_LINE conn dial(std::span<const endpoint> all, std::chrono::nanoseconds timeout,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(std::span<const endpoint> all, std::chrono::nanoseconds timeout = {});

/// A timeout in other units than nanoseconds, rounded up; one too long to count: for ever.
template <class Where, class Rep, class Period, std::same_as<std::error_code>... Error>
requires(!std::is_same_v<std::chrono::duration<Rep, Period>, std::chrono::nanoseconds>) conn
    dial(const Where& where, std::chrono::duration<Rep, Period> timeout, Error&... error) {
  return dial(where, net_detail::dial_timeout(timeout), error...);
}

/// Without a timeout, for an endpoint, a text, or several endpoints.
template <class Where, std::same_as<std::error_code> Error>
conn dial(const Where& where, Error& error) {
  return dial(where, std::chrono::nanoseconds(), error);
}

/// As dial, until a deadline, for an endpoint, a text, or several endpoints; time_point::max(): as
/// long as the system tries.
THRUM_OUT_OF_LINE conn dial_until(const endpoint& where, time_point deadline,
                                  const dial_options& how, std::error_code& error);
THRUM_OUT_OF_LINE conn dial_until(const endpoint& where, time_point deadline,
                                  const dial_options& how = {});
THRUM_OUT_OF_LINE conn dial_until(std::string_view text, time_point deadline,
                                  const dial_options& how, std::error_code& error);
THRUM_OUT_OF_LINE conn dial_until(std::string_view text, time_point deadline,
                                  const dial_options& how = {});
THRUM_OUT_OF_LINE conn dial_until(std::span<const endpoint> all, time_point deadline,
                                  const dial_options& how, std::error_code& error);
THRUM_OUT_OF_LINE conn dial_until(std::span<const endpoint> all, time_point deadline,
                                  const dial_options& how = {});
template <class Where>
conn dial_until(const Where& where, time_point deadline, std::error_code& error) {
  return dial_until(where, deadline, dial_options(), error);
}

/// dial until a stop: then std::errc::operation_canceled, and whatever was begun is ended. For an
/// endpoint, a text, or several endpoints; `error` as above. To be included, if not by <thrum.hpp>:
/// <thrum/detail/start/stoppable.hpp>.
template <class Where, stop_condition Stop>
conn dial(const Where& where, const Stop& stop, const dial_options& how, std::error_code& error) {
  return stop_detail::run_until_stopped(
      stop, error, [&] { return dial_until(where, time_point::max(), how, error); });
}
template <class Where, stop_condition Stop>
conn dial(const Where& where, const Stop& stop, std::error_code& error) {
  return dial(where, stop, dial_options(), error);
}
template <class Where, stop_condition Stop>
conn dial(const Where& where, const Stop& stop, const dial_options& how = {}) {
  std::error_code error;
  conn made = dial(where, stop, how, error);
  if (error) {
    net_detail::throw_dial(error, where);
  }
  return made;
}

/// dial with options; `error` as above.
template <class Where, class Rep, class Period, std::same_as<std::error_code>... Error>
conn dial(const Where& where, std::chrono::duration<Rep, Period> timeout, const dial_options& how,
          Error&... error) {
  return dial_until(where, net_detail::dial_deadline(net_detail::dial_timeout(timeout)), how,
                    error...);
}

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/chan.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/start/stoppable.hpp>  // IWYU pragma: keep: the wait with a stop
#include <thrum/go.hpp>
#include <thrum/net/resolve.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

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
        of_->connecting(&socket, nullptr);
      }
    }
    /// The same for one of another network.
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
  // If nobody listens, and the system chooses the very port for our end, TCP connects the socket
  // with itself. While that lives, the next try gets another port, and its answer.
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

  /// There is room for all outcomes: a try that is too late leaves its connection in a channel
  /// that nobody reads any more, and is closed with it.
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
    // Nobody waits for a try: what it needs of the caller's network, which may be gone when it begins,
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

THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error, const endpoint& where) {
  throw_endpoint(error, "dial", where);
}

THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error, std::span<const endpoint> all) {
  throw_endpoint(error, "dial", all.empty() ? endpoint() : all.front());
}

THRUM_OUT_OF_LINE void throw_dial(const std::error_code& error, std::string_view text) {
  base::throw_system(error, base::message<>("dial ").append_quoted(text).view());
}

THRUM_OUT_OF_LINE time_point dial_deadline(std::chrono::nanoseconds timeout) noexcept {
  const time_point now = now_of_deadlines();
  return timeout.count() == 0 || timeout >= time_point::max() - now ? time_point::max()
                                                                    : now + timeout;
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE conn dial_until(const endpoint& where, time_point deadline,
                                  const dial_options& how, std::error_code& error) {
  if (how.local.family() != address_family::none && how.local.family() != where.family()) {
    error = std::make_error_code(std::errc::address_family_not_supported);
    return conn();
  }
  return net_detail::dial_one(where, how.local, deadline, error);
}

THRUM_OUT_OF_LINE conn dial_until(std::span<const endpoint> all, time_point deadline,
                                  const dial_options& how, std::error_code& error) {
  if (all.empty()) {
    error = os::error_code_of(os::no_address);
    return conn();
  }
  const address_family own = how.local.family();
  std::vector<endpoint> fit = net_detail::alternating(all);
  if (own != address_family::none) {
    std::erase_if(fit, [&](const endpoint& each) { return each.family() != own; });
  }
  if (fit.size() < 2) {
    return dial_until(fit.empty() ? all.front() : fit.front(), deadline, how, error);
  }
  // Sockets that are there at the same time cannot have one port.
  return runtime::current() == nullptr || how.local.port() != 0
             ? net_detail::dial_each(fit, how.local, deadline, error)
             : net_detail::dial_staggered(fit, how, deadline, error);
}

THRUM_OUT_OF_LINE conn dial_until(std::string_view text, time_point deadline,
                                  const dial_options& how, std::error_code& error) {
  const std::vector<endpoint> all = resolve_until(text, deadline, error);
  return error ? conn() : dial_until(std::span(all), deadline, how, error);
}

THRUM_OUT_OF_LINE conn dial_until(const endpoint& where, time_point deadline,
                                  const dial_options& how) {
  std::error_code error;
  conn made = dial_until(where, deadline, how, error);
  if (error) {
    net_detail::throw_dial(error, where);
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial_until(std::span<const endpoint> all, time_point deadline,
                                  const dial_options& how) {
  std::error_code error;
  conn made = dial_until(all, deadline, how, error);
  if (error) {
    net_detail::throw_dial(error, all);
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial_until(std::string_view text, time_point deadline,
                                  const dial_options& how) {
  std::error_code error;
  conn made = dial_until(text, deadline, how, error);
  if (error) {
    net_detail::throw_dial(error, text);
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  return dial_until(where, net_detail::dial_deadline(timeout), error);
}

THRUM_OUT_OF_LINE conn dial(const endpoint& where, std::chrono::nanoseconds timeout) {
  return dial_until(where, net_detail::dial_deadline(timeout));
}

THRUM_OUT_OF_LINE conn dial(std::span<const endpoint> all, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  return dial_until(all, net_detail::dial_deadline(timeout), error);
}

THRUM_OUT_OF_LINE conn dial(std::span<const endpoint> all, std::chrono::nanoseconds timeout) {
  return dial_until(all, net_detail::dial_deadline(timeout));
}

THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  return dial_until(text, net_detail::dial_deadline(timeout), error);
}

THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout) {
  return dial_until(text, net_detail::dial_deadline(timeout));
}

THRUM_OUT_OF_LINE conn dial(const char* text, std::chrono::nanoseconds timeout) {
  return dial(std::string_view(text), timeout);
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
