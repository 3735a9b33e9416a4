// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The examples wordcount and demo, and the tally with which both count.

#include "../examples/word_tally.hpp"

#include "support/catch.hpp"

#ifdef THRUM_EXAMPLES_DIR
#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/server_process.hpp"
#endif

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace {

tally tally_of(std::string_view text) {
  tally words;
  words.add_text(text, false);
  return words;
}

std::map<std::string, std::uint64_t> counts_of(const tally& words) {
  std::map<std::string, std::uint64_t> counts;
  for (const tally::entry& e : words.entries()) {
    counts.emplace(e.word(), e.count);
  }
  return counts;
}

TEST_CASE("a tally counts runs of letters, digits and underscores") {
  CHECK(counts_of(tally_of("")).empty());
  CHECK(counts_of(tally_of("a_1 b-a_1\nB\xc3\xa4 c")) ==
        std::map<std::string, std::uint64_t>{{"a_1", 2}, {"b", 1}, {"B", 1}, {"c", 1}});
}

TEST_CASE("a tally leaves out the last word of a text that goes on") {
  tally words;
  CHECK(words.add_text("one tw", true) == 2);
  CHECK(words.add_text("two ", true) == 0);
  CHECK(words == tally_of("two one"));
}

TEST_CASE("tallies are equal if they have the same words, each as often") {
  CHECK(tally_of("a b a") == tally_of("b a a"));
  CHECK_FALSE(tally_of("a b a") == tally_of("a b b"));
  CHECK_FALSE(tally_of("a b") == tally_of("a c"));
  CHECK_FALSE(tally_of("a b") == tally_of("a b c"));
  CHECK_FALSE(tally_of("a b c") == tally_of("a b"));
}

TEST_CASE("a tally that grows, is cleared and added to another keeps its counts") {
  std::string text;
  for (int i = 0; i != 20'000; ++i) {
    text += 'w' + std::to_string(i) + " again ";
  }
  const tally all = tally_of(text);
  CHECK(all.distinct() == 20'001);
  tally twice = all;
  twice.clear();
  CHECK(twice == tally());
  twice.add_all(all);
  CHECK(twice == all);
  twice.add_all(all);
  CHECK_FALSE(twice == all);
  CHECK(counts_of(twice)["again"] == 40'000);
}

}  // namespace

#ifdef THRUM_EXAMPLES_DIR

namespace examples { namespace {

/// Files with 7 words, 4 different ones.
struct some_files : support::folder {
  some_files() {
    write("a.txt", "one two two");
    write("b/c.txt", "three\ntwo,one");
    write("b/d/e.txt", "last");
  }
  std::string path() const { return (*this / "").string(); }
};

support::program_result run_example(const std::string& name, const std::string& arguments) {
  return support::run_file(support::example_path(name), arguments);
}

TEST_CASE("wordcount counts the words below a folder as one plain thread does") {
  const some_files files;
  for (const char* const procs : {"1", "4"}) {
    INFO(procs << " processors");
    const auto result =
        run_example("wordcount", std::string("--procs ") + procs + " --check " + files.path());
    CHECK(result.exit_code == 0);
    CHECK(
        result.text.starts_with("         3  two\n"
                                "         2  one\n"
                                "         1  last\n"
                                "         1  three\n"
                                "4 distinct words in 3 files, 0 unreadable; "));
    CHECK(result.says("check: the same as one plain thread counts\n"));
  }
}

TEST_CASE("wordcount counts a word that fills more than its buffer once") {
  const support::folder files;
  files.write("long.txt", "ab " + std::string(600'000, 'x') + " ab");
  const auto result = run_example("wordcount", "--check " + (files / "long.txt").string());
  CHECK(result.exit_code == 0);
  CHECK(result.says("2 distinct words in 1 files"));
}

TEST_CASE("wordcount says what it cannot read and counts the rest") {
  const some_files files;
  const auto result = run_example("wordcount", (files / "nowhere").string() + " " + files.path());
  CHECK(result.exit_code == 0);
  CHECK(result.says("wordcount: cannot read " + (files / "nowhere").string()));
  CHECK(result.says("4 distinct words in 3 files, 1 unreadable"));
}

TEST_CASE("wordcount refuses arguments that make no sense") {
  for (const char* const arguments : {"", "--procs 0 .", "--top", "--unknown ."}) {
    INFO(arguments);
    CHECK(run_example("wordcount", arguments).exit_code == 2);
  }
}

TEST_CASE("the demo counts the same words in each way and shows its sleepers") {
  const some_files files;
  const auto result = run_example("demo", "--sleepers 300 " + files.path());
  INFO(result.text);
  CHECK(result.exit_code == 0);
  CHECK(result.says("The words of 3 files below " + files.path() + ", 0.0 MB"));
  CHECK(result.says("\none plain thread "));
  CHECK(result.says("\nthrum, 1 processor "));
  CHECK(result.says("\n7 words, 4 different ones; most often two (3), one (2), "));
  CHECK(result.says("All counted the same."));
  CHECK(result.says("\n300 goroutines asleep at once, "));
}

TEST_CASE("the demo leaves out files for which its bytes do not suffice") {
  const some_files files;
  const auto result = run_example("demo", "--bytes 5 --sleepers 1 " + files.path());
  INFO(result.text);
  CHECK(result.says("The words of 1 files below " + files.path() + " (not all of them)"));
}

TEST_CASE("the demo says what it wants when it finds nothing to count") {
  const support::folder files;
  const std::string path = (files / "").string();
  const auto result = run_example("demo", path);
  CHECK(result.exit_code == 2);
  CHECK(result.says("demo: no file below " + path + " can be read"));
  CHECK(run_example("demo", "").exit_code == 2);
  CHECK(run_example("demo", "--bytes 0 .").exit_code == 2);
}

}}  // namespace examples

#endif
