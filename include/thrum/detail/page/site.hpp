// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The server of the live page: which requests it answers, and with what.
//
// It answers from goroutines of the runtime that it shows. A request that arrives while all Ps compute
// interrupts one of them after a millisecond, as all input does; the answer is then made without a P. So the
// page answers beside loops, where the runtime may interrupt them (preemption::async).
#ifndef THRUM_DETAIL_PAGE_SITE_HPP
#define THRUM_DETAIL_PAGE_SITE_HPP

#include <thrum/blocking.hpp>
#include <thrum/debug/leaks.hpp>
#include <thrum/debug/profile.hpp>
#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/debug/dump.hpp>
#include <thrum/detail/os/os.hpp>
#include <thrum/detail/page/html.hpp>
#include <thrum/detail/page/http.hpp>
#include <thrum/detail/page/views.hpp>
#include <thrum/detail/start/stoppable.hpp>
#include <thrum/io/temporary.hpp>
#include <thrum/io/whole_file.hpp>
#include <thrum/join_handle.hpp>
#include <thrum/net/conn.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/listener.hpp>
#include <thrum/net/server.hpp>
#include <thrum/runtime.hpp>
#include <thrum/sync/mutex.hpp>
#include <thrum/this_goroutine.hpp>
#include <thrum/time.hpp>
#include <thrum/trace.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace page_detail {

class site {
 public:
  site(runtime& shown, net::listener from, std::string token, std::vector<std::string> hosts)
      : shown_(shown),
        token_(std::move(token)),
        hosts_(std::move(hosts)),
        server_(std::move(from),
                {.max_connections = 32, .on_error = [](const std::exception_ptr&) {}}) {
    serving_ = shown.spawn({.name = "debug::serve"}, [this, &shown] {
      std::error_code error;
      server_.serve(
          shown, [this](net::conn& to, net::server::session& at) { serve(to, at); }, error);
    });
  }
  site(const site&) = delete;
  site& operator=(const site&) = delete;

  net::endpoint local() const noexcept { return server_.local(); }

 private:
  /// Answers one request and ends the connection.
  void serve(net::conn& to, net::server::session& at) {
    this_goroutine::name("debug::serve");
    constexpr auto patience = std::chrono::seconds(5);  // browsers open connections in advance
    std::string head(max_head, '\0');
    std::size_t size = 0;
    std::error_code error;
    to.set_read_deadline(std::chrono::steady_clock::now() + patience);
    std::string_view got;
    while (got.find("\r\n\r\n") == got.npos && size != head.size()) {
      const std::size_t n = to.read(std::span<char>(head).subspan(size), error);
      if (error || n == 0) {
        return;
      }
      size += n;
      got = std::string_view(head).substr(0, size);
    }
    request what;
    answer result;
    if (got.find("\r\n\r\n") == got.npos) {
      result = plain(431, "debug::serve: the request is too long; 8192 bytes are read at most");
    } else if (!parse(got.substr(0, got.find("\r\n\r\n") + 4), what)) {
      result = plain(400, "debug::serve: the request is malformed or has a body; send a plain GET");
    } else {
      result = answer_to(what, at.stop_token());
    }
    to.set_write_deadline(std::chrono::steady_clock::now() + std::chrono::seconds(30));
    to.write(as_text(result, what.method != "HEAD"), error);
    if (!error && result.status != 200) {
      // If we closed while something is unread, the system would reset the connection, and the client
      // might lose the answer.
      to.close_write(error);
      to.set_read_deadline(std::chrono::steady_clock::now() + std::chrono::seconds(1));
      for (int i = 0; i != 16 && !error && to.read(std::span<char>(head), error) != 0; ++i) {
      }
    }
  }

  static answer plain(unsigned status, std::string_view text) {
    return {.status = status, .body = std::string(text) + "\n"};
  }
  static answer as_json(std::string text) {
    return {.type = "application/json", .body = std::move(text)};
  }

  bool is_known(std::string_view host) const noexcept {
    const std::string_view name = host_name(host);
    for (const std::string_view each : {"localhost", "127.0.0.1", "[::1]"}) {
      if (is_same_word(name, each)) {
        return true;
      }
    }
    for (const std::string& each : hosts_) {
      if (!each.empty() && is_same_word(name, each)) {
        return true;
      }
    }
    return false;
  }

  bool may_see(const request& from) const {
    constexpr std::string_view scheme = "bearer ";
    const std::string_view given = from.authorization;
    return token_.empty() ||
           (is_same_word(given.substr(0, scheme.size()), scheme) &&
            is_secret(given.substr(scheme.size()), token_)) ||
           is_secret(parameter(from.query, "token"), token_);
  }

  answer answer_to(const request& what, const std::stop_token& stop) {
    if (what.method != "GET" && what.method != "HEAD") {
      return plain(405, "debug::serve: only GET and HEAD are answered");
    }
    if (!is_known(what.host)) {
      return plain(403, "debug::serve: the Host header names another host; add it to hosts");
    }
    if ((what.fetch_site == "cross-site" || what.fetch_site == "same-site") && what.path != "/") {
      return plain(403, "debug::serve: another page has sent this request; open it by itself");
    }
    if (!may_see(what)) {
      return plain(401, "debug::serve: the token is missing or wrong; add ?token=...");
    }
    if (what.path == "/") {
      return {.type = "text/html; charset=utf-8", .body = std::string(html)};
    }
    if (what.path == "/api/state") {
      return as_json(locked([&] { return describe_state(shown_.scheduler(), places_); }));
    }
    if (what.path == "/api/goroutines") {
      const selection wanted = selection_of(what.query);
      return as_json(locked([&] { return describe_rows(shown_.scheduler(), places_, wanted); }));
    }
    if (what.path == "/api/goroutine") {
      return describe_one(what.query);
    }
    if (what.path == "/debug/pprof/goroutine") {
      const debug::profile_form form = form_of(what.query);
      return as_profile(debug::goroutine_profile(form), form);
    }
    if (what.path == "/debug/pprof/goroutineleak") {
      return find_leaks(what.query);
    }
    if (what.path == "/debug/pprof/profile") {
      return sample_cpu(what.query, stop);
    }
    if (what.path == "/api/trace") {
      return record_trace(what.query, stop);
    }
    return plain(404, "debug::serve: there is nothing at this path; begin at /");
  }

  /// One at a time, however many clients there are.
  template <class F>
  std::string locked(F f) {
    return blocking([&] {
      const std::lock_guard guard(places_mutex_);
      return f();
    });
  }

  /// The goroutine as a dump shows it. The others stop for some microseconds.
  answer describe_one(std::string_view query) {
    const goroutine_id id = number_parameter(query, "id", 0, UINT64_MAX / 16);
    const bool with_lines = parameter(query, "lines") == "1";
    std::string text;
    if (id != 0) {
      debug::goroutine_list found(shown_.scheduler(), id);
      found.look(debug::world::stopped);
      text = blocking([&] { return debug::describe_goroutines(found, with_lines); });
    }
    return text.empty() ? plain(404, "debug::serve: there is no such goroutine; it has ended")
                        : answer{.body = std::move(text)};
  }

  /// Calls f() at the end of a scope, also where an exception leaves it.
  template <class F>
  class at_end {
   public:
    explicit at_end(F f) : f_(std::move(f)) {}
    at_end(const at_end&) = delete;
    at_end& operator=(const at_end&) = delete;
    ~at_end() noexcept(false) { f_(); }

   private:
    F f_;
  };

  /// What f() records. One record is made at a time.
  template <class F>
  answer recorded(F f) {
    const std::unique_lock alone(recording_, std::try_to_lock);
    if (!alone) {
      return plain(503, "debug::serve: another record is being made; try again");
    }
#if THRUM_EXCEPTIONS
    try {
      return f();
    } catch (const std::exception& failed) {
      return plain(500, std::string("debug::serve: this cannot be recorded: ") + failed.what());
    }
#else
    return f();
#endif
  }

  /// Which goroutines wait for ever. All threads stop meanwhile.
  answer find_leaks(std::string_view query) {
    const debug::profile_form form = form_of(query);
    return recorded([&] { return as_profile(debug::leak_profile(form), form); });
  }

  /// Where threads compute in the seconds that follow, for go tool pprof.
  answer sample_cpu(std::string_view query, const std::stop_token& stop) {
    constexpr std::uint64_t usual = 30;  // go tool pprof's
    const std::chrono::seconds time(number_parameter(query, "seconds", usual, 300));
    const debug::profile_form form = form_of(query);
    return recorded([&]() -> answer {
      std::string profile;
      debug::start_cpu_profile();
      {
        const at_end sampling([&] { profile = debug::stop_cpu_profile(form); });
        static_cast<void>(sleep_for(time, stop));
      }
      return as_profile(std::move(profile), form);
    });
  }

  static debug::profile_form form_of(std::string_view query) {
    return parameter(query, "form") == "folded" ? debug::profile_form::folded
                                                : debug::profile_form::pprof;
  }
  static answer as_profile(std::string profile, debug::profile_form form) {
    return form == debug::profile_form::folded
               ? answer{.body = std::move(profile)}
               : answer{.type = "application/octet-stream", .body = std::move(profile)};
  }

  /// What the scheduler does in the seconds that follow, for ui.perfetto.dev.
  answer record_trace(std::string_view query, const std::stop_token& stop) {
#if THRUM_TRACE
    const std::chrono::seconds time(number_parameter(query, "seconds", 1, 60));
    return recorded([&]() -> answer {
      const bool was_on = trace::is_on();
      if (!was_on) {
        trace::start();
      }
      const at_end recording([was_on] {
        if (!was_on) {
          trace::stop();
        }
      });
      static_cast<void>(sleep_for(time, stop));
      const io::temporary_directory folder = io::temporary_directory::make();
      const std::string path = folder.path() + "/trace.pftrace";
      trace::snapshot(path);
      return {.type = "application/octet-stream",
              .body = io::read_file(path),
              .file_name = "trace.pftrace"};
    });
#else
    static_cast<void>(query);
    static_cast<void>(stop);
    return plain(404,
                 "debug::serve: this program records nothing; compile it with -DTHRUM_TRACE=1");
#endif
  }

  runtime& shown_;
  const std::string token_;
  const std::vector<std::string> hosts_;
  std::mutex places_mutex_;
  place_names places_;
  mutex recording_;
  join_handle<void> serving_;
  net::server server_;  // the last one: its destructor waits for all that uses the others
};

}}}  // namespace thrum::THRUM_ABI::page_detail

#endif
