// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Workers in code of the C and C++ libraries that has state, locks and allocations of its own.

#include "yard.hpp"

#include "stress/host.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace stress {

void format(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    std::ostringstream text;
    text << "worker " << w.number << ", round " << std::setw(8) << std::setfill('0')
         << i % 1'000'000 << ", " << std::fixed << std::setprecision(2)
         << static_cast<double>(i % 1'000) + 0.25;
    char right[128];
    std::snprintf(right, sizeof right, "worker %u, round %08ju, %.2f", w.number,
                  std::uintmax_t{i % 1'000'000}, static_cast<double>(i % 1'000) + 0.25);
    expect(text.str() == right, "a stream and printf agree");
  }
}

namespace {

/// A file that is there as long as the object.
class temporary_file {
 public:
  temporary_file() : name_(host::new_file()) {
    expect(!name_.empty(), "there is a place for a temporary file");
  }
  ~temporary_file() { std::remove(name_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const char* name() const { return name_.c_str(); }

 private:
  const std::string name_;
};

std::string read_by_stdio(const char* name) {
  std::string all;
  std::FILE* const file = std::fopen(name, "re");
  expect(file != nullptr, "a file that was written can be read");
  if (file != nullptr) {
    char part[100];
    while (const std::size_t n = std::fread(part, 1, sizeof part, file)) {
      all.append(part, n);
    }
    expect(std::ferror(file) == 0, "reading a file works");
    std::fclose(file);
  }
  return all;
}

}  // namespace

void write_files(yard& y, worker& w) {
  const temporary_file file;
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    std::string right;
    {
      std::ofstream out(file.name(), std::ios::trunc);
      for (std::uint64_t line = 0; line != 20; ++line) {
        const std::string text = std::to_string(i) + ": line " + std::to_string(line) + "\n";
        out << text;
        right += text;
      }
      out.flush();
      expect(out.good(), "writing a file works");
    }
    expect(read_by_stdio(file.name()) == right, "a file keeps what was written");
  }
}

void grow_maps(yard& y, worker& w) {
  auto random = random_for(w);
  std::map<std::uint32_t, std::string> tree;
  std::uint64_t sum = 0;
  while (go_on(y, w)) {
    for (int i = 0; i != 100; ++i) {
      const std::uint32_t key = random.below(500);
      if (tree.emplace(key, std::to_string(key) + " as a text that is not short").second) {
        sum += key;
      } else {
        tree.erase(key);
        sum -= key;
      }
    }
    std::uint64_t found = 0;
    std::uint32_t last = 0;
    for (const auto& [key, text] : tree) {
      expect(key >= last && std::stoul(text) == key, "a map is in order");
      last = key;
      found += key;
    }
    expect(found == sum, "a map keeps what was put in");
  }
}

void match(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    const std::string number = std::to_string(i);
    const std::string text = "some text, key-" + number + "=value;";
    std::regex pattern;
    pattern.imbue(std::locale::classic());
    pattern.assign("([a-z]+)-([0-9]+)=([[:alpha:]]*)");
    std::smatch found;
    expect(std::regex_search(text, found, pattern) && found[1] == "key" && found[2] == number &&
               found[3] == "value",
           "a regular expression matches");
    const std::locale own(std::locale("C"), new std::numpunct<char>);
    expect(std::isalpha('x', own) && !std::isalpha('1', own) && own != std::locale::classic(),
           "a locale knows letters");
  }
}

void write_dates(yard& y, worker& w) {
  while (go_on(y, w)) {
    std::tm parts{};
    char text[64];
    host::local_time(moment, parts);
    expect(std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts) != 0 && text == y.date,
           "a date is the same each time");
  }
}

}  // namespace stress
