// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// compiler_tool: a library with a runtime of its own inside a program that may have another. The library
// finds what includes what below a folder: it reads files side by side, follows what they include, and
// tells how many there are of each depth. Its caller knows nothing of goroutines; here it is called once
// by a plain thread and once by a goroutine of the program's own runtime, and both get the same.
//
//   compiler_tool FILE [FOLDER...]
//
// FOLDER: where what is included is looked for.

#include <thrum.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

/// What would be the library: one function with plain types. The runtime is made once, by the first
/// call, and is the library's: with its own processors, and without a say in what the program does.
namespace include_finder {

class search {
 public:
  explicit search(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// Depth of each file that was found; the first has 0.
  std::map<std::string, std::size_t> run(const std::string& first) {
    thrum::wait_group files;
    look_at(files, first, 0);
    files.wait();
    return std::move(depth_of_);
  }

 private:
  /// Starts a goroutine for a file, unless that was seen at no greater depth.
  void look_at(thrum::wait_group& files, const std::string& path, std::size_t depth) {
    {
      const std::lock_guard guard(mutex_);
      const auto [at, is_new] = depth_of_.emplace(path, depth);
      if (!is_new && at->second <= depth) {
        return;
      }
      at->second = depth;
    }
    files.go([this, &files, path, depth] {
      for (const std::string& name : names_in(path)) {
        for (const std::string& folder : folders_) {
          const std::string candidate = folder + "/" + name;
          std::error_code missing;
          thrum::io::file::open(candidate, thrum::io::open_mode::read, missing);
          if (!missing) {
            look_at(files, candidate, depth + 1);
            break;
          }
        }
      }
    });
  }

  /// What the file includes, as it is written.
  static std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    auto file = thrum::io::file::open(path, thrum::io::open_mode::read, error);
    if (error) {
      return names;
    }
    thrum::io::buffered_reader lines(file);
    while (const auto line = lines.read_line()) {
      const std::string_view text = *line;
      if (!text.starts_with("#include ")) {
        continue;
      }
      const std::size_t from = text.find_first_of("<\"");
      const std::size_t to = text.find_first_of(">\"", from + 1);
      if (from != text.npos && to != text.npos) {
        names.emplace_back(text.substr(from + 1, to - from - 1));
      }
    }
    return names;
  }

  const std::vector<std::string> folders_;
  thrum::mutex mutex_;
  std::map<std::string, std::size_t> depth_of_;
};

std::map<std::string, std::size_t> find_includes(const std::string& file,
                                                 std::vector<std::string> folders) {
  static thrum::runtime own({.name = "finder"});
  return own.block_on([&] { return search(std::move(folders)).run(file); });
}

}  // namespace include_finder

void print(const std::map<std::string, std::size_t>& found) {
  std::map<std::size_t, std::size_t> files_of_depth;
  for (const auto& [path, depth] : found) {
    ++files_of_depth[depth];
  }
  for (const auto& [depth, files] : files_of_depth) {
    std::printf("depth %zu: %zu files\n", depth, files);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: compiler_tool FILE [FOLDER...]\n", stderr);
    return 2;
  }
  const std::string file = argv[1];
  const std::vector<std::string> folders(argv + 2, argv + argc);
  const auto by_thread = include_finder::find_includes(file, folders);
  print(by_thread);
  return thrum::run([&] {
    // A goroutine of another runtime waits as for a goroutine of its own: nothing blocks here.
    const auto by_goroutine = include_finder::find_includes(file, folders);
    std::puts(by_goroutine == by_thread ? "the same for a goroutine" : "another answer");
    return by_goroutine == by_thread ? 0 : 1;
  });
}
