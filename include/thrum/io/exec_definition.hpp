// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What io/exec.hpp declares: the bodies that are not inlined.
#ifndef THRUM_IO_EXEC_DEFINITION_HPP
#define THRUM_IO_EXEC_DEFINITION_HPP

#include <thrum/base/config.hpp>
#include <thrum/base/error.hpp>
#include <thrum/base/message.hpp>
#include <thrum/deadline.hpp>
#include <thrum/io/exec.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/io/process.hpp>
#include <thrum/panic.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sched/core/traits.hpp>
#include <thrum/sync/wait_group.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// Something that runs beside its maker until the end of a block: a goroutine, or, on a thread of
/// others, a thread. What it works with must let it end.
class beside {
 public:
  template <class F>
  explicit beside(F f) {
    if (runtime::current() != nullptr) {
      goroutine_.go(std::move(f));
    } else {
      thread_ = std::thread(std::move(f));
    }
  }
  beside(const beside&) = delete;
  beside& operator=(const beside&) = delete;
  ~beside() { join(); }

  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
    const uncancellable to_the_end;
    goroutine_.wait();  // not a join, which would pass on that it was stopped
  }

 private:
  wait_group goroutine_;
  std::thread thread_;
};

/// Closes a child's pipes and kills it before those end that work with the pipes, whatever happens.
class ended_before {
 public:
  explicit ended_before(io::process& child) noexcept : child_(child) {}
  ended_before(const ended_before&) = delete;
  ended_before& operator=(const ended_before&) = delete;
  ~ended_before() {
    child_.in().close();
    child_.out().close();
    child_.err().close();
  }

 private:
  io::process& child_;
};

/// Everything up to the end; errc::message_size: there is more than is wanted.
inline std::error_code read_at_most(io::pipe_reader& from, std::string& to, std::size_t most) {
  constexpr std::size_t piece = 16 * 1024;
  std::vector<char> buffer(piece);
  std::error_code error;
  for (;;) {
    const std::size_t n = from.read(std::span<char>(buffer), error);
    if (n == 0) {
      return error;
    }
    const std::size_t room = most - to.size();
    to.append(buffer.data(), std::min(n, room));
    if (n > room) {
      return std::make_error_code(std::errc::message_size);
    }
  }
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how) {
  std::error_code error;
  exec_result result = exec(arguments, how, error);
  if (error) {
    base::message<512> text("exec");
    for (const std::string& each : arguments) {
      text.append(" ").append(each);
    }
    base::throw_system(error, text.view());
  }
  return result;
}

THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how, std::error_code& error) {
  exec_result result;
  process_options options;
  options.in = how.input.empty() ? redirect::null() : redirect::pipe();
  options.out = redirect::pipe();
  options.err = how.errors_to_output ? redirect::to_output() : redirect::pipe();
  options.directory = how.directory;
  options.environment = how.environment;
  options.new_group = os::has_process_groups;
  process child = process::spawn(arguments, std::move(options), error);
  if (error) {
    return result;
  }
  std::error_code reading[2];
  {
    std::optional<io_detail::beside> helpers[3];
    const io_detail::ended_before guard(child);
    const auto read = [&](std::size_t i, pipe_reader& from, std::string& to) {
      helpers[i].emplace([&, i] {
        reading[i] = io_detail::read_at_most(from, to, how.most_output);
        if (reading[i] == std::errc::message_size) {
          child.kill_group();
        }
      });
    };
    read(0, child.out(), result.output);
    if (!how.errors_to_output) {
      read(1, child.err(), result.errors);
    }
    if (!how.input.empty()) {
      helpers[2].emplace([&] {
        std::error_code not_read;
        child.in().write(std::string_view(how.input), not_read);
        child.in().close();
      });
    }
    result.status = child.wait_or_stop(how.deadline, how.grace, error);
    child.in().close();  // nobody reads what is left
    if (how.deadline != time_point::max() || error) {
      const time_point now{std::chrono::nanoseconds(sched::traits::now())};
      const time_point until = std::max(now, how.deadline) + how.grace;
      child.out().set_deadline(until);
      child.err().set_deadline(until);
    }
    for (auto& each : helpers) {
      if (each) {
        each->join();
      }
    }
  }
  for (const std::error_code& each : reading) {
    error = each == std::errc::message_size || !error ? each : error;
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io

#endif
