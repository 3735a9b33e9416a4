// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum_stress_preemption [--seconds S] [--procs P] [--slice-us U]: processors are taken from code
// that knows nothing of the library.
//
// Some thirty goroutines of many kinds loop at once: they compute, allocate, lock, throw, format,
// open files and libraries, sleep, and block without saying so. Hardly any of them enters the
// library, so nearly each change of goroutines is a signal or a retake, at any instruction and
// while any lock of the C and C++ libraries is held. Meanwhile the main goroutine does what
// concerns the whole process: fork, setuid, system. Each round of each worker checks its results.
//
// One combination of processors and time slice takes S seconds, 60 if not given. Without --procs
// there are runs with 1, 2 and 4 processors, without --slice-us with slices of 10,000, 300 and
// 200 us. When one of the workers makes no progress for 2 s, many times as long as all others need
// for a turn each, the program says which kind and aborts; it is more patient where the CPUs have
// others to serve, and n times as patient with THRUM_TEST_SCALE=n.

#include <thrum.hpp>

#include "support/scale.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct settings {
  std::uint64_t seconds = 60;
  std::uint64_t procs = 0;     // 0: 1, 2 and 4
  std::uint64_t slice_us = 0;  // 0: 10,000, 300 and 200
};

std::atomic<std::uint64_t> failures{0};

void expect(bool claim, const char* what) {
  if (!claim && failures.fetch_add(1) < 20) {
    std::fprintf(stderr, "thrum_stress_preemption: FAILED: %s\n", what);
  }
}

// ---- what the workers share ---------------------------------------------------------------------

struct yard;
struct worker;

struct kind {
  const char* name;
  unsigned workers;
  unsigned patience;  // times 2 s
  void (*work)(yard&, worker&);
};

/// One goroutine that loops.
struct alignas(64) worker {
  worker(const kind& k, unsigned n) : what(k), number(n) {}

  const kind& what;
  const unsigned number;  // among all of them
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<bool> ended{false};
};

/// Memory with a pattern that says whose it is.
struct block {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  unsigned char mark = 0;
};

/// What two mutexes guard: two counts each, equal whenever nobody is inside.
struct account {
  std::mutex mutex;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

constexpr std::uint32_t places = 32;  // on the shelf

/// A pipe that a foreign thread feeds.
struct conduit {
  int reader = -1;
  int writer = -1;
};

struct yard {
  std::atomic<bool> over{false};
  std::deque<worker> workers;
  std::array<account, 2> accounts;
  std::atomic<std::uint64_t> entries{0};  // into accounts
  thrum::chan<block> blocks{16};
  std::atomic<int> senders{0};  // of them
  std::mutex shelf_mutex;
  std::array<block, places> shelf;
  std::array<conduit, 2> conduits;
  std::atomic<unsigned> conduits_taken{0};
  const char* library = nullptr;
  std::string date;                        // of `moment`, here
  std::atomic<std::int64_t> latest_us{0};  // by how much a sleeper came too late
};

constexpr std::time_t moment = 1'000'000'000;

/// Counts a round; whether there is to be another one.
bool go_on(const yard& y, worker& w) {
  w.rounds.fetch_add(1, std::memory_order_relaxed);
  if constexpr (!thrum::os::has_preempt_signal) {
    thrum::this_goroutine::preemption_point();
  }
  return !y.over.load(std::memory_order_relaxed);
}

thrum::base::random random_for(const worker& w) {
  return thrum::base::random(w.number * 1'000'003 + 1);
}

// ---- computing ----------------------------------------------------------------------------------

struct checksums {
  std::uint64_t integer;
  double real;
  bool operator==(const checksums&) const = default;
};

/// Some 100 us of registers and flags, without a call.
[[gnu::noinline]] checksums compute() {
  const volatile std::uint64_t start = 88'172'645'463'325'252U;  // not known beforehand
  std::uint64_t x = start;
  double y = 1.0;
  double z = 0.5;
  for (int i = 0; i != 20'000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    y = y * 0.999'9 + static_cast<double>(x & 1'023);
    z = z * 0.5 + y;
  }
  return {x, y + z};
}

void be_busy(yard& y, worker& w) {
  static const checksums right = compute();
  while (go_on(y, w)) {
    expect(compute() == right, "a computation comes out the same each time");
  }
}

void read_clocks(yard& y, worker& w) {
  while (go_on(y, w)) {
    ::timespec before{};
    ::clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i != 1'000; ++i) {
      ::timespec now{};
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      expect(now.tv_sec > before.tv_sec ||
                 (now.tv_sec == before.tv_sec && now.tv_nsec >= before.tv_nsec),
             "the clock goes forward");
      before = now;
    }
  }
}

// ---- memory -------------------------------------------------------------------------------------

constexpr std::uint32_t largest_block = 300'000;

block make_block(thrum::base::random& random) {
  block b;
  // Half of them small: those have locks and lists of their own.
  b.size = 1 + random.below(random.below(2) == 0 ? 2'000 : largest_block);
  b.mark = static_cast<unsigned char>(random.below(256));
  b.bytes = static_cast<unsigned char*>(std::malloc(b.size));
  if (b.bytes == nullptr) {
    std::fprintf(stderr, "thrum_stress_preemption: out of memory\n");
    std::abort();
  }
  std::memset(b.bytes, b.mark, b.size);
  return b;
}

void free_block(block b) {
  // All bytes are the same as their successors, and the first one is right.
  expect(b.bytes[0] == b.mark && std::memcmp(b.bytes, b.bytes + 1, b.size - 1) == 0,
         "a block of memory keeps its contents");
  std::free(b.bytes);
}

void allocate(yard& y, worker& w) {
  auto random = random_for(w);
  std::array<block, 8> kept;
  while (go_on(y, w)) {
    block& b = kept[random.below(kept.size())];
    if (b.bytes != nullptr) {
      free_block(b);
    }
    b = make_block(random);
  }
  for (const block& b : kept) {
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
}

void send_blocks(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {  // NOLINT: no leak, the receiver frees them
    y.blocks.send(make_block(random));
  }
  if (--y.senders == 0) {
    y.blocks.close();
  }
}

void receive_blocks(yard& y, worker& w) {
  for (const block& b : y.blocks) {
    free_block(b);
    go_on(y, w);
  }
}

/// Takes what somebody else has put on the shelf and leaves something of its own.
void exchange_blocks(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {
    block b = make_block(random);
    {
      const std::lock_guard guard(y.shelf_mutex);
      std::swap(b, y.shelf[random.below(places)]);
    }
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
}

// ---- locks --------------------------------------------------------------------------------------

void enter(account& a) {
  expect(a.left == a.right, "a mutex excludes");
  a.left = a.left + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // inside for more than an instruction
  compute();
  a.right = a.right + 1;
}

void visit_accounts(yard& y, worker& w) {
  auto random = random_for(w);
  while (go_on(y, w)) {
    const std::uint32_t which = random.below(5);
    if (which == 4) {
      const std::scoped_lock guard(y.accounts[0].mutex, y.accounts[1].mutex);
      enter(y.accounts[0]);
      enter(y.accounts[1]);
      y.entries += 2;
    } else {
      account& a = y.accounts[which % 2];
      const std::lock_guard guard(a.mutex);
      enter(a);
      ++y.entries;
    }
    compute();  // outside: these mutexes are not fair
    compute();
  }
}

// ---- exceptions ---------------------------------------------------------------------------------

struct counts_its_end {
  explicit counts_its_end(int& n) : ended(n) {}
  ~counts_its_end() { ++ended; }
  counts_its_end(const counts_its_end&) = delete;
  counts_its_end& operator=(const counts_its_end&) = delete;
  int& ended;
};

constexpr int frames = 7;

/// Throws from the innermost of `depth` frames; one on the way throws it again.
[[gnu::noinline]] void descend(int depth, const std::string& text, int& ended) {
  const counts_its_end here(ended);
  if (depth == 1) {
    throw std::runtime_error(text);
  }
  if (depth != frames / 2) {
    descend(depth - 1, text, ended);
    expect(false, "an exception leaves all frames");
    return;
  }
  try {
    descend(depth - 1, text, ended);
  } catch (const std::runtime_error& error) {
    expect(error.what() == text, "an exception on its way keeps its text");
    throw;
  }
}

void expect_no_exception() {
  expect(std::current_exception() == nullptr, "no exception is handled behind the handler");
  expect(std::uncaught_exceptions() == 0, "no exception is under way behind the handler");
}

void throw_far(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    const std::string text = "exception " + std::to_string(w.number) + "/" + std::to_string(i);
    int ended = 0;
    bool caught = false;
    try {
      descend(frames, text, ended);
    } catch (const std::exception& error) {
      caught = error.what() == text;
    }
    expect(caught, "an exception arrives with its text");
    expect(ended == frames, "an exception unwinds each frame once");
    expect_no_exception();
  }
}

std::string what_is_handled() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct yields_at_its_end {
  yields_at_its_end() = default;
  ~yields_at_its_end() {
    thrum::this_goroutine::yield();
    expect(std::uncaught_exceptions() == 1, "an exception is under way while the stack unwinds");
  }
  yields_at_its_end(const yields_at_its_end&) = delete;
  yields_at_its_end& operator=(const yields_at_its_end&) = delete;
};

void throw_and_yield(yard& y, worker& w) {
  for (std::uint64_t i = 0; go_on(y, w); ++i) {
    const std::string outer = "outer " + std::to_string(w.number) + "/" + std::to_string(i);
    const std::string inner = "inner " + std::to_string(w.number) + "/" + std::to_string(i);
    try {
      const yields_at_its_end here;
      throw std::runtime_error(outer);
    } catch (const std::runtime_error&) {
      expect(std::uncaught_exceptions() == 0, "a caught exception is not under way");
      thrum::this_goroutine::yield();
      expect(what_is_handled() == outer, "a goroutine finds its exception again");
      try {
        throw std::logic_error(inner);
      } catch (const std::logic_error&) {
        thrum::this_goroutine::yield();
        expect(what_is_handled() == inner, "a goroutine finds its inner exception again");
      }
      expect(what_is_handled() == outer, "the outer exception is handled again");
    }
    expect_no_exception();
  }
}

// ---- the standard library -----------------------------------------------------------------------

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

/// A file that is there as long as the object.
class temporary_file {
 public:
  temporary_file() {
    const int fd = ::mkostemp(name_, O_CLOEXEC);
    expect(fd >= 0, "there is a place for a temporary file");
    if (fd >= 0) {
      ::close(fd);
    }
  }
  ~temporary_file() { ::unlink(name_); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const char* name() const { return name_; }

 private:
  char name_[64] = "/tmp/thrum_stress_preemption_XXXXXX";
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
    ::tm parts{};
    char text[64];
    ::localtime_r(&moment, &parts);
    expect(std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts) != 0 && text == y.date,
           "a date is the same each time");
  }
}

// ---- the library --------------------------------------------------------------------------------

void sleep_shortly(yard& y, worker& w) {
  constexpr milliseconds time(1);
  while (go_on(y, w)) {
    const auto begin = steady_clock::now();
    thrum::sleep_for(time);
    const auto late = steady_clock::now() - begin - time;
    expect(late >= late.zero(), "a sleep is not too short");
    const std::int64_t us = std::chrono::duration_cast<microseconds>(late).count();
    std::int64_t latest = y.latest_us;
    while (us > latest && !y.latest_us.compare_exchange_weak(latest, us)) {
    }
  }
}

void spawn_storms(yard& y, worker& w) {
  constexpr std::uint64_t n = 100;
  std::vector<thrum::join_handle<std::uint64_t>> handles;
  while (go_on(y, w)) {
    for (std::uint64_t i = 0; i != n; ++i) {
      handles.push_back(thrum::spawn([i] { return i * i; }));
    }
    std::uint64_t sum = 0;
    for (auto& handle : handles) {
      sum += handle.join();
    }
    handles.clear();
    expect(sum == (n - 1) * n * (2 * n - 1) / 6, "all of a storm return their results");
  }
}

// ---- the system ---------------------------------------------------------------------------------

void load_libraries(yard& y, worker& w) {
  while (go_on(y, w)) {
    void* const handle = ::dlopen(y.library, RTLD_LAZY);
    expect(handle != nullptr, "a library can be opened");
    if (handle != nullptr) {
      expect(::dlsym(handle, "thrum_has_no_such_symbol") == nullptr, "an absent symbol is absent");
      expect(::dlerror() != nullptr, "dlerror tells it to the thread that asked");
      expect(::dlclose(handle) == 0, "a library can be closed");
    }
  }
}

/// So many numbers one after another.
using message = std::array<std::uint64_t, 16>;

message message_number(std::uint64_t n) {
  message m{};
  m.fill(n);
  return m;
}

/// False at the end of the pipe.
[[gnu::noinline]] bool read_all(int fd, message& m) {
  std::size_t done = 0;
  while (done != sizeof m) {
    const ::ssize_t n = ::read(fd, reinterpret_cast<char*>(&m) + done, sizeof m - done);
    if (n <= 0) {
      expect(n == 0, "a call that blocks is not interrupted");
      expect(n < 0 || done == 0, "a pipe ends behind a message");
      if (n < 0 && errno == EINTR) {
        continue;
      }
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  return true;
}

void read_pipes(yard& y, worker& w) {
  const conduit& mine = y.conduits[y.conduits_taken++];
  message m;
  for (std::uint64_t i = 0; read_all(mine.reader, m); ++i) {
    expect(m == message_number(i), "nothing is lost in a pipe");
    go_on(y, w);
  }
}

/// A foreign thread: each message in two parts, a while apart.
[[gnu::noinline]] void feed(yard& y) {
  const auto write_some = [](int fd, const char* bytes, std::size_t size) {
    while (size != 0) {
      const ::ssize_t n = ::write(fd, bytes, size);
      if (n < 0 && errno != EINTR) {
        expect(false, "a pipe can be written");
        return;
      }
      if (n > 0) {
        bytes += n;
        size -= static_cast<std::size_t>(n);
      }
    }
  };
  for (std::uint64_t i = 0; !y.over; ++i) {
    const message m = message_number(i);
    const char* const bytes = reinterpret_cast<const char*>(&m);
    const std::size_t first = 1 + i % (sizeof m - 1);
    for (const conduit& c : y.conduits) {
      write_some(c.writer, bytes, first);
    }
    ::usleep(i % 8 == 0 ? 20'000 : 500);
    for (const conduit& c : y.conduits) {
      write_some(c.writer, bytes + first, sizeof m - first);
    }
    ::usleep(3'000);
  }
  for (conduit& c : y.conduits) {
    ::close(c.writer);
  }
}

[[gnu::noinline]] int wait_for(::pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// What concerns the whole process.
void disturb(std::uint64_t turn) {
  if (turn % 3 == 0) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      ::_exit(0);
    }
    expect(child > 0, "fork works");
    if (child > 0) {
      expect(thrum::blocking([=] { return wait_for(child); }) == 0, "a forked child ends well");
    }
  } else if (turn % 3 == 1) {
    expect(::setuid(::getuid()) == 0, "setuid works");
  } else {
    expect(thrum::blocking([] { return std::system("true"); }) == 0, "system works");
  }
}

constexpr kind kinds[] = {
    {"busy", 3, 1, &be_busy},
    {"clock", 1, 1, &read_clocks},
    {"malloc", 3, 1, &allocate},
    {"send", 2, 1, &send_blocks},
    {"receive", 2, 1, &receive_blocks},
    {"shelf", 2, 1, &exchange_blocks},
    {"mutex", 4, 1, &visit_accounts},
    {"throw", 2, 1, &throw_far},
    {"throw_yield", 2, 1, &throw_and_yield},
    {"sstream", 1, 1, &format},
    {"files", 1, 1, &write_files},
    {"map", 1, 1, &grow_maps},
    {"regex", 1, 3, &match},
    {"date", 1, 1, &write_dates},
    {"sleep", 3, 1, &sleep_shortly},
    {"storm", 1, 1, &spawn_storms},
    {"dlopen", 2, 1, &load_libraries},
    {"pipe", 2, 1, &read_pipes},
};
constexpr kind main_kind = {"main", 0, 5, nullptr};  // waits for all others at the end

// ---- one run ------------------------------------------------------------------------------------

/// Reports and aborts when a worker stands still.
class watchdog {
 public:
  watchdog(const std::deque<worker>& workers, unsigned procs, std::uint64_t slice_us)
      : workers_(workers), procs_(procs), slice_us_(slice_us), thread_([this] { watch(); }) {}
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// Whose figures to report; null before it ends.
  void runtime(const thrum::runtime* r) {
    const std::lock_guard lock(mutex_);
    runtime_ = r;
  }

  /// Of any worker, in milliseconds.
  std::int64_t longest_pause() const { return longest_ms_; }

 private:
  struct seen {
    std::uint64_t rounds = ~std::uint64_t{0};
    milliseconds pause{0};
  };

  /// How many threads want each CPU, whoever they belong to: by so much everything takes longer.
  static double threads_per_cpu() {
    double load = 0;
    return ::getloadavg(&load, 1) == 1
               ? std::max(load / static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)), 1.0)
               : 1.0;
  }

  /// A while in which this thread could not run either counts as one look, and no more.
  void watch() {
    constexpr milliseconds between_looks(20);
    std::vector<seen> last(workers_.size());
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, between_looks, [this] { return over_; })) {
      for (const worker& w : workers_) {
        seen& s = last[w.number];
        if (const std::uint64_t rounds = w.rounds; rounds != s.rounds) {
          s = {rounds, milliseconds(0)};
        } else if (!w.ended) {
          s.pause += between_looks;
          if (w.what.patience == 1 && s.pause.count() > longest_ms_) {
            longest_ms_ = s.pause.count();
          }
          const auto patience = w.what.patience * std::chrono::seconds(2) * support::slowness();
          if (s.pause > patience && s.pause > patience * threads_per_cpu()) {
            report(w, last);
          }
        }
      }
    }
  }

  /// Writes at once and takes no lock: what hangs may be malloc or stdio.
  template <class... Args>
  static void say(const char* form, Args... args) {
    char text[512];
    const int n = std::snprintf(text, sizeof text, form, args...);
    if (::write(STDERR_FILENO, text, std::min(static_cast<std::size_t>(n), sizeof text - 1)) < 0) {
      return;  // nobody listens
    }
  }

  [[noreturn]] void report(const worker& stuck, const std::vector<seen>& last) const {
    say("thrum_stress_preemption: procs %u, slice %ju us: worker %u (%s) has made no progress for "
        "%jd ms after %ju rounds\n",
        procs_, std::uintmax_t{slice_us_}, stuck.number, stuck.what.name,
        std::intmax_t{last[stuck.number].pause.count()}, std::uintmax_t{stuck.rounds});
    for (const worker& w : workers_) {
      say("  %u %s: %ju rounds, the last one %jd ms ago%s\n", w.number, w.what.name,
          std::uintmax_t{w.rounds}, std::intmax_t{last[w.number].pause.count()},
          w.ended ? ", ended" : "");
    }
    if (runtime_ != nullptr) {
      ::alarm(10);  // the figures need malloc
      const thrum::stats_snapshot s = runtime_->stats();
      say("  %ju goroutines, %ju runnable, %ju running, %ju waiting, %ju in calls; %u of %u procs "
          "idle; %u threads, %u idle, %u spinning; global queue %zu; %ju timers\n",
          std::uintmax_t{s.goroutines}, std::uintmax_t{s.runnable}, std::uintmax_t{s.running},
          std::uintmax_t{s.waiting}, std::uintmax_t{s.in_syscall}, s.idle_procs, s.procs, s.threads,
          s.idle_threads, s.spinning, s.global_queue, std::uintmax_t{s.timers});
      say("  switches %ju, steals %ju, preemptions %ju, signals %ju, exchanges %ju, retakes %ju, "
          "hand_offs %ju, stopped_without_p %ju\n",
          std::uintmax_t{s.switches}, std::uintmax_t{s.steals}, std::uintmax_t{s.preemptions},
          std::uintmax_t{s.signals}, std::uintmax_t{s.exchanges}, std::uintmax_t{s.retakes},
          std::uintmax_t{s.hand_offs}, std::uintmax_t{s.stopped_without_p});
    }
    std::abort();
  }

  const std::deque<worker>& workers_;
  const unsigned procs_;
  const std::uint64_t slice_us_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // under mutex_, as the next one
  const thrum::runtime* runtime_ = nullptr;
  std::atomic<std::int64_t> longest_ms_{0};
  std::thread thread_;
};

/// The main goroutine: starts all others, disturbs them, and waits for their end.
void supervise(yard& y, steady_clock::time_point end) {
  worker& self = y.workers.front();
  thrum::wait_group group;
  for (worker& w : y.workers) {
    if (&w != &self) {
      group.go([&] {
        w.what.work(y, w);
        w.ended = true;
      });
    }
  }
  for (std::uint64_t turn = 0; steady_clock::now() < end; ++turn) {
    go_on(y, self);
    thrum::sleep_for(milliseconds(10));
    disturb(turn);
  }
  y.over = true;
  group.wait();
  go_on(y, self);
}

void prepare(yard& y) {
  y.workers.emplace_back(main_kind, 0);
  for (const kind& k : kinds) {
    for (unsigned i = 0; i != k.workers; ++i) {
      y.workers.emplace_back(k, static_cast<unsigned>(y.workers.size()));
    }
    if (k.work == &send_blocks) {
      y.senders = static_cast<int>(k.workers);
    }
  }
  for (conduit& c : y.conduits) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      std::fprintf(stderr, "thrum_stress_preemption: no pipe: %s\n", std::strerror(errno));
      std::exit(1);
    }
    c = {ends[0], ends[1]};
  }
  // One that is not loaded already has more to do.
  for (const char* const name : {"libz.so.1", "libm.so.6", "libc.so.6"}) {
    if (void* const handle = ::dlopen(name, RTLD_LAZY)) {
      ::dlclose(handle);
      y.library = name;
      break;
    }
  }
  ::tm parts{};
  char text[64] = "";
  ::localtime_r(&moment, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts);
  y.date = text;
}

/// What is left when all have ended.
void clear_up(yard& y) {
  for (const account& a : y.accounts) {
    expect(a.left == a.right, "an account balances");
  }
  expect(y.accounts[0].left + y.accounts[1].left == y.entries, "no entry into an account is lost");
  for (const block& b : y.shelf) {
    if (b.bytes != nullptr) {
      free_block(b);
    }
  }
  for (const conduit& c : y.conduits) {
    ::close(c.reader);
  }
}

void print(const yard& y, const thrum::stats_snapshot& s, std::uint64_t slice_us, double seconds,
           std::int64_t pause_ms) {
  std::string rounds;
  for (const kind& k : kinds) {
    std::uint64_t sum = 0;
    for (const worker& w : y.workers) {
      sum += &w.what == &k ? w.rounds.load() : 0;
    }
    rounds.append(rounds.empty() ? "" : " ").append(k.name).append(" ").append(std::to_string(sum));
  }
  std::printf(
      "procs %u, slice %ju us, %.1f s: rounds %s; signals %ju, exchanges %ju, retakes %ju, "
      "hand_offs %ju, stopped_without_p %ju, threads %u; longest pause %jd ms, sleep late by "
      "%jd us\n",
      s.procs, std::uintmax_t{slice_us}, seconds, rounds.c_str(), std::uintmax_t{s.signals},
      std::uintmax_t{s.exchanges}, std::uintmax_t{s.retakes}, std::uintmax_t{s.hand_offs},
      std::uintmax_t{s.stopped_without_p}, s.threads, std::intmax_t{pause_ms},
      std::intmax_t{y.latest_us});
  std::fflush(stdout);
}

void run_once(unsigned procs, std::uint64_t slice_us, std::uint64_t seconds) {
  const auto begin = steady_clock::now();
  yard y;
  prepare(y);
  thrum::options options = thrum::options::from_environment();
  options.procs = procs;
  options.time_slice = microseconds(slice_us);
  options.preempt = thrum::preemption::async;
  thrum::stats_snapshot stats;
  watchdog dog(y.workers, procs, slice_us);
  std::thread feeder([&] { feed(y); });
  thrum::run(options, [&] {
    dog.runtime(thrum::runtime::current());
    supervise(y, begin + std::chrono::seconds(seconds));
    stats = thrum::stats();
    dog.runtime(nullptr);
  });
  y.workers.front().ended = true;
  feeder.join();
  clear_up(y);
  for (const worker& w : y.workers) {
    expect(w.rounds > 1, "each worker comes round");
  }
  const std::chrono::duration<double> time = steady_clock::now() - begin;
  print(y, stats, slice_us, time.count(), dog.longest_pause());
}

/// False: they make no sense.
bool parse(int count, char** values, settings& result) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = values[i];
    std::uint64_t* const target = name == "--seconds"    ? &result.seconds
                                  : name == "--procs"    ? &result.procs
                                  : name == "--slice-us" ? &result.slice_us
                                                         : nullptr;
    const std::string_view number = i + 1 < count ? values[i + 1] : "";
    if (target == nullptr) {
      return false;
    }
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), *target);
    if (error != std::errc() || end != number.data() + number.size()) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int count, char** values) {
  settings s;
  if (!parse(count, values, s)) {
    std::fprintf(stderr,
                 "usage: thrum_stress_preemption [--seconds S] [--procs P] [--slice-us U]\n");
    return 2;
  }
  ::mallopt(M_ARENA_MAX, 1);   // all want the same lock
  ::signal(SIGPIPE, SIG_IGN);  // a write to a pipe that nobody reads says so itself
  std::vector<unsigned> procs = {1, 2, 4};
  if (s.procs != 0) {
    procs = {static_cast<unsigned>(s.procs)};
  }
  std::vector<std::uint64_t> slices = {10'000, 300, 200};
  if (s.slice_us != 0) {
    slices = {s.slice_us};
  }
  for (const unsigned p : procs) {
    for (const std::uint64_t slice : slices) {
      run_once(p, slice, s.seconds);
    }
  }
  if (failures != 0) {
    std::printf("%ju checks FAILED\n", std::uintmax_t{failures});
    return 1;
  }
  std::printf("all results are right, and nobody stood still\n");
  return 0;
}
