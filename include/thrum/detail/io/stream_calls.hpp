// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the members of io/stream.hpp are made of: results as counts and error codes, the errors that are
// thrown, calls with a stop, and concepts for what only some classes have.
#ifndef THRUM_DETAIL_IO_STREAM_CALLS_HPP
#define THRUM_DETAIL_IO_STREAM_CALLS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/stop_condition.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// A result as a count; 0 and an error if it is below 0.
inline std::size_t count_or(os::io_result result, std::error_code& error) noexcept {
  if (result >= 0) {
    error.clear();
    return static_cast<std::size_t>(result);
  }
  error = error_of(result);
  return 0;
}

/// A result as a count, for a call that does not wait: none if it would have to, or on an error.
inline std::optional<std::size_t> count_at_once(os::io_result result,
                                                std::error_code& error) noexcept {
  if (result == os::would_block) {
    error.clear();
    return std::nullopt;
  }
  const std::size_t n = count_or(result, error);
  return error ? std::nullopt : std::optional(n);
}

/// Makes an error of a write that broke ST1.
inline void must_be_all(std::size_t done, std::size_t size, std::error_code& error) noexcept {
  if (done < size && !error) [[unlikely]] {
    error = std::make_error_code(std::errc::io_error);
  }
}

/// Writes to any writable_stream, and holds it to ST1.
template <class Stream>
std::size_t write_whole(Stream& to, std::span<const std::byte> bytes, std::error_code& error) {
  const std::size_t n = to.write(bytes, error);
  must_be_all(n, bytes.size(), error);
  return n;
}

/// The result of a try_write, held to ST1.
inline std::optional<std::size_t> some_or_none(std::optional<std::size_t> n, std::size_t size,
                                               const std::error_code& error) noexcept {
  const bool is_nothing = n == std::size_t{0} && size != 0;
  THRUM_ASSERT(ST1, !is_nothing || error);
  return is_nothing ? std::nullopt : n;
}

// The constructors of std::span, and the overloads between which they make the compiler choose, are
// dear: together a twentieth of what the whole library costs to include. So texts become bytes in a
// template, which only its users pay for, and what is passed on is an address and a size.
template <class Byte, class Char>
std::span<Byte> bytes_at(Char* first, std::size_t size) noexcept {
  return std::span<Byte>(reinterpret_cast<Byte*>(first), size);
}

// What only some classes have, of those that the head of io/stream.hpp lists. The members ask for them as
// templates: clang 14 asks for the constraint of a plain member where the class is still incomplete.
template <class S>
concept reads_pieces_by_codes = requires(S& stream, std::span<const std::span<std::byte>> pieces,
                                         std::error_code& error) {
  stream.read_some_v(pieces, error);
};
template <class S>
concept reads_pieces = reads_pieces_by_codes<S> ||
    requires(S& stream, std::span<const std::span<std::byte>> pieces) {
  stream.read_some_v(pieces);
};
template <class S>
concept writes_pieces_by_codes = requires(S& stream,
                                          std::span<const std::span<const std::byte>> pieces,
                                          std::size_t& done, std::error_code& error) {
  stream.write_all_v(pieces, done, error);
};
template <class S>
concept writes_pieces = writes_pieces_by_codes<S> ||
    requires(S& stream, std::span<const std::span<const std::byte>> pieces, std::size_t& done) {
  stream.write_all_v(pieces, done);
};
template <class S>
concept tries_to_read_by_codes = requires(S& stream, std::span<std::byte> buffer,
                                          std::error_code& error) {
  stream.try_read_some(buffer, error);
};
template <class S>
concept tries_to_read = tries_to_read_by_codes<S> ||
    requires(S& stream, std::span<std::byte> buffer) {
  stream.try_read_some(buffer);
};
template <class S>
concept tries_to_write_by_codes = requires(S& stream, std::span<const std::byte> bytes,
                                           std::error_code& error) {
  stream.try_write_some(bytes, error);
};
template <class S>
concept tries_to_write = tries_to_write_by_codes<S> ||
    requires(S& stream, std::span<const std::byte> bytes) {
  stream.try_write_some(bytes);
};

/// usage_error if nothing can be read into it.
inline void must_have_room(const std::string& buffer) {
  if (buffer.empty()) [[unlikely]] {
    base::throw_usage(
        "read: the string is empty, so there is no room to read into; resize it first, or call "
        "read_all");
  }
}

/// Throws what the stream has for it.
template <class Stream>
[[noreturn]] [[gnu::cold]] void fail_by(const Stream& stream, const std::error_code& error,
                                        const char* operation) {
  if constexpr (requires { stream.fail(error, operation); }) {
    stream.fail(error, operation);
  }
  base::throw_system(error, base::message<64>("stream::").append(operation).view());
}

/// f(error), and self.fail() if that sets it.
template <class Self, class F>
auto or_fail(Self& self, const char* operation, F f)
    -> decltype(f(std::declval<std::error_code&>())) {
  std::error_code error;
  auto result = f(error);
  if (error) [[unlikely]] {
    fail_by(self, error, operation);
  }
  return result;
}

/// call(error), whose waits a stop ends.
template <class Self, class Stop, class Call>
auto until_stopped(Self&, const char*, const Stop& stop, Call call, std::error_code& error) {
  return stop_detail::run_until_stopped(stop, error, [&] { return call(error); });
}
/// call(error), whose waits a stop ends, and self.fail() if that sets the error.
template <class Self, class Stop, class Call>
auto until_stopped(Self& self, const char* operation, const Stop& stop, Call call) {
  return or_fail(self, operation, [&](std::error_code& error) {
    return until_stopped(self, operation, stop, call, error);
  });
}

inline std::span<const std::byte> bytes_in(std::span<const std::byte> bytes) noexcept {
  return bytes;
}
inline std::span<const std::byte> bytes_in(std::string_view text) noexcept {
  return bytes_at<const std::byte>(text.data(), text.size());
}

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
