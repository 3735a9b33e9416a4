// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a tls_conn begins, agrees with its peer, and ends; and what it knows of both. The rest of what
// net/tls_conn.hpp declares is in net/tls_transfer.hpp, net/tls_calls.hpp and net/tls_calls.hpp.
#ifndef THRUM_DETAIL_NET_TLS_LIFE_HPP
#define THRUM_DETAIL_NET_TLS_LIFE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/net/tls_conn.hpp>
#include <thrum/detail/net/tls_context.hpp>
#include <thrum/detail/net/tls_session.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <openssl/ssl.h>

namespace thrum { inline namespace THRUM_ABI { namespace net {

inline tls_conn::tls_conn(const tls_context& context, bool is_client, conn* owned, conn* borrowed,
                          std::string_view host, std::error_code& error) {
  error = std::make_error_code(std::errc::invalid_argument);
  if (!context || context.state_->is_client != is_client) {
    return;
  }
  auto made = std::make_unique<state>(owned, borrowed, context.state_);
  made->host = host;
  error = made->session.begin(host, made->transport->remote().port());
  if (!error) {
    state_ = std::move(made);
  }
}

inline tls_conn tls_conn::made(const char* operation, const tls_context& context, bool is_client,
                               conn* owned, conn* borrowed, std::string_view host) {
  if (!context || context.state_->is_client != is_client) {
    base::throw_usage(
        base::message<160>(operation)
            .append(
                ": the tls_context is empty or is for the other side; make one with tls_context::")
            .append(is_client ? "client" : "server")
            .view()
            .data());
  }
  std::error_code error;
  tls_conn result(context, is_client, owned, borrowed, host, error);
  if (error) {
    base::message<> text(operation);
    text.append(" ").append_quoted(host);
    if (error == std::errc::invalid_argument) {
      text.append(" is neither a host name nor an address");
    }
    base::throw_system(error, text.view());
  }
  return result;
}

inline void tls_conn::handshake(std::error_code& error) {
  error = io_detail::error_of(os::bad_handle);
  if (state_ == nullptr) {
    return;
  }
  state& s = *state_;
  if (has_agreed(s)) {
    error.clear();
    return;
  }
  std::unique_lock reading(s.reading, std::defer_lock);
  std::unique_lock writing(s.writing, std::defer_lock);
  if (!take_turn(reading, error) || !take_turn(writing, error)) {
    return;
  }
  std::unique_lock lock(s.lock);
  while (!s.session.has_agreed()) {
    error = refusal(s, std::min(s.read_deadline, s.write_deadline));
    if (error) {
      return;
    }
    const outcome result = s.session.shake_hands();
    lock.unlock();
    if (result == outcome::failed) {
      send_at_once(s);  // an alert says why
      error = s.session.failure();
      return;
    }
    const bool all_sent = send_all(s, error);
    lock.lock();
    s.owed = !all_sent;
    if (!all_sent) {
      return;
    }
    if (result == outcome::wants_input && s.session.is_starved() &&
        !receive<pace::waiting>(s, lock, direction::both, error)) {
      return;
    }
  }
  error.clear();
}

inline bool tls_conn::agree_at_once(state& s, std::error_code& error) {
  error.clear();
  const std::unique_lock reading(s.reading, std::try_to_lock);
  return reading.owns_lock() && has_agreed_at_once(s, error);
}

inline bool tls_conn::has_agreed_at_once(state& s, std::error_code& error) {
  error.clear();
  if (has_agreed(s)) {
    return true;
  }
  const std::unique_lock writing(s.writing, std::try_to_lock);
  if (!writing.owns_lock()) {
    return false;
  }
  std::unique_lock lock(s.lock);
  while (!s.session.has_agreed()) {
    error = refusal(s, std::min(s.read_deadline, s.write_deadline));
    if (error) {
      return false;
    }
    const outcome result = s.session.shake_hands();
    lock.unlock();
    const bool all_sent = send_at_once(s, error);
    lock.lock();
    if (result == outcome::failed) {
      error = s.session.failure();
      return false;
    }
    if (error) {
      return false;
    }
    s.owed = !all_sent;
    if (result == outcome::wants_input && s.session.is_starved() &&
        !receive<pace::at_once>(s, lock, direction::both, error)) {
      return false;
    }
  }
  return true;
}

inline void tls_conn::close_write(std::error_code& error) {
  handshake(error);
  if (error) {
    return;
  }
  state& s = *state_;
  std::unique_lock writing(s.writing, std::defer_lock);
  if (!take_turn(writing, error)) {
    return;
  }
  for (bool is_said = false; !is_said;) {
    std::unique_lock lock(s.lock);
    error = refusal(s, s.write_deadline);
    if (error) {
      return;
    }
    const outcome said = s.session.end_writing();
    if (said == outcome::wants_input) {
      if (!receive<pace::waiting>(s, lock, direction::write, error)) {
        return;
      }
      continue;
    }
    is_said = said == outcome::done;
  }
  send_all(s, error);
}

inline void tls_conn::close() noexcept {
  if (state_ == nullptr) {
    return;
  }
  state& s = *state_;
  std::unique_lock turn(s.writing, std::try_to_lock);
  {
    std::unique_lock lock(s.lock);
    // A deadline that has passed keeps nothing from being sent at once.
    s.read_deadline = s.write_deadline = time_point::max();
    s.transport->set_deadline(time_point::max());
    if (turn.owns_lock() && !s.closed && s.session.has_agreed()) {
      std::error_code unheard;
      while (s.session.end_writing() == outcome::wants_input &&
             receive<pace::at_once>(s, lock, direction::write, unheard)) {
      }
    }
    s.closed = true;
    tell_news(s);
  }
  if (turn.owns_lock()) {
    send_at_once(s);
    turn.unlock();
  }
  s.transport->close();
}

inline void tls_conn::set_read_deadline(time_point when) noexcept { set_deadlines(&when, nullptr); }

inline void tls_conn::set_write_deadline(time_point when) noexcept {
  set_deadlines(nullptr, &when);
}

inline void tls_conn::set_deadlines(const time_point* read, const time_point* write) noexcept {
  if (state_ == nullptr) {
    return;
  }
  state& s = *state_;
  const std::lock_guard guard(s.lock);
  if (s.closed) {
    return;
  }
  if (read != nullptr) {
    s.read_deadline = *read;
  }
  if (write != nullptr) {
    s.write_deadline = *write;
    s.transport->set_write_deadline(*write);
  }
  if (read != nullptr || deadline_of(s, s.receives) != s.read_deadline) {
    s.transport->set_read_deadline(deadline_of(s, s.receives));
  }
  tell_news(s);
}

inline std::string tls_conn::protocol() const {
  return ask([](::SSL* session) {
    const unsigned char* text = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session, &text, &size);
    return std::string(reinterpret_cast<const char*>(text), size);
  });
}

inline std::string tls_conn::version() const {
  return ask([](::SSL* session) { return std::string(SSL_get_version(session)); });
}

inline std::string tls_conn::cipher() const {
  return ask([](::SSL* session) { return std::string(SSL_get_cipher_name(session)); });
}

inline std::string tls_conn::server_name() const {
  return ask([](::SSL* session) {
    const char* const name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
    return std::string(name != nullptr ? name : "");
  });
}

inline bool tls_conn::resumed() const {
  return ask([](::SSL* session) { return SSL_session_reused(session) == 1; });
}

inline std::size_t tls_conn::buffered() const {
  return ask([&](::SSL* session) -> std::size_t {
    const auto pending = static_cast<std::size_t>(SSL_pending(session));
    return pending != 0 ? pending : std::size_t{!state_->session.is_starved()};
  });
}

THRUM_COLD inline void tls_conn::fail(const std::error_code& error, const char* operation) const {
  base::message<512> text("tls_conn::");
  text.append(operation);
  if (state_ != nullptr && !state_->host.empty()) {
    text.append(" ").append_quoted(state_->host);
  }
  const endpoint peer = remote();
  if (peer.family() != address_family::none) {
    text.append(" at ").append(peer.to_string());
  }
  base::throw_system(error, text.view());
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
