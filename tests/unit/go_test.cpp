// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/go.hpp>

#include "support/test.hpp"

IN_RUNTIME("go runs the callable once, with its arguments") {
  thrum::chan<std::string> said(2);
  thrum::go([said](const std::string& a, int b) mutable { said.send(a + std::to_string(b)); }, "x",
            7);
  CHECK(said.recv() == "x7");
  thrum::sleep_for(std::chrono::milliseconds(1));
  CHECK(said.size() == 0);
}

IN_RUNTIME("go moves what is moved in and refers only through std::ref") {
  thrum::wait_group group;
  int result = 0;
  auto moved = std::make_unique<int>(41);
  group.add(1);
  thrum::go(
      [&group](std::unique_ptr<int> value, int& out) {
        out = *value + 1;
        group.done();
      },
      std::move(moved), std::ref(result));
  group.wait();
  CHECK(result == 42);
  CHECK(moved == nullptr);
}

namespace {

struct tally_of_calls {
  std::atomic<int> n{0};
  void add(int k) { n += k; }
};

/// Counts its copies that live.
struct tracked {
  static inline std::atomic<int> alive{0};
  tracked() { ++alive; }
  tracked(const tracked&) { ++alive; }
  tracked(tracked&&) noexcept { ++alive; }
  tracked& operator=(const tracked&) = default;
  ~tracked() { --alive; }
};

struct fails_to_copy {
  fails_to_copy() = default;
  fails_to_copy(const fails_to_copy&) { throw std::runtime_error("no copy"); }
  void operator()() const {}
};

/// Uses about so many bytes of stack.
[[gnu::noinline]] std::uint64_t deep(std::size_t bytes) {
  volatile char frame[1024];
  for (std::size_t i = 0; i != sizeof frame; i += 64) {
    frame[i] = static_cast<char>(i);
  }
  const std::uint64_t below = bytes > 2048 ? deep(bytes - 1024) : 0;
  return below + static_cast<unsigned char>(frame[64]);
}

}  // namespace

IN_RUNTIME("go calls a member function on an object") {
  tally_of_calls object;
  thrum::go(&tally_of_calls::add, &object, 5);
  CHECK(support::eventually([&] { return object.n == 5; }));
}

TEST_CASE("the callable and its arguments are destroyed when the goroutine ends") {
  REQUIRE(tracked::alive == 0);
  with_runtime([] {
    thrum::wait_group group;
    for (int i = 0; i != 100; ++i) {
      // NOLINTNEXTLINE(performance-unnecessary-value-param): an argument that the function owns
      group.go([t = tracked()](tracked) {}, tracked());
    }
    group.wait();
    CHECK(support::eventually([] { return tracked::alive == 0; }));
  });
  CHECK(tracked::alive == 0);
}

TEST_CASE("the arguments of a goroutine that is unwound at stop are destroyed") {
  REQUIRE(tracked::alive == 0);
  with_runtime([] {
    for (int i = 0; i != 100; ++i) {
      // NOLINTNEXTLINE(performance-unnecessary-value-param): an argument that the function owns
      thrum::go([](tracked) { thrum::chan<int>().recv(); }, tracked());
    }
  });
  CHECK(tracked::alive == 0);
}

TEST_CASE("a captured object may wait in its destructor, also after a stop") {
  std::atomic<int> waited{0};
  struct waits_at_its_end {
    std::atomic<int>* to;
    explicit waits_at_its_end(std::atomic<int>& counter) : to(&counter) {}
    waits_at_its_end(waits_at_its_end&& other) noexcept : to(std::exchange(other.to, nullptr)) {}
    ~waits_at_its_end() {
      if (to != nullptr) {
        thrum::sleep_for(1ms);
        ++*to;
      }
    }
  };
  with_runtime([&] {
    CHECK(thrum::spawn([own = waits_at_its_end(waited)] {
            thrum::this_goroutine::exit();
          }).wait_for(support::long_time));
    CHECK(waited == 1);
    thrum::go([own = waits_at_its_end(waited)] { thrum::sleep_for(1h); });
    thrum::spawn([own = waits_at_its_end(waited)] { thrum::sleep_for(1h); }).detach();
    REQUIRE(are_waiting(2));
  });
  CHECK(waited == 3);
}

IN_RUNTIME("an exception while the callable is copied leaves go and starts nothing") {
  const fails_to_copy f;
  const auto before = thrum::stats().created;
  CHECK_THROWS_AS(thrum::go(f), std::runtime_error);
  CHECK_THROWS_AS((void)thrum::spawn(f), std::runtime_error);
  CHECK(thrum::stats().created == before);
  thrum::spawn([] {}).join();
}

TEST_CASE("go and spawn outside of a runtime are errors of use that name the operation") {
  CHECK(is_usage_error("go:", [] { thrum::go([] {}); }));
  CHECK(is_usage_error("spawn:", [] { (void)thrum::spawn([] {}); }));
  CHECK(is_usage_error("stats:", [] { (void)thrum::stats(); }));
}

IN_RUNTIME("attributes name the goroutine") {
  thrum::chan<std::string> name(0);
  thrum::go({.name = "loader"},
            [=]() mutable { name.send(std::string(thrum::this_goroutine::name())); });
  CHECK(name.recv() == "loader");
  CHECK(thrum::spawn(thrum::attributes{.name = "other"}, [] {
          return std::string(thrum::this_goroutine::name());
        }).join() == "other");
  CHECK(thrum::spawn([] { return std::string(thrum::this_goroutine::name()); }).join().empty());
}

IN_RUNTIME("attributes give the goroutine a stack of that size") {
  // Eight times what the default holds, and small ones beside it, several of each at once.
  std::vector<thrum::join_handle<std::uint64_t>> handles;
  for (int i = 0; i != 8; ++i) {
    handles.push_back(thrum::spawn(thrum::attributes{.stack_size = 4 << 20}, [] {
      thrum::this_goroutine::yield();
      return deep(1 << 20);
    }));
    handles.push_back(thrum::spawn(thrum::attributes{.stack_size = 64 << 10}, [] {
      thrum::this_goroutine::yield();
      return deep(8 << 10);
    }));
  }
  const std::uint64_t large = handles[0].join();
  const std::uint64_t small = handles[1].join();
  CHECK(large > small);
  for (std::size_t i = 2; i != handles.size(); ++i) {
    CHECK(handles[i].join() == (i % 2 == 0 ? large : small));
  }
}

IN_RUNTIME("a callable that is large beside the stack gets a stack that holds it") {
  auto large = std::make_unique<std::array<char, 200'000>>();
  large->fill('x');
  const char last = thrum::spawn([content = *large] {
                      thrum::this_goroutine::yield();
                      return content.back();
                    }).join();
  CHECK(last == 'x');
}

IN_RUNTIME("a callable keeps its alignment") {
  struct alignas(128) aligned {
    char c = 'x';
    bool operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 128 == 0; }
  };
  for (int i = 0; i != 10; ++i) {
    CHECK(thrum::spawn(aligned()).join());
    CHECK(thrum::spawn([i, a = aligned()] { return a() && i >= 0; }).join());
  }
}

IN_RUNTIME("every goroutine has an id of its own, and the first one has 1") {
  CHECK(thrum::this_goroutine::id() == 1);
  const int n = scaled(10'000);
  thrum::chan<thrum::goroutine_id> ids(100);
  for (int i = 0; i != n; ++i) {
    thrum::go([=]() mutable { ids.send(thrum::this_goroutine::id()); });
  }
  std::set<thrum::goroutine_id> seen{0, 1};
  for (int i = 0; i != n; ++i) {
    seen.insert(*ids.recv());
  }
  CHECK(seen.size() == static_cast<std::size_t>(n) + 2);
}

IN_RUNTIME("goroutines of goroutines of goroutines all run") {
  std::atomic<int> ran{0};
  thrum::wait_group group;
  struct grow {
    std::atomic<int>& ran;
    thrum::wait_group& group;
    void operator()(int depth) const {
      ++ran;
      for (int i = 0; depth > 0 && i != 10; ++i) {
        group.go(*this, depth - 1);
      }
    }
  };
  group.go(grow{ran, group}, 3);
  group.wait();
  CHECK(ran == 1'111);
}

IN_RUNTIME("goroutines may be started from inside blocking()") {
  thrum::wait_group group;
  std::atomic<int> ran{0};
  thrum::blocking([&] {
    for (int i = 0; i != 100; ++i) {
      group.go([&] { ++ran; });
    }
  });
  group.wait();
  CHECK(ran == 100);
}

TEST_CASE("foreign threads start goroutines of a runtime, and none is lost") {
  std::atomic<int> ran{0};
  thrum::runtime runtime(support::environment_options());
  const int n = scaled(5'000);
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != n; ++i) {
        runtime.go([&] { ++ran; });
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(support::eventually([&] { return ran == 4 * n; }));
}

TEST_CASE("a foreign thread starts a goroutine on the runtime that it names") {
  thrum::runtime where;
  thrum::chan<thrum::runtime*> seen(1);
  thrum::go(
      where, [seen](int) { seen.send(thrum::runtime::current()); }, 7);
  CHECK(seen.recv() == &where);
}

TEST_CASE("a foreign thread gets the result of what it has spawned on the runtime that it names") {
  thrum::runtime where;
  CHECK(thrum::spawn(
            where, [](int n) { return n + 1; }, 6)
            .join() == 7);
}

TEST_CASE("attributes in any form name a goroutine that runtime::go starts") {
  thrum::runtime where;
  thrum::chan<std::string> seen(1);
  const auto tell = [seen](const std::string& more) {
    seen.send(std::string(thrum::this_goroutine::name()) + more);
  };
  where.go(thrum::attributes{.name = "temporary"}, tell, "!");
  CHECK(seen.recv() == "temporary!");
  thrum::attributes own{.name = "modifiable"};
  where.go(own, tell, "!");
  CHECK(seen.recv() == "modifiable!");
  where.go(std::as_const(own), tell, "?");
  CHECK(seen.recv() == "modifiable?");
  where.go({.name = "braces"}, tell, "!");
  CHECK(seen.recv() == "braces!");
  thrum::go(where, thrum::attributes{.name = "elsewhere"}, tell, "!");
  CHECK(seen.recv() == "elsewhere!");
  thrum::go(where, {.name = "elsewhere"}, tell, "?");
  CHECK(seen.recv() == "elsewhere?");
}

TEST_CASE("attributes name the runtime on which go and spawn start a goroutine") {
  thrum::runtime where;
  thrum::chan<thrum::runtime*> seen(1);
  const auto here = [] { return thrum::runtime::current(); };
  thrum::go({.name = "told", .runtime = &where}, [=] { seen.send(here()); });
  CHECK(seen.recv() == &where);
  CHECK(thrum::spawn({.runtime = &where}, here).join() == &where);
  CHECK(where.spawn({.runtime = &where}, here).join() == &where);
  with_runtime([&] { CHECK(thrum::spawn({.runtime = &where}, here).join() == &where); });
}

TEST_CASE("a runtime refuses attributes that name another one") {
  thrum::runtime where;
  thrum::runtime other;
  const std::string says = "runtime::go, runtime::spawn: attributes::runtime names another";
  CHECK(is_usage_error(says, [&] { where.go({.runtime = &other}, [] {}); }));
  CHECK(is_usage_error(says, [&] { (void)where.spawn({.runtime = &other}, [] {}); }));
}

TEST_CASE("attributes in any form name a goroutine that runtime::spawn starts") {
  thrum::runtime where;
  const auto name = [](const std::string& more) {
    return std::string(thrum::this_goroutine::name()) + more;
  };
  CHECK(where.spawn(thrum::attributes{.name = "temporary"}, name, "!").join() == "temporary!");
  thrum::attributes own{.name = "modifiable"};
  CHECK(where.spawn(own, name, "!").join() == "modifiable!");
  CHECK(where.spawn({.name = "braces"}, name, "!").join() == "braces!");
  CHECK(thrum::spawn(where, own, name, "!").join() == "modifiable!");
  CHECK(thrum::spawn(where, {.name = "elsewhere"}, name, "!").join() == "elsewhere!");
}

TEST_CASE("a wait_group counts goroutines that a foreign thread starts on a named runtime") {
  thrum::runtime where;
  thrum::wait_group group;
  std::atomic<int> ran{0};
  for (int i = 0; i != 10; ++i) {
    group.go(
        where, [&](int n) { ran += n; }, 2);
  }
  group.wait();
  CHECK(ran == 20);
}

TEST_CASE("a wait_group whose goroutine a stopped runtime refuses has nothing to wait for") {
  thrum::runtime where;
  where.stop();
  thrum::wait_group group;
  CHECK(support::is_usage_error("runtime::go", [&] { group.go(where, [] {}); }));
  group.wait();
}

TEST_CASE("a task_group passes the exception of a goroutine on a named runtime to its thread") {
  thrum::runtime where;
  thrum::task_group group(2);
  group.go(where, [] { throw std::runtime_error("failed there"); });
  CHECK_THROWS_AS(group.wait(), std::runtime_error);
}

TEST_CASE("a function is called later on the runtime that a foreign thread names") {
  thrum::runtime where;
  thrum::chan<thrum::runtime*> seen(1);
  const thrum::timer timer =
      thrum::after_func(where, 1ms, [seen] { seen.send(thrum::runtime::current()); });
  CHECK(seen.recv() == &where);
  CHECK_FALSE(timer.stop());
}

TEST_CASE("a function for a runtime that is stopped is refused") {
  thrum::runtime where;
  where.stop();
  CHECK(support::is_usage_error("timer::reset",
                                [&] { static_cast<void>(thrum::after_func(where, 1ms, [] {})); }));
}
