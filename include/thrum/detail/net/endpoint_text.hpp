// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Reads an endpoint from a text, and writes it as one.
#ifndef THRUM_DETAIL_NET_ENDPOINT_TEXT_HPP
#define THRUM_DETAIL_NET_ENDPOINT_TEXT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/address_text.hpp>
#include <thrum/detail/net/errors.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/host_port.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::error_code endpoint::assign(std::string_view text) noexcept {
  constexpr std::string_view unix_prefix = "unix:";
  if (text.starts_with(unix_prefix)) {
    text.remove_prefix(unix_prefix.size());
    return text.starts_with('@') ? assign_abstract(text.substr(1)) : assign_path(text);
  }
  std::error_code error;
  const host_port parts = split_host_port(text, error);
  if (error) {
    return error;
  }
  const std::optional<std::uint16_t> port = port_number(parts.service);
  if (!port) {
    return endpoint_error::bad_port;
  }
  return assign_host(parts.host.empty() ? "::" : parts.host, *port);
}

THRUM_OUT_OF_LINE std::error_code endpoint::assign_host(std::string_view host,
                                                        std::uint16_t port) noexcept {
  std::error_code error;
  if (host.find(':') == std::string_view::npos) {
    const v4_address address = net_detail::read_v4(host, error);
    *this = error ? endpoint() : v4(address, port);
  } else {
    const net_detail::scoped_v6_address address = net_detail::read_v6(host, error);
    *this = error ? endpoint() : v6(address.bytes, port, address.scope);
  }
  return error;
}

THRUM_OUT_OF_LINE std::error_code endpoint::assign_path(std::string_view path) noexcept {
  if (path.empty()) {
    return endpoint_error::no_path;
  }
  if (path.find('\0') != std::string_view::npos) {
    return endpoint_error::nul_in_path;
  }
  if (path.size() + (path.starts_with('@') ? here.size() : 0) > max_path) {
    return endpoint_error::path_too_long;
  }
  set_local(path);
  return {};
}

THRUM_OUT_OF_LINE std::error_code endpoint::assign_abstract(std::string_view name) noexcept {
  if (name.empty()) {
    return endpoint_error::no_path;
  }
  if (name.size() > max_path) {
    return endpoint_error::path_too_long;
  }
  char native[max_path + 1] = {};
  std::copy(name.begin(), name.end(), native + 1);
  set_local({native, name.size() + 1});
  return {};
}

THRUM_OUT_OF_LINE std::optional<endpoint> endpoint::parse(std::string_view text) noexcept {
  endpoint result;
  return result.assign(text) ? std::nullopt : std::optional(result);
}

THRUM_OUT_OF_LINE std::optional<endpoint> endpoint::parse(std::string_view address,
                                                          std::uint16_t port) noexcept {
  endpoint result;
  return result.assign_host(address, port) ? std::nullopt : std::optional(result);
}

THRUM_OUT_OF_LINE endpoint endpoint::local(std::string_view path, std::error_code& error) noexcept {
  endpoint result;
  error = result.assign_path(path);
  return result;
}

THRUM_OUT_OF_LINE endpoint endpoint::abstract(std::string_view name,
                                              std::error_code& error) noexcept {
  endpoint result;
  error = result.assign_abstract(name);
  return result;
}

#if THRUM_EXCEPTIONS
THRUM_OUT_OF_LINE endpoint::endpoint(std::string_view text) {
  if (const std::error_code error = assign(text)) {
    base::throw_system(error, base::message<>("endpoint ").append_quoted(text).view());
  }
}

THRUM_OUT_OF_LINE endpoint endpoint::local(std::string_view path) {
  std::error_code error;
  const endpoint result = local(path, error);
  if (error) {
    base::throw_system(error, base::message<>("endpoint::local ").append_quoted(path).view());
  }
  return result;
}

THRUM_OUT_OF_LINE endpoint endpoint::abstract(std::string_view name) {
  std::error_code error;
  const endpoint result = abstract(name, error);
  if (error) {
    base::throw_system(error, base::message<>("endpoint::abstract ").append_quoted(name).view());
  }
  return result;
}

#endif

THRUM_OUT_OF_LINE std::string endpoint::address() const {
  switch (family()) {
    case address_family::v4: return net_detail::text_of_v4(address_bytes().first<4>());
    case address_family::v6: return net_detail::text_of_v6(address_bytes().first<16>(), scope());
    case address_family::local:
    case address_family::none: break;
  }
  return {};
}

THRUM_OUT_OF_LINE std::string endpoint::to_string() const {
  switch (family()) {
    case address_family::none: return {};
    case address_family::v4: return address() + ':' + std::to_string(port());
    case address_family::v6: return '[' + address() + "]:" + std::to_string(port());
    case address_family::local: break;
  }
  return std::string("unix:").append(is_abstract() ? "@" : "").append(path());
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
