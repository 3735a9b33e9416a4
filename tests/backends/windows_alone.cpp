// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What there is of Windows' layer, without the rest of the library: the switch on stacks that grow,
// memory, the clock, notes, threads, and how one is seen and interrupted by another. Exits with 0 if
// all of it did what os/contract.hpp and arch/contract.hpp say.
#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/base/stderr.hpp>
#include <thrum/detail/os/chosen_threads.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/windows/processors.hpp>
#include <thrum/detail/os/windows/uninterrupted.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

// ---- memory and the switch -----------------------------------------------------------------------

void check_memory() {
  const std::size_t page = os::page_size();
  auto* const plain = static_cast<char*>(os::map(4 * page));
  check(plain != nullptr && plain[0] == 0 && plain[4 * page - 1] == 0, "new memory is zeros");
  plain[page] = 1;
  os::discard_now(plain + page, page);
  check(plain[page] == 0, "what is discarded at once reads as zero");
  check(os::install_guard(plain, page) == os::guard_kind::mprotect, "a guard is made");
  plain[2 * page] = 1;
  os::unmap(plain + 3 * page, page);
  check(plain[2 * page] == 1, "a part is given back alone");
  os::unmap(plain, 4 * page);
  check(os::map(std::size_t{1} << 60) == nullptr, "where there is no memory there is none");
  const std::size_t size = std::size_t{1} << 20;
  void* const slab = os::map_stacks(size, size);
  check(slab != nullptr && reinterpret_cast<std::uintptr_t>(slab) % size == 0, "a slab is aligned");
  os::unmap(slab, size);
}

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

// ---- notes ---------------------------------------------------------------------------------------

void check_notes() {
  const std::int64_t before = os::now();
  os::note never;
  check(!never.sleep_for(3'000'000), "nobody wakes it");
  check(os::now() - before >= 3'000'000, "a sleep lasts");
  constexpr int rounds = 2'000;
  struct game {
    os::note ball[2];
    int played = 0;
  } one;
  const auto player = [](void* its) -> void* {
    auto& own = *static_cast<game*>(its);
    for (int i = 0; i != rounds; ++i) {
      own.ball[0].sleep();
      own.ball[0].clear();
      ++own.played;
      own.ball[1].wake();
    }
    return nullptr;
  };
  os::thread other;
  check(os::thread::start(other, player, &one) == 0, "a thread is started");
  for (int i = 0; i != rounds; ++i) {
    one.ball[0].wake();
    one.ball[1].sleep();
    one.ball[1].clear();
  }
  other.join();
  check(one.played == rounds, "a note is not lost");

  // More than events are kept for.
  struct crowd {
    os::note signal;
    std::atomic<int> woken{0};
  } all;
  std::vector<os::thread> threads(12);
  for (os::thread& each : threads) {
    check(os::thread::start(
              each,
              [](void* its) -> void* {
                auto& own = *static_cast<crowd*>(its);
                own.signal.sleep();
                own.woken.fetch_add(1, std::memory_order_relaxed);  // relaxed: joined before read
                return nullptr;
              },
              &all) == 0,
          "a thread is started");
  }
  os::sleep_ns(20'000'000);
  all.signal.wake();
  for (os::thread& each : threads) {
    each.join();
  }
  check(all.woken.load(std::memory_order_relaxed) == 12,
        "a note wakes all who sleep");  // relaxed: joined all
  std::atomic<std::uint32_t> word{5};
  check(os::futex_wait(word, 4, -1), "nobody sleeps on a word that has changed");
  check(!os::futex_wait(word, 5, 2'000'000), "a sleep on a word has an end");
}

// ---- threads -------------------------------------------------------------------------------------

struct worker {
  os::thread thread;
  os::thread_ref self;
  os::preempt_target target;
  os::note opened, order, ended;
  std::atomic<int> kind{0};
  std::atomic<int> interrupted{0};
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> rounds{0};
  std::uint64_t number = 0;

  static double sum() {
    double result = 0;
    for (int i = 1; i != 20'000; ++i) {
      result += 1.0 / i;
    }
    return result;
  }
  static std::uint64_t mix() {
    std::uint64_t result = 1;
    for (unsigned i = 1; i != 20'000; ++i) {
      result = result * 6364136223846793005U + i;
      result ^= result >> 29;
    }
    return result;
  }

  static void* main(void* argument) {
    worker& own = *static_cast<worker*>(argument);
    os::set_thread_name("worker");
    own.number = os::thread_id();
    own.self.open();
    own.target.argument = &own;
    own.target.interrupt = [](void* its) noexcept {
      worker& here = *static_cast<worker*>(its);
      if (here.self.is_calling_thread() && here.target.context != nullptr) {
        volatile double spoilt = 3;  // registers that the interrupted code has in use
        for (int i = 0; i != 100; ++i) {
          spoilt = spoilt * 1.25;
        }
        ++here.interrupted;
      }
    };
    const double right_sum = sum();
    const std::uint64_t right_mix = mix();
    own.opened.wake();
    for (int now = 0; (now = own.kind) != 4; ++own.rounds) {
      switch (now) {
        case 0: own.wrong += sum() != right_sum || mix() != right_mix; break;
        case 1: {
          std::vector<std::string> texts;
          for (unsigned i = 0; i != 100; ++i) {
            texts.push_back(std::string(20 + i, 'x'));
          }
          own.wrong += texts.back().size() != 119;
          break;
        }
        case 2: try { throw std::runtime_error("thrown");
          } catch (const std::runtime_error& caught) {
            own.wrong += caught.what()[0] != 't';
          }
          break;
        default: {
          const os::uninterrupted block;
          own.wrong += sum() != right_sum;
        }
      }
    }
    own.order.sleep();
    own.self.close();
    own.ended.wake();
    return nullptr;
  }

  /// Until it has been interrupted so often where it does that.
  bool is_interrupted(int what, int times) {
    kind = what;
    const int wanted = interrupted + times;
    return comes_true([&] {
      self.interrupt(target);
      return interrupted >= wanted;
    });
  }
};

void check_threads() {
  worker w;
  check(os::thread::start(w.thread, &worker::main, &w) == 0, "a thread is started");
  w.opened.sleep();
  check(w.number != os::thread_id(), "threads have numbers of their own");
  check(!w.self.is_calling_thread(), "the reference is the other thread's");
  check(comes_true([&] { return w.self.cpu_now() > 0; }), "its CPU time grows");
  check(comes_true([&] { return w.self.look() == os::thread_look::computes; }),
        "it is seen to compute");
  os::heavy_fence();
  os::heavy_fence_for(w.self);
  check(w.is_interrupted(0, 200), "it is interrupted where it computes");
  check(w.is_interrupted(1, 20), "it is interrupted where it allocates");
  check(w.is_interrupted(2, 20), "it is interrupted where it throws");
  w.kind = 3;
  const std::uint64_t begun = w.rounds;
  check(comes_true([&] { return w.rounds > begun + 1; }), "it goes on");
  check(!w.thread.try_join(), "it runs");
  w.kind = 4;
  check(comes_true([&] { return w.self.look() == os::thread_look::in_system; }),
        "it is seen to sleep");
  const int before = w.interrupted;
  for (int i = 0; i != 50; ++i) {
    check(!w.self.interrupt(w.target), "it is not interrupted where it sleeps");
  }
  check(!w.ended.sleep_for(1'000'000), "a look has not ended its sleep");
  check(w.interrupted == before, "nothing was called");
  w.order.wake();
  w.ended.sleep();
  check(comes_true([&] { return w.thread.try_join(); }), "it ends");
  check(!w.self.interrupt(w.target), "a thread that has ended is not interrupted");
  check(w.self.look() == os::thread_look::in_system, "nor seen to compute");
  check(w.self.cpu_now() == 0, "and has no CPU time");
  check(w.wrong == 0, "what was interrupted has computed as ever");

  static std::atomic<bool> detached{false};
  check(os::start_detached_thread(
            [](void*) -> void* {
              detached = true;
              return nullptr;
            },
            nullptr) == 0,
        "a thread that nobody joins is started");
  check(comes_true([] { return detached.load(); }), "it runs");
  const os::thread_key key;
  check(key.get() == nullptr, "a word is null at first");
  key.set(&w);
  check(key.get() == &w, "and then what it was set to");
  os::yield_thread();
  os::ask_for_short_waits();
  check(os::available_processors() >= 1, "there is a processor");
  check(os::current_cpu() < 64 * 64, "a thread runs on one");
}

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

void check_results() {
  check(os::error_code_of(-10061) == std::errc::connection_refused,
        "an error of a socket means what the standard says");
  check(os::error_code_of(-2) == std::errc::no_such_file_or_directory &&
            os::error_code_of(os::cancelled) == std::errc::operation_canceled &&
            !os::error_code_of(-2).message().empty(),
        "and one of a file");
  check(!os::error_code_of(5), "a count is no error");
  check(os::out_of_handles(os::no_memory) && !os::out_of_handles(os::would_block),
        "too many handles are told from others");
  check(os::is_handle(8) && !os::is_handle(os::no_handle) && os::number_of(8) == 2,
        "handles have small numbers");
}

}  // namespace

int main() {
  os::install_preempt_handler();
  const os::fence_kind kind = os::prepare_heavy_fence();
  check(kind == os::prepare_heavy_fence(), "a fence is of one kind");
  check_memory();
  check_switch();
  check_notes();
  check_threads();
  check_uninterrupted();
  check_interrupted_stacks();
  check_library();
  check_results();
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
