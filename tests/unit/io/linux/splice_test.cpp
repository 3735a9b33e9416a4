// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// io::copy between connections and pipes, whose bytes move inside the kernel where that can be done.

#include <thrum/io/copy.hpp>

#include "support/nameless_file.hpp"
#include "support/net.hpp"
#include "support/test.hpp"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace io = thrum::io;

namespace {

std::string bytes_to_splice(std::size_t n) {
  std::string bytes(n, '\0');
  std::uint32_t state = 7;
  for (char& each : bytes) {
    state = state * 1664525 + 1013904223;
    each = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// Descriptors of this process that are ends of pipes.
std::size_t open_pipes() {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code
        gone;  // the descriptor of the iterator itself, or one that was closed meanwhile
    n += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("pipe:") ? 1 : 0;
  }
  return n;
}

/// Sends through a copy from one stream to another, and looks at what arrives. `feed` is what the copy
/// reads from the other end of, `arrive` what it writes to.
template <class Feed, class From, class To, class Arrive>
bool passes_through_copy(Feed& feed, From& from, To& to, Arrive& arrive, const std::string& bytes) {
  auto copying = thrum::spawn([&] {
    const std::uint64_t n = io::copy(from, to);
    to.close();
    return n;
  });
  auto feeding = thrum::spawn([&] {
    std::string_view left = bytes;
    for (std::size_t n = 1; !left.empty(); n = n * 2 + 1) {  // little at first, then much
      feed.write(left.substr(0, n));
      left.remove_prefix(std::min(n, left.size()));
    }
    feed.write(std::string_view("and little again"));
    feed.close();
  });
  const std::string read = arrive.read_all();
  feeding.join();
  return copying.join() == read.size() && read == bytes + "and little again";
}

}  // namespace

IN_RUNTIME("copy between connections and pipes passes on all of it, however much at a time") {
  const std::string bytes = bytes_to_splice(5'000'000);
  {
    support::conn_pair in = support::tcp_pair();
    support::conn_pair out = support::tcp_pair();
    CHECK(passes_through_copy(in.client, in.server, out.client, out.server, bytes));
  }
  {
    support::conn_pair in = support::local_pair();
    support::conn_pair out = support::local_pair();
    CHECK(passes_through_copy(in.client, in.server, out.client, out.server, bytes));
  }
  {
    io::pipe in;
    support::conn_pair out = support::tcp_pair();
    CHECK(passes_through_copy(in.writer(), in.reader(), out.client, out.server, bytes));
  }
  {
    support::conn_pair in = support::tcp_pair();
    io::pipe out;
    CHECK(passes_through_copy(in.client, in.server, out.writer(), out.reader(), bytes));
  }
  {
    io::pipe in;
    io::pipe out;
    CHECK(passes_through_copy(in.writer(), in.reader(), out.writer(), out.reader(), bytes));
  }
}

IN_RUNTIME("copy moves bytes inside the kernel, once there are many, where the kernel can") {
  support::conn_pair in = support::tcp_pair();
  support::conn_pair out = support::tcp_pair();
  auto copying = thrum::spawn([&] { return io::copy(in.server, out.client); });
  // When it waits in a move, it has one pipe more. (Sockets of earlier tests may still be closed.)
  const std::size_t before = open_pipes();
  std::string read(std::size_t{1} << 20, '\0');
  auto reading = thrum::spawn([&] { return out.server.read_full(read); });
  in.client.write(bytes_to_splice(read.size()));
  CHECK(reading.join() == read.size());
  CHECK((read == bytes_to_splice(read.size())));
  CHECK(open_pipes() == before + (thrum::os::has_splice ? 2 : 0));
  in.client.close();
  CHECK(copying.join() == read.size());
  CHECK(open_pipes() == before);
}

TEST_CASE("of many long copies at once some get wide pipes, and all pass on what they read") {
  using thrum::io_detail::middle_pipe;
  with_runtime([] {
    constexpr std::size_t copies = middle_pipe::most_wide + 4;
    const std::string bytes = bytes_to_splice(3 * middle_pipe::most);
    std::vector<support::conn_pair> in;
    std::vector<support::conn_pair> out;
    for (std::size_t i = 0; i != copies; ++i) {
      in.push_back(support::tcp_pair());
      out.push_back(support::tcp_pair());
    }
    std::vector<thrum::join_handle<std::uint64_t>> copying;
    std::vector<thrum::join_handle<bool>> arriving;
    for (std::size_t i = 0; i != copies; ++i) {
      copying.push_back(thrum::spawn([&, i] { return io::copy(in[i].server, out[i].client); }));
      arriving.push_back(thrum::spawn([&, i] {
        std::string read(bytes.size(), '\0');
        return out[i].server.read_full(read) == read.size() && read == bytes;
      }));
      thrum::go([&, i] { in[i].client.write(bytes); });
    }
    for (auto& each : arriving) {
      CHECK(each.join());
    }
    CHECK(middle_pipe::wide() <= middle_pipe::most_wide);
    CHECK((middle_pipe::wide() > 0) == thrum::os::has_splice);
    for (std::size_t i = 0; i != copies; ++i) {
      in[i].client.close();
      CHECK(copying[i].join() == bytes.size());
    }
    CHECK(middle_pipe::wide() == 0);
  });
}

IN_RUNTIME("copy fails as reading or writing would, while it moves bytes") {
  const std::string bytes = bytes_to_splice(std::size_t{1} << 20);
  const auto moving = [&](auto disturb) {
    support::conn_pair in = support::tcp_pair();
    support::conn_pair out = support::tcp_pair();
    std::error_code error;
    auto feeding = thrum::spawn([&] {
      std::error_code over;
      while (!over) {
        in.client.write(bytes, over);
      }
    });
    auto copying = thrum::spawn([&] {
      io::copy(in.server, out.client, error);
      in.server.close();
      out.client.close();
    });
    std::string read(bytes.size(), '\0');
    CHECK(out.server.read_full(read) == read.size());
    disturb(in, out);
    copying.join();
    feeding.join();
    return error;
  };
  CHECK(support::is_cancelled(
      moving([](support::conn_pair&, support::conn_pair& out) { out.client.close(); })));
  CHECK(support::is_cancelled(moving([](support::conn_pair& in, support::conn_pair& out) {
    in.server.close();
    std::error_code error;
    out.server.read_all(error);  // until the copy has ended: it may wait for room
  })));
  CHECK(support::is_timeout(moving([](support::conn_pair&, support::conn_pair& out) {
    out.client.set_write_deadline(support::steady::now());
  })));
  const std::error_code gone =
      moving([](support::conn_pair&, support::conn_pair& out) { out.server.close(); });
  CHECK((gone == std::errc::broken_pipe || gone == std::errc::connection_reset));  // no signal
}

IN_RUNTIME("copy to what cannot be moved to writes what it has moved so far, and goes on") {
  const std::string bytes = bytes_to_splice(300'000);
  const int fd = support::open_nameless_file();
  REQUIRE(fd >= 0);
  const int kept = ::dup(fd);
  // Opened for appending: the system refuses to move bytes to it.
  ::fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
  io::pipe_writer appends{io::descriptor(fd, "splice_test")};
  support::conn_pair in = support::tcp_pair();
  auto feeding = thrum::spawn([&] {
    in.client.write(bytes);
    in.client.close();
  });
  CHECK(io::copy(in.server, appends) == bytes.size());
  feeding.join();
  std::string read(bytes.size() + 1, '\0');
  CHECK(::pread(kept, read.data(), read.size(), 0) == static_cast<ssize_t>(bytes.size()));
  read.pop_back();
  CHECK((read == bytes));
  ::close(kept);
}

IN_RUNTIME("a stop ends a copy inside the kernel, and what was counted arrives") {
  support::conn_pair in = support::tcp_pair();
  support::conn_pair out = support::tcp_pair();
  std::stop_source stop;
  auto feeding = thrum::spawn([&] {
    const std::string bytes = bytes_to_splice(1'000'000);
    std::error_code closed;
    while (!closed) {
      in.client.write(bytes, closed);
    }
  });
  auto copying = thrum::spawn([&] {
    std::error_code error;
    const std::uint64_t n = io::copy(in.server, out.client, stop.get_token(), error);
    out.client.close_write();
    in.server.close();
    return std::pair(n, error);
  });
  thrum::sleep_for(std::chrono::milliseconds(20));  // until nothing more goes into `out`
  stop.request_stop();
  const auto [n, error] = copying.join();
  CHECK(error == std::errc::operation_canceled);
  CHECK(out.server.read_all().size() == n);
  in.client.close();
  feeding.join();
}

IN_RUNTIME("a stop ends a copy inside the kernel that never waits long") {
  support::conn_pair in = support::tcp_pair();
  support::conn_pair out = support::tcp_pair();
  std::stop_source stop;
  auto feeding = thrum::spawn([&] {
    const std::string bytes = bytes_to_splice(1'000'000);
    std::error_code closed;
    while (!closed) {
      in.client.write(bytes, closed);
    }
  });
  auto arriving = thrum::spawn([&] {
    std::vector<std::byte> room(std::size_t{1} << 20);
    std::uint64_t sum = 0;
    while (const std::size_t n = out.server.read(std::span<std::byte>(room))) {
      sum += n;
      if (sum > 20'000'000) {
        stop.request_stop();
      }
    }
    return sum;
  });
  std::error_code error;
  const std::uint64_t n = io::copy(in.server, out.client, stop.get_token(), error);
  CHECK(error == std::errc::operation_canceled);
  out.client.close_write();
  in.server.close();
  CHECK(arriving.join() == n);
  in.client.close();
  feeding.join();
}
