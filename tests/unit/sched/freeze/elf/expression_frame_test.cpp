// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A frame whose unwind table gives its place as an expression, in the assembler's words for ELF.

#include "support/catch.hpp"

#include "../two_views.hpp"

namespace {

using support::agree;
using support::two_views;
using support::walk_with_much_on_the_stack;

/// Calls f(argument) from a frame whose unwind table gives its place as an expression.
extern "C" void thrum_test_call_from_expression_frame(void (*f)(void*), void* argument);
#if THRUM_ARCH_X86_64_SYSV
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  subq $8, %rsp
  .cfi_escape 0x0f, 0x02, 0x77, 0x10  # def_cfa_expression: breg7 16
  movq %rdi, %rax
  movq %rsi, %rdi
  call *%rax
  addq $8, %rsp
  .cfi_escape 0x0f, 0x02, 0x77, 0x08
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_AARCH64_AAPCS64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  str x30, [sp, #-16]!
  .cfi_escape 0x0f, 0x02, 0x8f, 0x10  // def_cfa_expression: breg31 16
  .cfi_offset x30, -16
  mov x2, x0
  mov x0, x1
  blr x2
  ldr x30, [sp], #16
  .cfi_escape 0x0f, 0x02, 0x8f, 0x00
  .cfi_restore x30
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_RISCV64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  addi sp, sp, -16
  .cfi_escape 0x0f, 0x02, 0x72, 0x10  # def_cfa_expression: breg2 16
  sd ra, 8(sp)
  .cfi_offset ra, -8
  mv a2, a0
  mv a0, a1
  jalr a2
  ld ra, 8(sp)
  addi sp, sp, 16
  .cfi_escape 0x0f, 0x02, 0x72, 0x00
  .cfi_restore ra
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_LOONGARCH64
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  addi.d $sp, $sp, -16
  .cfi_escape 0x0f, 0x02, 0x73, 0x10  # def_cfa_expression: breg3 16
  st.d $ra, $sp, 8
  .cfi_offset 1, -8
  move $a2, $a0
  move $a0, $a1
  jirl $ra, $a2, 0
  ld.d $ra, $sp, 8
  addi.d $sp, $sp, 16
  .cfi_escape 0x0f, 0x02, 0x73, 0x00
  .cfi_restore 1
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_I686
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  movl 4(%esp), %ecx
  movl 8(%esp), %eax
  subl $8, %esp
  .cfi_escape 0x0f, 0x02, 0x74, 0x0c  # def_cfa_expression: breg4 12
  pushl %eax
  .cfi_escape 0x0f, 0x02, 0x74, 0x10
  call *%ecx
  addl $12, %esp
  .cfi_escape 0x0f, 0x02, 0x74, 0x04
  ret
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_S390X
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  stmg %r14, %r15, 112(%r15)
  .cfi_offset %r14, -48
  .cfi_offset %r15, -40
  aghi %r15, -160
  .cfi_escape 0x0f, 0x03, 0x7f, 0xc0, 0x02  # def_cfa_expression: breg15 320
  lgr %r1, %r2
  lgr %r2, %r3
  basr %r14, %r1
  lmg %r14, %r15, 272(%r15)
  .cfi_escape 0x0f, 0x03, 0x7f, 0xa0, 0x01
  .cfi_restore %r14
  .cfi_restore %r15
  br %r14
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#elif THRUM_ARCH_PPC64LE
asm(R"(
  .text
  .type thrum_test_call_from_expression_frame, @function
thrum_test_call_from_expression_frame:
  .cfi_startproc
  mflr 0
  std 0, 16(1)
  .cfi_offset lr, 16
  stdu 1, -32(1)
  .cfi_escape 0x0f, 0x02, 0x71, 0x20  # def_cfa_expression: breg1 32
  std 2, 24(1)
  mr 12, 3
  mr 3, 4
  mtctr 12
  bctrl
  ld 2, 24(1)
  addi 1, 1, 32
  .cfi_escape 0x0f, 0x02, 0x71, 0x00
  ld 0, 16(1)
  mtlr 0
  .cfi_restore lr
  blr
  .cfi_endproc
  .size thrum_test_call_from_expression_frame, . - thrum_test_call_from_expression_frame
)");
#endif

}  // namespace

#if !THRUM_HAS_ARM_UNWINDER  // whose tables a walk does not read
TEST_CASE("a walk passes a frame whose place is given by an expression") {
  two_views views;
  thrum_test_call_from_expression_frame(
      [](void* to) { walk_with_much_on_the_stack<1>(*static_cast<two_views*>(to), 1); }, &views);
  REQUIRE(views.walked.size > 5);
  CHECK(agree(views));
}
#endif
