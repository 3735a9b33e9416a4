// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// net::server: the limit, the order in which it stops, and where errors go.

#include <thrum/net/server.hpp>

#include "support/net.hpp"
#include "support/test.hpp"

#include <exception>
#include <new>

using thrum::net::conn;
using thrum::net::listener;
using thrum::net::server;

namespace {

/// Reads `n` bytes; what has come if there are not so many.
std::string read_from_server(conn& c, std::size_t n) {
  std::string text(n, '\0');
  std::error_code error;
  c.set_read_deadline(support::steady::now() + support::long_time);
  text.resize(c.read_full(text, error));
  return text;
}

/// Whether the server has ended the connection.
bool has_been_ended(conn& c) {
  char one;
  std::error_code error;
  c.set_read_deadline(support::steady::now() + support::long_time);
  return c.read({&one, 1}, error) == 0 && !support::is_timeout(error);
}

/// A handler that answers each byte with itself, until it is told not to wait for more.
void answer_bytes(conn& c, server::session& at) {
  while (at.wait_request()) {
    char one;
    if (c.read({&one, 1}) == 0) {
      return;
    }
    c.write({&one, 1});
  }
}

/// A server that serves while it is there.
class served {
 public:
  explicit served(const std::function<void(conn&, server::session&)>& handler,
                  thrum::net::server_options how = {})
      : server_(listener::listen(support::loopback()), std::move(how)),
        where_(server_.local()),
        serving_(thrum::spawn([this, handler] { server_.serve(handler, error_); })) {}
  explicit served(const std::function<void(conn&)>& handler, thrum::net::server_options how = {})
      : served([handler](conn& c, server::session&) { handler(c); }, std::move(how)) {}

  served(const served&) = delete;
  served& operator=(const served&) = delete;
  ~served() { server_.stop_for(0s); }

  server* operator->() { return &server_; }
  conn dial() const { return thrum::net::dial(where_); }
  const thrum::net::endpoint& where() const { return where_; }

  /// What serve() returns, when it does.
  std::error_code result() {
    serving_.join();
    return error_;
  }

 private:
  std::error_code error_;
  server server_;
  thrum::net::endpoint where_;
  thrum::join_handle<void> serving_;
};

}  // namespace

IN_RUNTIME("a server runs its handler for each connection, and closes what the handler leaves") {
  served here([](conn& c) { c.write("x"); });
  for (int i = 0; i != 20; ++i) {
    conn c = here.dial();
    CHECK(read_from_server(c, 2) == "x");
  }
  CHECK(eventually([&] { return here->connections() == 0; }));
  CHECK_FALSE(here->stopping());
  here->stop();
  CHECK(here->stopping());
  CHECK_FALSE(here.result());
}

IN_RUNTIME("a server never has more connections than its limit, and takes the next when one ends") {
  std::atomic<std::size_t> now{0};
  std::atomic<std::size_t> most{0};
  served here(
      [&](conn& c) {
        const std::size_t mine = ++now;
        std::size_t seen = most;
        while (seen < mine && !most.compare_exchange_weak(seen, mine)) {
        }
        char one;
        c.write("x");
        c.read({&one, 1});
        --now;
      },
      {.max_connections = 3});
  std::vector<conn> clients;
  for (int i = 0; i != 9; ++i) {
    clients.push_back(here.dial());
  }
  CHECK(eventually([&] { return most == 3; }));  // the first three: nobody has closed one
  for (std::size_t i = 0; i != clients.size(); ++i) {
    // It has come to this one, although others wait that came before or will come.
    CHECK(read_from_server(clients[i], 1) == "x");
    CHECK(here->connections() <= 3);
    clients[i].close();
  }
  CHECK(most == 3);
  CHECK(eventually([&] { return here->connections() == 0; }));
}

IN_RUNTIME("several calls of serve share one limit and all return at a stop") {
  server shared(listener::listen(support::loopback()), {.max_connections = 2});
  std::vector<thrum::join_handle<void>> loops;
  for (int i = 0; i != 4; ++i) {
    loops.push_back(thrum::spawn([&] { shared.serve(answer_bytes); }));
  }
  std::vector<conn> clients;
  for (int i = 0; i != 6; ++i) {
    clients.push_back(thrum::net::dial(shared.local()));
  }
  for (conn& c : clients) {
    c.write("a");
    CHECK(read_from_server(c, 1) == "a");
    CHECK(shared.connections() <= 2);
    c.close();
  }
  shared.stop();
  for (auto& each : loops) {
    each.join();
  }
  CHECK(shared.connections() == 0);
}

IN_RUNTIME("a stop waits for handlers at work, and no connection comes meanwhile") {
  thrum::chan<void> begun(1);
  thrum::chan<void> may_end(1);
  served here([=](conn& c) {
    begun.send();
    may_end.recv();
    c.write("all of the answer");
  });
  conn c = here.dial();
  begun.recv();
  auto stopping = thrum::spawn([&] { return here->stop_for(support::long_time); });
  CHECK(eventually([&] { return here->stopping(); }));
  // A ring keeps the socket of the listener for a moment, in which the system answers for it.
  CHECK(eventually([&] {
    std::error_code error;
    thrum::net::dial(here.where(), support::long_time, error);
    return error && !support::is_timeout(error);
  }));
  CHECK(here->connections() == 1);
  CHECK_FALSE(stopping.done());
  may_end.send();
  CHECK(stopping.join());
  CHECK(here->connections() == 0);
  CHECK(read_from_server(c, 100) == "all of the answer");
  CHECK_FALSE(here.result());
}

IN_RUNTIME("at the deadline of a stop what is left is closed, and its reads are cancelled") {
  std::atomic<int> cancelled{0};
  thrum::chan<void> begun(10);
  served here([&](conn& c) {
    begun.send();
    char one;
    std::error_code error;
    c.read({&one, 1}, error);
    cancelled += support::is_cancelled(error) ? 1 : 0;
  });
  std::vector<conn> clients;
  for (int i = 0; i != 10; ++i) {
    clients.push_back(here.dial());
    begun.recv();
  }
  CHECK(here->connections() == 10);
  CHECK_FALSE(here->stop_for(1ms));
  CHECK(here->connections() == 0);
  CHECK(cancelled == 10);
  CHECK_FALSE(here.result());
  for (conn& c : clients) {
    CHECK(has_been_ended(c));
  }
}

IN_BUBBLE("a stop's deadline counts in the time of its bubble, and its handlers are waited for") {
  using thrum::testing::now;
  const auto begin = now();
  thrum::chan<void> begun(1);
  thrum::time_point ended;
  served here([&](conn& c) {
    begun.send();
    thrum::sleep_for(2h);
    std::error_code error;
    c.write("x", error);
    ended = support::is_cancelled(error) ? now() : thrum::time_point();
  });
  const conn c = here.dial();
  begun.recv();
  CHECK_FALSE(here->stop_for(1h));
  CHECK(ended - begin == 2h);
  CHECK_FALSE(here.result());
}

TEST_CASE("connections between requests end at a stop, with the grace for a request on its way") {
  with_runtime([] {
    served here(answer_bytes, {.idle_grace = 1ms});
    std::vector<conn> clients;
    for (int i = 0; i != 10; ++i) {
      clients.push_back(here.dial());
      clients.back().write("a");
      CHECK(read_from_server(clients.back(), 1) == "a");
    }
    CHECK(here->stop_for(support::long_time));
    for (conn& c : clients) {
      CHECK(has_been_ended(c));
    }
  });
  with_runtime([] {
    served here(answer_bytes, {.idle_grace = support::long_time});
    conn c = here.dial();
    c.write("a");
    CHECK(read_from_server(c, 1) == "a");
    here->request_stop();
    c.write("b");
    CHECK(read_from_server(c, 1) == "b");
    c.close();  // the grace goes on for the next
    here->stop();
    CHECK(here->connections() == 0);
  });
}

IN_RUNTIME(
    "a request that has arrived before the grace ends is seen, however late it is looked at") {
  thrum::chan<void> may_look(1);
  std::atomic<bool> seen{false};
  std::atomic<bool> read{false};
  std::atomic<bool> told{false};
  served here(
      [&](conn& c, server::session& at) {
        may_look.recv();
        told = at.stopping();
        seen = at.wait_request();
        char one = 0;
        read = c.read({&one, 1}) == 1 && one == 'a';
      },
      {.idle_grace = 0ms});
  conn c = here.dial();
  CHECK(eventually([&] { return here->connections() == 1; }));
  c.write("a");
  c.close_write();
  here->request_stop();
  may_look.send();
  here->stop();
  CHECK(told);
  CHECK(seen);
  CHECK(read);
}

IN_RUNTIME("the deadline of a wait for a request ends it, and is the connection's afterwards") {
  std::atomic<bool> waited{true};
  served silent([&](conn&, server::session& at) { waited = at.wait_request_for(1ms); });
  conn c = silent.dial();
  CHECK(has_been_ended(c));
  CHECK_FALSE(waited);

  std::atomic<bool> timed_out{false};
  served partial([&](conn& own, server::session& at) {
    if (at.wait_request_for(20ms)) {
      char two[2];
      std::error_code error;
      own.read_full(two, error);
      timed_out = support::is_timeout(error);
    } else {
      timed_out = true;  // we were too slow
    }
  });
  conn half = partial.dial();
  half.write("a");
  CHECK(has_been_ended(half));
  CHECK(timed_out);
}

IN_RUNTIME("the stop token of a server ends handlers that wait for other things") {
  thrum::chan<void> begun(1);
  served here([=](conn&, server::session& at) {
    begun.send();
    const thrum::chan<int> never;
    thrum::select(thrum::on_recv(never, [] {}), thrum::on_done(at.stop_token()));
  });
  const conn c = here.dial();
  begun.recv();
  CHECK_FALSE(here->stop_token().stop_requested());
  CHECK(here->stop_for(support::long_time));
  CHECK(here->stop_token().stop_requested());
}

IN_RUNTIME("a handler may request the stop of its own server") {
  server self(listener::listen(support::loopback()));
  const auto where = self.local();
  auto serving = thrum::spawn([&] { self.serve([&](conn&) { self.request_stop(); }); });
  conn c = thrum::net::dial(where);
  serving.join();
  CHECK(has_been_ended(c));
}

IN_RUNTIME("the destructor of a server closes its connections and waits for all inside") {
  std::atomic<int> handlers{0};
  std::atomic<bool> returned{false};
  thrum::chan<void> begun(1);
  thrum::join_handle<void> serving;
  conn client;
  {
    server here(listener::listen(support::loopback()));
    serving = thrum::spawn([&] {
      here.serve([&](conn& c) {
        ++handlers;
        begun.send();
        char one;
        std::error_code error;
        c.read({&one, 1}, error);
        --handlers;
      });
      returned = true;
    });
    client = thrum::net::dial(here.local());
    begun.recv();
    CHECK(handlers == 1);
  }
  CHECK(handlers == 0);
  CHECK(has_been_ended(client));
  serving.join();
  CHECK(returned);
}

IN_RUNTIME("a server that another stops may be destroyed as soon as serve returns") {
  for (int i = 0; i != support::scaled(200, 10); ++i) {
    auto here = std::make_unique<server>(listener::listen(support::loopback()),
                                         thrum::net::server_options{.idle_grace = 0ms});
    auto serving = thrum::spawn([&] { here->serve(answer_bytes); });
    conn c = thrum::net::dial(here->local());
    c.write("a");
    CHECK(read_from_server(c, 1) == "a");
    // It is inside from the moment that this can be seen, and perhaps still when serve has
    // returned.
    const auto stopping = thrum::spawn([at = here.get()] { at->stop_for(support::long_time); });
    CHECK(eventually([&] { return here->stopping(); }));
    serving.join();
    here.reset();
  }
}

IN_RUNTIME("a system_error that leaves a handler ends that connection only") {
  served here([](conn& c) {
    char one;
    c.set_read_deadline(thrum::time_point::min());
    c.read({&one, 1});  // throws
    c.write("x");
  });
  for (int i = 0; i != 3; ++i) {
    conn c = here.dial();
    CHECK(has_been_ended(c));
  }
  CHECK(here->stop_for(support::long_time));
}

IN_RUNTIME("on_error gets what leaves a handler, but not its end by exit") {
  std::atomic<int> logic{0};
  std::atomic<int> system{0};
  std::atomic<int> others{0};
  std::atomic<int> turn{0};  // their connections order the handlers, but through the kernel
  served here(
      [&](conn&) {
        switch (turn++) {
          case 0: throw std::logic_error("a fault");
          case 1: throw std::system_error(std::make_error_code(std::errc::io_error));
          default: thrum::this_goroutine::exit();
        }
      },
      {.on_error = [&](std::exception_ptr error) {
        try {
          std::rethrow_exception(std::move(error));
        } catch (const std::system_error&) {
          ++system;
        } catch (const std::logic_error&) {
          ++logic;
        } catch (...) {
          ++others;
        }
      }});
  for (int i = 0; i != 3; ++i) {
    conn c = here.dial();
    CHECK(has_been_ended(c));
  }
  here->stop();
  CHECK(logic == 1);
  CHECK(system == 1);
  CHECK(others == 0);
}

TEST_CASE("without on_error a fault that leaves a handler is a panic of its runtime") {
  std::atomic<int> panics{0};
  thrum::options options = support::environment_options();
  options.on_panic = [&](std::exception_ptr error, thrum::goroutine_id) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::logic_error&) {
      ++panics;
    }
  };
  with_runtime(options, [] {
    served here([](conn&) { throw std::logic_error("a fault"); });
    conn c = here.dial();
    CHECK(has_been_ended(c));
    here->stop();
  });
  CHECK(panics == 1);
}

TEST_CASE("threads may serve with goroutines of a runtime, and stop") {
  thrum::runtime runtime(support::environment_options());
  server here(listener::listen(support::loopback()));
  const auto where = here.local();
  std::thread serving([&] { here.serve(runtime, answer_bytes); });
  conn c = thrum::net::dial(where);
  c.write("a");
  CHECK(read_from_server(c, 1) == "a");
  CHECK(here.connections() == 1);
  CHECK(here.stop_for(support::long_time));
  serving.join();
  CHECK(has_been_ended(c));
  CHECK(support::is_usage_error("server::serve", [&] { here.serve(answer_bytes); }));
}

TEST_CASE("connections for whose goroutines there is no memory wait until others have ended") {
  constexpr int most = 3;
  constexpr int clients = 4 * most;
  std::atomic<int> stacks{0};
  thrum::options options = support::environment_options();
  options.memory.context = &stacks;
  options.memory.allocate = [](std::size_t bytes, std::size_t alignment, thrum::memory_use use,
                               void* context) noexcept -> void* {
    const bool is_stack = use == thrum::memory_use::stack;
    if (is_stack && static_cast<std::atomic<int>*>(context)->fetch_add(1) >= most) {
      return nullptr;
    }
    return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  };
  options.memory.deallocate = [](void* memory, std::size_t, std::size_t alignment,
                                 thrum::memory_use, void*) noexcept {
    ::operator delete(memory, std::align_val_t(alignment));
  };
  thrum::runtime runtime(options);
  server here(listener::listen(support::loopback()));
  std::error_code error;
  std::thread serving([&] { here.serve(runtime, answer_bytes, error); });
  std::vector<conn> all;
  for (int i = 0; i != clients; ++i) {
    all.push_back(thrum::net::dial(here.local()));
    all.back().write("a");
  }
  int answered = 0;
  for (conn& each : all) {
    answered += read_from_server(each, 1) == "a";
    each.close();
  }
  CHECK(answered == clients);
  CHECK(here.stop_for(support::long_time));
  serving.join();
  CHECK_FALSE(error);
}

IN_RUNTIME("a server that cannot accept says why, and one that is stopped has nothing to say") {
  server nowhere{listener()};
  std::error_code error;
  nowhere.serve(answer_bytes, error);
  CHECK(error == std::errc::bad_file_descriptor);
  CHECK(support::error_of([&] { nowhere.serve(answer_bytes); }) == error);

  server stopped(listener::listen(support::loopback()));
  stopped.stop();
  stopped.serve(answer_bytes, error);
  CHECK_FALSE(error);
  CHECK(stopped.local() == thrum::net::endpoint());
}

TEST_CASE("a runtime that stops ends its server and the handlers, wherever they wait") {
  std::optional<conn> idle;
  std::optional<conn> at_work;
  {
    thrum::runtime runtime(support::environment_options());
    thrum::chan<void> begun(2);
    const auto where = runtime.block_on([&] {
      auto here = std::make_shared<server>(listener::listen(support::loopback()));
      auto endpoint = here->local();
      thrum::go([here, begun] {
        std::atomic<int> turn{0};
        here->serve([&, begun](conn&, server::session& at) {
          const bool is_first = turn++ == 0;
          begun.send();
          if (is_first) {
            at.wait_request();
          } else {
            thrum::sleep_for(24h);
          }
        });
      });
      return endpoint;
    });
    idle = thrum::net::dial(where);
    begun.recv();
    at_work = thrum::net::dial(where);
    begun.recv();
  }
  CHECK(has_been_ended(*idle));
  CHECK(has_been_ended(*at_work));
}

IN_RUNTIME("a connection is readable when a read would not wait") {
  auto pair = support::tcp_pair();
  CHECK_FALSE(pair.server.is_readable());
  pair.client.write("a");
  pair.server.wait_readable();
  CHECK(pair.server.is_readable());
  CHECK(read_from_server(pair.server, 1) == "a");
  CHECK_FALSE(pair.server.is_readable());
  pair.client.close();
  pair.server.wait_readable();
  CHECK(pair.server.is_readable());
  pair.server.close();
  CHECK(pair.server.is_readable());
}

IN_RUNTIME("a stop closes what is left of a server that stops, and ends a wait for a request") {
  std::atomic<int> cancelled{0};
  std::atomic<bool> waited{true};
  thrum::chan<void> begun(2);
  served here([&](conn& c, server::session& at) {
    waited = at.wait_request(thrum::context().with_timeout(1ms));
    begun.send();
    char one;
    std::error_code error;
    c.read({&one, 1}, error);
    cancelled += support::is_cancelled(error) ? 1 : 0;
  });
  conn client = here.dial();
  begun.recv();
  CHECK_FALSE(waited);
  CHECK_FALSE(here->stop(thrum::context().with_timeout(1ms)));
  CHECK(cancelled == 1);
  CHECK(has_been_ended(client));
  CHECK(here->stop(std::stop_token()));
  CHECK_FALSE(here.result());
}

TEST_CASE("a stop of serve stops the server, from a goroutine and from a thread") {
  const auto answer = [](conn& c) { c.write("x"); };
  with_runtime([&] {
    server ended(listener::listen("127.0.0.1:0"));
    std::stop_source stop;
    auto serving = thrum::spawn([&] {
      std::error_code error;
      ended.serve(answer, stop.get_token(), error);
      return error;
    });
    conn c = thrum::net::dial(ended.local());
    CHECK(read_from_server(c, 2) == "x");
    CHECK_FALSE(ended.stopping());
    stop.request_stop();
    CHECK_FALSE(serving.join());
    CHECK(ended.stopping());
    server at_once(listener::listen("127.0.0.1:0"));
    at_once.serve(answer, stop.get_token());
    CHECK(at_once.stopping());
    server by_itself(listener::listen("127.0.0.1:0"));
    by_itself.request_stop();
    by_itself.serve(answer, thrum::context());
  });
  thrum::runtime where;
  server on_thread(listener::listen("127.0.0.1:0"));
  on_thread.serve(where, answer, thrum::context().with_timeout(1ms));
  CHECK(on_thread.stopping());
}
