// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// redirect: what a child process has for its standard input, output or error.
#ifndef THRUM_DETAIL_IO_REDIRECT_HPP
#define THRUM_DETAIL_IO_REDIRECT_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/parts.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>

#include <string>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// One of these for each stream of a child.
class redirect {
 public:
  /// The child gets this process's stream.
  redirect() noexcept = default;
  static redirect inherit() { return {}; }
  /// Nothing to read; what is written disappears.
  static redirect null() { return {kind::path, os::null_device, open_mode::read_write}; }
  /// A pipe, whose other end is the process object's in(), out() or err().
  static redirect pipe() { return {kind::pipe, {}, {}}; }
  /// A file, opened here; a relative path counts from our directory.
  static redirect to_file(std::string path, open_mode mode = open_mode::write | open_mode::create |
                                                             open_mode::truncate);
  static redirect from_file(std::string path);
  /// An open descriptor, which stays the caller's and must stay open until spawn() has returned. It
  /// should be in blocking mode: most programs expect that.
  static redirect to(native_handle_type fd);
  /// For standard error: the same as standard output.
  static redirect to_output() { return {kind::output, {}, {}}; }

  /// Which of the ways above was chosen: pipe(), to_output().
  bool is_pipe() const noexcept { return kind_ == kind::pipe; }
  bool is_output() const noexcept { return kind_ == kind::output; }

 private:
  friend class child_streams;
  enum class kind { inherit, path, pipe, descriptor, output };

  redirect(kind what, std::string path, open_mode mode)
      : kind_(what), path_(std::move(path)), mode_(mode) {}

  kind kind_ = kind::inherit;
  std::string path_;
  open_mode mode_ = open_mode::read;
  native_handle_type fd_ = os::no_handle;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>

#include <system_error>

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
    for (const os::handle fd : owned_) {
      if (fd != os::no_handle) {
        os::close(fd);
      }
    }
  }

  /// Prepares the stream with that number. `ours` gets the other end if it is a pipe, and `where`
  /// the path if that is to blame.
  void prepare(int number, const redirect& how, descriptor& ours, std::string& where,
               std::error_code& error) {
    os::io_result result = 0;
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
        os::handle ends[2];
        const bool child_reads = number == 0;
        result = os::open_pipe_to_child(ends, child_reads);
        if (result >= 0) {
          result = static_cast<os::io_result>(ends[child_reads ? 0 : 1]);
          ours = descriptor(ends[child_reads ? 1 : 0], error);
          if (error) {
            os::close(os::handle_of(result));
            return;
          }
        }
        break;
      }
      case redirect::kind::descriptor: {
        result = os::is_handle(how.fd_) ? static_cast<os::io_result>(how.fd_) : os::bad_handle;
        is_own = false;
        break;
      }
    }
    if (result >= 0 && os::is_replaced_before(os::handle_of(result), number)) {
      const os::io_result copy = os::duplicate(os::handle_of(result));
      if (is_own) {
        os::close(os::handle_of(result));
      }
      result = copy;
      is_own = true;
    }
    if (result < 0) {
      error = io_detail::error_of(result);
      return;
    }
    error.clear();
    fds_[number] = os::handle_of(result);
    owned_[number] = is_own ? fds_[number] : os::no_handle;
  }

  /// os::no_handle: ours.
  os::handle operator[](int number) const noexcept { return fds_[number]; }

 private:
  os::handle fds_[3] = {os::no_handle, os::no_handle, os::no_handle};
  os::handle owned_[3] = {os::no_handle, os::no_handle, os::no_handle};
};

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
