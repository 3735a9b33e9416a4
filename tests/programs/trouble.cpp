// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose runtime says something about them: overflow, faults, exit, fork, dumps, detectors.

#include "programs/programs.hpp"
#include "support/process.hpp"

#include <thrum.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

[[gnu::noinline]] void wait_for_cheese(const thrum::chan<int>& cheese) {
  cheese.recv();
  asm volatile("");
}

[[gnu::noinline]] void compute_for_ever(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    if (THRUM_TSAN) {  // it keeps signals back
      thrum::this_goroutine::preemption_point();
    }
  }
}

/// Standard error goes to a file without a name until the end, so that a program can wait for what is
/// written there instead of for some time.
class watched_errors {
 public:
  watched_errors() noexcept
      : before_(::dup(STDERR_FILENO)), stream_(std::tmpfile()), file_(::fileno(stream_)) {
    ::dup2(file_, STDERR_FILENO);
  }
  ~watched_errors() {
    ::dup2(before_, STDERR_FILENO);
    const std::string all = text();
    std::fwrite(all.data(), 1, all.size(), stderr);
    std::fclose(stream_);
    ::close(before_);
  }
  watched_errors(const watched_errors&) = delete;
  watched_errors& operator=(const watched_errors&) = delete;

  bool say(std::string_view words) const { return text().find(words) != std::string::npos; }

 private:
  std::string text() const {
    std::string all;
    char part[4096];
    for (::ssize_t n = 0;
         (n = ::pread(file_, part, sizeof part, static_cast<::off_t>(all.size()))) > 0;) {
      all.append(part, static_cast<std::size_t>(n));
    }
    return all;
  }

  const int before_;
  std::FILE* const stream_;
  const int file_;
};

/// Blocks the goroutine until that many are parked.
void wait_until_parked(std::uint64_t n) {
  while (thrum::stats().waiting < n) {
    thrum::sleep_for(1ms);
  }
}

[[gnu::noinline]] void throw_deep_inside() { throw std::out_of_range("no such cheese"); }

int panic_where() {
  return thrum::run([] {
    thrum::go([] {
      throw_deep_inside();
      asm volatile("");
    });
    thrum::sleep_for(60s);
  });
}

int panic_of_main() {
  return thrum::run([] {
    throw_deep_inside();
    asm volatile("");
  });
}

int caught_outside_of_run() {
  try {
    thrum::run([] { throw_deep_inside(); });
  } catch (const std::out_of_range& error) {
    std::printf("caught: %s\n", error.what());
  }
  return 0;
}

int fault_elsewhere() {
  std::signal(SIGSEGV, [](int) {
    constexpr char text[] = "the program's own handler\n";
    if (::write(STDOUT_FILENO, text, sizeof text - 1) < 0) {
      std::abort();
    }
    std::_Exit(5);
  });
  return thrum::run([] {
    // Faults in a page that is never mapped; not at null, which a sanitizer sees for itself.
    thrum::go([] { *reinterpret_cast<volatile int*>(4096 | (::getpid() & 8)) = 1; });
    thrum::sleep_for(60s);
  });
}

/// What goroutines go on using while exit() runs.
std::vector<std::string> used_until_the_end;

/// The same, but made after the runtime. Where a C library destroys no thread-local objects for exit(), it is
/// destroyed before goroutines stand still (os/posix/exit.hpp), so they have none there.
std::size_t use_what_was_made_later([[maybe_unused]] std::size_t i) {
#if defined(__GLIBC__)
  static std::vector<std::string> made_later(1000, std::string(50, 'y'));
  return made_later.at(i).size();
#else
  return 0;
#endif
}

int exit_under_goroutines() {
  used_until_the_end.assign(1000, std::string(100, 'x'));
  return thrum::run([] {
    for (int i = 0; i != 4; ++i) {
      thrum::go([] {
        for (std::size_t sum = 0;; sum += used_until_the_end.at(sum % 1000).size()) {
          sum += use_what_was_made_later(sum % 1000);
          if (THRUM_TSAN) {
            thrum::this_goroutine::preemption_point();
          }
        }
      });
    }
    thrum::sleep_for(3ms);
    std::printf("written before the exit");
    std::exit(3);
  });
}

int fork_and_use() {
  return thrum::run([] {
    const ::pid_t child = ::fork();
    if (child == 0) {
      thrum::go([] {});
      std::_Exit(0);
    }
    int status = 0;
    thrum::blocking([&] { return ::waitpid(child, &status, 0); });
    std::printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
  });
}

int fork_and_exec() {
  thrum::options options = thrum::options::from_environment();
  options.time_slice = 200us;
  return thrum::run(options, [] {
    std::atomic<bool> stop{false};
    thrum::wait_group group;
    for (int i = 0; i != 4; ++i) {
      group.go([&] { compute_for_ever(stop); });
    }
    int good = 0;
    for (int i = 0; i != 20; ++i) {
      const ::pid_t child = ::fork();
      if (child == 0) {
        ::execl("/bin/true", "true", static_cast<char*>(nullptr));
        std::_Exit(1);
      }
      int status = 1;
      thrum::blocking([&] { return ::waitpid(child, &status, 0); });
      good += status == 0;
    }
    stop = true;
    group.wait();
    std::printf("good %d\n", good);
    return 0;
  });
}

int dump() {
  return thrum::run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> named{0};
    const thrum::chan<int> cheese(0);
    thrum::wait_group group;
    group.go([&] {
      thrum::this_goroutine::name("mouse");
      ++named;
      wait_for_cheese(cheese);
    });
    group.go([&] {
      thrum::this_goroutine::name("miller");
      const thrum::thread_lock lock;
      ++named;
      compute_for_ever(stop);
    });
    while (named != 2) {
      thrum::sleep_for(1ms);
    }
    wait_until_parked(1);
    thrum::sleep_for(10ms);  // the mouse waits for some time
    thrum::dump_goroutines(stdout);
    stop = true;
    cheese.sender().close();
    group.wait();
    return 0;
  });
}

int dump_on_quit() {
  return thrum::run([] {
    const thrum::chan<int> cheese(0);
    thrum::go({.name = "mouse"}, [cheese] { wait_for_cheese(cheese); });
    wait_until_parked(1);
    {
      const watched_errors errors;
      std::raise(SIGQUIT);
      while (!errors.say("\"mouse\":\n")) {
        thrum::sleep_for(5ms);
      }
    }
    std::printf("still here\n");
    return 0;
  });
}

/// Dumps beside goroutines that are interrupted in the middle of an exception, and in the loader.
int dump_beside_exceptions() {
  thrum::options options = thrum::options::from_environment();
  options.time_slice = 1ms;
  return thrum::run(options, [] {
    std::atomic<bool> stop{false};
    std::atomic<int> caught{0};
    thrum::wait_group group;
    for (int i = 0; i != 2; ++i) {
      group.go([&] {
        while (!stop) {
          try {
            throw_deep_inside();
          } catch (const std::out_of_range&) {
            ++caught;
          }
          if (THRUM_TSAN) {
            thrum::this_goroutine::preemption_point();
          }
        }
      });
    }
    group.go([&] {
      while (!stop) {
        if (void* const library = ::dlopen("libm.so.6", RTLD_NOW)) {
          ::dlclose(library);
        }
      }
    });
    std::FILE* const nowhere = std::fopen("/dev/null", "w");
    for (int i = 0; i < 50 || caught < 100; ++i) {
      thrum::dump_goroutines(nowhere);
    }
    std::fclose(nowhere);
    stop = true;
    group.wait();
    std::printf("goes on\n");
    return 0;
  });
}

/// For a tool that looks at each access to memory.
int many_switches() {
  return thrum::run([] {
    const thrum::chan<std::string> words(1);
    thrum::wait_group group;
    for (int i = 0; i != 10; ++i) {
      group.go([&] {
        for (int n = 0; n != 5; ++n) {
          words.send(std::string(40, 'x'));
        }
      });
    }
    thrum::go([&] {
      group.wait();
      words.sender().close();
    });
    std::size_t bytes = 0;
    while (const std::optional<std::string> word = words.recv()) {
      bytes += word->size();
    }
    std::printf("received %zu bytes\n", bytes);
    return 0;
  });
}

int detail() {
  return thrum::run([] {
    std::atomic<bool> stop{false};
    const thrum::chan<int> cheese(0);
    thrum::wait_group group;
    group.go([&] {
      const thrum::thread_lock lock;
      wait_for_cheese(cheese);
    });
    group.go([&] { compute_for_ever(stop); });
    thrum::sleep_for(600ms);
    stop = true;
    cheese.sender().close();
    group.wait();
    return 0;
  });
}

int blocked_for_long() {
  return thrum::run([] {
    const thrum::chan<int> cheese(0);
    const watched_errors errors;
    thrum::go({.name = "mouse"}, [cheese] { wait_for_cheese(cheese); });
    while (!errors.say("has been blocked")) {
      thrum::sleep_for(5ms);
    }
    thrum::sleep_for(600ms);  // two more looks
    return 0;
  });
}

int kept_for_long() {
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  options.preempt = thrum::preemption::cooperative;
  return thrum::run(options, [] {
    thrum::this_goroutine::name("hog");
    thrum::go([] {});
    const watched_errors errors;
    while (!errors.say("has kept")) {
    }
    return 0;
  });
}

int out_of_stacks() {
  return thrum::run([] {
    ::rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    const ::rlimit tight{std::size_t{2} << 30, limit.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
    bool refused = false;
    thrum::chan<void> end(0);
    thrum::wait_group group;
    for (int i = 0; i != 20'000 && !refused; ++i) {
      try {
        group.go([&] { end.recv(); });
      } catch (const std::system_error& error) {
        std::printf("refused: %s\n", error.what());
        refused = true;
      }
    }
    end.close();
    group.wait();
    auto other = thrum::spawn([] { return 7; });
    std::printf("others run: %d\n", other.join());
    return 0;
  });
}

/// No thread can be made any more: there is no address space for its stack. Returns the old limit.
/// What others map at this moment may come between the look and the limit; then it is done again,
/// for the limit would be less than what is in use and refuse the smallest piece of memory.
::rlimit refuse_threads() {
  constexpr std::size_t less_than_a_stack = std::size_t{4} << 20;
  ::rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  std::size_t seen = 0;
  do {
    seen = support::address_space_bytes();
    const ::rlimit tight{static_cast<::rlim_t>(seen + less_than_a_stack), before.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
  } while (support::address_space_bytes() > seen);
  return before;
}

/// More loops than the system gives threads, and one that sleeps.
int loops_beside_refused_threads() {
  thrum::options options;
  options.procs = 2;
  options.time_slice = 1ms;
  return thrum::run(options, [] {
    {
      thrum::wait_group group;
      for (int i = 0; i != 5; ++i) {  // threads, and stacks, that are there when memory is not
        group.go([] { thrum::blocking([] { ::usleep(20'000); }); });
      }
      for (int i = 0; i != 64; ++i) {
        group.go([] { thrum::sleep_for(1ms); });
      }
      group.wait();
    }
    refuse_threads();
    {
      thrum::wait_group group;
      for (int i = 0; i != 12; ++i) {  // more than there are threads: the runtime learns of it
        group.go([] { thrum::blocking([] { ::usleep(20'000); }); });
      }
      group.wait();
    }
    ::alarm(100);
    static std::atomic<bool> stop{false};
    for (int i = 0; i != 12; ++i) {
      thrum::go([] {
        while (!stop.load(std::memory_order_relaxed)) {
        }
      });
    }
    for (int i = 0; i != 20; ++i) {
      thrum::sleep_for(5ms);
    }
    std::printf("slept\n");
    stop = true;
    return 0;
  });
}

int refused_threads() {
  return thrum::run([] {
    thrum::chan<int> results(64);
    {
      thrum::wait_group group;
      for (int i = 0; i != 64; ++i) {  // their stacks are there when memory is not
        group.go([] { thrum::sleep_for(1ms); });
      }
      group.wait();
    }
    thrum::runtime::current()->procs(8);
    const ::rlimit before = refuse_threads();
    thrum::wait_group group;
    for (int i = 0; i != 32; ++i) {
      group.go([&] {
        for (int turn = 0; turn != 100; ++turn) {
          thrum::this_goroutine::yield();
        }
        thrum::sleep_for(1ms);
        thrum::blocking([] { ::usleep(2'000); });
        results.send(1);
      });
    }
    group.wait();
    int sum = 0;
    for (int i = 0; i != 32; ++i) {
      sum += *results.recv();
    }
    std::printf("ended: %d\n", sum);
    const unsigned few = thrum::stats().threads;
    ::setrlimit(RLIMIT_AS, &before);
    for (int i = 0; i != 8; ++i) {
      group.go([] { thrum::blocking([] { ::usleep(300'000); }); });
    }
    group.wait();
    std::printf("more threads later: %s\n", thrum::stats().threads > few ? "yes" : "no");
    return 0;
  });
}

/// The same, and the only thread sleeps for a goroutine that is locked to it.
int refused_threads_of_locked() {
  thrum::options one = thrum::options::from_environment();
  one.procs = 1;
  return thrum::run(one, [] {
    const ::rlimit before = refuse_threads();
    const thrum::thread_lock lock;
    for (int i = 0; i != 5; ++i) {
      thrum::sleep_for(10ms);
    }
    std::puts("slept");
    ::setrlimit(RLIMIT_AS, &before);
    return 0;
  });
}

const programs::entry trouble_entries[] = {
    {"panic_where", panic_where},
    {"panic_of_main", panic_of_main},
    {"caught_outside_of_run", caught_outside_of_run},
    {"fault_elsewhere", fault_elsewhere},
    {"exit_under_goroutines", exit_under_goroutines},
    {"fork_and_use", fork_and_use},
    {"fork_and_exec", fork_and_exec},
    {"dump", dump},
    {"dump_on_quit", dump_on_quit},
    {"dump_beside_exceptions", dump_beside_exceptions},
    {"many_switches", many_switches},
    {"detail", detail},
    {"blocked_for_long", blocked_for_long},
    {"kept_for_long", kept_for_long},
    {"out_of_stacks", out_of_stacks},
    {"loops_beside_refused_threads", &loops_beside_refused_threads},
    {"refused_threads", refused_threads},
    {"refused_threads_of_locked", refused_threads_of_locked},
};
const programs::group trouble_registered(trouble_entries);

}  // namespace
