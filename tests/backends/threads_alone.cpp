// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a system's layer has for threads, without the rest of the library: one is started, named, seen,
// interrupted where it computes and where it sleeps, and joined; notes, fences and memory are used.
// Exits with 0 if all of it did what tests/ports/system_contract.hpp says.
#include <thrum/detail/os/exit.hpp>
#include <thrum/detail/os/memory_parts.hpp>
#include <thrum/detail/os/posix/caught_signals.hpp>
#include <thrum/detail/os/posix/fault.hpp>
#include <thrum/detail/os/thread_parts.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include <signal.h>

namespace {

namespace os = thrum::os;

int failures = 0;
void check(bool right, const char* what) {
  if (!right) {
    std::printf("not so: %s\n", what);
    ++failures;
  }
}

struct worker {
  os::thread thread;
  os::thread_ref self;
  os::preempt_target target;
  os::signal_stack stack;
  os::note opened, ended, order;
  std::atomic<bool> computes{true};
  std::atomic<int> interrupted{0};
  std::uint64_t number = 0;

  static void* main(void* argument) {
    worker& own = *static_cast<worker*>(argument);
    os::set_thread_name("worker");
    own.number = os::thread_id();
    own.self.open();
    own.target.argument = &own;
    own.target.interrupt = [](void* its) noexcept {
      worker& here = *static_cast<worker*>(its);
      if (here.self.is_calling_thread()) {
        ++here.interrupted;
      }
    };
    own.stack.open(own.target);
    own.opened.wake();
    while (own.computes) {
      os::light_fence();
    }
    own.order.sleep();
    own.self.close();
    own.stack.close();
    own.ended.wake();
    return nullptr;
  }
};

/// Sooner or later, for ten seconds.
template <class Condition>
bool comes_true(Condition condition) {
  for (int turn = 0; turn != 10'000; ++turn) {
    if (condition()) {
      return true;
    }
    os::sleep_ns(1'000'000);
  }
  return false;
}

bool is_or_unknown(os::thread_look seen, os::thread_look wanted) {
  return seen == wanted || seen == os::thread_look::unknown;
}

void check_memory() {
  const std::size_t page = os::page_size();
  const std::size_t size = 16 * page;
  auto* const slab = static_cast<char*>(os::map_stacks(size, size));
  check(slab != nullptr && reinterpret_cast<std::uintptr_t>(slab) % size == 0, "a slab is aligned");
  slab[size - 1] = 1;
  os::discard_now(slab + size - page, page);
  check(slab[size - 1] == 0, "what is discarded at once reads as zero");
  const os::guard_kind guard = os::install_guard(slab, page);
  slab[page] = 1;
  os::unmap(slab, size);
  os::return_guard_budget(guard == os::guard_kind::mprotect ? 1 : 0);
}

void check_signals() {
  check(os::caught_signals::install(SIGUSR1) >= 0, "a signal is caught");
  ::raise(SIGUSR1);
  os::caught_signals::sleep(-1);
  check(os::caught_signals::take() == os::caught_signals::bit(SIGUSR1), "and is kept");
  os::caught_signals::remove(SIGUSR1);
  int asked = 0;
  check(os::quit_listener::open([](void* to) noexcept { ++*static_cast<int*>(to); }, &asked),
        "somebody listens to SIGQUIT");
  ::raise(SIGQUIT);
  check(asked == 1, "and hears of it");
  os::quit_listener::close(&asked);
}

}  // namespace

int main() {
  os::prepare_heavy_fence();
  os::install_preempt_handler();
  check_memory();
  check_signals();
  os::install_fault_observer([](const os::fault&) noexcept {}, os::fault_kinds::memory);
  worker w;
  check(w.stack.reserve(), "there is memory for a signal stack");
  check(os::thread::start(w.thread, &worker::main, &w) == 0, "a thread is started");
  w.opened.sleep();
  check(w.number != os::thread_id(), "threads have numbers of their own");
  check(!w.self.is_calling_thread(), "the reference is the other thread's");
  check(comes_true([&] { return w.self.cpu_now() > 1'000'000; }), "its CPU time grows");
  check(comes_true([&] { return is_or_unknown(w.self.look(), os::thread_look::computes); }),
        "it is seen to compute");
  os::heavy_fence();
  os::heavy_fence_for(w.self);
  check(w.self.interrupt(w.target), "a signal is sent to it");
  check(comes_true([&] { return w.interrupted == 1; }), "it is interrupted where it computes");
  check(!w.thread.try_join(), "it runs");
  w.computes = false;
  check(comes_true([&] { return is_or_unknown(w.self.look(), os::thread_look::in_system); }),
        "it is seen to sleep");
  check(w.self.interrupt(w.target), "a signal is sent to it once more");
  check(comes_true([&] { return w.interrupted == 2; }), "it is interrupted where it sleeps");
  check(!w.ended.sleep_for(1'000'000), "the signal has not ended its sleep");
  w.order.wake();
  w.ended.sleep();
  check(comes_true([&] { return w.thread.try_join(); }), "it ends");
  check(!w.self.interrupt(w.target), "a thread that has ended is not interrupted");
  const std::int64_t before = os::now();
  os::note never;
  check(!never.sleep_for(2'000'000), "nobody wakes it");
  check(os::now() - before >= 2'000'000, "a sleep lasts");
  os::yield_thread();
  std::puts(failures == 0 ? "all but the exit is right" : "failed");
  os::register_exit_hook([](int status) noexcept {
    check(status == failures || status == os::unknown_exit_status, "the hook is told the status");
    os::let_exit_pass_standard_input();
    os::exit_now(failures);
  });
  os::this_threads_exit_watch().watch([](int) noexcept {});
  os::this_threads_exit_watch().forget();
  return failures;
}
