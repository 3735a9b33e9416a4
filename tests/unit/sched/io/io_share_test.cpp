// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/sched/io/io_share.hpp>

#include "support/folder.hpp"
#include "support/test.hpp"

namespace {

/// One P, and no monitor that ends slices.
thrum::options shares_by_itself() {
  thrum::options options = support::with_procs(1);
  options.preempt = thrum::preemption::none;
  options.time_slice = 1h;
  return options;
}

constexpr int share_of_calls = 128;

void use_once(thrum::io::pipe& pipe) {
  char byte = 0;
  pipe.write("x");
  pipe.read(std::span(&byte, 1));
}

/// How many operations, each of which is sure to succeed at once, go by between two turns of
/// another goroutine, at the most.
int longest_row(const std::function<void()>& operation) {
  constexpr int turns = 5;
  constexpr int too_many = 20 * turns * share_of_calls;
  int operations = 0;
  int longest = 0;
  bool over = false;
  auto other = thrum::spawn([&] {
    for (int i = 0; i != turns; ++i) {
      const int before = operations;
      thrum::this_goroutine::yield();
      longest = operations - before > longest ? operations - before : longest;
    }
    over = true;
  });
  while (!over && operations != too_many) {
    operation();
    ++operations;
  }
  other.join();
  return operations == too_many ? too_many : longest;
}

}  // namespace

IN_RUNTIME(
    "a goroutine that uses a pipe, or waits for a ready descriptor, for ever lets others run",
    shares_by_itself()) {
  thrum::io::pipe pipe;
  CHECK(longest_row([&] { use_once(pipe); }) <= share_of_calls);
  pipe.write("x");
  CHECK(longest_row([&] { thrum::io::wait_readable(pipe.reader().native_handle()); }) <=
        share_of_calls + 1);
}

IN_RUNTIME("a goroutine that sends itself datagrams for ever lets others run", shares_by_itself()) {
  auto socket = thrum::net::udp_socket::bind("127.0.0.1:0");
  const auto own = socket.local();
  char byte = 0;
  CHECK(longest_row([&] {
          socket.send_to("x", own);
          socket.recv(std::span(&byte, 1));
        }) <= share_of_calls);
}

IN_RUNTIME("a goroutine that reads from a file for ever lets others run, with large pieces sooner",
           shares_by_itself()) {
  const support::folder folder;
  auto file = thrum::io::file::open(
      (folder / "file").string(), thrum::io::open_mode::read_write | thrum::io::open_mode::create);
  std::vector<char> large(512 * 1024);
  file.write(std::string_view(large.data(), large.size()));
  for (const std::size_t size : {std::size_t{1}, large.size()}) {
    CHECK(longest_row([&] { file.read_at(std::span(large).first(size), 0); }) <=
          (size == 1 ? share_of_calls + 1 : 3));
  }
}

IN_RUNTIME("a goroutine whose descriptor becomes ready goes before those that never wait",
           shares_by_itself()) {
  constexpr int flooders = 50;
  constexpr int longest_turn = 64 * share_of_calls;
  constexpr int a_turn_of_each = flooders * longest_turn;
  int begun = 0;
  int before = 0;      // operations, until all have begun
  int operations = 0;  // and from then on
  bool over = false;
  thrum::io::pipe question;
  thrum::wait_group group;
  group.go([&] {
    char byte = 0;
    question.read(std::span(&byte, 1));
    over = true;
  });
  for (int i = 0; i != flooders; ++i) {
    group.go([&] {
      thrum::io::pipe pipe;
      ++begun;
      for (int* n = &before; !over && *n < a_turn_of_each; ++*n) {
        use_once(pipe);
        n = begun == flooders ? &operations : &before;
      }
    });
  }
  while (begun != flooders) {
    thrum::this_goroutine::yield();
  }
  CHECK(before < a_turn_of_each);
  operations = 0;
  question.write("x");
  group.wait();
  CHECK(operations < a_turn_of_each / 4);
}

namespace {

/// Two goroutines on one P: one does `first` as often as a share allows and waits for a byte; the
/// other sends it, and never waits. How many operations of the other go by until the first goes on.
int operations_until_back(const std::function<void(thrum::io::pipe&)>& first) {
  constexpr int too_many = 1'000 * share_of_calls;
  thrum::io::pipe question;
  bool waits = false;
  bool back = false;
  auto waiter = thrum::spawn([&] {
    thrum::io::pipe own;
    for (int i = 0; i <= share_of_calls; ++i) {
      first(own);
    }
    waits = true;
    char byte = 0;
    question.read(std::span(&byte, 1));
    back = true;
  });
  while (!waits) {
    thrum::this_goroutine::yield();
  }
  thrum::io::pipe own;
  question.write("x");
  int operations = 0;
  for (; !back && operations != too_many; ++operations) {
    use_once(own);
  }
  waiter.join();
  return operations;
}

constexpr int most_of_a_slice = 30 * share_of_calls;  // two calls each of a whole one's 64 shares

}  // namespace

IN_RUNTIME("a goroutine takes turns with one that never waits, or goes first if it moved no data",
           shares_by_itself()) {
  CHECK(operations_until_back(&use_once) >= most_of_a_slice);
  CHECK(operations_until_back([](thrum::io::pipe& own) {
          thrum::io::wait_writable(own.writer().native_handle());
        }) < most_of_a_slice);
}

IN_RUNTIME("a goroutine that had to give way runs again, though others never wait",
           shares_by_itself()) {
  constexpr int too_many = 100'000;
  int operations = 0;
  auto flooder = thrum::spawn([&] {
    for (thrum::io::pipe pipe; operations != 4 * share_of_calls; ++operations) {
      use_once(pipe);
    }
  });
  bool over = false;
  auto other = thrum::spawn([&] {
    while (!over) {
      thrum::this_goroutine::yield();
    }
  });
  int yields = 0;
  for (; operations != 4 * share_of_calls && yields != too_many; ++yields) {
    thrum::this_goroutine::yield();
  }
  CHECK(yields != too_many);
  over = true;
  flooder.join();
  other.join();
}
