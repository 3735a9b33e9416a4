// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// buffered_reader: lines, words and blocks of known size from any stream.
//
// The buffer has a limit, so that a peer that never ends its line costs so much memory and no more.
// It is made at the first read, with 4 KiB, and grows only for a line that needs it.
//
// Nothing that was read is lost by an error: a line, a peek or a block stays in the buffer until it
// is complete. So a deadline may end a read_line, and the next one goes on where it was.
#ifndef THRUM_IO_BUFFERED_READER_HPP
#define THRUM_IO_BUFFERED_READER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/errc.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/stop_condition.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Reads from a stream in large pieces and gives out what programs ask for. A readable_stream
/// itself. `buffered_reader(c)` refers to a stream that must outlive it,
/// `buffered_reader(std::move(c))` owns it. For one goroutine or thread at a time. All that wait
/// are cancellation points where the stream's read is one.
///
/// When not to use: to read all of a stream, or in large pieces, the stream itself is as good.
template <class Stream>
class buffered_reader : public stream_reading<buffered_reader<Stream>> {
  static_assert(readable_stream<Stream>,
                "buffered_reader: the stream must be an io::readable_stream, with "
                "read(std::span<std::byte>) and read(std::span<std::byte>, std::error_code&)");

 public:
  /// How many bytes it holds at most, unless told otherwise: 64 KiB, as Go's Scanner.
  static constexpr std::size_t default_limit = std::size_t{64} * 1024;

  /// `limit`: the bytes that it holds at most, at least 1. When so many have come without an end of
  /// the line among them, that is errc::message_size.
  explicit buffered_reader(Stream&& stream, std::size_t limit = default_limit)
      : stream_(std::forward<Stream>(stream)), limit_(limit != 0 ? limit : 1) {}

  // read, read_full and read_all of stream.hpp: what is in the buffer comes first. A read that finds
  // nothing there reads once; into the caller's memory if that is at least as large as the buffer.

  /// The next line, without its end ("\n" or "\r\n"). None at the end of the stream; a last line
  /// without an end is a line. errc::message_size: it is longer than the limit; what has come of it
  /// can still be read, or discarded.
  std::optional<std::string> read_line() {
    return io_detail::or_fail(*this, "read_line",
                              [&](std::error_code& error) { return read_line(error); });
  }
  std::optional<std::string> read_line(std::error_code& error) {
    return as_optional([&](std::string& line) { return read_line(line, error); });
  }
  /// read_line() until a stop: then std::errc::operation_canceled, and what has come of the line can still
  /// be read.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::optional<std::string> read_line(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return read_line(code); };
    return io_detail::until_stopped(*this, "read_line", stop, call, error...);
  }
  /// Reads the next line, as read_line(), into a string that keeps its memory. False: the end, or an error;
  /// `line` is as it was.
  bool read_line(std::string& line) {
    return io_detail::or_fail(*this, "read_line",
                              [&](std::error_code& error) { return read_line(line, error); });
  }
  bool read_line(std::string& line, std::error_code& error) {
    if (!take_until(line, "\n", error)) {
      return false;
    }
    if (line.ends_with('\n')) {
      line.pop_back();
      if (line.ends_with('\r')) {
        line.pop_back();
      }
    }
    return true;
  }

  /// The lines up to the end of the stream: for (std::string& line : reader.lines()). Each is gone when the
  /// next is read. Errors as of read_line.
  class line_range {
   public:
    /// Over the lines, once.
    class iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = std::string;
      using difference_type = std::ptrdiff_t;
      using pointer = std::string*;
      using reference = std::string&;

      iterator() noexcept = default;
      /// Reads the first line. A cancellation point.
      explicit iterator(buffered_reader& from) : from_(&from) { ++*this; }

      /// The line: the iterator owns it until the next one is read.
      std::string& operator*() const noexcept { return line_; }
      std::string* operator->() const noexcept { return &line_; }
      /// Reads the next line. A cancellation point.
      iterator& operator++() {
        has_line_ = from_->read_line(line_);
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t) const noexcept { return !has_line_; }

     private:
      buffered_reader* from_ = nullptr;
      mutable std::string line_;
      bool has_line_ = false;
    };

    /// The reader must outlive it.
    explicit line_range(buffered_reader& from) noexcept : from_(&from) {}
    /// Reads the first line.
    iterator begin() const { return iterator(*from_); }
    std::default_sentinel_t end() const noexcept { return {}; }

   private:
    buffered_reader* from_;
  };
  /// A range that refers to this reader.
  line_range lines() noexcept { return line_range(*this); }

  /// Everything up to the delimiter, and that too: so it shows whether it was there, or the stream
  /// has ended before it. None: the stream had ended. errc::message_size as of read_line;
  /// usage_error for an empty delimiter.
  std::optional<std::string> read_until(std::string_view delimiter) {
    return io_detail::or_fail(*this, "read_until",
                              [&](std::error_code& error) { return read_until(delimiter, error); });
  }
  std::optional<std::string> read_until(std::string_view delimiter, std::error_code& error) {
    return as_optional([&](std::string& text) { return take_until(text, delimiter, error); });
  }
  std::optional<std::string> read_until(char delimiter) {
    return read_until(std::string_view(&delimiter, 1));
  }
  std::optional<std::string> read_until(char delimiter, std::error_code& error) {
    return read_until(std::string_view(&delimiter, 1), error);
  }

  /// read_until(delimiter) until a stop: then std::errc::operation_canceled, and what has come can still be
  /// read.
  template <class Delimiter, until_condition Stop, std::same_as<std::error_code>... Error>
  std::optional<std::string> read_until(const Delimiter& delimiter, const Stop& stop,
                                        Error&... error) {
    const auto call = [&](std::error_code& code) { return read_until(delimiter, code); };
    return io_detail::until_stopped(*this, "read_until", stop, call, error...);
  }

  /// Fills the buffer, and returns its size; or 0 if the stream had ended before the first byte.
  /// If it ends later: errc::unexpected_end.
  [[nodiscard]] std::size_t read_exactly(std::span<std::byte> buffer) {
    return io_detail::or_fail(*this, "read_exactly",
                              [&](std::error_code& error) { return read_exactly(buffer, error); });
  }
  [[nodiscard]] std::size_t read_exactly(std::span<char> buffer) {
    return read_exactly(std::as_writable_bytes(buffer));
  }
  /// On an error, the bytes that came before it: these are in `buffer`.
  std::size_t read_exactly(std::span<std::byte> buffer, std::error_code& error) {
    const std::size_t got = this->read_full(buffer, error);
    if (!error && got != 0 && got != buffer.size()) {
      error = errc::unexpected_end;
    }
    return got;
  }
  std::size_t read_exactly(std::span<char> buffer, std::error_code& error) {
    return read_exactly(std::as_writable_bytes(buffer), error);
  }

  /// read_exactly(buffer) until a stop: then std::errc::operation_canceled; with `error`, so many bytes are
  /// there.
  template <class Buffer, until_condition Stop, std::same_as<std::error_code>... Error>
  std::size_t read_exactly(Buffer&& buffer, const Stop& stop, Error&... error) {
    std::size_t got = 0;
    const auto call = [&](std::error_code& code) {
      got += this->read_full(std::span(buffer).subspan(got), code);
      if (!code && got != 0 && got != std::span(buffer).size()) {
        code = errc::unexpected_end;
      }
      return got;
    };
    io_detail::until_stopped(*this, "read_exactly", stop, call, error...);
    return got;
  }

  /// The next n bytes, which stay to be read; fewer only at the end of the stream. Valid until the
  /// next call. errc::message_size: n is above the limit.
  std::string_view peek(std::size_t n) {
    return io_detail::or_fail(*this, "peek",
                              [&](std::error_code& error) { return peek(n, error); });
  }
  /// On an error, what has come before it.
  std::string_view peek(std::size_t n, std::error_code& error) {
    error.clear();
    while (buffered() < n && fill(error)) {
    }
    return held().substr(0, n);
  }

  /// peek(n) until a stop: then std::errc::operation_canceled, and what has come can still be read.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::string_view peek(std::size_t n, const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return peek(n, code); };
    return io_detail::until_stopped(*this, "peek", stop, call, error...);
  }

  /// Reads n bytes and drops them. Returns their number: fewer only at the end of the stream.
  std::uint64_t discard(std::uint64_t n) {
    return io_detail::or_fail(*this, "discard",
                              [&](std::error_code& error) { return discard(n, error); });
  }
  /// What was dropped before an error counts.
  std::uint64_t discard(std::uint64_t n, std::error_code& error) {
    error.clear();
    for (std::uint64_t done = 0;;) {
      const std::size_t step =
          n - done < buffered() ? base::convert<std::size_t>(n - done) : buffered();
      begin_.at += step;
      done += step;
      if (done == n || !fill(error)) {
        return done;
      }
    }
  }

  /// discard(n) until a stop: then std::errc::operation_canceled; with `error`, returns how many bytes were
  /// dropped before.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  std::uint64_t discard(std::uint64_t n, const Stop& stop, Error&... error) {
    std::uint64_t done = 0;
    const auto call = [&](std::error_code& code) { return done += discard(n - done, code); };
    io_detail::until_stopped(*this, "discard", stop, call, error...);
    return done;
  }

  /// How many bytes can be had without reading from the stream.
  std::size_t buffered() const noexcept { return end_.at - begin_.at; }

  /// The stream, for its deadlines and its end. Reading from it passes by what is in the buffer.
  std::remove_reference_t<Stream>& stream() noexcept { return stream_; }

  /// What stream.hpp makes members of. Programs have no need of it.
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) {
    error.clear();
    if (buffer.empty()) {
      return 0;
    }
    if (buffered() == 0) {
      if (buffer.size() >= std::max(buffer_.size(), first_size())) {
        return stream_.read(buffer, error);
      }
      if (!fill(error)) {
        return 0;
      }
    }
    const std::size_t n = std::min(buffer.size(), buffered());
    std::memcpy(buffer.data(), held().data(), n);
    begin_.at += n;
    return n;
  }
  /// Throws the error as the stream does.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    io_detail::fail_by(stream_, error, operation);
  }

 private:
  /// In the buffer; that of a reader that was moved from is none, as its buffer is empty.
  struct position {
    std::size_t at = 0;

    position() noexcept = default;
    position(const position&) noexcept = default;
    position& operator=(const position&) noexcept = default;
    position(position&& other) noexcept : at(std::exchange(other.at, 0)) {}
    position& operator=(position&& other) noexcept {
      at = std::exchange(other.at, 0);
      return *this;
    }
  };

  std::size_t first_size() const noexcept { return std::min(limit_, std::size_t{4096}); }

  std::string_view held() const noexcept { return {buffer_.data() + begin_.at, buffered()}; }

  /// Reads once into what is free of the buffer, which grows if nothing is. False: the stream has
  /// ended, or an error, which may be that the buffer is full.
  bool fill(std::error_code& error) {
    if (begin_.at == end_.at) {
      begin_.at = end_.at = 0;
    }
    if (end_.at == buffer_.size()) {
      if (begin_.at != 0) {
        std::memmove(buffer_.data(), held().data(), buffered());
        end_.at = buffered();
        begin_.at = 0;
      } else if (end_.at == limit_) {
        error = std::make_error_code(std::errc::message_size);
        return false;
      } else {
        buffer_.resize(std::min(limit_, std::max(first_size(), 2 * end_.at)));
      }
    }
    const std::span<char> room(buffer_.data() + end_.at, buffer_.size() - end_.at);
    const std::size_t n = stream_.read(std::as_writable_bytes(room), error);
    end_.at += n;
    return n != 0 && !error;
  }

  bool take_until(std::string& text, std::string_view delimiter, std::error_code& error) {
    if (delimiter.empty()) {
      base::throw_usage(
          "buffered_reader::read_until: the delimiter is empty; pass at least one byte");
    }
    error.clear();
    std::size_t size = 0;
    for (std::size_t looked_at = 0;;) {
      const std::size_t from = looked_at - std::min(looked_at, delimiter.size() - 1);
      const std::size_t at = held().find(delimiter, from);
      if (at != std::string_view::npos) {
        size = at + delimiter.size();
        break;
      }
      looked_at = buffered();
      if (!fill(error)) {
        if (error || looked_at == 0) {
          return false;
        }
        size = looked_at;
        break;
      }
    }
    text.assign(held().data(), size);
    begin_.at += size;
    return true;
  }

  template <class Take>
  static std::optional<std::string> as_optional(Take take) {
    std::optional<std::string> text(std::in_place);
    if (!take(*text)) {
      text.reset();
    }
    return text;
  }

  Stream stream_;
  std::size_t limit_;
  std::string buffer_;  // its whole size is used
  position begin_;      // what was given out ends here
  position end_;        // what was read ends here
};

template <class Stream>
buffered_reader(Stream&&, std::size_t = 0) -> buffered_reader<Stream>;

}}}  // namespace thrum::THRUM_ABI::io

#endif
