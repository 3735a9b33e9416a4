// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What tls_load sends and receives with: TLS 1.3 with AES-128-GCM, whoever the server is.
#ifndef THRUM_BENCH_NET_TLS_WIRE_HPP
#define THRUM_BENCH_NET_TLS_WIRE_HPP

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/types.h>

class wire {
 public:
  void begin(int fd) {
    static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    session_ = SSL_new(context);
    SSL_set_fd(session_, fd);
    if (SSL_connect(session_) != 1) {
      std::fputs("tls_load: the server does not agree\n", stderr);
      std::exit(1);
    }
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  ssize_t send(const char* from, std::size_t n) {
    return SSL_write(session_, from, static_cast<int>(n));
  }
  ssize_t receive(char* to, std::size_t n) {
    const int got = SSL_read(session_, to, static_cast<int>(n));
    if (got < 0) {
      errno = SSL_get_error(session_, got) == SSL_ERROR_WANT_READ ? EAGAIN : EIO;
    }
    return got;
  }

 private:
  SSL* session_ = nullptr;
};

#endif
