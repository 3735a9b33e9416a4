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
  /// How long each of several endpoints has before the next one is tried as well.
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

/// Connects to what a text says: an endpoint, or "host:service". The timeout is for all of it, looking up
/// the name included; its values as for an endpoint.
THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(std::string_view text, std::chrono::nanoseconds timeout = {});
THRUM_OUT_OF_LINE conn dial(const char* text, std::chrono::nanoseconds timeout = {});

/// Connects to one of several endpoints. They are tried in turn, each 250 ms after the one before
/// (dial_options::head_start); the first that is connected wins, and the others are ended. If all fail,
/// the error is that of the one that failed first. The timeout is for all of it; its values as for one
/// endpoint.
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

/// dial until a stop: then std::errc::operation_canceled, and whatever was begun is ended. For an endpoint,
/// a text, or several endpoints; `error` as above. Needs <thrum/detail/start/stoppable.hpp>, which
/// <thrum.hpp> includes.
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
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/dial_try.hpp>
#include <thrum/detail/net/happy_eyeballs.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/net/resolve.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

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
