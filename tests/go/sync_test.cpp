// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's tests of sync.WaitGroup, re-created from their descriptions. What they say of misuse is in
// wait_group_test; what they say of sync.Mutex, sync.RWMutex and semaphores, in the tests of those.

#include "support/test.hpp"

IN_RUNTIME("WaitGroup: two groups used as a barrier release no goroutine early") {
  thrum::wait_group first;
  thrum::wait_group second;
  for (int use = 0; use != 8; ++use) {
    constexpr int n = 16;
    first.add(n);
    second.add(n);
    thrum::chan<bool> exited(n);
    for (int i = 0; i != n; ++i) {
      thrum::go([&, exited]() mutable {
        first.done();
        second.wait();
        exited.send(true);
      });
    }
    first.wait();
    for (int i = 0; i != n; ++i) {
      bool ignored = false;
      REQUIRE(exited.try_recv(ignored) == thrum::recv_status::empty);
      second.done();
    }
    for (int i = 0; i != n; ++i) {
      REQUIRE(exited.recv() == true);
    }
  }
}

IN_RUNTIME("WaitGroupRace: wait() sees what was done before each done()") {
  for (int i = scaled(1'000); i > 0; --i) {
    thrum::wait_group group;
    std::atomic<int> n{0};
    group.add(1);
    thrum::go([&] {
      n.fetch_add(1, std::memory_order_relaxed);
      group.done();
    });
    group.add(1);
    thrum::go([&] {
      n.fetch_add(1, std::memory_order_relaxed);
      group.done();
    });
    group.wait();
    REQUIRE(n.load(std::memory_order_relaxed) == 2);
  }
}

IN_RUNTIME("WaitGroup: a group may be gone as soon as wait() has returned") {
  int early = 0;
  for (int round = scaled(10'000); round > 0; --round) {
    auto group = std::make_unique<thrum::wait_group>();
    group->add(2);
    std::atomic<int> done{0};
    for (int i = 0; i != 2; ++i) {
      thrum::go([&done, g = group.get()] {
        ++done;
        g->done();
      });
    }
    group->wait();
    early += done == 2 ? 0 : 1;
  }
  CHECK(early == 0);
}
