// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// buffered_writer: many small writes become few.
//
// For bytes that are not flushed when the writer is destroyed there are two known answers: a
// std::ofstream tries to write them, Go's bufio.Writer drops them. Here they are dropped. A write waits
// for a peer, which may never read; it may fail, and a destructor cannot say so. And where a stop
// unwinds a goroutine, its destructors must not wait at all.
#ifndef THRUM_IO_BUFFERED_WRITER_HPP
#define THRUM_IO_BUFFERED_WRITER_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/io/stream.hpp>
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Gathers what is written, and writes it to a stream when the buffer is full, and by flush(). Bytes
/// that were not flushed are lost when it is destroyed. A writable_stream itself.
/// `buffered_writer(c)` refers to a stream that must outlive it, `buffered_writer(std::move(c))`
/// owns it. For one goroutine or thread at a time. All that write to the stream are cancellation
/// points where its write is one.
template <class Stream>
class buffered_writer : public stream_writing<buffered_writer<Stream>> {
  static_assert(
      writable_stream<Stream>,
      "buffered_writer: the stream must be an io::writable_stream, with write(std::span<const "
      "std::byte>) and write(std::span<const std::byte>, std::error_code&)");

 public:
  /// The size of the buffer, unless told otherwise: 4 KiB.
  static constexpr std::size_t default_size = 4096;

  /// `size`: the bytes that it gathers; 0: every write goes to the stream at once.
  explicit buffered_writer(Stream&& stream, std::size_t size = default_size)
      : stream_(std::forward<Stream>(stream)), size_(size) {}

  // write of stream.hpp. With an error: bytes that are in the buffer count as written. What the
  // stream has not taken stays in the buffer, and the next call, or flush(), tries again.

  /// Writes one character.
  void put(char c) {
    io_detail::or_fail(*this, "put", [&](std::error_code& error) { return put(c, error), true; });
  }
  void put(char c, std::error_code& error) { this->write(std::string_view(&c, 1), error); }

  /// Writes to the stream what is in the buffer.
  void flush() {
    io_detail::or_fail(*this, "flush", [&](std::error_code& error) { return flush(error); });
  }
  /// Writes to the stream what is in the buffer. False: `error` is set, and what was not written stays in
  /// the buffer.
  bool flush(std::error_code& error) {
    error.clear();
    if (!buffer_.empty()) {
      const std::size_t n =
          io_detail::write_whole(stream_, std::as_bytes(std::span(std::as_const(buffer_))), error);
      buffer_.erase(0, error ? n : buffer_.size());
    }
    return !error;
  }

  /// flush() until a stop: then std::errc::operation_canceled, and what was not written stays in the
  /// buffer. Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <until_condition Stop, std::same_as<std::error_code>... Error>
  bool flush(const Stop& stop, Error&... error) {
    const auto call = [&](std::error_code& code) { return flush(code); };
    return io_detail::until_stopped(*this, "flush", stop, call, error...);
  }

  /// How many bytes wait for a flush.
  std::size_t buffered() const noexcept { return buffer_.size(); }

  /// The stream, for its deadlines and its end. Writing to it passes by what is in the buffer.
  std::remove_reference_t<Stream>& stream() noexcept { return stream_; }

  /// What stream.hpp makes members of. Programs have no need of it.
  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error) {
    error.clear();
    if (bytes.size() > size_ - buffer_.size()) {
      if (!flush(error)) {
        return;
      }
      if (bytes.size() >= size_) {
        done = io_detail::write_whole(stream_, bytes, error);
        return;
      }
    }
    if (buffer_.capacity() < size_) {
      buffer_.reserve(size_);
    }
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    done = bytes.size();
  }
  /// Throws the error as the stream does.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    io_detail::fail_by(stream_, error, operation);
  }

 private:
  Stream stream_;
  std::size_t size_;
  std::string buffer_;  // never above size_
};

template <class Stream>
buffered_writer(Stream&&, std::size_t = 0) -> buffered_writer<Stream>;

}}}  // namespace thrum::THRUM_ABI::io

#endif
