// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which close removes the file of a Unix listener, and when.
// Addresses of Unix sockets as the kernel takes and returns them.
// A resolver that never answers, and a program that ends meanwhile.

#include <thrum/net/endpoint.hpp>

#include "support/descriptors.hpp"
#include "support/folder.hpp"
#include "support/local_name.hpp"
#include "support/named_socket.hpp"
#include "support/process.hpp"
#include "support/program.hpp"
#include "support/test.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using thrum::net::endpoint;
using thrum::net::listener;
using namespace std::string_view_literals;
using thrum::net::address_family;

namespace {

int plain_connect(const endpoint& where) {
  const int fd = support::open_socket(AF_UNIX, SOCK_STREAM, support::waits::no);
  const int error = ::connect(fd, where.data(), where.size()) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

}  // namespace

TEST_CASE("the file of a Unix listener is removed before the listener stops answering", "[once]") {
  const support::folder folder;
  const std::string path = folder / "s";
  const endpoint where = endpoint::local(path);
  int left_behind = 0;
  for (int i = 0; i != support::scaled(300); ++i) {
    listener closing = listener::listen(where);
    std::atomic<bool> connected{false};
    std::thread successor([&] {
      int error;
      while ((error = plain_connect(where)) == 0 || error == EAGAIN) {
        connected = true;
      }
      // It would take a file that is there for a stale one, and put its own in the place.
      left_behind += error == ECONNREFUSED && ::access(path.c_str(), F_OK) == 0 ? 1 : 0;
    });
    while (!connected) {
      std::this_thread::yield();
    }
    closing.close();
    successor.join();
  }
  CHECK(left_behind == 0);
}

TEST_CASE("several threads close a Unix listener: none removes the file of the next one") {
  const support::folder folder;
  const std::string path = folder / "s";
  const endpoint where = endpoint::local(path);
  int lost = 0;
  for (int i = 0; i != support::scaled(300); ++i) {
    listener first = listener::listen(where);
    std::thread other([&] { first.close(); });
    first.close();
    listener second;
    std::error_code error;
    do {  // until the file is gone
      second = listener::listen(where, {}, error);
    } while (error == std::errc::address_in_use);
    other.join();
    lost += error || ::access(path.c_str(), F_OK) != 0 ? 1 : 0;
  }
  CHECK(lost == 0);
}

TEST_CASE("a Unix listener that closes leaves a successor's file of its name") {
  const support::folder folder;
  const std::string path = folder / "s";
  listener first = listener::listen(endpoint::local(path));
  REQUIRE(::unlink(path.c_str()) == 0);
  listener second = listener::listen(endpoint::local(path));
  first.close();
  CHECK(plain_connect(endpoint::local(path)) == 0);
  second.close();
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a Unix listener that closes in another working directory removes its own file") {
  const support::folder folder;
  folder.write("one/file", "x");
  folder.write("two/s", "somebody else's");
  const int before = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::chdir((folder / "one").c_str()) == 0);
  listener made = listener::listen(endpoint::local("s"));
  REQUIRE(::chdir((folder / "two").c_str()) == 0);
  made.close();
  REQUIRE(::fchdir(before) == 0);
  ::close(before);
  CHECK(::access((folder / "one/s").c_str(), F_OK) != 0);
  CHECK(::access((folder / "two/s").c_str(), F_OK) == 0);
}

TEST_CASE("a child process that closes a Unix listener leaves the file to its parent") {
  const support::folder folder;
  const std::string path = folder / "s";
  listener made = listener::listen(endpoint::local(path));
  const pid_t child = ::fork();
  if (child == 0) {
    support::end_with_parent();
    made.close();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(::access(path.c_str(), F_OK) == 0);
  listener moved = std::move(made);
  moved.close();
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("the kernel binds to the Unix address that data() gives, and returns the same") {
  const support::named_socket abstract(AF_UNIX);
  CHECK(abstract.name().family() == address_family::local);
  CHECK(abstract.name().path().empty());
  if (support::has_abstract_names) {
    const endpoint mine =
        endpoint::abstract(std::string("thrum\0"sv) + std::to_string(thrum::os::own_process()));
    REQUIRE(abstract.bind(mine));
    CHECK(abstract.name() == mine);
  }

  const support::folder folder;
  const endpoint file = endpoint::local((folder / "socket").string());
  const support::named_socket path(AF_UNIX);
  CHECK(path.bind(file));
  CHECK(path.name() == file);
}

TEST_CASE("dials of names whose servers are silent time out, hold few threads, and end with main") {
  const support::program_result r = support::run_program("silent_names");
  INFO(r.text);
  CHECK(r.exit_code == 0);
}
