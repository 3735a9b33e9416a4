// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Descriptors, files, sockets, pipes and processes of a system's layer without the rest of the
// library: chosen_io.hpp asserts that the contract's concepts hold, and a run uses each of them.
// Exits with 0 if all of it did what the contract says.
#include "../ports/chosen_io.hpp"

#include <cstdio>
#include <cstring>

namespace {

namespace os = thrum::os;

int failed = 0;

void check(bool holds, const char* what) {
  if (!holds) {
    std::printf("failed: %s\n", what);
    ++failed;
  }
}

void use_pipes() {
  os::handle ends[2];
  char one = 0;
  check(os::open_pipe(ends) == 0, "open_pipe");
  check(os::read(ends[0], &one, 1) == os::would_block, "a read of an empty pipe would block");
  check(os::write_without_signal(ends[1], "x", 1) == 1, "write_without_signal");
  check(os::read(ends[0], &one, 1) == 1 && one == 'x', "read");
  os::close(ends[0]);
  check(os::error_code_of(os::write_without_signal(ends[1], "x", 1)) == std::errc::broken_pipe,
        "a pipe without a reader is an error, and no signal");
  os::close(ends[1]);
}

void use_sockets() {
  os::handle pair[2];
  char room[8] = {};
  check(os::open_socket_pair(SOCK_DGRAM, pair) == 0, "open_socket_pair");
  check(os::socket_family(pair[0]) == AF_UNIX, "socket_family");
  os::piece piece = os::piece_of("whole", 5);
  os::message sent;
  sent.set_pieces(&piece, 1);
  check(os::send_messages(pair[0], &sent, 1) == 1, "send_messages");
  check(os::receive_from(pair[1], room, 2, nullptr, nullptr) > 2, "what did not fit is told");
  check(os::send(pair[0], "y", 1) == 1 && os::receive(pair[1], room, sizeof room) == 1, "send");
  os::close(pair[0]);
  os::close(pair[1]);

  const os::handle listener = os::handle_of(os::open_socket(AF_INET, SOCK_STREAM, 0));
  ::sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<::sockaddr*>(&at);
  ::socklen_t size = sizeof at;
  check(os::bind(listener, name, size) == 0 && os::listen(listener, 1) == 0 &&
            os::socket_name(listener, false, name, size) == 0,
        "bind and listen");
  check(os::accept(listener) == os::would_block, "an accept without a peer would block");
  const os::handle client = os::handle_of(os::open_socket(AF_INET, SOCK_STREAM, 0));
  check(os::set_keep_alive(client, true, {15, 15, 9}) >= 0, "set_keep_alive");
  os::io_result state = os::connect(client, name, size);
  while (state == os::in_progress && os::wait_for(client, true, 1000) == 1) {
    state = os::connection_state(client);
  }
  check(state == 0, "connect");
  check(os::wait_for(listener, false, 1000) == 1, "wait_for");
  const os::handle server = os::handle_of(os::accept(listener));
  check(os::is_handle(server), "accept");
  const os::handle file = os::handle_of(os::open_file("/bin/sh", os::open_mode::read, 0));
  const os::io_result moved = os::send_file(client, file, 1, 3);
  check(moved == 3 || os::cannot_send_file(moved), "send_file");
  for (const os::handle each : {listener, client, server, file}) {
    os::close(each);
  }
}

void use_processes() {
  char name[] = "sh";
  char option[] = "-c";
  char script[] = "exit 3";
  char* const arguments[] = {name, option, script, nullptr};
  os::spawn_request request;
  request.arguments = arguments;
  const os::io_result pid = os::spawn(request);
  check(pid > 0, "spawn");
  const os::io_result child = os::open_process(pid);
  os::child_watch watch;
  if (child >= 0 && watch.open() == 0) {
    void* found = nullptr;
    check(watch.add(os::handle_of(child), &failed) == 0, "watch a child");
    while (watch.sleep(&found, 1, -1) == 0) {
    }
    check(found == &failed, "the watch tells which child has ended");
    watch.remove(os::handle_of(child));
    watch.wake();
    check(watch.sleep(&found, 1, -1) == 0, "a watch that is woken finds nobody");
    watch.close();
  }
  os::process_end end;
  const os::handle handle = child >= 0 ? os::handle_of(child) : os::no_handle;
  check(os::wait_process(pid, handle, true, false, end) == 0, "wait_process without reaping");
  check(os::wait_process(pid, handle, true, true, end) == 0 && end.code == 3 && end.signal == 0,
        "wait_process");
  if (handle != os::no_handle) {
    os::close(handle);
  }
}

}  // namespace

int main() {
  use_pipes();
  use_sockets();
  use_processes();
  std::puts(failed == 0 ? "ok" : "not ok");
  return failed == 0 ? 0 : 1;
}
