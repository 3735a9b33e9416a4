// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Pipes of Windows, in which a writing goes on by itself: also when its thread has ended.
#if defined(_WIN32)

#include "support/descriptors.hpp"
#include "support/test.hpp"

namespace {

/// Writes as much as the pipe takes without a reader.
std::size_t write_all_it_takes(thrum::io::pipe& p) {
  const std::string text(300'000, 'x');
  std::size_t all = 0;
  std::size_t last = 0;
  std::error_code error;
  // A write whose deadline has passed before it begins is no proof that the pipe is full.
  do {
    p.set_write_deadline(std::chrono::steady_clock::now() + 50ms);
    last = p.write(text, error);
    all += last;
  } while (error == std::errc::timed_out && (last != 0 || all == 0));
  CHECK(error == std::errc::timed_out);
  return all;
}

}  // namespace

TEST_CASE("what a thread has written to a pipe is read when that thread has ended") {
  thrum::io::pipe p;
  std::size_t written = 0;
  std::thread([&] { written = write_all_it_takes(p); }).join();
  CHECK(written > 64 * 1024);
  p.close_write();
  CHECK(p.reader().read_all().size() == written);
}

TEST_CASE("what goroutines have written to a pipe is read when their runtime has ended") {
  thrum::io::pipe p;
  std::size_t written = 0;
  support::with_runtime([&] {
    written = write_all_it_takes(p);
    p.close_write();
  });
  CHECK(p.reader().read_all().size() == written);
}

TEST_CASE("a pipe that is closed while it is written to is gone when it was read") {
  thrum::io::pipe p;
  const auto number = p.writer().native_handle();
  const std::size_t written = write_all_it_takes(p);
  p.close_write();
  CHECK(p.reader().read_all().size() == written);
  CHECK(support::eventually([&] { return !support::is_open(number); }));

  thrum::io::pipe q;
  const auto other = q.writer().native_handle();
  write_all_it_takes(q);
  q.close_write();
  q.close_read();  // nobody will read it
  CHECK(support::eventually([&] { return !support::is_open(other); }));
}

#endif  // _WIN32
