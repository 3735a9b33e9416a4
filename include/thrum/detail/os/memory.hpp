// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Memory from the kernel: plain mappings, slabs of stacks, guards, giving pages back. Apart from the rest of
// the layer, for its own files.
//
// Guards on Linux. MADV_GUARD_INSTALL (Linux 6.13) makes pages inaccessible without splitting the mapping: a
// million guards cost no more mappings than one. Older kernels and emulators do not have it; some
// emulators answer 0 to any advice and do nothing, so the probe also checks that the guarded page
// cannot be populated. Without it a guard is made by mprotect, which costs two mappings of
// vm.max_map_count, and when those run out even malloc fails.
//
// State: guard_support is unknown, then yes or no for ever. mprotect_guards counts the guards made
// by mprotect.
//
// MM1: mprotect_guards <= max_map_count / 4 at any time; beyond that a stack has no guard.
#ifndef THRUM_DETAIL_OS_MEMORY_HPP
#define THRUM_DETAIL_OS_MEMORY_HPP

#include <thrum/detail/base/config.hpp>

#if THRUM_OS_LINUX

#include <thrum/detail/base/relaxed.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// What a start function returns when map() or map_stacks() gave nullptr.
inline constexpr int out_of_memory = ENOMEM;

/// Bytes of a page: the grain of everything in this file.
THRUM_NOINLINE inline std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// New zeroed memory, readable and writable, on no account of the overcommit limit; nullptr when
/// there is none. No lock, no malloc: may be called from a signal handler that saves errno.
void* map(std::size_t bytes) noexcept;

/// Gives a mapping back, or a part of one that begins and ends at a page. Guards inside vanish.
void unmap(void* memory, std::size_t bytes) noexcept;

/// A slab for stacks, aligned to `alignment` (a power of two, at least a page): as map(), never
/// backed by huge pages, of which one would cost each touched stack 2 MiB. nullptr when there is no
/// address space.
void* map_stacks(std::size_t bytes, std::size_t alignment) noexcept;

/// Gives the contents of whole pages back: they leave the resident set before the call returns, and
/// read as zeros. Guards stay.
void discard_now(void* memory, std::size_t bytes) noexcept;

/// How a guard was made.
enum class guard_kind : std::uint8_t {
  madvise,   ///< costs nothing
  mprotect,  ///< counts against the budget; see return_guard_budget
  none,      ///< there is no guard: an overflow is not caught
};
using guard_result = guard_kind;

// Newer than the headers of some systems we build on.
inline constexpr int advice_populate_read = 22;   // MADV_POPULATE_READ, Linux 5.14
inline constexpr int advice_guard_install = 102;  // MADV_GUARD_INSTALL, Linux 6.13
inline constexpr int advice_guard_remove = 103;   // MADV_GUARD_REMOVE

enum class guard_support_state : std::uint8_t { unknown, yes, no };
inline constinit base::set_once<guard_support_state> guard_support{guard_support_state::unknown};
inline constinit base::shared_figure<std::size_t> mprotect_guards{0};
inline constinit base::set_once<std::size_t> mprotect_guard_limit{0};  // 0: not read yet

/// Tries a guard on a page of its own. The answer is the same for every caller.
[[gnu::cold]] bool probe_guard_support() noexcept;

/// True where guards cost no mappings.
inline bool has_cheap_guards() noexcept {
  const guard_support_state known = guard_support.get();
  return known == guard_support_state::unknown ? probe_guard_support()
                                               : known == guard_support_state::yes;
}

/// How many guards mprotect may make in this process: a quarter of vm.max_map_count (MM1).
[[gnu::cold]] std::size_t read_mprotect_guard_limit() noexcept;

/// Takes one guard out of the budget; false when it is used up.
inline bool take_guard_budget() noexcept {
  std::size_t limit = mprotect_guard_limit.get();
  if (limit == 0) {
    limit = read_mprotect_guard_limit();
  }
  // The read-modify-write alone keeps MM1.
  if (mprotect_guards.add() < limit) {
    return true;
  }
  mprotect_guards.take();
  return false;
}

/// Returns so many guards of kind mprotect to the budget; called when their memory has been unmapped.
inline void return_guard_budget(std::size_t guards) noexcept { mprotect_guards.take(guards); }

/// Makes whole pages inaccessible, by the cheapest means that this kernel has. Their contents are
/// lost. They stay guarded until they are unmapped.
guard_result install_guard(void* memory, std::size_t bytes) noexcept;

/// Calls install_guard() for memory that the user has mapped. The guard lasts until return_foreign().
inline guard_result guard_foreign(void* memory, std::size_t bytes) noexcept {
  return install_guard(memory, bytes);
}

/// Makes such memory readable and writable again, whose first `guarded` bytes are the guard, and gives back
/// what that took of the budget.
void return_foreign(void* memory, std::size_t bytes, std::size_t guarded,
                    guard_kind guard) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <fcntl.h>
#include <sys/mman.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void unmap(void* memory, std::size_t bytes) noexcept {
  ::munmap(memory, bytes);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map_stacks(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  if (bytes > SIZE_MAX - alignment) {
    return nullptr;
  }
  const std::size_t mapped = bytes + alignment;
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  char* const begin = static_cast<char*>(memory);
  const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
  const std::size_t before = misplaced == 0 ? 0 : alignment - misplaced;
  char* const slab = begin + before;
  if (before != 0) {
    ::munmap(begin, before);
  }
  if (alignment != before) {
    ::munmap(slab + bytes, alignment - before);
  }
  // Refused by kernels that have no huge pages, which is as good.
  ::madvise(slab, bytes, MADV_NOHUGEPAGE);
  return slab;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void discard_now(void* memory, std::size_t bytes) noexcept {
  ::madvise(memory, bytes, MADV_DONTNEED);
}

THRUM_COLD THRUM_OUT_OF_LINE bool probe_guard_support() noexcept {
  const std::size_t page = page_size();
  void* const memory = map(page);
  if (memory == nullptr) {
    return false;
  }
  const bool works = ::madvise(memory, page, advice_guard_install) == 0 &&
                     ::madvise(memory, page, advice_populate_read) != 0;
  unmap(memory, page);
  guard_support.set(works ? guard_support_state::yes : guard_support_state::no);
  return works;
}

THRUM_COLD THRUM_OUT_OF_LINE std::size_t read_mprotect_guard_limit() noexcept {
  std::size_t mappings = 0;
  const int fd = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    char text[24];
    const ssize_t length = ::read(fd, text, sizeof text);
    for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i) {
      mappings = mappings * 10 + static_cast<std::size_t>(text[i] - '0');
    }
    ::close(fd);
  }
  constexpr std::size_t kernel_default = 65'530;
  const std::size_t limit = (mappings != 0 ? mappings : kernel_default) / 4;
  mprotect_guard_limit.set(limit);
  return limit;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_result install_guard(void* memory,
                                                            std::size_t bytes) noexcept {
  if (has_cheap_guards() && ::madvise(memory, bytes, advice_guard_install) == 0) {
    return guard_kind::madvise;
  }
  if (!take_guard_budget()) {
    return guard_kind::none;
  }
  if (::mprotect(memory, bytes, PROT_NONE) != 0) {
    return_guard_budget(1);
    return guard_kind::none;
  }
  return guard_kind::mprotect;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void return_foreign(void* memory, std::size_t, std::size_t guarded,
                                                     guard_kind guard) noexcept {
  if (guard == guard_kind::madvise) {
    ::madvise(memory, guarded, advice_guard_remove);
  } else if (guard == guard_kind::mprotect) {
    ::mprotect(memory, guarded, PROT_READ | PROT_WRITE);
    return_guard_budget(1);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_LINUX

#if THRUM_OS_MACOS || THRUM_OS_FREEBSD

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

// Memory by what POSIX has: mappings, slabs of stacks, guards by mprotect.

/// What a start function returns when map() or map_stacks() gave nullptr.
inline constexpr int out_of_memory = ENOMEM;

/// Bytes of a page: the grain of everything in this file.
THRUM_NOINLINE inline std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// New zeroed memory, readable and writable; nullptr when there is none. No lock, no malloc: may be
/// called from a signal handler that saves errno.
void* map(std::size_t bytes) noexcept;

/// Gives a mapping back, or a part of one that begins and ends at a page. Guards inside vanish.
void unmap(void* memory, std::size_t bytes) noexcept;

/// A slab for stacks, aligned to `alignment` (a power of two, at least a page). nullptr when there
/// is no address space.
void* map_stacks(std::size_t bytes, std::size_t alignment) noexcept;

/// Gives the contents of whole pages back: they leave the resident set, and read as zeros.
void discard_now(void* memory, std::size_t bytes) noexcept;

/// How a guard was made.
enum class guard_kind : std::uint8_t {
  mprotect,  ///< by a mapping of its own, of which these systems have as many as there is memory
  none,      ///< there is no guard: an overflow is not caught
};

/// There is no budget.
inline void return_guard_budget(std::size_t) noexcept {}

/// Makes whole pages inaccessible until they are unmapped.
guard_kind install_guard(void* memory, std::size_t bytes) noexcept;

/// Calls install_guard() for memory that the user has mapped. The guard lasts until return_foreign().
inline guard_kind guard_foreign(void* memory, std::size_t bytes) noexcept {
  return install_guard(memory, bytes);
}

/// Makes such memory readable and writable again, whose first `guarded` bytes are the guard.
void return_foreign(void* memory, std::size_t bytes, std::size_t guarded,
                    guard_kind guard) noexcept;

}}}  // namespace thrum::THRUM_ABI::os

#if THRUM_BODIES
#include <sys/mman.h>

namespace thrum { inline namespace THRUM_ABI { namespace os {

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map(std::size_t bytes) noexcept {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void unmap(void* memory, std::size_t bytes) noexcept {
  ::munmap(memory, bytes);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void* map_stacks(std::size_t bytes,
                                                  std::size_t alignment) noexcept {
  if (bytes > SIZE_MAX - alignment) {
    return nullptr;
  }
  char* const begin = static_cast<char*>(map(bytes + alignment));
  if (begin == nullptr) {
    return nullptr;
  }
  const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
  const std::size_t before = misplaced == 0 ? 0 : alignment - misplaced;
  char* const slab = begin + before;
  if (before != 0) {
    ::munmap(begin, before);
  }
  if (alignment != before) {
    ::munmap(slab + bytes, alignment - before);
  }
  return slab;
}

/// New pages in the place of the old ones: advice is no order on these systems.
THRUM_NOINLINE THRUM_OUT_OF_LINE void discard_now(void* memory, std::size_t bytes) noexcept {
  ::mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
}

THRUM_NOINLINE THRUM_OUT_OF_LINE guard_kind install_guard(void* memory,
                                                          std::size_t bytes) noexcept {
  return ::mprotect(memory, bytes, PROT_NONE) == 0 ? guard_kind::mprotect : guard_kind::none;
}

THRUM_NOINLINE THRUM_OUT_OF_LINE void return_foreign(void* memory, std::size_t, std::size_t guarded,
                                                     guard_kind guard) noexcept {
  if (guard == guard_kind::mprotect) {
    ::mprotect(memory, guarded, PROT_READ | PROT_WRITE);
  }
}

}}}  // namespace thrum::THRUM_ABI::os
#endif

#endif  // THRUM_OS_MACOS || THRUM_OS_FREEBSD

#if THRUM_OS_WINDOWS
#include <thrum/detail/os/windows/memory.hpp>  // IWYU pragma: export
#endif

#endif  // THRUM_DETAIL_OS_MEMORY_HPP
