// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Third unit: floating-point values, and exceptions in flight on several stacks of one thread.
#include "build_modes.hpp"

#include <exception>
#include <stdexcept>

namespace build_modes {

address switch_seen_by_third() { return &thrum::arch::thrum_switch_stack; }
address paired_seen_by_third() { return &thrum::arch::thrum_switch_stack_paired; }

void yield_doubles(fibre& self) {
  thrum::arch::switch_stack_paired(&self.own_sp, self.resumer_sp, &self.resumer_sp);
}

int double_work(fibre& self, double seed, int rounds) {
  int wrong = 0;
  double a = seed, b = seed * 2, c = seed * 4, d = seed * 8, e = seed * 16, f = seed * 32,
         g = seed * 64, h = seed * 128;
  for (int i = 0; i < rounds; ++i) {
    yield_doubles(self);
    a += 1, b += 2, c += 4, d += 8, e += 16, f += 32, g += 64, h += 128;
    const double n = seed + i + 1;
    wrong += a != n || b != 2 * n || c != 4 * n || d != 8 * n || e != 16 * n || f != 32 * n ||
             g != 64 * n || h != 128 * n;
  }
  return wrong;
}

namespace {

struct payload {
  int fibre;
  int round;
};

[[gnu::noinline]] void throw_deep(int depth, payload thrown) {
  if (depth == 0) {
    throw thrown;
  }
  throw_deep(depth - 1, thrown);
  asm volatile("");  // keeps the recursion from becoming a loop
}

struct yields_when_destroyed {
  fibre& self;
  ~yields_when_destroyed() { yield_doubles(self); }
};

}  // namespace

int exception_work(fibre& self, int seed, int rounds) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      yields_when_destroyed const unwinding{self};
      throw_deep(i % 7 == 6 ? 40 : i % 7, payload{seed, i});
    } catch (const payload& caught) {
      yield_doubles(self);
      wrong += caught.fibre != seed || caught.round != i;
      wrong += std::uncaught_exceptions() != 0 || !std::current_exception();
      try {
        throw;
      } catch (const payload& again) {
        yield_doubles(self);
        wrong += again.fibre != seed || again.round != i;
      }
    }
    wrong += static_cast<bool>(std::current_exception());
  }
  return wrong;
}

}  // namespace build_modes
