// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program that loses goroutines and prints which of them debug::leak_profile finds. Other tests in the process would
// leave words behind that hide some.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/debug/leaks.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

// Each lost goroutine is started outside of the frame that looks for leaks.

[[gnu::noinline]] void lose_senders(int n) {
  const thrum::chan<int> c(0);
  for (int i = 0; i != n; ++i) {
    thrum::go({.name = "lost sender"}, [c] { c.send(1); });
  }
}

[[gnu::noinline]] void lose_a_select() {
  const thrum::chan<int> a(0);
  const thrum::chan<int> b(1);
  thrum::go({.name = "lost select"}, [a, b] {
    thrum::select(thrum::on_recv(a, [](auto&&) {}), thrum::on_recv(b, [](auto&&) {}));
  });
}

[[gnu::noinline]] void lose_a_family() {
  thrum::go({.name = "lost parent"}, [] {
    const thrum::chan<int> c(0);
    auto child = thrum::spawn({.name = "lost child"}, [c] { c.recv(); });
    child.join();
  });
}

[[gnu::noinline]] void wait_for_nothing() {
  thrum::go({.name = "lost in nothing"}, [] { thrum::chan<int>().recv(); });
}

int leaks() {
  // A word that a dead handle has left behind may hide one of a kind, but not all.
  constexpr int of_each_kind = 8;
  constexpr unsigned lost = of_each_kind * 6 + 1;
  return thrum::run([] {
    for (int i = 0; i != of_each_kind; ++i) {
      lose_senders(3);
      lose_a_select();
      lose_a_family();
    }
    wait_for_nothing();
    while (thrum::stats().waiting < lost) {
      thrum::sleep_for(std::chrono::milliseconds(1));
    }
    const std::string found = thrum::debug::leak_profile(thrum::debug::profile_form::folded);
    std::fputs(found.c_str(), stdout);
  });
}

/// A call that has ended leaves words of the channel where the calls that search have their frames. Elsewhere one may stand
/// by chance, and hide one of three.
int one_leak() {
  return thrum::run([] {
    for (unsigned lost = 1; lost != 4; ++lost) {
      lose_senders(1);
      while (thrum::stats().waiting < lost) {
        thrum::sleep_for(std::chrono::milliseconds(1));
      }
      const std::string found = thrum::debug::leak_profile(thrum::debug::profile_form::folded);
      std::fputs(found.c_str(), stdout);
    }
  });
}

const programs::entry leaks_entries[] = {{"leaks", leaks}, {"one_leak", one_leak}};
const programs::group leaks_registered(leaks_entries);

}  // namespace
