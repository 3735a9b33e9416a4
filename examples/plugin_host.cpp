// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// plugin_host: two plug-ins with hidden visibility work in the host's runtime and exchange items by a
// channel of the host; one of them is then loaded anew. The same work is done by the same code inside
// the host, in turns, and at the end it says how long an item took in each way.
//
//   plugin_host [--items N] [--rounds N] [--plugins FOLDER]
//
// To load a plug-in anew is to load a copy of its file: an object that holds the library stays in
// memory once it was loaded (see README, "Shared objects"), so a second dlopen of the same file gives
// the old one. The exit status is 0 if all sums were right.

#include "plugins/plugin.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace {

struct settings {
  int items = 100'000;
  int rounds = 9;
  std::filesystem::path plugins;
};

/// False: the arguments make no sense, and a message says why.
bool parse(int count, char** values, settings& to) {
  std::error_code unknown;
  to.plugins = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  for (int i = 1; i < count; ++i) {
    const std::string_view word = values[i];
    const std::string_view value = i + 1 < count ? values[++i] : "";
    if (word == "--plugins" && !value.empty()) {
      to.plugins = value;
      continue;
    }
    int* const number = word == "--items" ? &to.items : word == "--rounds" ? &to.rounds : nullptr;
    const char* const end = value.data() + value.size();
    if (number == nullptr || value.empty() ||
        std::from_chars(value.data(), end, *number).ptr != end || *number < 1) {
      std::fprintf(stderr,
                   "plugin_host: what is '%s'? usage: plugin_host [--items N] [--rounds N] "
                   "[--plugins FOLDER]\n",
                   values[i]);
      return false;
    }
  }
  return true;
}

/// Null: there is no such plug-in, and a message says why.
const plugin* load(const std::filesystem::path& file) {
  void* const object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = object == nullptr ? nullptr : ::dlsym(object, plugin_function_name);
  if (function == nullptr) {
    std::fprintf(stderr, "plugin_host: %s is no plug-in: %s\n", file.c_str(), ::dlerror());
    return nullptr;
  }
  return reinterpret_cast<plugin_function>(function)();
}

/// Loads a copy of a plug-in's file, as if it had been built again.
const plugin* load_anew(const std::filesystem::path& file) {
  // Another process may do the same with this file.
  const auto copy =
      file.parent_path() / (std::to_string(::getpid()) + '_' + file.filename().string());
  std::error_code error;
  std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing, error);
  if (error) {
    std::fprintf(stderr, "plugin_host: cannot copy %s: %s\n", file.c_str(),
                 error.message().c_str());
    return nullptr;
  }
  const plugin* const fresh = load(copy);
  std::filesystem::remove(copy, error);  // what is loaded stays
  return fresh;
}

int lines_shown = 0;

/// A host that exchanges items and measures how long one takes.
class exchange {
 public:
  explicit exchange(int items) : items_(items) { runtime_.poll(); }

  /// Nanoseconds an item. This thread runs what is bound to it meanwhile, as it waits in recv.
  double measure(const plugin& first, const plugin& second) {
    host_services host{&runtime_, thrum::make_chan<std::int64_t>(128),
                       thrum::make_chan<std::int64_t>(), [](const char*) { ++lines_shown; }};
    const auto begin = std::chrono::steady_clock::now();
    second.start(host, items_);
    first.start(host, items_);
    const std::int64_t sum = host.results.recv().value_or(0);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    const std::int64_t n = items_;
    is_right_ = is_right_ && sum == n * (n + 1) / 2;
    return took.count() / items_;
  }

  bool is_right() const { return is_right_; }

 private:
  const int items_;
  bool is_right_ = true;
  thrum::runtime runtime_;
};

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  settings wanted;
  if (!parse(argc, argv, wanted)) {
    return 2;
  }
  const plugin* producer = load(wanted.plugins / "producer.so");
  const plugin* const consumer = load(wanted.plugins / "consumer.so");
  if (producer == nullptr || consumer == nullptr) {
    return 2;
  }
  const plugin own_producer{"own producer", &produce};
  const plugin own_consumer{"own consumer", &consume};
  exchange items(wanted.items);
  std::vector<double> by_plugins, in_one_binary;
  for (int round = 0; round != wanted.rounds; ++round) {
    if (round == wanted.rounds / 2) {
      producer = load_anew(wanted.plugins / "producer.so");
      if (producer == nullptr) {
        return 2;
      }
      std::printf("the %s was loaded anew\n", producer->name);
    }
    by_plugins.push_back(items.measure(*producer, *consumer));
    in_one_binary.push_back(items.measure(own_producer, own_consumer));
  }
  const double plugins = median(by_plugins);
  const double binary = median(in_one_binary);
  std::printf("%d items between plug-ins: %.0f ns an item; in one binary: %.0f ns; ratio %.2f\n",
              wanted.items, plugins, binary, plugins / binary);
  std::printf("%d lines were shown on the host's thread\n", lines_shown);
  return items.is_right() && lines_shown == 2 * wanted.rounds ? 0 : 1;
}
