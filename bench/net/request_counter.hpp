// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The least of HTTP/1.1 that a server can do: a request ends at its empty line, whatever it asks.
// Requests may arrive in pieces of any size and several at once; they must not have bodies.
// bench/go/net/http_raw counts and answers in the same way.
#ifndef THRUM_BENCH_NET_REQUEST_COUNTER_HPP
#define THRUM_BENCH_NET_REQUEST_COUNTER_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

/// What every HTTP server here answers, net/http too, byte for byte.
inline constexpr std::string_view http_answer =
    "HTTP/1.1 200 OK\r\n"
    "Content-Length: 13\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "\r\n"
    "Hello, World!";

/// Finds the ends of requests in a stream. All that it keeps between two pieces is how much of
/// "\r\n\r\n" the first one ended with.
class request_counter {
 public:
  /// The number of requests that end in this piece.
  std::size_t count(std::string_view piece) noexcept {
    constexpr std::string_view end = "\r\n\r\n";
    std::size_t requests = 0;
    std::size_t at = 0;
    while (at < piece.size()) {
      if (matched_ == 0) {
        at = piece.find('\r', at);
        if (at == std::string_view::npos) {
          return requests;
        }
        matched_ = 1;
      } else if (piece[at] == end[matched_]) {
        matched_ = (matched_ + 1) % end.size();
        requests += matched_ == 0 ? 1 : 0;
      } else {
        matched_ = piece[at] == '\r' ? 1 : 0;
      }
      ++at;
    }
    return requests;
  }

 private:
  std::size_t matched_ = 0;
};

/// The answers to so many requests, to be written at once; `room` holds them if there are several.
inline std::string_view http_answers(std::size_t requests, std::string& room) {
  if (requests == 1) {
    return http_answer;
  }
  room.clear();
  while (requests-- != 0) {
    room += http_answer;
  }
  return room;
}

}  // namespace bench

#endif
