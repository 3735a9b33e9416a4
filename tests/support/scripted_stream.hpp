// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Streams without a system: one that gives what a test has written down, piece by piece and with
// errors in between, and one that keeps what it gets, up to a point where it fails.
#ifndef THRUM_TESTS_SUPPORT_SCRIPTED_STREAM_HPP
#define THRUM_TESTS_SUPPORT_SCRIPTED_STREAM_HPP

#include <thrum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace support {

class scripted_source : public thrum::io::stream_reading<scripted_source> {
 public:
  using step = std::variant<std::string, std::errc>;

  scripted_source(std::initializer_list<step> steps) : steps_(steps) {}

  void then(step more) { steps_.push_back(std::move(more)); }
  int reads() const { return reads_; }
  std::size_t longest_read() const { return longest_; }

  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) {
    ++reads_;
    longest_ = std::max(longest_, buffer.size());
    error.clear();
    if (steps_.empty()) {
      return 0;
    }
    if (const auto* const failure = std::get_if<std::errc>(&steps_.front())) {
      error = std::make_error_code(*failure);
      steps_.pop_front();
      return 0;
    }
    auto& text = std::get<std::string>(steps_.front());
    const std::size_t n = std::min(buffer.size(), text.size());
    std::memcpy(buffer.data(), text.data(), n);
    text.erase(0, n);
    if (text.empty()) {
      steps_.pop_front();
    }
    return n;
  }

 private:
  std::deque<step> steps_;
  int reads_ = 0;
  std::size_t longest_ = 0;
};

class recording_sink : public thrum::io::stream_writing<recording_sink> {
 public:
  std::string text;
  int writes = 0;
  /// So many bytes more are taken; the next one is this error.
  std::size_t room = std::numeric_limits<std::size_t>::max();
  std::errc failure = std::errc::timed_out;

  void write_all(std::span<const std::byte> bytes, std::size_t& done, std::error_code& error) {
    ++writes;
    error.clear();
    done = std::min(room, bytes.size());
    text.append(reinterpret_cast<const char*>(bytes.data()), done);
    room -= done;
    if (done != bytes.size()) {
      error = std::make_error_code(failure);
    }
  }
};

}  // namespace support

#endif
