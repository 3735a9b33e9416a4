// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/descriptor.hpp>

#include "support/net.hpp"
#include "support/test.hpp"

IN_RUNTIME("a close that blocks leaves the processor to others", support::with_procs(1)) {
  // With io_uring the kernel may let another thread do it: see netpoll/io_uring.hpp.
  if (thrum::runtime::current()->poller() == thrum::poller_kind::io_uring) {
    return;
  }
  auto listener = thrum::net::listener::listen("127.0.0.1:0");
  auto sender = thrum::net::dial(listener.local());
  auto silent = listener.accept();
  support::fill(sender);
  sender.linger(60);  // close() waits so long for the peer, which reads nothing
  constexpr int enough = 5;
  std::atomic<int> others{0};
  std::atomic<bool> closing{false};
  std::atomic<bool> closed{false};
  auto counter = thrum::spawn([&] {
    while (!closed && others != enough) {
      others += closing ? 1 : 0;
      thrum::sleep_for(1ms);
    }
    silent.linger(0);
    silent.close();  // a reset, which ends the other close
  });
  thrum::this_goroutine::yield();
  closing = true;
  sender.close();
  CHECK(others == enough);
  closed = true;
  counter.join();
}
