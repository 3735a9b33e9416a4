// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// What a plug-in offers to its host, and what the two of the example do. A plug-in holds the library
// and hides it (-fvisibility=hidden); nothing but one function of C's kind is to be seen. The host's
// runtime and channels are its own all the same: a process has one library, however many of its shared
// objects hold a copy.
#ifndef THRUM_EXAMPLES_PLUGINS_PLUGIN_HPP
#define THRUM_EXAMPLES_PLUGINS_PLUGIN_HPP

#include <thrum.hpp>

#include <cstdint>

/// What the host has for its plug-ins.
struct host_services {
  thrum::runtime* runtime;
  thrum::chan<std::int64_t> items;
  thrum::chan<std::int64_t> results;
  /// Shows a line. On the host's thread only.
  void (*show)(const char* line);
};

struct plugin {
  const char* name;
  /// Starts its work on so many items, and returns at once.
  void (*start)(const host_services& host, std::int64_t items);
};

/// The one function that a plug-in shows.
extern "C" {
using plugin_function = const plugin* (*)();
}
inline constexpr const char* plugin_function_name = "thrum_example_plugin";

/// The work of the first: it sends the numbers from 1 on, and then closes.
inline void produce(const host_services& host, std::int64_t items) {
  host.runtime->go({.name = "producer"}, [host, items]() mutable {
    for (std::int64_t i = 1; i <= items; ++i) {
      host.items.send(i);
    }
    host.items.close();
  });
}

/// The work of the second: it adds up what comes, shows on the host's thread that it is done, and sends
/// the sum.
inline void consume(const host_services& host, std::int64_t) {
  host.runtime->go({.name = "consumer"}, [host]() mutable {
    std::int64_t sum = 0;
    for (const std::int64_t item : host.items) {
      sum += item;
    }
    thrum::spawn(thrum::on_host, [host] { host.show("the consumer has all items"); }).join();
    host.results.send(sum);
  });
}

#endif
