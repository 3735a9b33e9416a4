// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that are wrong, and what the compiler says of each. tools/check_misuse.py compiles this
// file and wants exactly the errors that the comments announce: `error:` begins a sentence that is
// reported once, `unused` stands at a line whose result must not be dropped.

#include <thrum.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace {

using namespace std::chrono_literals;
using namespace thrum;

struct immovable {
  immovable() = default;
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
};

void takes_two(int /*a*/, int /*b*/) {}
void takes_reference(int& /*a*/) {}

[[maybe_unused]] void cannot_be_started(runtime& other, std::unique_ptr<int>& owner) {
  const auto takes_owner = [](std::unique_ptr<int> /*p*/) {};
  int number = 0;
  go(5);                                     // error: go, spawn: what is started cannot be called
  go(takes_two, 1);                          // error: go, spawn: what is started cannot be called
  go(takes_reference, number);               // error: go, spawn: what is started cannot be called
  go({.name = "named"}, takes_two, "1");     // error: go, spawn: what is started cannot be called
  go(takes_owner, owner);                    // error: go, spawn: the function and its arguments
  const auto handle = spawn(takes_two, 1L);  // error: go, spawn: what is started cannot be called
  other.go(takes_two, 1, 2, 3);              // error: go, spawn: what is started cannot be called
  static_cast<void>(other.spawn(6L));        // error: go, spawn: what is started cannot be called
  other.block_on(takes_reference);           // error: go, spawn: what is started cannot be called
  run(7.0);                                  // error: go, spawn: what is started cannot be called
  go(other, takes_two, 1.0, 2, 3);           // error: go, spawn: what is started cannot be called
  wait_group group;
  group.go(takes_two);  // error: go, spawn: what is started cannot be called
  task_group tasks;
  tasks.go(takes_owner, number);      // error: go, spawn: what is started cannot be called
  tasks.go(other, takes_owner, 1.0);  // error: go, spawn: what is started cannot be called
  after_func(1s, takes_two);          // error: after_func: the function must be callable
}

[[maybe_unused]] void cannot_be_elements() {
  int number = 0;
  const chan<int&> references(1);  // error: chan<T>: T must not be a reference
  references.send(number);
  const auto c = make_chan<immovable>(1);  // error: chan<T>: elements move from one goroutine
  const auto d = make_chan<int[3]>();      // error: chan<T>: elements move from one goroutine
  const auto e = make_chan<void(int)>();   // error: chan<T>: elements move from one goroutine
}

struct no_default {
  explicit no_default(int /*a*/) {}
};

[[maybe_unused]] void handlers_that_cannot_be_called(const chan<int>& c, const chan<void>& signals,
                                                     const chan<no_default>& others) {
  select(on_recv(c, [](const char*) {}));  // error: on_recv: the handler takes (std::opt
  select(on_recv(signals, 5));             // error: on_recv: the handler takes (bool)
  select(on_recv(others, [](no_default&&, bool) {}));  // error: on_recv: a handler f(T&&, bool) is
  select(on_send(c, 1, [](int) {}));                   // error: select: the handler of this case is
  select(on_timeout(1s, 6));                           // error: select: the handler of this case is
  select(otherwise([](bool) {}));                      // error: select: the handler of this case is
}

[[maybe_unused]] void results_that_matter(const chan<int>& c, const chan<void>& signals,
                                          const std::stop_token& token) {
  on_recv(c);                                         // unused
  on_recv(c.receiver(), [] {});                       // unused
  on_recv(make_chan<int>());                          // unused
  on_send(c, 1);                                      // unused
  on_send(signals);                                   // unused
  on_timeout(1s);                                     // unused
  on_deadline(time_point());                          // unused
  on_done(token);                                     // unused
  on_done(context::background());                     // unused
  otherwise();                                        // unused
  make_chan<int>();                                   // unused
  after(1s);                                          // unused
  context::background();                              // unused
  context::background().with_cancel();                // unused
  context::background().with_timeout(1s);             // unused
  context::background().with_deadline(time_point());  // unused
  context::background().with_value(1);                // unused
  context::background().with_stop_token(token);       // unused
  int out = 0;
  const int constant = 0;
  c.try_send(1);         // unused
  c.try_send(constant);  // unused
  c.try_recv();          // unused
  c.try_recv(out);       // unused
  signals.try_send();    // what may be ignored
  signals.try_recv();
}

[[maybe_unused]] void locks_that_may_not_be_held(mutex& m, recursive_mutex& r, shared_mutex& s,
                                                 counting_semaphore<>& permits, latch& l) {
  m.try_lock();                             // unused
  m.try_lock_for(1s);                       // unused
  m.try_lock_until(time_point());           // unused
  r.try_lock();                             // unused
  r.try_lock_for(1s);                       // unused
  r.try_lock_until(time_point());           // unused
  s.try_lock();                             // unused
  s.try_lock_for(1s);                       // unused
  s.try_lock_until(time_point());           // unused
  s.try_lock_shared();                      // unused
  s.try_lock_shared_for(1s);                // unused
  s.try_lock_shared_until(time_point());    // unused
  permits.try_acquire();                    // unused
  permits.try_acquire_for(1s);              // unused
  permits.try_acquire_until(time_point());  // unused
  l.try_wait();                             // unused
}

[[maybe_unused]] void waits_that_may_end_early(wait_group& group, join_handle<int>& handle,
                                               io::process& child) {
  group.wait_for(1s);               // unused
  handle.wait_for(1s);              // unused
  handle.wait_until(time_point());  // unused
  child.wait_for(1s);               // unused
  child.try_wait();                 // unused
}

}  // namespace
