// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// exec: a program run to its end by one call.
//
//   const thrum::io::exec_result r = thrum::io::exec({"git", "rev-parse", "HEAD"});
//   if (r.status.success()) use(r.output);
//
// How it ends in any case: at the deadline, or at a stop, the program is asked to end, with all that it
// has started where the system has process groups; after the grace it is ended. When it has written
// more than is wanted, it is ended at once. Programs that it has left behind may keep its output open: exec
// waits for them no longer than the grace, counted from the program's end, with or without a deadline.
#ifndef THRUM_IO_EXEC_HPP
#define THRUM_IO_EXEC_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/io/child_process.hpp>
#include <thrum/detail/start/deadline.hpp>
#include <thrum/io/process.hpp>
#include <thrum/stop_condition.hpp>
#include <thrum/sync/wait_group.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// How a program is run.
struct exec_options {
  std::string input = {};      ///< what it reads; if it does not read all, that is no error
  std::string directory = {};  ///< to start in; empty: ours
  /// "NAME=value" each; none: ours.
  std::optional<std::vector<std::string>> environment = {};
  bool errors_to_output = false;  ///< standard error goes where standard output goes
  /// Bytes of output, and of error output, that are wanted at most.
  std::size_t most_output = std::size_t{64} * 1024 * 1024;
  time_point deadline = time_point::max();  ///< when it is asked to end
  /// How long it then has, before it is ended; and how long, after its end, exec waits for other programs
  /// that keep its output open, as a daemon that it has started may do.
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
};

/// What has come of it.
struct exec_result {
  exit_status status{exit_status::none, 0, false};  ///< none if it could not be started
  std::string output;                               ///< what it has written
  std::string errors;                               ///< the same of its standard error
};

/// Runs a program and waits for its end: `arguments` are its name and what follows, as of process::spawn.
/// Any status is a result, also that of a signal. Throws std::system_error if it could not be started, and
/// with errc::deadline_exceeded, also if it has ended and only its output was kept open for longer than the
/// grace: what has come until then is complete as far as the program itself wrote it. errc::message_size:
/// it wrote too much. With an error_code the result so far is returned, too. Goroutines and threads. A
/// cancellation point for goroutines: the program is killed then.
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how = {});
THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how, std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// How exec waits.
class end_wait {
 public:
  /// For the program's end.
  virtual exit_status for_child(process& child, time_point deadline,
                                std::error_code& error) const = 0;
  /// For those that read what it has written. False: a stop has come.
  virtual bool for_readers(wait_group& readers) const = 0;

 protected:
  ~end_wait() = default;
};

/// Until a stop, too.
template <class Stop>
class stopped_end_wait final : public end_wait {
 public:
  explicit stopped_end_wait(const Stop& stop) noexcept : stop_(stop) {}

  exit_status for_child(process& child, time_point deadline,
                        std::error_code& error) const override {
    return child.wait_until(deadline, stop_, error);
  }
  bool for_readers(wait_group& readers) const override { return readers.wait(stop_); }

 private:
  const Stop& stop_;
};

THRUM_OUT_OF_LINE exec_result exec_waiting(const std::vector<std::string>& arguments,
                                           const exec_options& how, const end_wait& wait,
                                           std::error_code& error);
[[noreturn]] [[gnu::cold]] void fail_exec(const std::vector<std::string>& arguments,
                                          const std::error_code& error);

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// exec(arguments, how) until a stop, which ends the program as the deadline does:
/// std::errc::operation_canceled when the program has ended; with `error`, returns what has come until
/// then, and how it ended. After the stop no program is started. Needs <thrum/detail/start/stoppable.hpp>,
/// which <thrum.hpp> includes.
template <stop_condition Stop>
exec_result exec(const std::vector<std::string>& arguments, const exec_options& how,
                 const Stop& stop, std::error_code& error) {
  if (stop_detail::is_over(stop)) {
    error = std::make_error_code(std::errc::operation_canceled);
    return {};
  }
  const io_detail::stopped_end_wait<Stop> wait(stop);
  return io_detail::exec_waiting(arguments, how, wait, error);
}
template <stop_condition Stop>
exec_result exec(const std::vector<std::string>& arguments, const exec_options& how,
                 const Stop& stop) {
  std::error_code error;
  exec_result result = exec(arguments, how, stop, error);
  if (error) {
    io_detail::fail_exec(arguments, error);
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/thread_parts.hpp>
#include <thrum/detail/sched/core/traits.hpp>
#include <thrum/detail/sched/queue/no_deadline.hpp>
#include <thrum/errc.hpp>
#include <thrum/io/pipe.hpp>
#include <thrum/panic.hpp>
#include <thrum/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io_detail {

/// At most three functions that run beside their maker until the end of a block: on goroutines, or, if a foreign
/// thread calls, on threads. What they work with must let them end.
class helpers {
 public:
  helpers() noexcept = default;
  helpers(const helpers&) = delete;
  helpers& operator=(const helpers&) = delete;
  ~helpers() { join(); }

  void go(std::function<void()> f) {
    if (runtime::current() != nullptr) {
      running_.go(std::move(f));
      return;
    }
    job& own = jobs_[size_];
    own.run = std::move(f);
    own.of = &running_;
    running_.add(1);
    if (const int error = os::thread::start(own.thread, &run_job, &own); error != 0) {
      running_.done();
      base::throw_system(std::error_code(error, std::generic_category()), "exec: a thread");
    }
    ++size_;
  }

  wait_group& running() noexcept { return running_; }

  void join() {
    const uncancellable to_the_end;
    running_.wait();  // not a join, which would pass on that it was stopped
    for (; size_ != 0; --size_) {
      jobs_[size_ - 1].thread.join();
    }
  }

 private:
  struct job {
    std::function<void()> run;
    wait_group* of = nullptr;
    os::thread thread;
  };

  static void* run_job(void* which) noexcept {
    job& own = *static_cast<job*>(which);
    own.run();
    own.of->done();
    return nullptr;
  }

  wait_group running_;
  job jobs_[3];
  std::size_t size_ = 0;
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

/// Everything up to the end; errc::message_size: there is more than is wanted. At the deadline, what has
/// been written already: a reader may be late on a busy machine.
inline std::error_code read_at_most(io::pipe_reader& from, std::string& to, std::size_t most) {
  constexpr std::size_t piece = 16 * 1024;
  std::string buffer(piece, '\0');
  const std::span<char> into(buffer.data(), piece);
  std::error_code error;
  for (bool is_late = false;;) {
    std::error_code ignored;
    const std::size_t n =
        is_late ? from.try_read(into, ignored).value_or(0) : from.read(into, error);
    if (n == 0 && !is_late && error == errc::deadline_exceeded) {
      is_late = true;
      from.set_deadline(time_point::max());  // for the reads that do not wait
      continue;
    }
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

/// Until its end or the deadline.
class plain_end_wait final : public end_wait {
 public:
  exit_status for_child(process& child, time_point deadline,
                        std::error_code& error) const override {
    return child.wait_until(deadline, error);
  }
  bool for_readers(wait_group&) const override { return true; }  // they are joined
};

THRUM_COLD THRUM_OUT_OF_LINE void fail_exec(const std::vector<std::string>& arguments,
                                            const std::error_code& error) {
  base::message<512> text("exec");
  for (const std::string& each : arguments) {
    text.append(" ").append(each);
  }
  base::throw_system(error, text.view());
}

THRUM_OUT_OF_LINE exec_result exec_waiting(const std::vector<std::string>& arguments,
                                           const exec_options& how, const end_wait& wait,
                                           std::error_code& error) {
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
    helpers all;
    const ended_before guard(child);
    const auto read = [&](std::size_t i, pipe_reader& from, std::string& to) {
      all.go([&, i] {
        reading[i] = read_at_most(from, to, how.most_output);
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
      all.go([&] {
        std::error_code not_read;
        child.in().write(std::string_view(how.input), not_read);
        child.in().close();
      });
    }
    const auto read_until = [&](std::int64_t when) {
      const time_point until{std::chrono::nanoseconds(when)};
      child.out().set_deadline(until);
      child.err().set_deadline(until);
    };
    result.status = wait.for_child(child, how.deadline, error);
    if (error == errc::deadline_exceeded || error == std::errc::operation_canceled) {
      const std::error_code why = error;
      result.status = child.wait_or_stop(time_point::min(), how.grace, error);
      error = error && error != errc::deadline_exceeded ? error : why;
    }
    child.in().close();  // the program has ended: it reads no more
    const std::int64_t now = sched::traits::now();
    const std::int64_t grace = how.grace.count();
    read_until(grace < sched::no_deadline - now ? now + grace : sched::no_deadline);
    if (!error && !wait.for_readers(all.running())) {
      error = std::make_error_code(std::errc::operation_canceled);
      read_until(now);
    }
    all.join();
  }
  for (const std::error_code& each : reading) {
    error = each == std::errc::message_size || !error ? each : error;
  }
  return result;
}

}}}  // namespace thrum::THRUM_ABI::io_detail

namespace thrum { inline namespace THRUM_ABI { namespace io {

THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how) {
  std::error_code error;
  exec_result result = exec(arguments, how, error);
  if (error) {
    io_detail::fail_exec(arguments, error);
  }
  return result;
}

THRUM_OUT_OF_LINE exec_result exec(const std::vector<std::string>& arguments,
                                   const exec_options& how, std::error_code& error) {
  return io_detail::exec_waiting(arguments, how, io_detail::plain_end_wait(), error);
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
