// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The poller of macOS and FreeBSD: kqueue.
//
// Purpose
//   One registration for the life of a descriptor, as two filters, EVFILT_READ and EVFILT_WRITE,
//   both edge-triggered (EV_CLEAR): nothing is armed or disarmed for each wait.
//
// Waking
//   A user event (EVFILT_USER). A poll that fetches it has taken it from all others, so a poll that
//   does not wait gives it back. `woken_` says that a wake is under way: it makes wakes coalesce,
//   and tells the poll that gives back whether it is still needed.
//   wake():  W1 woken_ = true, or return if it was     W2 trigger
//   poll():  P1 woken_? then clear it and do not wait  P2 kevent  P3 fetched it? then clear woken_;
//            if this poll does not wait: and woken_ is set, trigger again
//   A trigger that comes after its wake was seen in P1 ends one later poll early, which a poll may.
//
// The end of a stream
//   EV_EOF on the reading side makes both sides ready: when the last reader of a pipe closes, its
//   writer gets no event of its own (golang/go 22114). A goroutine that is woken for
//   nothing tries again and waits on.
//
// Files that are always ready
//   kqueue takes regular files, and means something else by them (there is more in front of the
//   position). They are refused here, as the contract wants, and so is what kqueue refuses as a
//   kind. FreeBSD refuses EVFILT_WRITE of a pipe whose other end is closed: no goroutine waits there,
//   because the call fails at once.
//
// What can only be read
//   A kqueue has something to be read when it has events (os/bsd/vnode_watch.hpp), and its kind refuses
//   EVFILT_WRITE. What takes EVFILT_READ alone is waited for on that side; a call that writes to it
//   and would block would wait for ever, of which we know none.
//
// Descriptors of others (arm)
//   In a second kqueue, one-shot, which is itself a descriptor in the first: identifier and filter
//   name a registration, and the same descriptor may be added as well.
//
// What it does not tell: that data is out of band. No filter for that is common to the two systems.
//
// What has been run
//   Compiled and linked for both systems with the whole suite. Run on Linux over libkqueue, under
//   the whole runtime (./dev test --target linux-kqueue). There nothing that was armed is reported,
//   as a queue of libkqueue's is no descriptor that another could watch; and a dial that is refused
//   waits for ever, as libkqueue takes the error out of the socket (SO_ERROR); a kernel leaves it.
//
// Source: Go, src/runtime/netpoll_kqueue*.go, and issues 22114, 59679 (ETIMEDOUT of Darwin), 66760.
#ifndef THRUM_DETAIL_NETPOLL_KQUEUE_HPP
#define THRUM_DETAIL_NETPOLL_KQUEUE_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_POLLER_KQUEUE

#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
#include <thrum/detail/netpoll/contract.hpp>
#include <thrum/detail/os/handle.hpp>
#include <thrum/detail/os/result.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <initializer_list>

#include <fcntl.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace netpoll {

using namespace base::orders;

class kqueue {
 public:
  constexpr kqueue() noexcept = default;
  kqueue(const kqueue&) = delete;
  kqueue& operator=(const kqueue&) = delete;
  ~kqueue() { close(); }

  THRUM_NOINLINE int open() noexcept {
    own_ = make();
    others_ = make();
    if (own_ < 0 || others_ < 0) {
      const int error = -errno;
      close();
      return error;
    }
    event_type alarm = change(0, EVFILT_USER, EV_ADD | EV_CLEAR, alarm_tag);
    event_type nested = change(others_, EVFILT_READ, EV_ADD, others_tag);
    for (const event_type& one : {alarm, nested}) {
      if (const int error = apply(own_, one); error != 0) {
        close();
        return error;
      }
    }
    return 0;
  }

  THRUM_NOINLINE void close() noexcept {
    for (int* const fd : {&others_, &own_}) {
      if (*fd >= 0) {
        ::close(*fd);
        *fd = -1;
      }
    }
  }

  THRUM_NOINLINE int add(os::handle fd, std::uint64_t tag) noexcept {
    struct ::stat about {};
    if (::fstat(fd, &about) != 0) {
      return -errno;
    }
    if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
      return os::always_ready;
    }
    descriptors_.add();
    int error = apply(own_, change(fd, EVFILT_READ, EV_ADD | EV_CLEAR, tag));
    if (error == 0) {
      error = apply(own_, change(fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, tag));
      if (error == -EPIPE || is_refusal_of_kind(error)) {
        error = 0;
      } else if (error != 0) {
        apply(own_, change(fd, EVFILT_READ, EV_DELETE, 0));
      }
    }
    if (error != 0) {
      descriptors_.take();
    }
    return is_refusal_of_kind(error) ? os::always_ready : error;
  }

  THRUM_NOINLINE void remove(os::handle fd) noexcept {
    apply(own_, change(fd, EVFILT_READ, EV_DELETE, 0));
    apply(own_, change(fd, EVFILT_WRITE, EV_DELETE, 0));
    descriptors_.take();
  }

  int arm(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    return arm_first(fd, tag, what);  // which file was armed before is not told
  }
  THRUM_NOINLINE int arm_first(os::handle fd, std::uint64_t tag, std::uint32_t what) noexcept {
    if (!armed_once_.swap(true)) {
      descriptors_.add();
    }
    int first_error = 0;
    for (const auto& [wanted, filter] :
         {side{readable, EVFILT_READ}, side{writable, EVFILT_WRITE}}) {
      const bool is_wanted = (what & wanted) != 0;
      const int error =
          apply(others_, change(fd, filter, is_wanted ? EV_ADD | EV_ONESHOT : EV_DELETE, tag));
      if (is_wanted && first_error == 0) {
        first_error = error;  // a filter that is not there to be deleted is no error
      }
    }
    return first_error;
  }

  void poll(std::int64_t delay_ns, sink& to) noexcept {
    const bool waits = delay_ns != 0;
    // [kq.wake =] seq_cst: P1
    if (waits && woken_.load(seq_cst) && woken_.exchange(false, seq_cst)) {  // [kq.wake =] too
      delay_ns = 0;
    }
    event_type found[at_once];
    const int n = wait(own_, found, delay_ns);
    for (int i = 0; i < n; ++i) {
      const std::uint64_t tag = tag_of(found[i]);
      if (tag == alarm_tag) {
        if (waits) {
          woken_.exchange(false, seq_cst);  // [kq.wake =] seq_cst: P3, sees what the waker did
        } else if (woken_.load(seq_cst)) {  // [kq.wake =] seq_cst: P3
          trigger();
        }
      } else if (tag == others_tag) {
        poll_others(to);
      } else {
        to.deliver(to, tag, translate(found[i]));
      }
    }
  }

  THRUM_NOINLINE void wake() noexcept {
    if (!woken_.exchange(true, seq_cst)) {  // [kq.wake =] seq_cst: W1
      const int saved = errno;
      trigger();
      errno = saved;
    }
  }

  std::uint32_t descriptors() const noexcept { return descriptors_.get(); }

 private:
  using event_type = struct ::kevent;
  struct side {
    std::uint32_t event;
    int filter;
  };

  static constexpr int at_once = 128;  // events of one look; from Go
  // No tag of a descriptor: those have a number of 32 bits above a generation that is not 0.
  static constexpr std::uint64_t alarm_tag = 0;
  static constexpr std::uint64_t others_tag = std::uint64_t{1} << 32;
  static_assert(sizeof(void*) == sizeof(std::uint64_t), "a tag travels as a pointer");

  static event_type change(int ident, int filter, int flags, std::uint64_t tag) noexcept {
    event_type result{};
    result.ident = static_cast<decltype(result.ident)>(ident);
    result.filter = static_cast<decltype(result.filter)>(filter);
    result.flags = static_cast<decltype(result.flags)>(flags);
    result.udata = reinterpret_cast<void*>(static_cast<std::uintptr_t>(tag));
    return result;
  }

  static std::uint64_t tag_of(const event_type& event) noexcept {
    return reinterpret_cast<std::uintptr_t>(event.udata);
  }

  static int make() noexcept {
    const int fd = ::kqueue();
    if (fd >= 0) {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
  }

  /// 0 or an error below zero.
  THRUM_NOINLINE static int apply(int queue, const event_type& one) noexcept {
    int result;
    while ((result = ::kevent(queue, &one, 1, nullptr, 0, nullptr)) < 0 && errno == EINTR) {
    }
    return result < 0 ? -errno : 0;
  }

  void trigger() noexcept {
    event_type alarm = change(0, EVFILT_USER, 0, alarm_tag);
    alarm.fflags = NOTE_TRIGGER;
    apply(own_, alarm);
  }

  static bool is_refusal_of_kind(int error) noexcept {
    return error == -EINVAL || error == -ENODEV || error == -EOPNOTSUPP;
  }

  static std::uint32_t translate(const event_type& event) noexcept {
    if ((event.flags & (EV_EOF | EV_ERROR)) != 0) {
      return readable | writable | unusual;
    }
    return event.filter == EVFILT_READ ? readable : writable;
  }

  void poll_others(sink& to) noexcept {
    event_type found[at_once];
    for (int n = at_once; n == at_once;) {
      n = wait(others_, found, 0);
      for (int i = 0; i < n; ++i) {
        to.deliver(to, tag_of(found[i]), translate(found[i]));
      }
    }
  }

  /// Number of events, 0 also after a signal.
  THRUM_NOINLINE static int wait(int queue, event_type* found, std::int64_t delay_ns) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    constexpr std::int64_t longest = 1'000'000 * second;  // Darwin refuses more
    const std::int64_t bounded = delay_ns < longest ? delay_ns : longest;
    ::timespec limit{};
    if (bounded > 0) {
      limit.tv_sec = static_cast<decltype(limit.tv_sec)>(bounded / second);
      limit.tv_nsec = static_cast<decltype(limit.tv_nsec)>(bounded % second);
    }
    const int n = ::kevent(queue, nullptr, 0, found, at_once, delay_ns < 0 ? nullptr : &limit);
    return n < 0 ? 0 : n;  // EINTR; on Darwin ETIMEDOUT as well
  }

  std::atomic<bool> woken_{false};
  base::hint<bool> armed_once_{false};
  // A goroutine that waits has added its descriptor before it looks.
  base::shared_figure<std::uint32_t> descriptors_{0};
  int own_ = -1;
  int others_ = -1;
};

static_assert(poller_contract<kqueue>);

}}}  // namespace thrum::THRUM_ABI::netpoll

#endif  // THRUM_POLLER_KQUEUE
#endif
