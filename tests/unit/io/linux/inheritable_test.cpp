// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a child inherits that is started while another thread opens something.

#include <thrum/io/directory.hpp>
#include <thrum/io/file_watch.hpp>
#include <thrum/io/pseudo_terminal.hpp>
#include <thrum/io/temporary.hpp>
#include <thrum/io_uring.hpp>

#include "support/folder.hpp"
#include "support/inheritable.hpp"
#include "support/process.hpp"
#include "support/test.hpp"

#include <csignal>
#include <cstdio>

#include <fcntl.h>

using support::folder;
namespace io = thrum::io;
namespace net = thrum::net;

namespace {

void open_files(const std::string& place) {
  const std::string path = place + "/file";
  io::write_file(path, "text");
  io::write_file(path, "text", {.atomic = true, .sync = true});
  io::read_file(path);
  const auto file = io::file::open(path);
  const auto direct = io::file::open(path, O_RDWR, 0600);
  io::read_directory(place);
  for (io::directory_walk walk("/proc/self/fdinfo"); walk.next();) {
  }
  const auto temporary = io::temporary_file::make();
  const auto directory = io::temporary_directory::make();
  io::write_file(directory / "file", "text");
  io::file_watch watch;
  watch.add(place);
}

void fill_pipes() {
  io::pipe pipe;
  io::pipe other;
  auto mover = thrum::spawn([&] { io::copy(pipe.reader(), other.writer()); });
  pipe.write(std::string(60'000, 'x'));
  pipe.close_write();
  std::array<char, 4096> some{};
  for (std::size_t n = 0; n != 60'000;) {
    n += other.read(some);
  }
  mover.join();
  io::wait_writable(other.writer().native_handle());
  for (int i = 0; i != 10; ++i) {
    std::error_code none;
    const io::pseudo_terminal terminal(none);
  }
}

void start_children(const std::string& place) {
  std::error_code none;
  io::pseudo_terminal terminal(none);
  if (!none) {
    io::process::spawn({"true"}, {.terminal = &terminal}).wait();
  }
  io::process::spawn({"true"}, {.in = io::redirect::null(),
                                .out = io::redirect::to_file(place + "/out"),
                                .err = io::redirect::pipe()})
      .wait();
  io::pipe extra;
  io::process::spawn({"true"}, {.extra = {extra.writer().native_handle()}}).wait();
  io::process::spawn({"true"}).detach();
  io::exec({"cat"}, {.input = "text"});
}

void open_sockets(const std::string& place) {
  const auto serve = [](const net::endpoint& where) {
    net::listener listener = net::listener::listen(where);
    auto client = thrum::spawn([at = listener.local()] { return net::dial(at); });
    net::conn accepted = listener.accept();
    net::conn dialed = client.join();
    dialed.write("x");
    std::array<char, 1> one{};
    accepted.read(one);
  };
  serve(net::endpoint("127.0.0.1:0"));
  serve(net::endpoint::local(place + "/socket"));
  const auto bound = net::udp_socket::bind("127.0.0.1:0");
  const auto connected = net::udp_socket::connect("127.0.0.1:9");
  std::error_code none;
  net::resolve("localhost", "http", none);
}

}  // namespace

TEST_CASE("opens everything that can be opened, for the next one", "[.opens-all]") {
  with_runtime([] {
    const folder here;
    const std::string place = (here / "").string();
    open_files(place);
    fill_pipes();
    start_children(place);
    open_sockets(place);
    const io::signal_set signals{SIGUSR1};
    std::FILE* const to = std::fopen("/dev/null", "we");
    thrum::dump_goroutines(to);
    CHECK(std::fclose(to) == 0);
  });
}

TEST_CASE("no child inherits what another thread opens at the moment of its start", "[once]") {
  if (THRUM_ASAN || THRUM_TSAN) {
    return;  // its runtime opens files of its own
  }
  for (std::string poller : {"THRUM_POLLER=usual", "THRUM_POLLER=io_uring"}) {
    const support::inheritable_result result =
        support::inheritable_watch::run(support::own_program(), "[.opens-all]", poller.data());
    if (!result.is_traced) {
      return;
    }
    INFO(poller);
    CHECK(result.status == 0);
    CHECK(result.opened > 50);
    CHECK(result.found == std::vector<std::string>());
  }
}
