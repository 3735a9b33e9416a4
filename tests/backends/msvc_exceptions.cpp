// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The C++ ABI of MSVC without its headers: two stacks of our own park inside catch blocks, in turn with
// a third, and each finds its exceptions again because the switch moves the record of caught exceptions.
// Compiled by clang for x86_64-pc-windows-msvc, linked with what vcruntime140.dll exports. Exits with 0
// if every exception was the right one and all were destroyed. MOVES=0 leaves the record where it is:
// then it crashes (docs/decisions/0024-msvc-exception-record.md).

using quad = unsigned long long;

extern "C" {
/// Of a catch block that is active.
struct frame_info {
  void* object;
  frame_info* next;
};
void** __current_exception();
void** __current_exception_context();
int* __processing_throw();
frame_info* _CreateFrameInfo(frame_info* own, void* object);
void _FindAndUnlinkFrame(frame_info* own);

void* VirtualAlloc(void* where, quad bytes, unsigned how, unsigned protection);
[[noreturn]] void ExitProcess(unsigned code);
void* malloc(quad bytes);
void free(void* memory);

void switch_stacks(void** save, void* to);
int _fltused = 0;
}

void* operator new(quad bytes) { return malloc(bytes); }
void operator delete(void* memory) noexcept { free(memory); }

// The registers and the words of the thread's block that arch/x86_64_win64.hpp keeps, but for those of
// floating point; and what every type's description refers to.
asm(R"(
  .globl "??_7type_info@@6B@"
  .data
"??_7type_info@@6B@":
  .quad 0
  .text
  .globl switch_stacks
switch_stacks:
  push %rbx
  push %rbp
  push %rsi
  push %rdi
  push %r12
  push %r13
  push %r14
  push %r15
  pushq %gs:0x8
  pushq %gs:0x10
  pushq %gs:0x1478
  pushq %gs:0x0
  mov %rsp, (%rcx)
  mov %rdx, %rsp
  popq %gs:0x0
  popq %gs:0x1478
  popq %gs:0x10
  popq %gs:0x8
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rdi
  pop %rsi
  pop %rbp
  pop %rbx
  ret
)");

namespace {

/// What a thread has of exceptions that are caught.
struct record {
  void* exception = nullptr;
  void* context = nullptr;
  int processing = 0;
  frame_info* frames = nullptr;
};

/// Lower than every stack: Microsoft's library cuts the chain behind a frame that is higher than the first.
frame_info* probe = nullptr;

record take_record() {
  record its{*__current_exception(), *__current_exception_context(), *__processing_throw(),
             nullptr};
  _CreateFrameInfo(probe, nullptr);  // links it in front of the others
  its.frames = probe->next;
  _FindAndUnlinkFrame(probe);
  return its;
}

void put_record(const record& its) {
  *__current_exception() = its.exception;
  *__current_exception_context() = its.context;
  *__processing_throw() = its.processing;
  _CreateFrameInfo(probe, nullptr);
  probe->next = its.frames;
  _FindAndUnlinkFrame(probe);  // what follows it is the first now
}

struct stack {
  void* pointer = nullptr;
  record own;
};
stack first;
stack others[2];
stack* running = &first;

void switch_to(stack& to) {
  stack& from = *running;
  running = &to;
#if MOVES
  from.own = take_record();
  put_record(to.own);
#endif
  switch_stacks(&from.pointer, to.pointer);
}

struct counted {
  explicit counted(int number) : value(number) { ++alive; }
  counted(const counted& other) : value(other.value) { ++alive; }
  ~counted() { --alive; }
  int value;
  static inline int alive = 0;
};

constexpr int rounds = 500;
int wrong = 0;
int ended = 0;

__declspec(noinline) void fail_with(int number) { throw counted(number); }

void check(bool right) { wrong += right ? 0 : 1; }

/// Parks inside a catch block, inside one within that, and before it throws on.
void park_in_catch(int number) {
  try {
    fail_with(number);
  } catch (const counted& outer) {
    switch_to(first);
    check(outer.value == number);
    try {
      fail_with(number + 7);
    } catch (const counted& inner) {
      switch_to(first);
      check(inner.value == number + 7 && outer.value == number);
    }
    switch_to(first);
    throw;
  }
}

void run(int which) {
  for (int i = 0; i != rounds; ++i) {
    const int number = which * 100'000 + i;
    try {
      park_in_catch(number);
    } catch (const counted& again) {
      check(again.value == number);
    }
  }
  ++ended;
  switch_to(first);
}

void run_first() { run(0); }
void run_second() { run(1); }

void* memory(void* where, quad bytes) {
  constexpr unsigned reserve_and_commit = 0x3000;
  constexpr unsigned to_read_and_write = 4;
  return VirtualAlloc(where, bytes, reserve_and_commit, to_read_and_write);
}

void prepare(stack& fresh, void (*entry)()) {
  constexpr quad bytes = quad{1} << 20;
  constexpr int registers = 8;
  auto* const low = static_cast<char*>(memory(nullptr, bytes));
  auto* at = reinterpret_cast<quad*>(low + bytes - 72);
  *at = 0;
  *--at = reinterpret_cast<quad>(entry);
  for (int i = 0; i != registers; ++i) {
    *--at = 0;
  }
  *--at = reinterpret_cast<quad>(low + bytes);
  *--at = reinterpret_cast<quad>(low);
  *--at = reinterpret_cast<quad>(low);
  *--at = ~quad{0};
  fresh.pointer = at;
}

}  // namespace

extern "C" void start() {
  constexpr quad step = 0x10000;
  for (quad where = step; probe == nullptr; where += step) {
    probe = static_cast<frame_info*>(memory(reinterpret_cast<void*>(where), sizeof(frame_info)));
  }
  prepare(others[0], &run_first);
  prepare(others[1], &run_second);
  for (int i = 0; ended != 2; ++i) {
    switch_to(others[ended == 0 ? i % 2 : 1]);
    try {
      fail_with(-i);
    } catch (const counted& own) {
      check(own.value == -i);
    }
  }
  const record last = take_record();
  check(last.exception == nullptr && last.frames == nullptr);
  ExitProcess(wrong == 0 && counted::alive == 0 ? 0 : 1);
}
