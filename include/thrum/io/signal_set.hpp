// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// signal_set: signals of the system as elements of a channel.
//
// The way from handler to channel
//   A handler cannot take the lock of a channel: the code that it interrupted may hold it. It sets
//   a bit (os/posix/caught_signals.hpp), and a thread that lives as long as there are sets puts the
//   signals into the channels of all sets that want them. A thread and not a goroutine: sets work
//   without a runtime and across several, and no busy processor delays them.
//   signalfd was rejected: it needs the signal blocked in every thread of the program, also in
//   those that others started.
//
// Which set hears what
//   A set hears the signals whose handlers began while it existed. Bits are taken under the lock of
//   the list of sets, by that thread and, before each change of the list, by the code that changes
//   it: the thread may not have come to them yet.
//
// What can be lost
//   A signal that comes again before the last one of its number was put into the channel counts
//   once, as everywhere. None is lost for good: the channel has room for each number of the set,
//   and what finds it full is kept and tried again. When a set is stopped, numbers that are twice
//   in its channel make room for those that are not in it. Signals of different numbers may change
//   their order.
//
// While a set hears a signal, that has no other effect: SIGINT does not end the program, an earlier
// handler is not called. Afterwards everything is as before. A handler that the program
// installs while a set exists stays, and takes the signal away.
//
// Not to be heard: SIGURG, by which the runtime interrupts threads; signals that an instruction
// raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL), after which it would be raised again; SIGKILL, SIGSTOP.
// After fork() the child's sets hear nothing.
#ifndef THRUM_IO_SIGNAL_SET_HPP
#define THRUM_IO_SIGNAL_SET_HPP

#include <thrum/chan.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/owner.hpp>

#include <csignal>
#include <initializer_list>
#include <span>
#include <system_error>

namespace thrum { inline namespace THRUM_ABI { namespace io {

struct signal_listener;

/// Hears signals from its construction to its destruction. Move-only. Several sets may hear the
/// same signal; each gets it.
class signal_set {
 public:
  /// std::system_error if one cannot be caught; usage_error for SIGURG, which the
  /// runtime uses, and for signals that an instruction raises, SIGSEGV and its like.
  signal_set(std::initializer_list<int> signals);
  explicit signal_set(std::span<const int> signals);
  signal_set(std::initializer_list<int> signals, std::error_code& error);
  signal_set(std::span<const int> signals, std::error_code& error);

  signal_set(signal_set&& other) noexcept;
  signal_set& operator=(signal_set&& other) noexcept;
  ~signal_set();

  /// Gives the numbers of the signals that have come. Nil if the set is empty-handed: moved from,
  /// stopped, or failed.
  recv_chan<int> chan() const noexcept;

  /// Hears no more; the signals have the effect that they had before. The channel is closed:
  /// its receivers get what has come, then the end. The destructor does the same.
  void stop() noexcept;

 private:
  int listen(std::span<const int> signals, std::error_code& error);

  base::owner<signal_listener> listener_;
};

}}}  // namespace thrum::THRUM_ABI::io

#if THRUM_BODIES
#include <thrum/blocking.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/base/message.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/io/descriptor.hpp>
#include <thrum/sync/mutex.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

namespace thrum { inline namespace THRUM_ABI { namespace io {

/// What one set wants, and what it has not been told yet.
struct signal_listener {
  /// `wanted`: bits of os::caught_signals. The channel has room for one of each.
  explicit signal_listener(std::uint64_t wanted)
      : signals(wanted), channel(static_cast<std::size_t>(std::popcount(wanted))) {}

  const std::uint64_t signals;  ///< by os::caught_signals::bit
  chan<int> channel;            ///< of their numbers
  std::uint64_t due = 0;        ///< caught and not yet in the channel; under the delivery's lock
  signal_listener* next = nullptr;  ///< under the same lock
};

/// The thread between handlers and channels.
class signal_delivery {
 public:
  /// 0, or an error below zero; `blame` is then the signal that cannot be heard.
  static os::io_result add(signal_listener& listener, int& blame) {
    const std::lock_guard guard(known().thread_lock);
    blame = 0;
    if (known().first == nullptr) {
      if (const os::io_result result = start(); result < 0) {
        return result;
      }
    }
    os::io_result result = 0;
    {
      const std::lock_guard list_guard(known().lock);
      deliver_all_locked();  // those were not for the new one
      listener.next = known().first;
      known().first = &listener;
      std::uint64_t done = 0;
      for (int number = 1; number <= os::caught_signals::last && result >= 0; ++number) {
        const std::uint64_t bit = os::caught_signals::bit(number);
        if ((listener.signals & bit) == 0) {
          continue;
        }
        result = known().listeners[number] == 0 ? os::caught_signals::install(number) : 0;
        if (result >= 0) {
          ++known().listeners[number];
          done |= bit;
        } else {
          blame = number;
        }
      }
      if (result < 0) {
        remove_locked(listener, done);
      }
    }
    if (known().first == nullptr) {
      stop();
    }
    return result;
  }

  /// What has come for it is in its channel, and nothing follows.
  static void remove(signal_listener& listener) noexcept {
    const std::lock_guard guard(known().thread_lock);
    {
      const std::lock_guard list_guard(known().lock);
      remove_locked(listener, listener.signals);
    }
    if (known().first == nullptr) {
      stop();
    }
  }

 private:
  static constexpr std::int64_t first_pause_ns = 1'000'000;
  static constexpr std::int64_t longest_pause_ns = 100'000'000;

  static void remove_locked(signal_listener& listener, std::uint64_t heard) noexcept {
    for (int number = 1; number <= os::caught_signals::last; ++number) {
      if ((heard & os::caught_signals::bit(number)) != 0 && --known().listeners[number] == 0) {
        os::caught_signals::remove(number);
      }
    }
    os::caught_signals::wait_for_handlers();
    deliver_all_locked();
    if (listener.due != 0) {
      make_room(listener);
    }
    for (signal_listener** link = &known().first; *link != nullptr; link = &(*link)->next) {
      if (*link == &listener) {
        *link = listener.next;
        break;
      }
    }
  }

  static os::io_result start() {
    base::owner<os::thread> started(new os::thread);
    known().stopping = false;
    const int error = os::thread::start(*started, &main, nullptr);
    if (error == 0) {
      known().thread = started.release();
    }
    return -error;
  }

  static void stop() noexcept {
    {
      const std::lock_guard guard(known().lock);
      known().stopping = true;
    }
    os::caught_signals::wake();
    blocking([] { known().thread->join(); });
    delete known().thread;
    known().thread = nullptr;
  }

  static void* main(void*) {
    os::caught_signals::leave_to_other_threads();
    os::set_thread_name("thrum/signals");
    std::int64_t pause = -1;
    for (;;) {
      os::caught_signals::sleep(pause);
      const std::lock_guard guard(known().lock);
      if (known().stopping) {
        return nullptr;
      }
      const bool all = deliver_all_locked();
      // Channels that are full are looked at again, in ever longer intervals.
      pause = all ? -1 : pause < 0 ? first_pause_ns : std::min(2 * pause, longest_pause_ns);
    }
  }

  /// What was caught, to every set in the list. False if a channel is full.
  static bool deliver_all_locked() {
    const std::uint64_t caught = os::caught_signals::take();
    bool all = true;
    for (signal_listener* l = known().first; l != nullptr; l = l->next) {
      l->due |= caught & l->signals;
      all = deliver(*l) && all;
    }
    return all;
  }

  /// Each number once: the channel has room for that.
  static void make_room(signal_listener& listener) {
    for (int number = 0; listener.channel.try_recv(number) == recv_status::ok;) {
      listener.due |= os::caught_signals::bit(number);
    }
    deliver(listener);
  }

  /// False if the channel is full.
  static bool deliver(signal_listener& listener) {
    while (listener.due != 0) {
      if (!listener.channel.try_send(std::countr_zero(listener.due) + 1)) {
        return false;
      }
      listener.due &= listener.due - 1;
    }
    return true;
  }

  struct state {
    static constexpr std::string_view process_name = "io::signal_delivery";
    mutex thread_lock;  // before `lock`; for starting and stopping
    os::thread* thread = nullptr;
    mutex lock;
    bool stopping = false;  // from here on under `lock`
    signal_listener* first = nullptr;
    std::uint32_t listeners[os::caught_signals::last + 1] = {};
  };
  static state& known() noexcept { return os::process_wide<state>::get(); }
};

THRUM_OUT_OF_LINE signal_set::signal_set(std::span<const int> signals) {
  std::error_code error;
  const int blame = listen(signals, error);
  if (error) {
    base::message<128> text("signal_set::signal_set");
    if (error == std::errc::invalid_argument) {
      text.append(": signal ").append(blame);
    }
    base::throw_system(error, text.view());
  }
}

THRUM_OUT_OF_LINE signal_set::signal_set(std::span<const int> signals, std::error_code& error) {
  listen(signals, error);
}

THRUM_OUT_OF_LINE signal_set::signal_set(std::initializer_list<int> signals)
    : signal_set(std::span(signals.begin(), signals.size())) {}

THRUM_OUT_OF_LINE signal_set::signal_set(std::initializer_list<int> signals, std::error_code& error)
    : signal_set(std::span(signals.begin(), signals.size()), error) {}

THRUM_OUT_OF_LINE signal_set::signal_set(signal_set&&) noexcept = default;
THRUM_OUT_OF_LINE signal_set::~signal_set() { stop(); }

THRUM_OUT_OF_LINE signal_set& signal_set::operator=(signal_set&& other) noexcept {
  if (this != &other) {
    stop();
    listener_ = std::move(other.listener_);
  }
  return *this;
}

THRUM_OUT_OF_LINE recv_chan<int> signal_set::chan() const noexcept {
  return listener_ ? listener_->channel.receiver() : recv_chan<int>();
}

THRUM_OUT_OF_LINE void signal_set::stop() noexcept {
  if (listener_) {
    signal_delivery::remove(*listener_);
    listener_->channel.close();
    listener_.reset();
  }
}

THRUM_OUT_OF_LINE int signal_set::listen(std::span<const int> signals, std::error_code& error) {
  error.clear();
  std::uint64_t wanted = 0;
  for (const int number : signals) {
    if (os::preempt_signal != 0 && number == os::preempt_signal) {
      base::throw_usage("signal_set: SIGURG belongs to the runtime; choose another signal");
    }
    if (os::caught_signals::is_raised_by_code(number)) {
      base::throw_usage(
          "signal_set: a signal that an instruction raises, such as SIGSEGV, must be handled at "
          "once; install a handler with sigaction");
    }
    if (number < 1 || number > os::caught_signals::last) {
      error = std::make_error_code(std::errc::invalid_argument);
      return number;
    }
    wanted |= os::caught_signals::bit(number);
  }
  base::owner<signal_listener> listener(new signal_listener(wanted));
  int blame = 0;
  if (const os::io_result result = signal_delivery::add(*listener, blame); result < 0) {
    error = io_detail::error_of(result);
    return blame;
  }
  listener_ = std::move(listener);
  return 0;
}

}}}  // namespace thrum::THRUM_ABI::io
#endif

#endif
