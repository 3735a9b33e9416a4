// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Reads from a tls_conn, and writes to it. Needs OpenSSL, so it is not among the definitions that are compiled
// once with the implementation.
#ifndef THRUM_DETAIL_NET_TLS_CALLS_HPP
#define THRUM_DETAIL_NET_TLS_CALLS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/net/tls_conn.hpp>
#include <thrum/detail/net/tls_session.hpp>
#include <thrum/detail/net/tls_transfer.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/os/os.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

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

inline std::error_code tls_conn::refusal_to_write(const state& s) {
  const std::error_code error = refusal(s, s.write_deadline);
  return !error && s.session.has_ended_writing() ? std::make_error_code(std::errc::broken_pipe)
                                                 : error;
}

inline tls_conn::outcome tls_conn::make_records(state& s, std::span<const std::byte> from,
                                                std::error_code& error) {
  const outcome made = from.empty() ? outcome::done : s.session.write(from);
  if (made == outcome::failed) {
    error = s.session.failure();
    return made;
  }
  s.sending.empty() ? s.sending.swap(s.session.output)
                    : static_cast<void>(s.sending.insert(s.sending.end(), s.session.output.begin(),
                                                         s.session.output.end()));
  s.session.output.clear();
  return made;
}

template <class Next>
void tls_conn::write_from(std::size_t size, std::size_t& done, std::error_code& error, Next next) {
  error = io_detail::error_of(os::bad_handle);
  if (state_ == nullptr) {
    return;
  }
  state& s = *state_;
  std::unique_lock turn(s.writing, std::defer_lock);
  if (!take_turn(turn, error)) {
    return;
  }
  do {
    std::unique_lock lock(s.lock);
    if (!s.session.has_agreed()) [[unlikely]] {
      lock.unlock();
      turn.unlock();
      handshake(error);
      if (error) {
        return;
      }
      if (!take_turn(turn, error)) {
        return;
      }
      lock.lock();
    }
    error = refusal_to_write(s);
    if (error) {
      return;
    }
    const bool was_owed = std::exchange(s.owed, false);
    if (take_output(s)) {
      const std::span<const std::byte> some = next(done);
      const outcome made = make_records(s, some, error);
      if (made == outcome::failed) {
        return;
      }
      if (made == outcome::done) [[likely]] {
        done += some.size();
      } else if (s.sending.empty()) {
        if (!receive<pace::waiting>(s, lock, direction::write, error)) {
          return;
        }
        continue;
      }
    }
    lock.unlock();
    if (!send(s, error)) {
      if (was_owed) [[unlikely]] {
        lock.lock();
        s.owed = true;
      }
      return;
    }
  } while (done != size);
}

inline void tls_conn::write_all(std::span<const std::byte> bytes, std::size_t& done,
                                std::error_code& error) {
  write_from(bytes.size(), done, error, [&](std::size_t from) {
    return bytes.subspan(from, std::min(piece, bytes.size() - from));
  });
}

inline void tls_conn::write_all_v(std::span<const std::span<const std::byte>> pieces,
                                  std::size_t& done, std::error_code& error) {
  std::size_t size = 0;
  for (const std::span<const std::byte>& each : pieces) {
    size += each.size();
  }
  std::vector<std::byte> together;  // several make one record
  write_from(size, done, error, [&](std::size_t from) -> std::span<const std::byte> {
    together.clear();
    for (const std::span<const std::byte>& each : pieces) {
      if (from >= each.size()) {
        from -= each.size();
        continue;
      }
      const auto rest = each.subspan(from, std::min(piece - together.size(), each.size() - from));
      if (rest.size() == piece) {
        return rest;
      }
      together.insert(together.end(), rest.begin(), rest.end());
      if (together.size() == piece) {
        break;
      }
      from = 0;
    }
    return together;
  });
}

inline std::optional<std::size_t> tls_conn::try_write_some(std::span<const std::byte> bytes,
                                                           std::error_code& error) {
  error = io_detail::error_of(os::bad_handle);
  if (state_ == nullptr) {
    return std::nullopt;
  }
  error.clear();
  state& s = *state_;
  if (!has_agreed(s) && !agree_at_once(s, error)) {
    return std::nullopt;
  }
  const std::unique_lock turn(s.writing, std::try_to_lock);
  if (!turn.owns_lock()) {
    return std::nullopt;
  }
  for (std::size_t done = 0;;) {
    {
      const std::lock_guard guard(s.lock);
      error = refusal_to_write(s);
    }
    const bool all_sent = !error && send_at_once(s, error);
    if (all_sent && done != bytes.size()) {
      const auto some = bytes.subspan(done, std::min(record, bytes.size() - done));
      std::unique_lock lock(s.lock);
      take_output(s);
      const outcome made = make_records(s, some, error);
      if (made == outcome::done) {
        done += some.size();
        continue;
      }
      if (made == outcome::wants_input &&
          (!s.sending.empty() || receive<pace::at_once>(s, lock, direction::write, error))) {
        continue;
      }
    }
    if (done != 0) {
      error.clear();  // the next one meets it again
      return done;
    }
    return all_sent && !error && bytes.empty() ? std::optional(done) : std::nullopt;
  }
}

}}}  // namespace thrum::THRUM_ABI::net

#endif  // THRUM_DETAIL_NET_TLS_CALLS_HPP
