// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/goroutine_local.hpp>

#include <thrum/carried_value.hpp>

#include "support/test.hpp"

namespace {

/// Adds its name to a list when it goes.
struct noted {
  std::vector<std::string>* to = nullptr;
  std::string name;
  ~noted() {
    if (to != nullptr) {
      to->push_back(name);
    }
  }
};

thread_local int of_a_library = 0;

[[gnu::noinline]] int& of_this_thread() {
  asm volatile("" ::: "memory");
  return of_a_library;
}

void swap_with_library(int& value) noexcept { std::swap(value, of_this_thread()); }

/// How often this goroutine sees another value than it should.
int carry(int own) {
  int wrong = of_this_thread() != 0;
  {
    const thrum::carried_value<int> outer(swap_with_library, own);
    for (int i = 0; i != 5; ++i) {
      thrum::this_goroutine::yield();
      wrong += of_this_thread() != own;
      const thrum::carried_value<int> inner(swap_with_library, -own);
      thrum::spawn([] { thrum::this_goroutine::yield(); }).join();
      wrong += of_this_thread() != -own;
    }
    wrong += of_this_thread() != own;
  }
  return wrong + (of_this_thread() != 0);
}

}  // namespace

TEST_CASE("a carried value of a thread follows its goroutine, and no other goroutine sees it") {
  for (const unsigned procs : {1U, 2U, 4U}) {
    thrum::options options;
    options.procs = procs;
    options.migrate = true;
    const int wrong = thrum::run(options, [] {
      std::atomic<int> n{0};
      thrum::wait_group all;
      for (int own = 1; own != 10; ++own) {
        all.go([own, &n] { n += carry(own); });
      }
      for (int i = 0; i != 50; ++i) {
        thrum::this_goroutine::yield();
        n += of_this_thread() != 0;
      }
      all.wait();
      return n.load();
    });
    INFO("processors " << procs);
    CHECK(wrong == 0);
  }
}

IN_RUNTIME("a carried value may be changed through the thread's, and is kept across a wait") {
  const thrum::carried_value<int> mine(swap_with_library, 1);
  of_this_thread() = 2;
  thrum::sleep_for(std::chrono::microseconds(10));
  CHECK(of_this_thread() == 2);
}

TEST_CASE("a carried value on a foreign thread is the thread's until its scope ends") {
  {
    const thrum::carried_value<int> mine(swap_with_library, 7);
    CHECK(of_this_thread() == 7);
  }
  CHECK(of_this_thread() == 0);
}

IN_RUNTIME("an exception that leaves a goroutine's scope gives the thread its value back") {
  try {
    const thrum::carried_value<int> mine(swap_with_library, 7);
    thrum::this_goroutine::yield();
    throw 1;
  } catch (int) {
    CHECK(of_this_thread() == 0);
  }
}

IN_RUNTIME("each goroutine has its own value, wherever it runs", with_procs(4)) {
  thrum::goroutine_local<int> mine;
  std::atomic<bool> mixed{false};
  thrum::wait_group group;
  for (int i = 1; i <= 20; ++i) {
    group.go([&, i] {
      mixed = mixed || *mine != 0;
      *mine = i;
      for (int k = 0; k != scaled(100); ++k) {
        thrum::this_goroutine::yield();
        mixed = mixed || mine.get() != i;
      }
    });
  }
  group.wait();
  CHECK_FALSE(mixed);
  CHECK(*mine == 0);
}

IN_RUNTIME("a value starts as a copy of what was given, or as what the factory makes") {
  thrum::goroutine_local<std::string> greeting(std::string("hello"));
  int made = 0;
  thrum::goroutine_local<std::unique_ptr<int>> number(
      [&] { return std::make_unique<int>(++made); });
  CHECK(*greeting == "hello");
  greeting->append("!");
  CHECK(**number == 1);
  CHECK(**number == 1);
  thrum::spawn([&] {
    CHECK(*greeting == "hello");
    CHECK(**number == 2);
  }).join();
  CHECK(*greeting == "hello!");
}

IN_RUNTIME(
    "values are destroyed when their goroutine ends, the newest first, before a join returns") {
  std::vector<std::string> gone;
  thrum::goroutine_local<noted> first;
  thrum::goroutine_local<noted> second;
  thrum::spawn([&] {
    first->name = "first";
    first->to = &gone;
    second->name = "second";
    second->to = &gone;
  }).join();
  CHECK(gone == std::vector<std::string>{"second", "first"});
}

IN_RUNTIME("a goroutine that takes the place of another does not see its values", with_procs(1)) {
  thrum::goroutine_local<int> mine;
  for (int i = 0; i != 10; ++i) {
    CHECK(thrum::spawn([&] { return (*mine)++; }).join() == 0);
  }
}

TEST_CASE("values are destroyed also when a goroutine exits or is unwound by a stop") {
  const auto token = std::make_shared<int>(0);
  thrum::goroutine_local<std::shared_ptr<int>> mine;
  with_runtime([&] {
    thrum::go([&] {
      *mine = token;
      thrum::this_goroutine::exit();
    });
    thrum::go([&] {
      *mine = token;
      thrum::chan<int>(0).recv();
    });
    thrum::this_goroutine::sleep_for(std::chrono::milliseconds(2));
  });
  CHECK(token.use_count() == 1);
}

IN_RUNTIME("values of the goroutines of a group are destroyed before a wait for it returns",
           with_procs(4)) {
  static std::atomic<int> alive;
  struct counted {
    counted() { ++alive; }
    ~counted() {
      thrum::this_goroutine::yield();
      --alive;
    }
  };
  thrum::goroutine_local<counted> mine;
  int early = 0;
  for (int round = 0; round != scaled(200); ++round) {
    thrum::wait_group waited;
    const auto captured = std::make_shared<int>(round);
    waited.go([&mine] { mine.get(); });
    waited.go([&mine, captured] { mine.get(); });
    waited.wait();
    early += alive != 0;
    thrum::task_group group;
    group.go([&mine] { mine.get(); });
    group.go([&mine, captured] { mine.get(); });
    group.wait();
    early += alive != 0;
  }
  CHECK(early == 0);
}

IN_RUNTIME("a destructor of a value may use other values") {
  static thrum::goroutine_local<int> counter;
  static int last = 0;
  struct user {
    ~user() { last = ++*counter; }
  };
  thrum::goroutine_local<user> one;
  thrum::spawn([&] { one.get(); }).join();
  CHECK(last == 1);
}

IN_RUNTIME("a goroutine_local may go before its values do, and another is not mistaken for it") {
  std::vector<std::string> gone;
  thrum::spawn([&] {
    {
      thrum::goroutine_local<noted> short_lived;
      short_lived->name = "short";
      short_lived->to = &gone;
    }
    thrum::goroutine_local<noted> next;
    CHECK(next->name.empty());
    CHECK(gone.empty());
  }).join();
  CHECK(gone == std::vector<std::string>{"short"});
}

TEST_CASE("a foreign thread has values of its own, which go with it") {
  const auto token = std::make_shared<int>(0);
  thrum::goroutine_local<std::shared_ptr<int>> mine;
  std::thread([&] {
    CHECK(*mine == nullptr);
    *mine = token;
    CHECK(mine->use_count() == 2);
  }).join();
  CHECK(token.use_count() == 1);
  with_runtime([&] { CHECK(*mine == nullptr); });
}

TEST_CASE("a value that the destructor of a result has made goes with its goroutine") {
  static thrum::goroutine_local<int> local;
  struct sets_at_end {
    bool live = true;
    sets_at_end() = default;
    sets_at_end(sets_at_end&& other) noexcept : live(std::exchange(other.live, false)) {}
    ~sets_at_end() {
      if (live) {
        local.get() = 42;
      }
    }
  };
  with_runtime(with_procs(1), [] {
    for (int round = 0; round != 10; ++round) {
      thrum::spawn([] { return sets_at_end(); }).detach();
      while (thrum::stats().goroutines != 1) {
        thrum::this_goroutine::yield();
      }
      CHECK(thrum::spawn([] { return local.get(); }).join() == 0);
    }
  });
}

IN_RUNTIME("a const goroutine_local is read as the one that is not") {
  thrum::goroutine_local<std::string> local("first");
  const auto& read_only = local;
  CHECK(*read_only == "first");
  local.get() = "second";
  CHECK(read_only.get() == "second");
  CHECK(read_only->size() == 6);
  CHECK(&*read_only == &*local);
}
