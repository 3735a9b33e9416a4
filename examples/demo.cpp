// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// demo: what ./dev demo shows. Counts the words of files with a plain thread and with a goroutine a
// file, then lets many goroutines sleep at once.
//
//   demo [--bytes N] [--sleepers N] FOLDER...
//
// Each file below a FOLDER is read once, into memory, as long as there is room in N bytes (64 MB). So all
// counts are of the same bytes, whatever happens to the files meanwhile. The exit status is 1 if the
// counts differ.

#include <thrum.hpp>

#include "process_limits.hpp"
#include "word_tally.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

/// A number with a comma before every three digits.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    text.insert(at -= 3, 1, ',');
  }
  return text;
}

/// One line on a terminal that the next one replaces; an empty one removes it.
void show_progress(const std::string& text) {
  static const bool shown = is_terminal(stderr);
  if (shown) {
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
  }
}

struct arguments {
  std::size_t bytes = 64'000'000;
  /// Stacks of 256 KiB are reserved: address spaces of 32 bits have room for a few thousand.
  std::size_t sleepers = sizeof(void*) == 8 ? 100'000 : 2'000;
  std::vector<std::string> folders;
};

/// Reads the arguments. False: they make no sense, and a message says why.
bool parse(int count, char** values, arguments& result) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = values[i];
    if (word == "--bytes" || word == "--sleepers") {
      const std::string_view number = i + 1 < count ? values[++i] : "";
      std::size_t& target = word == "--bytes" ? result.bytes : result.sleepers;
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), target);
      if (error != std::errc() || end != number.data() + number.size() || target == 0) {
        std::fprintf(stderr, "demo: %s needs a number from 1\n", values[i - 1]);
        return false;
      }
    } else {
      result.folders.emplace_back(word);
    }
  }
  if (result.folders.empty()) {
    std::fprintf(stderr, "usage: demo [--bytes N] [--sleepers N] FOLDER...\n");
  }
  return !result.folders.empty();
}

struct input {
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  bool is_whole = true;
};

/// Adds the files below a folder for which there is room.
void read_folder(const std::string& folder, std::size_t most, input& files) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code skipped;  // files come and go
    if (!at->is_regular_file(skipped)) {
      continue;
    }
    std::string text = thrum::io::read_file(at->path().string(), most - files.bytes, skipped);
    if (skipped == std::errc::file_too_large) {
      files.is_whole = false;
    } else if (!skipped && !text.empty()) {
      files.bytes += text.size();
      files.texts.push_back(std::move(text));
      if (files.texts.size() % 100 == 0) {
        show_progress("reading " + folder + ": " + grouped(files.texts.size()) + " files");
      }
    }
  }
}

/// One way to count, and what its fastest round took.
struct contestant {
  unsigned procs = 0;  // 0: a plain thread, without the library
  double seconds = std::numeric_limits<double>::max();
  std::uint64_t goroutines = 0;
  unsigned threads = 1;
  tally words = {};
};

tally count_plainly(const std::vector<std::string>& texts) {
  tally words;
  for (const std::string& text : texts) {
    words.add_text(text, false);
  }
  return words;
}

/// A goroutine for each text. It counts into a tally that no other goroutine has: one of the channel,
/// or a new one. So there are about as many tallies as processors, and they are added up in the end.
tally count_with_goroutines(const std::vector<std::string>& texts) {
  auto idle = thrum::make_chan<std::unique_ptr<tally>>(texts.size());
  thrum::wait_group counting;
  for (const std::string& text : texts) {
    counting.go([&idle, &text] {
      auto words = idle.try_recv().value_or(nullptr);
      if (words == nullptr) {
        words = std::make_unique<tally>();
      }
      words->add_text(text, false);
      idle.send(std::move(words));
    });
  }
  counting.wait();
  idle.close();
  tally total;
  for (const auto& words : idle) {
    total.add_all(*words);
  }
  return total;
}

void run_round(contestant& one, const std::vector<std::string>& texts) {
  contestant round{.procs = one.procs};
  const auto timed = [&](auto count) {
    const auto begin = steady_clock::now();
    round.words = count(texts);
    round.seconds = seconds_since(begin);
  };
  if (round.procs == 0) {
    timed(count_plainly);
  } else {
    thrum::options options = thrum::options::from_environment();
    options.procs = round.procs;
    thrum::run(options, [&] {
      timed(count_with_goroutines);
      const thrum::stats_snapshot stats = thrum::stats();
      round.goroutines = stats.created;
      round.threads = stats.threads;
    });
  }
  if (round.seconds < one.seconds) {
    one = std::move(round);
  }
}

std::string name_of(const contestant& one) {
  return one.procs == 0   ? "one plain thread"
         : one.procs == 1 ? "thrum, 1 processor"
                          : "thrum, " + std::to_string(one.procs) + " processors";
}

/// Counts with each contestant some times, in turns, and prints the fastest rounds. False: they do not
/// count the same.
bool compare(const input& files, std::vector<contestant>& all) {
  constexpr int rounds = 5;
  for (int round = 1; round <= rounds; ++round) {
    for (contestant& one : all) {
      show_progress("counting, round " + std::to_string(round) + " of " + std::to_string(rounds) +
                    ": " + name_of(one));
      run_round(one, files.texts);
    }
  }
  show_progress("");
  std::printf("The fastest of %d rounds:\n\n%-22s%10s%12s%13s%9s\n", rounds, "", "time", "speed",
              "goroutines", "threads");
  for (const contestant& one : all) {
    std::printf("%-22s%8.3f s%7.0f MB/s%13s%9u\n", name_of(one).c_str(), one.seconds,
                static_cast<double>(files.bytes) / 1e6 / one.seconds,
                grouped(one.goroutines).c_str(), one.threads);
  }
  return std::all_of(all.begin(), all.end(),
                     [&](const contestant& one) { return one.words == all.front().words; });
}

void print_words(const tally& words) {
  std::vector<tally::entry> entries = words.entries();
  std::uint64_t n = 0;
  for (const tally::entry& e : entries) {
    n += e.count;
  }
  std::printf("\n%s words, %s different ones", grouped(n).c_str(), grouped(entries.size()).c_str());
  const auto last =
      entries.begin() + static_cast<std::ptrdiff_t>(std::min(entries.size(), std::size_t{5}));
  std::partial_sort(entries.begin(), last, entries.end(),
                    [](const tally::entry& a, const tally::entry& b) { return a.count > b.count; });
  const char* before = "; most often ";
  for (auto at = entries.begin(); at != last; ++at) {
    std::printf("%s%.*s (%s)", std::exchange(before, ", "), static_cast<int>(at->size), at->text,
                grouped(at->count).c_str());
  }
  std::printf("\n");
}

/// Bytes of this process in memory; 0: unknown, where there is no /proc.
double resident_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::stod(line.substr(6)) * 1024;
    }
  }
  return 0;
}

/// Starts goroutines that sleep, and waits until all of them are seen asleep at once. They end with
/// the runtime, when its first goroutine returns.
void sleep_at_once(std::size_t n) {
  const double before = resident_bytes();
  const auto begin = steady_clock::now();
  for (std::size_t i = 0; i != n; ++i) {
    thrum::go([] { thrum::sleep_for(1h); });
  }
  thrum::stats_snapshot now = thrum::stats();
  for (; now.waiting < n; now = thrum::stats()) {
    show_progress("asleep: " + grouped(now.waiting));
    thrum::sleep_for(10ms);
  }
  const double seconds = seconds_since(begin);
  const double memory = resident_bytes() - before;
  show_progress("");
  std::printf("\n%s goroutines asleep at once, after %.2f s, on %u threads", grouped(n).c_str(),
              seconds, now.threads);
  if (memory > 0) {
    std::printf(": %.0f MB, %.1f KB each", memory / 1e6, memory / 1e3 / static_cast<double>(n));
  }
  std::printf("\n");
}

int show(const arguments& given) {
  input files;
  std::string folders;
  for (const std::string& folder : given.folders) {
    folders += (folders.empty() ? "" : ", ") + folder;
    thrum::run([&] { read_folder(folder, given.bytes, files); });
  }
  show_progress("");
  if (files.texts.empty()) {
    std::fprintf(stderr, "demo: no file below %s can be read: name another folder\n",
                 folders.c_str());
    return 2;
  }
  std::printf("The words of %s files below %s%s, %.1f MB in memory.\n",
              grouped(files.texts.size()).c_str(), folders.c_str(),
              files.is_whole ? "" : " (not all of them)", static_cast<double>(files.bytes) / 1e6);
  std::vector<contestant> all{{.procs = 0}, {.procs = 1}};
  if (const unsigned most = thrum::default_procs(); most > 1) {
    all.push_back({.procs = most});
  }
  if (!compare(files, all)) {
    std::printf("NOT the same words were counted: this is a fault\n");
    return 1;
  }
  print_words(all.front().words);
  std::printf("All counted the same.\n");
  files = {};
  all.clear();
  thrum::run([&] { sleep_at_once(given.sleepers); });
  return 0;
}

}  // namespace

int main(int count, char** values) {
  arguments given;
  return parse(count, values, given) ? show(given) : 2;
}
