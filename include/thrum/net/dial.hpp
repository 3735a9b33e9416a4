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
#include <thrum/until.hpp>

#include <chrono>
#include <concepts>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// How to dial.
struct dial_options {
  /// The address of this end: an address of this machine, with port 0 unless it must be that
  /// one. Of several endpoints to dial only those of its family are tried. None: the system chooses.
  endpoint local{};
  /// How long each of several endpoints has before the next one is tried as well.
  std::chrono::nanoseconds head_start = std::chrono::milliseconds(250);
  /// When the dial ends, looking up the name included. A time or a moment: errc::deadline_exceeded then; a
  /// stop or a context: std::errc::operation_canceled, and all that was begun is ended. A time of 0, or
  /// time_point::max(): as long as the system tries, about two minutes. A time below 0 has passed.
  thrum::until until = std::chrono::nanoseconds();
};

/// What to dial: an endpoint, several endpoints, or a text. Refers to what it is made of.
class dial_target {
 public:
  /// One.
  dial_target(const endpoint& one) noexcept : all_(&one, 1) {}

  /// Several, such as a std::vector<endpoint>. They are tried in turn, each 250 ms after the one before
  /// (dial_options::head_start); the first that is connected wins, and the others are ended. If all fail,
  /// the error is that of the one that failed first.
  template <std::convertible_to<std::span<const endpoint>> Range>
  dial_target(const Range& several) noexcept : all_(several) {}

  /// An endpoint as text, or "host:service", which is looked up.
  template <std::convertible_to<std::string_view> Text>
  dial_target(const Text& text) noexcept : text_(text), is_text_(true) {}

  /// The endpoints; none of a text.
  std::span<const endpoint> endpoints() const noexcept { return all_; }
  std::string_view text() const noexcept { return text_; }
  bool is_text() const noexcept { return is_text_; }

 private:
  std::span<const endpoint> all_;
  std::string_view text_;
  bool is_text_ = false;
};

}}}  // namespace thrum::THRUM_ABI::net

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// In the order to try them: those of the first one's family and the others in turns.
THRUM_OUT_OF_LINE std::vector<endpoint> alternating(std::span<const endpoint> all);

/// dial() until a moment only, and its parts by what is dialled.
THRUM_OUT_OF_LINE conn dial_until(const dial_target& where, const dial_options& how,
                                  time_point deadline, std::error_code& error);
THRUM_OUT_OF_LINE conn dial_endpoint(const endpoint& where, const dial_options& how,
                                     time_point deadline, std::error_code& error);
THRUM_OUT_OF_LINE conn dial_several(std::span<const endpoint> all, const dial_options& how,
                                    time_point deadline, std::error_code& error);

/// The options with another end.
THRUM_OUT_OF_LINE dial_options with_end(dial_options how, const until& end);

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// Connects to an endpoint, to one of several, or to what a text says. std::system_error, or `error`:
/// errc::deadline_exceeded, errc::connection_refused and so on. A cancellation point.
THRUM_OUT_OF_LINE conn dial(const dial_target& where, const dial_options& how,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(const dial_target& where, const dial_options& how = {});
THRUM_OUT_OF_LINE conn dial(const dial_target& where, std::error_code& error);

/// dial until `end` in place of dial_options::until.
THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end, const dial_options& how,
                            std::error_code& error);
THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end,
                            const dial_options& how = {});
THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end, std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/happy_eyeballs.hpp>
#include <thrum/detail/net/socket.hpp>
#include <thrum/net/resolve.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

THRUM_OUT_OF_LINE dial_options with_end(dial_options how, const until& end) {
  how.until = end;
  return how;
}

THRUM_OUT_OF_LINE conn dial_endpoint(const endpoint& where, const dial_options& how,
                                     time_point deadline, std::error_code& error) {
  if (how.local.family() != address_family::none && how.local.family() != where.family()) {
    error = std::make_error_code(std::errc::address_family_not_supported);
    return conn();
  }
  return dial_one(where, how.local, deadline, error);
}

THRUM_OUT_OF_LINE conn dial_until(const dial_target& where, const dial_options& how,
                                  time_point deadline, std::error_code& error) {
  if (!where.is_text()) {
    return dial_several(where.endpoints(), how, deadline, error);
  }
  const std::vector<endpoint> all = resolve_until(where.text(), deadline, error);
  return error ? conn() : dial_several(all, how, deadline, error);
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE conn dial(const dial_target& where, const dial_options& how,
                            std::error_code& error) {
  return how.until.run(error, [&](time_point deadline) {
    return net_detail::dial_until(where, how, deadline, error);
  });
}

THRUM_OUT_OF_LINE conn dial(const dial_target& where, const dial_options& how) {
  std::error_code error;
  conn made = dial(where, how, error);
  if (error && where.is_text()) {
    base::throw_system(error, base::message<>("dial ").append_quoted(where.text()).view());
  } else if (error) {
    const auto all = where.endpoints();
    net_detail::throw_endpoint(error, "dial", all.empty() ? endpoint() : all.front());
  }
  return made;
}

THRUM_OUT_OF_LINE conn dial(const dial_target& where, std::error_code& error) {
  return dial(where, dial_options(), error);
}

THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end, const dial_options& how,
                            std::error_code& error) {
  return dial(where, net_detail::with_end(how, end), error);
}

THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end, const dial_options& how) {
  return dial(where, net_detail::with_end(how, end));
}

THRUM_OUT_OF_LINE conn dial(const dial_target& where, const until& end, std::error_code& error) {
  return dial(where, dial_options{.until = end}, error);
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif
