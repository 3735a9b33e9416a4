// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// file: what has a path in the file system, or was handed to the program with a number.
//
// Two kinds of files
//   The system has no way to wait for a disk but to block: calls on regular files, directories and
//   disks go through blocking(), so that their processor goes to another thread if they are slow.
//   A fifo, a terminal, a socket or a device of characters is in non-blocking mode and waits in the
//   poller, as a connection does. Not all devices of characters can be waited for (/dev/null). Only the
//   poller knows which, and the first call that would block asks it. If it refuses, the file goes back
//   to blocking mode for good.
//
// Only the second kind has deadlines, and only there do close() and a stop end a call that is under
// way. For the first kind they wait until the call is done; a read from a disk does not take long.
//
// A number that was handed over keeps its mode, because other processes (the parent's shell, behind standard
// input) may use the same open file. If it is of the second kind it waits in the poller all the
// same, and each call says for itself that it must not wait. Not every system understands that, and Linux
// does not for a terminal: there each call first asks whether it would wait. If another process is
// quicker then, or a terminal takes less than it has said, the call does wait, with its thread, and
// close() waits for it.
#ifndef THRUM_IO_FILE_HPP
#define THRUM_IO_FILE_HPP

#include <thrum/blocking.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// How a file is opened, values joined by `|`: read, write, read_write, append, create, exclusive, truncate ...
using os::open_mode;

/// Where seek() counts from: begin, current, end.
using os::seek_from;

/// Move-only. Any number of goroutines and threads may use one at the same time: those that read
/// (or write) at the current position take turns, read_at and write_at run side by side. Closes
/// when destroyed. read, write and those with a wait in the poller are cancellation points.
class file : public stream_reading<file>, public stream_writing<file> {
 public:
  file() noexcept = default;
  file(file&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        path_(std::move(other.path_)),
        kind_(other.kind_),
        shared_(other.shared_),
        waits_(other.waits_.get()) {}
  file& operator=(file&& other) noexcept;
  ~file() = default;

  /// Takes over an open descriptor; `name` is for the texts of errors. Its mode, blocking or not,
  /// stays as it is.
  explicit file(native_handle_type fd, std::string name = "a file") : path_(std::move(name)) {
    std::error_code error;
    take_over(fd, false, error);
    if (error) {
      fail(error, "adopt");
    }
  }
  file(native_handle_type fd, std::string name, std::error_code& error) : path_(std::move(name)) {
    take_over(fd, false, error);
  }

  /// The constructors that take over a descriptor, by the name that the other kinds have for it.
  static file adopt(native_handle_type fd, std::string name = "a file") {
    return file(fd, std::move(name));
  }
  static file adopt(native_handle_type fd, std::string name, std::error_code& error) {
    return file(fd, std::move(name), error);
  }

  /// Gives the descriptor up without closing it, in the mode in which it is: one that was opened here and
  /// waits in the poller is in non-blocking mode. For all calls on the file it is closed, as by close(). No
  /// handle (-1) if it was closed already.
  [[nodiscard]] native_handle_type release() noexcept { return descriptor_.release(); }

  /// Opens a file; one that is created gets these permissions, less the process's umask. Opening a
  /// fifo waits, with a thread, until its other side is opened, too.
  static file open(const std::string& path, open_mode mode = open_mode::read,
                   unsigned permissions = default_permissions);
  static file open(const std::string& path, open_mode mode, std::error_code& error);
  static file open(const std::string& path, open_mode mode, unsigned permissions,
                   std::error_code& error);
  /// Opens a file with the flags of a POSIX system: O_RDWR | O_CREAT.
  static file open(const std::string& path, os::system_open_flags flags,
                   unsigned permissions = default_permissions);
  static file open(const std::string& path, os::system_open_flags flags, unsigned permissions,
                   std::error_code& error);

  /// Creates a file, or makes one that is there empty, and opens it for reading and writing.
  static file create(const std::string& path) {
    return open(path, open_mode::read_write | open_mode::create | open_mode::truncate);
  }
  static file create(const std::string& path, std::error_code& error) {
    return open(path, open_mode::read_write | open_mode::create | open_mode::truncate, error);
  }

  /// Only the descriptor, in blocking mode; or an error below 0.
  static os::io_result open_native(const std::string& path, open_mode mode);

  /// Reads from `offset` on and leaves the current position alone: at least 1 byte, 0 at the end.
  /// std::errc::invalid_argument: `offset` is above INT64_MAX.
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset);
  std::size_t read_at(std::span<char> buffer, std::uint64_t offset);
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset, std::error_code& error);
  std::size_t read_at(std::span<char> buffer, std::uint64_t offset, std::error_code& error);

  /// Writes all of it to `offset` and leaves the current position alone. errc::invalid_argument if
  /// the file was opened to append: the system would ignore the offset.
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset);
  std::size_t write_at(std::string_view text, std::uint64_t offset);
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                       std::error_code& error);
  std::size_t write_at(std::string_view text, std::uint64_t offset, std::error_code& error);

  /// Moves the current position; returns it, from the beginning.
  std::uint64_t seek(std::int64_t offset, seek_from from = seek_from::begin);
  std::uint64_t seek(std::int64_t offset, seek_from from, std::error_code& error);

  /// Bytes in the file; 0 for what has no size.
  std::uint64_t size();
  std::uint64_t size(std::error_code& error);

  /// Cuts it off, or fills it up with zeroes.
  void truncate(std::uint64_t size);
  void truncate(std::uint64_t size, std::error_code& error);

  /// Returns when all that was written is on the disk. Only this reports a disk that failed later.
  void sync();
  void sync(std::error_code& error);

  /// Sets the moment from which reading and writing fail with errc::deadline_exceeded, as of conn. A file
  /// that blocks has none: errc::operation_not_supported.
  void set_deadline(time_point when);
  void set_deadline(time_point when, std::error_code& error) noexcept;
  void set_read_deadline(time_point when);
  void set_write_deadline(time_point when);
  void set_deadline(side which, time_point when, std::error_code& error) noexcept;

  /// Ends whatever others do with it: that fails with errc::operation_canceled, as does what comes
  /// later. Returns when the descriptor is closed. Closing again does nothing. A call that blocks a
  /// thread, on a disk, is not ended: only those that wait for their turn behind it fail at once,
  /// and close() returns when it is done.
  void close() noexcept { descriptor_.close(); }

  /// The system's number, -1 after close(). It stays the file's: it must not be closed.
  native_handle_type native_handle() const noexcept { return descriptor_.native_handle(); }
  /// What it was opened by, or the name that was given with a descriptor; stands in error texts.
  const std::string& path() const noexcept { return path_; }

  /// Whether it holds a file, open or closed.
  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }

  /// The operations that stream.hpp makes the members with texts and error codes of: results are
  /// counts, or errors below zero. Programs have no need of them.
  os::io_result read_some(std::span<std::byte> buffer);
  os::io_result write_all(std::span<const std::byte> bytes, std::size_t& done);
  os::io_result read_some_v(std::span<const std::span<std::byte>> pieces);
  os::io_result write_all_v(std::span<const std::span<const std::byte>> pieces, std::size_t& done);
  [[noreturn]] [[gnu::cold]] void fail(const std::error_code& error, const char* operation) const;

 private:
  static constexpr unsigned default_permissions = 0666;

  /// open() and open_native(): `call` opens what has a name of C.
  template <class Open>
  static file open_by(Open call, const std::string& path, std::error_code& error);
  template <class Open>
  static os::io_result open_native_by(Open call, const std::string& path);

  /// Takes it over, `own`: and may change its mode. On failure it is closed.
  void take_over(os::handle fd, bool own, std::error_code& error);

  os::io_result write_some(os::handle fd, std::span<const std::byte> bytes);

  /// One call on a file whose mode is not ours, without waiting: os::would_block. `at_once` says so itself
  /// if the system can; else `call` is made if the system says that it will not wait, or not for
  /// long.
  template <class AtOnce, class Call>
  os::io_result run_shared(os::handle fd, side which, AtOnce at_once, Call call) {
    if (!asks_first_.get()) {
      if (const os::io_result result = at_once(); result != os::cannot_tell) {
        return result;
      }
      asks_first_.set(true);
    }
    const os::io_result seen = os::wait_for(fd, which == side::write, 0);
    return seen > 0 ? uninterrupted(call) : seen == 0 ? os::would_block : seen;
  }

  bool waits() const noexcept { return waits_.get(); }

  template <class Call>
  static os::io_result uninterrupted(Call call) {
    return blocking([&] {
      os::io_result result;
      while ((result = call()) == os::interrupted) {
      }
      return result;
    });
  }

  /// A call that a disk may hold up: completed by the poller, if it can, and else with a thread.
  template <class Call>
  static os::io_result transfer(os::handle fd, netpoll::operation::kind_type kind, void* data,
                                std::size_t size, std::int64_t offset, Call call) {
    sched::io_operation what;
    what.kind = kind;
    what.fd = fd;
    what.data = data;
    what.size = size;
    what.offset = offset;
    const os::io_result result = sched::completing_wait::complete_alone(what);
    return result == os::would_block ? uninterrupted(call) : result;
  }

  /// In turn with others on the same side: as descriptor::run_all, or as run; with `slow` in place of
  /// `call` where that may be held up by a disk.
  template <bool All = false, class Call, class Slow>
  os::io_result run(side which, Call call, Slow slow) {
    const auto run_with = [&](auto one) {
      if constexpr (All) {
        return descriptor_.run_all(which, one);
      } else {
        return descriptor_.run(which, one);
      }
    };
    if (waits()) {
      bool would_block = false;
      const os::io_result result = run_with([&](os::handle fd) {
        const os::io_result one = call(fd);
        would_block = one == os::would_block;
        return one;
      });
      // Already added: the same number was handed over twice.
      const bool is_refused =
          result == os::always_ready || (shared_ && result == os::already_added);
      if (!would_block || !is_refused) {
        return result;
      }
      // The poller does not take it. A call that does not see it comes here, too.
      waits_.set(false);
      if (!shared_) {
        descriptor_.use([](os::handle fd) { return os::set_nonblocking(fd, false); });
      }
    }
    return run_with(slow);
  }

  /// Without turns.
  template <class Call>
  os::io_result beside(Call call) {
    return descriptor_.use([&](os::handle fd) { return uninterrupted([&] { return call(fd); }); });
  }

  /// As beside(), for a call that moves as many bytes as it says, and may be held up by a disk.
  template <class Slow>
  os::io_result move_beside(Slow slow) {
    const os::io_result result = descriptor_.use(slow);
    sched::poll_wait::go_on(result > 0 ? static_cast<std::size_t>(result) : 0);
    return result;
  }

  descriptor descriptor_;
  std::string path_;
  os::file_kind kind_;
  bool shared_ = false;  // waits in the poller, though it is in blocking mode
  base::hint<bool> waits_{false};
  base::set_once<bool> asks_first_{false};
};

/// The program's standard streams: another descriptor of each, so that closing it closes nothing else. A
/// read waits without a thread and is a cancellation point, which std::cin's is not. Output is not
/// buffered, and may overtake what std::cout and printf still hold.
THRUM_OUT_OF_LINE file standard_input();
THRUM_OUT_OF_LINE file standard_input(std::error_code& error);
THRUM_OUT_OF_LINE file standard_output();
THRUM_OUT_OF_LINE file standard_output(std::error_code& error);
THRUM_OUT_OF_LINE file standard_error();
THRUM_OUT_OF_LINE file standard_error(std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/file_calls.hpp>  // IWYU pragma: keep: bodies
#include <thrum/detail/os/os.hpp>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE file& file::operator=(file&& other) noexcept {
  descriptor_ = std::move(other.descriptor_);
  path_ = std::move(other.path_);
  kind_ = other.kind_;
  shared_ = other.shared_;
  waits_.set(other.waits_.get());
  return *this;
}

THRUM_OUT_OF_LINE void file::set_deadline(time_point when) {
  io_detail::or_fail(*this, "set_deadline",
                     [&](std::error_code& error) { return set_deadline(when, error), true; });
}

THRUM_OUT_OF_LINE void file::set_deadline(time_point when, std::error_code& error) noexcept {
  set_deadline(side::read, when, error);
  set_deadline(side::write, when, error);
}

THRUM_OUT_OF_LINE void file::set_read_deadline(time_point when) {
  io_detail::or_fail(*this, "set_read_deadline", [&](std::error_code& error) {
    return set_deadline(side::read, when, error), true;
  });
}

THRUM_OUT_OF_LINE void file::set_write_deadline(time_point when) {
  io_detail::or_fail(*this, "set_write_deadline", [&](std::error_code& error) {
    return set_deadline(side::write, when, error), true;
  });
}

THRUM_OUT_OF_LINE void file::set_deadline(side which, time_point when,
                                          std::error_code& error) noexcept {
  error.clear();
  if (!waits()) {
    error = os::error_code_of(os::not_supported);
    return;
  }
  descriptor_.set_deadline(which, when);
}

THRUM_COLD THRUM_OUT_OF_LINE void file::fail(const std::error_code& error,
                                             const char* operation) const {
  base::message<512> text("file::");
  base::throw_system(error, text.append(operation).append(" ").append(path_).view());
}

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

inline io::file standard_stream(int number, const char* name, std::error_code& error) {
  const os::io_result fd = os::duplicate(os::standard_handle(number));
  if (fd < 0) {
    error = error_of(fd);
    return {};
  }
  return io::file::adopt(os::handle_of(fd), name, error);
}
inline io::file standard_stream(int number, const char* name) {
  std::error_code error;
  io::file made = standard_stream(number, name, error);
  if (error) {
    base::throw_system(error, name);
  }
  return made;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE file standard_input() { return io_detail::standard_stream(0, "standard input"); }
THRUM_OUT_OF_LINE file standard_input(std::error_code& error) {
  return io_detail::standard_stream(0, "standard input", error);
}
THRUM_OUT_OF_LINE file standard_output() {
  return io_detail::standard_stream(1, "standard output");
}
THRUM_OUT_OF_LINE file standard_output(std::error_code& error) {
  return io_detail::standard_stream(1, "standard output", error);
}
THRUM_OUT_OF_LINE file standard_error() { return io_detail::standard_stream(2, "standard error"); }
THRUM_OUT_OF_LINE file standard_error(std::error_code& error) {
  return io_detail::standard_stream(2, "standard error", error);
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
