// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// signal_set: signals of the system as elements of a channel.
//
// From handler to channel
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

#include <thrum/base/config.hpp>
#include <thrum/base/owner.hpp>
#include <thrum/chan.hpp>

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
  /// std::system_error if one cannot be caught; usage_error for those that must not be: see above.
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

#if !THRUM_SEPARATE
#include <thrum/io/signal_set_definition.hpp>
#endif

#endif
