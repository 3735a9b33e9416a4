// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The tests and examples of golang.org/x/sync/errgroup on task_group, re-created from their
// descriptions, without those that group_test and group_map_test hold. Where they differ: an error is an
// exception, which wait throws once, and a wait without one leaves the group's context as it is.

#include "support/test.hpp"


namespace {

/// What each goroutine of a group ends with: an error of this text; empty: none.
using group_errors = std::vector<std::string>;

void go_with(thrum::task_group& group, const std::string& error) {
  group.go([error] {
    if (!error.empty()) {
      throw std::runtime_error(error);
    }
  });
}

/// The text of the error that wait throws; empty: none.
std::string error_of_wait(thrum::task_group& group) {
  try {
    group.wait();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string first_of(const group_errors& errors) {
  for (const std::string& each : errors) {
    if (!each.empty()) {
      return each;
    }
  }
  return {};
}

const std::vector<group_errors> lists_of_errors = {
    {}, {""}, {"first"}, {"first", ""}, {"", "second"}, {"first", "", "second"}};

}  // namespace

IN_RUNTIME("errgroup: a group that has started nothing waits for nothing") {
  thrum::task_group group;
  group.wait();
  group.limit(0);
  group.wait();
  CHECK(group.limit() == 0);
  CHECK(group.try_go([] {}));
  group.wait();
}

IN_RUNTIME("errgroup: a group without a context reports each error to the wait that follows it") {
  for (const group_errors& errors : lists_of_errors) {
    thrum::task_group group;
    for (const std::string& error : errors) {
      go_with(group, error);
      CHECK(error_of_wait(group) == error);
      CHECK(error_of_wait(group).empty());
    }
  }
}

IN_BUBBLE("errgroup: a group's context is done if one of them fails, and only then") {
  for (const group_errors& errors : lists_of_errors) {
    thrum::task_group group(thrum::context::background());
    const thrum::context own = group.context();
    for (const std::string& error : errors) {
      go_with(group, error);
      thrum::testing::wait();
    }
    const std::string expected = first_of(errors);
    CHECK(own.cancelled() == !expected.empty());
    CHECK(error_of_wait(group) == expected);
  }
}

IN_BUBBLE("errgroup: wait reports the first of several errors, the context is done with it") {
  for (const int first : {0, 1, 2}) {
    thrum::task_group group(thrum::context::background());
    const thrum::context own = group.context();
    for (int i = 0; i != 3; ++i) {
      group.go([first, i] {
        thrum::sleep_for(i == first ? 1s : 2s);
        throw std::runtime_error(std::to_string(i));
      });
    }
    CHECK(error_of_wait(group) == std::to_string(first));
    CHECK(own.cancelled());
  }
}

IN_RUNTIME("errgroup: TryGo starts as many as the limit says, and more when they have ended") {
  thrum::task_group group;
  constexpr std::size_t limit = 42;
  group.limit(limit);
  thrum::chan<void> ends(0);
  const auto work = [&] { ends.recv(); };
  for (std::size_t i = 0; i != limit; ++i) {
    REQUIRE(group.try_go(work));
  }
  REQUIRE_FALSE(group.try_go(work));
  for (std::size_t i = 0; i != limit; ++i) {
    ends.send();
  }
  group.wait();
  CHECK(group.try_go([] {}));
  group.wait();
  group.limit(1);
  CHECK(group.try_go(work));
  CHECK_FALSE(group.try_go(work));
  ends.send();
  group.wait();
}

IN_RUNTIME("errgroup: Go never runs more at a time than the limit", with_procs(4)) {
  constexpr int limit = 10;
  thrum::task_group group(limit);
  std::atomic<int> active{0};
  std::atomic<int> excess{0};
  for (int i = 0; i != scaled(1'000); ++i) {
    group.go([&] {
      excess += ++active > limit ? 1 : 0;
      thrum::this_goroutine::yield();
      --active;
    });
  }
  group.wait();
  CHECK(excess == 0);
}

namespace {

/// One goroutine walks the items, twenty work on them, and the last of these ends the results.
std::map<int, std::size_t> digests_of(const std::vector<std::string>& files) {
  thrum::task_group group(thrum::context::background());
  const thrum::context own = group.context();
  const thrum::chan<int> paths(0);
  group.go([&] {
    bool called_off = false;
    for (std::size_t i = 0; i != files.size() && !called_off; ++i) {
      thrum::select(thrum::on_send(paths, static_cast<int>(i)),
                    thrum::on_recv(own.done(), [&] { called_off = true; }));
    }
    paths.close();
  });
  thrum::mutex lock;
  std::map<int, std::size_t> digests;
  for (int i = 0; i != 20; ++i) {
    group.go([&] {
      while (const auto path = paths.recv()) {
        const std::string& file = files[static_cast<std::size_t>(*path)];
        if (file.empty()) {
          throw std::runtime_error("cannot read");
        }
        const std::lock_guard guard(lock);
        digests[*path] = std::hash<std::string>()(file);
      }
    });
  }
  group.wait();
  return digests;
}

}  // namespace

IN_RUNTIME("errgroup: Pipeline: stages that end with the first error of any of them",
           with_procs(4)) {
  std::vector<std::string> files;
  for (int i = 0; i != 200; ++i) {
    files.push_back("text " + std::to_string(i));
  }
  const auto digests = digests_of(files);
  CHECK(digests.size() == files.size());
  CHECK(digests.at(7) == std::hash<std::string>()("text 7"));
  std::fill(files.begin() + 50, files.end(), std::string());  // enough to end every worker
  CHECK_THROWS_AS(digests_of(files), std::runtime_error);
}
