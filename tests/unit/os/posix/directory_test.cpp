// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/folder.hpp"

namespace os = thrum::os;
namespace fs = std::filesystem;
using support::folder;

namespace {

/// What take(to, room) writes, with room for all.
template <class Take>
std::string text_from(Take take) {
  char text[4096];
  const os::io_result length = take(text, sizeof text);
  return length < 0 ? "error " + std::to_string(-length)
                    : std::string(text, static_cast<std::size_t>(length));
}

/// Sets a variable of the environment, or takes it away; puts it back.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name); old != nullptr) {
      old_ = old;
      had_ = true;
    }
    set(value);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { set(had_ ? old_.c_str() : nullptr); }

 private:
  void set(const char* value) const {
    value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_);
  }

  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace

TEST_CASE(
    "a reader of a directory gives every name but the two of the directories, and what it is") {
  const folder here;
  here.write("file", "x");
  fs::create_directory(here / "directory");
  fs::create_directory_symlink("directory", here / "link");
  REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0);
  ::sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string socket_path = (here / "socket").string();
  REQUIRE(socket_path.size() < sizeof name.sun_path);
  std::memcpy(name.sun_path, socket_path.c_str(), socket_path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<const ::sockaddr*>(&name), sizeof name) == 0);
  std::map<std::string, os::entry_kind> found;
  os::directory_reader reader;
  REQUIRE(reader.open((here / "").c_str()) == 0);
  const char* each = nullptr;
  os::entry_kind kind{};
  while (reader.next(each, kind) == 1) {
    found[each] = kind;
  }
  ::close(socket);
  CHECK(found == std::map<std::string, os::entry_kind>{{"directory", os::entry_kind::directory},
                                                       {"file", os::entry_kind::file},
                                                       {"link", os::entry_kind::link},
                                                       {"pipe", os::entry_kind::pipe},
                                                       {"socket", os::entry_kind::socket}});
  os::directory_reader devices;
  REQUIRE(devices.open("/dev") == 0);
  bool has_null = false;
  while (devices.next(each, kind) == 1) {
    has_null = has_null || (std::strcmp(each, "null") == 0 && kind == os::entry_kind::device);
  }
  CHECK(has_null);
  os::directory_reader none;
  CHECK(none.open((here / "none").c_str()) == -ENOENT);
  CHECK(none.open((here / "file").c_str()) == -ENOTDIR);
}

TEST_CASE("a tree is removed to its last name, and what its links lead to is not") {
  const folder here;
  here.write("outside/file", "x");
  here.write("tree/a/b/file", "x");
  here.write("tree/a/other", "x");
  fs::create_directory_symlink("../outside", here / "tree/link");
  fs::create_symlink("nowhere", here / "tree/a/broken");
  REQUIRE(::mkfifo((here / "tree/pipe").c_str(), 0600) == 0);
  fs::path deep = here / "tree/deep";
  for (int i = 0; i != 300; ++i) {
    deep /= "d";
  }
  fs::create_directories(deep);
  CHECK(os::remove_tree((here / "tree").c_str()) == 0);
  CHECK_FALSE(fs::exists(here / "tree"));
  CHECK(fs::exists(here / "outside/file"));
  fs::create_directory_symlink("outside", here / "link");
  CHECK(os::remove_tree((here / "link").c_str()) == 0);
  CHECK_FALSE(fs::is_symlink(here / "link"));
  CHECK(fs::exists(here / "outside/file"));
  CHECK(os::remove_tree((here / "outside/file").c_str()) == 0);
  CHECK(fs::is_empty(here / "outside"));
  CHECK(os::remove_tree((here / "none").c_str()) == 0);
  CHECK(os::remove_tree((here / "none/below").c_str()) == 0);
}

TEST_CASE("a tree that is deeper than a path is long is removed with a few descriptors") {
  const folder here;
  const std::string name(200, 'd');
  int place = ::open((here / "").c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth != 100; ++depth) {
    REQUIRE(::mkdirat(place, name.c_str(), 0700) == 0);
    ::close(::openat(place, "file", O_CREAT | O_WRONLY, 0600));
    const int below = ::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY);
    ::close(place);
    place = below;
  }
  ::close(place);
  const ::pid_t remover = ::fork();
  if (remover == 0) {
    constexpr int most = 1024, kept = 3;
    for (int fd = kept; fd != most; ++fd) {
      ::close(fd);
    }
    ::rlimit few{};
    ::getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = kept + 20;
    ::setrlimit(RLIMIT_NOFILE, &few);
    ::_exit(os::remove_tree((here / name).c_str()) == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(remover, &status, 0) == remover);
  CHECK(status == 0);
  CHECK_FALSE(fs::exists(here / name));
  CHECK(fs::exists(here / "file"));
}

TEST_CASE("what cannot be removed stays, and the rest of its tree goes") {
  const folder here;
  here.write("tree/closed/file", "x");
  here.write("tree/open", "x");
  fs::create_directory(here / "tree/empty");
  REQUIRE(::chmod((here / "tree/empty").c_str(), 0) == 0);
  REQUIRE(::chmod((here / "tree/closed").c_str(), 0500) == 0);
  const bool is_root = ::geteuid() == 0;  // who may do everything
  const os::io_result result = os::remove_tree((here / "tree").c_str());
  CHECK(result == (is_root ? 0 : -EACCES));
  CHECK(fs::exists(here / "tree") == !is_root);
  CHECK_FALSE(fs::exists(here / "tree/open"));
  CHECK_FALSE(fs::exists(here / "tree/empty"));
  ::chmod((here / "tree/closed").c_str(), 0700);
}

TEST_CASE("a file gets another name, in place of one that is there") {
  const folder here;
  here.write("from", "new");
  here.write("to", "old");
  const std::string to = (here / "to").string();
  CHECK(os::rename_file((here / "from").c_str(), to.c_str()) == 0);
  CHECK_FALSE(fs::exists(here / "from"));
  CHECK(fs::file_size(to) == 3);
  CHECK(os::rename_file((here / "from").c_str(), to.c_str()) == -ENOENT);
}

TEST_CASE("the status of a name is that of a link, and tells one file from another") {
  const folder here;
  here.write("one", "x");
  here.write("two", "x");
  fs::create_symlink("one", here / "link");
  fs::create_hard_link(here / "one", here / "again");
  REQUIRE(::chmod((here / "one").c_str(), 0640) == 0);
  const auto status = [&](const char* name) {
    os::file_status found;
    CHECK(os::status_of_name((here / name).c_str(), found) == 0);
    return found;
  };
  CHECK(status("one").permissions == 0640);
  CHECK(status("one").owner == ::geteuid());
  CHECK(status("one").is_same_file(status("again")));
  CHECK_FALSE(status("one").is_same_file(status("two")));
  CHECK(status("link").kind == os::entry_kind::link);
  CHECK(status(".").kind == os::entry_kind::directory);
  os::file_status none;
  CHECK(os::status_of_name((here / "none").c_str(), none) == -ENOENT);
  CHECK(os::status_of(-1, none) == -EBADF);
  CHECK(os::sync_directory((here / "").c_str()) == 0);
  CHECK(os::sync_directory((here / "none").c_str()) == -ENOENT);
}

TEST_CASE("a link says where it leads, and is written only where that fits") {
  const folder here;
  here.write("file", "x");
  fs::create_symlink("nowhere", here / "link");
  const auto link = [&](const char* name) {
    return text_from(
        [&](char* to, std::size_t room) { return os::read_link((here / name).c_str(), to, room); });
  };
  CHECK(link("link") == (here / "nowhere").string());
  fs::create_symlink("/nowhere", here / "absolute");
  CHECK(link("absolute") == "/nowhere");
  CHECK(link("file").empty());
  CHECK(link("none").empty());
  CHECK(link("file/below") == "error " + std::to_string(ENOTDIR));
  char small[2] = {'?', '?'};
  CHECK(os::read_link((here / "link").c_str(), small, sizeof small) ==
        static_cast<os::io_result>((here / "nowhere").string().size()));
  CHECK(small[0] == '?');
}

TEST_CASE("temporary files go where the environment says, or else to /tmp") {
  const auto place = [] {
    return text_from([](char* to, std::size_t room) { return os::temporary_path(to, room); });
  };
  const variable first("TMPDIR", "/one");
  const variable second("TMP", nullptr);
  const variable third("TEMP", nullptr);
  const variable fourth("TEMPDIR", nullptr);
  CHECK(place() == "/one");
  {
    const variable empty("TMPDIR", "");
    CHECK(place() == "/tmp");
  }
  const variable none("TMPDIR", nullptr);
  CHECK(place() == "/tmp");
  const variable other("TEMP", "/two");
  CHECK(place() == "/two");
}
