// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The compiler, the platform and the settings of this build: every macro of the library is defined
// here.
//
// A user may define before the first include:
//   THRUM_CHECKS=1   asserts the invariants
//   THRUM_SEPARATE=1 in every source file: the implementation is in one that includes
//                    <thrum/implementation.hpp>, and not in each that includes a header
//   THRUM_TRACE=1    in every source file: the scheduler records what it does, for <thrum/trace.hpp>
//   THRUM_USDT=1     beside THRUM_TRACE=1: probes for bpftrace and perf at the same places; wants <sys/sdt.h>
//   THRUM_KEEP_ERRNO leaves the C library's errno as it is: see errno.hpp
//   THRUM_NO_CFI     with clang and -fno-asynchronous-unwind-tables, where it otherwise rejects the
//                    call-frame information of the context switch
// Everything else is found out. All macros with a value are 0 or 1, so that they work in `#if` and
// in `if constexpr`.
//
// The options that change layout or behaviour are part of the inline namespace THRUM_ABI, for
// example thrum::v0_1_noexc_checks. Two flavours in one program therefore link and stay apart; each
// has its own scheduler, and to one the threads of the other are foreign threads.
#ifndef THRUM_DETAIL_BASE_CONFIG_HPP
#define THRUM_DETAIL_BASE_CONFIG_HPP

#include <thrum/detail/base/requirements.hpp>  // IWYU pragma: keep: what is missing is said first
#include <thrum/version.hpp>

// The operating system: one of these is 1.
#if defined(__linux__)
#define THRUM_OS_LINUX 1
#else
#define THRUM_OS_LINUX 0
#endif
#if defined(__APPLE__)
#define THRUM_OS_MACOS 1
#else
#define THRUM_OS_MACOS 0
#endif
#if defined(__FreeBSD__)
#define THRUM_OS_FREEBSD 1
#else
#define THRUM_OS_FREEBSD 0
#endif
#if defined(_WIN32)
#define THRUM_OS_WINDOWS 1
#else
#define THRUM_OS_WINDOWS 0
#endif

#if THRUM_OS_LINUX + THRUM_OS_MACOS + THRUM_OS_FREEBSD + THRUM_OS_WINDOWS != 1
#error \
    "thrum: this operating system is not supported; supported are Linux, macOS, FreeBSD and Windows"
#endif

// What macOS and FreeBSD share stands in os/bsd/, what all three share in os/posix/. The programs of
// Linux and FreeBSD are ELF files.
#define THRUM_OS_BSD (THRUM_OS_MACOS || THRUM_OS_FREEBSD)
#define THRUM_OS_ELF (THRUM_OS_LINUX || THRUM_OS_FREEBSD)
#define THRUM_OS_POSIX (THRUM_OS_LINUX || THRUM_OS_MACOS || THRUM_OS_FREEBSD)

// Linux with Android's C library, which has less than others.
#if defined(__ANDROID__)
#define THRUM_OS_ANDROID 1
#else
#define THRUM_OS_ANDROID 0
#endif
// Whether a system call may be tried of which the kernel may know nothing. A program of Android's is
// ended by a call that its version of the system does not list.
#define THRUM_TRIES_SYSTEM_CALLS (THRUM_OS_LINUX && !THRUM_OS_ANDROID)

// Whether threads are joined and interrupted, order their memory, make handles and wait for children
// by what POSIX has, and no more. Tests say so on Linux, which has better.
#if !defined(THRUM_OS_PORTABLE)
#define THRUM_OS_PORTABLE (THRUM_OS_BSD || THRUM_OS_ANDROID)
#endif
// Whether the system lets a thread sleep on a word. Without it there is a table of those that sleep.
#define THRUM_HAS_FUTEX (THRUM_OS_BSD || (THRUM_OS_LINUX && !THRUM_OS_PORTABLE))

// Whether there is a kqueue. Tests say so on Linux, where a library emulates it.
#if !defined(THRUM_POLLER_KQUEUE)
#if THRUM_OS_MACOS || THRUM_OS_FREEBSD
#define THRUM_POLLER_KQUEUE 1
#else
#define THRUM_POLLER_KQUEUE 0
#endif
#endif

// The processor and its calling convention: one of these is 1. Each asks for what its file in arch/
// takes for granted, and for no more.
#if defined(__x86_64__) && defined(__LP64__)
#define THRUM_ARCH_X86_64_SYSV 1
#else
#define THRUM_ARCH_X86_64_SYSV 0
#endif
#if defined(__x86_64__) && defined(_WIN64)
#define THRUM_ARCH_X86_64_WIN64 1
#else
#define THRUM_ARCH_X86_64_WIN64 0
#endif
#if defined(__i386__)
#define THRUM_ARCH_I686 1
#else
#define THRUM_ARCH_I686 0
#endif
#if defined(__aarch64__) && defined(__LP64__) && defined(__ARM_NEON)
#define THRUM_ARCH_AARCH64_AAPCS64 1
#else
#define THRUM_ARCH_AARCH64_AAPCS64 0
#endif
#if defined(__aarch64__) && defined(_WIN64)
#define THRUM_ARCH_AARCH64_WIN64 1
#else
#define THRUM_ARCH_AARCH64_WIN64 0
#endif
#if defined(__arm__) && defined(__ARM_EABI__) && defined(__ARM_PCS_VFP) && __ARM_ARCH >= 7
#define THRUM_ARCH_ARMHF 1
#else
#define THRUM_ARCH_ARMHF 0
#endif
#if defined(__riscv) && __riscv_xlen == 64 && !defined(__riscv_64e) && \
    (defined(__riscv_float_abi_double) || defined(__riscv_float_abi_soft))
#define THRUM_ARCH_RISCV64 1
#else
#define THRUM_ARCH_RISCV64 0
#endif
#if defined(__powerpc64__) && defined(__LITTLE_ENDIAN__) && _CALL_ELF == 2
#define THRUM_ARCH_PPC64LE 1
#else
#define THRUM_ARCH_PPC64LE 0
#endif
#if defined(__s390x__)
#define THRUM_ARCH_S390X 1
#else
#define THRUM_ARCH_S390X 0
#endif
#if defined(__loongarch_lp64) && defined(__loongarch_double_float)
#define THRUM_ARCH_LOONGARCH64 1
#else
#define THRUM_ARCH_LOONGARCH64 0
#endif
#if THRUM_ARCH_X86_64_SYSV + THRUM_ARCH_X86_64_WIN64 + THRUM_ARCH_I686 +                       \
        THRUM_ARCH_AARCH64_AAPCS64 + THRUM_ARCH_AARCH64_WIN64 + THRUM_ARCH_ARMHF +             \
        THRUM_ARCH_RISCV64 + THRUM_ARCH_PPC64LE + THRUM_ARCH_S390X + THRUM_ARCH_LOONGARCH64 != \
    1
#error \
    "thrum: this processor is not supported, or not with this calling convention; supported are \
x86-64, aarch64, riscv64 (lp64d, lp64), i686, armhf (ARMv7), s390x, ppc64le (ELFv2) and \
loongarch64 (lp64d)"
#endif

#if defined(__riscv_shadow_stack)
#error "thrum: goroutines have no shadow stacks; compile without -fcf-protection=return"
#endif
#if defined(__has_feature)
#if __has_feature(safe_stack)
#error "thrum: goroutines have no safe stacks of their own; compile without -fsanitize=safe-stack"
#elif __has_feature(shadow_call_stack)
#error "thrum: goroutines have no shadow stacks; compile without -fsanitize=shadow-call-stack"
#endif
#endif
// Whether exceptions find their way by 32-bit Arm's own tables, and not by DWARF's. gcc has a macro
// for it, clang has none.
#define THRUM_HAS_ARM_UNWINDER THRUM_ARCH_ARMHF
// And whether by Windows' tables, which assembly writes with lines of its own.
#define THRUM_HAS_SEH_UNWINDER (THRUM_ARCH_X86_64_WIN64 || THRUM_ARCH_AARCH64_WIN64)
// Whether a called function preserves floating-point registers: with lp64 it does not, even where
// there are any.
#if defined(__riscv_float_abi_soft)
#define THRUM_CALLS_KEEP_FLOATS 0
#else
#define THRUM_CALLS_KEEP_FLOATS 1
#endif

// Exceptions: off under -fno-exceptions.
#if defined(__cpp_exceptions)
#define THRUM_EXCEPTIONS 1
#else
#define THRUM_EXCEPTIONS 0
#endif

// Sanitizers: gcc defines a macro, clang answers a question.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THRUM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define THRUM_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(THRUM_ASAN)
#define THRUM_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(THRUM_TSAN)
#define THRUM_TSAN 1
#endif
#if !defined(THRUM_ASAN)
#define THRUM_ASAN 0
#endif
#if !defined(THRUM_TSAN)
#define THRUM_TSAN 0
#endif

// Assertions of invariants; off unless asked for.
#if !defined(THRUM_CHECKS)
#define THRUM_CHECKS 0
#endif

// Whether the scheduler records what it does, for <thrum/trace.hpp>; off unless asked for.
#if !defined(THRUM_TRACE)
#define THRUM_TRACE 0
#endif
#if !defined(THRUM_USDT)
#define THRUM_USDT 0
#endif
#if THRUM_USDT && !THRUM_TRACE
#error "thrum: THRUM_USDT=1 needs THRUM_TRACE=1 beside it in every source file"
#endif

// Whether this is compiled for a shared object, or for whatever comes: not for an executable alone.
#if defined(__PIC__) && !defined(__PIE__)
#define THRUM_SHARED_OBJECT 1
#else
#define THRUM_SHARED_OBJECT 0
#endif

// The inline namespace: version, then one suffix for each option that differs from the default.
#if THRUM_EXCEPTIONS
#define THRUM_ABI_EXCEPTIONS
#else
#define THRUM_ABI_EXCEPTIONS _noexc
#endif
#if THRUM_ASAN
#define THRUM_ABI_SANITIZER _asan
#elif THRUM_TSAN
#define THRUM_ABI_SANITIZER _tsan
#else
#define THRUM_ABI_SANITIZER
#endif
#if THRUM_CHECKS
#define THRUM_ABI_CHECKS _checks
#else
#define THRUM_ABI_CHECKS
#endif
#if THRUM_USDT
#define THRUM_ABI_TRACE _trace_usdt
#elif THRUM_TRACE
#define THRUM_ABI_TRACE _trace
#else
#define THRUM_ABI_TRACE
#endif
/// The suffix of a build with traits of its own (sched/core/traits.hpp). Two builds with different
/// traits in one program need different suffixes.
#ifdef THRUM_TRAITS_HEADER
#ifndef THRUM_ABI_TRAITS
#define THRUM_ABI_TRAITS _traits
#endif
#else
#define THRUM_ABI_TRAITS
#endif
#if THRUM_OS_LINUX && THRUM_OS_PORTABLE
#define THRUM_ABI_SYSTEM _portable
#else
#define THRUM_ABI_SYSTEM
#endif
// Options of libstdc++ by which its containers, or its strings, have another layout.
#if defined(_GLIBCXX_DEBUG)
#define THRUM_ABI_LIBRARY _glibcxxdebug
#elif defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#define THRUM_ABI_LIBRARY _oldstrings
#else
#define THRUM_ABI_LIBRARY
#endif
#define THRUM_ABI_JOIN(major, minor, exceptions, sanitizer, checks, trace, system, library, \
                       traits)                                                              \
  v##major##_##minor##exceptions##sanitizer##checks##trace##system##library##traits
#define THRUM_ABI_EXPAND(major, minor, exceptions, sanitizer, checks, trace, system, library, \
                         traits)                                                              \
  THRUM_ABI_JOIN(major, minor, exceptions, sanitizer, checks, trace, system, library, traits)
#define THRUM_ABI                                                                            \
  THRUM_ABI_EXPAND(THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR, THRUM_ABI_EXCEPTIONS,           \
                   THRUM_ABI_SANITIZER, THRUM_ABI_CHECKS, THRUM_ABI_TRACE, THRUM_ABI_SYSTEM, \
                   THRUM_ABI_LIBRARY, THRUM_ABI_TRAITS)

#define THRUM_TEXT_OF(value) #value
#define THRUM_TEXT_OF_VALUE(value) THRUM_TEXT_OF(value)
/// The assembler's name of a function of this flavour that assembly defines, or names.
#define THRUM_SYMBOL(name) name "_" THRUM_TEXT_OF_VALUE(THRUM_ABI)

// How a function is placed.
/// Before a function that <thrum/implementation.hpp> defines.
#ifndef THRUM_SEPARATE
#define THRUM_SEPARATE 0
#endif
// Whether a header ends with its bodies; those of templates are wanted for traits of one's own, too.
#ifndef THRUM_BODIES
#define THRUM_BODIES (!THRUM_SEPARATE)
#endif
#ifndef THRUM_TEMPLATE_BODIES
#define THRUM_TEMPLATE_BODIES THRUM_BODIES
#endif
#if THRUM_SEPARATE
#define THRUM_OUT_OF_LINE
#else
#define THRUM_OUT_OF_LINE inline
#endif

// Before a variable of type os::thread_word or os::thread_object: where the compiler emulates thread_local,
// the type has one for each thread itself.
#if THRUM_OS_WINDOWS
#define THRUM_THREAD_LOCAL
#else
#define THRUM_THREAD_LOCAL thread_local
#endif

// For a thread_local that the handler of a signal may be the first to touch. In an object that is loaded later
// glibc makes such a variable at its first use, by malloc, unless it has a fixed place; other libraries make
// it when the object is loaded, and musl does not load one that asks for a fixed place.
#if __has_include(<gnu/libc-version.h>)
#define THRUM_FIXED_THREAD_LOCAL [[gnu::tls_model("initial-exec")]]
#else
#define THRUM_FIXED_THREAD_LOCAL
#endif

// At a function's definition alone: compilers want `inline` and `noinline` in one declaration. A cold function is
// declared [[gnu::cold]], too, which its callers must know.
#define THRUM_NOINLINE [[gnu::noinline]]
#define THRUM_COLD [[gnu::noinline, gnu::cold]]
#define THRUM_INLINE [[gnu::always_inline]] inline

// THRUM_AT_LOAD(&f), in a function that is not inlined: the loader calls f before it initialises variables, if
// that function is emitted. An inline variable's initialiser would be emitted by each file that includes the
// header. f is void() noexcept, THRUM_CALLED_AT_LOAD stands before it, and a second call does nothing. Other
// processors have such a variable instead, THRUM_ELSE_AT_START(f), as their compilers take no address for an
// operand that is a constant.
#if THRUM_OS_ELF && defined(__x86_64__) && defined(__LP64__) && \
    (defined(__code_model_small__) || !defined(__PIC__))
#define THRUM_HAS_AT_LOAD 1
#define THRUM_AT_LOAD_OPERAND "i"
#elif THRUM_OS_ELF && defined(__aarch64__) && defined(__LP64__)
#define THRUM_HAS_AT_LOAD 1
#define THRUM_AT_LOAD_OPERAND "S"
#else
#define THRUM_HAS_AT_LOAD 0
#endif
#if THRUM_HAS_AT_LOAD
#define THRUM_CALLED_AT_LOAD [[gnu::visibility("hidden")]]
#define THRUM_AT_LOAD(function)                              \
  asm volatile(                                              \
      ".pushsection .init_array.00150,\"aw\",%%init_array\n" \
      ".balign 8\n"                                          \
      ".quad %c0\n"                                          \
      ".popsection"                                          \
      :                                                      \
      : THRUM_AT_LOAD_OPERAND(function))
#define THRUM_ELSE_AT_START(function) static_assert(true)
#else
#define THRUM_CALLED_AT_LOAD
#define THRUM_AT_LOAD(function) static_cast<void>(function)
#define THRUM_ELSE_AT_START(function) inline const bool is_called_##function = (function(), true)
#endif

// A function whose plain accesses ThreadSanitizer must not look at. gcc leaves out its atomics too,
// so such a function must not be the side of a pairing that another, instrumented function relies
// on.
#if THRUM_TSAN
#define THRUM_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define THRUM_NO_TSAN
#endif

// A function that reads what belongs to others: the words of a stack that stands still.
#if THRUM_ASAN || THRUM_TSAN
#define THRUM_NO_SANITIZE __attribute__((no_sanitize("address", "thread")))
#else
#define THRUM_NO_SANITIZE
#endif

// Whether a function can be left out of -fsanitize-coverage: gcc 11 has no attribute for that.
#if defined(__clang__) || __GNUC__ >= 12
#define THRUM_HAS_NO_COVERAGE 1
#else
#define THRUM_HAS_NO_COVERAGE 0
#endif

// A function whose body is one asm statement and nothing else: no prologue, no instrumentation of
// any kind, and to gcc's interprocedural passes as opaque as a function in another library
// (-fipa-ra would otherwise conclude from an asm without clobbers that the function changes no
// register). Elsewhere assembly at file scope does the same: gcc has no such functions on some
// processors, on i686 it writes to registers in them, and around them clang writes call-frame
// information only where it does so for all functions.
#if defined(__clang__) && (THRUM_ARCH_X86_64_SYSV || THRUM_ARCH_AARCH64_AAPCS64)
#define THRUM_HAS_NAKED 1
#define THRUM_NAKED                                                         \
  __attribute__((naked, noinline, visibility("hidden"), no_stack_protector, \
                 no_instrument_function, no_profile_instrument_function))
#elif THRUM_ARCH_X86_64_SYSV
#define THRUM_HAS_NAKED 1
#if !THRUM_HAS_NO_COVERAGE
#define THRUM_NAKED                                                                \
  __attribute__((naked, noinline, noipa, visibility("hidden"), no_stack_protector, \
                 no_instrument_function, no_profile_instrument_function))
#else
#define THRUM_NAKED                                                                \
  __attribute__((naked, noinline, noipa, visibility("hidden"), no_stack_protector, \
                 no_instrument_function, no_profile_instrument_function, no_sanitize_coverage))
#endif
#else
#define THRUM_HAS_NAKED 0
#define THRUM_NAKED
#endif

// A line of call-frame information inside assembly. Around a naked body the compiler opens and
// closes the function's entry only where it emits such information at all. gcc says by a macro
// whether it does; clang defines the macro always, hence THRUM_NO_CFI.
#if !THRUM_HAS_NAKED || (defined(__GCC_HAVE_DWARF2_CFI_ASM) && !defined(THRUM_NO_CFI))
#define THRUM_HAS_CFI 1
#define THRUM_CFI(line) line "\n\t"
#else
#define THRUM_HAS_CFI 0
#define THRUM_CFI(line) ""
#endif

// How such a line names the routine that is called for exceptions: by where it is, and in a Mach-O file
// by where a pointer to it is.
#if THRUM_OS_MACOS
#define THRUM_CFI_PERSONALITY(name) THRUM_CFI(".cfi_personality 0x9b, " name)
#else
#define THRUM_CFI_PERSONALITY(name) THRUM_CFI(".cfi_personality 0x1b, " name)
#endif

// try and catch that compile to the plain body under -fno-exceptions.
#if THRUM_EXCEPTIONS
#define THRUM_TRY try
#define THRUM_CATCH_ALL catch (...)
#define THRUM_RETHROW throw
#else
#define THRUM_TRY if constexpr (true)
#define THRUM_CATCH_ALL else
#define THRUM_RETHROW static_cast<void>(0)
#endif

#endif  // THRUM_DETAIL_BASE_CONFIG_HPP
