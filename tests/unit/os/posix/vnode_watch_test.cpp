// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a kqueue tells of files, without the rest of the library: on Linux over libkqueue
// (./dev test --target linux-kqueue vnode_watch). io/file_watch_test.cpp is about the whole.

#include <thrum/detail/base/config.hpp>

#if THRUM_POLLER_KQUEUE

#include <thrum/detail/os/bsd/vnode_watch.hpp>
#include <thrum/detail/os/os.hpp>

#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/waits.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace os = thrum::os;
namespace fs = std::filesystem;
using support::folder;

namespace {

/// A watch of what is told to it, and what it has heard: "+name", "-name", "*name", "!name", "." for the
/// end of a watch, "?" for a loss.
class heard_vnodes {
 public:
  heard_vnodes() : queue_(static_cast<os::handle>(watch_.open())) { REQUIRE(queue_ >= 0); }
  ~heard_vnodes() {
    watch_.close();
    os::close(queue_);
  }
  heard_vnodes(const heard_vnodes&) = delete;
  heard_vnodes& operator=(const heard_vnodes&) = delete;

  os::io_result add(const fs::path& path) { return watch_.add(queue_, path.string().c_str()); }
  os::io_result remove(os::io_result number) {
    return watch_.remove(queue_, static_cast<int>(number));
  }

  /// Whether it is told now, or before long; what came before it is forgotten.
  bool hears(const std::string& change) {
    const auto end = std::chrono::steady_clock::now() + support::long_time;
    do {
      read();
      if (const std::size_t at = heard_.find(change + "\n"); at != std::string::npos) {
        heard_.erase(0, at + change.size() + 1);
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  /// All that it has heard, and hears in a short time.
  std::string rest() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    read();
    return std::exchange(heard_, {});
  }

 private:
  void read() {
    std::byte buffer[1024];
    os::io_result n = 0;
    while ((n = watch_.read(queue_, buffer, sizeof buffer)) > 0) {
      for (const std::byte* at = buffer; at != buffer + n;) {
        os::file_change_seen seen;
        at = os::vnode_watch::take_change(at, seen);
        heard_ += seen.is_lost          ? '?'
                  : seen.is_last        ? '.'
                  : seen.is_created     ? '+'
                  : seen.is_removed     ? '-'
                  : seen.is_modified    ? '*'
                  : seen.has_attributes ? '!'
                                        : ' ';
        heard_ += seen.name;
        heard_ += seen.is_directory ? "/\n" : "\n";
      }
    }
    CHECK((n == os::would_block || n == os::interrupted));
  }

  os::vnode_watch watch_;
  os::handle queue_;
  std::string heard_;
};

void add_to_file(const fs::path& path) { std::ofstream(path, std::ios::app) << "more"; }

}  // namespace

TEST_CASE("a kqueue reports the names that come and go in a directory") {
  const folder here;
  here.write("old", "x");
  heard_vnodes watch;
  REQUIRE(watch.add(here / "") > 0);
  here.write("new", "");
  CHECK(watch.hears("+new"));
  fs::create_directory(here / "inner");
  CHECK(watch.hears("+inner/"));
  fs::rename(here / "old", here / "other");
  CHECK(watch.hears("-old"));
  CHECK(watch.hears("+other"));
  fs::remove(here / "other");
  CHECK(watch.hears("-other"));
  fs::remove(here / "inner");
  CHECK(watch.hears("-inner/"));
}

TEST_CASE("a kqueue reports writes to files in a directory, old ones and new ones") {
  const folder here;
  here.write("old", "x");
  heard_vnodes watch;
  REQUIRE(watch.add(here / "") > 0);
  add_to_file(here / "old");
  CHECK(watch.hears("*old"));
  here.write("new", "");
  CHECK(watch.hears("+new"));
  add_to_file(here / "new");
  CHECK(watch.hears("*new"));
  fs::rename(here / "new", here / "newer");
  CHECK(watch.hears("+newer"));
  add_to_file(here / "newer");
  CHECK(watch.hears("*newer"));
  fs::permissions(here / "old", fs::perms::owner_read);
  CHECK(watch.hears("!old"));
  here.write("full", "text");
  CHECK(watch.hears("+full"));
  CHECK(watch.hears("*full"));
}

TEST_CASE("a kqueue reports changes of a watched file, and its end") {
  const folder here;
  here.write("file", "x");
  heard_vnodes watch;
  REQUIRE(watch.add(here / "file") > 0);
  here.write("unheard", "x");
  add_to_file(here / "file");
  CHECK(watch.hears("*"));
  fs::remove(here / "file");
  CHECK(watch.hears("-"));
  CHECK(watch.hears("."));
  here.write("file", "x");
  CHECK(watch.rest().empty());
}

TEST_CASE("a kqueue reports the end of a watched directory, and to that watch alone") {
  const folder here;
  fs::create_directory(here / "a");
  fs::create_directory(here / "b");
  heard_vnodes watch;
  const os::io_result first = watch.add(here / "a");
  CHECK(watch.add(here / "a" / "") == first);
  const os::io_result second = watch.add(here / "b");
  CHECK(second != first);
  if (THRUM_OS_LINUX) {
    // There inotify tells of a removed directory when nobody has it open any more.
    fs::rename(here / "a", here / "c");
  } else {
    fs::remove(here / "a");
  }
  CHECK(watch.hears("-/"));
  CHECK(watch.hears("."));
  CHECK(watch.remove(first) == os::invalid);
  CHECK(watch.remove(second) == 0);
  here.write("b/file", "x");
  CHECK(watch.rest().empty());
  CHECK(watch.add(here / "none") < 0);
}

TEST_CASE("a kqueue reports many names that come at once, each once, in any number of pieces") {
  const folder here;
  heard_vnodes watch;
  REQUIRE(watch.add(here / "") > 0);
  constexpr int files = 100;
  for (int i = 0; i != files; ++i) {
    here.write("a-file-with-a-name-that-is-not-short-" + std::to_string(i), "");
  }
  std::string all;
  for (int i = 0; i != 100 && all.find("-99\n") == std::string::npos; ++i) {
    all += watch.rest();
  }
  all += watch.rest();
  for (int i = 0; i != files; ++i) {
    const std::string name = "+a-file-with-a-name-that-is-not-short-" + std::to_string(i) + "\n";
    CHECK(all.find(name) != std::string::npos);
    CHECK(all.find(name) == all.rfind(name));
  }
}

TEST_CASE("names for which a kqueue lacks descriptors are reported as a loss, and come later") {
  const folder here;
  const folder elsewhere;
  elsewhere.write("file", "x");
  heard_vnodes watch;
  REQUIRE(watch.add(here / "") > 0);
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int free = ::dup(0);
  ::close(free);
  ::rlimit none = before;
  none.rlim_cur = static_cast<::rlim_t>(free);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  fs::rename(elsewhere / "file", here / "file");
  CHECK(watch.hears("?"));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  fs::create_directory(here / "inner");
  CHECK(watch.hears("+file"));
  add_to_file(here / "file");
  CHECK(watch.hears("*file"));
}

#endif  // THRUM_POLLER_KQUEUE
