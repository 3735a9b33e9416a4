// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/detail/os/listing.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace os = thrum::os;
using os::entry_kind;
using os::listed_file;

namespace {

using look = std::vector<listed_file>;

listed_file file_named(const char* name, std::uint64_t number, std::uint64_t size = 0) {
  return {.name = name, .facts = {.number = number, .size = size, .kind = entry_kind::file}};
}

listed_file folder_named(const char* name, std::uint64_t number) {
  return {.name = name, .facts = {.number = number, .kind = entry_kind::directory}};
}

/// The changes between two looks, as "+name", "-name", "*name" for what was modified and "!name" for
/// attributes.
std::string changes_between(look before, look now) {
  const auto pointers_of = [](look& files) {
    std::vector<listed_file*> pointers;
    for (listed_file& each : files) {
      pointers.push_back(&each);
    }
    return pointers;
  };
  std::vector<listed_file*> old = pointers_of(before);
  std::vector<listed_file*> fresh = pointers_of(now);
  std::string told;
  os::compare_listings(std::span<listed_file* const>(old), std::span<listed_file* const>(fresh),
                       [&](os::listing_change change, const listed_file& file) {
                         told += "-+*!"[static_cast<int>(change)];
                         told += file.name;
                       });
  return told;
}

}  // namespace

TEST_CASE("the changes between two looks at a directory are listed, removals first") {
  const look ac{file_named("a", 1, 7), folder_named("b", 2), file_named("c", 3)};
  const look bd{file_named("b", 1), file_named("d", 2)};
  const struct {
    look before;
    look now;
    const char* told;
  } rows[] = {
      {{}, {}, ""},
      {ac, ac, ""},
      {{}, bd, "+b+d"},
      {bd, {}, "-b-d"},
      {bd, {file_named("a", 3), file_named("b", 1), file_named("c", 4)}, "-d+a+c"},
      // renamed
      {{file_named("z", 1, 5)}, {file_named("a", 1, 5)}, "-z+a"},
      {{folder_named("a", 1)}, {folder_named("z", 1)}, "-a+z"},
      // put in another one's place
      {{file_named("a", 1)}, {file_named("a", 2)}, "-a+a"},
      {{file_named("a", 1, 5), file_named("t", 2, 6)}, {file_named("a", 2, 6)}, "-a-t+a"},
      {{file_named("a", 1)}, {folder_named("a", 1)}, "-a+a"},
      // What is new and has something in it may have been modified since; another name of it not.
      {{}, {file_named("a", 1, 5)}, "+a*a"},
      {{}, {folder_named("a", 1)}, "+a"},
      {{file_named("a", 1, 5)}, {file_named("a", 1, 5), file_named("b", 1, 5)}, "+b"},
  };
  for (const auto& row : rows) {
    CHECK(changes_between(row.before, row.now) == row.told);
  }
}

TEST_CASE(
    "a file is modified by size or time of writing, a directory is not; rights are attributes") {
  constexpr auto sized = [](os::file_facts& of) { of.size = 6; };
  constexpr auto written = [](os::file_facts& of) { of.written = of.touched = 1; };
  constexpr auto touched = [](os::file_facts& of) { of.touched = 1; };
  constexpr auto set = [](os::file_facts& of) {
    of.written = of.touched = 1;
    of.rights = 1;
  };
  constexpr struct {
    void (*change)(os::file_facts&);
    const char* of_file;
    const char* of_folder;
  } rows[] = {{sized, "*a", ""}, {written, "*a", ""}, {touched, "!a", ""}, {set, "*a!a", "!a"}};
  for (const auto& row : rows) {
    for (const listed_file& before : {file_named("a", 1, 5), folder_named("a", 1)}) {
      listed_file now = before;
      row.change(now.facts);
      CHECK(changes_between({before}, {now}) ==
            (before.facts.kind == entry_kind::file ? row.of_file : row.of_folder));
    }
  }
}

TEST_CASE("a change that the system reported is not reported again") {
  listed_file before = file_named("a", 1, 5);
  before.is_told = true;
  listed_file now = file_named("a", 1, 6);
  CHECK(changes_between({before}, {now}).empty());
  CHECK(changes_between({before}, {}) == "-a");
  CHECK(changes_between({before}, {file_named("a", 2, 6)}) == "-a+a*a");
}
