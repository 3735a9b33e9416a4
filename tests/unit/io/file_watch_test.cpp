// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/io/file_watch.hpp>

#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <filesystem>
#include <fstream>

using support::folder;
namespace fs = std::filesystem;
namespace io = thrum::io;
using change_kind = io::file_change::kind_type;

namespace {

/// What Windows does not tell apart.
constexpr change_kind attributes_changed =
    THRUM_OS_WINDOWS ? change_kind::modified : change_kind::attributes;

/// The next change of that kind of that path; a minute later, none.
bool hears(io::file_watch& watch, change_kind what, const fs::path& path) {
  watch.set_deadline(std::chrono::steady_clock::now() + support::long_time);
  std::error_code error;
  for (;;) {
    const io::file_change change = watch.next(error);
    if (error) {
      return false;
    }
    if (change.kind == what && fs::path(change.path) == path) {
      return true;
    }
  }
}

/// Calls f in a goroutine, with a folder and a watch of nothing yet; where the system has watches.
void with_watch(void (*f)(const folder&, io::file_watch&)) {
  with_runtime([f] {
    const folder here;
    std::error_code error;
    io::file_watch watch(error);
    if (error != std::errc::operation_not_supported && error != std::errc::function_not_supported) {
      REQUIRE_FALSE(error);
      f(here, watch);
    }  // else an emulator, or a system without one
  });
}

}  // namespace

TEST_CASE("a watch hears what is created, modified, renamed and removed in a directory") {
  with_watch([](const folder& here, io::file_watch& watch) {
    here.write("old", "x");
    watch.add((here / "").string());
    here.write("new", "text");
    CHECK(hears(watch, change_kind::created, here / "new"));
    CHECK(hears(watch, change_kind::modified, here / "new"));
    fs::permissions(here / "new", fs::perms::owner_read);
    CHECK(hears(watch, attributes_changed, here / "new"));
    fs::rename(here / "old", here / "other");
    CHECK(hears(watch, change_kind::removed, here / "old"));
    CHECK(hears(watch, change_kind::created, here / "other"));
    fs::remove(here / "other");
    CHECK(hears(watch, change_kind::removed, here / "other"));
    fs::create_directory(here / "inner");
    watch.set_deadline(thrum::time_point::max());
    const io::file_change made = watch.next();
    CHECK(made.is_directory);
    CHECK(fs::path(made.path) == here / "inner");
  });
}

TEST_CASE("a watch of several directories hears of all of them, many changes, and none twice") {
  with_watch([](const folder& here, io::file_watch& watch) {
    for (const char* const name : {"a", "b", "c"}) {
      fs::create_directory(here / name);
      watch.add((here / name).string());
    }
    watch.add((here / "a").string());
    std::map<fs::path, int> expected;
    for (int i = 0; i != 60; ++i) {
      const fs::path path = here / (i % 2 == 0 ? "a" : "b") / ("file" + std::to_string(i));
      std::ofstream(path) << "x";
      expected[path] = 1;
    }
    std::map<fs::path, int> created;
    std::error_code error;
    watch.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    while (created.size() != expected.size()) {
      const io::file_change change = watch.next(error);
      REQUIRE_FALSE(error);
      created[change.path] += change.kind == change_kind::created ? 1 : 0;
    }
    CHECK(created == expected);
  });
}

TEST_CASE("a watch hears what changes after the thread has ended that has added to it") {
  const folder here;
  std::error_code error;
  io::file_watch watch(error);
  if (error) {
    return;
  }
  std::thread([&] { watch.add((here / "").string()); }).join();
  here.write("new", "x");
  CHECK(hears(watch, change_kind::created, here / "new"));
}

TEST_CASE("changes that one look at the system brings go to all that wait, one to each") {
  // One processor: the files are all there before a waiter runs.
  with_runtime(support::with_procs(1), [] {
    const folder here;
    std::error_code error;
    io::file_watch watch(error);
    if (error) {
      return;
    }
    watch.add((here / "").string());
    watch.set_deadline(std::chrono::steady_clock::now() + support::long_time);
    constexpr int waiters = 3;
    std::vector<thrum::join_handle<std::error_code>> waiting;
    for (int i = 0; i != waiters; ++i) {
      waiting.push_back(thrum::spawn([&] {
        std::error_code result;
        watch.next(result);
        return result;
      }));
    }
    REQUIRE(are_waiting(waiters));
    for (int i = 0; i != waiters; ++i) {
      fs::create_directory(here / std::to_string(i));
    }
    for (thrum::join_handle<std::error_code>& each : waiting) {
      CHECK_FALSE(each.join());
    }
  });
}

#ifdef THRUM_MEMORY_PATH  // sanitizers have an operator new of their own
TEST_CASE("a change for which there is no memory is what the watch says next") {
  const auto result = support::run_file(THRUM_MEMORY_PATH, "hear_changes_without_memory");
  INFO(result.text);
  CHECK(result.exit_code == 0);
}
#endif

TEST_CASE("a watch hears no more of what was moved away, and may be given it again") {
  with_watch([](const folder& here, io::file_watch& watch) {
    for (const bool is_directory : {false, true}) {
      if (is_directory && THRUM_OS_WINDOWS) {
        continue;  // it does not say that a directory itself was moved
      }
      const std::string path = (here / "watched").string();
      const std::string elsewhere = (here / "elsewhere").string();
      is_directory ? void(fs::create_directory(path)) : here.write("watched", "x");
      watch.add(path);
      fs::rename(path, elsewhere);
      CHECK(hears(watch, change_kind::removed, path));
      is_directory ? here.write("elsewhere/file", "x") : here.write("elsewhere", "y");
      CHECK(error_of([&] { watch.remove(path); }) == std::errc::invalid_argument);
      // What has happened there until now is not heard of under either name.
      watch.add(elsewhere);
      is_directory ? here.write("elsewhere/other", "x") : here.write("elsewhere", "z");
      const io::file_change change = watch.next();
      CHECK(change.path == (is_directory ? (here / "elsewhere/other").string() : elsewhere));
      fs::remove_all(elsewhere);
      CHECK(hears(watch, change_kind::removed, elsewhere));
    }
  });
}

TEST_CASE("a watch of a file hears of that file alone, and of its end") {
  with_watch([](const folder& here, io::file_watch& watch) {
    here.write("file", "x");
    const std::string path = (here / "file").string();
    watch.add(path);
    here.write("unheard", "x");
    io::write_file(path, "y", {.append = true});
    const io::file_change change = watch.next();
    CHECK(change.kind == change_kind::modified);
    CHECK(change.path == path);
    fs::remove(path);
    CHECK(hears(watch, change_kind::removed, path));
    watch.set_deadline(std::chrono::steady_clock::now() + 1ms);
    CHECK(error_of([&] { watch.next(); }) == thrum::errc::deadline_exceeded);
    CHECK(error_of([&] { watch.remove(path); }) == std::errc::invalid_argument);  // not any more
  });
}

TEST_CASE("what is not watched any more is not heard, and what is not there cannot be watched") {
  with_watch([](const folder& here, io::file_watch& watch) {
    const std::string path = (here / "").string();
    watch.add(path);
    watch.remove(path);
    here.write("file", "x");
    watch.set_deadline(std::chrono::steady_clock::now() + 10ms);
    CHECK(error_of([&] { watch.next(); }) == thrum::errc::deadline_exceeded);
    CHECK(error_of([&] { watch.add((here / "none").string()); }) ==
          std::errc::no_such_file_or_directory);
    CHECK(error_of([&] { watch.remove(path); }) == std::errc::invalid_argument);
    io::file_watch moved = std::move(watch);
    CHECK(error_of([&] { moved.next(); }) == thrum::errc::deadline_exceeded);
    // NOLINTBEGIN(bugprone-use-after-move): that it is told is what is tested
    CHECK(error_of([&] { watch.next(); }) == std::errc::bad_file_descriptor);
    CHECK(error_of([&] { watch.add(path); }) == std::errc::bad_file_descriptor);
    // NOLINTEND(bugprone-use-after-move)
  });
}

TEST_CASE("a watch that is closed ends a wait, and so does the end of a runtime") {
  with_runtime([] {
    std::error_code error;
    io::file_watch watch(error);
    if (error) {
      return;
    }
    auto waiter = thrum::spawn([&] { return error_of([&] { watch.next(); }); });
    thrum::sleep_for(1ms);
    watch.close();
    CHECK(waiter.join() == std::errc::operation_canceled);
    CHECK(error_of([&] { watch.next(); }) == std::errc::operation_canceled);
    CHECK(error_of([&] { watch.add("."); }) == std::errc::operation_canceled);
  });
  bool unwound = false;
  {
    thrum::runtime runtime;
    runtime.go([&] {
      struct note {
        bool& to;
        ~note() { to = true; }
      } const at_end{unwound};
      std::error_code error;
      io::file_watch watch(error);
      watch.next(error);
    });
  }
  CHECK(unwound);
}

TEST_CASE("a stop ends the wait for a change, and the changes after it are still to come") {
  with_watch([](const folder& here, io::file_watch& watch) {
    watch.add((here / "").string());
    std::stop_source stop;
    auto waiter = thrum::spawn([&] {
      std::error_code cause;
      watch.next(stop.get_token(), cause);
      return cause;
    });
    thrum::sleep_for(1ms);
    stop.request_stop();
    CHECK(waiter.join() == std::errc::operation_canceled);
    here.write("new", "x");
    CHECK(error_of([&] { watch.next(stop.get_token()); }) == std::errc::operation_canceled);
    CHECK(fs::path(watch.next(thrum::context()).path) == here / "new");
  });
}

TEST_CASE("a watch that is made with a path hears of that, or says why not") {
  const folder here;
  with_runtime([&] {
    std::error_code error;
    io::file_watch watch((here / "").string(), error);
    if (error == std::errc::operation_not_supported || error == std::errc::function_not_supported) {
      return;  // an emulator, or a system without one
    }
    REQUIRE_FALSE(error);
    here.write("a", "text");
    CHECK(hears(watch, change_kind::created, here / "a"));
    const io::file_watch none((here / "none").string(), error);
    CHECK(error == std::errc::no_such_file_or_directory);
  });
}
