// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A program of three translation units that is built in every mode we support; see build_modes.sh.
//
// Every unit includes the switch and uses it: the first resumes fibres, the second yields out of
// integer work, the third, by the paired form, out of floating-point work and out of catch blocks.
#ifndef THRUM_TESTS_ARCH_BUILD_MODES_HPP
#define THRUM_TESTS_ARCH_BUILD_MODES_HPP

#include <thrum/detail/arch/arch.hpp>
#include <thrum/detail/os/thread_state.hpp>

#include <cstdint>

namespace build_modes {

/// A stack that is resumed from one place, and yields to it.
struct fibre {
  void* own_sp = nullptr;
  void* resumer_sp = nullptr;
  thrum::os::exception_state exceptions{};
  bool done = false;
};

using address = void* (*)(void**, void*, void*);

address switch_seen_by_first();
address switch_seen_by_second();
address switch_seen_by_third();
address paired_seen_by_first();
address paired_seen_by_second();
address paired_seen_by_third();

/// Switches from the fibre to its resumer.
void yield_integers(fibre& self);
void yield_doubles(fibre& self);

/// Keeps eight values live across `rounds` yields and returns how many were wrong.
int integer_work(fibre& self, std::intptr_t seed, int rounds);
int double_work(fibre& self, double seed, int rounds);

/// Throws and catches, and yields inside the catch block; returns how many went wrong.
int exception_work(fibre& self, int seed, int rounds);

/// Frames that the unwinder sees from here to the end of the stack; negative when it does not end.
int count_frames();

}  // namespace build_modes

#endif  // THRUM_TESTS_ARCH_BUILD_MODES_HPP
