// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Opens a file by its path, or takes over an open descriptor.
//
// The operations of a file that name a place in it or concern all of it: read_at, write_at, seek, size,
// truncate, sync.
//
// Reads and writes at the current position of a file.
#ifndef THRUM_DETAIL_IO_FILE_CALLS_HPP
#define THRUM_DETAIL_IO_FILE_CALLS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/pieces.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, unsigned permissions) {
  std::error_code error;
  file result = open(path, mode, permissions, error);
  if (error) {
    result.fail(error, "open");
  }
  return result;
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, std::error_code& error) {
  return open(path, mode, default_permissions, error);
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, unsigned permissions,
                                  std::error_code& error) {
  return open_by([=](const char* name) { return os::open_file(name, mode, permissions); }, path,
                 error);
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, os::system_open_flags flags,
                                  unsigned permissions) {
  std::error_code error;
  file result = open(path, flags, permissions, error);
  if (error) {
    result.fail(error, "open");
  }
  return result;
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, os::system_open_flags flags,
                                  unsigned permissions, std::error_code& error) {
  return open_by(
      [=](const char* name) { return os::open_file_with_flags(name, flags, permissions); }, path,
      error);
}

template <class Open>
file file::open_by(Open call, const std::string& path, std::error_code& error) {
  file result;
  result.path_ = path;  // may throw: before there is a descriptor
  const os::io_result fd = open_native_by(call, path);
  if (fd < 0) {
    error = io_detail::error_of(fd);
    return result;
  }
  result.take_over(os::handle_of(fd), true, error);
  return result;
}

template <class Open>
os::io_result file::open_native_by(Open call, const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return os::invalid;
  }
  return uninterrupted([&] { return call(path.c_str()); });
}

THRUM_OUT_OF_LINE os::io_result file::open_native(const std::string& path, open_mode mode) {
  return open_native_by(
      [=](const char* name) { return os::open_file(name, mode, default_permissions); }, path);
}

THRUM_OUT_OF_LINE void file::take_over(os::handle fd, bool own, std::error_code& error) {
  os::io_result result = os::kind_of(fd, kind_);
  if (result >= 0 && own && kind_.may_wait) {
    result = os::set_nonblocking(fd, true);
  }
  if (result < 0) {
    error = io_detail::error_of(result);
    os::close(fd);
    return;
  }
  error.clear();
  descriptor_ = descriptor(fd, error);
  waits_.set(kind_.may_wait);
  shared_ = kind_.may_wait && !own && !kind_.is_nonblocking;
}

}}}  // namespace thrum::THRUM_ABI::io

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

THRUM_OUT_OF_LINE os::io_result file::read_some(std::span<std::byte> buffer) {
  const auto read = [&](os::handle fd) { return os::read(fd, buffer.data(), buffer.size()); };
  return run(
      side::read,
      [&](os::handle fd) {
        if (shared_ && waits()) {
          return run_shared(
              fd, side::read, [&] { return os::read_at_once(fd, buffer.data(), buffer.size()); },
              [&] { return read(fd); });
        }
        return read(fd);
      },
      [&](os::handle fd) {
        return transfer(fd, netpoll::operation::read, buffer.data(), buffer.size(),
                        netpoll::operation::at_position, [&] { return read(fd); });
      });
}

THRUM_OUT_OF_LINE os::io_result file::write_all(std::span<const std::byte> bytes,
                                                std::size_t& done) {
  const auto write_rest = [&](auto write) {
    return [&, write](os::handle fd) -> os::io_result {
      if (done == bytes.size()) {
        return 0;
      }
      const os::io_result n = write(fd, bytes.subspan(done));
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
      return n;
    };
  };
  return run<true>(
      side::write, write_rest([&](os::handle fd, auto rest) { return write_some(fd, rest); }),
      write_rest([&](os::handle fd, auto rest) {
        const auto write = [&] { return write_some(fd, rest); };
        // The system would send the signal of a broken pipe.
        return kind_.may_break
                   ? uninterrupted(write)
                   : transfer(fd, netpoll::operation::write, const_cast<std::byte*>(rest.data()),
                              rest.size(), netpoll::operation::at_position, write);
      }));
}

THRUM_OUT_OF_LINE os::io_result file::read_some_v(std::span<const std::span<std::byte>> pieces) {
  const io_detail::piece_list all(pieces);
  if (shared_ && waits()) {  // one at a time does not wait for the next
    const auto first =
        std::find_if(pieces.begin(), pieces.end(), [](const auto& each) { return !each.empty(); });
    return read_some(first != pieces.end() ? *first : std::span<std::byte>());
  }
  const auto read = [&](os::handle fd) { return os::read_pieces(fd, all.parts, all.count); };
  return run(side::read, read,
             [&](os::handle fd) { return uninterrupted([&] { return read(fd); }); });
}

THRUM_OUT_OF_LINE os::io_result file::write_all_v(
    std::span<const std::span<const std::byte>> pieces, std::size_t& done) {
  const auto write = [&](os::handle fd) -> os::io_result {
    const io_detail::piece_list left(pieces, done);
    if (left.count == 0) {
      return 0;
    }
    // If the file keeps a blocking mode that is not ours, write_some() writes without waiting.
    const bool is_careful = shared_ && waits();
    const os::io_result n =
        is_careful ? write_some(fd, left.first()) : os::write_pieces(fd, left.parts, left.count);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
    return n;
  };
  return run<true>(side::write, write,
                   [&](os::handle fd) { return uninterrupted([&] { return write(fd); }); });
}

THRUM_OUT_OF_LINE os::io_result file::write_some(os::handle fd, std::span<const std::byte> bytes) {
  const auto write = [&](std::size_t most) {
    const std::size_t n = std::min(bytes.size(), most);
    return kind_.may_break ? os::write_without_signal(fd, bytes.data(), n)
                           : os::write(fd, bytes.data(), n);
  };
  if (shared_ && waits()) {
    // What a pipe takes at once if it takes anything.
    constexpr std::size_t atomic_size = 512;
    return run_shared(
        fd, side::write, [&] { return os::write_at_once(fd, bytes.data(), bytes.size()); },
        [&] { return write(atomic_size); });
  }
  return write(bytes.size());
}

}}}  // namespace thrum::THRUM_ABI::io

#endif  // THRUM_DETAIL_IO_FILE_CALLS_HPP
