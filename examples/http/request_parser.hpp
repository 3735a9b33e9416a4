// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The head of an HTTP/1.x request (RFC 9112), read line by line as it arrives.
//
// The caller collects what arrives in a buffer and shows the parser all of it, from the request's
// first byte on, each time there is more. Only complete lines are judged, in their order, and each
// once; so what comes out does not depend on how the network has cut the stream. The buffer may
// move between two calls, since all that is kept are offsets.
//
// Strict where laxness lets two servers see two requests in one text: lines end with CR LF only, no
// blank before the colon, no folded lines, one Host, one length, no control characters.
#ifndef THRUM_EXAMPLES_HTTP_REQUEST_PARSER_HPP
#define THRUM_EXAMPLES_HTTP_REQUEST_PARSER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace http {

enum class status : std::uint16_t {
  more = 0,  ///< nothing wrong so far, and not complete
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  request_timeout = 408,
  content_too_large = 413,
  head_too_large = 431,
  unavailable = 503,
  version_not_supported = 505,
};

class request_parser {
 public:
  static constexpr std::size_t max_head = 8192;

  /// Looks at the text of a request, of which earlier calls have seen the beginning. `more`: asks
  /// to be called again when it has grown; `ok`: size() bytes are the head, the rest is behind it;
  /// else what to answer before the connection is closed.
  status parse(std::string_view text) {
    const std::string_view seen = text.substr(0, max_head);
    while (answer_ == status::more) {
      const std::size_t end = seen.find('\n', searched_);
      if (end == std::string_view::npos) {
        searched_ = seen.size();
        if (seen.size() == max_head) {
          answer_ = status::head_too_large;
        }
        break;
      }
      const std::string_view line = seen.substr(size_, end - size_);
      answer_ =
          line.ends_with('\r') ? read_line(line.substr(0, line.size() - 1)) : status::bad_request;
      size_ = searched_ = end + 1;
    }
    return answer_;
  }

  std::size_t size() const { return size_; }

  // After `ok`; the text is the one that was parsed, perhaps moved.
  std::string_view method(std::string_view text) const { return text.substr(line_, method_); }
  std::string_view target(std::string_view text) const {
    return text.substr(line_ + method_ + 1, target_);
  }
  /// Whether the client wants to go on with this connection.
  bool keep_alive() const { return minor_ == 0 ? keep_ && !close_ : !close_; }
  /// A request of HTTP/1.0: its client must be told whether the connection stays.
  bool is_old() const { return minor_ == 0; }
  bool has_body() const { return is_chunked_ || length_ > 0; }

 private:
  static bool is_token_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  }
  static bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
  }
  static bool is_visible(char c) { return c > 0x20 && c < 0x7f; }
  static bool is_value_char(char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
  static bool equals(std::string_view text, std::string_view lower_case) {
    return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                      [](char a, char b) { return lower(a) == b; });
  }
  static std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
      return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  }

  status read_line(std::string_view line) {
    if (!has_request_line_) {
      if (line.empty()) {
        return status::more;  // clients may send empty lines before a request
      }
      has_request_line_ = true;
      return read_request_line(line);
    }
    return line.empty() ? finish() : read_field(line);
  }

  status read_request_line(std::string_view line) {
    line_ = size_;
    method_ = std::min(line.find(' '), line.size());
    if (!is_token(line.substr(0, method_)) || method_ == line.size()) {
      return status::bad_request;
    }
    const std::string_view rest = line.substr(method_ + 1);
    target_ = std::min(rest.find(' '), rest.size());
    const std::string_view name = rest.substr(0, target_);
    if (name.empty() || target_ == rest.size() ||
        !std::all_of(name.begin(), name.end(), is_visible)) {
      return status::bad_request;
    }
    const std::string_view version = rest.substr(target_ + 1);
    const auto is_digit = [&](std::size_t i) { return version[i] >= '0' && version[i] <= '9'; };
    if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit(5) || version[6] != '.' ||
        !is_digit(7)) {
      return status::bad_request;
    }
    minor_ = version[7] - '0';
    return version[5] == '1' ? status::more : status::version_not_supported;
  }

  status read_field(std::string_view line) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    if (colon == line.size() || !is_token(name)) {
      return status::bad_request;
    }
    const std::string_view value = trim(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), is_value_char)) {
      return status::bad_request;
    }
    if (equals(name, "host")) {
      return ++hosts_ > 1 ? status::bad_request : status::more;
    }
    if (equals(name, "connection")) {
      read_connection(value);
    } else if (equals(name, "transfer-encoding")) {
      is_chunked_ = true;
    } else if (equals(name, "content-length")) {
      return read_length(value);
    }
    return status::more;
  }

  void read_connection(std::string_view list) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string_view word = trim(list.substr(0, end));
      close_ = close_ || equals(word, "close");
      keep_ = keep_ || equals(word, "keep-alive");
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }

  status read_length(std::string_view digits) {
    constexpr std::uint64_t most = UINT64_MAX / 10 - 1;
    std::uint64_t length = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || length > most) {
        return status::bad_request;
      }
      length = length * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (digits.empty() || (has_length_ && length != length_)) {
      return status::bad_request;
    }
    has_length_ = true;
    length_ = length;
    return status::more;
  }

  status finish() const {
    const bool is_ambiguous = is_chunked_ && (has_length_ || minor_ == 0);
    return is_ambiguous || (minor_ != 0 && hosts_ == 0) ? status::bad_request : status::ok;
  }

  status answer_ = status::more;
  std::size_t size_ = 0;      // of the lines that were read
  std::size_t searched_ = 0;  // up to here there is no other line end
  std::size_t line_ = 0;      // where the request line begins
  std::size_t method_ = 0;    // its size
  std::size_t target_ = 0;    // its size
  int minor_ = 0;
  int hosts_ = 0;
  std::uint64_t length_ = 0;
  bool has_request_line_ = false;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool close_ = false;
  bool keep_ = false;
};

}  // namespace http

#endif
