// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// limited: the next n bytes of a stream, as a stream that ends behind them.
#ifndef THRUM_IO_LIMITED_HPP
#define THRUM_IO_LIMITED_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/convert.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// A readable_stream that gives at most n bytes of another one: the body of a message whose length
/// is known. It never reads further. `limited(c, n)` refers to a stream that must outlive it,
/// `limited(std::move(c), n)` owns it. For one goroutine or thread at a time.
template <class Stream>
class limited : public stream_reading<limited<Stream>> {
  static_assert(readable_stream<Stream>,
                "limited: the stream must be an io::readable_stream, with "
                "read(std::span<std::byte>) and read(std::span<std::byte>, std::error_code&)");

 public:
  /// Gives n bytes of the stream, or fewer if that ends before.
  explicit limited(Stream&& stream, std::uint64_t n)
      : stream_(std::forward<Stream>(stream)), left_(n) {}

  // read, read_full and read_all of stream.hpp.

  /// How many bytes are to come. At the end: not 0 if the stream has ended too early.
  std::uint64_t left() const noexcept { return left_; }

  /// The stream, for its deadlines and its end.
  std::remove_reference_t<Stream>& stream() noexcept { return stream_; }

  /// What stream.hpp makes members of. Programs have no need of it.
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) {
    error.clear();
    const std::size_t most =
        left_ < buffer.size() ? base::convert<std::size_t>(left_) : buffer.size();
    if (most == 0) {
      return 0;
    }
    const std::size_t n = stream_.read(buffer.first(most), error);
    left_ -= n;
    return n;
  }
  /// For copy(): take(stream, left()) says how many of these bytes it has taken from the stream.
  template <class Take>
  std::uint64_t take_inside(Take take) {
    const std::uint64_t n = take(stream_, left_);
    left_ -= n;
    return n;
  }
  /// Throws the error as the stream does.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    io_detail::fail_by(stream_, error, operation);
  }

 private:
  Stream stream_;
  std::uint64_t left_;
};

template <class Stream>
limited(Stream&&, std::uint64_t) -> limited<Stream>;

}}}  // namespace thrum::THRUM_ABI::io

#endif
