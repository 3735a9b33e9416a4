// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Handlers of signals that call each other, in whatever order they were installed.

#include <thrum/detail/os/posix/caught_signals.hpp>
#include <thrum/detail/os/posix/handler_chain.hpp>

#include "support/test.hpp"

#include <csetjmp>
#include <csignal>
#include <initializer_list>

#include <signal.h>

namespace {

using thrum::os::handler_chain;

/// Where each of them has run, in order. A handler that goes round stops at some point, so that the
/// test can say so.
struct chain_log {
  char text[64] = {};
  std::size_t size = 0;
  bool add(char who) {
    if (size + 1 >= sizeof text) {
      return false;
    }
    text[size++] = who;
    return true;
  }
  std::string take() {
    const std::string all(text, size);
    size = 0;
    return all;
  }
} chain_calls;

/// A handler that calls the handler that was there before it.
template <char Name>
struct polite {
  static inline struct sigaction before = {};
  static void handle(int number, siginfo_t* info, void* context) {
    if (!chain_calls.add(Name)) {
      return;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(number);
    }
  }
  static void install(int number) {
    struct sigaction own {};
    own.sa_sigaction = &handle;
    own.sa_flags = SA_SIGINFO;
    sigaction(number, &own, &before);
  }
};

/// What this library does, twice: as two copies of it in one process would.
template <int Which>
struct copy_of_ours {
  static inline handler_chain others;
  static void handle(int number, siginfo_t* info, void* context) {
    if (chain_calls.add(Which == 0 ? '0' : '1')) {
      others.pass_on(number, info, context);
    }
  }
  static void install(int number) {
    struct sigaction found {};
    sigaction(number, nullptr, &found);
    if ((found.sa_flags & SA_SIGINFO) == 0 || found.sa_sigaction != &handle) {
      others.found(found);
      struct sigaction own {};
      own.sa_sigaction = &handle;
      own.sa_flags = SA_SIGINFO;
      sigaction(number, &own, nullptr);
    }
  }
};

struct action_put_back {
  explicit action_put_back(int n) : number(n) { sigaction(number, nullptr, &action); }
  ~action_put_back() { sigaction(number, &action, nullptr); }
  action_put_back(const action_put_back&) = delete;
  action_put_back& operator=(const action_put_back&) = delete;
  int number;
  struct sigaction action {};
};

}  // namespace

TEST_CASE("a handler that calls ours is called once, though ours is put on top of it") {
  const action_put_back kept(SIGURG);
  std::signal(SIGURG, SIG_DFL);
  thrum::os::install_preempt_handler();
  polite<'a'>::install(SIGURG);
  thrum::os::install_preempt_handler();
  chain_calls.take();
  std::raise(SIGURG);
  CHECK(chain_calls.take() == "a");
}

TEST_CASE("each handler gets a signal once, the latest first, and the one from before us last") {
  const action_put_back kept(SIGUSR2);
  using ours = copy_of_ours<0>;
  std::signal(SIGUSR2, [](int) { chain_calls.add('z'); });
  ours::install(SIGUSR2);
  polite<'b'>::install(SIGUSR2);
  ours::install(SIGUSR2);
  polite<'c'>::install(SIGUSR2);
  ours::install(SIGUSR2);
  for (int i = 0; i != 2; ++i) {
    std::raise(SIGUSR2);
    CHECK(chain_calls.take() == "0c0b0z");
  }
  struct sigaction again {};
  again.sa_sigaction = &polite<'b'>::handle;
  again.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &again, nullptr);
  ours::install(SIGUSR2);
  std::raise(SIGUSR2);
  CHECK(chain_calls.take() == "0b0c0z");
  std::signal(SIGUSR2, SIG_IGN);
  ours::install(SIGUSR2);
  std::raise(SIGUSR2);
  CHECK(chain_calls.take() == "0");
}

TEST_CASE("two copies of the library whose handlers are on top in turn call each other few times") {
  const action_put_back kept(SIGUSR1);
  polite<'d'>::install(SIGUSR1);
  for (int i = 0; i != 5; ++i) {
    copy_of_ours<0>::install(SIGUSR1);
    copy_of_ours<1>::install(SIGUSR1);
  }
  chain_calls.take();
  std::raise(SIGUSR1);
  CHECK(chain_calls.take().size() < 10);
}

namespace {

/// Where the handler that jumps jumps to, and whether that frame is there. The handler stays in the
/// process's chain when the test is over, and a stray signal may come to it.
sigjmp_buf chain_way_out;
volatile std::sig_atomic_t chain_has_way_out = 0;

}  // namespace

TEST_CASE("a handler that jumps out of a signal gets the next one, too") {
  const action_put_back kept(SIGURG);
  std::signal(SIGURG, [](int) {
    if (chain_has_way_out != 0) {
      chain_has_way_out = 0;
      chain_calls.add('j');
      siglongjmp(chain_way_out, 1);
    }
  });
  thrum::os::install_preempt_handler();
  chain_calls.take();
  for (static int i = 0; i != 3; ++i) {
    if (sigsetjmp(chain_way_out, 1) == 0) {
      chain_has_way_out = 1;
      std::raise(SIGURG);
    }
  }
  CHECK(chain_calls.take() == "jjj");
}

TEST_CASE("a handler of SIGQUIT that was installed over ours stays after the last listener") {
  const action_put_back kept(SIGQUIT);
  std::signal(SIGQUIT, [](int) { chain_calls.add('z'); });
  int owner = 0;
  for (int i = 0; i != 2; ++i) {
    REQUIRE(thrum::os::quit_listener::open([](void*) noexcept { chain_calls.add('q'); }, &owner));
    std::raise(SIGQUIT);
    CHECK(chain_calls.take() == "q");
    polite<'e'>::install(SIGQUIT);
    std::raise(SIGQUIT);
    CHECK(chain_calls.take() == "eq");
    thrum::os::quit_listener::close(&owner);
    std::raise(SIGQUIT);
    CHECK(chain_calls.take() == "e");
    sigaction(SIGQUIT, &polite<'e'>::before, nullptr);  // and it goes, as it came
    REQUIRE(thrum::os::quit_listener::open([](void*) noexcept { chain_calls.add('q'); }, &owner));
    thrum::os::quit_listener::close(&owner);
    std::raise(SIGQUIT);
    CHECK(chain_calls.take() == "z");
  }
}

TEST_CASE("an unclaimed signal takes its old course, although a library put our handler back") {
  const action_put_back kept(SIGUSR2);
  std::signal(SIGUSR2, [](int) { chain_calls.add('z'); });
  std::optional<thrum::io::signal_set> first(std::in_place, std::initializer_list<int>{SIGUSR2});
  polite<'f'>::install(SIGUSR2);
  first.reset();
  sigaction(SIGUSR2, &polite<'f'>::before, nullptr);  // ours, which nobody wants
  { const thrum::io::signal_set second{SIGUSR2}; }
  chain_calls.take();
  std::raise(SIGUSR2);
  CHECK(chain_calls.take() == "z");
}
