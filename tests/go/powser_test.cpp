// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Go's powser1 and powser2: networks of hundreds of goroutines that compute with power series give
// the coefficients that are known. Once with coefficients as values, once with coefficients that
// have one owner each.

#include "power_series.hpp"
#include "support/test.hpp"

using power_series::rational;

namespace {

using coefficients = std::vector<rational>;

/// These over 0!, 1!, 2!, ...
coefficients over_factorials(std::vector<std::int64_t> numerators) {
  coefficients result;
  std::int64_t factorial = 1;
  for (std::size_t n = 0; n != numerators.size(); ++n) {
    factorial *= n == 0 ? 1 : static_cast<std::int64_t>(n);
    result.emplace_back(numerators[n], factorial);
  }
  return result;
}

template <class Carrier>
struct tests : power_series::network<Carrier> {
  using base = power_series::network<Carrier>;
  using series = typename base::series;
  using base::take;

  static series ones() { return base::repeat(1); }
  static series x() { return base::polynomial({0, 1}); }

  static void sums_and_multiples() {
    CHECK(take(5, ones()) == coefficients(5, 1));
    CHECK(take(5, base::add(ones(), base::repeat(2))) == coefficients(5, 3));
    CHECK(take(5, base::scale(rational(-1, 2), ones())) == coefficients(5, rational(-1, 2)));
    CHECK(take(5, base::shift(7, ones())) == coefficients{7, 1, 1, 1, 1});
    CHECK(take(5, base::polynomial({1, 2, 3})) == coefficients{1, 2, 3, 0, 0});
    const auto both = base::split(base::integral(0, ones()));
    CHECK(take(4, both[0]) == coefficients{0, 1, {1, 2}, {1, 3}});
    CHECK(take(6, both[1]) == coefficients{0, 1, {1, 2}, {1, 3}, {1, 4}, {1, 5}});
    CHECK(take(2, both[0]) == coefficients{{1, 4}, {1, 5}});
  }

  static void products() {
    CHECK(take(10, base::multiply(ones(), ones())) == coefficients{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    // (1 + x)^4
    const auto square = [] {
      return base::multiply(base::polynomial({1, 1}), base::polynomial({1, 1}));
    };
    CHECK(take(7, base::multiply(square(), square())) == coefficients{1, 4, 6, 4, 1, 0, 0});
    // 1/(1-x) * (1-x)
    CHECK(take(6, base::multiply(ones(), base::polynomial({1, -1}))) ==
          coefficients{1, 0, 0, 0, 0, 0});
  }

  static void calculus() {
    CHECK(take(6, base::derivative(ones())) == coefficients{1, 2, 3, 4, 5, 6});
    CHECK(take(6, base::derivative(base::integral(42, ones()))) == coefficients(6, 1));
    CHECK(take(5, base::integral(7, ones())) == coefficients{7, 1, {1, 2}, {1, 3}, {1, 4}});
  }

  static void reciprocals() {
    CHECK(take(8, base::reciprocal(base::polynomial({1, -1}))) == coefficients(8, 1));
    CHECK(take(10, base::reciprocal(base::polynomial({1, -1, -1}))) ==
          coefficients{1, 1, 2, 3, 5, 8, 13, 21, 34, 55});  // Fibonacci
    CHECK(take(4, base::reciprocal(base::polynomial({2, 1}))) ==
          coefficients{{1, 2}, {-1, 4}, {1, 8}, {-1, 16}});
    // x/(e^x - 1): the numbers of Bernoulli
    const series quotient = base::exponential(x());
    quotient.get();
    CHECK(take(7, base::reciprocal(quotient)) ==
          coefficients{1, {-1, 2}, {1, 12}, 0, {-1, 720}, 0, {1, 30'240}});
  }

  static void exponentials() {
    CHECK(take(9, base::exponential(x())) == over_factorials({1, 1, 1, 1, 1, 1, 1, 1, 1}));
    // exp(x/(1-x)): sets of lists
    CHECK(take(8, base::exponential(base::shift(0, ones()))) ==
          over_factorials({1, 1, 3, 13, 73, 501, 4'051, 37'633}));
    // exp(log(1+x))
    CHECK(
        take(7, base::exponential(base::integral(0, base::reciprocal(base::polynomial({1, 1}))))) ==
        coefficients{1, 1, 0, 0, 0, 0, 0});
  }

  static void substitutions() {
    // 1/(1-x) of 2x, and of x + x^2
    CHECK(take(8, base::substitute(ones(), base::polynomial({0, 2}))) ==
          coefficients{1, 2, 4, 8, 16, 32, 64, 128});
    CHECK(take(8, base::substitute(ones(), base::polynomial({0, 1, 1}))) ==
          coefficients{1, 1, 2, 3, 5, 8, 13, 21});
    // exp of (exp(x) - 1): the numbers of Bell
    CHECK(take(7, base::substitute(base::exponential(x()),
                                   base::add(base::exponential(x()), base::polynomial({-1})))) ==
          over_factorials({1, 1, 2, 5, 15, 52, 203}));
    // arc tangent: the integral of 1/(1-x) of -x^2
    CHECK(take(8, arc_tangent()) == coefficients{0, 1, 0, {-1, 3}, 0, {1, 5}, 0, {-1, 7}});
  }

  static series arc_tangent() {
    return base::integral(0, base::substitute(ones(), base::polynomial({0, 0, -1})));
  }

  static void reversions() {
    // of x - x^2: the numbers of Catalan
    CHECK(take(9, base::reversion(base::polynomial({0, 1, -1}))) ==
          coefficients{0, 1, 1, 2, 5, 14, 42, 132, 429});
    // of the arc tangent: the tangent
    CHECK(take(8, base::reversion(arc_tangent())) ==
          coefficients{0, 1, 0, {1, 3}, 0, {2, 15}, 0, {17, 315}});
    // of x e^x: the function of Lambert
    CHECK(take(7, base::reversion(base::shift(0, base::exponential(x())))) ==
          coefficients{0, 1, -1, {3, 2}, {-8, 3}, {125, 24}, {-54, 5}});
  }

  static void all() {
    with_runtime([] {
      sums_and_multiples();
      products();
      calculus();
      reciprocals();
      exponentials();
      substitutions();
      reversions();
    });
  }
};

}  // namespace

TEST_CASE("chan/powser1: series of values have the known coefficients") {
  tests<power_series::by_value>::all();
}

TEST_CASE("chan/powser2: series of owned values have the known coefficients") {
  tests<power_series::by_owner>::all();
}
