// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// wordcount: counts the words of every regular file below some paths, a goroutine a file.
//
//   wordcount [--procs N] [--top K] [--check] PATH...
//
// A word is a run of A-Z, a-z, 0-9 and _. Symbolic links are followed on the command line only.
// Prints the K most frequent words (20), what was counted and how fast, and what the scheduler did.
// --check counts again with one plain thread and compares; the exit status is 1 if it differs.
//
// How the work flows
//   walk     one goroutine a directory lists it, then starts a goroutine for each entry
//   count    one goroutine a file reads it, inside blocking(), into a buffer of a pool, and counts
//            into a tally that no other goroutine uses meanwhile: idle ones wait in a channel, not
//            in a pool, which may drop what it holds
//   merge    a tally that has grown large goes through a channel to the goroutine that adds it to
//            the total and gives it back empty; the others are added in the end
// A permit of a semaphore is held for each open file, so that no number of files exhausts the
// descriptors.

#include <thrum.hpp>
#include <thrum/sync/pool.hpp>

#include "process_limits.hpp"
#include "word_tally.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

struct buffer {
  std::vector<char> bytes = std::vector<char>(256 * 1024);
};

class word_counter {
 public:
  std::atomic<std::uint64_t> files{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> unreadable{0};

  /// Counts everything below the paths into `total`.
  void count(const std::vector<fs::path>& paths, tally& total) {
    auto merger = thrum::spawn([this, &total] {
      for (std::unique_ptr<tally>& part : large_) {
        total.add_all(*part);
        part->clear();
        tallies_.send(std::move(part));
      }
    });
    for (const fs::path& path : paths) {
      std::error_code error;
      const fs::file_status status = fs::status(path, error);
      if (fs::is_regular_file(status) || fs::is_directory(status)) {
        start(path, status);
      } else {
        report(path, error ? error : std::make_error_code(std::errc::invalid_argument));
      }
    }
    pending_.wait();
    large_.close();
    merger.join();
    tallies_.close();
    for (const std::unique_ptr<tally>& part : tallies_) {
      total.add_all(*part);
    }
  }

 private:
  static constexpr std::size_t large_words = 1U << 16;

  static std::size_t some_open_files() {
    return std::clamp(most_open_files() / 4, std::size_t{1}, std::size_t{64});
  }

  void report(const fs::path& path, std::error_code error) {
    ++unreadable;
    thrum::blocking([&] {
      std::fprintf(stderr, "wordcount: cannot read %s: %s\n", path.string().c_str(),
                   error.message().c_str());
    });
  }

  /// A goroutine for a directory or a file. The permit of a file is taken before its goroutine
  /// exists, so that few of them wait at a time.
  void start(const fs::path& path, fs::file_status status) {
    if (fs::is_directory(status)) {
      pending_.go([this, path] { walk(path); });
    } else if (fs::is_regular_file(status)) {
      open_files_.acquire();
      pending_.go([this, path] {
        count_file(path);
        open_files_.release();
      });
    }
  }

  void walk(const fs::path& directory) {
    std::vector<std::pair<fs::path, fs::file_status>> entries;
    std::error_code error;
    open_files_.acquire();
    thrum::blocking([&] {
      fs::directory_iterator at(directory, error);
      for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        entries.emplace_back(at->path(), at->symlink_status(gone));
      }
    });
    open_files_.release();
    if (error) {
      report(directory, error);
    }
    for (const auto& [path, status] : entries) {
      start(path, status);
    }
  }

  void count_file(const fs::path& path) {
    const auto place = buffers_.get();
    std::vector<char>& text = place->bytes;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(nullptr, &std::fclose);
    std::error_code error;
    std::size_t kept = 0;  // the start of a word whose end is still to be read
    bool more = true;
    while (more) {
      std::size_t got = 0;
      // The usual file is opened, read and closed in one blocking call.
      thrum::blocking([&] {
        if (file == nullptr) {
          file.reset(std::fopen(path.string().c_str(), binary));
        }
        if (file != nullptr) {
          std::setvbuf(file.get(), nullptr, _IONBF, 0);
          got = std::fread(text.data() + kept, 1, text.size() - kept, file.get());
        }
        more = file != nullptr && got == text.size() - kept;
        if (file == nullptr || std::ferror(file.get()) != 0) {
          error = std::error_code(errno, std::generic_category());
        }
        if (!more) {
          file.reset();
        }
      });
      bytes += got;
      const std::string_view part(text.data(), kept + got);
      kept = count_text(part, more);
      std::memmove(text.data(), text.data() + part.size() - kept, kept);
      if (kept == text.size()) {
        text.resize(2 * kept);  // one word fills all of it
      }
    }
    if (error) {
      report(path, error);
    } else {
      ++files;
    }
  }

  /// Counts the words of a piece of a file into an idle tally, or a new one if there is none; returns
  /// what add_text returns.
  std::size_t count_text(std::string_view text, bool more) {
    std::unique_ptr<tally> words = tallies_.try_recv().value_or(nullptr);
    if (words == nullptr) {
      words = std::make_unique<tally>();
    }
    const std::size_t kept = words->add_text(text, more);
    (words->distinct() < large_words ? tallies_ : large_).send(std::move(words));
    return kept;
  }

  thrum::wait_group pending_;
  thrum::counting_semaphore<> open_files_{static_cast<std::ptrdiff_t>(some_open_files())};
  thrum::chan<std::unique_ptr<tally>> large_{16};
  // The idle ones. It has room for all: one for each open file, those in large_ and that of the merger.
  thrum::chan<std::unique_ptr<tally>> tallies_{some_open_files() + large_.capacity() + 1};
  thrum::pool<buffer> buffers_;
};

/// Shows the progress in one line, ten times a second, until the channel is closed.
void show_progress(const word_counter& counter, const thrum::chan<void>& finished) {
  const auto begin = steady_clock::now();
  while (finished.recv_for(std::chrono::milliseconds(100)) == thrum::recv_status::timeout) {
    const double megabytes = static_cast<double>(counter.bytes) / 1e6;
    std::fprintf(stderr, "\r%ju files, %.1f MB, %.1f MB/s\033[K", std::uintmax_t{counter.files},
                 megabytes, megabytes / seconds_since(begin));
  }
  std::fprintf(stderr, "\r\033[K");
}

using plain_counts = std::unordered_map<std::string, std::uint64_t>;

/// Counts the same without the library, as simply as can be.
void count_plainly(const fs::path& path, fs::file_status status, plain_counts& counts) {
  std::error_code error;
  if (fs::is_directory(status)) {
    fs::directory_iterator at(path, error);
    for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      count_plainly(at->path(), at->symlink_status(gone), counts);
    }
  } else if (fs::is_regular_file(status)) {
    std::ifstream file(path, std::ios::binary);
    std::string word;
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) {
      if (is_word(*at)) {
        word += *at;
      } else if (!word.empty()) {
        ++counts[word];
        word.clear();
      }
    }
    if (!word.empty()) {
      ++counts[word];
    }
  }
}

bool is_same(const std::vector<tally::entry>& words, const plain_counts& expected) {
  return words.size() == expected.size() &&
         std::all_of(words.begin(), words.end(), [&](const tally::entry& e) {
           const auto found = expected.find(std::string(e.word()));
           return found != expected.end() && found->second == e.count;
         });
}

struct arguments {
  unsigned procs = 0;
  unsigned top = 20;
  bool check = false;
  std::vector<fs::path> paths;
};

/// Reads the arguments. False: they make no sense, and a message says why.
bool parse(int count, char** values, arguments& result) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = values[i];
    if (word == "--check") {
      result.check = true;
    } else if (word == "--procs" || word == "--top") {
      const std::string_view number = i + 1 < count ? values[++i] : "";
      unsigned& target = word == "--procs" ? result.procs : result.top;
      const auto [end, error] = std::from_chars(number.begin(), number.end(), target);
      if (error != std::errc() || end != number.end() || target == 0) {
        std::fprintf(stderr, "wordcount: %s needs a number from 1\n", values[i - 1]);
        return false;
      }
    } else if (word.size() > 1 && word.front() == '-') {
      std::fprintf(stderr, "wordcount: unknown option %s\n", values[i]);
      return false;
    } else {
      result.paths.emplace_back(word);
    }
  }
  if (result.paths.empty()) {
    std::fprintf(stderr, "usage: wordcount [--procs N] [--top K] [--check] PATH...\n");
  }
  return !result.paths.empty();
}

void print_top(std::vector<tally::entry>& words, std::size_t n) {
  const auto last = words.begin() + static_cast<std::ptrdiff_t>(std::min(n, words.size()));
  std::partial_sort(words.begin(), last, words.end(),
                    [](const tally::entry& a, const tally::entry& b) {
                      return a.count != b.count ? a.count > b.count : a.word() < b.word();
                    });
  std::for_each(words.begin(), last, [](const tally::entry& e) {
    const int width = static_cast<int>(std::min<std::uint32_t>(e.size, 60));
    std::printf("%10ju  %.*s\n", std::uintmax_t{e.count}, width, e.text);
  });
}

int count_words(const arguments& given) {
  word_counter counter;
  tally total;
  thrum::chan<void> finished(0);
  thrum::wait_group progress;
  if (is_terminal(stdout) && is_terminal(stderr)) {
    progress.go([&] { show_progress(counter, finished); });
  }
  const auto begin = steady_clock::now();
  counter.count(given.paths, total);
  const double seconds = seconds_since(begin);
  finished.close();
  progress.wait();

  const thrum::stats_snapshot stats = thrum::stats();
  const double megabytes = static_cast<double>(counter.bytes) / 1e6;
  std::vector<tally::entry> words = total.entries();
  print_top(words, given.top);
  std::printf("%zu distinct words in %ju files, %ju unreadable; %.1f MB in %.3f s, %.1f MB/s\n",
              words.size(), std::uintmax_t{counter.files}, std::uintmax_t{counter.unreadable},
              megabytes, seconds, megabytes / seconds);
  std::printf("procs %u, goroutines %ju, switches %ju, steals %ju, hand-offs %ju, threads %u\n",
              stats.procs, std::uintmax_t{stats.created}, std::uintmax_t{stats.switches},
              std::uintmax_t{stats.steals}, std::uintmax_t{stats.hand_offs}, stats.threads);
  if (given.check) {
    plain_counts expected;
    for (const fs::path& path : given.paths) {
      std::error_code error;
      count_plainly(path, fs::status(path, error), expected);
    }
    const bool ok = is_same(words, expected);
    std::printf("check: %s as one plain thread counts\n", ok ? "the same" : "NOT the same");
    return ok ? 0 : 1;
  }
  return 0;
}

}  // namespace

int main(int count, char** values) {
  arguments given;
  if (!parse(count, values, given)) {
    return 2;
  }
  thrum::options options = thrum::options::from_environment();
  if (given.procs != 0) {
    options.procs = given.procs;
  }
  return thrum::run(options, [&] { return count_words(given); });
}
