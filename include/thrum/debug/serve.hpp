// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// debug::serve: a page that shows a running program in a browser: its processors, goroutines, waits and counters.
//
//   #include <thrum/debug/serve.hpp>
//   const auto page = thrum::debug::serve("127.0.0.1:6060");  // open http://127.0.0.1:6060/
//
// Include it in the source file that calls it, and in no other: it costs compile time.
#ifndef THRUM_DEBUG_SERVE_HPP
#define THRUM_DEBUG_SERVE_HPP

#include <thrum/detail/base/config.hpp>
#include <thrum/detail/base/error.hpp>
#include <thrum/detail/page/site.hpp>
#include <thrum/net/endpoint.hpp>
#include <thrum/net/listener.hpp>
#include <thrum/net/resolve.hpp>
#include <thrum/runtime.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace debug {

/// What a client needs to see the page.
struct serve_options {
  /// A client sends it as `?token=...` or as `Authorization: Bearer ...`. Empty: no client needs one. The
  /// connection is not encrypted.
  std::string token = {};
  /// Names and addresses that the Host header of a request may have, beside localhost, 127.0.0.1, [::1] and the
  /// address of serve. Other requests are refused: a page of another site sends them by DNS rebinding.
  std::vector<std::string> hosts = {};
};

/// A page that is served. Move-only. Its destructor stops the server, and waits for the answers that it is
/// making. Destroy it before its runtime.
class [[nodiscard]] live_page {
 public:
  /// For serve().
  explicit live_page(std::unique_ptr<page_detail::site> of) noexcept : site_(std::move(of)) {}

  /// Where it listens, with the port that the system has chosen for port 0. Empty: nowhere.
  net::endpoint local() const noexcept {
    return site_ == nullptr ? net::endpoint() : site_->local();
  }

 private:
  std::unique_ptr<page_detail::site> site_;
};

/// Serves a page about a runtime, with goroutines of that runtime, until the result is destroyed. The page
/// changes nothing in the program. `address` is as of net::listener::listen: "127.0.0.1:6060", "unix:/run/x".
/// usage_error if the address leads to other machines and there is no token. If it cannot listen there, sets `error`,
/// and the result serves nothing. Blocks while a name is looked up. Any thread.
///
/// When not to use: for metrics, which stats() has.
inline live_page serve(runtime& shown, std::string_view address, serve_options how,
                       std::error_code& error) {
  const std::vector<net::endpoint> found = net::resolve(address, error);
  if (!error && found.empty()) {
    error = std::make_error_code(std::errc::address_not_available);
  }
  if (error) {
    return live_page(nullptr);
  }
  const net::endpoint& where = found.front();
  const bool is_local = where.is_loopback() || where.family() == net::address_family::local;
  if (!is_local && how.token.empty()) {
    base::throw_usage(("debug::serve " + std::string(address) +
                       ": other machines reach this address; set serve_options::token, or "
                       "serve 127.0.0.1")
                          .c_str());
  }
  if (!where.is_any()) {
    const bool is_v6 = where.family() == net::address_family::v6;
    how.hosts.push_back(is_v6 ? "[" + where.address() + "]" : where.address());
  }
  net::listener from = net::listener::listen(where, {}, error);
  if (error) {
    return live_page(nullptr);
  }
  return live_page(std::make_unique<page_detail::site>(shown, std::move(from), std::move(how.token),
                                                       std::move(how.hosts)));
}

/// serve(shown, address, how, error). std::system_error, with the address, if it cannot listen there.
inline live_page serve(runtime& shown, std::string_view address, serve_options how = {}) {
  std::error_code error;
  live_page page = serve(shown, address, std::move(how), error);
  if (error) {
    base::throw_system(error, "debug::serve " + std::string(address));
  }
  return page;
}

/// serve(shown, ...) about the runtime of the calling goroutine. usage_error outside of a runtime.
inline live_page serve(std::string_view address, serve_options how = {}) {
  runtime* const own = runtime::current();
  if (own == nullptr) {
    go_detail::throw_outside("debug::serve", "name one: serve(runtime, address)");
  }
  return serve(*own, address, std::move(how));
}

}}}  // namespace thrum::THRUM_ABI::debug

#endif
