// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// sqlite_jobs: a queue of jobs that outlives the program, in a database of SQLite. Each TEXT is added as a
// job; three workers take jobs until none is left. A job whose worker was killed is taken again by the next
// run.
//
//   sqlite_jobs FILE [TEXT]...
//
// SQLite's calls wait for the disk and for other processes, so each is made inside of blocking(), and one
// connection is used by one worker at a time.

#include <thrum.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace {

class job_queue {
 public:
  struct job {
    std::string id;
    std::string text;
  };

  /// An empty text, or why the file cannot be used.
  std::string open(const std::string& path) {
    sqlite3* made = nullptr;
    int state = sqlite3_open(path.c_str(), &made);
    database_.reset(made);
    if (state == SQLITE_OK) {
      sqlite3_busy_timeout(made, 10'000);
      query("create table if not exists jobs(id integer primary key, text, state, result)");
      query("update jobs set state = 'new' where state = 'taken'");
      state = sqlite3_errcode(made);
    }
    return state == SQLITE_OK || state == SQLITE_DONE ? "" : sqlite3_errmsg(made);
  }

  void add(const std::string& text) {
    query("insert into jobs(text, state) values(?, 'new')", {text});
  }
  std::optional<job> take() {
    return query(
        "update jobs set state = 'taken' where id = "
        "(select min(id) from jobs where state = 'new') returning id, text");
  }
  void finish(const job& done, const std::string& result) {
    query("update jobs set state = 'done', result = ? where id = ?", {result, done.id});
  }

 private:
  /// Carries out a statement; its one row of two columns, if it gives one.
  std::optional<job> query(std::string_view text, std::initializer_list<std::string> values = {}) {
    const std::lock_guard lock(mutex_);
    return thrum::blocking([&] {
      std::optional<job> row;
      sqlite3_stmt* made = nullptr;
      sqlite3_prepare_v2(database_.get(), text.data(), static_cast<int>(text.size()), &made,
                         nullptr);
      const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(made,
                                                                            &sqlite3_finalize);
      int place = 0;
      for (const std::string& value : values) {
        sqlite3_bind_text(made, ++place, value.data(), static_cast<int>(value.size()), nullptr);
      }
      while (sqlite3_step(made) == SQLITE_ROW) {
        const auto column = [&](int n) {
          return std::string(reinterpret_cast<const char*>(sqlite3_column_text(made, n)));
        };
        row = job{column(0), column(1)};
      }
      return row;
    });
  }

  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_{nullptr, &sqlite3_close};
  thrum::mutex mutex_;
};

/// Stands for work that takes a while.
std::string work_on(const std::string& text) {
  thrum::sleep_for(std::chrono::milliseconds(10));
  return std::to_string(text.size()) + " letters";
}

}  // namespace

int main(int count, char** values) {
  if (count < 2) {
    std::fprintf(stderr, "usage: sqlite_jobs FILE [TEXT]...\n");
    return 2;
  }
  return thrum::run([&] {
    job_queue queue;
    if (const std::string why = queue.open(values[1]); !why.empty()) {
      std::fprintf(stderr, "sqlite_jobs: cannot use %s: %s\n", values[1], why.c_str());
      return 1;
    }
    for (int i = 2; i < count; ++i) {
      queue.add(values[i]);
    }
    thrum::wait_group workers;
    for (int i = 0; i != 3; ++i) {
      workers.go([&] {
        while (const auto job = queue.take()) {
          const std::string result = work_on(job->text);
          queue.finish(*job, result);
          std::printf("job %s: %s\n", job->id.c_str(), result.c_str());
        }
      });
    }
    workers.wait();
    return 0;
  });
}
