// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The request parser of examples/http_server: what it takes, what it refuses, and that it does not
// matter in what pieces a request arrives.

#include "../examples/http/request_parser.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using http::request_parser;
using http::status;

status parse(const std::string& text) { return request_parser().parse(text); }

status parse_with(const std::string& fields) {
  return parse("GET / HTTP/1.1\r\n" + fields + "\r\n");
}

/// A stream of requests as a server reads it: what comes out, as text.
class reading {
 public:
  void add(std::string_view piece) {
    buffer_ += piece;
    while (!buffer_.empty() && !failed_) {
      const status result = parser_.parse(buffer_);
      if (result == status::more) {
        return;
      }
      seen_ += std::to_string(static_cast<int>(result));
      if (result != status::ok) {
        failed_ = true;
        return;
      }
      seen_ += ' ';
      seen_ += parser_.method(buffer_);
      seen_ += ' ';
      seen_ += parser_.target(buffer_);
      seen_ += parser_.keep_alive() ? " keep" : " close";
      seen_ += parser_.is_old() ? " old" : "";
      seen_ += parser_.has_body() ? " body" : "";
      seen_ += " " + std::to_string(parser_.size()) + "\n";
      buffer_.erase(0, parser_.size());
      parser_ = {};
    }
  }
  const std::string& seen() const { return seen_; }

 private:
  std::string buffer_;
  request_parser parser_;
  std::string seen_;
  bool failed_ = false;
};

constexpr std::string_view words[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /x?y=%20 HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n",
    "GET http://b/c HTTP/1.1\r\nhost:b\r\nTransfer-Encoding: chunked\r\n\r\n",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "%",
    "Host: a\r\n",
    "Host : a\r\n",
    " folded\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Connection: close\r\n",
    "HTTP/1.1",
    "HTTP/2.0",
};

class request_generator {
 public:
  explicit request_generator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }

  /// Requests, most of them damaged.
  std::string stream() {
    std::string text;
    for (std::size_t n = 1 + below(4); n != 0; --n) {
      text += words[below(below(2) == 0 ? 5 : std::size(words))];
    }
    if (below(8) == 0) {
      text.insert(below(text.size() + 1), 8000 + below(400), 'x');
    }
    for (std::size_t n = below(4); n != 0 && !text.empty(); --n) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = static_cast<char>(random_()); break;
        case 1: text.erase(at, 1 + below(4)); break;
        case 2: text.insert(at, words[below(std::size(words))]); break;
        default: text.insert(at, text.substr(below(text.size()), below(40))); break;
      }
    }
    return text;
  }

  std::string read_in_pieces(const std::string& text, std::size_t longest) {
    reading result;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t n = std::min(rest.size(), 1 + below(longest));
      result.add(rest.substr(0, n));
      rest.remove_prefix(n);
    }
    return result.seen();
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a request ends with its empty line, and the next one begins behind it") {
  const std::string two =
      "\r\nGET /a?b HTTP/1.1\r\nHost: x\r\n\r\nHEAD * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  reading all;
  all.add(two);
  CHECK(all.seen() == "200 GET /a?b keep 32\n200 HEAD * keep old 43\n");
  CHECK(parse("GET / HTTP/1.1\r\nHost: x\r\n") == status::more);
  CHECK(parse("") == status::more);
}

TEST_CASE("the version and the Connection field decide whether a connection is kept") {
  const auto keeps = [](const std::string& version, const std::string& fields) {
    request_parser parser;
    const status result = parser.parse("GET / " + version + "\r\nHost: a\r\n" + fields + "\r\n");
    return result == status::ok && parser.keep_alive();
  };
  CHECK(keeps("HTTP/1.1", ""));
  CHECK_FALSE(keeps("HTTP/1.1", "Connection: close\r\n"));
  CHECK_FALSE(keeps("HTTP/1.1", "Connection: x , CLOSE\r\n"));
  CHECK(keeps("HTTP/1.1", "Connection: closed\r\n"));
  CHECK_FALSE(keeps("HTTP/1.0", ""));
  CHECK(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  CHECK_FALSE(keeps("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n"));
}

TEST_CASE("a request that two servers might read differently is refused") {
  CHECK(parse_with("Host: a\r\n") == status::ok);
  for (const char* const fields :
       {"", "Host: a\r\nHost: b\r\n", "Host : a\r\n", "Host: a\r\n folded: b\r\n", ": a\r\n",
        "Host\r\n", "Host: a\nx: y\r\n", "Host: a\r\nContent-Length: +1\r\n",
        "Host: a\r\nContent-Length:\r\n", "Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "Host: a\r\nContent-Length: 18446744073709551616\r\n",
        "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", "Host: a\rb\r\n",
        "Host: a\x7f\r\n"}) {
    INFO(fields);
    CHECK(parse_with(fields) == status::bad_request);
  }
  CHECK(parse_with(std::string("Host: a\0b\r\n", 11)) == status::bad_request);
  for (const char* const line :
       {"GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /a b HTTP/1.1",
        "G(T / HTTP/1.1", "GET /\t HTTP/1.1", "GET /\xc3\xa4 HTTP/1.1", "GET / http/1.1",
        "GET / HTTP/1.", "GET / HTTP/11"}) {
    INFO(line);
    CHECK(parse(std::string(line) + "\r\nHost: a\r\n\r\n") == status::bad_request);
  }
  CHECK(parse("GET / HTTP/2.0\r\n") == status::version_not_supported);
}

TEST_CASE("a request head of 8 KiB is accepted, and a longer one is refused") {
  const std::string before = "GET / HTTP/1.1\r\nHost: a\r\nx: ";
  const std::string after = "\r\n\r\n";
  const std::size_t room = request_parser::max_head - before.size() - after.size();
  CHECK(parse(before + std::string(room, 'y') + after) == status::ok);
  CHECK(parse(before + std::string(room + 1, 'y') + after) == status::head_too_large);
  CHECK(parse(before + std::string(room, 'y')) == status::more);
}

TEST_CASE("requests are parsed alike in whatever pieces they arrive") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  request_generator make(seed);
  std::array<int, 2> outcomes{};  // to see that the streams are neither all good nor all bad
  for (int round = 0; round != 3000; ++round) {
    const std::string text = make.stream();
    reading whole;
    whole.add(text);
    ++outcomes[whole.seen().ends_with('\n') ? 1 : 0];
    for (const std::size_t longest : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      const std::string cut = make.read_in_pieces(text, longest);
      if (cut != whole.seen()) {
        INFO("round " << round << ", pieces up to " << longest << " of " << text);
        REQUIRE(cut == whole.seen());
      }
    }
  }
  CHECK(outcomes[0] > 100);
  CHECK(outcomes[1] > 100);
}
