// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/process.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_PROCESS_DEFINITION_HPP
#define THRUM_IO_PROCESS_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/errc.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/blocking.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/child_process.hpp>
#include <thrum/io/detached_children.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/io/process.hpp>
#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/redirect.hpp>
#include <thrum/io/redirect_definition.hpp>
#include <thrum/os/os.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE process& process::operator=(process&& other) noexcept {
  if (this != &other) {
    end();
    child_ = std::move(other.child_);
    in_ = std::move(other.in_);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
  }
  return *this;
}

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

THRUM_OUT_OF_LINE std::optional<exit_status> process::wait_until(time_point deadline) {
  std::error_code error;
  const exit_status status = wait_until(deadline, error);
  if (error == errc::deadline_exceeded) {
    return std::nullopt;
  }
  if (error) {
    fail(error, "wait");
  }
  return status;
}

THRUM_OUT_OF_LINE exit_status process::wait_until(time_point deadline, std::error_code& error) {
  exit_status status{exit_status::none, 0, false};
  if (!child_) {
    error = std::make_error_code(std::errc::no_child_process);
    return status;
  }
  std::chrono::milliseconds pause{0};
  while ((error = child_->reap(status)) == std::errc::resource_unavailable_try_again) {
    child_->wait(deadline, pause, error);
    if (error) {
      return status;
    }
  }
  return status;
}

THRUM_OUT_OF_LINE std::optional<exit_status> process::try_wait(std::error_code& error) {
  const exit_status status = wait_until(time_point::min(), error);
  if (error == errc::deadline_exceeded) {
    error.clear();
    return std::nullopt;
  }
  return error ? std::nullopt : std::optional(status);
}

THRUM_OUT_OF_LINE void process::signal(int number) {
  std::error_code error;
  signal(number, error);
  if (error) {
    fail(error, "signal");
  }
}

THRUM_OUT_OF_LINE void process::signal(int number, std::error_code& error) noexcept {
  error = child_ ? child_->signal(number) : std::make_error_code(std::errc::no_such_process);
}

THRUM_OUT_OF_LINE void process::signal_group(int number) {
  std::error_code error;
  signal_group(number, error);
  if (error) {
    fail(error, "signal_group");
  }
}

THRUM_OUT_OF_LINE void process::signal_group(int number, std::error_code& error) noexcept {
  error = child_ ? child_->signal_group(number) : std::make_error_code(std::errc::no_such_process);
}

THRUM_OUT_OF_LINE void process::terminate_group() noexcept {
  if (child_) {
    child_->terminate_group();
  }
}

THRUM_OUT_OF_LINE void process::kill_group() noexcept {
  if (child_) {
    child_->kill_group();
  }
}

THRUM_OUT_OF_LINE exit_status process::wait_or_stop(time_point deadline,
                                                    std::chrono::nanoseconds grace,
                                                    std::error_code& error) {
  const exit_status status = wait_until(deadline, error);
  return error == errc::deadline_exceeded ? end_within(grace, error) : status;
}

THRUM_OUT_OF_LINE exit_status process::end_within(std::chrono::nanoseconds grace,
                                                  std::error_code& error) {
  const std::error_code why = error;
  if (!child_) {
    return {exit_status::none, 0, false};
  }
  child_->terminate_group();
  exit_status status = wait_for(grace, error);
  if (error == errc::deadline_exceeded) {
    child_->kill_group();
    status = wait_until(time_point::max(), error);
  }
  error = error ? error : why;
  return status;
}

THRUM_OUT_OF_LINE exit_status process::stop(std::chrono::nanoseconds grace) {
  std::error_code error;
  const exit_status status = wait_or_stop(time_point::min(), grace, error);
  if (error && error != errc::deadline_exceeded) {
    fail(error, "stop");
  }
  return status;
}

THRUM_OUT_OF_LINE void process::terminate() noexcept {
  if (child_) {
    child_->terminate();
  }
}

THRUM_OUT_OF_LINE void process::kill() noexcept {
  if (child_) {
    child_->kill();
  }
}

THRUM_OUT_OF_LINE void process::detach() {
  if (child_) {
    io_detail::detached_children::add(std::move(child_));
  }
  close_pipes();
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

THRUM_OUT_OF_LINE exit_status process::wait_or_throw(time_point deadline) {
  std::error_code error;
  const exit_status status = wait_until(deadline, error);
  if (error) {
    fail(error, "wait");
  }
  return status;
}

THRUM_OUT_OF_LINE void process::close_pipes() noexcept {
  in_ = pipe_writer();
  out_ = pipe_reader();
  err_ = pipe_reader();
}

THRUM_OUT_OF_LINE void process::end() noexcept {
  close_pipes();
  if (child_) {
    if (!child_->end()) {
      io_detail::detached_children::add(std::move(child_));
    }
    child_.reset();
  }
}

THRUM_COLD THRUM_OUT_OF_LINE void process::fail(const std::error_code& error,
                                                const char* operation) const {
  base::message<512> text("process::");
  text.append(operation).append(" ").append(static_cast<std::uint64_t>(pid()));
  base::throw_system(error, text.view());
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
