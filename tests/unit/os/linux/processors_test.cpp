// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// How many processors there are: this machine, and machines that are only texts.
#include <thrum/detail/os/processors.hpp>

#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <sched.h>

#include "support/catch.hpp"

using namespace thrum;

namespace {

struct machine {
  std::string cgroup;
  std::string mountinfo;
  std::map<std::string, std::string, std::less<>> files;

  unsigned quota() const {
    return os::cgroup_quota(
        cgroup, mountinfo,
        [this](std::string_view path, char* buffer, std::size_t size) -> std::ptrdiff_t {
          const auto file = files.find(path);
          if (file == files.end()) {
            return -1;
          }
          const std::size_t n = std::min(size, file->second.size());
          std::memcpy(buffer, file->second.data(), n);
          return static_cast<std::ptrdiff_t>(n);
        });
  }
};

const std::string version_2_mount =
    "24 1 0:22 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "31 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

const std::string version_1_mount =
    "30 24 0:25 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro\n"
    "33 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "34 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace

TEST_CASE("this machine has at least one processor and not more than the mask allows") {
  const unsigned n = os::available_processors();
  CHECK(n >= 1);
  CHECK(n <= os::affinity_processors());
}

TEST_CASE("a narrower affinity mask means fewer processors") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(os::affinity_processors() == static_cast<unsigned>(CPU_COUNT(&all)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &one);
      break;
    }
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(os::available_processors() == 1);
  REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
}

TEST_CASE("a quota is rounded up to whole processors, and none if it is absent or nonsense") {
  CHECK(os::quota_processors(100'000, 100'000) == 1);
  CHECK(os::quota_processors(100'001, 100'000) == 2);
  CHECK(os::quota_processors(150'000, 100'000) == 2);
  CHECK(os::quota_processors(1'000, 100'000) == 1);
  CHECK(os::quota_processors(-1, 100'000) == 0);
  CHECK(os::quota_processors(0, 100'000) == 0);
  CHECK(os::quota_processors(100'000, 0) == 0);
  CHECK(os::quota_processors(INT64_MAX, 1) == 0);
}

TEST_CASE("a number is read up to the first other letter") {
  CHECK(os::leading_number("150000 100000") == 150'000);
  CHECK(os::leading_number("42\n") == 42);
  CHECK(os::leading_number("max 100000") == -1);
  CHECK(os::leading_number("-1\n") == -1);
  CHECK(os::leading_number("") == -1);
  CHECK(os::leading_number("99999999999999999999999999") > 0);
}

TEST_CASE("the tightest quota of the cpu controller on the way to the root counts") {
  constexpr const char* cpu_v1 = "34 30 0:29 /docker/0a1b /mnt rw - cgroup cgroup rw,cpu,cpuacct\n";
  const struct {
    const char* what;
    unsigned quota;
    machine of;
  } rows[] = {
      {"version 2: the own group",
       3,
       {"0::/user.slice\n",
        version_2_mount,
        {{"/sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n"}}}},
      {"version 2: the tightest one",
       4,
       {"0::/a/b/c\n",
        version_2_mount,
        {{"/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n"},
         {"/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"},
         {"/sys/fs/cgroup/a/cpu.max", "400000 100000\n"}}}},
      {"version 2: a container sees its own group as the root",
       1,
       {"0::/\n", version_2_mount, {{"/sys/fs/cgroup/cpu.max", "50000 100000\n"}}}},
      {"no limit", 0, {"0::/a\n", version_2_mount, {{"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}}}},
      {"no file", 0, {"0::/a\n", version_2_mount, {}}},
      {"nothing", 0, {}},
      {"garbage", 0, {"garbage", "more garbage\n\n - \n", {}}},
      {"version 1: quota and period stand in two files",
       4,
       {"5:cpuset:/other\n4:cpu,cpuacct:/job\n",
        version_1_mount,
        {{"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "350000\n"},
         {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"}}}},
      {"version 1: a quota of minus one is no limit",
       0,
       {"4:cpuacct,cpu:/job\n",
        version_1_mount,
        {{"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n"},
         {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"}}}},
      {"version 1: a container that sees the host's path under a mounted part",
       2,
       {"4:cpu,cpuacct:/docker/0a1b/inner\n",
        cpu_v1,
        {{"/mnt/cpu.cfs_quota_us", "200000\n"},
         {"/mnt/cpu.cfs_period_us", "100000\n"},
         {"/mnt/inner/cpu.cfs_quota_us", "600000\n"},
         {"/mnt/inner/cpu.cfs_period_us", "100000\n"}}}},
      {"version 1: a mounted part that only begins like the group's path is not its parent",
       0,
       {"4:cpu:/docker/0a1b2\n",
        cpu_v1,
        {{"/mnt/2/cpu.cfs_quota_us", "100000\n"}, {"/mnt/2/cpu.cfs_period_us", "100000\n"}}}},
      {"both versions at once: the tighter one",
       2,
       {"4:cpu,cpuacct:/job\n0::/job\n",
        version_1_mount + version_2_mount,
        {{"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n"},
         {"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"},
         {"/sys/fs/cgroup/job/cpu.max", "100000 50000\n"}}}},
      {"version 1: another controller is not asked",
       0,
       {"5:cpuset:/job\n",
        "33 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
        {{"/sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "100000\n"},
         {"/sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "100000\n"}}}},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    CHECK(row.of.quota() == row.quota);
  }
}
