// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that record what they do, into the file that THRUM_TEST_TRACE names, and say what stats() says of it.

#include "programs/programs.hpp"

#include <thrum.hpp>
#include <thrum/labels.hpp>
#include <thrum/trace.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;

std::string trace_path() {
  const char* const path = std::getenv("THRUM_TEST_TRACE");
  return path == nullptr ? "trace.json" : path;
}

/// As counts of the time between two snapshots.
void print_totals(const thrum::stats_snapshot& before, const thrum::stats_snapshot& after) {
  const auto print = [](const char* name, std::uint64_t from, std::uint64_t to) {
    std::printf("%s %llu\n", name, static_cast<unsigned long long>(to - from));
  };
  print("created", before.created, after.created);
  print("finished", before.finished, after.finished);
  print("switches", before.switches, after.switches);
  print("steals", before.steals, after.steals);
  print("preemptions", before.preemptions, after.preemptions);
  print("timers", before.timers_fired, after.timers_fired);
  print("hand-offs", before.hand_offs, after.hand_offs);
  print("procs", 0, after.procs);
  print("idle", 0, after.idle_procs);
}

void talk_over_channels(thrum::wait_group& all) {
  thrum::chan<int> numbers(0);
  for (int i = 0; i != 4; ++i) {
    all.go([numbers]() mutable {
      for (int n = 0; n != 200; ++n) {
        numbers.send(n);
      }
    });
    all.go([numbers]() mutable {
      thrum::this_goroutine::name("receiver");
      for (int n = 0; n != 200; ++n) {
        numbers.recv();
      }
    });
  }
}

void wait_in_many_ways(thrum::wait_group& all, thrum::mutex& mutex) {
  for (int i = 0; i != 8; ++i) {
    all.go([&mutex] {
      const thrum::trace::region whole("a worker's life");
      for (int n = 0; n != 20; ++n) {
        {
          const std::lock_guard held(mutex);
          thrum::this_goroutine::yield();
        }
        thrum::sleep_for(100us);
        thrum::blocking([] { std::this_thread::sleep_for(50us); });
        thrum::spawn([] {}).join();
      }
      thrum::trace::mark("a worker is done");
    });
  }
}

void send_over_pipe(thrum::wait_group& all) {
  all.go([] {
    thrum::io::pipe ends;
    thrum::wait_group both;
    both.go([&] {
      for (int n = 0; n != 50; ++n) {
        ends.write(std::string_view("x"));
        thrum::sleep_for(10us);
      }
    });
    char letter;
    for (int n = 0; n != 50; ++n) {
      ends.read(std::span<char>(&letter, 1));
    }
    both.wait();
  });
}

/// Records the load, from the moment where the main goroutine is alone until it is alone again.
template <class Load>
int recorded(Load load) {
  thrum::options options = thrum::options::from_environment();
  options.procs = 4;
  return thrum::run(options, [&] {
    thrum::trace::start(trace_path());
    const thrum::stats_snapshot before = thrum::stats();
    thrum::trace::mark("begin");
    load();
    // A goroutine counts as ended a moment after it says so.
    while (thrum::stats().goroutines != 1) {
      thrum::sleep_for(100us);
    }
    // Fewer processors, then as many idle as are not the main goroutine's.
    thrum::runtime::current()->procs(2);
    while (thrum::stats().idle_procs != 1) {
      thrum::this_goroutine::yield();
    }
    thrum::trace::mark("end");
    const thrum::stats_snapshot after = thrum::stats();
    thrum::trace::snapshot(trace_path() + ".pftrace");
    const thrum::trace::summary written = thrum::trace::stop();
    print_totals(before, after);
    return written.events > after.switches - before.switches && written.lost == 0 ? 0 : 1;
  });
}

/// A load of everything.
int under_load() {
  return recorded([] {
    thrum::wait_group all;
    thrum::mutex mutex;
    talk_over_channels(all);
    wait_in_many_ways(all, mutex);
    send_over_pipe(all);
    thrum::chan<int> from_outside(0);
    std::thread outside([from_outside]() mutable {
      for (int n = 0; n != 20; ++n) {
        from_outside.send(n);
      }
    });
    for (int n = 0; n != 20; ++n) {
      from_outside.recv();
    }
    thrum::blocking([&] { outside.join(); });
    all.wait();
  });
}

/// The handler of a connection: each line gets an answer that takes a while to compute.
void answer(thrum::net::conn& client, thrum::net::server::session& session) {
  char request[64];
  while (session.wait_request()) {
    std::error_code error;
    const std::size_t n = client.read(std::span<char>(request), error);
    if (error || n == 0) {
      return;
    }
    const thrum::trace::region whole("answer");
    const thrum::label_scope labels({{"path", "/"}, {"a label that is longer", "than one event"}});
    unsigned sum = 0;
    for (unsigned i = 0; i != 20'000; ++i) {
      sum = sum * 31 + static_cast<unsigned char>(request[i % n]);
    }
    client.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" +
                 std::to_string(1'000'000'000U + sum % 1'000'000'000U));
  }
}

/// A server with a goroutine for each connection, and its clients.
int serves() {
  return recorded([] {
    auto listener = thrum::net::listener::listen("127.0.0.1:0");
    const thrum::net::endpoint where = listener.local();
    thrum::net::server server(std::move(listener));
    thrum::wait_group all;
    all.go([&] { server.serve(answer); });
    thrum::wait_group clients;
    for (int i = 0; i != 16; ++i) {
      clients.go([&] {
        thrum::net::conn to = thrum::net::dial(where);
        char text[256];
        for (int n = 0; n != 50; ++n) {
          to.write(std::string_view("GET / HTTP/1.1\r\n\r\n"));
          to.read(std::span<char>(text));
        }
      });
    }
    clients.wait();
    server.stop();
    all.wait();
    std::printf("labelled 1\n");
  });
}

/// Much more than the memory holds: the last of it is written, while the record goes on.
int flight() {
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  return thrum::run(options, [] {
    thrum::trace::start({}, 1 << 20);
    thrum::wait_group all;
    all.go([] {
      thrum::this_goroutine::name("long lived");
      for (int n = 0; n != 100'000; ++n) {
        thrum::this_goroutine::yield();
      }
    });
    for (int n = 0; n != 100'000; ++n) {
      thrum::this_goroutine::yield();
    }
    const thrum::trace::summary first = thrum::trace::snapshot(trace_path());
    all.wait();
    const bool is_on = thrum::trace::is_on();
    thrum::trace::stop();
    std::printf("lost some: %d, wrote some: %d, went on: %d\n", first.lost > 0,
                first.events > 10'000, is_on && !thrum::trace::is_on());
    return 0;
  });
}

/// What start() refuses.
int refusals() {
  return thrum::run([] {
    try {
      thrum::trace::start("/nowhere/at/all/trace.json");
    } catch (const std::system_error& error) {
      std::printf("%s\n", error.what());
    }
    std::printf("on: %d, events: %d\n", thrum::trace::is_on(),
                static_cast<int>(thrum::trace::stop().events));
    thrum::trace::start();
    try {
      thrum::trace::start();
    } catch (const thrum::usage_error& error) {
      std::printf("%s\n", error.what());
    }
    thrum::trace::stop();
    return 0;
  });
}

void lock_twice() {
  thrum::mutex mutex;
  mutex.lock();
  mutex.lock();
}

void throw_in_goroutine() {
  thrum::wait_group both;
  both.go([] { throw std::runtime_error("no number"); });
  both.wait();
}

int deadlock() {
  return thrum::run([] {
    thrum::trace::start(trace_path());
    lock_twice();
  });
}
int deadlocks() { return thrum::run(&lock_twice); }

int panic() {
  return thrum::run([] {
    thrum::trace::start(trace_path());
    throw_in_goroutine();
  });
}
int panics() { return thrum::run(&throw_in_goroutine); }

/// Some goroutines, and an end by `exit` if the argument says so: for what THRUM_DEBUG asks for.
int some_work(bool exits) {
  return thrum::run([=] {
    thrum::wait_group all;
    for (int i = 0; i != 4; ++i) {
      all.go([] {
        for (int n = 0; n != 100; ++n) {
          thrum::this_goroutine::yield();
        }
      });
    }
    all.wait();
    if (exits) {
      std::exit(0);
    }
  });
}
int works() { return some_work(false); }
int works_and_exits() { return some_work(true); }

/// Works, and records something of its own.
int works_and_records() {
  works();
  return thrum::run([] {
    thrum::trace::start(trace_path());
    thrum::trace::stop();
  });
}

bool has_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) {
    return false;
  }
  std::fclose(file);
  return true;
}

/// Works, and ends when the flight record is there.
template <class Trouble>
int until_written(Trouble trouble) {
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  return thrum::run(options, [&] {
    trouble();
    while (!has_file(trace_path())) {
      thrum::sleep_for(1ms);
    }
    thrum::sleep_for(1ms);
    std::printf("the program went on\n");
  });
}

int quits() {
  return until_written([] { std::raise(SIGQUIT); });
}

/// A goroutine is ready, and its processor computes.
int is_late() {
  return until_written([] {
    thrum::go([] {});
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    thrum::this_goroutine::yield();
  });
}

const programs::entry entries[] = {
    {"serves", serves},
    {"works", works},
    {"works_and_exits", works_and_exits},
    {"works_and_records", works_and_records},
    {"quits", quits},
    {"is_late", is_late},
    {"deadlock", deadlock},
    {"deadlocks", deadlocks},
    {"panics", panics},
    {"panic", panic},
    {"under_load", under_load},
    {"flight", flight},
    {"refusals", refusals},
};
const programs::group registered(entries);

}  // namespace
