// Tests hooks of complex values: each is called once a pass, when the gradients of both planes are there.
#include <complex>
#include <functional>

#include "tests/common/check.hpp"
#include "tests/common/fails_at.hpp"

using namespace lazy;
using namespace std::complex_literals;
using C = std::complex<double>;

BOOST_AUTO_TEST_SUITE(complex_hooks)

namespace {

/// Returns a marked variable.
Tensor marked(const std::vector<C>& v) {
  Tensor x = from_span(v);
  x.requires_grad_();
  return x;
}

/// Holds what a hook was called with.
struct Seen {
  std::vector<std::vector<C>> all;
  std::function<Tensor(const Tensor&)> hook() {
    return [this](const Tensor& g) {
      all.push_back(g.to_vector<C>());
      return Tensor();
    };
  }
  bool once(const std::vector<C>& g) const { return all.size() == 1 && all[0] == g; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(of_a_variable) {
  Tensor z = marked({1.0 + 2.0i, 3.0 - 1.0i});
  Seen seen;
  int sums = 0;
  register_hook(z, seen.hook());
  register_post_accumulate_grad_hook(z, [&](const Tensor& x) {
    ++sums;
    BOOST_TEST((x.dtype() == complex128));
    BOOST_TEST(x.grad().to_vector<C>() == z.grad().to_vector<C>());
    BOOST_TEST(x.to_vector<C>() == z.to_vector<C>());
    BOOST_TEST(!is_grad_enabled());
  });
  square(abs(z)).sum().backward();
  BOOST_TEST(seen.once({2.0 + 4.0i, 6.0 - 2.0i}));
  BOOST_TEST(sums == 1);
  square(abs(z)).sum().backward();
  BOOST_TEST(seen.all.size() == 2u);
  BOOST_TEST(sums == 2);
  BOOST_TEST(z.grad().to_vector<C>() == (std::vector<C>{4.0 + 8.0i, 12.0 - 4.0i}));
}

// The planes are reached early and late, and the later one counts.
BOOST_AUTO_TEST_CASE(at_the_later_plane) {
  Tensor z = marked({2.0 + 3.0i}), w = tensor({5.0}, float64);
  w.requires_grad_();
  std::vector<std::string> calls;
  register_post_accumulate_grad_hook(z, [&](const Tensor&) { calls.push_back("z"); });
  register_post_accumulate_grad_hook(w, [&](const Tensor&) { calls.push_back("w"); });
  Tensor y = real(z) * 2.0;
  y = y * w;
  y = y * imag(z);
  sum(y).backward();
  BOOST_TEST((calls == std::vector<std::string>{"w", "z"}));
  BOOST_TEST(z.grad().to_vector<C>()[0] == C(30, 20));
}

// A value that the loss does not depend on has a gradient of zeros, and gets what the hook returns.
BOOST_AUTO_TEST_CASE(one_plane) {
  for (const bool first : {true, false}) {
    Tensor z = marked({2.0 + 3.0i});
    Seen seen;
    int sums = 0;
    register_hook(z, seen.hook());
    register_hook(z, [](const Tensor& g) { return g * 2.0i + (1.0 + 1.0i); });
    register_post_accumulate_grad_hook(z, [&](const Tensor& x) {
      ++sums;
      BOOST_TEST(x.to_vector<C>() == (std::vector<C>{2.0 + 3.0i}));
    });
    const Tensor part = first ? real(z) : imag(z);
    sum(part * part).backward();
    const C g = first ? C(4, 0) : C(0, 6);
    BOOST_TEST(seen.once({g}));
    BOOST_TEST(sums == 1);
    BOOST_TEST(z.grad().to_vector<C>()[0] == g * 2.0i + (1.0 + 1.0i));
  }
}

// The variable is updated by its own hook, and by hand, and stays one.
BOOST_AUTO_TEST_CASE(updates) {
  Parameter z = from_span(std::vector<C>{2.0 + 4.0i});
  register_post_accumulate_grad_hook(z, [&](const Tensor& x) {
    z -= 0.25 * x.grad();
    z.zero_grad();
  });
  for (int i = 0; i < 2; ++i) square(abs(z)).sum().backward();
  BOOST_TEST(z.to_vector<C>()[0] == C(0.5, 1));
  BOOST_TEST(!z.grad().defined());
  const Tensor y = real(z).sum();  // of the value before
  {
    no_grad scope;
    z *= 2.0;
  }
  std::vector<C> seen;
  register_post_accumulate_grad_hook(z, [&](const Tensor& x) { seen.push_back(x.to_vector<C>()[0]); });
  y.backward();
  BOOST_TEST(seen.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_value_itself) {
  Tensor z = marked({2.0 + 3.0i});
  Seen seen;
  register_hook(z, seen.hook());
  z.backward(from_span(std::vector<C>{1.0 - 1.0i}));
  BOOST_TEST(seen.once({1.0 - 1.0i}));
  BOOST_TEST(z.grad().to_vector<C>()[0] == 1.0 - 1.0i);
}

// A computed value has hooks, too, which see what comes to it and not what comes to its parts by other ways.
BOOST_AUTO_TEST_CASE(of_a_computed_value) {
  Tensor x = tensor({2.0}, float64), z = marked({2.0 + 3.0i});
  x.requires_grad_();
  const Tensor y = complex(x, x * 2.0), w = y * z;
  Seen of_y, of_w, twice;
  register_hook(y, of_y.hook());
  register_hook(w, of_w.hook());
  register_hook(w, [](const Tensor& g) { return g * 2.0; });
  register_hook(w, twice.hook());
  (square(abs(w)).sum() + x.sum() * 100.0).backward();
  BOOST_TEST(of_w.once({2.0 * C(2, 4) * C(2, 3)}));
  BOOST_TEST(twice.once({4.0 * C(2, 4) * C(2, 3)}));
  BOOST_TEST(z.grad().to_vector<C>()[0] == 4.0 * 20.0 * C(2, 3));
  // The hook of y does not see what was recorded before it.
  BOOST_TEST(of_y.all.empty());
  BOOST_TEST(x.grad().to_vector<double>()[0] == 100 + 4.0 * 13 * (2 + 2 * 4));
  x.zero_grad(), z.zero_grad();
  Seen again, of_conjugate;
  const Tensor v = complex(x, x * 2.0);
  register_hook(v, again.hook());
  const Tensor c = conj(v);
  register_hook(c, of_conjugate.hook());
  (square(abs(c)).sum() + real(v).sum() * 10.0 + x.sum() * 100.0).backward();
  BOOST_TEST(of_conjugate.once({C(4, -8)}));
  BOOST_TEST(again.once({C(14, 8)}));
  BOOST_TEST(x.grad().to_vector<double>()[0] == 100 + 14 + 16);
}

// A plane that nothing leads on from has zeros, and what a hook makes of them goes on.
BOOST_AUTO_TEST_CASE(one_plane_of_a_computed_value) {
  Tensor z = marked({2.0 + 3.0i});
  const Tensor w = z * 2.0;
  Seen seen;
  register_hook(w, seen.hook());
  register_hook(w, [](const Tensor& g) { return g * 1.0i; });
  imag(w).sum().backward();
  BOOST_TEST(seen.once({C(0, 1)}));
  BOOST_TEST(z.grad().to_vector<C>()[0] == C(-2, 0));
}

// A value that is real by the program's text has the gradient of a complex one.
BOOST_AUTO_TEST_CASE(known_to_be_real) {
  Tensor x = tensor({2.0}, float64);
  x.requires_grad_();
  const Tensor y = astype(x, complex128);
  Seen seen;
  register_hook(y, seen.hook());
  (real(y * (1.0 + 2.0i)) + imag(y) * 3.0).sum().backward();
  BOOST_TEST(seen.once({C(1, 1)}));
  BOOST_TEST(x.grad().to_vector<double>()[0] == 1);
}

// Functions' gradients and forward derivatives go through values with hooks.
BOOST_AUTO_TEST_CASE(in_functions) {
  int calls = 0;
  const auto f = [&](const Tensor& z) {
    const Tensor w = z * z;
    if (w.requires_grad())
      register_hook(w, [&](const Tensor& g) {
        ++calls;
        return g * 2.0;
      });
    return real(w).sum();
  };
  const Tensor at = from_span(std::vector<C>{2.0 + 3.0i});
  BOOST_TEST(grad(f)(at).to_vector<C>()[0] == 4.0 * C(2, -3));
  BOOST_TEST(calls == 1);
}

// A hook that is registered while a pass goes on is called from the next one on, once.
BOOST_AUTO_TEST_CASE(during_a_pass) {
  Tensor z = marked({2.0 + 3.0i}), w = tensor({5.0}, float64);
  w.requires_grad_();
  int calls = 0;
  bool registered = false;
  register_hook(w, [&](const Tensor&) {
    if (!registered) register_post_accumulate_grad_hook(z, [&](const Tensor&) { ++calls; });
    registered = true;
    return Tensor();
  });
  for (int pass = 0; pass < 2; ++pass) {
    sum(real(z) * 2.0 * w * imag(z)).backward();
    BOOST_TEST(calls == pass);
  }
}

// Forward derivatives go through values with hooks.
BOOST_AUTO_TEST_CASE(forward) {
  const auto f = [&](const std::vector<Tensor>& x) {
    const Tensor y = x[0] * x[0];
    if (y.requires_grad()) register_hook(y, [](const Tensor& g) { return g; });
    return y * 2.0;
  };
  const Tensor at = from_span(std::vector<C>{2.0 + 3.0i}), v = from_span(std::vector<C>{1.0 - 1.0i});
  const auto [value, tangent] = jvp(f, {at}, {v});
  BOOST_TEST(value.to_vector<C>()[0] == 2.0 * C(2, 3) * C(2, 3));
  BOOST_TEST(tangent.to_vector<C>()[0] == 4.0 * C(2, 3) * C(1, -1));
}

// Each output of a call has hooks of its own.
BOOST_AUTO_TEST_CASE(outputs_of_a_call) {
  Tensor a = tensor({{2.0, 1.0}, {1.0, 3.0}}, float64);
  a.requires_grad_();
  const auto [u, values, v] = linalg::svd(a);
  std::string calls;
  const auto note = [&](const Tensor& x, const char* name) {
    register_hook(x, [&calls, &x, name](const Tensor& g) {
      calls += name;
      BOOST_TEST((g.shape() == x.shape()));
      return Tensor();
    });
  };
  note(v, "v"), note(values, "s"), note(u, "u");
  (sum(values) + sum(square(v(slice(0, 1))))).backward();
  BOOST_TEST(calls == "sv");
}

BOOST_AUTO_TEST_CASE(refused) {
  const Tensor z = from_span(std::vector<C>{1.0i});
  Tensor x = marked({1.0i});
  const uint32_t line = __LINE__;
  const auto on_constant = [&] { register_hook(z, [](const Tensor& g) { return g; }); };
  const auto on_computed = [&] { register_post_accumulate_grad_hook(x * 2.0, [](const Tensor&) {}); };
  test::fails_at<Error>("hooks.cpp", line + 1, "does not require a gradient", on_constant);
  test::fails_at<Error>("hooks.cpp", line + 2, "computed from others", on_computed);
  register_hook(x, [](const Tensor& g) { return real(g); });
  BOOST_CHECK_THROW(square(abs(x)).sum().backward(), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
