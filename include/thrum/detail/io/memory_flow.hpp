// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// One direction of an io::memory_pipe: the turns of its writers, the offer of one, and its readers.
#ifndef THRUM_DETAIL_IO_MEMORY_FLOW_HPP
#define THRUM_DETAIL_IO_MEMORY_FLOW_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/sync/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// One direction.
class memory_flow {
 public:
  /// At least 1 byte; 0 at the end, on error, or if `to` is empty. A cancellation point.
  std::size_t read(std::span<std::byte> to, std::error_code& error);
  /// All of it, or as much as `done` says and an error. A cancellation point.
  void write(std::span<const std::byte> from, std::size_t& done, std::error_code& error);

  /// Reads fail with operation_canceled from now on, writes with broken_pipe.
  void close_reader() noexcept;
  /// Reads give the end from now on. Writes fail with broken_pipe; if `all`, because all of that end
  /// is closed, with operation_canceled.
  void close_writer(bool all) noexcept;
  void set_read_deadline(std::int64_t when) noexcept;
  void set_write_deadline(std::int64_t when) noexcept;

 private:
  enum class status : std::uint8_t { ok, again, cancelled, closed, stopped, broken, late };

  static std::error_code code_of(status what) noexcept;
  /// `again`, `cancelled` or `stopped`.
  static status after(sched::wake_cause cause, const sched::io_deadline& deadline) noexcept;

  // Each takes the lock, and may wait.
  status read_step(std::span<std::byte> to, std::size_t& n) noexcept;
  status take_turn() noexcept;
  status begin_offer(std::span<const std::byte> from) noexcept;
  status wait_until_taken() noexcept;
  /// Takes back what is left of the offer, hands on the turn, and returns how much was left.
  std::size_t end_offer() noexcept;

  // The caller holds the lock.
  static bool has_passed(std::int64_t deadline) noexcept;
  status write_state() const noexcept;
  std::size_t take(std::span<std::byte> to, sched::wake_list& released) noexcept;

  sched::spin_lock lock_{sched::lock_rank::waiters};
  sync_detail::wait_list readers_{lock_};
  sync_detail::wait_list writers_{lock_};  // that have not the turn
  sync_detail::wait_list taken_{lock_};    // the one that has it
  std::span<const std::byte> offer_;       // what it has left
  bool has_writer_ = false;                // a writer has the turn
  bool reader_is_closed_ = false;
  bool writer_is_closed_ = false;
  bool writer_is_shut_ = false;
  std::int64_t read_deadline_ = sched::no_deadline;
  std::int64_t write_deadline_ = sched::no_deadline;
};

/// Both: end i writes to flow i and reads from the other.
struct memory_flows {
  memory_flow flow[2];
};

}}}  // namespace thrum::THRUM_ABI::io_detail

#if THRUM_BODIES
#include <thrum/detail/sched/run/goroutine_exit.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/errc.hpp>

#include <algorithm>
#include <cstring>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

THRUM_OUT_OF_LINE std::error_code memory_flow::code_of(status what) noexcept {
  switch (what) {
    case status::closed:
    case status::stopped: return std::make_error_code(std::errc::operation_canceled);
    case status::broken: return std::make_error_code(std::errc::broken_pipe);
    case status::late: return errc::deadline_exceeded;
    case status::ok:
    case status::again:
    case status::cancelled: break;
  }
  return {};
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::after(
    sched::wake_cause cause, const sched::io_deadline& deadline) noexcept {
  const bool is_late = cause == sched::wake_cause::timed_out;
  return cause == sched::wake_cause::cancelled ? status::cancelled
         : is_late && deadline.is_stopped()    ? status::stopped
                                               : status::again;
}

THRUM_OUT_OF_LINE bool memory_flow::has_passed(std::int64_t deadline) noexcept {
  return deadline != sched::no_deadline && time_detail::time_now() >= deadline;
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::write_state() const noexcept {
  return writer_is_closed_                      ? status::closed
         : writer_is_shut_ || reader_is_closed_ ? status::broken
         : has_passed(write_deadline_)          ? status::late
                                                : status::ok;
}

THRUM_OUT_OF_LINE std::size_t memory_flow::take(std::span<std::byte> to,
                                                sched::wake_list& released) noexcept {
  constexpr std::size_t most = std::size_t{16} * 1024;
  const std::size_t n = std::min({to.size(), offer_.size(), most});
  if (n != 0) {
    std::memcpy(to.data(), offer_.data(), n);
    offer_ = offer_.subspan(n);
    if (offer_.empty()) {
      released.push_back(taken_.pop(sched::wake_cause::notified));
    }
  }
  return n;
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::read_step(std::span<std::byte> to,
                                                             std::size_t& n) noexcept {
  sched::section here;
  sync_detail::waiting self(here, readers_);
  lock_.lock();
  status result = status::ok;
  sched::wake_list released;
  if (reader_is_closed_) {
    result = status::closed;
  } else if (has_passed(read_deadline_)) {
    result = status::late;
  } else if (!offer_.empty() || to.empty()) {
    n = take(to, released);
  } else if (!writer_is_closed_ && !writer_is_shut_) {
    const sched::io_deadline deadline(here, read_deadline_);
    return after(self.wait({sched::wait_reason::memory_pipe_read, true, deadline.until()}),
                 deadline);
  }
  if (!offer_.empty()) {  // a reader that leaves bytes wakes the next reader
    released.push_back(readers_.pop(sched::wake_cause::notified));
  }
  lock_.unlock();
  released.wake_all();
  return result;
}

THRUM_OUT_OF_LINE std::size_t memory_flow::read(std::span<std::byte> to, std::error_code& error) {
  std::size_t n = 0;
  status result = status::again;
  while (result == status::again) {
    result = read_step(to, n);
  }
  if (result == status::cancelled) [[unlikely]] {
    sched::exit_goroutine();
  }
  error = code_of(result);
  sync_detail::after_operation();
  return n;
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::take_turn() noexcept {
  sched::section here;
  sync_detail::waiting self(here, writers_);
  lock_.lock();
  const status state = write_state();
  if (state == status::ok && has_writer_) {
    const sched::io_deadline deadline(here, write_deadline_);
    const sched::wake_cause cause =
        self.wait({sched::wait_reason::memory_pipe_write, true, deadline.until()});
    const bool is_handed_over = cause == sched::wake_cause::notified;
    return is_handed_over ? status::ok : after(cause, deadline);
  }
  has_writer_ = has_writer_ || state == status::ok;
  lock_.unlock();
  return state;
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::begin_offer(
    std::span<const std::byte> from) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  const status state = write_state();
  if (state == status::ok) {
    offer_ = from;
    released.push_back(from.empty() ? nullptr : readers_.pop(sched::wake_cause::notified));
  }
  lock_.unlock();
  released.wake_all();
  return state;
}

THRUM_OUT_OF_LINE memory_flow::status memory_flow::wait_until_taken() noexcept {
  sched::section here;
  sync_detail::waiting self(here, taken_);
  lock_.lock();
  const status state = offer_.empty() ? status::ok : write_state();
  if (offer_.empty() || state != status::ok) {
    lock_.unlock();
    return state;
  }
  const sched::io_deadline deadline(here, write_deadline_);
  return after(self.wait({sched::wait_reason::memory_pipe_write, true, deadline.until()}),
               deadline);
}

THRUM_OUT_OF_LINE std::size_t memory_flow::end_offer() noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  const std::size_t left = offer_.size();
  offer_ = {};
  sched::wait_point* const next = writers_.pop(sched::wake_cause::notified);
  has_writer_ = next != nullptr;
  released.push_back(next);
  lock_.unlock();
  released.wake_all();
  return left;
}

THRUM_OUT_OF_LINE void memory_flow::write(std::span<const std::byte> from, std::size_t& done,
                                          std::error_code& error) {
  status result = status::again;
  while (result == status::again) {
    result = take_turn();
  }
  if (result == status::ok) {
    result = begin_offer(from);
    const bool is_offered = result == status::ok;
    for (result = is_offered ? status::again : result; result == status::again;) {
      result = wait_until_taken();
    }
    const std::size_t left = end_offer();
    done = is_offered ? from.size() - left : 0;
  }
  if (result == status::cancelled) [[unlikely]] {
    sched::exit_goroutine();
  }
  error = code_of(result);
  sync_detail::after_operation();
}

THRUM_OUT_OF_LINE void memory_flow::close_reader() noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  reader_is_closed_ = true;
  readers_.take_all(sched::wake_cause::retry, released);
  writers_.take_all(sched::wake_cause::retry, released);
  taken_.take_all(sched::wake_cause::retry, released);
  lock_.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE void memory_flow::close_writer(bool all) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  writer_is_shut_ = true;
  writer_is_closed_ = writer_is_closed_ || all;
  readers_.take_all(sched::wake_cause::retry, released);
  writers_.take_all(sched::wake_cause::retry, released);
  taken_.take_all(sched::wake_cause::retry, released);
  lock_.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE void memory_flow::set_read_deadline(std::int64_t when) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  read_deadline_ = when;
  readers_.take_all(sched::wake_cause::retry, released);
  lock_.unlock();
  released.wake_all();
}

THRUM_OUT_OF_LINE void memory_flow::set_write_deadline(std::int64_t when) noexcept {
  const sched::section here;
  sched::wake_list released;
  lock_.lock();
  write_deadline_ = when;
  writers_.take_all(sched::wake_cause::retry, released);
  taken_.take_all(sched::wake_cause::retry, released);
  lock_.unlock();
  released.wake_all();
}

}}}  // namespace thrum::THRUM_ABI::io_detail
#endif

#endif
