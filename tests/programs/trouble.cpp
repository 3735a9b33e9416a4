// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs whose runtime says something about them: faults, exit, dumps, detectors.

#include "programs/programs.hpp"
#include "support/dumped.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/watched_errors.hpp"

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
#include <thread>
#include <vector>

#if defined(_WIN32)
#include <thrum/detail/os/windows/api.hpp>
#else
#include <dlfcn.h>
#endif
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

[[noreturn]] void end_by_own_handler() {
  constexpr char text[] = "the program's own handler\n";
  if (::write(STDOUT_FILENO, text, sizeof text - 1) < 0) {
    std::abort();
  }
  std::_Exit(6);
}

int fault_elsewhere() {
#if defined(_WIN32)
  ::SetUnhandledExceptionFilter([](::EXCEPTION_POINTERS*) -> ::LONG { end_by_own_handler(); });
#else
  std::signal(SIGSEGV, [](int) { end_by_own_handler(); });
#endif
  return thrum::run([] {
    // Faults in a page that is never mapped; not at null, which a sanitizer sees for itself.
    thrum::go([] { *reinterpret_cast<volatile int*>(4096 | (::getpid() & 8)) = 1; });
    thrum::sleep_for(60s);
  });
}

/// What goroutines go on using while exit() runs.
std::vector<std::string> used_until_the_end;

/// The same, but made after the runtime. Where a C library destroys no thread-local objects for exit(), it is
/// destroyed before goroutines stand still (os/exit.hpp), so they have none there.
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

/// Whether a dump shows the functions of all that should stand still for it. An emulator hides them.
bool shows_functions(const std::string& dump) {
  const auto shows = [&](const char* name) { return dump.find(name) != std::string::npos; };
  return support::emulated() || (shows("wait_for_cheese") &&
                                 (!thrum::os::has_preempt_signal || shows("compute_for_ever")));
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
    // A goroutine whose thread gets no CPU in time is shown without its functions.
    std::string words;
    support::eventually([&] {
      words = support::dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
      return shows_functions(words);
    });
    std::fwrite(words.data(), 1, words.size(), stdout);
    stop = true;
    cheese.sender().close();
    group.wait();
    return 0;
  });
}

#if !defined(_WIN32)

int dump_on_quit() {
  std::signal(SIGQUIT, SIG_DFL);  // a shell lets what it starts in the background ignore it
  return thrum::run([] {
    const thrum::chan<int> cheese(0);
    thrum::go({.name = "mouse"}, [cheese] { wait_for_cheese(cheese); });
    wait_until_parked(1);
    {
      const support::watched_errors errors;
      std::raise(SIGQUIT);
      while (!errors.say("\"mouse\":\n")) {
        thrum::sleep_for(5ms);
      }
    }
    std::printf("still here\n");
    return 0;
  });
}

#endif

/// And lets it go.
void load_a_library() {
#if defined(_WIN32)
  if (const ::HMODULE library = ::LoadLibraryW(L"version.dll"); library != nullptr) {
    ::FreeLibrary(library);
  }
#else
  if (void* const library = ::dlopen("libm.so.6", RTLD_NOW)) {
    ::dlclose(library);
  }
#endif
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
        load_a_library();
      }
    });
    std::FILE* const nowhere = std::tmpfile();
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

/// Lives until the lines of figures show a goroutine that waits, and its thread.
int detail() {
  std::optional<support::watched_errors> errors;  // outlives the thread that writes there
  if (thrum::options::from_environment().schedtrace.count() != 0) {
    errors.emplace();
  }
  return thrum::run([&] {
    std::atomic<bool> stop{false};
    std::atomic<thrum::goroutine_id> locked{0};
    const thrum::chan<int> cheese(0);
    thrum::wait_group group;
    group.go([&] {
      const thrum::thread_lock lock;
      locked = thrum::this_goroutine::id();
      wait_for_cheese(cheese);
    });
    group.go([&] { compute_for_ever(stop); });
    thrum::sleep_for(600ms);
    if (errors) {
      support::eventually([&] {
        const std::string thread_asleep =
            ": p=nil curg=nil mallocing=0 throwing=0 preemptoff= locks=1 dying=0 spinning=false "
            "blocked=true lockedg=" +
            std::to_string(locked.load()) + "\n";
        return errors->say("\nSCHED ") && errors->say("(chan receive) m=nil lockedm=") &&
               errors->say(thread_asleep);
      });
    }
    stop = true;
    cheese.sender().close();
    group.wait();
    return 0;
  });
}

int blocked_for_long() {
  return thrum::run([] {
    const thrum::chan<int> cheese(0);
    const support::watched_errors errors;
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
    const support::watched_errors errors;
    std::atomic<bool> said{false};
    // On a thread of its own: a loop that reads files waits for them, and may lose its processor.
    std::thread reader([&] {
      while (!errors.say("has kept")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      said = true;
    });
    thrum::go([] {});
    while (!said) {
    }
    reader.join();
    return 0;
  });
}

const programs::entry trouble_entries[] = {
    {"panic_where", panic_where},
    {"panic_of_main", panic_of_main},
    {"caught_outside_of_run", caught_outside_of_run},
    {"fault_elsewhere", fault_elsewhere},
    {"exit_under_goroutines", exit_under_goroutines},
    {"dump", dump},
#if !defined(_WIN32)
    {"dump_on_quit", dump_on_quit},
#endif
    {"dump_beside_exceptions", dump_beside_exceptions},
    {"many_switches", many_switches},
    {"detail", detail},
    {"blocked_for_long", blocked_for_long},
    {"kept_for_long", kept_for_long},
};
const programs::group trouble_registered(trouble_entries);

}  // namespace
