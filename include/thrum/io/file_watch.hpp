// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// file_watch: hears of changes of files and directories. On Linux, by inotify; on Windows, by
// ReadDirectoryChangesW; on macOS and FreeBSD, by kqueue; elsewhere making one fails with
// errc::operation_not_supported.
#ifndef THRUM_IO_FILE_WATCH_HPP
#define THRUM_IO_FILE_WATCH_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/start/deadline.hpp>
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
  /// As file_watch(); sets `error` instead of throwing, and then holds none.
  explicit file_watch(std::error_code& error);
  /// Makes one and calls add(path).
  explicit file_watch(const std::string& path);
  file_watch(const std::string& path, std::error_code& error);
  file_watch(file_watch&& other) noexcept;
  file_watch& operator=(file_watch&& other) noexcept;
  ~file_watch();

  /// Begins to watch a file, or a directory and what is directly in it. Once it is removed or moved away it
  /// is not watched any more, also if something of that name comes again. Windows does not say that a
  /// watched directory itself was moved: its watch continues under the old path. On macOS and FreeBSD each
  /// file in the directory takes a descriptor.
  void add(const std::string& path);
  void add(const std::string& path, std::error_code& error);
  /// No more. errc::invalid_argument if it is not watched.
  void remove(const std::string& path);
  void remove(const std::string& path, std::error_code& error);

  /// The next change; waits for it.
  file_change next();
  file_change next(std::error_code& error);

  /// next() until a stop: then std::errc::operation_canceled; later calls return the changes that are left.
  /// Needs <thrum/detail/start/stoppable.hpp>, which <thrum.hpp> includes.
  template <until_condition Stop>
  file_change next(const Stop& stop) {
    std::error_code error;
    file_change found = next(stop, error);
    if (error) {
      fail(error);
    }
    return found;
  }
  template <until_condition Stop>
  file_change next(const Stop& stop, std::error_code& error) {
    return stop_detail::run_until_stopped(stop, error, [&] { return next(error); });
  }

  /// Sets the moment from which next() fails with errc::deadline_exceeded; time_point::max(): never.
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

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/io/own_name.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

struct watched_path {
  int number;
  std::string path;
};

struct file_watch_state {
  static constexpr std::size_t room = 8192;  // for many changes, and for one with the longest name

  os::file_watch system;  // under the lock, but when the descriptor is closed
  io::descriptor descriptor;
  mutex lock;
  // -- under the lock --
  std::vector<watched_path> paths;  // by the numbers of watches, which mostly grow
  // What the last look at the system has brought; from `at` on no caller has taken it yet. It is copied as
  // it came: a copy needs no memory, and the look is in a turn of the descriptor, in which nothing may
  // throw.
  alignas(8) std::byte told[room] = {};
  const std::byte* at = told;
  const std::byte* end = told;

  // With the lock held.

  /// Where it is, or would be.
  std::vector<watched_path>::iterator place_of(int number) {
    return std::lower_bound(paths.begin(), paths.end(), number,
                            [](const watched_path& each, int n) { return each.number < n; });
  }
  bool has(std::vector<watched_path>::iterator place, int number) const {
    return place != paths.end() && place->number == number;
  }
  /// Asks the system for changes, unless some are left that no caller has taken yet. As the call of a
  /// descriptor; another caller may have brought some while this one waited for its turn.
  os::io_result look(os::handle fd) noexcept {
    if (at == end) {
      const os::io_result got = system.read(fd, told, room);
      if (got <= 0) {
        return got;
      }
      at = told;
      end = told + got;
    }
    return end - at;
  }
  /// The next change that has been told. False: there is none. If it throws, that change is still to
  /// come.
  bool take(io::file_change& to) {
    while (at != end) {
      os::file_change_seen seen;
      const std::byte* const after = os::take_change(at, seen);
      const bool is_one = take(seen, to);
      at = after;
      if (is_one) {
        return true;
      }
    }
    return false;
  }

 private:
  /// Whether it is a change for the user.
  bool take(const os::file_change_seen& seen, io::file_change& to) {
    using kind = io::file_change::kind_type;
    if (seen.is_lost) {
      to = {kind::lost, {}, false};
      return true;
    }
    const auto place = place_of(seen.number);
    if (!has(place, seen.number)) {
      return false;  // of a watch that was removed meanwhile
    }
    if (seen.is_last) {
      paths.erase(place);
      return false;
    }
    to.kind = seen.is_created    ? kind::created
              : seen.is_removed  ? kind::removed
              : seen.is_modified ? kind::modified
                                 : kind::attributes;
    to.path = *seen.name != '\0' ? path_in(place->path, seen.name) : place->path;
    to.is_directory = seen.is_directory;
    if (seen.is_moved) {  // what happens to it from now on does not happen under this name
      paths.erase(place);
      descriptor.use([&](os::handle fd) { return system.remove(fd, seen.number); });
    }
    return true;
  }
};

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE file_watch::file_watch() {
  std::error_code error;
  open(error);
  if (error) {
    base::throw_system(error, "file_watch::file_watch");
  }
}

THRUM_OUT_OF_LINE file_watch::file_watch(std::error_code& error) { open(error); }

THRUM_OUT_OF_LINE file_watch::file_watch(const std::string& path) : file_watch() { add(path); }

THRUM_OUT_OF_LINE file_watch::file_watch(const std::string& path, std::error_code& error)
    : file_watch(error) {
  if (!error) {
    add(path, error);
  }
}

THRUM_OUT_OF_LINE file_watch::file_watch(file_watch&& other) noexcept = default;

THRUM_OUT_OF_LINE file_watch& file_watch::operator=(file_watch&& other) noexcept = default;

THRUM_OUT_OF_LINE file_watch::~file_watch() = default;

THRUM_OUT_OF_LINE void file_watch::open(std::error_code& error) {
  base::owner<io_detail::file_watch_state> made(new io_detail::file_watch_state);
  const os::io_result fd = made->system.open();
  if (fd < 0) {
    error = io_detail::error_of(fd);
    return;
  }
  made->descriptor = descriptor(os::handle_of(fd), error);
  if (!error) {
    state_ = std::move(made);
  }
}

THRUM_OUT_OF_LINE void file_watch::add(const std::string& path) {
  std::error_code error;
  add(path, error);
  if (error) {
    base::throw_system(error, base::message<512>("file_watch::add ").append_quoted(path).view());
  }
}

THRUM_OUT_OF_LINE void file_watch::add(const std::string& path, std::error_code& error) {
  os::io_result number = state_ ? os::io_result{os::invalid} : os::bad_handle;
  if (state_ && path.find('\0') == std::string::npos) {
    // The lock: its path is known before a caller can take a change of it.
    const std::lock_guard guard(state_->lock);
    number = blocking([&] {
      return state_->descriptor.use(
          [&](os::handle fd) { return state_->system.add(fd, path.c_str()); });
    });
    if (number >= 0) {
      const int watch = static_cast<int>(number);
      const auto at = state_->place_of(watch);
      if (state_->has(at, watch)) {
        at->path = path;  // the same file by another name
      } else {
        state_->paths.insert(at, {watch, path});
      }
    }
  }
  error = number < 0 ? io_detail::error_of(number) : std::error_code();
}

THRUM_OUT_OF_LINE void file_watch::remove(const std::string& path) {
  std::error_code error;
  remove(path, error);
  if (error) {
    base::throw_system(error, base::message<512>("file_watch::remove ").append_quoted(path).view());
  }
}

THRUM_OUT_OF_LINE void file_watch::remove(const std::string& path, std::error_code& error) {
  os::io_result done = state_ ? os::io_result{os::invalid} : os::bad_handle;
  if (state_) {
    const std::lock_guard guard(state_->lock);
    const auto at = std::find_if(state_->paths.begin(), state_->paths.end(),
                                 [&](const auto& each) { return each.path == path; });
    if (at != state_->paths.end()) {
      const int number = at->number;
      state_->paths.erase(at);
      done =
          state_->descriptor.use([&](os::handle fd) { return state_->system.remove(fd, number); });
    }
  }
  error = done < 0 ? io_detail::error_of(done) : std::error_code();
}

THRUM_OUT_OF_LINE file_change file_watch::next() {
  std::error_code error;
  file_change found = next(error);
  if (error) {
    fail(error);
  }
  return found;
}

THRUM_COLD THRUM_OUT_OF_LINE void file_watch::fail(const std::error_code& error) {
  base::throw_system(error, "file_watch::next");
}

THRUM_OUT_OF_LINE file_change file_watch::next(std::error_code& error) {
  error.clear();
  if (!state_) {
    error = io_detail::error_of(os::bad_handle);
    return {};
  }
  for (;;) {
    {
      file_change first;
      const std::lock_guard guard(state_->lock);
      if (state_->descriptor.native_handle() != os::no_handle && state_->take(first)) {
        return first;
      }
    }
    const os::io_result n = state_->descriptor.run(side::read, [&](os::handle fd) {
      const std::lock_guard guard(state_->lock);
      return state_->look(fd);
    });
    if (n < 0) {
      error = io_detail::error_of(n);
      return {};
    }
  }
}

THRUM_OUT_OF_LINE void file_watch::set_deadline(time_point when) noexcept {
  if (state_) {
    state_->descriptor.set_deadline(side::read, when);
  }
}

THRUM_OUT_OF_LINE void file_watch::close() noexcept {
  if (state_) {
    state_->descriptor.close([&] { state_->system.close(); });
  }
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
