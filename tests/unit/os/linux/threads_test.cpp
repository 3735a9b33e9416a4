// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The futex call in its two forms, and times as system calls take them.
// The asymmetric fences of Linux.
// What a thread that waits for memory looks like: here the test makes it wait, by userfaultfd.

#include <thrum/detail/os/linux/futex.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/os/thread_parts.hpp>

#include "support/fence_sides.hpp"
#include "support/sees_threads.hpp"
#include "support/test.hpp"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace thrum;

TEST_CASE("the kernel's own time keeps what its words hold, and no less than the largest") {
  const auto wide = os::kernel_time::from(INT64_MAX);
  CHECK(wide.seconds == INT64_MAX / os::nanoseconds_per_second);
  CHECK(wide.nanoseconds == INT64_MAX % os::nanoseconds_per_second);
  const auto narrow = os::kernel_time_of<std::int32_t>::from(INT64_MAX);
  CHECK(narrow.seconds == INT32_MAX);
  CHECK(os::kernel_time_of<std::int32_t>::from(3'000'000'007).seconds == 3);
  CHECK(os::kernel_time_of<std::int32_t>::from(3'000'000'007).nanoseconds == 7);
}

#if !THRUM_OS_PORTABLE

TEST_CASE("either form of the futex call waits as long as its limit says") {
  for (const auto form : {os::futex_form::with_long_seconds, os::futex_form::with_64_bits}) {
    std::atomic<std::uint32_t> word{0};
    const std::int64_t start = os::now();
    CHECK(os::call_futex_wait(form, word, 0, 5'000'000) == -1);
    CHECK(errno == ETIMEDOUT);
    CHECK(os::now() - start >= 5'000'000);
  }
}

#endif

#if !THRUM_OS_PORTABLE

using namespace thrum;

TEST_CASE("the light side is free if the kernel has membarrier, and else both sides pay") {
  const os::fence_kind kind = os::prepare_heavy_fence();
  CHECK(kind ==
        (os::membarrier_works ? os::fence_kind::free_light_side : os::fence_kind::on_both_sides));
}

TEST_CASE("without membarrier both fences are full ones") {
  const bool works = os::membarrier_works.exchange(false);
  CHECK(support::both_missed(
            5'000, [] { os::light_fence(); }, [](const os::thread_ref&) { os::heavy_fence(); }) ==
        0);
  os::membarrier_works.store(works);
}

#endif

namespace {

/// A page whose first touch waits until somebody lets it go on.
class waiting_page {
 public:
  waiting_page()
      : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        page_(static_cast<char*>(
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        fd_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC))) {
    ::uffdio_api api{};
    api.api = UFFD_API;
    ::uffdio_register all{};
    all.range = range();
    all.mode = UFFDIO_REGISTER_MODE_MISSING;
    works_ = fd_ >= 0 && control(UFFDIO_API, &api) && control(UFFDIO_REGISTER, &all);
  }
  ~waiting_page() {
    ::munmap(page_, size_);
    ::close(fd_);
  }
  waiting_page(const waiting_page&) = delete;
  waiting_page& operator=(const waiting_page&) = delete;

  /// False: the system does not let us.
  bool works() const noexcept { return works_; }
  char& first_byte() noexcept { return *page_; }

  /// Those that have touched it go on.
  void fill() noexcept {
    ::uffdio_zeropage zeros{};
    zeros.range = range();
    control(UFFDIO_ZEROPAGE, &zeros);
  }

 private:
  /// Not by ioctl, whose request is an int in musl: these numbers are none.
  bool control(unsigned long request, void* argument) noexcept {
    return ::syscall(SYS_ioctl, fd_, request, argument) == 0;
  }
  ::uffdio_range range() const noexcept { return {reinterpret_cast<__u64>(page_), size_}; }

  std::size_t size_;
  char* page_;
  int fd_;
  bool works_ = false;
};

}  // namespace

TEST_CASE("a thread that waits for memory which it touched is in no call of the system") {
  if (!support::system_sees_threads()) {
    return;  // compiled for what all systems have
  }
  waiting_page page;
  if (!page.works()) {
    WARN("the system gives us no userfaultfd");
    return;
  }
  thrum::os::thread_ref toucher;
  std::atomic<bool> is_open{false};
  std::atomic<bool> has_touched{false};
  std::thread other([&] {
    toucher.open();
    is_open = true;
    static_cast<volatile char&>(page.first_byte()) = 1;
    has_touched = true;
    while (is_open) {
      thrum::os::sleep_ns(1'000'000);
    }
    toucher.close();
  });
  CHECK(support::eventually(
      [&] { return is_open && toucher.look() == thrum::os::thread_look::in_fault; }));
  CHECK_FALSE(has_touched);
  page.fill();
  CHECK(support::eventually(
      [&] { return has_touched && toucher.look() == thrum::os::thread_look::in_system; }));
  is_open = false;
  other.join();
}
