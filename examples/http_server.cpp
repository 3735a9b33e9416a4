// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// http_server: serves the files below a directory over HTTP/1.1, and /hello, a constant answer.
//
//   http_server DIR [--listen ADDR] [--procs N] [--idle SECONDS] [--debug ADDR]
//
// GET and HEAD; connections are kept, requests may be pipelined. A directory stands for its
// index.html. A path outside of DIR, by "..", by a symbolic link or encoded, gets the same 404 as a
// file that does not exist. A client that for so many seconds (60) sends nothing, or not all of a
// request, or does not take its answer, is disconnected.
//
// SIGTERM and SIGINT end it in order: it accepts no more, answers what clients have asked, says
// "Connection: close" in the last answer to each, and disconnects those that ask nothing. After ten
// seconds it ends all the same.
//
// A goroutine for each connection. While nothing comes it holds no buffer and stands in one page of
// its stack, so that idle connections cost little; what answers a request keeps its data in an
// exchange, which comes from a pool, and little on the stack. The answers to all requests that came
// together go out in one write, the bodies of files by sendfile.
//
// --debug 127.0.0.1:6060 serves a page there that shows what the server's goroutines do.
//
// Try it with: http_server . & curl -i http://127.0.0.1:8080/README.md

#include <thrum.hpp>
#include <thrum/debug/serve.hpp>
#include <thrum/sync/pool.hpp>

#include "http/request_parser.hpp"
#include "http/served_file.hpp"
#include "server_arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

using http::status;
using std::chrono::steady_clock;

std::string_view reason(status code) {
  switch (code) {
    case status::ok: return "OK";
    case status::bad_request: return "Bad Request";
    case status::not_found: return "Not Found";
    case status::method_not_allowed: return "Method Not Allowed";
    case status::request_timeout: return "Request Timeout";
    case status::content_too_large: return "Content Too Large";
    case status::head_too_large: return "Request Header Fields Too Large";
    case status::version_not_supported: return "HTTP Version Not Supported";
    default: return "Service Unavailable";
  }
}

std::string_view type_of(std::string_view path) {
  static constexpr std::pair<std::string_view, std::string_view> types[] = {
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript"},
      {".json", "application/json"},
      {".txt", "text/plain; charset=utf-8"},
      {".md", "text/markdown; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".gif", "image/gif"},
      {".pdf", "application/pdf"},
      {".wasm", "application/wasm"},
  };
  for (const auto& [ending, type] : types) {
    if (path.ends_with(ending)) {
      return type;
    }
  }
  return "application/octet-stream";
}

/// The target without the scheme and host that clients of proxies put before it.
std::string_view without_origin(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (!target.starts_with(scheme)) {
    return target;
  }
  const std::size_t slash = target.find('/', scheme.size());
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

/// The file that a target means, as a relative path; nothing if it means none.
std::optional<std::string> path_of(std::string_view target) {
  if (!target.starts_with('/')) {
    return std::nullopt;
  }
  target = target.substr(1, target.find_first_of("?#") - 1);
  std::string path;
  while (!target.empty()) {
    char c = target.front();
    target.remove_prefix(1);
    if (c == '%') {
      std::uint8_t byte = 0;
      const char* const digits = target.data();
      if (target.size() < 2 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2 ||
          byte == 0) {
        return std::nullopt;
      }
      c = static_cast<char>(byte);
      target.remove_prefix(2);
    }
    path += c;
  }
  if (path.empty() || path.ends_with('/')) {
    path += "index.html";
  }
  return path;
}

struct site {
  http::served_directory root;
  std::chrono::seconds idle{60};
};

/// All that is needed from the first byte of a request to the last byte of its answer.
class exchange {
 public:
  /// Answers what is there to be read, and goes on until no part of a request is left over. Returns
  /// whether the connection is to be kept.
  bool serve(thrum::net::conn& c, const site& files, const thrum::net::server::session& of) {
    session_ = &of;
    begin_ = end_ = 0;
    parser_ = {};
    out_.clear();
    for (;;) {
      std::error_code error;
      const std::size_t n = c.read(std::span<char>(buffer_).subspan(end_), error);
      if (error == std::errc::timed_out && begin_ != end_) {
        refuse(status::request_timeout, false, false);
        return finish(c, files);
      }
      if (error || n == 0) {
        return false;
      }
      end_ += n;
      const std::size_t first = begin_;
      if (!answer_all(c, files)) {
        return finish(c, files);
      }
      if (!flush(c, files)) {
        return false;
      }
      if (begin_ == end_) {
        return true;
      }
      if (begin_ != first || end_ == n) {  // the time of a request begins with its first byte
        c.set_read_deadline(steady_clock::now() + files.idle);
      }
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
  }

 private:
  std::string_view text() const { return {buffer_.data() + begin_, end_ - begin_}; }

  /// Answers each complete request of the buffer. False: the connection is to be closed.
  bool answer_all(thrum::net::conn& c, const site& files) {
    while (begin_ != end_) {
      const status result = parser_.parse(text());
      if (result == status::more) {
        return true;
      }
      if (result != status::ok) {
        refuse(result, false, false);
        return false;
      }
      if (!answer(c, files)) {
        return false;
      }
      begin_ += parser_.size();
      parser_ = {};
    }
    return true;
  }

  /// Answers one request. False: the connection is to be closed.
  bool answer(thrum::net::conn& c, const site& files) {
    const std::string_view method = parser_.method(text());
    const bool is_head = method == "HEAD";
    const bool keep = parser_.keep_alive() && !parser_.has_body() &&  // bodies are not read
                      !(begin_ + parser_.size() == end_ && session_->stopping());
    if (!is_head && method != "GET") {
      refuse(status::method_not_allowed, is_head, keep);
      return keep;
    }
    if (parser_.has_body()) {
      refuse(status::content_too_large, is_head, false);
      return false;
    }
    const std::string_view target = without_origin(parser_.target(text()));
    if (target == "/hello") {
      constexpr std::string_view hello = "Hello, World!";
      begin_answer(status::ok, "text/plain; charset=utf-8", hello.size(), keep);
      out_ += is_head ? std::string_view() : hello;
      return keep;
    }
    const std::optional<std::string> path = path_of(target);
    if (!path) {
      refuse(status::bad_request, is_head, keep);
      return keep;
    }
    return answer_file(c, files, *path, is_head, keep) && keep;
  }

  /// False: the connection is of no more use.
  bool answer_file(thrum::net::conn& c, const site& files, const std::string& path, bool is_head,
                   bool keep) {
    const http::served_file file = thrum::blocking([&] { return files.root.find(path); });
    if (file.is_busy()) {
      refuse(status::unavailable, is_head, keep);
      return true;
    }
    if (!file.is_there()) {
      refuse(status::not_found, is_head, keep);
      return true;
    }
    const std::uint64_t size = file.size();
    begin_answer(status::ok, type_of(path), size, keep);
    if (is_head || size == 0) {
      return true;
    }
    if (!flush(c, files)) {
      return false;
    }
    constexpr std::uint64_t most = 256 * 1024;  // that much within the idle time, or it is too slow
    for (std::uint64_t at = 0; at != size;) {
      std::error_code failed;
      c.set_write_deadline(steady_clock::now() + files.idle);
      const std::uint64_t sent = c.send_file(file.get(), at, std::min(most, size - at), failed);
      at += sent;
      if (failed || sent == 0) {  // 0: the file has become shorter than the length that was sent
        return false;
      }
    }
    return true;
  }

  void begin_answer(status code, std::string_view type, std::uint64_t length, bool keep) {
    const auto append = [this](std::uint64_t number) {
      char digits[20];
      out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    };
    out_ += "HTTP/1.1 ";
    append(static_cast<std::uint64_t>(code));
    out_ += ' ';
    out_ += reason(code);
    out_ += "\r\nContent-Length: ";
    append(length);
    out_ += "\r\nContent-Type: ";
    out_ += type;
    if (code == status::method_not_allowed) {
      out_ += "\r\nAllow: GET, HEAD";
    }
    if (!keep) {
      out_ += "\r\nConnection: close";
    } else if (parser_.is_old()) {
      out_ += "\r\nConnection: keep-alive";
    }
    out_ += "\r\n\r\n";
  }

  void refuse(status code, bool is_head, bool keep) {
    const std::string_view words = reason(code);
    begin_answer(code, "text/plain; charset=utf-8", words.size() + 1, keep);
    if (!is_head) {
      out_ += words;
      out_ += '\n';
    }
  }

  bool flush(thrum::net::conn& c, const site& files) {
    std::error_code error;
    if (!out_.empty()) {
      c.set_write_deadline(steady_clock::now() + files.idle);
      c.write(out_, error);
      out_.clear();
    }
    return !error;
  }

  /// Sends the last answers. If we closed while there is something unread, the system would reset
  /// the connection, and the client might lose them; so we wait until it has closed, for a while.
  bool finish(thrum::net::conn& c, const site& files) {
    std::error_code error;
    if (flush(c, files)) {
      c.close_write(error);
      c.set_read_deadline(steady_clock::now() + std::chrono::seconds(1));
      thrum::io::buffered_reader(c).discard(1024 * 1024, error);
    }
    return false;
  }

  const thrum::net::server::session* session_ = nullptr;
  std::array<char, http::request_parser::max_head> buffer_;
  std::size_t begin_ = 0;  // of the request at hand
  std::size_t end_ = 0;    // of what has arrived
  http::request_parser parser_;
  std::string out_;  // answers not sent yet
};

/// Serves until SIGTERM or SIGINT; then requests at work are answered, for ten seconds at most.
int serve_until_told(const server_arguments& given, const site& files) {
  allow_all_descriptors();
  std::error_code error;
  // If they cannot be heard, they end the program as they always do.
  thrum::io::signal_set signals({SIGTERM, SIGINT}, error);
  thrum::net::listener listener = thrum::net::listener::listen(given.listen, {}, error);
  if (error) {
    return given.cannot_listen(error);
  }
  std::optional<thrum::debug::live_page> page;
  if (!given.debug.empty()) {
    page = thrum::debug::serve(*thrum::runtime::current(), given.debug, {}, error);
    if (error) {
      std::fprintf(
          stderr,
          "http_server: cannot serve the page on %s: %s; choose another with --debug ADDR\n",
          given.debug.c_str(), error.message().c_str());
      return 1;
    }
  }
  given.say_listening(listener.local());
  thrum::net::server server(std::move(listener), {.idle_grace = std::chrono::seconds(1)});
  const auto stops = thrum::spawn([&server, told = signals.chan()] {
    if (told && told.recv()) {
      server.stop_for(std::chrono::seconds(10));
    }
  });
  thrum::pool<exchange> exchanges;
  server.serve(
      [&](thrum::net::conn& c, thrum::net::server::session& at) {
        for (bool keep = true; keep && at.wait_request_for(files.idle);) {
          keep = exchanges.get()->serve(c, files, at);
        }
      },
      error);
  signals.stop();  // `stops` ends, if it waits for one
  return error ? given.cannot_accept(error) : 0;
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  given.listen = "127.0.0.1:8080";
  if (!given.parse(count, values, 1,
                   "http_server DIR [--listen ADDR] [--procs N] [--idle SECONDS] [--debug ADDR]")) {
    return 2;
  }
  site files;
  files.idle = given.idle;
  if (const std::error_code error = files.root.open(given.words[0])) {
    std::fprintf(stderr, "http_server: cannot open %s: %s; name a directory with the files\n",
                 given.words[0].c_str(), error.message().c_str());
    return 1;
  }
  return thrum::run(given.options(), [&] { return serve_until_told(given, files); });
}
