// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A select that ends when a stop is requested: on_done with a std::stop_token or a context; or when a
// goroutine does: on_join.
#include <thrum/detail/select/signal_cases.hpp>
#include <thrum/select.hpp>

#include "support/stop_source.hpp"
#include "support/test.hpp"

using support::new_source;
using thrum::on_done;
using thrum::on_join;
using thrum::on_recv;
using thrum::on_send;
using thrum::on_timeout;
using thrum::otherwise;

IN_RUNTIME("a stop that was requested before makes its case ready") {
  const thrum::chan<int> c(0);
  std::stop_source source = new_source();
  source.request_stop();
  int calls = 0;
  for (int i = 0; i != 3; ++i) {
    CHECK(thrum::select(on_recv(c), on_done(source.get_token(), [&] { ++calls; })) == 1);
  }
  CHECK(thrum::select(on_done(source.get_token(), [&] { ++calls; }), otherwise()) == 0);
  CHECK(thrum::select(on_timeout(-1s), on_done(source.get_token(), [&] { ++calls; })) == 1);
  CHECK(calls == 5);
}

IN_RUNTIME("a token without a request is never ready") {
  const thrum::chan<int> c(1);
  std::stop_source source = new_source();
  std::stop_token left_alone;
  {
    const std::stop_source gone = new_source();
    left_alone = gone.get_token();
  }
  bool called = false;
  const auto call = [&] { called = true; };
  CHECK(thrum::select(on_done(source.get_token(), call), otherwise()) == 1);
  CHECK(thrum::select(on_done(std::stop_token(), call), on_timeout(1ms)) == 1);
  CHECK(thrum::select(on_done(left_alone, call), on_timeout(1ms)) == 1);
  CHECK(thrum::select(on_done(source.get_token(), call), on_send(c, 1)) == 1);
  source.request_stop();  // nobody listens any more
  CHECK_FALSE(called);
}

IN_RUNTIME("a request ends a select that waits, from a goroutine and from a foreign thread") {
  for (const bool foreign : {false, true}) {
    const thrum::chan<int> c(0);
    const thrum::chan<std::unique_ptr<int>> values(0);
    std::stop_source source = new_source();
    auto value = std::make_unique<int>(7);
    bool called = false;
    auto selector = thrum::spawn([&] {
      return thrum::select(on_recv(c), on_send(values, std::move(value)),
                           on_done(source.get_token(), [&] { called = true; }));
    });
    REQUIRE(are_waiting(1));
    if (foreign) {
      std::thread([&] { source.request_stop(); }).join();
    } else {
      source.request_stop();
    }
    CHECK(selector.join() == 2);
    CHECK(called);
    CHECK(value != nullptr);
    CHECK_FALSE(c.try_send(1));  // its receive is gone
  }
}

IN_RUNTIME("one request ends every select that listens, whatever else each waits for") {
  std::stop_source source = new_source();
  const thrum::chan<int> c(0);
  std::atomic<int> ended{0};
  thrum::wait_group group;
  constexpr int n = 20;
  for (int i = 0; i != n; ++i) {
    group.go([&, i] {
      if (i % 2 == 0) {
        thrum::select(on_done(source.get_token(), [&] { ++ended; }), on_recv(c), on_timeout(1h));
      } else {
        thrum::select(on_done(source.get_token(), [&] { ++ended; }));
      }
    });
  }
  REQUIRE(are_waiting(n));
  CHECK(ended == 0);
  source.request_stop();
  group.wait();
  CHECK(ended == n);
}

IN_RUNTIME("a select may listen to several tokens") {
  std::stop_source a = new_source();
  std::stop_source b = new_source();
  auto selector = thrum::spawn([&] {
    return thrum::select(on_done(a.get_token()), on_done(b.get_token()), on_timeout(1h));
  });
  REQUIRE(are_waiting(1));
  b.request_stop();
  CHECK(selector.join() == 1);
  auto same =
      thrum::spawn([&] { return thrum::select(on_done(a.get_token()), on_done(a.get_token())); });
  REQUIRE(are_waiting(1));
  a.request_stop();
  CHECK(same.join() < 2);
}

IN_RUNTIME(
    "a request that races with another case: one of them is carried out, and nothing is lost") {
  const int rounds = scaled(2'000, 200);
  int received = 0;
  int ended = 0;
  for (int i = 0; i != rounds; ++i) {
    const thrum::chan<int> c(1);
    std::stop_source source = new_source();
    auto selector = thrum::spawn(
        [&] { return thrum::select(on_recv(c), on_done(source.get_token()), on_timeout(1h)); });
    auto requester = thrum::spawn([&] { source.request_stop(); });
    if (i % 2 == 0) {
      thrum::this_goroutine::yield();
    }
    c.send(1);
    const std::size_t chosen = selector.join();
    requester.join();
    REQUIRE(chosen < 2);
    REQUIRE(c.size() == chosen);  // not received: still there
    ++(chosen == 0 ? received : ended);
  }
  CHECK(received + ended == rounds);
}

TEST_CASE("a request that comes while select begins or ends does not touch what is gone") {
  // Foreign threads, so that request_stop runs while select registers and unregisters; the
  // sanitizers look.
  thrum::runtime runtime(support::environment_options());
  const int rounds = scaled(2'000, 100);
  std::optional<std::stop_source> source;
  std::atomic<int> turn{0};
  std::atomic<int> selected{0};
  std::thread requester([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (turn.load() != i) {
        std::this_thread::yield();
      }
      std::stop_source mine = *source;
      turn.store(-i);
      mine.request_stop();
    }
  });
  runtime.block_on([&] {
    const thrum::chan<int> c(1);
    for (int i = 1; i <= rounds; ++i) {
      source.emplace();
      turn.store(i);
      while (turn.load() != -i) {
        std::this_thread::yield();  // to the other thread, which may wait for this processor
      }
      const std::size_t chosen = i % 2 == 0
                                     ? thrum::select(on_done(source->get_token()), otherwise())
                                     : thrum::select(on_done(source->get_token()),
                                                     on_timeout(std::chrono::microseconds(i % 7)));
      selected += chosen < 2 ? 1 : 0;
    }
  });
  requester.join();
  CHECK(selected == rounds);
}

TEST_CASE("the goroutine's own stop token works as a case, before the runtime unwinds it") {
  std::atomic<bool> asked{false};
  std::atomic<bool> begun{false};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    try {
      begun = true;
      thrum::select(on_done(thrum::this_goroutine::stop_token(), [&] { asked = true; }));
    } catch (const thrum::goroutine_exit&) {
      asked = true;
      throw;
    }
  });
  REQUIRE(eventually([&] { return begun.load(); }));
  runtime.stop();
  CHECK(asked);
}

// ---- contexts ----------------------------------------------------------------------------------

IN_RUNTIME("a cancelled context makes its case ready, and the background's never is") {
  const thrum::chan<int> c(0);
  const thrum::context root = thrum::context::background().with_cancel();
  const thrum::context child = root.with_value(1);
  bool called = false;
  CHECK(thrum::select(on_recv(c), on_done(child), otherwise()) == 2);
  CHECK(thrum::select(on_done(thrum::context::background()), on_timeout(1ms)) == 1);
  auto selector = thrum::spawn([&] {
    return thrum::select(on_recv(c), on_send(c, 1), on_done(child, [&] { called = true; }));
  });
  REQUIRE(are_waiting(1));
  root.cancel();
  CHECK(selector.join() == 2);
  CHECK(called);
  CHECK(thrum::select(on_recv(c), on_done(child)) == 1);
  CHECK(thrum::select(on_done(thrum::context(child)), otherwise()) == 0);
}

TEST_CASE("a context's deadline ends a select, on a goroutine and on a foreign thread") {
  const auto wait_for_deadline = [] {
    const thrum::chan<int> c(0);
    const auto begin = std::chrono::steady_clock::now();
    const thrum::context context = thrum::context::background().with_timeout(5ms);
    const std::size_t chosen =
        thrum::select(on_recv(c), on_timeout(1h), on_done(context), on_done(std::stop_token()));
    return chosen == 2 && std::chrono::steady_clock::now() - begin >= 5ms &&
           context.error() == std::errc::timed_out;
  };
  with_runtime([&] { CHECK(wait_for_deadline()); });
  bool right = false;
  std::thread([&] { right = wait_for_deadline(); }).join();
  CHECK(right);
}

IN_RUNTIME("a context in a kept case is the same every time") {
  const thrum::chan<int> c(1);
  const thrum::context context = thrum::context::background().with_cancel();
  std::vector<thrum::select_case> cases;
  cases.push_back(on_done(context));
  cases.push_back(on_recv(c));
  c.send(1);
  CHECK(thrum::select(cases) == 1);
  context.cancel();
  CHECK(thrum::select(cases) == 0);
  CHECK(thrum::select(cases) == 0);
}

IN_RUNTIME("a goroutine that has ended makes its case ready, and is still to be joined") {
  auto ended = thrum::spawn([] { return 7; });
  REQUIRE(eventually([&] { return ended.done(); }));
  const thrum::chan<int> c(0);
  int calls = 0;
  CHECK(thrum::select(on_recv(c), on_join(ended, [&] { ++calls; })) == 1);
  CHECK(thrum::select(on_join(ended, [&] { ++calls; }), otherwise()) == 0);
  CHECK(thrum::select(on_recv(c), on_timeout(1h), on_join(ended)) == 2);
  CHECK(calls == 2);
  CHECK(ended.join() == 7);
}

IN_RUNTIME("a select waits for the end of a goroutine, and for that of the first of several") {
  const thrum::chan<void> go_on(0);
  const thrum::chan<void> never(0);
  auto first = thrum::spawn([&] {
    go_on.recv();
    return 1;
  });
  auto second = thrum::spawn([&] {
    never.recv();
    return 2;
  });
  CHECK(thrum::select(on_join(first), on_join(second), otherwise()) == 2);
  CHECK(thrum::select(on_join(first), on_join(second), on_timeout(1ms)) == 2);
  thrum::go([&] { go_on.send(); });
  int result = 0;
  CHECK(thrum::select(on_join(second), on_join(first, [&] { result = first.join(); })) == 1);
  CHECK(result == 1);
  CHECK_FALSE(first.joinable());
  never.close();
  CHECK(thrum::select(on_join(second), on_join(first)) == 0);
  CHECK(second.join() == 2);
}

IN_RUNTIME("the case of an empty handle is never ready") {
  const thrum::join_handle<int> empty;
  CHECK(thrum::select(on_join(empty), otherwise()) == 1);
  CHECK(thrum::select(on_join(empty), on_timeout(1ms)) == 1);
}

IN_RUNTIME("what left the goroutine is thrown by join, not by select") {
  auto failing = thrum::spawn([]() -> int { throw std::runtime_error("failed"); });
  CHECK(thrum::select(on_join(failing)) == 0);
  CHECK_THROWS_AS(failing.join(), std::runtime_error);
}

IN_RUNTIME("two cases may have the same handle") {
  const thrum::chan<void> go_on(0);
  auto handle = thrum::spawn([&] { go_on.recv(); });
  CHECK(thrum::select(on_join(handle), on_join(handle), on_timeout(1ms)) == 2);
  thrum::go([&] { go_on.send(); });
  CHECK(thrum::select(on_join(handle), on_join(handle), on_join(handle)) < 3);
  handle.join();
}

TEST_CASE("a foreign thread selects on the end of a goroutine") {
  thrum::runtime runtime(support::environment_options());
  const thrum::chan<void> go_on(0);
  auto handle = runtime.spawn([&] {
    go_on.recv();
    return 3;
  });
  CHECK(thrum::select(on_join(handle), on_timeout(1ms)) == 1);
  std::thread sender([&] { go_on.send(); });
  CHECK(thrum::select(on_join(handle), on_timeout(1h)) == 0);
  CHECK(handle.join() == 3);
  sender.join();
}

IN_RUNTIME("kept cases for the ends of many goroutines are chosen one after the other") {
  constexpr std::size_t n = 20;
  std::vector<thrum::join_handle<std::size_t>> handles;
  std::vector<thrum::select_case> cases;
  for (std::size_t i = 0; i != n; ++i) {
    handles.push_back(thrum::spawn([i] { return i; }));
  }
  std::size_t sum = 0;
  for (std::size_t left = n; left != 0; --left) {
    cases.clear();
    for (const auto& handle : handles) {
      cases.emplace_back(on_join(handle));
    }
    sum += handles[thrum::select(cases)].join();
  }
  CHECK(sum == n * (n - 1) / 2);
}

IN_RUNTIME("an end that comes while select begins or gives up does not touch what is gone") {
  const int rounds = scaled(3'000, 300);
  int ended = 0;
  for (int i = 0; i != rounds; ++i) {
    auto handle = thrum::spawn([i] {
      for (int k = 0; k != i % 5; ++k) {
        thrum::this_goroutine::yield();
      }
    });
    const std::size_t chosen =
        i % 2 == 0 ? thrum::select(on_join(handle), otherwise())
                   : thrum::select(on_join(handle), on_timeout(std::chrono::microseconds(i % 7)));
    ended += chosen == 0 ? 1 : 0;
    CHECK((chosen != 0 || handle.done()));
    handle.join();
    CHECK_FALSE(handle.joinable());
  }
  CHECK(ended <= rounds);
}
