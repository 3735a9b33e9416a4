// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/descriptor.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/with_runtime.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

using namespace std::chrono_literals;

TEST_CASE("a close that blocks leaves the processor to others") {
  support::with_runtime(support::with_procs(1), [] {
    // With io_uring the kernel may let another thread do it: see netpoll/io_uring.hpp.
    if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
      return;
    }
    auto listener = thrum::net::listener::listen("127.0.0.1:0");
    auto sender = thrum::net::dial(listener.local());
    const auto silent = listener.accept();
    sender.linger(1);  // close() waits a second for the peer, which reads nothing
    std::string more_than_fits;
    more_than_fits.resize(20'000'000);
    std::error_code error;
    sender.set_write_deadline(std::chrono::steady_clock::now() + 200ms);
    sender.write(more_than_fits, error);
    REQUIRE(error == std::errc::timed_out);
    std::atomic<int> others{0};
    std::atomic<bool> closed{false};
    auto counter = thrum::spawn([&] {
      while (!closed) {
        ++others;
        thrum::sleep_for(1ms);
      }
    });
    thrum::this_goroutine::yield();
    const auto start = std::chrono::steady_clock::now();
    sender.close();
    CHECK(std::chrono::steady_clock::now() - start > 500ms);
    CHECK(others > 3);
    closed = true;
    counter.join();
  });
}
