// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// copy and read_all: a stream to its end, into another one or into memory.
//
// A file is sent to a connection inside the kernel, by the connection's send_file: as far as the file's size
// says that there are any bytes. Bytes behind that (the file grows, or it has no size, as in /proc) are read
// and written like the rest.
//
// Between two connections or pipes, on Linux, the copy puts a pipe of its own, and bytes move into it and
// out of it without being copied (os::splice_to_pipe). Not at once: after a read that takes what there is,
// the copy knows whether it may have more without asking; after such a move it does not. So small pieces go
// through memory, for one system call less each, until a read has brought a quarter of the buffer (a busy
// socket seldom has as much as would fill it). They do so again after a small move. What cannot be moved (a
// terminal) goes through memory.
#ifndef THRUM_IO_COPY_HPP
#define THRUM_IO_COPY_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/middle_pipe.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/limited.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/stop_condition.hpp>

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

/// In place of a stop: there is none.
struct never {
  constexpr bool operator()() const noexcept { return false; }
};

/// Sends what the file has from its position on, at most `limit` bytes, and moves the position
/// behind it. 0 for what has no size. Asks now and then whether it is over: a peer that takes all at
/// once never makes it wait.
template <class To, class IsOver>
std::uint64_t send_rest_of(io::file& from, std::uint64_t limit, To& to, IsOver is_over,
                           std::error_code& error) {
  std::error_code has_no_position;
  const std::uint64_t size = from.size(has_no_position);
  if (has_no_position || size == 0) {
    return 0;
  }
  const std::uint64_t begin = from.seek(0, io::seek_from::current, has_no_position);
  if (has_no_position || begin >= size) {
    return 0;
  }
  const std::uint64_t wanted = std::min(limit, size - begin);
  constexpr std::uint64_t most_at_once =
      std::is_same_v<IsOver, never> ? UINT64_MAX : std::uint64_t{4} * 1024 * 1024;
  std::uint64_t sent = 0;
  for (std::uint64_t part = 0; sent != wanted && !error; sent += part) {
    const std::uint64_t asked = std::min(wanted - sent, most_at_once);
    part = to.send_file(from.native_handle(), begin + sent, asked, error);
    if (part < asked) {
      sent += part;
      break;
    }
    if (is_over()) {
      error = std::make_error_code(std::errc::operation_canceled);
    }
  }
  std::error_code ignored;  // a close meanwhile: of that the next read tells
  from.seek(static_cast<std::int64_t>(begin + sent), io::seek_from::begin, ignored);
  return sent;
}

/// The part of copy() that need not go through memory.
template <class From, class To, class IsOver>
std::uint64_t copy_inside(From& from, To& to, IsOver is_over, std::error_code& error) {
  if constexpr (takes_files<To> && std::is_same_v<From, io::file>) {
    return send_rest_of(from, std::numeric_limits<std::uint64_t>::max(), to, is_over, error);
  } else if constexpr (takes_files<To> && (std::is_same_v<From, io::limited<io::file&>> ||
                                           std::is_same_v<From, io::limited<io::file>>)) {
    return from.take_inside([&](io::file& file, std::uint64_t limit) {
      return send_rest_of(file, limit, to, is_over, error);
    });
  } else {
    return 0;
  }
}

template <class From>
concept moves_to_pipes = requires(From& from, os::handle pipe) {
  from.move_to_pipe(pipe, 1);
};
template <class To>
concept moves_from_pipes = requires(To& to, os::handle pipe, std::size_t& done) {
  to.move_from_pipe(pipe, 1, done);
};

/// One call of copy(). After an error it can go on: what was read and not written is kept.
template <class From, class To>
class copying {
  static_assert(
      io::readable_stream<From> && io::writable_stream<To>,
      "copy: the first argument must be an io::readable_stream, the second an io::writable_stream");

 public:
  copying(From& from, To& to) noexcept : from_(from), to_(to) {}
  copying(const copying&) = delete;
  copying& operator=(const copying&) = delete;

  /// Up to the end or an error; operation_canceled when is_over(), which is asked between pieces.
  template <class IsOver>
  void run(std::error_code& error, IsOver is_over) {
    error.clear();
    is_reading_ = false;
    if (!write_held(error) || !empty_middle(error)) {
      return;
    }
    done_ += copy_inside(from_, to_, is_over, error);
    if (error) {
      return;
    }
    if (buffer_ == nullptr) {
      buffer_.reset(new std::byte[piece]);
    }
    while (goes_on(is_over, error)) {
      is_reading_ = true;
      const std::size_t n = from_.read(std::span<std::byte>(buffer_.get(), piece), error);
      if (error || n == 0) {
        return;
      }
      held_ = std::span<const std::byte>(buffer_.get(), n);
      if (!write_held(error)) {
        return;
      }
      if constexpr (moves) {
        constexpr std::size_t much = piece / 4;
        if (n >= much && !move_much(error, is_over)) {
          return;
        }
      }
    }
  }

  /// How many bytes were written.
  std::uint64_t done() const noexcept { return done_; }

  /// Throws the error as that stream does of which it is.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    if (is_reading_) {
      fail_by(from_, error, operation);
    }
    fail_by(to_, error, operation);
  }

 private:
  static constexpr std::size_t piece = std::size_t{32} * 1024;
  static constexpr bool moves = os::has_splice && moves_to_pipes<From> && moves_from_pipes<To>;

  template <class IsOver>
  static bool goes_on(IsOver is_over, std::error_code& error) {
    const bool ends = is_over();
    if (ends) {
      error = std::make_error_code(std::errc::operation_canceled);
    }
    return !ends;
  }

  /// False: an error, and `held_` has what was not written.
  bool write_held(std::error_code& error) {
    if (!held_.empty()) {
      is_reading_ = false;
      const std::size_t n = write_whole(to_, held_, error);
      done_ += n;
      held_ = held_.subspan(n);
    }
    return !error;
  }

  /// Moves through the pipe as long as that is much at a time. False: that was all, or an error.
  template <class IsOver>
  bool move_much(std::error_code& error, IsOver is_over) {
    constexpr os::io_result few = 4096;
    while (middle_.open()) {
      if (!goes_on(is_over, error)) {
        return false;
      }
      is_reading_ = true;
      const os::io_result n = from_.move_to_pipe(middle_.writer(), middle_pipe::most);
      if (os::cannot_splice(n)) {
        middle_.give_up();
        return true;
      }
      in_middle_ = count_or(n, error);
      if (in_middle_ == 0 || !empty_middle(error)) {
        return false;
      }
      middle_.has_passed(static_cast<std::size_t>(n));
      if (n < few) {
        return true;
      }
    }
    return true;
  }

  /// False: an error; the pipe and `held_` have what was not written.
  bool empty_middle(std::error_code& error) {
    if constexpr (moves) {
      if (in_middle_ == 0) {
        return true;
      }
      is_reading_ = false;
      std::size_t moved = 0;
      const os::io_result result = to_.move_from_pipe(middle_.reader(), in_middle_, moved);
      done_ += moved;
      in_middle_ -= moved;
      if (!os::cannot_splice(result)) {
        count_or(result, error);
        return !error;
      }
      middle_.give_up();  // what it holds is written as it would have been
      while (in_middle_ != 0) {
        const std::size_t n = count_or(os::read(middle_.reader(), buffer_.get(), piece), error);
        in_middle_ -= n;
        held_ = std::span<const std::byte>(buffer_.get(), n);
        if (!write_held(error)) {
          return false;
        }
      }
    }
    return true;
  }

  From& from_;
  To& to_;
  std::uint64_t done_ = 0;
  bool is_reading_ = false;  // whose an error is
  std::unique_ptr<std::byte[]> buffer_;
  std::span<const std::byte> held_;  // in the buffer, not written yet
  std::size_t in_middle_ = 0;        // behind that, in the pipe
  [[no_unique_address]] std::conditional_t<moves, middle_pipe, never> middle_;
};

/// What read_all reads at most, unless told otherwise.
inline constexpr std::size_t most_of_all = std::size_t{64} * 1024 * 1024;

/// read_all with a limit. What came before an error is in `text`, and it can go on.
template <class Stream, class IsOver>
void read_up_to(Stream& from, std::size_t most, std::string& text, std::error_code& error,
                IsOver is_over) {
  static_assert(io::readable_stream<Stream>,
                "read_all: the stream must be an io::readable_stream, with "
                "read(std::span<std::byte>) and read(std::span<std::byte>, std::error_code&)");
  constexpr std::size_t least = 4096;
  error.clear();
  for (std::size_t used = text.size();;) {
    char one_more = 0;
    std::span<char> room(&one_more, 1);
    if (used != most) {
      if (used == text.size()) {
        text.resize(used < most / 2 ? std::min(most, std::max(least, 2 * used)) : most);
      }
      room = std::span<char>(text).subspan(used);
    }
    std::size_t n = 0;
    if (is_over()) {
      error = std::make_error_code(std::errc::operation_canceled);
    } else {
      n = from.read(std::as_writable_bytes(room), error);
    }
    if (n != 0 && used == most) {
      error = std::make_error_code(std::errc::message_size);
    } else {
      used += n;
    }
    if (n == 0 || error) {
      text.resize(used);
      return;
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Reads from a readable_stream up to its end and writes all of it to a writable_stream. Returns
/// how many bytes were written. From a file, or a limited one, to a connection inside the kernel, and
/// much of what goes between connections and pipes on Linux; else in pieces of 32 KiB. What was read
/// and could not be written is lost, except of a file that is sent inside the kernel: its position is
/// behind what was. A cancellation point where reading and writing are.
template <class From, class To>
std::uint64_t copy(From&& from, To&& to) {
  io_detail::copying all(from, to);
  std::error_code error;
  all.run(error, io_detail::never());
  if (error) [[unlikely]] {
    all.fail(error, "copy");
  }
  return all.done();
}
/// copy(from, to) with an error_code: what was written before an error counts.
template <class From, class To>
std::uint64_t copy(From&& from, To&& to, std::error_code& error) {
  io_detail::copying all(from, to);
  all.run(error, io_detail::never());
  return all.done();
}
/// copy(from, to) until a stop: then std::errc::operation_canceled; with `error` the returned number says
/// how much was written before. What was read and is not written by then is lost, as above. Needs
/// <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
template <class From, class To, until_condition Stop, std::same_as<std::error_code>... Error>
std::uint64_t copy(From&& from, To&& to, const Stop& stop, Error&... error) {
  io_detail::copying all(from, to);
  const auto& end = stop_detail::ending(stop);
  const auto call = [&](std::error_code& code) {
    all.run(code, [&] { return stop_detail::is_over(end); });
    return 0;
  };
  io_detail::until_stopped(all, "copy", end, call, error...);
  return all.done();
}

/// Everything up to the end of a readable_stream, of which there may be `most` bytes: 64 MiB unless told
/// otherwise. errc::message_size: there are more. A cancellation point where reading is.
template <class Stream>
std::string read_all(Stream&& from, std::size_t most = io_detail::most_of_all) {
  std::error_code error;
  std::string text;
  io_detail::read_up_to(from, most, text, error, io_detail::never());
  if (error) [[unlikely]] {
    io_detail::fail_by(from, error, "read_all");
  }
  return text;
}
/// read_all(from, most) with an error_code: returns what came before an error, but for the one byte that
/// showed that there are more.
template <class Stream>
std::string read_all(Stream&& from, std::size_t most, std::error_code& error) {
  std::string text;
  io_detail::read_up_to(from, most, text, error, io_detail::never());
  return text;
}
template <class Stream>
std::string read_all(Stream&& from, std::error_code& error) {
  return read_all(from, io_detail::most_of_all, error);
}
/// read_all(from, most) until a stop: then std::errc::operation_canceled; with `error`, returns what came
/// before. Needs the header that copy needs.
template <class Stream, until_condition Stop, std::same_as<std::error_code>... Error>
std::string read_all(Stream&& from, std::size_t most, const Stop& stop, Error&... error) {
  std::string text;
  const auto& end = stop_detail::ending(stop);
  const auto call = [&](std::error_code& code) {
    io_detail::read_up_to(from, most, text, code, [&] { return stop_detail::is_over(end); });
    return 0;
  };
  io_detail::until_stopped(from, "read_all", end, call, error...);
  return text;
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
