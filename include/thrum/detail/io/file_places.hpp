// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The operations of a file that name a place in it or concern all of it: read_at, write_at, seek, size,
// truncate, sync.
#ifndef THRUM_DETAIL_IO_FILE_PLACES_HPP
#define THRUM_DETAIL_IO_FILE_PLACES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// As count_or, of what may be more than memory can hold: a place in a file.
inline std::uint64_t place_or(os::io_result result, std::error_code& error) noexcept {
  count_or(result < 0 ? result : 0, error);
  return result < 0 ? 0 : static_cast<std::uint64_t>(result);
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE std::size_t file::read_at(std::span<std::byte> buffer, std::uint64_t offset) {
  return io_detail::or_fail(*this, "read_at",
                            [&](std::error_code& error) { return read_at(buffer, offset, error); });
}

THRUM_OUT_OF_LINE std::size_t file::read_at(std::span<char> buffer, std::uint64_t offset) {
  return read_at(std::as_writable_bytes(buffer), offset);
}

THRUM_OUT_OF_LINE std::size_t file::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                                            std::error_code& error) {
  return io_detail::count_or(
      move_beside([&](os::handle fd) -> os::io_result {
        const auto at = static_cast<std::int64_t>(offset);
        if (at < 0) {  // -1 is the position of the file to io_uring, and its end to Windows
          return os::invalid;
        }
        return transfer(fd, netpoll::operation::read, buffer.data(), buffer.size(), at,
                        [&] { return os::read_at(fd, buffer.data(), buffer.size(), at); });
      }),
      error);
}

THRUM_OUT_OF_LINE std::size_t file::read_at(std::span<char> buffer, std::uint64_t offset,
                                            std::error_code& error) {
  return read_at(std::as_writable_bytes(buffer), offset, error);
}

THRUM_OUT_OF_LINE std::size_t file::write_at(std::span<const std::byte> bytes,
                                             std::uint64_t offset) {
  return io_detail::or_fail(*this, "write_at",
                            [&](std::error_code& error) { return write_at(bytes, offset, error); });
}

THRUM_OUT_OF_LINE std::size_t file::write_at(std::string_view text, std::uint64_t offset) {
  return write_at(std::as_bytes(std::span(text)), offset);
}

THRUM_OUT_OF_LINE std::size_t file::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                                             std::error_code& error) {
  std::size_t done = 0;
  os::io_result result = kind_.appends ? os::invalid : 0;
  while (result >= 0 && done != bytes.size()) {
    result = move_beside([&](os::handle fd) -> os::io_result {
      const std::span<const std::byte> rest = bytes.subspan(done);
      const auto at = static_cast<std::int64_t>(offset + done);
      if (at < 0) {
        return os::invalid;
      }
      return transfer(fd, netpoll::operation::write, const_cast<std::byte*>(rest.data()),
                      rest.size(), at,
                      [&] { return os::write_at(fd, rest.data(), rest.size(), at); });
    });
    done += result > 0 ? static_cast<std::size_t>(result) : 0;
  }
  io_detail::count_or(result, error);
  return done;
}

THRUM_OUT_OF_LINE std::size_t file::write_at(std::string_view text, std::uint64_t offset,
                                             std::error_code& error) {
  return write_at(std::as_bytes(std::span(text)), offset, error);
}

THRUM_OUT_OF_LINE std::uint64_t file::seek(std::int64_t offset, seek_from from) {
  return io_detail::or_fail(*this, "seek",
                            [&](std::error_code& error) { return seek(offset, from, error); });
}

THRUM_OUT_OF_LINE std::uint64_t file::seek(std::int64_t offset, seek_from from,
                                           std::error_code& error) {
  return io_detail::place_or(beside([&](os::handle fd) { return os::seek(fd, offset, from); }),
                             error);
}

THRUM_OUT_OF_LINE std::uint64_t file::size() {
  return io_detail::or_fail(*this, "size", [&](std::error_code& error) { return size(error); });
}

THRUM_OUT_OF_LINE std::uint64_t file::size(std::error_code& error) {
  return io_detail::place_or(beside([](os::handle fd) { return os::file_size(fd); }), error);
}

THRUM_OUT_OF_LINE void file::truncate(std::uint64_t size) {
  io_detail::or_fail(*this, "truncate",
                     [&](std::error_code& error) { return truncate(size, error), true; });
}

THRUM_OUT_OF_LINE void file::truncate(std::uint64_t size, std::error_code& error) {
  const auto bytes = static_cast<std::int64_t>(size);
  io_detail::count_or(beside([&](os::handle fd) { return os::truncate(fd, bytes); }), error);
}

THRUM_OUT_OF_LINE void file::sync() {
  io_detail::or_fail(*this, "sync", [&](std::error_code& error) { return sync(error), true; });
}

THRUM_OUT_OF_LINE void file::sync(std::error_code& error) {
  io_detail::count_or(beside([](os::handle fd) { return os::sync(fd); }), error);
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
