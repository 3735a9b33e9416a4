// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// copy and read_all: a stream to its end, into another one or into memory.
//
// From a file to a connection the bytes go inside the kernel, by the connection's send_file: as far
// as the file's size says that there are any. What comes behind that (the file grows, or is one of
// those that have no size, as in /proc) is read and written like the rest.
//
// From a connection or a pipe to another one, on Linux, a pipe of the copy's own stands in between, and
// bytes move into it and out of it without being copied (os::splice_to_pipe). Not at once: of a reader that
// takes what there is, it is known whether more may be had without asking, and of such a move not. So
// small pieces go through memory, for one system call less each, until a read has brought a
// quarter of the buffer (a socket that is kept busy seldom has as much as would fill it); and again when
// a move was a small one. What cannot be moved (a terminal) goes through memory.
#ifndef THRUM_IO_COPY_HPP
#define THRUM_IO_COPY_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/limited.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/os/parts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// What a file can be sent to inside the kernel: a connection.
template <class To>
concept takes_files = requires(To& to, io::native_handle_type file, std::uint64_t n,
                               std::error_code& error) {
  { to.send_file(file, n, n, error) } -> std::same_as<std::uint64_t>;
};

/// Sends what the file has from its position on, at most `limit` bytes, and moves the position
/// behind it. 0 for what has no size.
template <class To>
std::uint64_t send_rest_of(io::file& from, std::uint64_t limit, To& to, std::error_code& error) {
  std::error_code has_no_position;
  const std::uint64_t size = from.size(has_no_position);
  if (has_no_position || size == 0) {
    return 0;
  }
  const std::uint64_t begin = from.seek(0, io::seek_from::current, has_no_position);
  if (has_no_position || begin >= size) {
    return 0;
  }
  const std::uint64_t sent =
      to.send_file(from.native_handle(), begin, std::min(limit, size - begin), error);
  std::error_code ignored;  // a close meanwhile: of that the next read tells
  from.seek(static_cast<std::int64_t>(begin + sent), io::seek_from::begin, ignored);
  return sent;
}

/// The part of copy() that need not go through memory.
template <class From, class To>
std::uint64_t copy_inside(From& from, To& to, std::error_code& error) {
  if constexpr (takes_files<To> && std::is_same_v<From, io::file>) {
    return send_rest_of(from, std::numeric_limits<std::uint64_t>::max(), to, error);
  } else if constexpr (takes_files<To> && (std::is_same_v<From, io::limited<io::file&>> ||
                                           std::is_same_v<From, io::limited<io::file>>)) {
    return from.take_inside(
        [&](io::file& file, std::uint64_t limit) { return send_rest_of(file, limit, to, error); });
  } else {
    return 0;
  }
}

/// A pipe that only a copy knows: between two moves it is empty.
class middle_pipe {
 public:
  static constexpr std::size_t most = std::size_t{256} * 1024;

  middle_pipe() noexcept = default;
  middle_pipe(const middle_pipe&) = delete;
  middle_pipe& operator=(const middle_pipe&) = delete;
  ~middle_pipe();

  /// Whether it can be used; makes it, the first time.
  bool open() noexcept;
  /// It cannot, from now on.
  void give_up() noexcept { state_ = state::useless; }

  os::handle reader() const noexcept { return ends_[0]; }
  os::handle writer() const noexcept { return ends_[1]; }

 private:
  enum class state : unsigned char { none, open, useless };

  os::handle ends_[2] = {os::no_handle, os::no_handle};
  state state_ = state::none;
};

template <class From>
concept moves_to_pipes = requires(From& from, os::handle pipe) {
  from.move_to_pipe(pipe, 1);
};
template <class To>
concept moves_from_pipes = requires(To& to, os::handle pipe, std::size_t& done) {
  to.move_from_pipe(pipe, 1, done);
};

/// Moves through the pipe as long as that is much at a time. False: that was all, or an error.
template <class From, class To>
bool move_much(From& from, To& to, middle_pipe& middle, std::uint64_t& done, std::error_code& error,
               bool& is_reading) {
  constexpr os::io_result few = 4096;
  while (middle.open()) {
    is_reading = true;
    const os::io_result n = from.move_to_pipe(middle.writer(), middle_pipe::most);
    if (os::cannot_splice(n)) {
      middle.give_up();
      return true;
    }
    if (count_or(n, error) == 0) {
      return false;
    }
    is_reading = false;
    std::size_t moved = 0;
    os::io_result result = to.move_from_pipe(middle.reader(), static_cast<std::size_t>(n), moved);
    done += moved;
    std::byte piece[512];
    for (; os::cannot_splice(result) && moved != static_cast<std::size_t>(n);) {
      middle.give_up();  // what it holds is written as it would have been
      const os::io_result got = os::read(middle.reader(), piece, sizeof piece);
      const std::size_t written =
          to.write(std::span<const std::byte>(piece, count_or(got, error)), error);
      done += written;
      moved += written;
      if (error) {
        return false;
      }
    }
    if (result < 0 && !os::cannot_splice(result)) {
      error = error_of(result);
      return false;
    }
    if (n < few) {
      return true;
    }
  }
  return true;
}

/// copy(); `is_reading` says whose the error is.
template <class From, class To>
std::uint64_t copy_all(From& from, To& to, std::error_code& error, bool& is_reading) {
  static_assert(io::readable_stream<From> && io::writable_stream<To>,
                "copy: the first must be an io::readable_stream, the second an "
                "io::writable_stream");
  constexpr std::size_t piece = std::size_t{32} * 1024;
  [[maybe_unused]] constexpr std::size_t much = piece / 4;
  error.clear();
  is_reading = false;
  std::uint64_t done = copy_inside(from, to, error);
  if (error) {
    return done;
  }
  const std::unique_ptr<std::byte[]> buffer(new std::byte[piece]);
  [[maybe_unused]] middle_pipe middle;
  for (;;) {
    is_reading = true;
    const std::size_t n = from.read(std::span<std::byte>(buffer.get(), piece), error);
    if (error || n == 0) {
      return done;
    }
    is_reading = false;
    done += to.write(std::span<const std::byte>(buffer.get(), n), error);
    if (error) {
      return done;
    }
    if constexpr (os::has_splice && moves_to_pipes<From> && moves_from_pipes<To>) {
      if (n >= much && !move_much(from, to, middle, done, error, is_reading)) {
        return done;
      }
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Reads from a readable_stream up to its end and writes all of it to a writable_stream. Returns
/// how many bytes were written. From a file, or a limited one, to a connection inside the kernel, and
/// much of what goes between connections and pipes on Linux; else in pieces of 32 KiB. What was read and could not be written is lost, except of a file that
/// is sent inside the kernel: its position is behind what was. A cancellation point where reading
/// and writing are.
template <class From, class To>
std::uint64_t copy(From&& from, To&& to) {
  std::error_code error;
  bool is_reading = false;
  const std::uint64_t done = io_detail::copy_all(from, to, error, is_reading);
  if (error) [[unlikely]] {
    if (is_reading) {
      io_detail::fail_by(from, error, "copy");
    }
    io_detail::fail_by(to, error, "copy");
  }
  return done;
}
/// The same; what was written before an error counts.
template <class From, class To>
std::uint64_t copy(From&& from, To&& to, std::error_code& error) {
  bool is_reading = false;
  return io_detail::copy_all(from, to, error, is_reading);
}

/// Everything up to the end of a readable_stream, of which there may be `most` bytes.
/// errc::message_size: there are more. A cancellation point where reading is.
template <class Stream>
std::string read_all(Stream&& from, std::size_t most, std::error_code& error);
template <class Stream>
std::string read_all(Stream&& from, std::size_t most) {
  std::error_code error;
  std::string text = read_all(from, most, error);
  if (error) [[unlikely]] {
    io_detail::fail_by(from, error, "read_all");
  }
  return text;
}
/// The same; what came before an error is returned, but for the one byte that showed that there are
/// more.
template <class Stream>
std::string read_all(Stream&& from, std::size_t most, std::error_code& error) {
  static_assert(readable_stream<Stream>,
                "read_all: the stream must be an io::readable_stream, with "
                "read(std::span<std::byte>) and the same with a std::error_code&");
  constexpr std::size_t least = 4096;
  std::string text;
  error.clear();
  for (std::size_t used = 0;;) {
    char one_more = 0;
    std::span<char> room(&one_more, 1);
    if (used != most) {
      if (used == text.size()) {
        text.resize(used < most / 2 ? std::min(most, std::max(least, 2 * used)) : most);
      }
      room = std::span<char>(text).subspan(used);
    }
    const std::size_t n = from.read(std::as_writable_bytes(room), error);
    if (n != 0 && used == most) {
      error = std::make_error_code(std::errc::message_size);
    } else {
      used += n;
    }
    if (n == 0 || error) {
      text.resize(used);
      return text;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/copy_definition.hpp>
#endif

#endif
