// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Permissions, links, and files that the system makes up.
#include <thrum/io/whole_file.hpp>

#include <thrum/io/directory.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

#include <filesystem>

#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if THRUM_OS_LINUX
#include <sys/sysmacros.h>
#endif

using support::folder;
namespace fs = std::filesystem;
namespace io = thrum::io;

IN_RUNTIME("a file that is written atomically keeps its permissions, and a link stays one") {
  const folder here;
  here.write("target", "old");
  fs::permissions(here / "target",
                  fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("target", here / "link");
  io::write_file((here / "link").string(), "new", {.atomic = true});
  CHECK(fs::is_symlink(here / "link"));
  CHECK(io::read_file((here / "target").string()) == "new");
  CHECK(fs::status(here / "target").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  io::write_file((here / "private").string(), "x", {.atomic = true, .permissions = 0600});
  CHECK(fs::status(here / "private").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("an atomic write shows a private file to no other user, also if it does not complete") {
  const folder here;
  here.write("private", "old");
  REQUIRE(::chmod((here / "private").c_str(), 0600) == 0);
  const ::pid_t writer = ::fork();
  if (writer == 0) {  // is killed by its first byte
    ::signal(SIGXFSZ, SIG_DFL);
    const ::rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &none);
    io::write_file((here / "private").string(), "new", {.atomic = true});
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(writer, &status, 0) == writer);
  CHECK(WIFSIGNALED(status));
  int others = 0;
  for (const auto& each : fs::directory_iterator(here / "")) {
    CHECK(each.status().permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    others += each.path().filename() != "private" ? 1 : 0;
  }
  CHECK(others == 1);
  CHECK(io::read_file((here / "private").string()) == "old");
}

TEST_CASE("an atomic write drops the set-user-ID and set-group-ID bits") {
  const folder here;
  const std::string path = (here / "program").string();
  here.write("program", "old");
  const bool is_root = ::geteuid() == 0;
  const ::uid_t owner = is_root ? 1234 : ::geteuid();
  const ::gid_t group = is_root ? 2345 : ::getegid();
  REQUIRE(::chown(path.c_str(), owner, group) == 0);
  REQUIRE(::chmod(path.c_str(), 06751) == 0);
  io::write_file(path, "new", {.atomic = true});
  struct ::stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK(about.st_uid == owner);
  CHECK(about.st_gid == group);
  CHECK((about.st_mode & 07777) == 0751);
  CHECK(io::read_file(path) == "new");
}

TEST_CASE("a group that an atomic write cannot keep lends its permissions to no other group") {
  if (::geteuid() != 0) {
    return;  // only root can take rights off
  }
  const folder here;
  const std::string path = (here / "file").string();
  here.write("file", "old");
  REQUIRE(::chmod((here / "").c_str(), 0777) == 0);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const ::pid_t writer = ::fork();
  if (writer == 0) {
    constexpr ::uid_t somebody = 12345;
    std::error_code error;
    if (::setgroups(0, nullptr) == 0 && ::setgid(somebody) == 0 && ::setuid(somebody) == 0) {
      io::write_file(path, "new", {.atomic = true}, error);
    }
    ::_exit(error ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(writer, &status, 0) == writer);
  CHECK(status == 0);
  struct ::stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  CHECK(about.st_uid == 12345);
  CHECK((about.st_mode & 07777) == 0600);
}

IN_RUNTIME("an atomic write through a link that leads nowhere makes the file there") {
  const folder here;
  fs::create_directory(here / "folder");
  fs::create_symlink("folder/second", here / "first");
  fs::create_symlink("../target", here / "folder/second");
  io::write_file((here / "first").string(), "text", {.atomic = true});
  CHECK(fs::is_symlink(here / "first"));
  CHECK(fs::is_symlink(here / "folder/second"));
  CHECK(io::read_file((here / "target").string()) == "text");
  fs::create_symlink((here / "absolute").string(), here / "third");
  io::write_file((here / "third").string(), "text", {.atomic = true});
  CHECK(io::read_file((here / "absolute").string()) == "text");
  fs::create_symlink("loop", here / "loop");
  CHECK(support::error_of([&] {
          io::write_file((here / "loop").string(), "text", {.atomic = true});
        }) == std::errc::too_many_symbolic_link_levels);
  CHECK(fs::is_symlink(here / "loop"));
}

IN_RUNTIME("an atomic write replaces files, and nothing else") {
  const folder here;
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  // One of our own: a fault here must not cost the machine its devices.
  const bool has_device = ::mknod((here / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  fs::create_directory(here / "folder");
  const auto refusal = [&](const char* name) {
    const std::string path = *name != '\0' ? (here / name).string() : "";
    return support::error_of([&] { io::write_file(path, "text", {.atomic = true}); });
  };
  CHECK(refusal("fifo") == std::errc::operation_not_supported);
  if (has_device) {
    CHECK(refusal("device") == std::errc::operation_not_supported);
    CHECK(fs::is_character_file(here / "device"));
  }
  CHECK(refusal("folder") == std::errc::is_a_directory);
  CHECK(refusal("none/file") == std::errc::no_such_file_or_directory);
  CHECK(refusal("fifo/file") == std::errc::not_a_directory);
  CHECK(refusal("") == std::errc::no_such_file_or_directory);
  CHECK(refusal("folder/") == std::errc::is_a_directory);
  CHECK(fs::is_fifo(here / "fifo"));
  CHECK(io::read_directory((here / "").string()).size() == (has_device ? 3 : 2));
}

IN_RUNTIME("a name may be as long for an atomic write as for any other, and the umask holds") {
  const folder here;
  const std::string path = (here / std::string(255, 'n')).string();
  const ::mode_t before = ::umask(027);
  io::write_file(path, "one", {.atomic = true});
  ::umask(before);
  CHECK((fs::status(path).permissions() & fs::perms::mask) == static_cast<fs::perms>(0640));
  io::write_file(path, "two", {.atomic = true, .sync = true});
  CHECK(io::read_file(path) == "two");
  CHECK((fs::status(path).permissions() & fs::perms::mask) == static_cast<fs::perms>(0640));
}

IN_RUNTIME("a file whose size the system does not know is read to its end") {
  const folder here;
  const std::string path = (here / "fifo").string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  auto writer = thrum::spawn([&] { io::write_file(path, std::string(100'000, 'x')); });
  CHECK(io::read_file(path).size() == 100'000);
  writer.join();
  auto again = thrum::spawn([&] {
    std::error_code error;
    io::write_file(path, std::string(100'000, 'x'), {}, error);
  });
  CHECK(support::error_of([&] { io::read_file(path, 50'000); }) == std::errc::file_too_large);
  again.join();
}

TEST_CASE("reading a file that is larger than memory fails, and does not throw bad_alloc") {
  if (THRUM_ASAN || THRUM_TSAN) {
    return;  // their malloc ends the program
  }
  with_runtime([] {
    const folder here;
    const std::string path = (here / "sparse").string();
    here.write("sparse", "x");
    std::error_code too_large;
    fs::resize_file(path, std::uintmax_t{8} << 40, too_large);
    if (too_large) {
      return;  // for this file system
    }
    std::error_code error;
    CHECK(io::read_file(path, error).empty());
    CHECK((error == std::errc::not_enough_memory || sizeof(void*) == 4));
    CHECK(support::error_of([&] { io::read_file(path); }) == error);
    io::read_file(path, 10, error);
    CHECK(error == std::errc::file_too_large);
  });
}

IN_RUNTIME("directories know fifos and links, and a walk does not follow them") {
  const folder here;
  here.write("a/x", "x");
  fs::create_directory_symlink("a", here / "link");
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  const auto all = io::read_directory((here / "").string());
  REQUIRE(all.size() == 3);
  CHECK(all[1].kind == io::entry_kind::pipe);
  CHECK(all[2].kind == io::entry_kind::link);
  int seen = 0;
  for (io::directory_walk walk((here / "").string()); walk.next();) {
    ++seen;
  }
  CHECK(seen == 4);
  CHECK(io::read_directory("/dev").size() > 3);
}
