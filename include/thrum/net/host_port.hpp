// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A text "host:port" cut in two. Nothing is looked up, and neither part is understood: the host may
// be a name or an address, the port a number or the name of a service.
//
// Brackets are the one thing that is decided here. They stand around a host if and only if that
// host contains a colon, so a caller that gets the parts knows an IPv6 address by its colon, and
// each pair of parts has one text.
#ifndef THRUM_NET_HOST_PORT_HPP
#define THRUM_NET_HOST_PORT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/errors.hpp>  // IWYU pragma: export

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// The two parts of a text; they point into it.
struct host_port {
  std::string_view host;     ///< without brackets; empty in ":80"
  std::string_view service;  ///< behind the last colon, never empty
};

/// Cuts "localhost:80", "example.org:https", "[::1]:80", ":80" into host and service. On a text of
/// another form sets `error` to no_port, no_brackets or bad_brackets and returns empty parts.
THRUM_OUT_OF_LINE host_port split_host_port(std::string_view text, std::error_code& error) noexcept;

#if THRUM_EXCEPTIONS
/// split_host_port(text, error) that throws std::system_error instead of returning empty parts.
THRUM_OUT_OF_LINE host_port split_host_port(std::string_view text);
#endif

/// A port in decimal digits, or nothing if the text is not a number from 0 to 65535.
THRUM_OUT_OF_LINE std::optional<std::uint16_t> port_number(std::string_view text) noexcept;

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>

#include <charconv>
#include <cstddef>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE host_port split_host_port(std::string_view text,
                                            std::error_code& error) noexcept {
  const auto refuse = [&](endpoint_error why) {
    error = why;
    return host_port{};
  };
  error.clear();
  host_port parts;
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return refuse(endpoint_error::bad_brackets);
    }
    parts.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (rest.empty()) {
      return refuse(endpoint_error::no_port);
    }
    if (rest.front() != ':' || parts.host.find(':') == std::string_view::npos) {
      return refuse(endpoint_error::bad_brackets);
    }
  } else {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
      return refuse(endpoint_error::no_port);
    }
    parts.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  parts.service = rest.substr(1);
  if (parts.host.find('[') != std::string_view::npos ||
      parts.service.find_first_of("[]") != std::string_view::npos ||
      (!text.starts_with('[') && parts.host.find(']') != std::string_view::npos)) {
    return refuse(endpoint_error::bad_brackets);
  }
  if (parts.service.find(':') != std::string_view::npos) {
    return refuse(endpoint_error::no_brackets);
  }
  return parts.service.empty() ? refuse(endpoint_error::no_port) : parts;
}

#if THRUM_EXCEPTIONS
THRUM_OUT_OF_LINE host_port split_host_port(std::string_view text) {
  std::error_code error;
  const host_port parts = split_host_port(text, error);
  if (error) {
    base::throw_system(error, base::message<>("split_host_port ").append_quoted(text).view());
  }
  return parts;
}

#endif

THRUM_OUT_OF_LINE std::optional<std::uint16_t> port_number(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return port;
}

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif  // THRUM_NET_HOST_PORT_HPP
