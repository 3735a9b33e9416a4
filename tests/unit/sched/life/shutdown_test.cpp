// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/life/shutdown.hpp>

#include "support/test.hpp"

namespace {

/// Says that it is alive for as long as it is.
class alive {
 public:
  explicit alive(std::atomic<int>& n) : n_(n) { ++n_; }
  ~alive() { --n_; }
  alive(const alive&) = delete;
  alive& operator=(const alive&) = delete;

 private:
  std::atomic<int>& n_;
};

}  // namespace

TEST_CASE("stop unwinds goroutines that are parked anywhere") {
  std::atomic<int> n{0};
  thrum::chan<int> full(1);
  full.send(0);
  thrum::wait_group never;
  never.add(1);
  std::atomic<int> went_on{0};
  {
    thrum::runtime runtime(support::environment_options());
    const auto park = [&](auto wait) {
      runtime.go([&, wait]() mutable {
        const alive here(n);
        wait();
        ++went_on;
      });
    };
    park([] { thrum::chan<int>(0).recv(); });
    park([] { thrum::chan<int>(0).send(1); });
    park([=]() mutable { full.send(1); });
    park([] { thrum::chan<int>().recv(); });
    park([] { thrum::chan<int>().send(1); });
    park([] {
      int out = 0;
      thrum::chan<int>(0).recv_for(out, 1h);
    });
    park([] { thrum::chan<int>(0).send_for(1, 1h); });
    park([] {
      for (const int i : thrum::chan<int>(0)) {
        (void)i;
      }
    });
    park([] { thrum::chan<void>(0).recv(); });
    park([] { thrum::sleep_for(1h); });
    park([] { thrum::this_goroutine::sleep_until(std::chrono::steady_clock::now() + 1h); });
    park([&] { never.wait(); });
    park([&] { static_cast<void>(never.wait_for(1h)); });
    park([] { thrum::spawn([] { thrum::sleep_for(1h); }).join(); });
    park([] { static_cast<void>(thrum::spawn([] { thrum::sleep_for(1h); }).wait_for(1h)); });
    REQUIRE(eventually([&] { return n == 15 && runtime.stats().waiting >= 17; }));
    runtime.stop();
    CHECK(n == 0);
    CHECK(runtime.stats().goroutines == 0);
  }
  CHECK(went_on == 0);
  never.done();
}

TEST_CASE("stop waits for goroutines that run, and they may still use everything") {
  std::atomic<bool> release{false};
  std::atomic<bool> started{false};
  std::atomic<int> done{0};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    started = true;
    while (!release) {
      thrum::this_goroutine::yield();
    }
    thrum::mutex mutex;
    thrum::chan<int> c(1);
    const std::lock_guard lock(mutex);
    c.send(1);
    done += *c.recv();
    thrum::go([&] { ++done; });
    thrum::blocking([&] { ++done; });
  });
  REQUIRE(eventually([&] { return started.load(); }));
  std::thread stopper([&] { runtime.stop(); });
  std::this_thread::sleep_for(5ms);
  CHECK(done == 0);
  release = true;
  stopper.join();
  CHECK(done == 3);
  CHECK(runtime.stats().goroutines == 0);
}

TEST_CASE("stop waits for a goroutine inside blocking()") {
  std::atomic<bool> inside{false};
  std::atomic<bool> ended{false};
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    thrum::blocking([&] {
      inside = true;
      std::this_thread::sleep_for(20ms);
    });
    ended = true;
  });
  REQUIRE(eventually([&] { return inside.load(); }));
  runtime.stop();
  CHECK(ended);
}

TEST_CASE("waiting for a mutex is not cut short by stop") {
  std::atomic<bool> got_it{false};
  thrum::mutex mutex;
  mutex.lock();
  thrum::runtime runtime(support::environment_options());
  runtime.go([&] {
    const std::lock_guard lock(mutex);
    got_it = true;
  });
  REQUIRE(eventually([&] { return runtime.stats().waiting == 1; }));
  std::thread stopper([&] { runtime.stop(); });
  std::this_thread::sleep_for(5ms);
  CHECK_FALSE(got_it);
  mutex.unlock();
  stopper.join();
  CHECK(got_it);
}

TEST_CASE("destructors that run during stop may wait for other goroutines") {
  std::atomic<int> joined{0};
  {
    thrum::runtime runtime(support::environment_options());
    struct joins_at_end {
      std::atomic<int>& joined;
      thrum::join_handle<int> handle;
      ~joins_at_end() {
        handle = {};
        ++joined;
      }
    };
    for (int i = 0; i != 20; ++i) {
      runtime.go([&] {
        joins_at_end scope{joined, thrum::spawn([] {
                             thrum::sleep_for(1h);
                             return 1;
                           })};
        thrum::sleep_for(1h);
      });
    }
    REQUIRE(eventually([&] { return runtime.stats().waiting == 40; }));
  }
  CHECK(joined == 20);
}

TEST_CASE("stop may be called again and by several threads, and nothing starts afterwards") {
  thrum::runtime runtime(support::environment_options());
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i) {
    threads.emplace_back([&] { runtime.stop(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  runtime.stop();
  CHECK(is_usage_error("runtime::go", [&] { runtime.go([] {}); }));
  CHECK(is_usage_error("runtime::spawn", [&] { (void)runtime.spawn([] {}); }));
}

TEST_CASE("stop from one of the runtime's own goroutines is an error of use") {
  thrum::runtime runtime(support::environment_options());
  const std::string message =
      runtime.block_on([&] { return support::usage_message([&] { runtime.stop(); }); });
  CHECK(message.rfind("runtime::stop", 0) == 0);
}

TEST_CASE("a stop that meets goroutines on their way into and out of waits loses none") {
  for (int round = scaled(300, 30); round > 0; --round) {
    std::atomic<int> n{0};
    thrum::chan<int> ring(0);
    {
      thrum::runtime runtime(support::environment_options());
      for (int i = 0; i != 20; ++i) {
        runtime.go([&n, ring, i]() mutable {
          const alive here(n);
          for (unsigned k = 0;; ++k) {
            switch ((static_cast<unsigned>(i) + k) % 4) {
              case 0: ring.send(i); break;
              case 1: ring.recv(); break;
              case 2: thrum::sleep_for(std::chrono::microseconds(k % 20)); break;
              default: {
                int out = 0;
                ring.recv_for(out, 10us);
                thrum::this_goroutine::yield();
              }
            }
          }
        });
      }
      std::this_thread::sleep_for(std::chrono::microseconds(round * 7 % 500));
    }
    REQUIRE(n == 0);
  }
}
