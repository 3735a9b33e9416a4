// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// dial: making connections.
//
// A name may have several addresses. They are tried one after the other, each with its share of the
// time that is left; and if there are addresses of both IP families, the second family starts
// 300 ms after the first, or when that has failed (RFC 8305; Go's order and delay). Whichever is
// connected first wins.
//
// When a socket is connected: it became writable, has no error, and knows its peer. Only the three
// together say so; a socket that was registered with a poller too early is writable once for
// nothing (Go's issues 7474, 14548, 19289).
#ifndef THRUM_NET_DIAL_HPP
#define THRUM_NET_DIAL_HPP

#include <thrum/base/config.hpp>
#include <thrum/deadline.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>

#include <chrono>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

class dial_end;

/// Several endpoints, one after the other.
THRUM_OUT_OF_LINE conn dial_each(std::span<const endpoint> all, time_point deadline,
                                 std::error_code& error, dial_end* ended = nullptr);

/// Two lists of endpoints; the second has to wait.
THRUM_OUT_OF_LINE conn dial_race(std::vector<endpoint> first, std::vector<endpoint> second,
                                 time_point deadline, std::error_code& error);

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

/// A timeout in other units than nanoseconds, rounded up; one too long to count: for ever.
template <class Where, class Rep, class Period, class... Error>
requires(!std::is_same_v<std::chrono::duration<Rep, Period>, std::chrono::nanoseconds>) conn
    dial(const Where& where, std::chrono::duration<Rep, Period> timeout, Error&... error) {
  // What is below 0 must not become 0.
  const bool is_past = timeout < timeout.zero();
  return dial(where, std::chrono::nanoseconds(is_past ? -1 : time_detail::nanoseconds_of(timeout)),
              error...);
}

}}}  // namespace thrum::THRUM_ABI::net

#if !THRUM_SEPARATE
#include <thrum/net/dial_definition.hpp>
#endif

#endif
