// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/os/listing.hpp>

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

TEST_CASE("two equal listings of a directory have no change between them") {
  CHECK(changes_between({}, {}).empty());
  const look files{file_named("a", 1, 7), folder_named("b", 2), file_named("c", 3)};
  CHECK(changes_between(files, files).empty());
}

TEST_CASE("names that come and go in a directory are told, what is gone first") {
  const look files{file_named("b", 1), file_named("d", 2)};
  CHECK(changes_between({}, files) == "+b+d");
  CHECK(changes_between(files, {}) == "-b-d");
  CHECK(changes_between(files, {file_named("a", 3), file_named("b", 1), file_named("c", 4)}) ==
        "-d+a+c");
}

TEST_CASE("a file that was renamed is gone under one name and there under the other") {
  CHECK(changes_between({file_named("z", 1, 5)}, {file_named("a", 1, 5)}) == "-z+a");
  CHECK(changes_between({folder_named("a", 1)}, {folder_named("z", 1)}) == "-a+z");
}

TEST_CASE("a file that was put in another one's place is told as removed and created") {
  CHECK(changes_between({file_named("a", 1)}, {file_named("a", 2)}) == "-a+a");
  CHECK(changes_between({file_named("a", 1, 5), file_named("t", 2, 6)}, {file_named("a", 2, 6)}) ==
        "-a-t+a");
  CHECK(changes_between({file_named("a", 1)}, {folder_named("a", 1)}) == "-a+a");
}

TEST_CASE("a new file that has something in it may have been modified since") {
  CHECK(changes_between({}, {file_named("a", 1, 5)}) == "+a*a");
  CHECK(changes_between({}, {folder_named("a", 1)}) == "+a");
  CHECK(changes_between({file_named("a", 1, 5)}, {file_named("a", 1, 5), file_named("b", 1, 5)}) ==
        "+b");  // another name of it
}

TEST_CASE("a file of another size or time of writing was modified") {
  listed_file before = file_named("a", 1, 5);
  listed_file now = before;
  now.facts.size = 6;
  CHECK(changes_between({before}, {now}) == "*a");
  now = before;
  now.facts.written = 1;
  now.facts.touched = 1;
  CHECK(changes_between({before}, {now}) == "*a");
  now.facts.rights = 1;
  CHECK(changes_between({before}, {now}) == "*a!a");
}

TEST_CASE("a file that was touched and not written has other attributes") {
  listed_file before = file_named("a", 1, 5);
  listed_file now = before;
  now.facts.touched = 1;
  CHECK(changes_between({before}, {now}) == "!a");
}

TEST_CASE("what happens inside of a directory is no change of its name's entry") {
  listed_file before = folder_named("a", 1);
  listed_file now = before;
  now.facts.size = 4096;
  now.facts.written = 1;
  now.facts.touched = 1;
  CHECK(changes_between({before}, {now}).empty());
  now.facts.rights = 1;
  CHECK(changes_between({before}, {now}) == "!a");
}

TEST_CASE("what the system tells of a file is not told again") {
  listed_file before = file_named("a", 1, 5);
  before.is_told = true;
  listed_file now = file_named("a", 1, 6);
  CHECK(changes_between({before}, {now}).empty());
  CHECK(changes_between({before}, {}) == "-a");
  CHECK(changes_between({before}, {file_named("a", 2, 6)}) == "-a+a*a");
}
