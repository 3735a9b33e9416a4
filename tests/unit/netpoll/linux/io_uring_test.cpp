// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a ring promises besides what every poller does (poller_test.cpp). Where the system gives
// none, there is nothing to be seen.

#include <thrum/detail/netpoll/io_uring.hpp>

#include <thrum/detail/netpoll/netpoll.hpp>
#include <thrum/io_uring.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/nameless_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using thrum::netpoll::io_uring;
using thrum::netpoll::operation;

struct told {
  std::uint64_t tag;
  std::uint32_t events;
};

struct listening_sink : thrum::netpoll::sink {
  listening_sink() : thrum::netpoll::sink{&take, nullptr} {}
  std::vector<told> all;
  static void take(thrum::netpoll::sink& self, std::uint64_t tag, std::uint32_t events) noexcept {
    static_cast<listening_sink&>(self).all.push_back({tag, events});
  }
};

struct noted_operation : operation {
  noted_operation() {
    finish = [](operation& self, thrum::netpoll::sink&, std::int64_t how) noexcept {
      auto& own = static_cast<noted_operation&>(self);
      own.result = how;
      ++own.ends;
    };
  }
  noted_operation(kind_type of, int handle, void* to, std::size_t n) : noted_operation() {
    kind = of;
    fd = handle;
    data = to;
    size = n;
  }
  std::int64_t result = 0;
  int ends = 0;
};

/// Two ends of a stream and a ring that knows the first.
struct ring_and_pair {
  ring_and_pair() {
    is_there = ring.open() == 0;
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    ring.add(fds[0], tag);
  }
  ~ring_and_pair() {
    ::close(fds[0]);
    ::close(fds[1]);
  }
  void send(std::string_view text) const {
    REQUIRE(::write(fds[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  /// Until something is told, or for a while.
  const std::vector<told>& poll(std::int64_t delay_ns) {
    heard.all.clear();
    ring.poll(delay_ns, heard);
    return heard.all;
  }
  static constexpr std::uint64_t tag = std::uint64_t{7} << 32 | 1;
  static constexpr std::int64_t second = 1'000'000'000;
  io_uring ring;
  listening_sink heard;
  bool is_there = false;
  int fds[2];
};

/// Calls f with a ring, where the system has any.
void with_ring(void (*f)(ring_and_pair&)) {
  ring_and_pair one;
  if (one.is_there) {
    f(one);
  }
}

constexpr std::uint32_t readable_answer = thrum::netpoll::readable | thrum::netpoll::asked_readable;

constexpr unsigned setup_call = 425;
constexpr unsigned enter_call = 426;

/// From now on `action` answers this thread's calls of that number; false: an emulator has no filters.
bool filter_call(unsigned number, std::uint32_t action, long* listener = nullptr) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog all = {4, program};
  const bool tells = listener != nullptr;
  const long result = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                          ? -1
                          : ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      tells ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0UL, &all);
  if (tells) {
    *listener = result;
  }
  return result >= 0;
}

/// Answers for a kernel before 5.19: one that knows no flag of setup but the size of the second
/// queue refuses the first question and takes the next. How many were refused.
int be_an_older_kernel(int listener) {
  constexpr std::uint32_t known = 1U << 3;
  for (int refused = 0;;) {
    seccomp_notif question{};
    if (::syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
      if (errno != EINTR && errno != ENOENT) {
        return -1;
      }
      continue;
    }
    std::uint32_t flags = 0;  // the third word of the parameters
    std::memcpy(&flags,
                reinterpret_cast<const char*>(static_cast<std::uintptr_t>(question.data.args[1])) +
                    2 * sizeof(flags),
                sizeof(flags));
    seccomp_notif_resp answer{};
    answer.id = question.id;
    const bool refuses = (flags & ~known) != 0;
    answer.error = refuses ? -EINVAL : 0;
    answer.flags = refuses ? 0U : unsigned{SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (::syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0) {
      continue;  // who has asked was interrupted, as by the end of an earlier ring, and asks again
    }
    if (!refuses) {
      return refused;
    }
    ++refused;
  }
}

}  // namespace

TEST_CASE("a ring says nothing of a descriptor that it was not asked about") {
  with_ring([](ring_and_pair& one) {
    one.send("x");
    CHECK(one.poll(0).empty());
    CHECK(one.poll(1'000'000).empty());
    CHECK(one.ring.descriptors() == 1);
  });
}

TEST_CASE("a ring that is asked answers once, whether it is true already or comes true later") {
  with_ring([](ring_and_pair& one) {
    for (const bool early : {true, false}) {
      if (early) {
        one.send("x");
      }
      one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, false);
      if (!early) {
        CHECK(one.poll(0).empty());
        one.send("x");
      }
      const std::vector<told> heard = one.poll(one.second);
      REQUIRE(heard.size() == 1);
      CHECK(heard[0].tag == one.tag);
      CHECK(heard[0].events == readable_answer);
      CHECK(one.poll(0).empty());
      char byte;
      REQUIRE(::read(one.fds[0], &byte, 1) == 1);
    }
  });
}

TEST_CASE("a ring tells both directions apart, and that a peer is gone") {
  with_ring([](ring_and_pair& one) {
    one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, false);
    one.ring.ask(one.fds[0], one.tag, thrum::netpoll::writable, false);
    const std::vector<told> first = one.poll(one.second);
    REQUIRE(first.size() == 1);
    CHECK(first[0].events == (thrum::netpoll::writable | thrum::netpoll::asked_writable));
    ::shutdown(one.fds[1], SHUT_RDWR);
    const std::vector<told> second = one.poll(one.second);
    REQUIRE(second.size() == 1);
    CHECK(second[0].events == (readable_answer | thrum::netpoll::unusual));
  });
}

TEST_CASE("a thread that sleeps in the ring hears the answer to what another one asks") {
  with_ring([](ring_and_pair& one) {
    one.send("x");
    std::vector<told> heard;
    std::thread sleeper([&] { heard = one.poll(-1); });
    std::this_thread::sleep_for(5ms);
    one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, false);
    sleeper.join();
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].events == readable_answer);
  });
}

TEST_CASE(
    "a descriptor that is removed can be closed: its peer learns of it, and no answer comes") {
  with_ring([](ring_and_pair& one) {
    one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, true);
    one.ring.remove(one.fds[0], one.tag, thrum::netpoll::readable);
    ::close(one.fds[0]);
    one.fds[0] = -1;
    char byte;
    CHECK(::read(one.fds[1], &byte, 1) == 0);
    CHECK(one.ring.descriptors() == 0);
  });
}

TEST_CASE("a descriptor can be closed, too, behind a request that the kernel refuses") {
  ring_and_pair one;
  if (!one.is_there || sizeof(void*) < 8) {
    return;  // no address of 32 bits is refused before there is something to read
  }
  one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, true);
  noted_operation refused(
      operation::read, one.fds[0],
      reinterpret_cast<void*>(~std::uintptr_t{0} / 4096 * 4096),  // no program's
      1);
  one.ring.start(refused);
  one.ring.remove(one.fds[0], one.tag, thrum::netpoll::readable);
  ::close(one.fds[0]);
  one.fds[0] = -1;
  char byte;
  CHECK(::read(one.fds[1], &byte, 1) == 0);
  while (refused.ends == 0) {
    one.poll(one.second);
  }
  CHECK(refused.result == -EFAULT);
}

TEST_CASE("a ring that is woken ends the next wait, or the one under way, and only one") {
  with_ring([](ring_and_pair& one) {
    one.ring.wake();
    one.ring.wake();
    CHECK(one.poll(-1).empty());
    std::thread sleeper([&] { one.ring.poll(-1, one.heard); });
    std::this_thread::sleep_for(5ms);
    one.ring.wake();
    sleeper.join();
    const auto before = std::chrono::steady_clock::now();
    one.poll(20'000'000);
    one.poll(20'000'000);  // one of them may come back early
    CHECK(std::chrono::steady_clock::now() - before >= 20ms);
  });
}

TEST_CASE("a poll that may not wait does not take the wake from one that does") {
  with_ring([](ring_and_pair& one) {
    one.ring.wake();
    CHECK(one.poll(0).empty());
    CHECK(one.poll(-1).empty());  // returns
  });
}

TEST_CASE("the kernel receives into a buffer, and says how much") {
  with_ring([](ring_and_pair& one) {
    std::array<char, 8> buffer{};
    noted_operation receive(operation::receive, one.fds[0], buffer.data(), buffer.size());
    one.ring.start(receive);
    CHECK(one.ring.descriptors() == 2);
    one.poll(0);
    CHECK(receive.ends == 0);
    one.send("abc");
    one.poll(one.second);
    CHECK(receive.ends == 1);
    CHECK(receive.result == 3);
    CHECK(std::string_view(buffer.data(), 3) == "abc");
    CHECK(one.ring.descriptors() == 1);
  });
}

TEST_CASE("an operation that is cancelled ends, without having taken anything") {
  with_ring([](ring_and_pair& one) {
    char byte = 0;
    noted_operation receive(operation::receive, one.fds[0], &byte, 1);
    one.ring.start(receive);
    one.poll(0);
    one.ring.cancel(receive);
    while (receive.ends == 0) {
      one.poll(one.second);
    }
    CHECK(receive.result == thrum::os::interrupted);
    one.send("x");
    CHECK(::read(one.fds[0], &byte, 1) == 1);
  });
}

TEST_CASE("what a thread has started and asked comes to an end after that of the thread") {
  with_ring([](ring_and_pair& one) {
    char byte = 0;
    noted_operation receive(operation::receive, one.fds[0], &byte, 1);
    std::thread([&] {
      one.ring.start(receive);
      one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, true);
    }).join();
    one.send("xy");
    std::vector<told> heard;
    while (receive.ends == 0 || heard.empty()) {
      for (const told& each : one.poll(one.second)) {
        heard.push_back(each);
      }
    }
    CHECK((receive.result == 1 || receive.result == thrum::os::interrupted));
    CHECK(heard[0].events == readable_answer);
  });
}

TEST_CASE("what a thread has asked for is answered while that thread computes and makes no call") {
  with_ring([](ring_and_pair& one) {
    std::atomic<bool> has_asked{false};
    std::atomic<bool> has_heard{false};
    std::thread computing([&] {
      one.ring.ask(one.fds[0], one.tag, thrum::netpoll::readable, true);
      has_asked = true;
      while (!has_heard) {
      }
    });
    while (!has_asked) {
      std::this_thread::yield();
    }
    one.send("x");
    while (one.poll(one.second).empty()) {
    }
    CHECK(one.heard.all[0].events == readable_answer);
    has_heard = true;
    computing.join();
  });
}

TEST_CASE("files are read and written at a place, and where they stand") {
  with_ring([](ring_and_pair& one) {
    const int file = support::open_nameless_file();
    REQUIRE(file >= 0);
    const auto run = [&](operation::kind_type kind, char* data, std::size_t size,
                         std::int64_t offset) {
      noted_operation what(kind, file, data, size);
      what.offset = offset;
      one.ring.start(what);
      while (what.ends == 0) {
        one.poll(one.second);
      }
      return what.result;
    };
    char text[] = "0123456789";
    CHECK(run(operation::write, text, 10, operation::at_position) == 10);
    char some[4] = {};
    CHECK(run(operation::read, some, 3, 4) == 3);
    CHECK(std::string_view(some) == "456");
    CHECK(run(operation::read, some, 3, operation::at_position) == 0);  // at the end
    CHECK(run(operation::write, text, 1, 2) == 1);
    CHECK(run(operation::read, some, 3, 1) == 3);
    CHECK(std::string_view(some) == "103");
    ::close(file);
    noted_operation closed;
    CHECK(run(operation::read, some, 3, 0) == thrum::os::bad_handle);
  });
}

TEST_CASE("more is asked of a ring than it has places for, and all of it is answered") {
  with_ring([](ring_and_pair& one) {
    one.send("x");
    constexpr std::uint32_t questions = 1'000;
    for (std::uint32_t i = 1; i <= questions; ++i) {
      one.ring.ask(one.fds[0], std::uint64_t{i + 2} << 32 | 1, thrum::netpoll::readable, false);
    }
    std::size_t answers = 0;
    while (answers < questions) {
      answers += one.poll(one.second).size();
    }
    CHECK(answers == questions);
  });
}

TEST_CASE("where the system gives no ring, or refuses to enter one, a runtime's poller is epoll") {
  const unsigned refused_call = GENERATE(setup_call, enter_call);
  const support::child_result end = support::run_in_child([&] {
    if (!filter_call(refused_call, SECCOMP_RET_ERRNO | EPERM)) {
      ::_exit(0);
    }
    io_uring ring;
    const bool is_refused = ring.open() == thrum::os::not_supported;
    thrum::netpoll::linux_poller poller;
    const bool is_open = poller.open(thrum::netpoll::choice::io_uring) == 0;
    ::_exit(is_refused && is_open && poller.chosen() == thrum::netpoll::choice::usual ? 0 : 1);
  });
  CHECK(end.exit_code == 0);
}

TEST_CASE("a kernel that does not know the newer flags gives a ring without them") {
  if (THRUM_TSAN) {
    return;  // which allows no thread in a child of a process that has several
  }
  const support::child_result end = support::run_in_child([] {
    if (io_uring there; there.open() != 0) {
      ::_exit(0);
    }
    std::atomic<long> listener{0};
    std::atomic<int> refused{-2};
    std::thread kernel([&] {
      listener.wait(0);
      refused = listener > 0 ? be_an_older_kernel(static_cast<int>(listener)) : 1;
    });
    long made = -1;
    if (!filter_call(setup_call, SECCOMP_RET_USER_NOTIF, &made)) {
      ::_exit(0);
    }
    listener = made;
    listener.notify_one();
    ring_and_pair one;
    kernel.join();
    char byte = 0;
    noted_operation receive(operation::receive, one.fds[0], &byte, 1);
    one.ring.start(receive);
    one.send("x");
    while (receive.ends == 0) {
      one.poll(one.second);
    }
    ::_exit(one.is_there && refused == 1 && receive.result == 1 && byte == 'x' ? 0 : 1);
  });
  CHECK(end.exit_code == 0);
}

TEST_CASE("a call to the ring that fails leaves errno alone") {
  const thrum::netpoll::uring::queues closed;
  errno = EDOM;
  const int error = closed.enter(0, false, 0);
  CHECK((error == thrum::os::bad_handle || error == -ENOSYS));  // an emulator has no such call
  CHECK(errno == EDOM);
}
