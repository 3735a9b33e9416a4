// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Where a runtime has its memory from, if not from the system: options::memory.
#ifndef THRUM_MEMORY_HOOKS_HPP
#define THRUM_MEMORY_HOOKS_HPP

#include <thrum/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace thrum { inline namespace THRUM_ABI {

/// What memory is for.
enum class memory_use : std::uint8_t {
  /// The stack of one goroutine, with its guard, and with the goroutine itself, its function and its result
  /// at the upper end. Taken when none is left over from a goroutine that has ended.
  stack,
  /// What a runtime knows of its processors, threads and hosts. Taken when the runtime is made, by
  /// runtime::procs, and when a thread becomes a host.
  object,
};

/// Functions that a runtime has its memory from, for programs with a budget of memory. Both are set, or
/// none: then it comes from the system, and objects from operator new.
///
/// They are called by the threads of the runtime and by those that start goroutines of it, several at a
/// time; on the stack of the goroutine that starts another, too. They are called where malloc could be:
/// they may take a lock, and must not wait for a goroutine, nor throw. All memory has been given back
/// when the runtime's destructor returns; but a join_handle that outlives its runtime keeps the stack
/// that its result lies on, and gives that back itself. A process that leaves by exit() inside a goroutine
/// gives nothing back.
struct memory_hooks {
  /// Memory that can be read and written, aligned to `alignment`; null: there is none. It need not be
  /// zeroed. That of a stack is whole pages, which the library may make inaccessible in part until it
  /// gives them back, and none of which it gives to the system.
  void* (*allocate)(std::size_t bytes, std::size_t alignment, memory_use use,
                    void* context) noexcept = nullptr;
  /// Takes back what `allocate` has given for the same numbers.
  void (*deallocate)(void* memory, std::size_t bytes, std::size_t alignment, memory_use use,
                     void* context) noexcept = nullptr;
  void* context = nullptr;
  /// Bytes at the lower end of each stack that are made inaccessible, so that a stack that is used up is
  /// reported; rounded up to pages. They are asked for beside the stack's own. 0 where the memory cannot be
  /// protected: then an overflow writes to what lies below the stack, and is reported, if at all, when
  /// the goroutine leaves the processor.
  std::size_t stack_guard = 64 * 1024;
};

}}  // namespace thrum::THRUM_ABI

#endif
