// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Loads two shared objects that each hold the library and hide it, and lets goroutines of one work
// in the other. Built twice: without the library, and with a hidden one of its own
// (THRUM_HOST_HAS_LIBRARY).
//
//   host local|global FIRST SECOND

#include "shared/plugin.hpp"

#if THRUM_HOST_HAS_LIBRARY
#include <thrum.hpp>

#include <chrono>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

namespace {

int mistakes = 0;

void expect(bool good, const char* what) {
  if (!good) {
    ++mistakes;
    std::printf("not true: %s\n", what);
    std::fflush(stdout);
  }
}

void* load(const char* path, int flags, const plugin*& api) {
  void* const object = ::dlopen(path, RTLD_NOW | flags);
  if (object == nullptr) {
    std::printf("%s\n", ::dlerror());
    std::exit(2);
  }
  api = static_cast<const plugin*>(::dlsym(object, "thrum_test_plugin"));
  return object;
}

const plugin* first = nullptr;
const plugin* second = nullptr;
const char* second_path = nullptr;
int second_flags = 0;
void* second_object = nullptr;

void share_channels(const plugin& one, const plugin& other) {
  void* const channel = one.make_channel();
  other.feed(channel, 1000);
  expect(one.sum(channel) == 500500, "one object receives what another sends");
  one.drop_channel(channel);
}

/// Runs as a goroutine of the first object.
void visit(void*) {
  expect(first->knows_goroutine(), "the object that made the runtime knows its goroutine");
  if (second == nullptr) {  // is loaded while threads run already
    second_object = load(second_path, second_flags, second);
  }
  expect(second->knows_goroutine(), "another object knows the goroutine");
  share_channels(*first, *second);
  share_channels(*second, *first);
  share_channels(*second, *second);
  expect(second->reads_from_pipe(), "another object waits in the poller");
  const bool types_are_shared = first->catches_plain(second->throw_plain);
#if defined(__GLIBCXX__)
  expect(types_are_shared, "exceptions of one object are known in the other");
#endif
  if (types_are_shared) {  // libc++ goes by the address of a type, of which each object has one
    expect(first->catches_exit(second->exit_goroutine), "the first catches goroutine_exit");
    expect(second->catches_exit(first->exit_goroutine), "the second catches goroutine_exit");
    expect(first->catches_usage_error(second->commit_usage_error), "usage_error is one type");
    expect(second->catches_usage_error(first->commit_usage_error), "usage_error is one type, too");
  }
  expect(first->knows_errors(second->give_errors), "the library's errors are one kind");

  volatile bool stop = false;
  bool ended = false;
  second->compute(&stop, &ended);
  first->sleep_ms(5);  // returns only if the loop was interrupted: there is one processor
  stop = true;
  while (!static_cast<volatile bool&>(ended)) {
    second->sleep_ms(1);
  }
#if THRUM_HOST_HAS_LIBRARY
  expect(thrum::this_goroutine::id() != 0, "the executable knows the goroutine");
  thrum::mutex mutex;
  mutex.lock();
  auto waiter = thrum::spawn([&] {
    mutex.lock();
    mutex.unlock();
    return 7;
  });
  thrum::sleep_for(std::chrono::milliseconds(1));
  mutex.unlock();
  expect(waiter.join() == 7, "the executable starts goroutines there");
#endif
}

volatile int urgent = 0;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  ::alarm(30);
  second_flags = std::strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  second_path = argv[3];
  load(argv[2], second_flags, first);
  first->run(1, visit, nullptr);

  // The same the other way round; now both are there from the start.
  const plugin* const kept = first;
  first = second;
  second = kept;
  first->run(1, visit, nullptr);

  // Each has made a runtime: there is one handler, and it passes on what is not its own.
  ::signal(SIGURG, [](int) { urgent = urgent + 1; });
  first->run(1, visit, nullptr);
  second->run(
      1,
      [](void*) {
        urgent = 0;
        ::raise(SIGURG);
        expect(urgent == 1, "a signal that is not ours is passed on once");
      },
      nullptr);

  // Unloaded, so to speak, and loaded again.
  ::dlclose(second_object);
  load(second_path, second_flags, first);
  first->run(1, visit, nullptr);
#if THRUM_HOST_HAS_LIBRARY
  thrum::run([] { visit(nullptr); });
#endif
  std::puts(mistakes == 0 ? "all is one" : "failed");
  return mistakes == 0 ? 0 : 1;
}
