// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// file_watch: hears of changes of files and directories. On Linux, by inotify; on Windows, by
// ReadDirectoryChangesW; on macOS and FreeBSD, by kqueue; elsewhere making one fails with
// errc::operation_not_supported.
#ifndef THRUM_IO_FILE_WATCH_HPP
#define THRUM_IO_FILE_WATCH_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/owner.hpp>
#include <thrum/deadline.hpp>
#include <thrum/stop_condition.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

struct file_watch_state;

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// One change.
struct file_change {
  /// What may happen.
  enum class kind_type : std::uint8_t {
    created,     ///< or moved there
    removed,     ///< or moved away
    modified,    ///< something was written, or it was cut off
    attributes,  ///< permissions, owner, times (of files); Windows calls that modified
    lost,        ///< changes came faster than they were read: look at everything again
  };

  kind_type kind = kind_type::lost;  ///< what has happened
  /// As it was given to add(), and the name of what is in it if that has changed. Empty if lost.
  std::string path;
  /// What has changed. On Windows, which does not say it, false of what is not there any more.
  bool is_directory = false;
};

/// Move-only. All members but moving and destroying may be called by several goroutines and threads at
/// the same time; each change goes to one of them. next() is a cancellation point.
class file_watch {
 public:
  /// Watches nothing yet. Throws std::system_error if the system has no such thing, or no more of it.
  file_watch();
  /// The same; sets `error` instead of throwing, and then holds none.
  explicit file_watch(std::error_code& error);
  /// Makes one and calls add(path).
  explicit file_watch(const std::string& path);
  file_watch(const std::string& path, std::error_code& error);
  file_watch(file_watch&& other) noexcept;
  file_watch& operator=(file_watch&& other) noexcept;
  ~file_watch();

  /// From now on hears of changes of a file, or of a directory and what is directly in it. What is removed or
  /// moved away is not watched any more, also if something of that name comes again. Windows does not say
  /// that a watched directory itself was moved: its watch continues under the old path. On macOS and
  /// FreeBSD each file in the directory takes a descriptor.
  void add(const std::string& path);
  void add(const std::string& path, std::error_code& error);
  /// No more. errc::invalid_argument if it is not watched.
  void remove(const std::string& path);
  void remove(const std::string& path, std::error_code& error);

  /// The next change; waits for it.
  file_change next();
  file_change next(std::error_code& error);

  /// The same until a stop: then std::errc::operation_canceled; changes that have not been returned are
  /// still to come. To be included, if not by <thrum.hpp>: <thrum/stoppable.hpp>.
  template <stop_condition Stop>
  file_change next(const Stop& stop) {
    std::error_code error;
    file_change found = next(stop, error);
    if (error) {
      fail(error);
    }
    return found;
  }
  template <stop_condition Stop>
  file_change next(const Stop& stop, std::error_code& error) {
    return stop_detail::run_until_stopped(stop, error, [&] { return next(error); });
  }

  /// From `when` on next() fails with errc::deadline_exceeded; time_point::max(): never.
  void set_deadline(time_point when) noexcept;

  /// A call of next() that waits fails with errc::operation_canceled, as does all that comes later.
  /// Closing again does nothing.
  void close() noexcept;

 private:
  void open(std::error_code& error);
  [[noreturn]] [[gnu::cold]] static void fail(const std::error_code& error);

  base::owner<io_detail::file_watch_state> state_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if !THRUM_SEPARATE
#include <thrum/io/file_watch_definition.hpp>
#endif

#endif
