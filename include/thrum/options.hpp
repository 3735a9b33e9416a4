// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How a runtime is to be made, and what the environment says about it.
#ifndef THRUM_OPTIONS_HPP
#define THRUM_OPTIONS_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/sched/core/g.hpp>
#include <thrum/memory_hooks.hpp>  // IWYU pragma: export

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace thrum { inline namespace THRUM_ABI {

/// How a goroutine is made to give up its processor when its time slice is over.
enum class preemption {
  none,  ///< not at all: it runs until it blocks or yields, or has done much input or output
  /// At its next call into the library, or at this_goroutine::preemption_point(). Such a runtime installs
  /// no signal handler, for programs that forbid them: a stack overflow is a fault without a report.
  cooperative,
  async,  ///< wherever it is, where the platform can; elsewhere as cooperative
};

/// How many processors to use: the CPUs that this process may run on, but no more than the cgroup's
/// CPU quota rounded up, and at least 1.
unsigned default_procs() noexcept;

/// What a runtime waits for descriptors with.
enum class poller_kind : std::uint8_t {
  /// epoll on Linux, kqueue on macOS and FreeBSD.
  usual,
  /// A ring of io_uring, in a program that includes <thrum/io_uring.hpp>, where the system has one (Linux
  /// 5.11) and gives it; else as usual. The kernel completes reads of connections and files.
  io_uring,
};

namespace go_detail {

inline constexpr std::size_t usual_stack_size = std::size_t{256} << 10;

}  // namespace go_detail

/// The settings of a runtime. Members that are left alone mean what the comments say.
struct options {
  /// Number of P; 0: what THRUM_MAXPROCS says, else default_procs().
  unsigned procs = 0;
  /// Most OS threads. If all of them are inside blocking calls, or locked to goroutines that wait, and
  /// another goroutine can run, that is a fatal error.
  unsigned max_threads = 10'000;
  /// Bytes of stack reserved per goroutine, rounded up to a power of two of at least 16 KiB. Pages
  /// are committed as they are touched. The main goroutine of run() gets 8 MiB, as a thread does, unless
  /// this is smaller than 256 KiB or there is a hook for memory.
  std::size_t stack_size = go_detail::usual_stack_size;
  /// Where stacks and the runtime's own objects come from. Not set: from the system.
  memory_hooks memory = {};
  /// How long a goroutine may run while others wait before it is asked to yield.
  std::chrono::nanoseconds time_slice = std::chrono::milliseconds(10);
  /// How much later than asked sleep_for may end, so that one wake of a thread ends several sleeps. A longer
  /// slack saves processor time where many goroutines sleep. 0: each sleep ends by itself.
  std::chrono::nanoseconds timer_slack = std::chrono::microseconds(50);
  preemption preempt = preemption::async;
  poller_kind poller = poller_kind::usual;
  /// The period of the line of figures on standard error; 0: off.
  std::chrono::milliseconds schedtrace{0};
  /// Adds the P, M and G lines to it.
  bool scheddetail = false;
  /// Writes all goroutines to standard error on SIGQUIT, and goes on. One runtime of a process.
  bool dump_on_quit = false;
  /// Reports, once, each goroutine that has been blocked for so long; 0: none.
  std::chrono::seconds report_blocked{0};
  /// Reports each goroutine that has kept its processor for so many time slices while others
  /// waited; 0: none.
  unsigned report_hogs = 0;
  /// A goroutine that has waited or yielded continues on another thread, each time. So each run shows what
  /// the program keeps across a wait though it belongs to a thread: the address of a thread_local, a lock.
  /// A goroutine in a thread_lock stays on its thread, and so does one that a host runs. Such a switch
  /// takes some 10 us. One processor gets a second thread. A memory hook must not wait for a goroutine then.
  bool migrate = false;
  /// run(): the main goroutine, and what is started on_host, run on the thread that calls run(), as
  /// windows and graphics want it; that thread runs no others.
  bool main_thread = false;
  /// Ends the program with a report when no goroutine of run() can ever run again.
  bool detect_deadlock = true;
  /// OS threads are called name/0, name/1, ..., name/sysmon. At most 11 characters are used.
  std::string name = "thrum";
  /// Called on each thread of the runtime, first and last; the argument is the thread's number.
  std::function<void(unsigned m)> on_thread_start = {};
  std::function<void(unsigned m)> on_thread_stop = {};
  /// For a main loop that waits for other events, and calls runtime::poll once this function has woken it.
  /// Called when a goroutine that is started on_host becomes runnable, unless its thread waits for one in
  /// run_for. Called at most once until the next call of poll, run_for or run_until_idle begins, and also
  /// before the first. A goroutine that such a call leaves runnable is a reason for another call. The
  /// runtime's threads see to timers, so the loop needs none for them.
  ///
  /// It is called on a thread that serves only this purpose, so it may take locks and allocate. It is to
  /// wake the loop (g_main_context_wakeup, QMetaObject::invokeMethod with Qt::QueuedConnection,
  /// SDL_PushEvent, PostMessage) and must not wait for the host's thread. What it throws ends the program.
  /// The runtime's destructor waits until it has returned. A child process after fork() has no such thread.
  /// Empty: the loop is not woken.
  std::function<void()> on_host_work = {};
  /// If a goroutine gets SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT, of which the program has set no
  /// action when the first runtime starts, writes a report to standard error: the goroutine, its callers
  /// with files and lines, where it was started, and the other goroutines. Then the signal takes its course. On
  /// other threads the report is a line. On Windows it is about exceptions that no frame handles. Not
  /// with preemption::cooperative, nor under a sanitizer, which reports by itself.
  bool crash_report = true;
  /// Called on the goroutine that an exception has left. Empty: report it and abort.
  std::function<void(std::exception_ptr, goroutine_id)> on_panic = {};

  /// The defaults, changed by THRUM_MAXPROCS=n, THRUM_POLLER=io_uring or usual, and
  /// THRUM_DEBUG=key=value,... with the keys schedtrace (milliseconds), scheddetail (0 or 1),
  /// asyncpreemptoff (0 or 1), crash (0 or 1), dump (0 or 1), blocked (seconds), hogs (time slices), timerslack
  /// (microseconds), migrate (0 or 1) and lines (0 or 1: whether reports name files and lines, which holds
  /// for the process and has no option). In programs compiled with THRUM_TRACE=1 also trace (a file), flight
  /// (a file) and late (milliseconds), which have no option either. Every
  /// runtime reads THRUM_DEBUG, however it was made: what is set there overrules its options. What is
  /// not understood is ignored, and said on standard error once.
  static options from_environment();
};

namespace go_detail {

/// Reads the environment, and says in the end what of it was not understood: the first time that
/// there is something.
class environment_reader {
 public:
  environment_reader() = default;
  environment_reader(const environment_reader&) = delete;
  environment_reader& operator=(const environment_reader&) = delete;
  ~environment_reader();

  /// What THRUM_MAXPROCS says; 0: nothing.
  unsigned procs();

  /// Changes what THRUM_DEBUG names.
  void debug(options& to);

  /// Changes what THRUM_POLLER names.
  void poller(options& to);

  /// What THRUM_DEBUG says of a key whose value is a text; empty: nothing.
  static std::string_view text_of(std::string_view key) noexcept;
  /// Likewise of a number; 0: nothing.
  static unsigned number_of(std::string_view key) noexcept {
    unsigned value = 0;
    return parse(text_of(key), value) ? value : 0;
  }

 private:
  static bool parse(std::string_view text, unsigned& value) noexcept;

  /// The first item of THRUM_DEBUG, and its end.
  static std::string_view take_item(std::string_view& rest) noexcept;

  [[gnu::cold]] void apply(std::string_view item, options& to);

  [[gnu::cold]] void complain(std::initializer_list<std::string_view> words);

  std::string complaints_;
};

}  // namespace go_detail

}}  // namespace thrum::THRUM_ABI

#if THRUM_BODIES
#include <thrum/detail/base/append.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/sched/core/traits.hpp>

#include <climits>
#include <cstdlib>

namespace thrum { inline namespace THRUM_ABI {

namespace go_detail {

/// A key of THRUM_DEBUG.
struct debug_key {
  std::string_view name;
  std::string_view wants;
  void (*set)(options& to, unsigned value);
};

/// The keys for <thrum/trace.hpp>, which read their values themselves.
inline constexpr std::string_view trace_keys[] = {"trace", "flight", "late"};

inline constexpr debug_key debug_keys[] = {
    {"schedtrace", "milliseconds",
     [](options& to, unsigned value) { to.schedtrace = std::chrono::milliseconds(value); }},
    {"scheddetail", "0 or 1", [](options& to, unsigned value) { to.scheddetail = value != 0; }},
    {"crash", "0 or 1", [](options& to, unsigned value) { to.crash_report = value != 0; }},
    {"dump", "0 or 1", [](options& to, unsigned value) { to.dump_on_quit = value != 0; }},
    {"blocked", "seconds",
     [](options& to, unsigned value) { to.report_blocked = std::chrono::seconds(value); }},
    {"hogs", "a number of time slices",
     [](options& to, unsigned value) { to.report_hogs = value; }},
    {"timerslack", "microseconds",
     [](options& to, unsigned value) { to.timer_slack = std::chrono::microseconds(value); }},
    {"migrate", "0 or 1", [](options& to, unsigned value) { to.migrate = value != 0; }},
    {"lines", "0 or 1", [](options&, unsigned value) { os::wants_source_lines.set(value != 0); }},
    {"asyncpreemptoff", "0 or 1",
     [](options& to, unsigned value) {
       if (value != 0 && to.preempt == preemption::async) {
         to.preempt = preemption::cooperative;
       }
     }},
};

THRUM_OUT_OF_LINE environment_reader::~environment_reader() {
  static constinit base::hint<bool> said{false};
  if (!complaints_.empty() && !said.swap(true)) {
    base::write_error(complaints_);
  }
}

THRUM_OUT_OF_LINE unsigned environment_reader::procs() {
  const char* const text = std::getenv("THRUM_MAXPROCS");
  if (text == nullptr || *text == '\0') {
    return 0;
  }
  unsigned n = 0;
  if (!parse(text, n)) {
    complain({"THRUM_MAXPROCS wants a number of processors, not '", text, "'; it is ignored"});
    return 0;
  }
  constexpr unsigned most = sched::traits::max_procs;
  if (n > most) {
    complain({"THRUM_MAXPROCS=", text, ": no more than ", base::digits(most).view(),
              " processors are used"});
    return most;
  }
  return n;
}

THRUM_OUT_OF_LINE std::string_view environment_reader::take_item(std::string_view& rest) noexcept {
  const std::string_view item = rest.substr(0, rest.find(','));
  rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
  return item;
}

THRUM_OUT_OF_LINE void environment_reader::debug(options& to) {
  const char* const text = std::getenv("THRUM_DEBUG");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    if (const std::string_view item = take_item(rest); !item.empty()) {
      apply(item, to);
    }
  }
}

THRUM_OUT_OF_LINE std::string_view environment_reader::text_of(std::string_view key) noexcept {
  const char* const text = std::getenv("THRUM_DEBUG");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view item = take_item(rest);
    if (item.size() > key.size() && item[key.size()] == '=' && item.starts_with(key)) {
      return item.substr(key.size() + 1);
    }
  }
  return {};
}

THRUM_OUT_OF_LINE void environment_reader::poller(options& to) {
  const char* const text = std::getenv("THRUM_POLLER");
  const std::string_view name = text == nullptr ? "" : text;
  if (name == "io_uring") {
    to.poller = poller_kind::io_uring;
  } else if (name == "usual") {
    to.poller = poller_kind::usual;
  } else if (!name.empty()) {
    complain({"THRUM_POLLER wants io_uring or usual, not '", name, "'; it is ignored"});
  }
}

THRUM_OUT_OF_LINE bool environment_reader::parse(std::string_view text, unsigned& value) noexcept {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return false;
    }
    number = number * 10 + static_cast<unsigned>(c - '0');
    if (number > UINT_MAX) {
      return false;
    }
  }
  value = static_cast<unsigned>(number);
  return !text.empty();
}

THRUM_COLD THRUM_OUT_OF_LINE void environment_reader::apply(std::string_view item, options& to) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  for (const debug_key& key : debug_keys) {
    if (key.name == name) {
      if (unsigned number = 0; parse(value, number)) {
        key.set(to, number);
      } else {
        complain(
            {"THRUM_DEBUG: ", name, " wants ", key.wants, ", not '", value, "'; it is ignored"});
      }
      return;
    }
  }
  for (const std::string_view key : trace_keys) {
    if (key == name) {
      if (THRUM_TRACE == 0) {
        complain({"THRUM_DEBUG: '", item,
                  "' is ignored: the scheduler tells nothing in this build; "
                  "compile every source file with -DTHRUM_TRACE=1"});
      } else if (unsigned number = 0; name == "late" ? !parse(value, number) : value.empty()) {
        complain({"THRUM_DEBUG: ", name, " wants ", name == "late" ? "milliseconds" : "a file",
                  ", not '", value, "'; it is ignored"});
      }
      return;
    }
  }
  std::string known;
  for (const debug_key& key : debug_keys) {
    base::append(known, {known.empty() ? "" : ", ", key.name});
  }
  complain({"THRUM_DEBUG: '", item, "' is ignored; known are ", known,
            ", each as key=number, and trace=file, flight=file, late=milliseconds"});
}

THRUM_COLD THRUM_OUT_OF_LINE void environment_reader::complain(
    std::initializer_list<std::string_view> words) {
  base::append(complaints_, {"thrum: "});
  base::append(complaints_, words);
  base::append(complaints_, {"\n"});
}

}  // namespace go_detail

THRUM_OUT_OF_LINE unsigned default_procs() noexcept { return os::available_processors(); }

THRUM_OUT_OF_LINE options options::from_environment() {
  options result;
  go_detail::environment_reader environment;
  result.procs = environment.procs();
  environment.debug(result);
  environment.poller(result);
  return result;
}

}}  // namespace thrum::THRUM_ABI
#endif

#endif
