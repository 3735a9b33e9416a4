// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Reads and writes at the current position of a file.
#ifndef THRUM_DETAIL_IO_FILE_STREAM_HPP
#define THRUM_DETAIL_IO_FILE_STREAM_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/pieces.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/file.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace thrum { inline namespace THRUM_ABI { namespace io {

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

#endif
