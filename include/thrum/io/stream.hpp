// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The members that everything has which carries a stream of bytes: connections, files, the ends of
// pipes, and what is put before them (buffers, limits); and the two concepts for all that has them.
//
// Each operation comes twice: one throws std::system_error with the operation and the object in its
// text, the other sets an error_code. The class has what they are made of. Here, in the system's
// terms:
//   os::io_result read_some(std::span<std::byte>)                           one read
//   os::io_result write_all(std::span<const std::byte>, std::size_t& done)  writes until all is
//                                                                           done
// A class of a program, or one that stands before another stream, has them with error codes:
//   std::size_t read_some(std::span<std::byte>, std::error_code&)           0 on error
//   void write_all(std::span<const std::byte>, std::size_t& done, std::error_code&)
// Both clear or set the error. What is thrown comes from
//   [[noreturn]] void fail(const std::error_code&, const char* operation) const
// and without that function is a std::system_error that names the operation alone.
// A class that can do it without waiting has
//   os::io_result try_read_some(std::span<std::byte>)
//   os::io_result try_write_some(std::span<const std::byte>)
// which are os::would_block instead; and one that reads into several pieces of memory by one call, or
// writes them,
//   os::io_result read_some_v(std::span<const std::span<std::byte>>)
//   os::io_result write_all_v(std::span<const std::span<const std::byte>>, std::size_t& done)
// With error codes these are
//   std::optional<std::size_t> try_read_some(std::span<std::byte>, std::error_code&)  none on error
//   std::optional<std::size_t> try_write_some(std::span<const std::byte>, std::error_code&)
//   std::size_t read_some_v(std::span<const std::span<std::byte>>, std::error_code&)
//   void write_all_v(std::span<const std::span<const std::byte>>, std::size_t& done,
//                    std::error_code&)
//
//   ST1  A write that has written less than all of it has set an error. A try_write that has written
//        nothing of something returns none. Else what writes into a stream would drop bytes unseen.
// A class of a program that breaks ST1 gets std::errc::io_error, and is reported under checks if it
// derives from stream_writing.
#ifndef THRUM_IO_STREAM_HPP
#define THRUM_IO_STREAM_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/io/stream_calls.hpp>  // IWYU pragma: export
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

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

  /// Reads into a string as it is: its size is how much may come. usage_error if it is empty, where
  /// 0 would look like the end: resize it, or call read_all.
  template <std::same_as<std::string> S, std::same_as<std::error_code>... Error>
  std::size_t read(S& buffer, Error&... error) {
    io_detail::must_have_room(buffer);
    return some(buffer.data(), buffer.size(), error...);
  }

  /// Reads until the buffer is full; less only at the end.
  std::size_t read_full(std::span<std::byte> buffer) { return full(buffer.data(), buffer.size()); }
  std::size_t read_full(std::span<char> buffer) { return full(buffer.data(), buffer.size()); }
  template <std::same_as<std::string> S, std::same_as<std::error_code>... Error>
  std::size_t read_full(S& buffer, Error&... error) {
    io_detail::must_have_room(buffer);
    return full(buffer.data(), buffer.size(), error...);
  }
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
    std::string text;
    to_end(text, error, [] { return false; });
    return text;
  }

  // These calls with a stop: std::errc::operation_canceled once it is requested, or the context is done.
  // Bytes that a call has not returned are still to be read. They need <thrum/detail/start/stoppable.hpp>,
  // which <thrum.hpp> includes.

  /// read until a stop; `buffer` and `error` as there.
  template <class Buffer, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t read(Buffer&& buffer, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return read(buffer, code); };
    return io_detail::until_stopped(self(), "read", stop, call, error...);
  }
  /// read_full until a stop, which keeps what came before: with `error`, so many bytes are there.
  template <class Buffer, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t read_full(Buffer&& buffer, const Stop& stop, Error&... error) {
    std::size_t got = 0;
    const auto call = [&](std::error_code& code) {
      return got += read_full(std::span(buffer).subspan(got), code);
    };
    io_detail::until_stopped(self(), "read_full", stop, call, error...);
    return got;
  }
  /// read_all until a stop; with `error`, what came before is returned.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::string read_all(const Stop& stop, Error&... error) {
    std::string text;
    const auto& end = stop_detail::ending(stop);
    const auto call = [&](std::error_code& code) {
      return to_end(text, code, [&] { return stop_detail::is_over(end); });
    };
    io_detail::until_stopped(self(), "read_all", end, call, error...);
    return text;
  }

  /// As read, into several pieces of memory, one after the other: returns the sum.
  template <io_detail::reads_pieces S = Self>
  std::size_t read_v(std::span<const std::span<std::byte>> pieces) {
    return io_detail::or_fail(self(), "read_v",
                              [&](std::error_code& error) { return read_v(pieces, error); });
  }
  template <io_detail::reads_pieces S = Self>
  std::size_t read_v(std::span<const std::span<std::byte>> pieces, std::error_code& error) {
    if constexpr (io_detail::reads_pieces_by_codes<S>) {
      return self().read_some_v(pieces, error);
    } else {
      return io_detail::count_or(self().read_some_v(pieces), error);
    }
  }
  /// read_v until a stop.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t read_v(std::span<const std::span<std::byte>> pieces, const Stop& stop,
                     Error&... error) {
    const auto call = [&](std::error_code& code) { return read_v(pieces, code); };
    return io_detail::until_stopped(self(), "read_v", stop, call, error...);
  }

  /// A read that does not wait: none if there is nothing at the moment, or another reads. 0 is the end,
  /// or an empty buffer. Not a cancellation point.
  template <io_detail::tries_to_read S = Self>
  std::optional<std::size_t> try_read(std::span<std::byte> buffer) {
    return io_detail::or_fail(self(), "try_read",
                              [&](std::error_code& error) { return try_read(buffer, error); });
  }
  template <io_detail::tries_to_read S = Self>
  std::optional<std::size_t> try_read(std::span<char> buffer) {
    return try_read(std::as_writable_bytes(buffer));
  }
  /// None also on error.
  template <io_detail::tries_to_read S = Self>
  std::optional<std::size_t> try_read(std::span<std::byte> buffer, std::error_code& error) {
    if constexpr (io_detail::tries_to_read_by_codes<S>) {
      return self().try_read_some(buffer, error);
    } else {
      return io_detail::count_at_once(self().try_read_some(buffer), error);
    }
  }
  template <io_detail::tries_to_read S = Self>
  std::optional<std::size_t> try_read(std::span<char> buffer, std::error_code& error) {
    return try_read(std::as_writable_bytes(buffer), error);
  }

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  template <class Byte>
  std::size_t some(Byte* to, std::size_t size, std::error_code& error) {
    const std::span<std::byte> buffer = io_detail::bytes_at<std::byte>(to, size);
    if constexpr (requires { self().read_some(buffer, error); }) {
      return self().read_some(buffer, error);
    } else {
      return io_detail::count_or(self().read_some(buffer), error);
    }
  }
  template <class Byte>
  std::size_t some(Byte* to, std::size_t size) {
    return io_detail::or_fail(self(), "read",
                              [&](std::error_code& error) { return some(to, size, error); });
  }
  /// Appends all that comes; returns how much `text` is then. is_over(): as if it had been stopped.
  template <class IsOver>
  std::size_t to_end(std::string& text, std::error_code& error, IsOver is_over) {
    constexpr std::size_t least = 4096;
    for (std::size_t used = text.size();;) {
      if (text.size() - used < least) {
        text.resize(text.size() < least ? least : 2 * text.size());
      }
      std::size_t n = 0;
      if (is_over()) {
        error = std::make_error_code(std::errc::operation_canceled);
      } else {
        n = some(text.data() + used, text.size() - used, error);
      }
      used += n;
      if (n == 0) {
        text.resize(used);
        return used;
      }
    }
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
  /// Writes all of it; returns its size. No other writer's bytes come in between.
  std::size_t write(std::span<const std::byte> bytes) { return all(bytes.data(), bytes.size()); }
  std::size_t write(std::string_view text) { return all(text.data(), text.size()); }
  /// Writes all of it, or as much as the returned number says and sets `error`.
  std::size_t write(std::span<const std::byte> bytes, std::error_code& error) {
    return all(bytes.data(), bytes.size(), error);
  }
  std::size_t write(std::string_view text, std::error_code& error) {
    return all(text.data(), text.size(), error);
  }

  /// write until a stop: then std::errc::operation_canceled; with `error` the returned number says how much
  /// was written before. Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <class Bytes, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t write(const Bytes& bytes, const Stop& stop, Error&... error) {
    std::size_t done = 0;
    const auto call = [&](std::error_code& code) {
      return done += write(io_detail::bytes_in(bytes).subspan(done), code);
    };
    io_detail::until_stopped(self(), "write", stop, call, error...);
    return done;
  }

  /// Writes several pieces as one, by one system call if they fit. Returns the sum of their sizes.
  template <io_detail::writes_pieces S = Self>
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces) {
    return io_detail::or_fail(self(), "write_v",
                              [&](std::error_code& error) { return write_v(pieces, error); });
  }
  /// Writes several pieces as one, or as much as the returned number says and sets `error`.
  template <io_detail::writes_pieces S = Self>
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    std::size_t done = 0;
    if constexpr (io_detail::writes_pieces_by_codes<S>) {
      self().write_all_v(pieces, done, error);
    } else {
      io_detail::count_or(self().write_all_v(pieces, done), error);
    }
    std::size_t size = 0;
    for (const std::span<const std::byte> each : pieces) {
      size += each.size();
    }
    THRUM_ASSERT(ST1, done == size || error);
    io_detail::must_be_all(done, size, error);
    return done;
  }
  /// write_v until a stop.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t write_v(std::span<const std::span<const std::byte>> pieces, const Stop& stop,
                      Error&... error) {
    std::size_t done = 0;
    const auto call = [&](std::error_code& code) {
      if constexpr (io_detail::writes_pieces_by_codes<Self>) {
        self().write_all_v(pieces, done, code);
      } else {
        io_detail::count_or(self().write_all_v(pieces, done), code);
      }
      return 0;
    };
    io_detail::until_stopped(self(), "write_v", stop, call, error...);
    return done;
  }

  /// Writes what there is room for at the moment, and returns how much that was; none: there is no
  /// room, or another writes. Does not wait, and is no cancellation point.
  template <io_detail::tries_to_write S = Self>
  std::optional<std::size_t> try_write(std::span<const std::byte> bytes) {
    return io_detail::or_fail(self(), "try_write",
                              [&](std::error_code& error) { return try_write(bytes, error); });
  }
  template <io_detail::tries_to_write S = Self>
  std::optional<std::size_t> try_write(std::string_view text) {
    return try_write(io_detail::bytes_at<const std::byte>(text.data(), text.size()));
  }
  /// None also on error.
  template <io_detail::tries_to_write S = Self>
  std::optional<std::size_t> try_write(std::span<const std::byte> bytes, std::error_code& error) {
    std::optional<std::size_t> n;
    if constexpr (io_detail::tries_to_write_by_codes<S>) {
      n = self().try_write_some(bytes, error);
    } else {
      n = io_detail::count_at_once(self().try_write_some(bytes), error);
    }
    return io_detail::some_or_none(n, bytes.size(), error);
  }
  template <io_detail::tries_to_write S = Self>
  std::optional<std::size_t> try_write(std::string_view text, std::error_code& error) {
    return try_write(io_detail::bytes_at<const std::byte>(text.data(), text.size()), error);
  }

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  template <class Byte>
  std::size_t all(const Byte* from, std::size_t size, std::error_code& error) {
    std::size_t done = 0;
    const std::span<const std::byte> bytes = io_detail::bytes_at<const std::byte>(from, size);
    if constexpr (requires { self().write_all(bytes, done, error); }) {
      self().write_all(bytes, done, error);
    } else {
      io_detail::count_or(self().write_all(bytes, done), error);
    }
    THRUM_ASSERT(ST1, done == size || error);
    io_detail::must_be_all(done, size, error);
    return done;
  }
  template <class Byte>
  std::size_t all(const Byte* from, std::size_t size) {
    return io_detail::or_fail(self(), "write",
                              [&](std::error_code& error) { return all(from, size, error); });
  }
};

/// Whatever bytes can be read from: conn, file, pipe_reader, a buffered_reader, and each class that
/// has read(span<byte>), which returns how many bytes there were, 0 at the end, in both forms; a
/// reference to one, too. A class gets them by deriving from stream_reading.
template <class S>
concept readable_stream = requires(std::remove_reference_t<S>& stream, std::span<std::byte> buffer,
                                   std::error_code& error) {
  { stream.read(buffer) } -> std::convertible_to<std::size_t>;
  { stream.read(buffer, error) } -> std::convertible_to<std::size_t>;
};

/// Whatever bytes can be written to: conn, file, pipe_writer, a buffered_writer, and each class that
/// has write(span<const byte>), which writes all of it or fails, in both forms. One that writes less
/// without an error is taken to have failed with std::errc::io_error. A class gets them by deriving
/// from stream_writing.
template <class S>
concept writable_stream = requires(std::remove_reference_t<S>& stream,
                                   std::span<const std::byte> bytes, std::error_code& error) {
  { stream.write(bytes) } -> std::convertible_to<std::size_t>;
  { stream.write(bytes, error) } -> std::convertible_to<std::size_t>;
};

}}}  // namespace thrum::THRUM_ABI::io

#endif
