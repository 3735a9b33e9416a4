// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The pipe through which io::copy moves bytes inside the kernel, from a connection or a pipe to another.
#ifndef THRUM_DETAIL_IO_MIDDLE_PIPE_HPP
#define THRUM_DETAIL_IO_MIDDLE_PIPE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// A pipe that only a copy knows: between two moves it is empty. Once it has passed on as much as a wide one
/// holds it becomes one: there are fewer moves then, and above all fewer waits between them.
class middle_pipe {
 public:
  /// Bytes moved at once: as many as Linux lets a pipe of an unprivileged process hold.
  static constexpr std::size_t most = std::size_t{1} << 20;
  /// At most this many pipes of a process are wide at once; others hold a quarter as much. Once the
  /// pipes of a user together hold 64 MiB, Linux makes further ones of a page or two.
  static constexpr int most_wide = 16;

  middle_pipe() noexcept = default;
  middle_pipe(const middle_pipe&) = delete;
  middle_pipe& operator=(const middle_pipe&) = delete;
  ~middle_pipe();

  /// Whether it can be used; makes it, the first time.
  bool open() noexcept;
  /// It cannot, from now on.
  void give_up() noexcept { state_ = state::useless; }
  /// So many bytes have come through it.
  void has_passed(std::size_t n) noexcept {
    passed_ += n;
    if (passed_ >= most && width_ == width::usual) [[unlikely]] {
      widen();
    }
  }
  /// How many are wide now, of all copies.
  static int wide() noexcept { return wide_.get(); }

  os::handle reader() const noexcept { return ends_[0]; }
  os::handle writer() const noexcept { return ends_[1]; }

 private:
  enum class state : unsigned char { none, open, useless };
  enum class width : unsigned char { usual, wide, stays };

  void widen() noexcept;

  static inline constinit base::shared_figure<int> wide_{0};

  os::handle ends_[2] = {os::no_handle, os::no_handle};
  std::uint64_t passed_ = 0;
  state state_ = state::none;
  width width_ = width::usual;
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE middle_pipe::~middle_pipe() {
  if (ends_[0] != os::no_handle) {
    os::close(ends_[0]);
    os::close(ends_[1]);
  }
  if (width_ == width::wide) {
    wide_.take();
  }
}

THRUM_OUT_OF_LINE bool middle_pipe::open() noexcept {
  if (state_ == state::none) {
    state_ = state::useless;
    if (os::open_pipe(ends_) >= 0) {
      state_ = state::open;
    }
  }
  return state_ == state::open;
}

THRUM_OUT_OF_LINE void middle_pipe::widen() noexcept {
  width_ = width::stays;
  if (state_ != state::open) {
    return;
  }
  if (wide_.add() < most_wide) {
    width_ = width::wide;
    os::widen_pipe(ends_[0], most);
  } else {
    wide_.take();
    os::widen_pipe(ends_[0], most / 4);
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif
