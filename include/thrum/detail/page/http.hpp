// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the live page needs of HTTP: one request without a body, one answer, and the end of the connection.
//
// Purpose
//   A browser, curl and go tool pprof read figures of the program. Other pages of that browser must not.
//
// How a request of another page is refused
//   DNS rebinding   its Host header has the other page's name: only known names are served.
//   a plain fetch   the browser keeps the answer from the other page, and Sec-Fetch-Site says that it is one.
//   a frame         frame-ancestors in Content-Security-Policy.
#ifndef THRUM_DETAIL_PAGE_HTTP_HPP
#define THRUM_DETAIL_PAGE_HTTP_HPP

#include <thrum/detail/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace page_detail {

/// Bytes of a request, at most.
inline constexpr std::size_t max_head = 8192;

struct request {
  std::string_view method;
  std::string_view path;
  std::string_view query;  // behind the question mark
  std::string_view host;
  std::string_view authorization;
  std::string_view fetch_site;
};

struct answer {
  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body;
  std::string_view file_name = {};  // a browser saves it under this name
};

inline bool is_same_word(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

inline bool contains_word(std::string_view text, std::string_view part) noexcept {
  for (std::size_t i = 0; i + part.size() <= text.size(); ++i) {
    if (is_same_word(text.substr(i, part.size()), part)) {
      return true;
    }
  }
  return part.empty();
}

/// Reads the head of a request, which ends with an empty line. False: it is malformed, or has a body.
inline bool parse(std::string_view head, request& to) noexcept {
  constexpr std::string_view end_of_line = "\r\n";
  const auto next_line = [&] {
    const std::string_view line = head.substr(0, head.find(end_of_line));
    head.remove_prefix(std::min(head.size(), line.size() + end_of_line.size()));
    return line;
  };
  const auto is_plain = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  };
  const std::string_view first = next_line();
  const std::size_t space = first.find(' ');
  const std::size_t last_space = first.rfind(' ');
  if (space == first.npos || space == last_space || space == 0) {
    return false;
  }
  to.method = first.substr(0, space);
  const std::string_view target = first.substr(space + 1, last_space - space - 1);
  const std::string_view version = first.substr(last_space + 1);
  if (!target.starts_with('/') || !is_plain(target) || !is_plain(to.method) ||
      (version != "HTTP/1.1" && version != "HTTP/1.0")) {
    return false;
  }
  to.path = target.substr(0, target.find('?'));
  to.query = target.substr(std::min(target.size(), to.path.size() + 1));
  unsigned hosts = 0;
  for (std::string_view line = next_line(); !line.empty(); line = next_line()) {
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == line.npos || name.empty() || !is_plain(name)) {
      return false;
    }
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    if (is_same_word(name, "host")) {
      to.host = value;
      ++hosts;
    } else if (is_same_word(name, "authorization")) {
      to.authorization = value;
    } else if (is_same_word(name, "sec-fetch-site")) {
      to.fetch_site = value;
    } else if (is_same_word(name, "transfer-encoding") ||
               (is_same_word(name, "content-length") && value != "0")) {
      return false;
    }
  }
  return hosts == 1;
}

/// A parameter of the query, decoded; empty if it is not there.
inline std::string parameter(std::string_view query, std::string_view name) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.substr(0, pair.find('=')) != name) {
      continue;
    }
    const std::string_view raw = pair.substr(std::min(pair.size(), name.size() + 1));
    std::string value;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const bool is_code =
          raw[i] == '%' && i + 2 < raw.size() && digit(raw[i + 1]) >= 0 && digit(raw[i + 2]) >= 0;
      value += is_code         ? static_cast<char>(16 * digit(raw[i + 1]) + digit(raw[i + 2]))
               : raw[i] == '+' ? ' '
                               : raw[i];
      i += is_code ? 2 : 0;
    }
    return value;
  }
  return {};
}

/// A parameter that is a number of at most `most`; `otherwise` if it is not there, or no number.
inline std::uint64_t number_parameter(std::string_view query, std::string_view name,
                                      std::uint64_t otherwise, std::uint64_t most) {
  const std::string text = parameter(query, name);
  std::uint64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return otherwise;
    }
    n = std::min(most, 10 * n + static_cast<std::uint64_t>(c - '0'));
  }
  return text.empty() ? otherwise : n;
}

/// The name of a Host header, without the port.
inline std::string_view host_name(std::string_view host) noexcept {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');
  return host.substr(0, end);
}

/// Takes as long for each text of the right length, so that the time does not say how much of it is right.
inline bool is_secret(std::string_view given, std::string_view secret) noexcept {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i != given.size() && i != secret.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]);
  }
  return difference == 0;
}

inline std::string_view reason(unsigned status) noexcept {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    default: return "Service Unavailable";
  }
}

/// An answer as it is sent; without its body for a HEAD.
inline std::string as_text(const answer& from, bool has_body) {
  std::string text = "HTTP/1.1 " + std::to_string(from.status) + " ";
  text.append(reason(from.status)).append("\r\nContent-Type: ").append(from.type);
  text.append("\r\nContent-Length: ").append(std::to_string(from.body.size()));
  if (from.status == 401) {
    text.append("\r\nWWW-Authenticate: Bearer");
  } else if (from.status == 405) {
    text.append("\r\nAllow: GET, HEAD");
  }
  if (!from.file_name.empty()) {
    text.append("\r\nContent-Disposition: attachment; filename=\"").append(from.file_name);
    text.append("\"");
  }
  text.append(
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: "
      "no-referrer"
      "\r\nCross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src "
      "'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n");
  return has_body ? text.append(from.body) : text;
}

}}}  // namespace thrum::THRUM_ABI::page_detail

#endif
