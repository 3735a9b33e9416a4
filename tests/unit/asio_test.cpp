// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// <thrum/interop/asio.hpp> with standalone Asio; nothing where that is not installed. With -DTHRUM_ASIO_BOOST=1: Boost's.

#include "support/test.hpp"

#if THRUM_ASIO_BOOST && __has_include(<boost/asio.hpp>)
#include <boost/asio.hpp>
#define THRUM_TEST_HAS_ASIO 1
#elif !THRUM_ASIO_BOOST && __has_include(<asio.hpp>)
#include <asio.hpp>
#define THRUM_TEST_HAS_ASIO 1
#endif

#if THRUM_TEST_HAS_ASIO && THRUM_EXCEPTIONS
#include <thrum/interop/asio.hpp>

using thrum::asio_context;
using thrum::use_goroutine;

namespace {

namespace lib = thrum::asio_detail::lib;
using asio_error = thrum::asio_detail::error_code;
using asio_system_error = thrum::asio_detail::system_error;
using lib::ip::tcp;

/// A socket and its peer.
struct connection {
  explicit connection(asio_context& in) : near(in), far(in) {
    tcp::acceptor from(in, tcp::endpoint(lib::ip::address_v4::loopback(), 0));
    near.connect(from.local_endpoint());
    far = from.accept();
  }
  tcp::socket near;
  tcp::socket far;
};

/// An io_context on a thread of its own.
struct on_a_thread {
  on_a_thread() : runs([this] { of.run(); }) {}
  ~on_a_thread() {
    work.reset();
    runs.join();
  }
  lib::io_context of;
  lib::executor_work_guard<lib::io_context::executor_type> work{of.get_executor()};
  std::thread runs;
};

/// Starts an operation that calls its handler as `how` says.
template <class Signature, class How, class Token>
auto operate(How how, Token&& token) {
  return lib::async_initiate<Token, Signature>([&](auto handler) { how(std::move(handler)); },
                                               token);
}

template <class F>
asio_error thrown_error(F f) {
  try {
    f();
  } catch (const asio_system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

IN_RUNTIME("Asio: an echo server serves 100 connections with a goroutine each") {
  constexpr int connections = 100;
  asio_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(lib::ip::address_v4::loopback(), 0));
  thrum::wait_group all;
  all.go([&] {
    for (int n = 0; n != connections; ++n) {
      all.go([client = acceptor.async_accept(use_goroutine)]() mutable {
        char bytes[16];
        asio_error error;
        while (true) {
          const std::size_t size = client.async_read_some(lib::buffer(bytes), use_goroutine(error));
          if (error) {
            break;
          }
          lib::async_write(client, lib::buffer(bytes, size), use_goroutine);
        }
      });
    }
  });
  std::atomic<int> echoes{0};
  for (int n = 0; n != connections; ++n) {
    all.go([&] {
      tcp::socket server(context);
      server.async_connect(acceptor.local_endpoint(), use_goroutine);
      for (int i = 0; i != 5; ++i) {
        char back[6] = {};
        lib::async_write(server, lib::buffer("hello", 5), use_goroutine);
        lib::async_read(server, lib::buffer(back, 5), use_goroutine);
        echoes += std::string_view(back) == "hello";
      }
    });
  }
  all.wait();
  CHECK(echoes == 5 * connections);
}

IN_RUNTIME("use_goroutine returns nothing, a value that only moves, or a tuple") {
  operate<void(asio_error)>([](auto handler) { handler(asio_error()); }, use_goroutine);
  const std::unique_ptr<int> one = operate<void(asio_error, std::unique_ptr<int>)>(
      [](auto handler) { handler(asio_error(), std::make_unique<int>(7)); }, use_goroutine);
  CHECK(*one == 7);
  const auto [number, text] =
      operate<void(int, std::string)>([](auto handler) { handler(1, "two"); }, use_goroutine);
  CHECK(number == 1);
  CHECK(text == "two");
}

IN_RUNTIME(
    "use_goroutine takes a result from any thread, before the operation's start returns and after "
    "it") {
  for (int i = 0; i != 50; ++i) {
    std::thread caller;
    const int got = operate<void(int)>(
        [&](auto handler) {
          caller = std::thread([i, handler = std::move(handler)]() mutable { handler(i); });
          if (i % 2 == 0) {
            caller.join();
          }
        },
        use_goroutine);
    CHECK(got == i);
    if (caller.joinable()) {
      caller.join();
    }
  }
}

IN_RUNTIME("use_goroutine throws an operation's error, or stores it") {
  const asio_error refused = lib::error::connection_refused;
  const auto fail = [&](auto handler) { handler(refused, 3); };
  CHECK(thrown_error([&] { operate<void(asio_error, int)>(fail, use_goroutine); }) == refused);
  asio_error stored;
  CHECK(operate<void(asio_error, int)>(fail, use_goroutine(stored)) == 3);
  CHECK(stored == refused);
  operate<void(asio_error)>([](auto handler) { handler(asio_error()); }, use_goroutine(stored));
  CHECK_FALSE(stored);
  CHECK_THROWS_AS(
      operate<void(std::exception_ptr)>(
          [](auto handler) { handler(std::make_exception_ptr(std::out_of_range("far"))); },
          use_goroutine(stored)),
      std::out_of_range);
}

IN_RUNTIME(
    "use_goroutine ends with operation_aborted when Asio destroys the handler without a call") {
  asio_error stored;
  CHECK(operate<void(asio_error, int)>([](auto /*handler*/) {}, use_goroutine(stored)) == 0);
  CHECK(stored == lib::error::operation_aborted);

  auto context = std::make_unique<lib::io_context>();
  auto waits =
      thrum::spawn([&] { return thrown_error([&] { lib::post(*context, use_goroutine); }); });
  CHECK(are_waiting(1));
  context.reset();
  CHECK(waits.join() == lib::error::operation_aborted);
}

IN_RUNTIME(
    "use_goroutine wakes a goroutine when an io_context on a thread of the program completes") {
  on_a_thread other;
  lib::steady_timer timer(other.of, 1ms);
  timer.async_wait(use_goroutine);
  const auto by = std::make_shared<std::thread::id>();
  lib::dispatch(other.of, use_goroutine);
  CHECK(timer.expiry() <= std::chrono::steady_clock::now());
}

IN_RUNTIME(
    "asio_context runs posted functions as goroutines, and those of a strand one after another") {
  asio_context context;
  const auto executor = context.get_executor();
  const lib::any_io_executor any = executor;
  CHECK(any == lib::any_io_executor(context.get_executor()));
  CHECK(&lib::query(any, lib::execution::context) == &context);

  thrum::wait_group all(1);
  thrum::goroutine_id runner{};
  lib::post(any, [&] {
    runner = thrum::this_goroutine::id();
    all.done();
  });
  all.wait();
  CHECK(runner != thrum::goroutine_id());
  CHECK(runner != thrum::this_goroutine::id());

  auto strand = lib::make_strand(executor);
  int in_order = 0;  // plain: the strand orders the accesses
  constexpr int functions = 200;
  all.add(functions);
  for (int i = 0; i != functions; ++i) {
    lib::post(lib::bind_executor(strand, [&, i] {
      in_order += in_order == i ? 1 : 0;
      thrum::this_goroutine::yield();
      all.done();
    }));
  }
  all.wait();
  CHECK(in_order == functions);
}

TEST_CASE("asio_context destroys functions without a call once its runtime is stopped") {
  thrum::runtime on;
  asio_context context(on);
  on.stop();
  auto kept = std::make_shared<int>(1);
  bool is_called = false;
  lib::post(context, [&, copy = kept] { is_called = copy != nullptr; });
  CHECK(kept.use_count() == 1);
  CHECK_FALSE(is_called);
}

IN_RUNTIME("asio_context waits in its destructor for the functions that run") {
  bool has_ended = false;
  const auto goes_on = thrum::make_chan<void>();
  auto context = std::make_unique<asio_context>();
  lib::post(*context, [&] {
    goes_on.recv();
    has_ended = true;
  });
  CHECK(are_waiting(1));
  thrum::go([&] { goes_on.close(); });
  context.reset();
  CHECK(has_ended);
}

#if THRUM_ASIO_CANCELS
IN_RUNTIME(
    "use_goroutine.until ends an operation after a time, at a moment, by a stop and by a context") {
  asio_context context;
  connection pair(context);
  char bytes[8];
  const auto read = [&](const auto& end) {
    return thrown_error(
        [&] { lib::async_read(pair.near, lib::buffer(bytes), use_goroutine.until(end)); });
  };
  CHECK(read(1ms) == lib::error::timed_out);
  CHECK(read(std::chrono::steady_clock::now() + 1ms) == lib::error::timed_out);
  CHECK(read(thrum::context().with_timeout(1ms)) == lib::error::operation_aborted);
  std::stop_source source;
  auto reader = thrum::spawn([&] { return read(source.get_token()); });
  CHECK(are_waiting(1));
  source.request_stop();
  CHECK(reader.join() == lib::error::operation_aborted);

  lib::async_write(pair.far, lib::buffer("unharmed", 8), use_goroutine);
  CHECK(lib::async_read(pair.near, lib::buffer(bytes), use_goroutine.until(support::long_time)) ==
        8);
}

IN_RUNTIME("use_goroutine.until starts no operation after its end") {
  std::stop_source source;
  source.request_stop();
  asio_error stored;
  bool is_started = false;
  operate<void(asio_error)>([&](auto /*handler*/) { is_started = true; },
                            use_goroutine(stored).until(source.get_token()));
  CHECK(stored == lib::error::operation_aborted);
  operate<void(asio_error)>([&](auto /*handler*/) { is_started = true; },
                            use_goroutine.until(0ms)(stored));
  CHECK(stored == lib::error::timed_out);
  CHECK_FALSE(is_started);
}

TEST_CASE("use_goroutine: a stop of the runtime cancels operations and ends their goroutines") {
  std::atomic<int> ended{0};
  on_a_thread other;
  thrum::runtime on;
  asio_context context(on);
  for (int i = 0; i != 20; ++i) {
    on.go([&, i] {
      struct at_end {
        std::atomic<int>& n;
        ~at_end() { ++n; }
      } const counts{ended};
      if (i % 2 == 0) {
        connection pair(context);
        char bytes[8];
        lib::async_read(pair.near, lib::buffer(bytes), use_goroutine);
      } else {
        lib::steady_timer(other.of, std::chrono::hours(1)).async_wait(use_goroutine);
      }
    });
  }
  CHECK(eventually([&] { return on.stats().waiting == 20; }));
  on.stop();
  CHECK(ended == 20);
}
#endif

#endif
