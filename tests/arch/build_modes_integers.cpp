// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Second unit: integers that live in preserved registers, and the unwinder.
#include "build_modes.hpp"

#include <unwind.h>

namespace build_modes {

address switch_seen_by_second() { return &thrum::arch::thrum_switch_stack; }
address paired_seen_by_second() { return &thrum::arch::thrum_switch_stack_paired; }

void yield_integers(fibre& self) {
  thrum::arch::switch_stack(&self.own_sp, self.resumer_sp, &self.resumer_sp);
}

int integer_work(fibre& self, std::intptr_t seed, int rounds) {
  int wrong = 0;
  std::intptr_t a = seed, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11, f = seed * 13,
                g = seed * 17, h = seed * 19;
  for (int i = 0; i < rounds; ++i) {
    yield_integers(self);
    a += 1, b += 3, c += 5, d += 7, e += 11, f += 13, g += 17, h += 19;
    const std::intptr_t n = seed + i + 1;
    wrong += a != n || b != 3 * n || c != 5 * n || d != 7 * n || e != 11 * n || f != 13 * n ||
             g != 17 * n || h != 19 * n;
  }
  return wrong;
}

namespace {
_Unwind_Reason_Code count_frame(_Unwind_Context*, void* count) {
  constexpr int far_too_many = 100;
  int& n = *static_cast<int*>(count);
  return ++n > far_too_many ? _URC_END_OF_STACK : _URC_NO_REASON;
}
}  // namespace

int count_frames() {
  int frames = 0;
  const _Unwind_Reason_Code end = _Unwind_Backtrace(&count_frame, &frames);
  constexpr int most = 8;
  // This function or its caller when inlined, and the goroutine's entry.
#if THRUM_HAS_ARM_UNWINDER  // it does not show the last one, and calls each end a failure
  constexpr int fewest = 1;
  constexpr _Unwind_Reason_Code wanted = _URC_FAILURE;
#else
  constexpr int fewest = 2;
  constexpr _Unwind_Reason_Code wanted = _URC_END_OF_STACK;
#endif
  return end == wanted && frames >= fewest && frames <= most ? frames : -1;
}

}  // namespace build_modes
