// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The loops look at errno on both sides of a call that waits, in one function, as programs do: they
// want to be compiled with optimisation.

#include <thrum/errno.hpp>

#include "support/migrate.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <unistd.h>

IN_RUNTIME("errno after blocking is what the function has left there") {
  std::atomic<int> wrong{0};
  std::atomic<int> moved{0};
  thrum::wait_group group;
  // More than there are processors: those that come back find theirs taken.
  for (int g = 0; g != 16; ++g) {
    group.go([&, g] {
      for (int i = 0; i != scaled(40, 10); ++i) {
        const long before = support::os_thread();
        errno = 1'000 + g;
        const int result = thrum::blocking([&] {
          ::usleep(200);
          return ::close(-1 - g);
        });
        wrong += result == -1 && errno == EBADF ? 0 : 1;
        moved += support::os_thread() != before ? 1 : 0;
      }
    });
  }
  REQUIRE(group.wait_for(support::long_time));
  INFO(moved.load() << " calls came back on another thread");
  CHECK(wrong == 0);
}

IN_RUNTIME("errno moves with the goroutine to another thread") {
  const support::crowd crowd;
  for (int i = 0; i != support::affordable_migrations(scaled(10, 3)); ++i) {
    errno = 2'000 + i;
    REQUIRE(support::migrate());
    CHECK(thrum::blocking([] { return 0; }) == 0);
    errno = 3'000 + i;
    thrum::this_goroutine::yield();
    CHECK(errno == 3'000 + i);
  }
}

IN_RUNTIME("errno is the goroutine's own across whatever parks it", with_procs(1)) {
  std::atomic<bool> leave{false};
  std::atomic<int> wrong{0};
  thrum::wait_group group;
  group.go([&] {
    while (!leave) {
      errno = EDOM;
      thrum::this_goroutine::yield();
      wrong += errno == EDOM ? 0 : 1;
    }
  });
  auto ping = thrum::make_chan<int>();
  thrum::mutex mutex;
  group.go([&] {
    for (;;) {
      errno = ERANGE;
      const auto value = ping.recv();
      wrong += errno == ERANGE ? 0 : 1;
      if (!value) {
        break;
      }
      const std::lock_guard lock(mutex);
      thrum::this_goroutine::yield();
    }
  });
  for (int i = 0; i != 20; ++i) {
    errno = 100 + i;
    thrum::this_goroutine::yield();
    CHECK(errno == 100 + i);
    thrum::sleep_for(100us);
    CHECK(errno == 100 + i);
    ping.send(i);
    CHECK(errno == 100 + i);
    {
      const std::lock_guard lock(mutex);  // held by the receiver, which has yielded
      CHECK(errno == 100 + i);
    }
    thrum::spawn([] { errno = EIO; }).join();
    CHECK(errno == 100 + i);
  }
  leave = true;
  ping.close();
  group.wait();
  CHECK(wrong == 0);
}

IN_RUNTIME("errno is 0 where a goroutine begins", with_procs(1)) {
  errno = ENOSPC;
  CHECK(thrum::spawn([] { return errno; }).join() == 0);
  CHECK(errno == ENOSPC);
}

TEST_CASE("errno remains an int that can be assigned to, also on a foreign thread") {
  static_assert(std::is_same_v<decltype((errno)), int&>);
  errno = 0;
  CHECK(::close(-1) == -1);
  CHECK(errno == EBADF);
  thrum::sleep_for(1ms);
  errno = 5;
  CHECK(errno == 5);
}
