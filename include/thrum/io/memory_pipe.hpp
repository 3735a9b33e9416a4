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
#include <thrum/detail/io/memory_flow.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

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

  /// Sets the moment from which reading and writing fail with errc::deadline_exceeded, also calls that
  /// wait, until it is moved. time_point::max(): never. By the bubble's clock in a bubble.
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
