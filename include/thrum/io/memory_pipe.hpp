// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// memory_pipe: two connected streams inside the program, without the system: a connection for tests,
// and between two parts of a program that expect streams.
//
// There is no buffer. A writer offers its bytes and waits; readers copy from its memory; the write
// returns when all was taken. So a write that has returned was read, and time in a
// testing::bubble passes while both wait.
//
// Each direction is a memory_flow: one writer at a time has the turn, which it hands to the next. The
// writer's memory is touched under the lock only, and before the writer leaves, also when it is
// cancelled, it takes its offer back under that lock. So that others get the lock soon, no read
// copies more than 16 KiB.
//
// Source: the semantics are those of Go's net.Pipe, but for these: an empty write returns at once,
// since a read of 0 bytes is the end here; one direction can be closed alone; and a write to an end
// that is closed is errc::broken_pipe, as of other pipes.
#ifndef THRUM_IO_MEMORY_PIPE_HPP
#define THRUM_IO_MEMORY_PIPE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/sched/run/io_deadline.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/detail/sync/wait_list.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

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
  bool has_writer_ = false;                // somebody has the turn
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

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// One end of a memory_pipe: a stream in both directions. Move-only; closes when destroyed. Reading,
/// writing, closing and moving deadlines may be done from several goroutines and threads at the same
/// time: writes take turns, each with a whole operation; of several reads each gets what comes next.
/// Reading and writing are cancellation points.
class memory_pipe_end : public stream_reading<memory_pipe_end>,
                        public stream_writing<memory_pipe_end> {
 public:
  /// Holds no end: reading and writing fail with errc::bad_file_descriptor.
  memory_pipe_end() noexcept = default;
  memory_pipe_end(memory_pipe_end&& other) noexcept = default;
  memory_pipe_end& operator=(memory_pipe_end&& other) noexcept;
  ~memory_pipe_end() { close(); }

  // read, read_full, read_all and write of stream.hpp. A read gives the end when the other end was
  // closed. A write returns when all was read; errc::broken_pipe: the other end was closed.

  /// From `when` on, reading and writing fail with errc::deadline_exceeded, also those that wait,
  /// until it is moved. time_point::max(): never. By the bubble's clock in a bubble.
  void set_deadline(time_point when) noexcept;
  void set_read_deadline(time_point when) noexcept;
  void set_write_deadline(time_point when) noexcept;

  /// The other end reads the end of the stream; writing here fails with errc::broken_pipe. Reading
  /// goes on.
  void close_write() noexcept;

  /// Ends whatever others do with this end: that fails with errc::operation_canceled, as does what
  /// comes later. Closing again does nothing. Does not block.
  void close() noexcept;

  /// Whether it holds an end, open or closed.
  explicit operator bool() const noexcept { return flows_ != nullptr; }

  /// What stream.hpp makes members of. Programs have no need of it.
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error);
  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error);
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  friend class memory_pipe;

  memory_pipe_end(std::shared_ptr<io_detail::memory_flows> flows, std::size_t index) noexcept
      : flows_(std::move(flows)), index_(index) {}

  io_detail::memory_flow& incoming() const noexcept { return flows_->flow[1 - index_]; }
  io_detail::memory_flow& outgoing() const noexcept { return flows_->flow[index_]; }

  std::shared_ptr<io_detail::memory_flows> flows_;
  std::size_t index_ = 0;
};

/// Two ends, each of which reads what is written to the other: as Go's net.Pipe, synchronous and
/// without a buffer. `auto [a, b] = io::memory_pipe();` takes them apart.
class memory_pipe {
 public:
  /// Both open.
  memory_pipe();

  /// The ends, to be used here or moved out.
  memory_pipe_end first;
  memory_pipe_end second;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/sched/run/exit.hpp>
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
  if (!offer_.empty()) {  // whoever was told of it and has not taken it passes that on
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

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE memory_pipe::memory_pipe() {
  const auto flows = std::make_shared<io_detail::memory_flows>();
  first = memory_pipe_end(flows, 0);
  second = memory_pipe_end(flows, 1);
}

THRUM_OUT_OF_LINE memory_pipe_end& memory_pipe_end::operator=(memory_pipe_end&& other) noexcept {
  if (this != &other) {
    close();
    flows_ = std::move(other.flows_);
    index_ = other.index_;
  }
  return *this;
}

THRUM_OUT_OF_LINE void memory_pipe_end::set_deadline(time_point when) noexcept {
  set_read_deadline(when);
  set_write_deadline(when);
}

THRUM_OUT_OF_LINE void memory_pipe_end::set_read_deadline(time_point when) noexcept {
  if (flows_ != nullptr) {
    incoming().set_read_deadline(time_detail::deadline_at(when));
  }
}

THRUM_OUT_OF_LINE void memory_pipe_end::set_write_deadline(time_point when) noexcept {
  if (flows_ != nullptr) {
    outgoing().set_write_deadline(time_detail::deadline_at(when));
  }
}

THRUM_OUT_OF_LINE void memory_pipe_end::close_write() noexcept {
  if (flows_ != nullptr) {
    outgoing().close_writer(false);
  }
}

THRUM_OUT_OF_LINE void memory_pipe_end::close() noexcept {
  if (flows_ != nullptr) {
    outgoing().close_writer(true);
    incoming().close_reader();
  }
}

THRUM_OUT_OF_LINE std::size_t memory_pipe_end::read_some(std::span<std::byte> buffer,
                                                         std::error_code& error) {
  if (flows_ == nullptr) {
    error = std::make_error_code(std::errc::bad_file_descriptor);
    return 0;
  }
  return incoming().read(buffer, error);
}

THRUM_OUT_OF_LINE void memory_pipe_end::write_all(std::span<const std::byte> bytes,
                                                  std::size_t& done, std::error_code& error) {
  if (flows_ == nullptr) {
    error = std::make_error_code(std::errc::bad_file_descriptor);
    return;
  }
  outgoing().write(bytes, done, error);
}

THRUM_COLD THRUM_OUT_OF_LINE void memory_pipe_end::fail(const std::error_code& error,
                                                        const char* operation) const {
  base::throw_system(error, base::message<64>("memory_pipe::").append(operation).view());
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
