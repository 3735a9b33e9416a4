// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// wait_readable, wait_writable: for libraries that have descriptors of their own.
//
// A library with a non-blocking mode (OpenSSL, libpq, hiredis, libcurl) says "call me again when
// this can be read". These wait for that, and park the goroutine instead of blocking its thread.
#ifndef THRUM_IO_WAIT_HPP
#define THRUM_IO_WAIT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/stop_condition.hpp>

#include <concepts>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

using namespace io;

/// 0, or a value below zero for error_of().
THRUM_OUT_OF_LINE int wait_for(native_handle_type fd, side which, time_point deadline);

/// wait_for(fd, which, deadline); throws std::system_error with the operation in its text.
THRUM_OUT_OF_LINE void wait_for(native_handle_type fd, side which, time_point deadline,
                                const char* operation);

/// wait_for(fd, which, deadline); sets `error`, or clears it.
THRUM_OUT_OF_LINE void wait_for(native_handle_type fd, side which, time_point deadline,
                                std::error_code& error);

/// wait_for until a stop.
template <class Stop>
void wait_until_stopped(native_handle_type fd, side which, const Stop& stop, const char*,
                        std::error_code& error) {
  const int result = stop_detail::run_until_stopped(stop, error, [&] {
    wait_for(fd, which, time_point::max(), error);
    return 0;
  });
  static_cast<void>(result);
}
template <class Stop>
void wait_until_stopped(native_handle_type fd, side which, const Stop& stop,
                        const char* operation) {
  std::error_code error;
  wait_until_stopped(fd, which, stop, operation, error);
  if (error) {
    base::throw_system(error, operation);
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// Parks the calling goroutine, or blocks the calling thread, until the descriptor can be read
/// without blocking (also: its end, or an error), or the deadline has passed:
/// errc::deadline_exceeded. Any number may wait for the same descriptor, also for one that a connection of
/// ours owns. If it is closed while others wait, they wait on until their deadlines. If a caller then waits
/// for another file with that number, they fail with std::errc::operation_canceled. (On Windows, whose
/// poller hears of the close, they fail at once.) As with poll(), there may be nothing any more when it
/// returns: use descriptors that do not block. A cancellation point. Throws std::system_error.
THRUM_OUT_OF_LINE void wait_readable(native_handle_type fd,
                                     time_point deadline = time_point::max());
/// wait_readable(fd, deadline); sets `error` instead of throwing.
THRUM_OUT_OF_LINE void wait_readable(native_handle_type fd, time_point deadline,
                                     std::error_code& error);

/// wait_readable and wait_writable until a stop: then std::errc::operation_canceled; with `error` set
/// instead of thrown. Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
template <until_condition Stop, std::same_as<std::error_code>... Error>
void wait_readable(native_handle_type fd, const Stop& stop, Error&... error) {
  io_detail::wait_until_stopped(fd, side::read, stop, "io::wait_readable", error...);
}
template <until_condition Stop, std::same_as<std::error_code>... Error>
void wait_writable(native_handle_type fd, const Stop& stop, Error&... error) {
  io_detail::wait_until_stopped(fd, side::write, stop, "io::wait_writable", error...);
}

/// As wait_readable, until the descriptor can be written without blocking.
THRUM_OUT_OF_LINE void wait_writable(native_handle_type fd,
                                     time_point deadline = time_point::max());
THRUM_OUT_OF_LINE void wait_writable(native_handle_type fd, time_point deadline,
                                     std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/doubling.hpp>
#include <thrum/detail/sched/io/poll_table.hpp>
#include <thrum/detail/sched/io/poll_wait.hpp>
#include <thrum/detail/sched/run/goroutine_exit.hpp>

#include <atomic>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// What we know of the descriptors of others, by their numbers.
class watch_table {
 public:
  /// Null: no memory, or no number of a descriptor.
  static sched::poll_desc* find(native_handle_type fd) noexcept {
    const unsigned number = os::number_of(fd);
    if (!os::is_handle(fd) || number >= most) {
      return nullptr;
    }
    const auto where = places::of(number);
    auto& first = os::process_wide<state>::get().chunks[where.chunk];
    // [io.watch <] acquire: its zeroes.
    slot* chunk = first.load(std::memory_order_acquire);
    if (chunk == nullptr) {
      const std::size_t size = places::size_of(where.chunk) * sizeof(slot);
      auto* const fresh = static_cast<slot*>(os::map(size));
      if (fresh == nullptr) {
        return nullptr;
      }
      // [io.watch <>] acq_rel: the chunk, to each thread that finds it.
      if (first.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        chunk = fresh;
      } else {
        os::unmap(fresh, size);
      }
    }
    slot& place = chunk[where.at];
    // [io.watch <] acquire: what it points to.
    sched::poll_desc* desc = place.load(std::memory_order_acquire);
    if (desc == nullptr) {
      const sched::section here;
      sched::poll_desc* const fresh = sched::poll_table::take();
      if (fresh == nullptr) {
        return nullptr;
      }
      // [io.watch <>] acq_rel: what it points to, to each thread that finds it.
      if (place.compare_exchange_strong(desc, fresh, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        desc = fresh;
      } else {
        sched::poll_table::give_back(*fresh);
      }
    }
    return desc;
  }

 private:
  using slot = std::atomic<sched::poll_desc*>;
  using places = base::doubling_place<12>;
  static constexpr unsigned most_bits = 24;
  static constexpr unsigned most = 1U << most_bits;
  struct state {
    static constexpr std::string_view process_name = "io_detail::watch_table";
    std::atomic<slot*> chunks[places::chunks_for(most_bits)] = {};
  };
};

THRUM_OUT_OF_LINE int wait_for(native_handle_type fd, side which, time_point deadline) {
  sched::poll_desc* const desc = watch_table::find(fd);
  if (desc == nullptr) {
    return os::is_handle(fd) ? os::no_memory : os::bad_handle;
  }
  const int result =
      sched::poll_wait::wait_foreign(*desc, fd, which, time_detail::deadline_at(deadline));
  if (result == sched::io_exit) {
    sched::exit_goroutine();
  }
  return result;
}

THRUM_OUT_OF_LINE void wait_for(native_handle_type fd, side which, time_point deadline,
                                const char* operation) {
  if (const int result = wait_for(fd, which, deadline); result != 0) {
    base::throw_system(error_of(result), operation);
  }
}

THRUM_OUT_OF_LINE void wait_for(native_handle_type fd, side which, time_point deadline,
                                std::error_code& error) {
  const int result = wait_for(fd, which, deadline);
  error = result != 0 ? error_of(result) : std::error_code();
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE void wait_readable(native_handle_type fd, time_point deadline) {
  io_detail::wait_for(fd, side::read, deadline, "io::wait_readable");
}

THRUM_OUT_OF_LINE void wait_readable(native_handle_type fd, time_point deadline,
                                     std::error_code& error) {
  io_detail::wait_for(fd, side::read, deadline, error);
}

THRUM_OUT_OF_LINE void wait_writable(native_handle_type fd, time_point deadline) {
  io_detail::wait_for(fd, side::write, deadline, "io::wait_writable");
}

THRUM_OUT_OF_LINE void wait_writable(native_handle_type fd, time_point deadline,
                                     std::error_code& error) {
  io_detail::wait_for(fd, side::write, deadline, error);
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
