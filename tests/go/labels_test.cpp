// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum.hpp>
#include <thrum/labels.hpp>

#include "support/dumped.hpp"
#include "support/test.hpp"
#include "support/with_runtime.hpp"

#include <cstdio>
#include <string>

IN_RUNTIME("goroutines inherit the labels that hold where they are started, and keep them",
           {.procs = 2}) {
  using thrum::this_goroutine::label;
  CHECK(label("tenant").empty());
  const auto go_on = thrum::make_chan<void>();
  thrum::join_handle<std::string> child;
  {
    const thrum::label_scope outer({{"tenant", "a"}, {"request", "1"}});
    {
      const thrum::label_scope inner({{"request", "2"}});
      CHECK(label("tenant") == "a");
      child = thrum::spawn([go_on] {
        go_on.recv();
        return thrum::spawn([] { return label("tenant") + label("request"); }).join();
      });
    }
    CHECK(label("request") == "1");
  }
  CHECK(label("tenant").empty());
  CHECK(thrum::spawn([] { return label("tenant"); }).join().empty());
  go_on.close();
  CHECK(child.join() == "a2");
}

IN_RUNTIME("labels and goroutine_locals of one goroutine do not get in each other's way",
           {.procs = 2}) {
  thrum::goroutine_local<int> number(1);
  *number = 2;
  const thrum::label_scope labels({{"key", "value"}});
  CHECK(*number == 2);
  thrum::spawn([&number] {
    CHECK(*number == 1);
    *number = 3;
    CHECK(thrum::this_goroutine::label("key") == "value");
  }).join();
  CHECK(*number == 2);
}

IN_RUNTIME("a dump shows the labels of each goroutine", {.procs = 2}) {
  const auto go_on = thrum::make_chan<void>();
  thrum::join_handle<void> child;
  {
    const thrum::label_scope labels({{"tenant", "a"}, {"request", "1"}});
    child = thrum::spawn({.name = "labelled"}, [go_on] { go_on.recv(); });
  }
  while (thrum::stats().waiting == 0) {
    thrum::this_goroutine::yield();
  }
  const std::string words = support::dumped([](std::FILE* to) { thrum::dump_goroutines(to); });
  INFO(words);
  CHECK(words.find("\"labelled\" {tenant=a, request=1}:\n") != std::string::npos);
  CHECK(words.find("} {") == std::string::npos);
  go_on.close();
  child.join();
}
