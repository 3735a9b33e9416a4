// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// A user's file with something of everything, for what a compiler says about the header: headers.sh.

#include <thrum.hpp>
#include <thrum/sync/recursive_mutex.hpp>

#include <chrono>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

namespace {

void channels() {
  const auto numbers = thrum::make_chan<int>(1);
  numbers.send(1);
  int found = 0;
  static_cast<void>(numbers.recv_for(found, 1ms));
  thrum::select(thrum::on_recv(numbers, [&](int&& n, bool) { found += n; }),
                thrum::on_send(numbers, 2), thrum::on_timeout(1ms));
  const auto request = thrum::context::background().with_timeout(1ms);
  thrum::select(thrum::on_done(request));
}

void synchronisation() {
  thrum::mutex mutex;
  thrum::recursive_mutex again;
  thrum::shared_mutex readers;
  thrum::condition_variable changed;
  {
    const std::scoped_lock locks(mutex, again);
    const std::shared_lock reader(readers);
  }
  std::unique_lock<thrum::mutex> lock(mutex);
  changed.wait_for(lock, 1ms, [] { return false; });
  thrum::barrier<> all(1);
  all.arrive_and_wait();
  thrum::wait_group group;
  group.go([] { thrum::this_goroutine::yield(); });
  group.wait();
  thrum::task_group tasks(2);
  tasks.go([] { thrum::blocking([] { return 0; }); });
  tasks.wait();
}

void outside() {
  std::error_code error;
  thrum::net::conn connection = thrum::net::dial("127.0.0.1:9", 1ms, error);
  char one = 0;
  static_cast<void>(connection.read(std::span<char>(&one, 1), error));
  static_cast<void>(thrum::io::file::open("/dev/null", thrum::io::open_mode::read, error));
}

}  // namespace

int main() {
  return thrum::run([] {
    channels();
    synchronisation();
    outside();
    thrum::goroutine_local<int> own(1);
    return own.get() - thrum::spawn([] { return 1; }).join();
  });
}
