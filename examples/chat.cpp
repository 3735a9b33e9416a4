// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// chat: a server that sends each line of a client to all clients, with the name of the writer.
//
//   chat [--listen ADDR] [--procs N]
//
// The first line of a client is its name. Two goroutines for each client: one reads its lines, one
// writes what is in its outbox. Nobody ever waits for a slow client: one with more than 256 KiB in
// its outbox is disconnected.
//
// Try it with: nc 127.0.0.1 7008, in several windows

#include <thrum.hpp>

#include "server_arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace {

constexpr std::size_t longest_line =
    1000;  // with its end; a client with a longer one is disconnected

/// Everything but the connection is under the mutex of the room.
struct client {
  explicit client(thrum::net::conn c) : connection(std::move(c)) {}

  thrum::net::conn connection;
  thrum::chan<void> news{1};  // a token: there is something in the outbox, or the client has left
  std::string outbox;
  bool has_left = false;
};

class room {
 public:
  /// Lets a client in. False: the name is taken.
  bool enter(const std::string& name, const std::shared_ptr<client>& who) {
    const std::lock_guard lock(mutex_);
    if (!clients_.emplace(name, who).second) {
      return false;
    }
    post_locked("* " + name + " is here\n");
    return true;
  }

  void say(const std::string& name, const client& who, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!who.has_left) {
      post_locked(name + ": " + text + "\n");
    }
  }

  void leave(const std::string& name, client& who) {
    const std::lock_guard lock(mutex_);
    if (!who.has_left) {
      remove_locked(clients_.find(name));
      post_locked("* " + name + " has left\n");
    }
  }

  /// What is to be sent to a client, and whether that is the last.
  std::pair<std::string, bool> take(client& who) {
    const std::lock_guard lock(mutex_);
    return {std::exchange(who.outbox, {}), who.has_left};
  }

 private:
  using client_map = std::map<std::string, std::shared_ptr<client>>;
  static constexpr std::size_t most = 256 * 1024;

  client_map::iterator remove_locked(client_map::iterator at) {
    at->second->has_left = true;
    at->second->news.try_send();
    return clients_.erase(at);
  }

  void post_locked(std::string text) {
    while (!text.empty()) {
      std::string dropped;
      for (auto at = clients_.begin(); at != clients_.end();) {
        client& to = *at->second;
        if (to.outbox.size() + text.size() <= most) {
          to.outbox += text;
          to.news.try_send();
          ++at;
          continue;
        }
        dropped += "* " + at->first + " was too slow\n";
        std::error_code gone_already;
        to.outbox.clear();
        to.connection.close_write(gone_already);  // a write in progress ends
        to.connection.close_read(gone_already);
        at = remove_locked(at);
      }
      text = std::move(dropped);  // that they were dropped is news, too
    }
  }

  thrum::mutex mutex_;
  client_map clients_;
};

void write_news(room& here, client& to) {
  std::error_code error;
  for (bool is_last = false; !is_last && !error;) {
    to.news.recv();
    std::string text;
    std::tie(text, is_last) = here.take(to);
    to.connection.write(text, error);
  }
  to.connection.close();  // ends the reader, if it is not there yet
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 20 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

void serve(room& here, thrum::net::conn c) {
  const auto self = std::make_shared<client>(std::move(c));
  std::error_code error;
  self->connection.write("* what is your name?\n", error);
  thrum::io::buffered_reader lines(self->connection, longest_line);
  const std::optional<std::string> name = lines.read_line(error);
  if (!name || !is_name(*name)) {
    self->connection.write("* a name has 1 to 20 letters and no blanks; connect again\n", error);
    return;
  }
  if (!here.enter(*name, self)) {
    self->connection.write("* somebody else is called so; connect again as another\n", error);
    return;
  }
  const auto writer = thrum::spawn([&] { write_news(here, *self); });
  while (const std::optional<std::string> line = lines.read_line(error)) {
    here.say(*name, *self, *line);
  }
  here.leave(*name, *self);
}  // the writer is waited for

/// A goroutine for each connection, until connections cannot be accepted.
int serve_all(const server_arguments& given, room& here) {
  allow_all_descriptors();
  std::error_code error;
  thrum::net::listener listener = thrum::net::listener::listen(given.listen, {}, error);
  if (error) {
    return given.cannot_listen(error);
  }
  given.say_listening(listener.local());
  for (;;) {
    thrum::net::conn c = listener.accept(error);
    if (error) {
      return given.cannot_accept(error);
    }
    thrum::go(serve, std::ref(here), std::move(c));
  }
}

}  // namespace

int main(int count, char** values) {
  server_arguments given;
  given.listen = "127.0.0.1:7008";
  if (!given.parse(count, values, 0, "chat [--listen ADDR] [--procs N]")) {
    return 2;
  }
  room here;
  return thrum::run(given.options(), [&] { return serve_all(given, here); });
}
