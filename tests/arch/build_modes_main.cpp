// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// First unit: makes fibres, resumes them in turn while keeping values of its own live, and checks.
#include "build_modes.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

namespace build_modes {

address switch_seen_by_first() { return &thrum::arch::thrum_switch_stack; }
address paired_seen_by_first() { return &thrum::arch::thrum_switch_stack_paired; }

namespace {

constexpr int fibre_count = 6;
constexpr int rounds = 2000;
constexpr std::size_t stack_bytes = std::size_t{128} * 1024;
constexpr std::intptr_t turns_of_a_thread = 90;

struct job : fibre {
  int number = 0;
  int wrong = 0;
  int frames = 0;
  void* stack = nullptr;
};

void run(job& self) {
  self.frames = count_frames();
  switch (self.number % 3) {
    case 0: self.wrong = integer_work(self, self.number + 1, rounds); break;
    case 1: self.wrong = double_work(self, self.number + 0.5, rounds); break;
    default: self.wrong = exception_work(self, self.number, rounds);
  }
}

void entry(void* pass, void* argument) {
  job& self = *static_cast<job*>(argument);
  if (pass != argument) {
    std::puts("the first switch did not pass its value");
    std::abort();
  }
  run(self);
  self.done = true;
  yield_integers(self);
  std::abort();
}

void resume(job& j) {
  using thrum::os::exception_state;
  exception_state* const live = thrum::os::thread_exception_state();
  exception_state mine;
  thrum::os::switch_exception_state(live, mine, j.exceptions);
  void* const passed = j.number % 2 == 0
                           ? thrum::arch::switch_stack(&j.resumer_sp, j.own_sp, &j)
                           : thrum::arch::switch_stack_paired(&j.resumer_sp, j.own_sp, &j);
  thrum::os::switch_exception_state(live, j.exceptions, mine);
  if (passed != &j.resumer_sp) {
    std::puts("a switch back did not pass its value");
    std::abort();
  }
}

// The resumer's own side: eight integers and eight doubles live across the switch, and an exception
// thrown and caught between two switches. So many turns, or until all are done.
bool resume_all(job (&jobs)[fibre_count], std::intptr_t turns, int& wrong) {
  bool any = true;
  for (std::intptr_t turn = 0; any && turn != turns; ++turn) {
    any = false;
    for (job& j : jobs) {
      if (j.done) {
        continue;
      }
      any = true;
      std::intptr_t a = turn + 1, b = a * 3, c = a ^ 5, d = a - 7, e = a * a, f = a + 11, g = ~a,
                    h = a << 1;
      const double t = static_cast<double>(turn);
      double p = t + 0.5, q = t * 1.5, r = t - 3.0, s = t * t, u = -t, v = t / 3.0, w = t + 9.0,
             x = t * 0.125;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
      resume(j);
      asm volatile("" : "+r"(e), "+r"(f), "+r"(g), "+r"(h));
      wrong += a != turn + 1 || b != a * 3 || c != (a ^ 5) || d != a - 7 || e != a * a ||
               f != a + 11 || g != ~a || h != a << 1;
      wrong += p != t + 0.5 || q != t * 1.5 || r != t - 3.0 || s != t * t || u != -t ||
               v != t / 3.0 || w != t + 9.0 || x != t * 0.125;
    }
    try {
      throw std::runtime_error("resumer");
    } catch (const std::runtime_error& caught) {
      wrong += caught.what()[0] != 'r';
    }
  }
  return any;
}

}  // namespace
}  // namespace build_modes

// With an argument, the other two units are in a shared library, which has its own copy.
int main(int argument_count, char**) {
  using namespace build_modes;
  const bool one_copy = argument_count == 1;
  if (switch_seen_by_second() != switch_seen_by_third() ||
      paired_seen_by_second() != paired_seen_by_third() ||
      (switch_seen_by_first() == switch_seen_by_second()) != one_copy ||
      (paired_seen_by_first() == paired_seen_by_second()) != one_copy) {
    std::puts("the switch does not have one address in each linked file");
    return 1;
  }
  job jobs[fibre_count];
  for (int i = 0; i < fibre_count; ++i) {
    job& j = jobs[i];
    j.number = i;
    j.stack = ::operator new (stack_bytes, std::align_val_t{16});
    auto* const top = static_cast<char*>(j.stack) + stack_bytes;
    j.own_sp = thrum::arch::prepare_stack(top, {j.stack, j.stack}, &entry, &j);
    // A return address where the entry's caller would have left one: the unwinder must not want it.
    const auto bait = reinterpret_cast<std::uintptr_t>(&integer_work) + 8;
    for (int word = 1; word <= 2; ++word) {
      std::memcpy(top - word * static_cast<int>(sizeof bait), &bait, sizeof bait);
    }
  }
  int wrong = 0;
  // Threads in turn: what was parked inside a catch block goes on with another one's record.
  for (bool any = true; any;) {
    any = resume_all(jobs, turns_of_a_thread, wrong);
    if (any) {
      std::thread([&] { any = resume_all(jobs, turns_of_a_thread, wrong); }).join();
    }
  }
  for (job& j : jobs) {
    if (j.wrong != 0) {
      std::printf("fibre %d: %d wrong values\n", j.number, j.wrong);
    }
    if (j.frames < 0) {
      std::printf("fibre %d: the unwinder does not end at the entry\n", j.number);
      ++wrong;
    }
    wrong += j.wrong;
    ::operator delete (j.stack, std::align_val_t{16});
  }
  if (wrong != 0) {
    std::printf("%d wrong\n", wrong);
    return 1;
  }
  std::puts("ok");
  return 0;
}
