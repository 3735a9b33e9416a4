// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Reads from a tls_conn. Needs OpenSSL, so it is not among the definitions that are compiled
// once with the implementation.
#ifndef THRUM_DETAIL_NET_TLS_READ_HPP
#define THRUM_DETAIL_NET_TLS_READ_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/tls_conn.hpp>
#include <thrum/detail/net/tls_session.hpp>
#include <thrum/detail/net/tls_transfer.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/os/os.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace net {

inline tls_conn::outcome tls_conn::read_session(state& s,
                                                std::span<const std::span<std::byte>> pieces,
                                                std::size_t& n) {
  n = 0;
  for (const std::span<std::byte>& each : pieces) {
    if (each.empty()) {
      continue;
    }
    if (s.session.is_starved()) {
      return n != 0 ? outcome::done : outcome::wants_input;
    }
    std::size_t got = 0;
    const outcome result = s.session.read(each, got);
    n += got;
    if (result != outcome::done || got != each.size()) {
      return n != 0 ? outcome::done : result;
    }
  }
  return outcome::done;
}

inline std::size_t tls_conn::read_some(std::span<std::byte> buffer, std::error_code& error) {
  return read_some_v(std::span(&buffer, 1), error);
}

inline std::size_t tls_conn::read_some_v(std::span<const std::span<std::byte>> pieces,
                                         std::error_code& error) {
  error = io_detail::error_of(os::bad_handle);
  if (state_ == nullptr) {
    return 0;
  }
  state& s = *state_;
  std::unique_lock turn(s.reading, std::defer_lock);
  if (!take_turn(turn, error)) {
    return 0;
  }
  std::unique_lock lock(s.lock);
  if (!s.session.has_agreed()) [[unlikely]] {
    lock.unlock();
    turn.unlock();
    handshake(error);
    if (error) {
      return 0;
    }
    if (!take_turn(turn, error)) {
      return 0;
    }
    lock.lock();
  }
  for (;;) {
    error = refusal(s, s.read_deadline);
    if (error) {
      return 0;
    }
    std::size_t n = 0;
    const outcome result = read_session(s, pieces, n);
    if (result == outcome::wants_input) {
      if (!s.session.output.empty() || s.owed) [[unlikely]] {
        const bool must = s.session.output.size() > most_unsent || s.owed;
        lock.unlock();
        if (must) {
          std::unique_lock writing(s.writing, std::defer_lock);
          if (!take_turn(writing, error) || !send_all(s, error)) {
            return 0;
          }
        } else {
          send_what_reading_made(s);
        }
        lock.lock();
      }
      if (!receive<pace::waiting>(s, lock, direction::read, error)) {
        return 0;
      }
      continue;
    }
    if (result == outcome::failed) {
      error = s.session.failure();
    }
    const bool has_output = !s.session.output.empty();
    lock.unlock();
    if (has_output) [[unlikely]] {
      send_what_reading_made(s);
    }
    return n;
  }
}

inline std::optional<std::size_t> tls_conn::try_read_some(std::span<std::byte> buffer,
                                                          std::error_code& error) {
  error = io_detail::error_of(os::bad_handle);
  if (state_ == nullptr) {
    return std::nullopt;
  }
  error.clear();
  state& s = *state_;
  const std::unique_lock turn(s.reading, std::try_to_lock);
  if (!turn.owns_lock() || !has_agreed_at_once(s, error)) {
    return std::nullopt;
  }
  std::unique_lock lock(s.lock);
  for (;;) {
    error = refusal(s, s.read_deadline);
    if (error) {
      return std::nullopt;
    }
    std::size_t n = 0;
    const outcome result = read_session(s, std::span(&buffer, 1), n);
    if (!s.session.output.empty() || s.owed) [[unlikely]] {
      lock.unlock();
      send_what_reading_made(s);
      lock.lock();
    }
    if (result == outcome::failed) {
      error = s.session.failure();
      return std::nullopt;
    }
    if (result != outcome::wants_input) {
      return n;
    }
    if (s.session.output.size() > most_unsent ||
        !receive<pace::at_once>(s, lock, direction::read, error)) {
      return std::nullopt;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#endif
