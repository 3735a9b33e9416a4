// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// redis_client: sends a command to a Redis server, over one connection or many at the same time.
//
//   redis_client HOST PORT [--clients N] WORD...
//
// hiredis does the talking, in its non-blocking form: it says when it needs the socket, and a
// goroutine waits there for that, so a thousand commands that wait for their answers hold no
// thread. HOST is an address in numbers, since hiredis looks up names with its thread blocked.
//
// Try it with: redis_client 127.0.0.1 6379 INCR visits

#include <thrum.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <hiredis/hiredis.h>

using namespace std::chrono_literals;

namespace {

struct redis_free {
  void operator()(redisContext* connection) const { redisFree(connection); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using redis_reply = std::unique_ptr<redisReply, redis_free>;

class redis_connection {
 public:
  redis_connection(const std::string& host, int port)
      : context_(redisConnectNonBlock(host.c_str(), port)) {}

  /// The server's answer; none on failure, see problem().
  redis_reply call(const std::vector<std::string>& words) {
    if (!is_usable()) {
      return nullptr;
    }
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                           sizes.data());
    // A new connection becomes writable when it is made, or has failed.
    for (int is_sent = 0; is_sent == 0;) {
      thrum::io::wait_writable(context_->fd, deadline(), error_);
      if (error_ || redisBufferWrite(context_.get(), &is_sent) != REDIS_OK) {
        return nullptr;
      }
    }
    void* reply = nullptr;
    while (redisGetReplyFromReader(context_.get(), &reply) == REDIS_OK && reply == nullptr) {
      thrum::io::wait_readable(context_->fd, deadline(), error_);
      if (error_ || redisBufferRead(context_.get()) != REDIS_OK) {
        return nullptr;
      }
    }
    return redis_reply(static_cast<redisReply*>(reply));
  }

  std::string problem() const {
    return error_                ? error_.message()
           : context_ == nullptr ? "no memory"
           : context_->err != 0  ? context_->errstr
                                 : "";
  }

 private:
  static thrum::time_point deadline() { return std::chrono::steady_clock::now() + 60s; }
  bool is_usable() const { return context_ != nullptr && context_->err == 0 && !error_; }

  std::unique_ptr<redisContext, redis_free> context_;
  std::error_code error_;
};

/// A line for each value, as redis-cli prints it where it is not for people.
std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer) + "\n";
    case REDIS_REPLY_NIL: return "\n";
    case REDIS_REPLY_ARRAY: {
      std::string text;
      for (std::size_t i = 0; i != reply.elements; ++i) {
        text += text_of(*reply.element[i]);
      }
      return text;
    }
    default: return std::string(reply.str, static_cast<std::size_t>(reply.len)) + "\n";
  }
}

struct arguments {
  std::string host;
  int port = 0;
  int clients = 1;
  std::vector<std::string> words;

  bool parse(int count, char** values) {
    const auto is_number = [](std::string_view text, int& number) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc() && end == text.data() + text.size() && number > 0;
    };
    int i = 1;
    if (count < 4 || !is_number(values[2], port)) {
      return false;
    }
    host = values[1];
    for (i = 3; i + 1 < count && std::string_view(values[i]) == "--clients"; i += 2) {
      if (!is_number(values[i + 1], clients)) {
        return false;
      }
    }
    words.assign(values + i, values + count);
    return !words.empty();
  }
};

struct outcome {
  std::string answer;
  std::string problem;  // empty: there is none
};

outcome ask(const arguments& given) {
  redis_connection redis(given.host, given.port);
  const redis_reply reply = redis.call(given.words);
  if (reply == nullptr) {
    return {{}, redis.problem() + "; is a server listening there?"};
  }
  outcome result;
  (reply->type == REDIS_REPLY_ERROR ? result.problem : result.answer) = text_of(*reply);
  return result;
}

int talk(const arguments& given) {
  thrum::chan<outcome> outcomes(
      static_cast<std::size_t>(given.clients));  // with room for all: no sender waits
  thrum::wait_group all;
  for (int i = 0; i != given.clients; ++i) {
    all.go([&] { outcomes.send(ask(given)); });
  }
  all.wait();
  outcomes.close();
  int status = 0;
  for (const outcome& each : outcomes) {
    std::fputs(each.answer.c_str(), stdout);
    if (!each.problem.empty()) {
      std::fprintf(stderr, "redis_client: cannot ask %s %d for %s: %s\n", given.host.c_str(),
                   given.port, given.words[0].c_str(), each.problem.c_str());
      status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int count, char** values) {
  arguments given;
  if (!given.parse(count, values)) {
    std::fprintf(stderr, "usage: redis_client HOST PORT [--clients N] WORD...\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  return thrum::run([&] { return talk(given); });
}
