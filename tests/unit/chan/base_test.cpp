// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT

#include <thrum/chan/base.hpp>

#include <thrum.hpp>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/with_runtime.hpp"

namespace {

/// A channel of which there is only what all channels have.
struct bare_channel : thrum::chan_detail::chan_base {
  bare_channel() noexcept : chan_base(0, nullptr, nullptr) {}
};

}  // namespace

TEST_CASE("a channel whose last handle has gone gets no other") {
  bare_channel channel;
  CHECK(channel.add_reference_if_alive());
  CHECK_FALSE(channel.drop_reference_only());
  CHECK(channel.drop_reference_only());
  CHECK_FALSE(channel.add_reference_if_alive());
}

TEST_CASE("a select that has been served elsewhere and has not run yet is no receiver any more") {
  support::with_runtime(support::with_procs(1), [] {
    const thrum::chan<int> served(0);
    const thrum::chan<int> other(0);
    auto receiver =
        thrum::spawn([&] { return thrum::select(thrum::on_recv(served), thrum::on_recv(other)); });
    REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 1; }));
    served.send(1);  // the receiver runs when this goroutine lets it
    CHECK(thrum::select(thrum::on_send(other, 2), thrum::otherwise()) == 1);
    CHECK_FALSE(other.try_send(3));
    CHECK(receiver.join() == 0);
  });
}

TEST_CASE("behind a select that has been served elsewhere the next receiver is served") {
  support::with_runtime(support::with_procs(1), [] {
    const thrum::chan<int> served(0);
    const thrum::chan<int> other(0);
    auto selecting =
        thrum::spawn([&] { return thrum::select(thrum::on_recv(served), thrum::on_recv(other)); });
    REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 1; }));
    auto next = thrum::spawn([&] { return other.recv(); });
    REQUIRE(support::eventually_yielding([] { return thrum::stats().waiting == 2; }));
    served.send(1);
    CHECK(thrum::select(thrum::on_send(other, 2), thrum::otherwise()) == 0);
    CHECK(next.join() == 2);
    CHECK(selecting.join() == 0);
  });
}
