// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Programs that record what they do, into the file that THRUM_TEST_TRACE names, and say what stats() says of it.

#include "programs/programs.hpp"

// In place of Tracy: each name that it gets, by address, and how often a goroutine was in no fiber, or in two.
#define TRACY_ENABLE
#define TRACY_FIBERS
#define TracyFiberEnter(name) fake_tracy::enter(name)
#define TracyFiberLeave fake_tracy::leave()
namespace fake_tracy {
void enter(const char* name) noexcept;
void leave() noexcept;
}  // namespace fake_tracy

#include <thrum.hpp>
#include <thrum/debug/tracy.hpp>
#include <thrum/labels.hpp>
#include <thrum/trace.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace fake_tracy {

namespace {

std::mutex mutex;
std::map<const char*, std::string> names;  // as they were at first
std::set<const char*> busy;
int wrong = 0;
thread_local const char* here = nullptr;

void print() {
  for (const auto& [at, name] : names) {
    wrong += name == at ? 0 : 1;
  }
  std::set<std::string> all;
  for (const auto& each : names) {
    all.insert(each.second);
  }
  for (const std::string& each : all) {
    std::printf("%s, ", each.c_str());
  }
  std::printf("wrong: %d\n", wrong);
}

}  // namespace

void enter(const char* name) noexcept {
  const std::lock_guard held(mutex);
  names.emplace(name, name);
  wrong += here == nullptr && busy.insert(name).second ? 0 : 1;
  here = name;
}

void leave() noexcept {
  const std::lock_guard held(mutex);
  wrong += busy.erase(here) == 1 ? 0 : 1;
  here = nullptr;
}

}  // namespace fake_tracy

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

int* nowhere() {
  static int* volatile at = nullptr;
  return at;
}

int crash() {
  return thrum::run([] {
    thrum::trace::start(trace_path());
    *nowhere() = 1;
  });
}
int crashes() {
  return thrum::run([] {
    thrum::wait_group both;
    both.go([] { std::abort(); });
    both.wait();
  });
}

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

/// A background goroutine waits until the others have nothing to do, so only the normal one is late.
int waits_in_background() {
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  // Both wait for as long as the main goroutine computes.
  options.preempt = thrum::preemption::none;
  thrum::goroutine_id normal = 0;
  thrum::goroutine_id background = 0;
  thrum::run(options, [&] {
    auto low = thrum::spawn({.priority = thrum::priority::background},
                            [&] { background = thrum::this_goroutine::id(); });
    auto other = thrum::spawn([&] { normal = thrum::this_goroutine::id(); });
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    other.join();
    low.join();
    thrum::trace::snapshot(trace_path());
  });
  std::string text(1 << 20, '\0');
  std::FILE* const file = std::fopen(trace_path().c_str(), "r");
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  const auto is_late = [&](thrum::goroutine_id id) {
    return text.find(R"("ready for too long","s":"t","args":{"goroutine":)" + std::to_string(id) +
                     "}") != std::string::npos;
  };
  std::printf("normal %d, background %d\n", is_late(normal), is_late(background));
  return 0;
}

// ---- on_switch -----------------------------------------------------------------------------------

/// What the hook has seen. A goroutine that is inside has a note of its own.
struct seen_by_hook {
  std::atomic<int> enters{0};
  std::atomic<int> leaves{0};
  std::atomic<int> ends{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> saw_label{false};
  std::atomic<int> moves{0};
};
seen_by_hook seen;

struct note_of_hook {
  std::uint64_t goroutine;
  std::string name;
  std::thread::id last;
};

/// The goroutine that is on this thread.
thread_local const void* inside = nullptr;

void check_step(const thrum::trace::switch_step& step) noexcept {
  using kind = thrum::trace::switch_step::kind;
  const bool enters = step.what == kind::enters;
  if (step.own == nullptr) {
    step.own = new note_of_hook{step.goroutine, std::string(step.name), {}};
    seen.wrong += enters ? 0 : 1;
  }
  auto* const note = static_cast<note_of_hook*>(step.own);
  seen.wrong += inside == (enters ? nullptr : note) ? 0 : 1;
  seen.wrong += note->goroutine == step.goroutine && note->name == step.name ? 0 : 1;
  inside = enters ? note : nullptr;
  if (enters) {
    ++seen.enters;
    const auto here = std::this_thread::get_id();
    seen.moves += note->last != here && note->last != std::thread::id() ? 1 : 0;
    note->last = here;
    return;
  }
  seen.saw_label = seen.saw_label || step.labels == "path=/";
  if (step.what == kind::leaves) {
    ++seen.leaves;
    return;
  }
  ++seen.ends;
  delete note;
}

/// Goroutines that wait, block, compute for longer than a slice, and move between threads.
void move_about(thrum::wait_group& all) {
  for (int i = 0; i != 8; ++i) {
    all.add(1);
    thrum::go({.name = "mover " + std::to_string(i)}, [&all] {
      const thrum::label_scope labels({{"path", "/"}});
      for (int n = 0; n != 20; ++n) {
        thrum::sleep_for(10us);
        thrum::blocking([] { std::this_thread::sleep_for(10us); });
        thrum::this_goroutine::yield();
      }
      all.done();
    });
    all.go([] {
      for (int n = 0; n != 200'000; ++n) {
        thrum::this_goroutine::preemption_point();
      }
    });
  }
}

int hook(bool records) {
  thrum::trace::on_switch(&check_step);
  thrum::options options = thrum::options::from_environment();
  options.procs = 4;
  options.time_slice = 1ms;
  options.on_thread_stop = [](unsigned) { seen.wrong += inside == nullptr ? 0 : 1; };
  thrum::run(options, [&] {
    if (records) {
      thrum::trace::start({}, 1 << 20);
    }
    thrum::wait_group all;
    do {
      move_about(all);
      all.wait();
    } while (seen.moves == 0);
    if (records) {
      thrum::trace::stop();
    }
  });
  std::printf("entered: %d, each left: %d, ended: %d, label: %d, wrong: %d\n", seen.enters > 100,
              seen.enters == seen.leaves + seen.ends, seen.ends > 16, seen.saw_label.load(),
              seen.wrong.load());
  return 0;
}
int hook_sees_pairs() { return hook(false); }
int hook_beside_record() { return hook(true); }

/// A hook that takes a lock which a goroutine holds while it computes for many slices.
std::mutex lock_of_hook;

int hook_takes_lock() {
  thrum::trace::on_switch(
      [](const thrum::trace::switch_step&) noexcept { const std::lock_guard held(lock_of_hook); });
  thrum::options options = thrum::options::from_environment();
  options.procs = 1;
  options.time_slice = 1ms;
  return thrum::run(options, [] {
    thrum::wait_group all;
    for (int i = 0; i != 4; ++i) {
      all.go([] {
        const std::lock_guard held(lock_of_hook);
        const auto end = std::chrono::steady_clock::now() + 20ms;
        while (std::chrono::steady_clock::now() < end) {
        }
      });
    }
    all.wait();
    return 0;
  });
}

int hook_is_late() {
  return thrum::run([] {
    try {
      thrum::trace::on_switch(&check_step);
    } catch (const thrum::usage_error& error) {
      std::printf("%s\n", error.what());
    }
    return 0;
  });
}

/// Goroutines of one name, several at a time and one after the other.
int tracy_fibers() {
  thrum::debug::start_tracy_fibers();
  thrum::run([] {
    for (int round = 0; round != 3; ++round) {
      thrum::wait_group all;
      thrum::barrier<> together(3);
      for (int i = 0; i != 3; ++i) {
        all.add(1);
        thrum::go({.name = "worker"}, [&together, &all] {
          together.arrive_and_wait();
          all.done();
        });
      }
      all.wait();
      while (thrum::stats().goroutines != 1) {
        thrum::this_goroutine::yield();
      }
    }
    return 0;
  });
  fake_tracy::print();
  return 0;
}

const programs::entry entries[] = {
    {"hook_sees_pairs", hook_sees_pairs},
    {"hook_beside_record", hook_beside_record},
    {"hook_takes_lock", hook_takes_lock},
    {"hook_is_late", hook_is_late},
    {"tracy_fibers", tracy_fibers},
    {"serves", serves},
    {"works", works},
    {"works_and_exits", works_and_exits},
    {"works_and_records", works_and_records},
    {"quits", quits},
    {"is_late", is_late},
    {"waits_in_background", waits_in_background},
    {"deadlock", deadlock},
    {"deadlocks", deadlocks},
    {"panics", panics},
    {"crash", crash},
    {"crashes", crashes},
    {"panic", panic},
    {"under_load", under_load},
    {"flight", flight},
    {"refusals", refusals},
};
const programs::group registered(entries);

}  // namespace
