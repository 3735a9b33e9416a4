// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// TLS by OpenSSL over a connection: how a library that has a non-blocking mode of its own is used
// from goroutines. When a call says that it would block, and on what, io::wait_readable or
// io::wait_writable waits for that, and the call is made again.
//
// Two things to know of such libraries. OpenSSL writes with write(), so SIGPIPE has to be ignored.
// And what it keeps per thread (its errors, errno) must be read in the function that called it,
// before anything parks: a goroutine may wake on another thread.
#ifndef THRUM_EXAMPLES_TLS_STREAM_HPP
#define THRUM_EXAMPLES_TLS_STREAM_HPP

#include <thrum.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

struct tls_free {
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using tls_context = std::unique_ptr<SSL_CTX, tls_free>;

/// What OpenSSL has to say on this thread.
inline std::string tls_problem(std::string_view otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) {
    return std::string(otherwise);
  }
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

/// Move-only. One goroutine at a time. Every wait ends after `patience`.
class tls_stream {
 public:
  tls_stream(SSL_CTX& context, thrum::net::conn connection, std::chrono::seconds patience)
      : connection_(std::move(connection)), session_(SSL_new(&context)), patience_(patience) {
    if (session_ != nullptr) {
      SSL_set_fd(session_.get(), connection_.native_handle());
    }
  }

  /// For a client: checks that the certificate is for that name.
  bool connect(const std::string& name) {
    SSL* const session = session_.get();
    return session != nullptr && SSL_set1_host(session, name.c_str()) == 1 &&
           SSL_set_tlsext_host_name(session, name.c_str()) == 1 && call(SSL_connect) == 1;
  }
  bool accept() { return session_ != nullptr && call(SSL_accept) == 1; }

  /// Reads at least one byte; 0: the end, or a failure, see problem().
  std::size_t read(std::span<char> to) {
    const int most = static_cast<int>(std::min<std::size_t>(to.size(), INT_MAX));
    const int n = call([&](SSL* session) { return SSL_read(session, to.data(), most); });
    return static_cast<std::size_t>(std::max(n, 0));
  }
  /// Writes all of it; false: see problem().
  bool write(std::string_view text) {
    const int size = static_cast<int>(text.size());
    return size == 0 ||
           call([&](SSL* session) { return SSL_write(session, text.data(), size); }) == size;
  }
  /// Tells the peer that no more comes.
  void close_write() {
    call([](SSL* session) { return SSL_shutdown(session) < 0 ? -1 : 1; });
  }

  /// Why the last call failed; empty: it did not, or the stream has ended.
  const std::string& problem() const { return problem_; }

 private:
  struct outcome {
    int result;
    int reason;  // SSL_ERROR_...
  };

  /// Repeats a call until it does not say that it would block, and returns its result; -1: it
  /// failed.
  template <class Function>
  int call(Function function) {
    problem_.clear();
    for (;;) {
      const outcome last = attempt(function);
      std::error_code error;
      const auto deadline = std::chrono::steady_clock::now() + patience_;
      switch (last.reason) {
        case SSL_ERROR_NONE: return last.result;
        case SSL_ERROR_ZERO_RETURN: return 0;
        case SSL_ERROR_WANT_READ:
          thrum::io::wait_readable(connection_.native_handle(), deadline, error);
          break;
        case SSL_ERROR_WANT_WRITE:
          thrum::io::wait_writable(connection_.native_handle(), deadline, error);
          break;
        default: return -1;
      }
      if (error) {
        problem_ = error.message();
        return -1;
      }
    }
  }

  /// A function of its own, which does not park: here the thread's variables may be looked at.
  template <class Function>
  [[gnu::noinline]] outcome attempt(Function& function) {
    ERR_clear_error();
    errno = 0;
    const int result = function(session_.get());
    const int reason = SSL_get_error(session_.get(), result);
    if (reason == SSL_ERROR_SYSCALL) {
      problem_ = errno != 0 ? std::strerror(errno) : "the connection was cut";
    } else if (reason == SSL_ERROR_SSL) {
      problem_ = tls_problem("a failure without explanation");
    }
    return {result, reason};
  }

  thrum::net::conn connection_;
  std::unique_ptr<SSL, tls_free> session_;
  std::chrono::seconds patience_;
  std::string problem_;
};

#endif
