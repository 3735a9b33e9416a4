// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Opens a file by its path, or takes over an open descriptor.
#ifndef THRUM_DETAIL_IO_FILE_OPEN_HPP
#define THRUM_DETAIL_IO_FILE_OPEN_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/file.hpp>

#include <string>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, unsigned permissions) {
  std::error_code error;
  file result = open(path, mode, permissions, error);
  if (error) {
    result.fail(error, "open");
  }
  return result;
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, std::error_code& error) {
  return open(path, mode, default_permissions, error);
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, open_mode mode, unsigned permissions,
                                  std::error_code& error) {
  return open_by([=](const char* name) { return os::open_file(name, mode, permissions); }, path,
                 error);
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, os::system_open_flags flags,
                                  unsigned permissions) {
  std::error_code error;
  file result = open(path, flags, permissions, error);
  if (error) {
    result.fail(error, "open");
  }
  return result;
}

THRUM_OUT_OF_LINE file file::open(const std::string& path, os::system_open_flags flags,
                                  unsigned permissions, std::error_code& error) {
  return open_by(
      [=](const char* name) { return os::open_file_with_flags(name, flags, permissions); }, path,
      error);
}

template <class Open>
file file::open_by(Open call, const std::string& path, std::error_code& error) {
  file result;
  result.path_ = path;  // may throw: before there is a descriptor
  const os::io_result fd = open_native_by(call, path);
  if (fd < 0) {
    error = io_detail::error_of(fd);
    return result;
  }
  result.take_over(os::handle_of(fd), true, error);
  return result;
}

template <class Open>
os::io_result file::open_native_by(Open call, const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return os::invalid;
  }
  return uninterrupted([&] { return call(path.c_str()); });
}

THRUM_OUT_OF_LINE os::io_result file::open_native(const std::string& path, open_mode mode) {
  return open_native_by(
      [=](const char* name) { return os::open_file(name, mode, default_permissions); }, path);
}

THRUM_OUT_OF_LINE void file::take_over(os::handle fd, bool own, std::error_code& error) {
  os::io_result result = os::kind_of(fd, kind_);
  if (result >= 0 && own && kind_.may_wait) {
    result = os::set_nonblocking(fd, true);
  }
  if (result < 0) {
    error = io_detail::error_of(result);
    os::close(fd);
    return;
  }
  error.clear();
  descriptor_ = descriptor(fd, error);
  waits_.set(kind_.may_wait);
  shared_ = kind_.may_wait && !own && !kind_.is_nonblocking;
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
