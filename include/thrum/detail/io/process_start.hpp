// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Starts the program of a process.
#ifndef THRUM_DETAIL_IO_PROCESS_START_HPP
#define THRUM_DETAIL_IO_PROCESS_START_HPP

#include <thrum/blocking.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/base/owner.hpp>
#include <thrum/detail/io/child_process.hpp>
#include <thrum/detail/io/detached_children.hpp>
#include <thrum/detail/io/redirect.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/io/process.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE process process::spawn(const std::vector<std::string>& arguments,
                                         // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                         process_options options) {
  std::error_code error;
  process result;
  std::string where;
  result.start(arguments, options, where, error);
  if (error) {
    base::throw_system(error, base::message<512>("process::spawn ").append(where).view());
  }
  return result;
}

THRUM_OUT_OF_LINE process process::spawn(const std::vector<std::string>& arguments,
                                         // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                         process_options options, std::error_code& error) {
  process result;
  std::string where;
  result.start(arguments, options, where, error);
  return error ? process() : std::move(result);
}

THRUM_OUT_OF_LINE process process::spawn(const std::vector<std::string>& arguments,
                                         std::error_code& error) {
  return spawn(arguments, {}, error);
}

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));  // the system's type; it does not write
  }
  result.push_back(nullptr);
  return result;
}

inline bool has_zero(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return text.find('\0') != std::string::npos; });
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE void process::start(const std::vector<std::string>& arguments,
                                      const process_options& options, std::string& where,
                                      std::error_code& error) {
  io_detail::detached_children::look_after();
  if (arguments.empty() || io_detail::has_zero(arguments) ||
      options.directory.find('\0') != std::string::npos ||
      (options.environment && io_detail::has_zero(*options.environment)) ||
      options.in.is_output() || options.out.is_output()) {
    error = std::make_error_code(std::errc::invalid_argument);
    return;
  }
  child_streams streams;
  descriptor ends[3];
  const redirect* const wanted[3] = {&options.in, &options.out, &options.err};
  for (int i = 0; i < 3; ++i) {
    streams.prepare(i, *wanted[i], ends[i], where, error);
    if (error) {
      return;
    }
  }
  const std::vector<char*> argument_pointers = io_detail::pointers_to(arguments);
  std::vector<char*> environment_pointers;
  os::spawn_request request;
  request.arguments = argument_pointers.data();
  if (options.environment) {
    environment_pointers = io_detail::pointers_to(*options.environment);
    request.environment = environment_pointers.data();
  }
  request.directory = options.directory.empty() ? nullptr : options.directory.c_str();
  for (int i = 0; i < 3; ++i) {
    request.streams[i] = streams[i];
  }
  request.errors_to_output = options.err.is_output();
  request.new_group = options.new_group;
  request.extra = options.extra.data();
  request.extras = options.extra.size();
  request.terminal = options.terminal != nullptr ? options.terminal->path().c_str() : nullptr;
  // Before there is one that it could not own.
  auto child = base::owner<io_detail::child_process>(new io_detail::child_process);
  const os::io_result pid = blocking([&] { return os::spawn(request); });
  if (pid < 0) {
    where = arguments.front();
    where += options.directory.empty() ? "" : " in " + options.directory;
    error = io_detail::error_of(pid);
    return;
  }
  child->started(pid, options.new_group || options.terminal != nullptr);
  child_ = std::move(child);
  in_ = pipe_writer(std::move(ends[0]));
  out_ = pipe_reader(std::move(ends[1]));
  err_ = pipe_reader(std::move(ends[2]));
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
