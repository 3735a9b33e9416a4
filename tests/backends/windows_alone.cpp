// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What the suite does not try of Windows' layer, without the rest of the library: the switch on stacks that
// grow, an interruption on such a stack, a DLL with a copy of the layer, and the last output at exit. Exits
// with 0 if all of it did what tests/ports/system_contract.hpp and arch/contract.hpp say.
#include "../ports/chosen_threads.hpp"

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/fatal.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/processors.hpp>
#include <thrum/detail/os/windows/thread.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

// Of windows_library.cpp.
extern "C" __declspec(dllimport) const void* library_probe();
extern "C" __declspec(dllimport) void library_wake(std::atomic<std::uint32_t>* word);
extern "C" __declspec(dllimport) bool library_is_uninterrupted();

namespace {

namespace arch = thrum::arch;
namespace os = thrum::os;

/// The capabilities that chosen_threads does not ask for.
struct chosen_rest {
  using io_result = os::io_result;
  static constexpr int would_block = os::would_block;
  static constexpr int interrupted = os::interrupted;
  static constexpr int cancelled = os::cancelled;
  static constexpr int no_memory = os::no_memory;
  static constexpr int bad_handle = os::bad_handle;
  static constexpr int invalid = os::invalid;
  static constexpr int not_supported = os::not_supported;
  static constexpr int no_such_process = os::no_such_process;
  static constexpr int no_offsets = os::no_offsets;
  static constexpr int no_address = os::no_address;
  static constexpr int in_progress = os::in_progress;
  static constexpr int peer_reset = os::peer_reset;
  static constexpr int peer_refused = os::peer_refused;
  static constexpr int peer_silent = os::peer_silent;
  static constexpr int peer_closed = os::peer_closed;
  static constexpr int address_taken = os::address_taken;
  static constexpr int too_long = os::too_long;
  static constexpr int not_connected = os::not_connected;
  static constexpr int always_ready = os::always_ready;
  static constexpr int already_added = os::already_added;
  static constexpr int not_armed = os::not_armed;
  static constexpr auto out_of_handles = &os::out_of_handles;
  static constexpr auto error_code_of = &os::error_code_of;
  using handle = os::handle;
  static constexpr os::handle no_handle = os::no_handle;
  static constexpr auto is_handle = &os::is_handle;
  static constexpr auto handle_of = &os::handle_of;
  static constexpr auto number_of = &os::number_of;
  static constexpr auto available_processors = &os::available_processors;
};
static_assert(os::has_results<chosen_rest>);
static_assert(os::has_handles<chosen_rest>);
static_assert(os::has_processors<chosen_rest>);

struct probe {
  static constexpr std::string_view process_name = "tests::probe";
  std::atomic<int> word{0};
};

int failures = 0;
void check(bool right, const char* what) {
  if (!right) {
    std::printf("not so: %s\n", what);
    ++failures;
  }
}

/// Sooner or later, for twenty seconds.
template <class Condition>
bool comes_true(Condition condition) {
  for (int turn = 0; turn != 20'000; ++turn) {
    if (condition()) {
      return true;
    }
    os::sleep_ns(1'000'000);
  }
  return false;
}

// ---- the switch ----------------------------------------------------------------------------------

struct fibre {
  std::size_t bytes;
  char* low;
  void* own_sp = nullptr;
  void* resumer_sp = nullptr;
  os::exception_state exceptions{};
  void (*body)(fibre&);
  int result = 0;

  explicit fibre(void (*f)(fibre&), std::size_t size = std::size_t{256} * 1024)
      : bytes(size), low(static_cast<char*>(os::map_stacks(size, os::page_size()))), body(f) {
    void* const limit = os::open_stack(low + bytes);
    check(limit == low + bytes - os::page_size(), "a stack has a page at first");
    own_sp = arch::prepare_stack(low + bytes, {low, limit}, &entry, this);
  }
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;
  ~fibre() { os::unmap(low, bytes); }

  static void entry(void*, void* argument) {
    fibre& own = *static_cast<fibre*>(argument);
    own.body(own);
    own.yield();
    std::abort();
  }
  void yield() { arch::switch_stack_paired(&own_sp, resumer_sp, nullptr); }
  void resume() {
    os::exception_state* const live = os::thread_exception_state();
    os::exception_state mine;
    os::switch_exception_state(live, mine, exceptions);
    arch::switch_stack_paired(&resumer_sp, own_sp, nullptr);
    os::switch_exception_state(live, exceptions, mine);
  }
};

[[gnu::noinline]] int throw_below(int depth) {
  volatile char room[3000];
  room[0] = static_cast<char>(depth);
  if (depth == 0) {
    throw std::runtime_error("from below");
  }
  const int below = throw_below(depth - 1);
  return below + room[0];
}

void check_switch() {
  fibre grows([](fibre& own) {
    try {
      throw_below(40);
    } catch (const std::runtime_error& caught) {
      own.yield();
      own.result = caught.what() == std::string("from below") ? 1 : -1;
    }
  });
  grows.resume();
  os::thread other;
  check(os::thread::start(
            other,
            [](void* its) -> void* {
              static_cast<fibre*>(its)->resume();
              return nullptr;
            },
            &grows) == 0,
        "a thread is started");
  other.join();
  check(grows.result == 1,
        "a stack grows, and what is caught on it goes on with on another thread");

  void* as_parked = nullptr;
  int called = 0;
  arch::call_as_parked(
      &as_parked, [](void* to) { ++*static_cast<int*>(to); }, &called);
  check(called == 1 && as_parked != nullptr, "a call as if the stack were parked");

  static const void* seen;
  arch::observe_exception.store([](const void* thrown) noexcept { seen = thrown; },
                                std::memory_order_relaxed);  // relaxed: of this thread alone
  const void* caught_at = nullptr;
  try {
    arch::call_watched([](void*) { throw 7; }, nullptr);
  } catch (const int& caught) {
    caught_at = &caught;
    check(caught == 7, "an exception passes a call that is watched");
  }
  check(seen != nullptr && seen == caught_at, "and is shown where it lies");
  seen = nullptr;
  arch::call_watched([](void*) {}, nullptr);
  check(seen == nullptr, "nothing is shown of a call that returns");
}

// ---- interruptions -------------------------------------------------------------------------------

/// In a block in which it must not be, nobody is interrupted.
void check_uninterrupted() {
  struct in_block {
    os::thread_ref self;
    os::preempt_target target;
    os::note inside;
    std::atomic<bool> stays{true};
    int interrupted = 0;
  } one;
  one.target.argument = &one;
  one.target.interrupt = [](void* its) noexcept { ++static_cast<in_block*>(its)->interrupted; };
  os::thread other;
  check(os::thread::start(
            other,
            [](void* its) -> void* {
              auto& own = *static_cast<in_block*>(its);
              own.self.open();
              {
                const os::uninterrupted block;
                own.inside.wake();
                while (own.stays) {
                }
              }
              own.self.close();
              return nullptr;
            },
            &one) == 0,
        "a thread is started");
  one.inside.sleep();
  bool any = false;
  for (int i = 0; i != 200; ++i) {
    any |= one.self.interrupt(one.target);
  }
  one.stays = false;
  other.join();
  check(!any && one.interrupted == 0, "nobody is interrupted where it must not be");
}

/// A thread that computes on a stack of its own making, of which one page is there.
struct on_fibre {
  os::thread thread;
  os::thread_ref self;
  os::preempt_target target;
  os::note opened, reached, go_on;
  std::atomic<bool> stays{true};
  std::atomic<int> interrupted{0};
  std::size_t bytes;

  explicit on_fibre(std::size_t size) : bytes(size) {
    target.argument = this;
    target.interrupt = [](void* its) noexcept {
      auto& own = *static_cast<on_fibre*>(its);
      ++own.interrupted;
      own.reached.wake();
      own.go_on.sleep();
    };
    check(os::thread::start(thread, &main, this) == 0, "a thread is started");
    opened.sleep();
  }
  on_fibre(const on_fibre&) = delete;
  on_fibre& operator=(const on_fibre&) = delete;
  ~on_fibre() {
    stays = false;
    thread.join();
  }

  static inline thread_local on_fibre* of_thread;
  static void* main(void* argument) {
    auto& own = *static_cast<on_fibre*>(argument);
    of_thread = &own;
    own.self.open();
    fibre computes(
        [](fibre&) {
          of_thread->opened.wake();
          while (of_thread->stays) {
            os::light_fence();
          }
        },
        own.bytes);
    computes.resume();
    own.self.close();
    return nullptr;
  }
};

void check_interrupted_stacks() {
  on_fibre grows(std::size_t{256} * 1024);
  check(comes_true([&] { return grows.self.interrupt(grows.target); }),
        "a thread is interrupted on a stack that has yet to grow");
  grows.reached.sleep();
  check(comes_true([&] { return grows.self.look() == os::thread_look::in_system; }),
        "what it is made to call there may wait");
  check(!grows.self.interrupt(grows.target), "it is not interrupted twice at a time");
  grows.go_on.wake();
  check(comes_true([&] { return grows.self.interrupt(grows.target); }), "and then it is again");
  check(comes_true([&] { return grows.interrupted == 2; }), "and called again");

  on_fibre small(4 * os::page_size());
  bool any = false;
  for (int i = 0; i != 200; ++i) {
    any |= small.self.interrupt(small.target);
  }
  check(!any && small.interrupted == 0, "nobody is interrupted who has too little stack for it");
}

void check_library() {
  check(&os::process_wide<probe>::get() == library_probe(),
        "a library has the same object as the program");
  struct sleeping {
    std::atomic<std::uint32_t> word{0};
    os::thread_ref self;
    bool was_woken = false;
    bool was_seen = false;
    bool is_seen = true;
  } one;
  os::thread other;
  check(os::thread::start(
            other,
            [](void* its) -> void* {
              auto& own = *static_cast<sleeping*>(its);
              own.self.open();
              {
                const os::uninterrupted block;
                own.was_seen = library_is_uninterrupted();
              }
              own.is_seen = library_is_uninterrupted();
              own.was_woken = os::futex_wait(own.word, 0, 20'000'000'000);
              own.self.close();
              return nullptr;
            },
            &one) == 0,
        "a thread is started");
  check(comes_true([&] {
          library_wake(&one.word);
          return other.try_join();
        }),
        "what sleeps in the program is woken by a library");
  check(one.was_woken, "and not by the time");
  check(one.was_seen && !one.is_seen, "a library knows where a thread must not be interrupted");
}

}  // namespace

int main() {
  os::install_preempt_handler();
  const os::fence_kind kind = os::prepare_heavy_fence();
  check(kind == os::prepare_heavy_fence(), "a fence is of one kind");
  check_switch();
  check_uninterrupted();
  check_interrupted_stacks();
  check_library();
  constexpr char line[] = "a line on standard error\n";
  check(thrum::base::write_to_standard_error(line, sizeof line - 1) == sizeof line - 1,
        "standard error takes bytes");
  std::puts(failures == 0 ? "all but the exit is right" : "failed");
  os::register_exit_hook([](int status) noexcept {
    check(status == os::unknown_exit_status, "the hook is not told the status");
    std::fputs("what was written last is not lost\n", stdout);
    os::exit_now(failures);
  });
  os::this_threads_exit_watch().watch([](int) noexcept {});
  os::this_threads_exit_watch().forget();
  return 99;
}
