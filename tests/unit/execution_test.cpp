// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// <thrum/interop/execution.hpp> with a receiver of our own; where stdexec is installed, with its algorithms too.

#include "support/senders.hpp"

#include <thrum/interop/execution.hpp>

#include "support/test.hpp"

namespace senders = support::senders;
using thrum::as_sender;
using thrum::async_acquire;
using thrum::async_recv;
using thrum::async_send;
using thrum::async_sleep_for;
using thrum::chan;
using thrum::execution_scheduler;

namespace {

/// A std::stop_token as senders know tokens.
struct sender_stop {
  std::stop_token of;

  template <class F>
  struct callback_type : std::stop_callback<F> {
    callback_type(const sender_stop& token, F call)
        : std::stop_callback<F>(token.of, std::move(call)) {}
  };
  bool stop_requested() const noexcept { return of.stop_requested(); }
  bool stop_possible() const noexcept { return of.stop_possible(); }
  bool operator==(const sender_stop&) const noexcept = default;
};

/// How an operation completed.
struct completion {
  explicit completion(std::stop_token until = {}) : stop{std::move(until)} {}

  sender_stop stop;
  int values = 0;
  int value = 0;
  std::exception_ptr error;
  int stops = 0;
  thrum::runtime* on = nullptr;
  thrum::wait_group ended{1};

  void finish() {
    on = thrum::runtime::current();
    ended.done();
  }
  int count() const { return values + (error ? 1 : 0) + stops; }
};

struct receiver {
  using receiver_concept = senders::receiver_t;

  struct env {
    sender_stop stop;
    sender_stop query(senders::get_stop_token_t /*what*/) const noexcept { return stop; }
  };

  completion* to;

  env get_env() const noexcept { return {to->stop}; }
  void set_value() noexcept {
    ++to->values;
    to->finish();
  }
  template <class V>
  void set_value(V&& value) noexcept {
    if constexpr (requires { *value; }) {
      to->value = value ? *value : -1;
    }
    set_value();
  }
  void set_error(std::exception_ptr what) noexcept {
    to->error = std::move(what);
    to->finish();
  }
  void set_stopped() noexcept {
    ++to->stops;
    to->finish();
  }
};

/// Starts an operation, and waits until it has completed.
template <class Sender, class Meanwhile>
void complete(Sender sender, completion& to, Meanwhile meanwhile) {
  auto operation = senders::connect(std::move(sender), receiver{&to});
  senders::start(operation);
  meanwhile();
  to.ended.wait();
}
template <class Sender>
void complete(Sender sender, completion& to) {
  complete(std::move(sender), to, [] {});
}

}  // namespace

TEST_CASE("a scheduler of a runtime completes on a goroutine of it, from any thread") {
  thrum::runtime runtime;
  const execution_scheduler on(runtime);
  completion ended;
  complete(senders::schedule(on), ended);
  CHECK(ended.values == 1);
  CHECK(ended.count() == 1);
  CHECK(ended.on == &runtime);
  CHECK(on == senders::get_env(senders::schedule(on))
                  .query(senders::get_completion_scheduler_t<senders::set_value_t>()));
  thrum::runtime other;
  CHECK_FALSE(on == execution_scheduler(other));
  CHECK(is_usage_error("execution_scheduler", [] { execution_scheduler(); }));
}

IN_RUNTIME("a sender completes with what a coroutine would get, and with what it would throw") {
  const chan<int> items(1);
  items.send(7);
  completion received;
  complete(as_sender([items] { return async_recv(items); }), received);
  CHECK(received.value == 7);
  items.close();
  completion closed;
  complete(as_sender([items] { return async_recv(items); }), closed);
  CHECK(closed.value == -1);
  completion wrong;
  complete(as_sender([items] { return async_send(items, 1); }), wrong);
  CHECK(is_usage_error("async_send", [&] { std::rethrow_exception(wrong.error); }));
  completion thrown;
  complete(
      as_sender([]() -> decltype(async_sleep_for(1ms)) { throw std::runtime_error("of make"); }),
      thrown);
  CHECK_THROWS_WITH(std::rethrow_exception(thrown.error), "of make");
  CHECK(received.count() + closed.count() + wrong.count() + thrown.count() == 4);
}

IN_RUNTIME("a sender that is connected twice waits twice") {
  const chan<int> items(2);
  items.send(1);
  items.send(2);
  const auto next = as_sender([items] { return async_recv(items); });
  completion first;
  completion second;
  complete(next, first);
  complete(next, second);
  CHECK(first.value == 1);
  CHECK(second.value == 2);
}

IN_RUNTIME("the receiver's stop token ends the wait of a sender") {
  const chan<int> never(0);
  std::stop_source source;
  completion during(source.get_token());
  complete(as_sender([never] { return async_recv(never); }), during,
           [&] { source.request_stop(); });
  CHECK(during.stops == 1);
  completion before(source.get_token());
  complete(execution_scheduler().schedule(), before);
  CHECK(before.stops == 1);
  thrum::counting_semaphore<> none(0);
  completion acquired(source.get_token());
  complete(as_sender([&] { return async_acquire(none); }), acquired);
  CHECK(acquired.stops == 1);
  CHECK(during.count() + before.count() + acquired.count() == 3);
  CHECK_FALSE(never.try_send(1));
}

IN_RUNTIME("an item and a stop that meet in a sender: one of them completes it", with_procs(4)) {
  for (int i = 0; i != scaled(2'000); ++i) {
    const chan<int> items(0);
    std::stop_source source;
    completion ended(source.get_token());
    bool is_sent = false;
    thrum::join_handle<bool> stop;
    complete(as_sender([items] { return async_recv(items); }), ended, [&] {
      stop = thrum::spawn([&] { return source.request_stop(); });
      is_sent = items.try_send(5);
    });
    stop.join();
    if (ended.count() != 1 || (ended.values == 1) != is_sent) {
      FAIL("lost, or completed twice");
    }
  }
}

TEST_CASE("the stop of a runtime completes the senders that wait, and later ones, as stopped") {
  const chan<int> never(0);
  completion waits;
  completion late;
  {
    thrum::runtime runtime;
    complete(as_sender(runtime, [never] { return async_recv(never); }), waits,
             [&] { runtime.stop(); });
    complete(execution_scheduler(runtime).schedule(), late);
  }
  CHECK(waits.stops == 1);
  CHECK(late.stops == 1);
  CHECK(waits.count() + late.count() == 2);
}

#if __has_include(<stdexec/execution.hpp>)

TEST_CASE("stdexec waits for two channels at once, and for one after the other") {
  static_assert(stdexec::scheduler<execution_scheduler>);
  thrum::runtime runtime;
  const chan<int> ones(0);
  const chan<int> tens(0);
  runtime.go([=] {
    for (int i = 0; i != 2; ++i) {
      tens.send(10);
      ones.send(1);
    }
  });
  const auto one = as_sender(runtime, [ones] { return async_recv(ones); });
  const auto ten = as_sender(runtime, [tens] { return async_recv(tens); });
  const auto sum = [](const auto& a, const auto& b) { return *a + *b; };
  CHECK(stdexec::sync_wait(stdexec::when_all(one, ten) | stdexec::then(sum)) == std::tuple(11));
  CHECK(stdexec::sync_wait(ten | stdexec::let_value([&](auto& first) {
                             return one | stdexec::then([&](const auto& second) {
                                      return sum(first, second);
                                    });
                           })) == std::tuple(11));
}

TEST_CASE("an error in stdexec's when_all stops the other wait") {
  thrum::runtime runtime;
  const chan<int> closed(0);
  closed.close();
  const chan<int> never(0);
  CHECK(is_usage_error("async_send", [&] {
    stdexec::sync_wait(
        stdexec::when_all(as_sender(runtime, [closed] { return async_send(closed, 1); }),
                          as_sender(runtime, [never] { return async_recv(never); })));
  }));
}

#endif
