// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pieces of memory that one call reads into, or writes, as the system wants them.
#ifndef THRUM_DETAIL_IO_PIECES_HPP
#define THRUM_DETAIL_IO_PIECES_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>

#include <cstddef>
#include <span>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// As many of them as one call takes, behind the first `skip` bytes; empty ones are left out.
struct piece_list {
  template <class Byte>
  explicit piece_list(std::span<const std::span<Byte>> pieces, std::size_t skip = 0) noexcept {
    for (const std::span<Byte>& each : pieces) {
      if (skip >= each.size()) {
        skip -= each.size();
        continue;
      }
      if (count == 0) {
        first_begin = each.data() + skip;
        first_size = each.size() - skip;
      }
      parts[count++] = os::piece_of(each.data() + skip, each.size() - skip);
      bytes += each.size() - skip;
      skip = 0;
      if (count == most) {
        break;
      }
    }
  }

  /// The first one, to be written.
  std::span<const std::byte> first() const noexcept { return {first_begin, first_size}; }

  static constexpr std::size_t most = 64;
  os::piece parts[most];
  std::size_t count = 0;
  std::size_t bytes = 0;
  const std::byte* first_begin = nullptr;
  std::size_t first_size = 0;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#endif
