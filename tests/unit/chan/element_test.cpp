// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
#include <thrum/chan/element.hpp>
//
#include "support/catch.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace {

namespace cd = thrum::chan_detail;

// Its move may throw, so it must not lie in a channel itself.
struct may_throw {
  explicit may_throw(int of) : value(of) {}
  may_throw(may_throw&& other) : value(std::exchange(other.value, 0)) {}  // NOLINT: on purpose
  may_throw& operator=(may_throw&& other) {                               // NOLINT: on purpose
    value = std::exchange(other.value, 0);
    return *this;
  }
  ~may_throw() = default;
  int value;
};

// Cannot be assigned.
struct made_once {
  explicit made_once(int of) : value(of) {}
  made_once(made_once&& other) noexcept : value(std::exchange(other.value, 0)) {}
  made_once& operator=(made_once&&) = delete;
  ~made_once() = default;
  int value;
};

struct unmovable {
  unmovable(const unmovable&) = delete;
  unmovable& operator=(const unmovable&) = delete;
};

}  // namespace

TEST_CASE("an element whose move cannot throw lies in the channel as itself", "[chan]") {
  CHECK((std::is_same_v<cd::chan_element<int>::type, int>));
  CHECK((std::is_same_v<cd::chan_element<std::string>::type, std::string>));
  CHECK((std::is_same_v<cd::chan_element<made_once>::type, made_once>));
  auto element = cd::chan_element<std::string>::wrap("text");
  CHECK(cd::chan_element<std::string>::unwrap(element) == "text");
}

TEST_CASE("an element whose move may throw lies in a box", "[chan]") {
  using element = cd::chan_element<may_throw>;
  CHECK((element::is_boxed));
  CHECK((std::is_same_v<element::type, std::unique_ptr<may_throw>>));
  auto boxed = element::wrap(may_throw(7));
  CHECK(boxed->value == 7);
  const may_throw taken(element::unwrap(boxed));
  CHECK(taken.value == 7);
  CHECK(boxed->value == 0);
}

TEST_CASE("a signal lies in a channel as nothing", "[chan]") {
  CHECK((std::is_same_v<cd::chan_element<void>::type, std::monostate>));
}

TEST_CASE("what cannot be an element stands for another type once that was said", "[chan]") {
  CHECK((std::is_same_v<cd::element_or_other<int>, int>));
  CHECK((std::is_same_v<cd::element_or_other<int&>, int>));
  CHECK((std::is_same_v<cd::element_or_other<unmovable>, void>));
}

TEST_CASE("a value that was not sent goes back by assignment, or is made anew", "[chan]") {
  may_throw assigned(0);
  may_throw from(3);
  cd::put_back(assigned, from);
  CHECK(assigned.value == 3);
  CHECK(from.value == 0);

  made_once remade(0);
  made_once kept(4);
  cd::put_back(remade, kept);
  CHECK(remade.value == 4);
  CHECK(kept.value == 0);
}
