// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// resolve: endpoints from the names of hosts and services.
//
// The system's own resolver does the work, getaddrinfo(), so that /etc/hosts, /etc/nsswitch.conf,
// the name service caches and the order of RFC 6724 hold here as in every other program. It has no
// form that does not block, so it runs in threads of its own: see look_up.hpp. A resolver of our
// own could wait in the poller instead, and would know none of these files.
//
// Three things are answered without asking it:
//   - an address in numbers with a port in numbers needs no resolver, and takes no thread;
//   - names under .invalid exist nowhere, which RFC 6761 (6.4) asks libraries to know;
//   - ports in numbers never reach it: glibc takes signs and blanks, and cuts 65616 down to 80.
//
// No kind of socket is asked for, because some services are known for datagrams only. What is the
// same in the answers for streams and for datagrams is given once.
#ifndef THRUM_NET_RESOLVE_HPP
#define THRUM_NET_RESOLVE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/errors.hpp>  // IWYU pragma: export
#include <thrum/detail/os/socket_types.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/stop_condition.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

using namespace net;

/// The endpoints of a list of getaddrinfo() in its order, each once, with `port` if there is one.
/// Families that endpoint does not know are left out.
THRUM_OUT_OF_LINE std::vector<endpoint> endpoints_of(const ::addrinfo* list,
                                                     std::optional<std::uint16_t> port);

/// Whether RFC 6761 reserves the name for things that do not exist: "invalid" and what ends in
/// ".invalid", in letters of any case, also with a dot behind.
THRUM_OUT_OF_LINE bool is_reserved_invalid(std::string_view host) noexcept;

/// Throws what resolve throws.
[[noreturn]] THRUM_OUT_OF_LINE void throw_resolve(const std::error_code& error,
                                                  std::string_view host, std::string_view service);
[[noreturn]] THRUM_OUT_OF_LINE void throw_resolve(const std::error_code& error,
                                                  std::string_view text);

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

/// The endpoints of a service on a host, the one to try first in front; at least one. The host is a
/// name, an IPv4 or IPv6 address (without brackets), or empty for any address; the service a name,
/// a number, or empty for port 0. On failure sets `error` and returns none: a resolve_error,
/// endpoint_error::bad_port, an error of the system, or errc::deadline_exceeded. Blocks the goroutine, or
/// the calling thread, until the system's resolver has answered. At the deadline the caller returns; the
/// resolver goes on in its thread, and no caller waits for it. A cancellation point. If no thread can be
/// made the resolver runs on the goroutine's stack: some 20 KiB with glibc, so leave it 64. May be called
/// from any thread.
THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view host,
                                                      std::string_view service, time_point deadline,
                                                      std::error_code& error);

/// resolve_until(host, service, deadline) without a deadline: takes as long as the resolver does.
THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view host, std::string_view service,
                                                std::error_code& error);

/// The endpoints of a text: an endpoint, or "host:service" as split_host_port() takes it. Only the names in
/// it are looked up. `error` may be any endpoint_error too. The rest as for a host and a service.
THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view text, time_point deadline,
                                                      std::error_code& error);
THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view text, std::error_code& error);

/// resolve until a stop, which is std::errc::operation_canceled then. Needs
/// <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
template <until_condition Stop>
std::vector<endpoint> resolve(std::string_view host, std::string_view service, const Stop& stop,
                              std::error_code& error) {
  return stop_detail::run_until_stopped(stop, error, [&] { return resolve(host, service, error); });
}
template <until_condition Stop>
std::vector<endpoint> resolve(std::string_view text, const Stop& stop, std::error_code& error) {
  return stop_detail::run_until_stopped(stop, error, [&] { return resolve(text, error); });
}

#if THRUM_EXCEPTIONS
/// resolve(host, service) until a stop; throws std::system_error, which names host and service.
template <until_condition Stop>
std::vector<endpoint> resolve(std::string_view host, std::string_view service, const Stop& stop) {
  std::error_code error;
  std::vector<endpoint> found = resolve(host, service, stop, error);
  if (error) {
    net_detail::throw_resolve(error, host, service);
  }
  return found;
}

/// resolve(text) until a stop; throws std::system_error, which names the text.
template <until_condition Stop>
std::vector<endpoint> resolve(std::string_view text, const Stop& stop) {
  std::error_code error;
  std::vector<endpoint> found = resolve(text, stop, error);
  if (error) {
    net_detail::throw_resolve(error, text);
  }
  return found;
}

/// resolve_until and resolve that throw std::system_error, which names host and service.
THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view host,
                                                      std::string_view service,
                                                      time_point deadline);
THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view host, std::string_view service);

/// resolve_until and resolve for a text that throw std::system_error, which names it.
THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view text, time_point deadline);
THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view text);
#endif

}}}  // namespace thrum::THRUM_ABI::net

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/look_up.hpp>
#include <thrum/detail/net/network.hpp>
#include <thrum/net/host_port.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace thrum { inline namespace THRUM_ABI { namespace net_detail {

THRUM_OUT_OF_LINE std::vector<endpoint> endpoints_of(const ::addrinfo* list,
                                                     std::optional<std::uint16_t> port) {
  std::vector<endpoint> found;
  for (const ::addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    endpoint e =
        endpoint::from_native(entry->ai_addr, base::convert<::socklen_t>(entry->ai_addrlen));
    if (port) {
      e = e.with_port(*port);
    }
    if (e.family() != address_family::none &&
        std::find(found.begin(), found.end(), e) == found.end()) {
      found.push_back(e);
    }
  }
  return found;
}

THRUM_OUT_OF_LINE bool is_reserved_invalid(std::string_view host) noexcept {
  constexpr std::string_view reserved = "invalid";
  if (host.ends_with('.')) {
    host.remove_suffix(1);
  }
  if (host.size() < reserved.size()) {
    return false;
  }
  const std::string_view label = host.substr(host.size() - reserved.size());
  const bool is_whole =
      label.size() == host.size() || host[host.size() - reserved.size() - 1] == '.';
  return is_whole && std::equal(label.begin(), label.end(), reserved.begin(),
                                [](char a, char b) { return (a | 0x20) == b; });
}

THRUM_OUT_OF_LINE void throw_resolve(const std::error_code& error, std::string_view host,
                                     std::string_view service) {
  base::message<512> text("resolve host ");
  text.append_quoted(host).append(", service ").append_quoted(service);
  base::throw_system(error, text.view());
}

THRUM_OUT_OF_LINE void throw_resolve(const std::error_code& error, std::string_view text) {
  base::throw_system(error, base::message<>("resolve ").append_quoted(text).view());
}

/// Whether the resolver should see it as the name of a service: RFC 6335 (5.1) wants a letter, and
/// without one glibc would try to read a number.
inline bool is_service_name(std::string_view service) noexcept {
  return service.find('\0') == std::string_view::npos &&
         std::any_of(service.begin(), service.end(), [](char c) {
           const char lower = static_cast<char>(c | 0x20);
           return lower >= 'a' && lower <= 'z';
         });
}

}}}  // namespace thrum::THRUM_ABI::net_detail

namespace thrum { inline namespace THRUM_ABI { namespace net {

THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view host,
                                                      std::string_view service, time_point deadline,
                                                      std::error_code& error) {
  constexpr std::size_t longest = NI_MAXHOST;  // beyond that the resolver only copies
  error.clear();
  const std::optional<std::uint16_t> port = port_number(service.empty() ? "0" : service);
  const std::string_view name = host.empty() ? "::" : host;
  if (port) {
    if (const std::optional<endpoint> numeric = endpoint::parse(name, *port)) {
      return {*numeric};
    }
  } else if (!net_detail::is_service_name(service) || service.size() >= longest) {
    error = endpoint_error::bad_port;
    return {};
  }
  if (name.find('\0') != std::string_view::npos || name.size() >= longest ||
      net_detail::is_reserved_invalid(name)) {
    error = resolve_error::host_not_found;
    return {};
  }

  if (net_detail::network* const other = net_detail::network_of_caller()) {
    return other->look_up(name, port, service, error);
  }
  const auto answer =
      net_detail::look_ups::of_process().find(std::string(name), std::string(port ? "" : service),
                                              time_detail::deadline_at(deadline), error);
  if (answer == nullptr) {
    return {};
  }
  error = answer->error();
  if (error) {
    return {};
  }
  std::vector<endpoint> found = net_detail::endpoints_of(answer->list(), port);
  if (found.empty()) {
    error = resolve_error::host_not_found;
  }
  return found;
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view host, std::string_view service,
                                                std::error_code& error) {
  return resolve_until(host, service, time_point::max(), error);
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view text, time_point deadline,
                                                      std::error_code& error) {
  const endpoint written(text, error);
  if (!error) {
    return {written};
  }
  if (error != endpoint_error::not_an_address && error != endpoint_error::bad_port) {
    return {};
  }
  const host_port parts = split_host_port(text, error);
  return error ? std::vector<endpoint>()
               : resolve_until(parts.host, parts.service, deadline, error);
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view text, std::error_code& error) {
  return resolve_until(text, time_point::max(), error);
}

#if THRUM_EXCEPTIONS
THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view host,
                                                      std::string_view service,
                                                      time_point deadline) {
  std::error_code error;
  std::vector<endpoint> found = resolve_until(host, service, deadline, error);
  if (error) {
    net_detail::throw_resolve(error, host, service);
  }
  return found;
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view host, std::string_view service) {
  return resolve_until(host, service, time_point::max());
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve_until(std::string_view text, time_point deadline) {
  std::error_code error;
  std::vector<endpoint> found = resolve_until(text, deadline, error);
  if (error) {
    net_detail::throw_resolve(error, text);
  }
  return found;
}

THRUM_OUT_OF_LINE std::vector<endpoint> resolve(std::string_view text) {
  return resolve_until(text, time_point::max());
}

#endif

}}}  // namespace thrum::THRUM_ABI::net
#endif

#endif  // THRUM_NET_RESOLVE_HPP
