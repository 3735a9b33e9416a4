// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/memory_pipe.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_MEMORY_PIPE_DEFINITION_HPP
#define THRUM_IO_MEMORY_PIPE_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/memory_pipe.hpp>
#include <thrum/sched/run/exit.hpp>
#include <thrum/sync/wait_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

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
