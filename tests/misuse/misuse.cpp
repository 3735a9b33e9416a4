// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that are wrong, and what the compiler says of each. tools/check_misuse.py compiles this
// file and wants exactly the errors that the comments announce: `error:` begins a sentence that is
// reported once, `unused` stands at a line whose result must not be dropped.

#include <thrum.hpp>
#include <thrum/generator.hpp>
#include <thrum/sync/recursive_mutex.hpp>
#include <thrum/sync/singleflight.hpp>
#include <thrum/sync/weighted_semaphore.hpp>

#include <chrono>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
  go(5);                                     // error: go, spawn: the function cannot be called
  go(takes_two, 1);                          // error: go, spawn: the function cannot be called
  go(takes_reference, number);               // error: go, spawn: the function cannot be called
  go({.name = "named"}, takes_two, "1");     // error: go, spawn: the function cannot be called
  go(takes_owner, owner);                    // error: go, spawn: the goroutine keeps the function
  const auto handle = spawn(takes_two, 1L);  // error: go, spawn: the function cannot be called
  other.go(takes_two, 1, 2, 3);              // error: go, spawn: the function cannot be called
  static_cast<void>(other.spawn(6L));        // error: go, spawn: the function cannot be called
  other.block_on(takes_reference);           // error: go, spawn: the function cannot be called
  run(7.0);                                  // error: go, spawn: the function cannot be called
  go(other, takes_two, 1.0, 2, 3);           // error: go, spawn: the function cannot be called
  wait_group group;
  group.go(takes_two);  // error: go, spawn: the function cannot be called
  task_group tasks;
  tasks.go(takes_owner, number);        // error: go, spawn: the function cannot be called
  tasks.go(other, takes_owner, 1.0);    // error: go, spawn: the function cannot be called
  static_cast<void>(tasks.try_go(8U));  // error: go, spawn: the function cannot be called
  after_func(1s, takes_two);            // error: after_func: the function must be callable
  context().after_func(takes_two);      // error: context::after_func: the function must be callable
}

[[maybe_unused]] void attributes_that_come_last() {
  go([] {}, {.name = "named"});  // error: go, spawn: the attributes come first
  const auto handle =
      spawn([] {}, {.name = "named"});  // error: go, spawn: the attributes come first
}

[[maybe_unused]] void cannot_handle_connections(net::server& server, runtime& other) {
  const auto takes_it_away = [](net::conn) {};
  const auto takes_more = [](net::conn&, int) {};
  server.serve(takes_it_away);      // error: server::serve: the handler must be callable
  server.serve([] {});              // error: server::serve: the handler must be callable
  server.serve(other, takes_more);  // error: server::serve: the handler must be callable
}

[[maybe_unused]] void cannot_be_computed() {
  const once_value five(5);                       // error: once_value: the function that
  const once_value two([](int a) { return a; });  // error: once_value: the function that
}

[[maybe_unused]] void cannot_be_generated() {
  const generator<int> g([](int a) { return a; });  // error: generator<T>: the function must be
  const generator<int&> h([](auto& yield) { yield(1); });  // error: generator<T>: T must not be
}

[[maybe_unused]] void cannot_be_shared(singleflight<int, int>& flights) {
  const singleflight<int, std::unique_ptr<int>>
      f;                                    // error: singleflight<Key, Value>: Value must be
  flights.do_(1, [](int a) { return a; });  // error: singleflight::do_: the function must be
}

[[maybe_unused]] void cannot_be_mapped(const std::list<int>& all) {
  task_group::map(all, 1,
                  [](const char*) { return 1; });  // error: task_group::map: the function must be
  task_group::map(all, 1,
                  [](int) {});  // error: task_group::map: the function must return something
  task_group::first_success(all, 1,
                            takes_two);  // error: task_group::first_success: the function must be
  task_group::first_success(all, 1,
                            [](int) {});  // error: task_group::first_success: the function must
}

[[maybe_unused]] void cannot_be_elements() {
  int number = 0;
  const chan<int&> references(1);  // error: chan<T>: T must not be a reference
  references.send(number);
  const auto c = make_chan<immovable>(1);  // error: chan<T>: elements move from one goroutine
  const chan<const int> constants(1);      // error: chan<T>: T must not be const
  constants.send(number);
  const auto d = make_chan<int[3]>();     // error: chan<T>: elements move from one goroutine
  const auto e = make_chan<void(int)>();  // error: chan<T>: elements move from one goroutine
}

[[maybe_unused]] bool cannot_be_the_same(const chan<int>& c, const chan<long>& d,
                                         const recv_chan<void>& signals) {
  const bool differ = c != d;      // error: chan: channels with different element types
  const bool both = signals == c;  // error: chan: channels with different element types
  return differ && both;
}

[[maybe_unused]] void cannot_be_sent(const chan<int>& c, const send_chan<int>& sends) {
  c.send("5");               // error: chan::send: the value does not convert
  sends.send(std::list{5});  // error: chan::send: the value does not convert
}

[[maybe_unused]] void cannot_wait_with(condition_variable& changed,
                                       std::unique_lock<std::mutex>& lock) {
  changed.wait(lock);  // error: condition_variable: the lock must be
  changed.wait(lock, [] { return true; });
  changed.wait_for(lock, 1s);
  changed.wait_until(lock, time_point());
}

struct no_default {
  explicit no_default(int /*a*/) {}
};

[[maybe_unused]] void handlers_that_cannot_be_called(const chan<int>& c, const chan<void>& signals,
                                                     const chan<no_default>& others) {
  select(on_recv(c, [](const char*) {}));  // error: on_recv: the handler must be callable with (T)
  select(on_recv(signals, 5));             // error: on_recv: the handler of a chan<void> must
  select(
      on_recv(others, [](no_default&&, bool) {}));  // error: on_recv: a handler f(T&&, bool) gets
  select(on_send(c, 1, [](int) {}));                // error: select: the handler of this case must
  select(on_timeout(1s, 6));                        // error: select: the handler of this case must
  select(otherwise([](bool) {}));                   // error: select: the handler of this case must
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
  on_join(join_handle<int>());                        // unused
  io::on_readable(net::conn());                       // unused
  io::on_writable(2);                                 // unused
  otherwise();                                        // unused
  make_chan<int>();                                   // unused
  after(1s);                                          // unused
  context::background();                              // unused
  context::background().with_cancel();                // unused
  context::background().with_timeout(1s);             // unused
  context::background().with_deadline(time_point());  // unused
  context::background().with_value(1);                // unused
  context::background().with_stop_token(token);       // unused
  context::background().without_cancel();             // unused
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
                                                 counting_semaphore<>& permits,
                                                 weighted_semaphore& w, latch& l) {
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
  w.try_acquire(2);                         // unused
  w.try_acquire_for(2, 1s);                 // unused
  w.try_acquire_until(2, time_point());     // unused
  l.try_wait();                             // unused
}

[[maybe_unused]] void waits_that_may_end_early(wait_group& group, join_handle<int>& handle,
                                               io::process& child) {
  group.wait_for(1s);               // unused
  group.wait_until(time_point());   // unused
  handle.wait_for(1s);              // unused
  handle.wait_until(time_point());  // unused
  child.wait_for(1s);               // unused
  child.try_wait();                 // unused
}

struct without_end {
  const int* begin() const;
  std::unreachable_sentinel_t end() const;
};

[[maybe_unused]] void cannot_be_shared_out(std::list<int>& links, const without_end& endless) {
  parallel_for(links, [](int) {});  // error: parallel_for, parallel_reduce: the range must have
  parallel_for(0, 9, [](const char*) {});  // error: parallel_for: the function must be callable
  parallel_for(std::span<int>(), [] {});   // error: parallel_for: the function must be callable
  parallel_for(endless,
               [](int) {});  // error: parallel_for, parallel_reduce: the number of elements
}

[[maybe_unused]] void cannot_be_streams(int number, std::list<int>& links, io::pipe_reader& in) {
  const io::buffered_reader<int&> reader(number);  // error: buffered_reader: the stream must be
  const io::buffered_writer<std::list<int>&> writer(
      links);                                // error: buffered_writer: the stream must be
  const io::limited<int&> part(number, 1);   // error: limited: the stream must be
  const io::multi_writer<int&> all(number);  // error: multi_writer: each stream must be
  io::buffered_reader(in).read_exactly(std::span<char>());  // unused
}

}  // namespace
