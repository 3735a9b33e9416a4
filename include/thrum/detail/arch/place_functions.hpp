// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Makes functions of a processor's assembly, which the macros below hold when this is included, in
// the middle of that processor's file:
//   THRUM_ARCH_SWITCH_BODY    a switch up to the jump: (save_sp, load_sp, pass)
//   THRUM_ARCH_LEAVE          the jump; and that of the paired switch,
//   THRUM_ARCH_LEAVE_PAIRED   a return
//   THRUM_ARCH_ENTRY_BODY     thrum_goroutine_entry
//   THRUM_ARCH_CALL_BODY      thrum_call_as_parked: (save_sp, f, argument)
//   THRUM_ARCH_WATCHED_BODY   thrum_call_watched: (f, argument)
//   THRUM_ENTRY_OPEN          and
//   THRUM_ENTRY_CLOSE         where the unwinder's entry for a function of assembly begins and ends;
//                             without them it is DWARF's
// See contract.hpp for what each does. Each flavour of the library has its own: their symbols end in its tag.
//
// Where the compiler has the attribute they are naked functions. Elsewhere they are assembly at
// file scope: in a comdat section, weak and hidden, and guarded by .ifndef because gcc's link-time
// optimisation pastes that of all translation units into one. In Windows' object files such a
// section is one of which the linker keeps the first, nothing is weak or hidden, and no directive
// returns to the section that was there before: it was that of code.
#ifndef THRUM_DETAIL_ARCH_PLACE_FUNCTIONS_HPP
#define THRUM_DETAIL_ARCH_PLACE_FUNCTIONS_HPP

#if defined(THRUM_ARCH_SWITCH_BODY)

#if !defined(THRUM_ENTRY_OPEN)
#define THRUM_ENTRY_OPEN ".cfi_startproc\n\t"
#define THRUM_ENTRY_CLOSE ".cfi_endproc\n\t"
#endif

namespace thrum { inline namespace THRUM_ABI { namespace arch {

#if THRUM_HAS_NAKED

// Each is declared first: a definition has no place for its symbol.
#define THRUM_ARCH_FUNCTION(type, name, parameters, body) \
  type name parameters asm(THRUM_SYMBOL(#name));          \
  THRUM_NAKED inline type name parameters { asm(body); }

#else

// clang-format off
#if THRUM_HAS_SEH_UNWINDER
#define THRUM_ARCH_FUNCTION(type, name, parameters, body)                     \
  type name parameters asm(THRUM_SYMBOL(#name));                              \
  THRUM_ARCH_ASSEMBLY(THRUM_SYMBOL(#name), body)
#define THRUM_ARCH_ASSEMBLY(symbol, body)                                     \
  asm(".ifndef " symbol "\n\t"                                                \
      ".section .text$" symbol ", \"xr\"\n\t"                                 \
      ".linkonce discard\n\t"                                                 \
      ".globl " symbol "\n\t"                                                 \
      ".def " symbol "; .scl 2; .type 32; .endef\n\t"                         \
      ".p2align 4\n"                                                          \
      symbol ":\n\t"                                                          \
      ".seh_proc " symbol "\n\t"                                              \
      body "\n\t"                                                             \
      ".seh_endproc\n\t"                                                      \
      ".text\n\t"                                                             \
      ".endif");
#else
#define THRUM_ARCH_FUNCTION(type, name, parameters, body)                     \
  [[gnu::visibility("hidden")]] type name parameters asm(THRUM_SYMBOL(#name)); \
  THRUM_ARCH_ASSEMBLY(THRUM_SYMBOL(#name), body)
#define THRUM_ARCH_ASSEMBLY(symbol, body)                                     \
  asm(".ifndef " symbol "\n\t"                                                \
      ".pushsection .text." symbol ", \"axG\", %progbits, " symbol ", comdat\n\t" \
      ".weak " symbol "\n\t"                                                  \
      ".hidden " symbol "\n\t"                                                \
      ".type " symbol ", %function\n\t"                                       \
      ".p2align 4\n"                                                          \
      THRUM_ENTRY_OPEN                                                        \
      symbol ":\n\t"                                                          \
      body "\n\t"                                                             \
      THRUM_ENTRY_CLOSE                                                       \
      ".size " symbol ", . - " symbol "\n\t"                                  \
      ".popsection\n\t"                                                       \
      ".endif");
#endif
// clang-format on

#endif  // THRUM_HAS_NAKED

THRUM_ARCH_FUNCTION(void*, thrum_switch_stack, (void**, void*, void*),
                    THRUM_ARCH_SWITCH_BODY THRUM_ARCH_LEAVE)
THRUM_ARCH_FUNCTION(void*, thrum_switch_stack_paired, (void**, void*, void*),
                    THRUM_ARCH_SWITCH_BODY THRUM_ARCH_LEAVE_PAIRED)
THRUM_ARCH_FUNCTION(void, thrum_goroutine_entry, (), THRUM_ARCH_ENTRY_BODY)
THRUM_ARCH_FUNCTION(void, thrum_call_as_parked, (void**, void (*)(void*), void*),
                    THRUM_ARCH_CALL_BODY)
#if THRUM_EXCEPTIONS
THRUM_ARCH_FUNCTION(void, thrum_call_watched, (void (*)(void*), void*), THRUM_ARCH_WATCHED_BODY)
#endif

#undef THRUM_ARCH_FUNCTION
#undef THRUM_ARCH_ASSEMBLY

}}}  // namespace thrum::THRUM_ABI::arch

#undef THRUM_ENTRY_OPEN
#undef THRUM_ENTRY_CLOSE
#undef THRUM_ARCH_SWITCH_BODY
#undef THRUM_ARCH_LEAVE
#undef THRUM_ARCH_LEAVE_PAIRED
#undef THRUM_ARCH_ENTRY_BODY
#undef THRUM_ARCH_CALL_BODY
#undef THRUM_ARCH_WATCHED_BODY

#endif  // THRUM_ARCH_SWITCH_BODY
#endif
