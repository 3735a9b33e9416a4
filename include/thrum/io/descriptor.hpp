// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// descriptor: an open descriptor of the system, on which goroutines wait without blocking a thread.
//
// What every connection, pipe and terminal here is built on: one call at a time on each side,
// others queue up; close() and moved deadlines reach the calls that are inside.
#ifndef THRUM_IO_DESCRIPTOR_HPP
#define THRUM_IO_DESCRIPTOR_HPP

#include <thrum/blocking.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/io/io_operation.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/errc.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What the system knows an open descriptor by: an int on POSIX systems, where none is -1.
using native_handle_type = os::handle;

/// One of the two directions, side::read and side::write: each has its own queue and deadline.
using side = sched::io_side;

/// Move-only. Any number of goroutines and threads may use one at the same time, except that moving
/// and destroying it needs it alone. Results of calls are counts, or errors below zero:
/// os::cancelled after close(), os::bad_handle if there never was a descriptor; or
/// sched::io_deadline_exceeded. error_of() makes error codes of them.
class descriptor {
 public:
  constexpr descriptor() noexcept = default;

  /// Takes over an open one, which must be in non-blocking mode. std::system_error if there is no
  /// memory; it is closed then.
  explicit descriptor(native_handle_type fd, const char* operation);
  /// As descriptor(fd, operation); sets `error` instead of throwing, and then holds none.
  descriptor(native_handle_type fd, std::error_code& error) noexcept;
  descriptor(descriptor&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor() { drop(); }

  /// Calls call(fd) until it does not say that it would block, waiting in between. A cancellation
  /// point: throws goroutine_exit when the runtime stops.
  /// `enough`: a result above 0 and below it means that there is no more to be had before the
  /// next event; 0: nothing follows from the result. `call` does not throw.
  template <class Call>
  os::io_result run(side which, Call call, std::size_t enough = 0) {
    return run_waiting(which, call, enough, [&] { return sched::poll_wait::wait(*desc_, which); });
  }

  /// As run, for a call that receives from a socket into `buffer`: where the poller completes
  /// operations, it gets this one when the call would block.
  template <class Call>
  os::io_result receive(std::span<std::byte> buffer, Call call, std::size_t enough = 0) {
    constexpr side which = side::read;
    if (desc_ == nullptr) {
      return os::bad_handle;
    }
    bool would_block = false;
    os::io_result result = sched::completing_wait::begin(*desc_, which, would_block);
    if (result == 0) {
      const native_handle_type fd = desc_->handle();
      do {
        if (!would_block) {
          result = call(fd);
          would_block = result == os::would_block;
        }
        if (would_block) {
          would_block = false;
          result = sched::completing_wait::receive(*desc_, buffer);
          result = result == 0 ? os::interrupted : result;  // the call says whether it is the end
        }
      } while (result == os::interrupted);
      const std::size_t moved = bytes_of(result);
      sched::poll_wait::end(*desc_, which, result > 0 && moved < enough, moved);
    }
    if (result == sched::io_exit) [[unlikely]] {
      sched::exit_goroutine();
    }
    return result;
  }

  /// Calls call(fd) until it returns 0: all is done. A result above 0 says how many bytes it has
  /// moved; now and then others get the processor in between. Else as run.
  template <class Call>
  os::io_result run_all(side which, Call call) {
    return run_waiting<true>(which, call, 0, [&] { return sched::poll_wait::wait(*desc_, which); });
  }

  /// As run, for a call that may go on to say that it would block when the poller says that it does
  /// not: waits for no event, but for pauses that grow.
  template <class Call>
  os::io_result run_paced(side which, Call call) {
    constexpr std::int64_t first_pause_ns = 50'000;
    constexpr std::int64_t longest_pause_ns = 10'000'000;
    std::int64_t pause = first_pause_ns;
    return run_waiting(which, call, 0, [&] {
      const std::int64_t until = sched::traits::now() + pause;
      pause = std::min(2 * pause, longest_pause_ns);
      return sched::poll_wait::pause(*desc_, which, until);
    });
  }

  /// Calls call(fd) at once, in a turn of its own. os::would_block: it would, or another call has the
  /// turn. Not a cancellation point. `enough` and `call` as of run.
  template <class Call>
  os::io_result try_run(side which, Call call, std::size_t enough = 0) {
    if (desc_ == nullptr) {
      return os::bad_handle;
    }
    os::io_result result = sched::poll_wait::begin_at_once(*desc_, which);
    if (result == 0) {
      const native_handle_type fd = desc_->handle();
      while ((result = call(fd)) == os::interrupted) {
      }
      const std::size_t moved = bytes_of(result);
      sched::poll_wait::end(*desc_, which, result > 0 && moved < enough, moved);
    }
    return result;
  }

  /// Waits until look(fd) does not say that it would block. It is not asked if that is known: right
  /// after an event, which may have been a false alarm.
  template <class Look>
  os::io_result wait(side which, Look look) {
    if (desc_ == nullptr) {
      return os::bad_handle;
    }
    bool waited = false;
    os::io_result result = sched::poll_wait::begin(*desc_, which, waited);
    if (result == 0) {
      while (!waited &&
             ((result = look(desc_->handle())) == os::would_block || result == os::interrupted)) {
        if (result == os::would_block) {
          result = sched::poll_wait::wait(*desc_, which);
          waited = true;
        }
      }
      sched::poll_wait::end(*desc_, which, false, 0);
    }
    if (result == sched::io_exit) [[unlikely]] {
      sched::exit_goroutine();
    }
    return result;
  }

  /// Calls call(fd) at once, also beside other calls; no close() closes the number meanwhile. `call` does
  /// not throw and does not block. Neither a cancellation point nor subject to deadlines.
  template <class Call>
  os::io_result use(Call call) const {
    if (desc_ == nullptr) {
      return os::bad_handle;
    }
    os::io_result result = sched::poll_wait::enter(*desc_);
    if (result == 0) {
      do {
        result = call(desc_->handle());
      } while (result == os::interrupted);
      sched::poll_wait::leave(*desc_);
    }
    return result;
  }

  /// Calls that are inside fail with os::cancelled, and so do later ones. Returns when the
  /// number is closed; whether it was this call that did it. Not a cancellation point.
  bool close() noexcept;
  /// As close(); if this call closes it, it calls last() before, when no other call is inside any more.
  /// `last` does not throw.
  template <class Last>
  bool close(Last last) noexcept {
    if (desc_ == nullptr) {
      return false;
    }
    const native_handle_type fd = sched::poll_wait::end_use(*desc_);
    if (fd == os::no_handle) {
      return false;
    }
    // A socket may linger, a network may hold the file's data. Announced, because a signal would
    // cut that short.
    blocking([&] {
      last();
      os::close(fd);
    });
    return true;
  }

  /// Gives up the number without closing it, in its mode: as close() for all who use it, and
  /// os::no_handle if it was closed already.
  native_handle_type release() noexcept;

  /// Wakes the goroutine or thread that waits on that side; it makes its call again.
  void make_ready(side which) noexcept {
    if (desc_ != nullptr) {
      sched::poll_wait::make_ready(*desc_, which);
    }
  }

  /// Sets the moment from which every call of that side fails with io_deadline_exceeded, also one that
  /// waits; time_point::max(): never.
  void set_deadline(side which, time_point when) noexcept;

  /// The system's number, -1 after close(). It must not be closed by others.
  native_handle_type native_handle() const noexcept {
    return desc_ != nullptr ? desc_->handle() : os::no_handle;
  }

  /// For select: null if it holds none.
  sched::poll_desc* waited_on() const noexcept { return desc_; }

  /// Whether it holds one, open or closed.
  explicit operator bool() const noexcept { return desc_ != nullptr; }

 private:
  static std::size_t bytes_of(os::io_result result) noexcept {
    return result > 0 ? static_cast<std::size_t>(result) : 0;
  }

  /// run() and run_all(), with a way to wait.
  template <bool All = false, class Call, class Wait>
  os::io_result run_waiting(side which, Call& call, std::size_t enough, Wait wait) {
    if (desc_ == nullptr) {
      return os::bad_handle;
    }
    bool waited = false;
    os::io_result result = sched::poll_wait::begin(*desc_, which, waited);
    if (result == 0) {
      const native_handle_type fd = desc_->handle();
      std::size_t moved = 0;
      while ((result = call(fd)) == os::would_block || result == os::interrupted ||
             (All && result > 0)) {
        if (result == os::would_block && (result = wait()) != 0) {
          break;
        }
        if constexpr (All) {
          constexpr std::size_t often_enough = 64 * 1024;
          if ((moved += bytes_of(result)) >= often_enough) {
            sched::poll_wait::go_on(std::exchange(moved, 0));
          }
        }
      }
      moved += bytes_of(result);
      sched::poll_wait::end(*desc_, which, result > 0 && bytes_of(result) < enough, moved);
    }
    if (result == sched::io_exit) [[unlikely]] {
      sched::exit_goroutine();
    }
    return result;
  }

  void drop() noexcept;

  sched::poll_desc* desc_ = nullptr;
};

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// The error of a call's result below 0.
THRUM_OUT_OF_LINE std::error_code error_of(os::io_result result) noexcept;

/// Moves at most n bytes into an empty pipe that no other code uses, by os::splice_to_pipe: waits until
/// there are some.
THRUM_OUT_OF_LINE os::io_result move_to_pipe(io::descriptor& from, io::native_handle_type pipe,
                                             std::size_t n);
/// Moves n bytes that are in such a pipe, all of them, or as many as `done` says and an error.
THRUM_OUT_OF_LINE os::io_result move_from_pipe(io::descriptor& to, io::native_handle_type pipe,
                                               std::size_t n, std::size_t& done);

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE descriptor::descriptor(native_handle_type fd, const char* operation) {
  desc_ = sched::poll_wait::open(fd);
  if (desc_ == nullptr) {
    os::close(fd);
    base::throw_system(os::error_code_of(os::no_memory), operation);
  }
}

THRUM_OUT_OF_LINE descriptor::descriptor(native_handle_type fd, std::error_code& error) noexcept
    : desc_(sched::poll_wait::open(fd)) {
  error.clear();
  if (desc_ == nullptr) {
    os::close(fd);
    error = os::error_code_of(os::no_memory);
  }
}

THRUM_OUT_OF_LINE descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    drop();
    desc_ = std::exchange(other.desc_, nullptr);
  }
  return *this;
}

THRUM_OUT_OF_LINE bool descriptor::close() noexcept {
  return close([] {});
}

THRUM_OUT_OF_LINE void descriptor::set_deadline(side which, time_point when) noexcept {
  if (desc_ != nullptr) {
    sched::poll_wait::set_deadline(*desc_, which, time_detail::deadline_at(when));
  }
}

THRUM_OUT_OF_LINE native_handle_type descriptor::release() noexcept {
  return desc_ != nullptr ? sched::poll_wait::end_use(*desc_) : os::no_handle;
}

THRUM_OUT_OF_LINE void descriptor::drop() noexcept {
  if (desc_ != nullptr) {
    close();
    sched::poll_wait::give_back(*desc_);
    desc_ = nullptr;
  }
}

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE std::error_code error_of(os::io_result result) noexcept {
  if (result == sched::io_deadline_exceeded) {
    return errc::deadline_exceeded;
  }
  return os::error_code_of(result);
}

THRUM_OUT_OF_LINE os::io_result move_to_pipe(io::descriptor& from, io::native_handle_type pipe,
                                             std::size_t n) {
  return from.run(io::side::read, [&](os::handle fd) { return os::splice_to_pipe(fd, pipe, n); });
}

THRUM_OUT_OF_LINE os::io_result move_from_pipe(io::descriptor& to, io::native_handle_type pipe,
                                               std::size_t n, std::size_t& done) {
  return to.run_all(io::side::write, [&](os::handle fd) -> os::io_result {
    if (done == n) {
      return 0;
    }
    const os::io_result moved = os::splice_from_pipe(pipe, fd, n - done);
    done += moved > 0 ? static_cast<std::size_t>(moved) : 0;
    return moved;
  });
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif
