// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// tee and multi_writer: the same bytes to several places, as they are read and as they are written.
#ifndef THRUM_IO_TEE_HPP
#define THRUM_IO_TEE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// A readable_stream that writes all that is read from it to a writable_stream, before the read
/// returns. If that cannot be written the read fails with the writer's error, and the bytes of this
/// read are lost to the reader. `tee(a, b)` refers to streams that must outlive it, what is moved
/// into it it owns. For one goroutine or thread at a time.
template <class Reader, class Writer>
class tee : public stream_reading<tee<Reader, Writer>> {
  static_assert(
      readable_stream<Reader> && writable_stream<Writer>,
      "tee: the first argument must be an io::readable_stream, the second an io::writable_stream");

 public:
  /// Reads from the one and writes to the other.
  explicit tee(Reader&& reader, Writer&& writer)
      : reader_(std::forward<Reader>(reader)), writer_(std::forward<Writer>(writer)) {}

  // read, read_full and read_all of stream.hpp.

  /// What stream.hpp makes members of. Programs have no need of it.
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) {
    const std::size_t n = reader_.read(buffer, error);
    has_read_ = n != 0;
    if (n != 0) {
      io_detail::write_whole(writer_, buffer.first(n), error);
    }
    return error ? 0 : n;
  }
  /// Throws the error as that stream does of which it is.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    if (has_read_) {
      io_detail::fail_by(writer_, error, operation);
    }
    io_detail::fail_by(reader_, error, operation);
  }

 private:
  Reader reader_;
  Writer writer_;
  bool has_read_ = false;  // the last time
};

template <class Reader, class Writer>
tee(Reader&&, Writer&&) -> tee<Reader, Writer>;

/// A writable_stream that writes everything to each of several, in their order. At the first that
/// fails it stops with that one's error: those before it have all, those behind it nothing of this
/// write. It refers to streams that must outlive it; what is moved into it it owns. For one
/// goroutine or thread at a time.
template <class... Writers>
class multi_writer : public stream_writing<multi_writer<Writers...>> {
  static_assert(
      (writable_stream<Writers> && ...),
      "multi_writer: each stream must be an io::writable_stream, with write(std::span<const "
      "std::byte>) and write(std::span<const std::byte>, std::error_code&)");

 public:
  /// Writes to these.
  explicit multi_writer(Writers&&... writers) : writers_(std::forward<Writers>(writers)...) {}

  // write of stream.hpp. With an error: as many bytes as the one that failed has taken.

  /// What stream.hpp makes members of. Programs have no need of it.
  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error) {
    error.clear();
    done = bytes.size();
    failed_ = 0;
    std::apply(
        [&](auto&... each) {
          static_cast<void>(
              ((done = io_detail::write_whole(each, bytes, error), error || (++failed_, false)) ||
               ...));
        },
        writers_);
  }
  /// Throws the error as that stream does which has failed.
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const {
    std::size_t index = 0;
    std::apply(
        [&](const auto&... each) {
          ((index++ == failed_ ? io_detail::fail_by(each, error, operation) : void()), ...);
        },
        writers_);
    base::throw_system(error, operation);
  }

 private:
  std::tuple<Writers...> writers_;
  std::size_t failed_ = 0;
};

template <class... Writers>
multi_writer(Writers&&...) -> multi_writer<Writers...>;

}}}  // namespace thrum::THRUM_ABI::io

#endif
