// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The poller of Linux: epoll.
//
// Purpose
//   One registration for the life of a descriptor, edge-triggered and for both directions: nothing
//   is armed or disarmed for each wait.
//
// Before the first descriptor
//   There is no epoll yet: the poller sleeps on a note. A program that does no input or output has
//   neither its descriptors nor its costs. The first add makes the epoll, says so (`active_`), and
//   ends a sleep that is under way.
//
// Waking
//   `woken_` is the wake; the note and the eventfd only end the sleep of a poll that missed it.
//   wake():  W1 woken_ = true     W2 active_? then the eventfd, else the note
//   poll():  P1 active_?          P2 woken_? then clear it and return     P3 sleep there
//   add():   A1 active_ = true    A2 the note
//   A waker that reads active_ before A1 has set woken_ before a poller that reads it after A1
//   comes to P2; and a poller that reads it before A1 is ended by A2. All of it in one total order.
//   The eventfd is level-triggered, and only a poll that waits reads it: one that does not would
//   take the wake away from it. Checked by tests/model/linux/epoll_wake_model.cpp, with each order and
//   each step changed in turn.
//
// Waits of less than a millisecond
//   epoll_pwait2 (Linux 5.11) takes nanoseconds; without it they are rounded up to milliseconds.
//
// Descriptors of others (arm)
//   A foreign library may close such a descriptor while we know it. It may be added as well, and epoll
//   refuses the same descriptor twice. So they are in a second epoll, one-shot, which is itself a
//   descriptor in the first one.
#ifndef THRUM_DETAIL_NETPOLL_EPOLL_HPP
#define THRUM_DETAIL_NETPOLL_EPOLL_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/contract.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/os/parts.hpp>

#include <atomic>
#include <cstdint>

#include <sys/epoll.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

/// What the poller asks of the system. A model puts a kernel of its own in its place.
struct epoll_system {
  template <class T>
  using atomic = std::atomic<T>;
  using descriptor = int;
  using note = os::note;

  static int make_poller() noexcept;
  static int make_alarm() noexcept;
  static int control(int poller, int what, int fd, ::epoll_event& event) noexcept;
  static void close(int fd) noexcept;
  static void yield() noexcept;

  static void sound_alarm(int fd) noexcept;
  static void silence_alarm(int fd) noexcept;

  /// Number of events, 0 also after a signal.
  static int wait(int fd, ::epoll_event* found, int most, std::int64_t delay_ns) noexcept;

 private:
  static constexpr long number_of_pwait2 = 441;  // the same on every processor
  static inline constinit base::set_once<bool> has_pwait2{THRUM_TRIES_SYSTEM_CALLS != 0};
};

using namespace base::orders;

template <class System>
class basic_epoll {
 public:
  constexpr basic_epoll() noexcept = default;
  basic_epoll(const basic_epoll&) = delete;
  basic_epoll& operator=(const basic_epoll&) = delete;
  ~basic_epoll() { close(); }

  int open() noexcept { return 0; }

  THRUM_NOINLINE void close() noexcept;

  THRUM_NOINLINE int add(os::handle fd, std::uint64_t tag) noexcept;

  THRUM_NOINLINE void remove(os::handle fd) noexcept;

  THRUM_NOINLINE int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  THRUM_NOINLINE int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept;

  void poll(std::int64_t delay_ns, sink& to) noexcept;

  THRUM_NOINLINE void wake() noexcept;

  /// Takes its descriptors now, and not with the first one that it is to watch.
  int open_descriptors() noexcept { return activate(); }

  /// The epoll itself, to be watched by another poller, once it has its descriptors.
  os::handle native_handle() const noexcept { return own_; }

  std::uint32_t descriptors() const noexcept { return descriptors_.get(); }

 private:
  template <class T>
  using atomic = typename System::template atomic<T>;
  using descriptor = typename System::descriptor;

  static constexpr int at_once = 128;  // events of one look; from Go
  // No tag of a descriptor: those have a number of 32 bits above a generation that is not 0.
  static constexpr std::uint64_t alarm_tag = 0;
  static constexpr std::uint64_t others_tag = std::uint64_t{1} << 32;

  static ::epoll_event once(std::uint64_t tag, std::uint32_t what) noexcept;

  static std::uint32_t translate(std::uint32_t from) noexcept;

  THRUM_NOINLINE void silence_alarm() noexcept;

  void poll_others(sink& to) noexcept;

  void sleep_without_descriptors(std::int64_t delay_ns) noexcept;

  /// The first descriptor comes.
  int activate() noexcept;

  THRUM_COLD int activate_slow() noexcept;

  int make() noexcept;

  atomic<bool> active_{false};
  atomic<bool> woken_{false};
  atomic<bool> opening_{false};
  base::hint<bool, atomic<bool>> armed_once_{false};
  // A goroutine that waits has added its descriptor before it looks.
  base::shared_figure<std::uint32_t, atomic<std::uint32_t>> descriptors_{0};
  descriptor own_ = -1;
  descriptor others_ = -1;
  descriptor alarm_ = -1;
  typename System::note note_;
};

#if THRUM_SEPARATE
extern template class basic_epoll<epoll_system>;
#endif
using epoll = basic_epoll<epoll_system>;

}}}  // namespace thrum::THRUM_ABI::netpoll

#if THRUM_BODIES
#include <thrum/detail/os/os.hpp>

#include <cerrno>
#include <climits>
#include <ctime>

#include <sys/eventfd.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

THRUM_OUT_OF_LINE int epoll_system::make_poller() noexcept {
  return ::epoll_create1(EPOLL_CLOEXEC);
}

THRUM_OUT_OF_LINE int epoll_system::make_alarm() noexcept {
  return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

THRUM_OUT_OF_LINE int epoll_system::control(int own, int what, int fd,
                                            ::epoll_event& event) noexcept {
  return ::epoll_ctl(own, what, fd, &event);
}

THRUM_OUT_OF_LINE void epoll_system::close(int fd) noexcept { ::close(fd); }

THRUM_OUT_OF_LINE void epoll_system::yield() noexcept { os::yield_thread(); }

THRUM_NOINLINE THRUM_OUT_OF_LINE void epoll_system::sound_alarm(int fd) noexcept {
  const std::uint64_t one = 1;
  const int saved = errno;
  [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
  errno = saved;
}

THRUM_OUT_OF_LINE void epoll_system::silence_alarm(int fd) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const auto n = ::read(fd, &count, sizeof count);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE int epoll_system::wait(int fd, ::epoll_event* found, int most,
                                                        std::int64_t delay_ns) noexcept {
  int n;
  if (delay_ns > 0 && has_pwait2.get()) {
    constexpr std::int64_t second = 1'000'000'000;
    const struct {  // the call's own words, which the C library's type need not have
      std::int64_t seconds, nanoseconds;
    } limit{delay_ns / second, delay_ns % second};
    n = static_cast<int>(
        ::syscall(number_of_pwait2, fd, found, most, &limit, nullptr, std::size_t{0}));
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) {  // EPERM: older containers
      return n < 0 ? 0 : n;
    }
    has_pwait2.set(false);
  }
  constexpr std::int64_t ms = 1'000'000;
  const std::int64_t rounded = delay_ns > 0 ? (delay_ns + ms - 1) / ms : delay_ns;
  n = ::epoll_wait(fd, found, most, rounded < INT_MAX ? static_cast<int>(rounded) : INT_MAX);
  return n < 0 ? 0 : n;
}

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#if THRUM_TEMPLATE_BODIES
#include <cerrno>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

template <class System>
void basic_epoll<System>::close() noexcept {
  for (descriptor* const each : {&own_, &others_, &alarm_}) {
    if (const int fd = *each; fd >= 0) {
      System::close(fd);
      *each = -1;
    }
  }
  active_.store(false, relaxed);  // relaxed: no thread is inside
}

template <class System>
int basic_epoll<System>::add(os::handle fd, std::uint64_t tag) noexcept {
  if (const int error = activate(); error != 0) {
    return error;
  }
  ::epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
  event.data.u64 = tag;
  descriptors_.add();
  if (System::control(own_, EPOLL_CTL_ADD, fd, event) != 0) {
    const int error = -errno;
    descriptors_.take();
    return error;
  }
  return 0;
}

template <class System>
void basic_epoll<System>::remove(os::handle fd) noexcept {
  ::epoll_event ignored{};  // before Linux 2.6.9 it must not be null
  System::control(own_, EPOLL_CTL_DEL, fd, ignored);
  descriptors_.take();
}

template <class System>
int basic_epoll<System>::arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
  if (!active_.load(acquire)) {  // [ep.wake <] acquire: others_
    return os::not_armed;
  }
  ::epoll_event event = once(tag, what);
  return System::control(others_, EPOLL_CTL_MOD, fd, event) == 0 ? 0 : -errno;
}

template <class System>
int basic_epoll<System>::arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
  if (const int error = activate(); error != 0) {
    return error;
  }
  if (!armed_once_.swap(true)) {
    descriptors_.add();
  }
  ::epoll_event event = once(tag, what);
  return System::control(others_, EPOLL_CTL_ADD, fd, event) == 0 ? 0 : -errno;
}

template <class System>
void basic_epoll<System>::poll(std::int64_t delay_ns, sink& to) noexcept {
  if (!active_.load(seq_cst)) {  // [ep.wake =] seq_cst: P1
    sleep_without_descriptors(delay_ns);
    return;
  }
  const bool waits = delay_ns != 0;
  // [ep.wake =] seq_cst: P2
  if (waits && woken_.load(seq_cst) && woken_.exchange(false, seq_cst)) {  // [ep.wake =] too
    delay_ns = 0;
  }
  ::epoll_event found[at_once];
  const int n = System::wait(own_, found, at_once, delay_ns);
  for (int i = 0; i < n && to.announce != nullptr; ++i) {
    to.announce(found[i].data.u64);
  }
  for (int i = 0; i < n; ++i) {
    if (found[i].data.u64 == alarm_tag) {
      if (waits) {
        silence_alarm();
      }
    } else if (found[i].data.u64 == others_tag) {
      poll_others(to);
    } else {
      to.deliver(to, found[i].data.u64, translate(found[i].events));
    }
  }
}

template <class System>
void basic_epoll<System>::wake() noexcept {
  if (woken_.exchange(true, seq_cst)) {  // [ep.wake =] seq_cst: W1
    return;
  }
  if (active_.load(seq_cst)) {  // [ep.wake =] seq_cst: W2
    System::sound_alarm(alarm_);
  } else {
    note_.wake();
  }
}

template <class System>
::epoll_event basic_epoll<System>::once(std::uint64_t tag, std::uint32_t what) noexcept {
  ::epoll_event event{};
  event.events = EPOLLONESHOT;
  event.events |= (what & readable) != 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0U;
  event.events |= (what & writable) != 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U;
  event.data.u64 = tag;
  return event;
}

template <class System>
std::uint32_t basic_epoll<System>::translate(std::uint32_t from) noexcept {
  std::uint32_t what = 0;
  if ((from & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    what |= readable;
  }
  if ((from & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    what |= writable;
  }
  if ((from & (EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    what |= unusual;
  }
  return what;
}

template <class System>
void basic_epoll<System>::silence_alarm() noexcept {
  System::silence_alarm(alarm_);
  woken_.exchange(false, seq_cst);  // [ep.wake =] seq_cst: sees what the waker did
}

template <class System>
void basic_epoll<System>::poll_others(sink& to) noexcept {
  ::epoll_event found[at_once];
  for (int n = at_once; n == at_once;) {
    n = System::wait(others_, found, at_once, 0);
    for (int i = 0; i < n; ++i) {
      to.deliver(to, found[i].data.u64, translate(found[i].events));
    }
  }
}

template <class System>
void basic_epoll<System>::sleep_without_descriptors(std::int64_t delay_ns) noexcept {
  if (delay_ns == 0) {
    return;
  }
  if (!woken_.load(seq_cst)) {  // [ep.wake =] seq_cst: P2
    if (delay_ns < 0) {
      note_.sleep();
    } else if (!note_.sleep_for(delay_ns)) {
      return;
    }
  }
  note_.clear_while_woken();
  woken_.exchange(false, seq_cst);  // [ep.wake =] seq_cst: P2, sees what the waker did
}

template <class System>
int basic_epoll<System>::activate() noexcept {
  return active_.load(acquire) ? 0 : activate_slow();  // [ep.wake <] acquire: own_ and the others
}

template <class System>
int basic_epoll<System>::activate_slow() noexcept {
  while (opening_.exchange(true, acquire)) {  // [ep.open <] acquire: as a lock
    System::yield();
  }
  int error = 0;
  if (!active_.load(relaxed)) {  // relaxed: under the lock
    error = make();
    if (error == 0) {
      active_.exchange(true, seq_cst);  // [ep.wake =] seq_cst: A1
      note_.wake();                     // A2
    }
  }
  opening_.store(false, release);  // [ep.open >] release: as a lock
  return error;
}

template <class System>
int basic_epoll<System>::make() noexcept {
  ::epoll_event alarm{};
  alarm.events = EPOLLIN;
  alarm.data.u64 = alarm_tag;
  ::epoll_event nested{};
  nested.events = EPOLLIN;
  nested.data.u64 = others_tag;
  own_ = System::make_poller();
  others_ = System::make_poller();
  alarm_ = System::make_alarm();
  if (own_ < 0 || others_ < 0 || alarm_ < 0 ||
      System::control(own_, EPOLL_CTL_ADD, alarm_, alarm) != 0 ||
      System::control(own_, EPOLL_CTL_ADD, others_, nested) != 0) {
    const int error = -errno;
    close();
    return error;
  }
  return 0;
}

#if THRUM_SEPARATE && THRUM_BODIES
template class basic_epoll<epoll_system>;
#endif

}}}  // namespace thrum::THRUM_ABI::netpoll
#endif

#endif  // THRUM_OS_LINUX
#endif  // THRUM_DETAIL_NETPOLL_EPOLL_HPP
