// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/fork_join.hpp>

#include "support/test.hpp"

#include <variant>

namespace {

int forked_fib(int n) {
  if (n < 2) {
    return n;
  }
  const auto [a, b] =
      thrum::fork_join([n] { return forked_fib(n - 1); }, [n] { return forked_fib(n - 2); });
  return a + b;
}

/// Lets others run now and then, so that halves are stolen also where there is one processor.
int yielding_fib(int n) {
  if (n < 2) {
    thrum::this_goroutine::yield();
    return n;
  }
  const auto [a, b] =
      thrum::fork_join([n] { return yielding_fib(n - 1); }, [n] { return yielding_fib(n - 2); });
  return a + b;
}

struct counted_alive {
  explicit counted_alive(std::atomic<int>& where) : alive(&where) { ++*alive; }
  counted_alive(counted_alive&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
  counted_alive& operator=(counted_alive&&) = delete;
  ~counted_alive() {
    if (alive != nullptr) {
      --*alive;
    }
  }
  std::atomic<int>* alive;
};

/// Waits in f for g, so that another goroutine must run g.
template <class G>
auto with_stolen(G g) {
  thrum::latch begun(1);
  return thrum::fork_join([&] { begun.wait(); },
                          [&]() -> std::invoke_result_t<G&> {
                            begun.count_down();
                            return g();
                          });
}

}  // namespace

IN_RUNTIME("fork_join runs both functions and returns both results") {
  CHECK(thrum::fork_join([] { return 1; }, [] { return std::string("two"); }) ==
        std::pair<int, std::string>(1, "two"));
  std::atomic<int> ran{0};  // both may run at a time
  const auto nothing = thrum::fork_join([&] { ran += 1; }, [&] { ran += 2; });
  static_assert(std::is_same_v<decltype(nothing), const std::pair<std::monostate, std::monostate>>);
  CHECK(ran == 3);
}

IN_RUNTIME("fork_join hands on references and results that can only be moved") {
  int value = 0;
  auto [reference, pointer] =
      thrum::fork_join([&]() -> int& { return value; }, [] { return std::make_unique<int>(5); });
  reference = 7;
  CHECK(value == 7);
  CHECK(*pointer == 5);
  auto stolen = with_stolen([&]() -> int& { return value; });
  stolen.second = 8;
  CHECK(value == 8);
  CHECK(*with_stolen([] { return std::make_unique<int>(6); }).second == 6);
}

IN_RUNTIME("forks nest, and each result is the sum of its parts") {
  CHECK(forked_fib(20) == 6765);
  CHECK(yielding_fib(12) == 144);
}

TEST_CASE("forks nest deeper than what a goroutine offers at a time") {
  struct chain {
    static int length(int n) {
      return n == 0 ? 0
                    : thrum::fork_join([n] { return length(n - 1); }, [] { return 1; }).first + 1;
    }
  };
  with_runtime([] { CHECK(chain::length(80) == 80); });
}

IN_RUNTIME("many goroutines may fork at a time") {
  std::atomic<int> right{0};
  thrum::wait_group group;
  for (int i = 0; i != 20; ++i) {
    group.go([&] { right += yielding_fib(8) == 21 ? 1 : 0; });
  }
  group.wait();
  CHECK(right == 20);
}

TEST_CASE("f may wait for g, on any number of processors") {
  for (const unsigned procs : {1U, 2U, 4U}) {
    with_runtime(with_procs(procs), [] {
      auto values = thrum::make_chan<int>();
      const auto [received, sent] = thrum::fork_join([&] { return values.recv().value_or(0); },
                                                     [&] {
                                                       values.send(42);
                                                       return true;
                                                     });
      CHECK(received == 42);
      CHECK(sent);
    });
  }
}

IN_RUNTIME("f may wait for g in a loop that gives way, where no processor is ever idle",
           with_procs(1)) {
  std::atomic<int> ended{0};
  const auto waits_for_second = [&](auto&& wait_again) {
    std::atomic<bool> ran{false};
    thrum::fork_join(
        [&] {
          wait_again();
          while (!ran) {
            thrum::this_goroutine::yield();
          }
        },
        [&] { ran = true; });
    ++ended;
  };
  // The outer halves wait for inner ones, so each needs a goroutine of its own in turn.
  waits_for_second([&] { waits_for_second([&] { waits_for_second([] {}); }); });
  CHECK(ended == 3);
}

TEST_CASE("f may wait for g in a call that blocks its thread") {
  for (const unsigned procs : {1U, 2U}) {
    with_runtime(with_procs(procs), [] {
      std::atomic<bool> ran{false};
      thrum::fork_join(
          [&] {
            thrum::blocking([&] {
              while (!ran) {
                std::this_thread::sleep_for(1ms);
              }
            });
          },
          [&] { ran = true; });
      CHECK(ran);
    });
  }
}

IN_RUNTIME("another processor takes g while f computes", with_procs(2)) {
  std::atomic<bool> ran{false};
  thrum::fork_join(
      [&] {
        while (!ran) {
        }
      },
      [&] { ran = true; });
  CHECK(ran);
}

IN_RUNTIME("a mutex that is held over a fork is wanted by no stranger that runs meanwhile") {
  thrum::mutex mutex;
  thrum::wait_group group;
  int turns = 0;
  for (int i = 0; i != 8; ++i) {
    group.go([&] {
      const std::lock_guard guard(mutex);
      yielding_fib(6);
      ++turns;
    });
  }
  group.wait();
  CHECK(turns == 8);
}

IN_RUNTIME("an exception of either function is thrown when both have ended") {
  std::atomic<int> ended{0};
  CHECK_THROWS_WITH(thrum::fork_join([] { throw std::runtime_error("f"); }, [&] { ++ended; }), "f");
  CHECK_THROWS_WITH(thrum::fork_join([&] { ++ended; }, [] { throw std::runtime_error("g"); }), "g");
  CHECK(ended == 2);
  CHECK_THROWS_WITH(thrum::fork_join([] { throw std::runtime_error("f"); },
                                     [] { throw std::runtime_error("g"); }),
                    "f");
}

IN_RUNTIME("an exception of a stolen g is thrown when both have ended") {
  CHECK_THROWS_WITH(with_stolen([]() -> int { throw std::runtime_error("g"); }), "g");
  std::atomic<bool> ended{false};
  thrum::latch begun(1);
  CHECK_THROWS_WITH(thrum::fork_join(
                        [&] {
                          begun.wait();
                          throw std::runtime_error("f");
                        },
                        [&] {
                          begun.count_down();
                          thrum::sleep_for(5ms);
                          ended = true;
                          throw std::runtime_error("g");
                        }),
                    "f");
  CHECK(ended);
}

TEST_CASE("results are destroyed, also those that an exception makes useless") {
  std::atomic<int> alive{0};
  with_runtime([&] {
    static_cast<void>(with_stolen([&] { return counted_alive(alive); }));
    CHECK(alive == 0);
    static_cast<void>(thrum::fork_join([&] { return counted_alive(alive); },
                                       [&] { return counted_alive(alive); }));
    CHECK(alive == 0);
    thrum::latch begun(1);
    CHECK_THROWS(thrum::fork_join(
        [&]() -> counted_alive {
          begun.wait();
          throw std::runtime_error("f");
        },
        [&] {
          begun.count_down();
          return counted_alive(alive);
        }));
    CHECK(alive == 0);
  });
}

TEST_CASE("outside of a runtime, and inside blocking, f runs before g on the calling thread") {
  const auto in_order = [] {
    const std::thread::id self = std::this_thread::get_id();
    std::string order;
    thrum::fork_join([&] { order += std::this_thread::get_id() == self ? "f" : "?"; },
                     [&] { order += std::this_thread::get_id() == self ? "g" : "?"; });
    return order;
  };
  CHECK(in_order() == "fg");
  CHECK_THROWS_WITH(thrum::fork_join([] { throw std::runtime_error("f"); }, [] {}), "f");
  with_runtime([&] { CHECK(thrum::blocking(in_order) == "fg"); });
}

IN_RUNTIME("a fork inside blocking inside a fork can be stolen from and waits as a thread",
           with_procs(2)) {
  const auto [outer, inner] = thrum::fork_join(
      [] { return thrum::blocking([] { return forked_fib(10); }); }, [] { return forked_fib(9); });
  CHECK(outer == 55);
  CHECK(inner == 34);
}

TEST_CASE("when the runtime stops, both halves are cancelled and the caller ends") {
  thrum::options options = with_procs(2);
  std::atomic<int> unwound{0};
  std::atomic<int> waiting{0};
  std::atomic<bool> went_on{false};
  {
    thrum::runtime runtime(options);
    struct at_exit {
      ~at_exit() { ++*count; }
      std::atomic<int>* count;
    };
    runtime.go([&] {
      const at_exit caller{&unwound};
      const auto wait_for_ever = [&] {
        const at_exit half{&unwound};
        ++waiting;
        thrum::chan<int>().recv();
      };
      thrum::fork_join(wait_for_ever, wait_for_ever);
      went_on = true;
    });
    runtime.block_on([&] { CHECK(eventually_yielding([&] { return waiting == 2; })); });
    runtime.stop();
    CHECK(runtime.stats().goroutines == 0);
  }
  CHECK(unwound == 3);
  CHECK(!went_on);
}

IN_RUNTIME("this_goroutine::exit in a stolen half ends the goroutine that forked") {
  bool went_on = false;
  auto forking = thrum::spawn([&] {
    with_stolen([] { thrum::this_goroutine::exit(); });
    went_on = true;
  });
  REQUIRE(eventually_yielding([&] { return forking.done(); }));
  CHECK(!went_on);
  forking.detach();
}

IN_RUNTIME(
    "the second function of a fork is left out if it has not begun when the first ends the "
    "goroutine",
    with_endless_slices(1)) {
  bool began = false;
  auto forking = thrum::spawn(
      [&] { thrum::fork_join([] { thrum::this_goroutine::exit(); }, [&] { began = true; }); });
  REQUIRE(eventually_yielding([&] { return forking.done(); }));
  CHECK(!began);
  forking.detach();
}

TEST_CASE("what is forked where nothing is cancelled is not cancelled either") {
  thrum::options options = with_procs(2);
  std::atomic<bool> waits{false};
  std::atomic<int> got{0};
  thrum::chan<int> values(1);
  {
    thrum::runtime runtime(options);
    runtime.go([&] {
      const thrum::uncancellable scope;
      got = with_stolen([&] {
              waits = true;
              return values.recv().value_or(-1);
            }).second;
    });
    runtime.block_on([&] { CHECK(eventually_yielding([&] { return waits.load(); })); });
    std::thread late([&] {
      std::this_thread::sleep_for(20ms);
      values.send(3);
    });
    runtime.stop();
    late.join();
  }
  CHECK(got == 3);
}

IN_RUNTIME("this_goroutine::exit in f cuts short no part of a g that has begun", with_procs(1)) {
  bool has_waited = false;
  bool has_ended = false;
  auto forking = thrum::spawn([&] {
    thrum::latch stolen(1);
    thrum::fork_join(
        [&] {
          stolen.wait();
          thrum::this_goroutine::exit();
        },
        [&] {
          thrum::fork_join(
              [&] {
                stolen.count_down();
                for (int i = 0; i != 100; ++i) {
                  thrum::this_goroutine::yield();
                }
              },
              [&] {
                thrum::sleep_for(1ms);
                has_waited = true;
              });
          has_ended = true;
        });
  });
  REQUIRE(eventually_yielding([&] { return forking.done(); }));
  CHECK(has_waited);
  CHECK(has_ended);
  forking.detach();
}

TEST_CASE("this_goroutine::exit in g ends the goroutine that forked, also if f has thrown") {
  const bool is_stolen = GENERATE(false, true);
  with_runtime(with_procs(1), [is_stolen] {
    bool was_caught = false;
    auto forking = thrum::spawn([&] {
      thrum::latch begun(1);
      try {
        thrum::fork_join(
            [&] {
              if (is_stolen) {
                begun.wait();
              }
              throw std::runtime_error("f");
            },
            [&] {
              begun.count_down();
              thrum::this_goroutine::exit();
            });
      } catch (const std::runtime_error&) {
        was_caught = true;
      }
    });
    REQUIRE(eventually_yielding([&] { return forking.done(); }));
    CHECK(!was_caught);
    forking.detach();
  });
}

TEST_CASE(
    "a goroutine that waits for g runs what the thief of g has forked, and an exit there is the "
    "thief's") {
  const bool exits = GENERATE(false, true);
  with_runtime(with_endless_slices(1), [exits] {
    thrum::goroutine_id helper = 0;
    thrum::latch offered(1);
    bool went_on = false;
    thrum::fork_join([&] { offered.wait(); },
                     [&] {
                       try {
                         thrum::fork_join(
                             [&] {
                               offered.count_down();
                               while (helper == 0) {
                                 thrum::this_goroutine::yield();
                               }
                             },
                             [&] {
                               helper = thrum::this_goroutine::id();
                               if (exits) {
                                 thrum::this_goroutine::exit();
                               }
                             });
                         went_on = true;
                       } catch (const thrum::goroutine_exit&) {  // on purpose: it does not go on
                       }
                     });
    CHECK(helper == thrum::this_goroutine::id());
    CHECK(went_on != exits);
    thrum::sleep_for(1us);  // would throw
  });
}

TEST_CASE("a result that throws when it is moved out of a stolen half is destroyed all the same") {
  struct stubborn {
    explicit stubborn(std::atomic<int>& where) : alive(where) { ++alive; }
    stubborn(const stubborn& other) : alive(other.alive) { throw std::runtime_error("copied"); }
    ~stubborn() { --alive; }
    std::atomic<int>& alive;
  };
  with_runtime([] {
    std::atomic<int> alive{0};
    CHECK_THROWS_WITH(with_stolen([&] { return stubborn(alive); }), "copied");
    CHECK(alive == 0);
  });
}

TEST_CASE("a stolen half has as much of a stack as the goroutine that forked") {
  const auto use_much = [] {
    constexpr std::size_t much = std::size_t{600} << 10;
    volatile char bytes[much];
    for (std::size_t i = 0; i < much; i += 1024) {
      bytes[i] = 1;
    }
    return static_cast<int>(bytes[much / 2]);
  };
  thrum::options options = with_procs(1);
  options.stack_size = std::size_t{64} << 10;
  with_runtime(options, [&] {
    static_cast<void>(with_stolen([] {}));
    auto forking = thrum::spawn(thrum::attributes{.stack_size = std::size_t{2} << 20},
                                [&] { return with_stolen(use_much).second; });
    CHECK(forking.join() == 1);
  });
}

TEST_CASE(
    "inside blocking inside a fork, a goroutine that waits runs nothing that could be cancelled") {
  std::atomic<bool> waits{false};
  std::atomic<bool> was_cancelled{false};
  thrum::runtime runtime(with_procs(1));
  runtime.go([&] {
    thrum::fork_join(
        [&] {
          thrum::blocking([&] {
            std::atomic<bool> begun{false};
            thrum::fork_join(
                [&] {
                  while (!begun) {
                    std::this_thread::sleep_for(100us);
                  }
                },
                [&] {
                  begun = true;
                  thrum::fork_join(
                      [&] {
                        while (!waits) {
                        }
                      },
                      [&] {
                        waits = true;
                        try {
                          thrum::chan<int>().recv();
                        } catch (const thrum::goroutine_exit&) {
                          was_cancelled = true;
                          throw;
                        }
                      });
                });
          });
        },
        [] {});
  });
  while (!waits) {
    std::this_thread::sleep_for(1ms);
  }
  runtime.stop();
  CHECK(was_cancelled);
}

TEST_CASE(
    "a half is run in time also if its goroutine forked on a processor that is out of service") {
  thrum::runtime runtime(with_procs(2));
  std::atomic<bool> is_chosen{false};
  std::atomic<bool> is_done{false};
  runtime.block_on([&] {
    // Of several that give way to each other one comes to that processor.
    thrum::wait_group candidates;
    for (int i = 0; i != 4; ++i) {
      candidates.go([&] {
        while (thrum::sched::current_m()->p->id != 1 || is_chosen.exchange(true)) {
          if (is_chosen) {
            return;
          }
          thrum::this_goroutine::yield();
        }
        thrum::latch both(2);
        thrum::fork_join(
            [&] {
              runtime.procs(1);
              both.arrive_and_wait();
            },
            [&] { both.arrive_and_wait(); });
        is_done = true;
      });
    }
    CHECK(eventually_yielding([&] { return is_done.load(); }));
    candidates.wait();
  });
}

IN_RUNTIME("a fork that no thief takes makes no goroutine", with_endless_slices(1)) {
  const auto before = thrum::stats().created;
  CHECK(forked_fib(10) == 55);
  CHECK(thrum::stats().created == before);
}
