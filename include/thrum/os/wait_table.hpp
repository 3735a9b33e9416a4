// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Sleeping on a word where the system has no call for that, or none that may be used: a table of
// those that sleep. What futex_wait and futex_wake promise is in note.hpp.
//
// State
//   A thread that sleeps has a sleeper on its stack, with the address and a thread_event, the
//   system's; it stands in the list of the address's bucket, the longest there first. A bucket's lock
//   is held for a few instructions, and never while a thread sleeps.
//
// The race: who waits compares the word under the lock; who wakes has changed it before, and looks
// for sleepers under the lock. If the waiter has the lock first it is found, else it finds the word
// changed.
//
// WT1  while a bucket is locked its thread is uninterrupted: neither a signal nor another thread
//      stops it there. A handler may wake a note, and would wait for ever for what it has interrupted.
// WT2  an event is posted under the lock, and its thread takes the lock once more before it is laid
//      aside or destroyed.
// WT3  whoever looks for an address in one shared object finds those that sleep by another: the
//      table is process-wide.
//
// Why the event is a semaphore or an object of the kernel: posting a semaphore is all that POSIX lets
// a handler do to wake a thread. A condition variable takes a mutex, which the interrupted thread may
// hold at that moment; and a thread that blocked signals for as long as it sleeps would keep those of
// the process waiting, if all threads did so. Windows' WaitOnAddress keeps its sleepers in a table of
// the system's library, whose locks nobody can take from a thread that was stopped inside.
#ifndef THRUM_OS_WAIT_TABLE_HPP
#define THRUM_OS_WAIT_TABLE_HPP

#include <thrum/base/config.hpp>

#if !THRUM_HAS_FUTEX

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// In a child process, which has none of the threads that sleep: nobody does.
void forget_sleepers() noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/wait_table_definition.hpp>
#endif

#endif  // !THRUM_HAS_FUTEX
#endif  // THRUM_OS_WAIT_TABLE_HPP
