// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/redirect.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_REDIRECT_DEFINITION_HPP
#define THRUM_IO_REDIRECT_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>
#include <thrum/io/redirect.hpp>
#include <thrum/os/os.hpp>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE redirect redirect::to_file(std::string path, open_mode mode) {
  return {kind::path, std::move(path), mode};
}

THRUM_OUT_OF_LINE redirect redirect::from_file(std::string path) {
  return {kind::path, std::move(path), open_mode::read};
}

THRUM_OUT_OF_LINE redirect redirect::to(native_handle_type fd) {
  redirect result{kind::descriptor, {}, {}};
  result.fd_ = fd;
  return result;
}

/// The descriptors of a child that is about to be spawned; closed here when it has its own.
class child_streams {
 public:
  child_streams() noexcept = default;
  child_streams(const child_streams&) = delete;
  child_streams& operator=(const child_streams&) = delete;
  ~child_streams() {
    for (const int fd : owned_) {
      if (fd != os::no_descriptor) {
        os::close(fd);
      }
    }
  }

  /// Prepares the stream with that number. `ours` gets the other end if it is a pipe, and `where`
  /// the path if that is to blame.
  void prepare(int number, const redirect& how, descriptor& ours, std::string& where,
               std::error_code& error) {
    os::io_result result = os::no_descriptor;
    bool is_own = true;
    switch (how.kind_) {
      case redirect::kind::inherit:
      case redirect::kind::output: error.clear(); return;
      case redirect::kind::path: {
        result = file::open_native(how.path_, how.mode_);
        where = result < 0 ? how.path_ : "";
        break;
      }
      case redirect::kind::pipe: {
        int ends[2];
        result = os::open_pipe(ends);
        if (result >= 0) {
          const bool child_reads = number == 0;
          result = ends[child_reads ? 0 : 1];
          ours = descriptor(ends[child_reads ? 1 : 0], error);
          if (error) {
            os::close(static_cast<int>(result));
            return;
          }
          os::set_nonblocking(static_cast<int>(result), false);
        }
        break;
      }
      case redirect::kind::descriptor: {
        result = how.fd_ < 0 ? -EBADF : how.fd_;
        is_own = false;
        break;
      }
    }
    if (result >= 0 && result < 3 && result != number) {
      // It would be replaced before it is used.
      const os::io_result copy = os::duplicate(static_cast<int>(result));
      if (is_own) {
        os::close(static_cast<int>(result));
      }
      result = copy;
      is_own = true;
    }
    if (result < 0) {
      error = io_detail::error_of(result);
      return;
    }
    error.clear();
    fds_[number] = static_cast<int>(result);
    owned_[number] = is_own ? fds_[number] : os::no_descriptor;
  }

  /// no_descriptor: ours.
  int operator[](int number) const noexcept { return fds_[number]; }

 private:
  int fds_[3] = {os::no_descriptor, os::no_descriptor, os::no_descriptor};
  int owned_[3] = {os::no_descriptor, os::no_descriptor, os::no_descriptor};
};

}}}  // namespace thrum::THRUM_ABI::io

#endif
