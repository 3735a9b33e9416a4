// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What epoll does where a call of the kernel is missing.

#include <thrum/detail/netpoll/netpoll.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/child.hpp"

// A filter may refuse what it does not know with EPERM, as older versions of Docker do.
TEST_CASE("a poll for a time waits where the system's newer call is forbidden") {
  const support::child_result child = support::run_in_child([] {
    using namespace std::chrono_literals;
    using clock_type = std::chrono::steady_clock;
    constexpr std::uint64_t tag = std::uint64_t{1} << 32 | 1;
    ::sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 441, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const ::sock_fprog program{std::size(refuse), refuse};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return;  // nothing can be forbidden here
    }
    thrum::netpoll::epoll poller;
    int ends[2];
    if (::pipe(ends) != 0 || poller.add(ends[0], tag) != 0) {
      ::_exit(1);
    }
    thrum::netpoll::sink nobody{
        [](thrum::netpoll::sink&, std::uint64_t, std::uint32_t) noexcept {}};
    const auto start = clock_type::now();
    poller.poll(std::chrono::nanoseconds(20ms).count(), nobody);
    ::_exit(clock_type::now() - start < 20ms ? 2 : 0);
  });
  CHECK(child.signal == 0);
  CHECK(child.exit_code == 0);
}
