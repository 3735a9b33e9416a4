// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The members that everything has which carries a stream of bytes: connections, files and the ends
// of pipes.
//
// Each operation comes twice: one throws std::system_error with the operation and the object in its
// text, the other sets an error_code. The class has what they are made of:
//   os::io_result read_some(std::span<std::byte>)                           one read
//   os::io_result write_all(std::span<const std::byte>, std::size_t& done)  writes until all is
//   done
//   [[noreturn]] void fail(const std::error_code&, const char* operation) const
#ifndef THRUM_IO_STREAM_HPP
#define THRUM_IO_STREAM_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/descriptor.hpp>

#include <cstddef>
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

// The constructors of std::span, and the overloads between which they make the compiler choose, are
// dear: together a twentieth of what the whole library costs to include. So texts become bytes in a
// template, which only its users pay for, and what is passed on is an address and a size.
template <class Byte, class Char>
std::span<Byte> bytes_at(Char* first, std::size_t size) noexcept {
  return std::span<Byte>(reinterpret_cast<Byte*>(first), size);
}

/// f(error), and self.fail() if that sets it.
template <class Self, class F>
auto or_fail(Self& self, const char* operation, F f)
    -> decltype(f(std::declval<std::error_code&>())) {
  std::error_code error;
  auto result = f(error);
  if (error) [[unlikely]] {
    self.fail(error, operation);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// The reading members. They wait for data, and are cancellation points.
template <class Self>
class stream_reading {
 public:
  /// Reads at least 1 byte and at most buffer.size(); 0 at the end, or if the buffer is empty.
  std::size_t read(std::span<std::byte> buffer) { return some(buffer.data(), buffer.size()); }
  std::size_t read(std::span<char> buffer) { return some(buffer.data(), buffer.size()); }
  std::size_t read(std::span<std::byte> buffer, std::error_code& error) {
    return some(buffer.data(), buffer.size(), error);
  }
  std::size_t read(std::span<char> buffer, std::error_code& error) {
    return some(buffer.data(), buffer.size(), error);
  }

  /// Reads until the buffer is full; less only at the end.
  std::size_t read_full(std::span<std::byte> buffer) { return full(buffer.data(), buffer.size()); }
  std::size_t read_full(std::span<char> buffer) { return full(buffer.data(), buffer.size()); }
  /// What came before an error counts.
  std::size_t read_full(std::span<std::byte> buffer, std::error_code& error) {
    return full(buffer.data(), buffer.size(), error);
  }
  std::size_t read_full(std::span<char> buffer, std::error_code& error) {
    return full(buffer.data(), buffer.size(), error);
  }

  /// Everything up to the end.
  std::string read_all() {
    return io_detail::or_fail(self(), "read_all",
                              [&](std::error_code& error) { return read_all(error); });
  }
  /// What came before an error is returned.
  std::string read_all(std::error_code& error) {
    constexpr std::size_t least = 4096;
    std::string text;
    for (std::size_t used = 0;;) {
      if (text.size() - used < least) {
        text.resize(text.size() < least ? least : 2 * text.size());
      }
      const std::size_t n = some(text.data() + used, text.size() - used, error);
      used += n;
      if (n == 0) {
        text.resize(used);
        return text;
      }
    }
  }

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  template <class Byte>
  std::size_t some(Byte* to, std::size_t size, std::error_code& error) {
    return io_detail::count_or(self().read_some(io_detail::bytes_at<std::byte>(to, size)), error);
  }
  template <class Byte>
  std::size_t some(Byte* to, std::size_t size) {
    return io_detail::or_fail(self(), "read",
                              [&](std::error_code& error) { return some(to, size, error); });
  }
  template <class Byte>
  std::size_t full(Byte* to, std::size_t size, std::error_code& error) {
    std::size_t got = 0;
    error.clear();
    while (got != size) {
      const std::size_t n = some(to + got, size - got, error);
      if (n == 0) {
        break;
      }
      got += n;
    }
    return got;
  }
  template <class Byte>
  std::size_t full(Byte* to, std::size_t size) {
    return io_detail::or_fail(self(), "read_full",
                              [&](std::error_code& error) { return full(to, size, error); });
  }
};

/// The writing members. They wait for room, and are cancellation points.
template <class Self>
class stream_writing {
 public:
  /// Writes all of it; returns its size. Nobody else's bytes come in between.
  std::size_t write(std::span<const std::byte> bytes) { return all(bytes.data(), bytes.size()); }
  std::size_t write(std::string_view text) { return all(text.data(), text.size()); }
  /// Writes all of it, or as much as the returned number says and sets `error`.
  std::size_t write(std::span<const std::byte> bytes, std::error_code& error) {
    return all(bytes.data(), bytes.size(), error);
  }
  std::size_t write(std::string_view text, std::error_code& error) {
    return all(text.data(), text.size(), error);
  }

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  template <class Byte>
  std::size_t all(const Byte* from, std::size_t size, std::error_code& error) {
    std::size_t done = 0;
    io_detail::count_or(self().write_all(io_detail::bytes_at<const std::byte>(from, size), done),
                        error);
    return done;
  }
  template <class Byte>
  std::size_t all(const Byte* from, std::size_t size) {
    return io_detail::or_fail(self(), "write",
                              [&](std::error_code& error) { return all(from, size, error); });
  }
};

}}}  // namespace thrum::THRUM_ABI::io

#endif
