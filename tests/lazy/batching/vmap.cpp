// Compares functions of batches by vmap() with the same functions of one sample after the other.
#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"
#include "tests/common/fails_at.hpp"

using namespace lazy;

namespace {

using One = Tensor (*)(const Tensor&);

struct Case {
  const char* name;
  Shape sample;
  One f;
};

#define FAILS(E, part, ...) test::fails_at<E>("vmap.cpp", __LINE__, part, [&] { (void)(__VA_ARGS__); })
#define ONE(...) [](const Tensor& x) -> Tensor { return __VA_ARGS__; }

const Tensor& weights() {
  static const Tensor w = reshape(arange(-7, 13, 1, float32) / 10, {5, 4}).eval();
  return w;
}
Tensor indices(const Tensor& x) { return astype(abs(x) * 10, int64) % 3; }
Tensor positive_definite(const Tensor& x) { return matmul(x, x.mT()) + 4 * eye(3); }

const Case kCases[] = {
    {"elementary functions", {3, 5}, ONE(exp(x) + tanh(x) * sigmoid(x) - log1p(abs(x)))},
    {"a row beside a matrix", {5}, ONE(x + weights().T() * 2)},
    {"fewer axes than the other", {4}, ONE(weights() * x - x)},
    {"a scalar", {}, ONE(x* weights() + sin(x))},
    {"choice", {3, 5}, ONE(where(x > 0, x, x * 0.1f))},
    {"integers", {6}, ONE(astype(astype(x * 10, int32) / 3, float32))},
    {"sums along axes", {3, 5, 2}, ONE(sum(x, {1}) + mean(x, {-2}) * 2)},
    {"sum of all", {3, 5}, ONE(sum(x))},
    {"kept axes", {3, 5}, ONE(x - max(x, {0}, keepdims))},
    {"variance", {3, 5}, ONE(var(x, {1}))},
    {"places", {3, 5}, ONE(astype(argmax(x, 1), float32) + astype(argmin(x, 1), float32) * 10)},
    {"logsumexp", {3, 5}, ONE(logsumexp(x, {-1}))},
    {"running sums", {3, 5}, ONE(cumsum(x, 0) + cumprod(x, 1))},
    {"any", {3, 5}, ONE(astype(any(x > 1.0f, {1}), float32))},
    {"reshape", {3, 4}, ONE(reshape(x, {2, 6}))},
    {"transposition", {3, 5}, ONE(x.T())},
    {"axes in another order", {2, 3, 5}, ONE(permute_dims(x, {2, 0, 1}))},
    {"slices", {6, 5}, ONE(x(slice(1, 5, 2), slice(_, _, -1)))},
    {"an element", {6, 5}, ONE(x(2, -1))},
    {"flip, roll", {6, 5}, ONE(flip(roll(x, 2, 0), {1}))},
    {"pad", {3, 5}, ONE(pad(x, {{1, 2}, {0, 3}}))},
    {"tile, repeat", {3, 2}, ONE(tile(x, {2, 2}) + repeat(x, 2, 0)(slice(0, 6))(slice(_), slice(0, 1)))},
    {"expand", {1, 5}, ONE(expand(x, {4, 5}))},
    {"windows", {12}, ONE(mean(sliding_window_view(x, {4}), {1}))},
    {"concat", {3, 5}, ONE(concat({x, x * 2, weights().T()(slice(0, 3))}, 0))},
    {"stack", {3, 5}, ONE(stack({x, -x}, 1))},
    {"split", {6, 5}, ONE(split(x, 3, 0)[1])},
    {"triangles", {4, 4}, ONE(tril(x) - triu(x, 1))},
    {"diagonal", {4, 4}, ONE(diagonal(x) * trace(x))},
    {"take by samples' indices", {3, 5}, ONE(take_along_axis(x, indices(x), 1))},
    {"take by the same indices", {3, 5}, ONE(take(x, arange(0, 2, 1, int64), 0))},
    {"a table by samples' indices", {4}, ONE(take(weights(), indices(x), 0))},
    {"put", {3, 5}, ONE(put_along_axis(x, indices(x)(_, slice(0, 1)), 9.0f, 1))},
    {"assignment", {3, 5}, ONE(([&] {
       Tensor y = x * 1;
       y(1) = 7.0f;
       y(_, slice(0, 2)) = x(_, slice(1, 3));
       return y;
     }()))},
    {"sort", {3, 5}, ONE(sort(x, 1).values + astype(argsort(x, 1), float32))},
    {"sort along another axis", {3, 5}, ONE(sort(x, 0, true).values)},
    {"topk", {3, 5}, ONE(topk(x, 2).values)},
    {"median", {3, 5}, ONE(median(x, {1}))},
    {"vector times matrix", {5}, ONE(matmul(x, weights()))},
    {"matrix times vector", {4}, ONE(matmul(weights(), x))},
    {"vector times vector", {5}, ONE(matmul(x, weights()(_, 1)) + dot(x, x))},
    {"matrix times matrix", {3, 5}, ONE(matmul(x, weights()))},
    {"the same times a matrix", {4, 2}, ONE(matmul(weights(), x))},
    {"stacks of matrices", {2, 3, 5}, ONE(matmul(x, x.mT()))},
    {"a stack times the same", {2, 3, 5}, ONE(matmul(x, expand(weights(), {2, 5, 4})))},
    {"einsum", {3, 5}, ONE(einsum("ij,jk->ki", x, weights()))},
    {"outer", {4}, ONE(outer(x, x))},
    {"norm", {3, 5}, ONE(norm(x, {1}))},
    {"inverse", {3, 3}, ONE(inv(x + 4 * eye(3)))},
    {"determinant", {3, 3}, ONE(det(x) + slogdet(x + 4 * eye(3)).logabsdet)},
    {"solve", {3, 3}, ONE(solve(x + 4 * eye(3), ones({3, 2})))},
    {"cholesky", {3, 3}, ONE(cholesky(positive_definite(x)))},
    {"singular values", {3, 4}, ONE(svdvals(x))},
    {"eigenvalues", {3, 3}, ONE(eigvalsh(positive_definite(x)))},
    {"matrix exponential", {3, 3}, ONE(matrix_exp(x * 0.3f))},
    {"Fourier transform", {8}, ONE(abs(fft::fft(x)) + abs(fft::fft(fft::ifft(x))))},
    {"real Fourier transform", {3, 8}, ONE(fft::irfft(fft::rfft(x) * 2.0f))},
    {"complex numbers", {5}, ONE(real(exp(complex(x, x * 2)) * complex(x, -x)))},
    {"softmax", {3, 5}, ONE(softmax(x, -1) + log_softmax(x, 0))},
    {"layer norm", {3, 5}, ONE(layer_norm(x, {5}))},
    {"convolution",
     {2, 6, 7},
     ONE(conv2d(unsqueeze(x, 0), reshape(arange(0, 54, 1, float32) / 50, {3, 2, 3, 3})))},
    {"convolution along one axis", {1, 2, 9}, ONE(conv1d(x, ones({3, 2, 3})))},
    {"pools", {1, 2, 6, 6}, ONE(max_pool2d(x, 2) + avg_pool2d(x, 2))},
    {"attention", {2, 6, 4}, ONE(scaled_dot_product_attention(x, x * 0.5f, -x, {}, true))},
    {"cross entropy", {3, 5}, ONE(cross_entropy(x, arange(0, 3, 1, int64)))},
    {"one hot", {4}, ONE(astype(one_hot(indices(x), 3), float32))},
    {"embedding", {4}, ONE(embedding(indices(x), weights()))},
    {"interpolation", {1, 2, 4, 4}, ONE(interpolate(x, {.size = {6, 6}, .mode = Interpolation::bilinear}))},
    {"what depends on no sample", {3}, ONE((void)x, weights() * 2)},
};

Tensor samples(const Shape& sample, int64_t count = 4) {
  manual_seed(21);
  Shape shape{count};
  for (const int64_t n : sample) shape.push_back(n);
  return (rand(shape) * 3 - 1.4f).eval();
}

Tensor one_by_one(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  std::vector<Tensor> all;
  for (int64_t i = 0; i < x.shape()[0]; ++i) all.push_back(f(Tensor(x(i))));
  return stack(all, 0);
}

void check_close(const Tensor& got, const Tensor& want, const std::string& what) {
  BOOST_REQUIRE_MESSAGE(got.shape() == want.shape(),
                        what << ": " << to_string(got.shape()) << " in place of " << to_string(want.shape()));
  const auto a = got.to_vector<float>(), b = want.to_vector<float>();
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float d = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    if (!(d <= worst)) worst = d;
  }
  BOOST_TEST(worst <= 2e-5f, what << ": off by " << worst);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vmaps)

BOOST_AUTO_TEST_CASE(every_function_of_a_sample) {
  for (const Case& c : kCases) {
    const Tensor x = samples(c.sample);
    check_close(vmap(c.f)(x), one_by_one(c.f, x), c.name);
  }
}

BOOST_AUTO_TEST_CASE(within_another_one) {
  for (const Case& c : kCases) {
    const Tensor x = samples(c.sample, 6);
    Shape shape{2, 3};
    for (const int64_t n : c.sample) shape.push_back(n);
    const Tensor got = vmap([&](const Tensor& some) { return vmap(c.f)(some); })(reshape(x, shape));
    Shape flat{6};
    for (int i = 2; i < got.ndim(); ++i) flat.push_back(got.shape()[i]);
    check_close(reshape(got, flat), one_by_one(c.f, x), c.name);
  }
}

// Gradients of each sample, and gradients through all of them.
BOOST_AUTO_TEST_CASE(derivatives_on_both_sides) {
  for (const Case& c : kCases) {
    const Tensor x = samples(c.sample);
    const auto loss = [&](const Tensor& one) { return sum(c.f(one) * 0.5f); };
    const std::string name = c.name;
    if (name == "what depends on no sample" || name == "integers" || name == "places" || name == "any" ||
        name == "one hot")
      continue;
    const Tensor want = one_by_one([&](const Tensor& one) { return grad(loss)(one); }, x);
    check_close(vmap(grad(loss))(x), want, name + ", gradient of each");
    check_close(grad([&](const Tensor& all) { return sum(vmap(loss)(all)); })(x), want,
                name + ", gradient of all");
  }
}

BOOST_AUTO_TEST_CASE(axes_of_arguments_and_results) {
  const Tensor x = samples({3, 5}), y = samples({5});
  const auto f = [](const Tensor& a, const Tensor& b) { return a * b + 1; };
  const Tensor want = x * reshape(y, {4, 1, 5}) + 1;
  check_close(vmap(f)(x, y), want, "both first");
  check_close(vmap(f, {.in_axes = {2, -1}})(permute_dims(x, {1, 2, 0}), y.T()), want, "last");
  check_close(vmap(f, {.in_axes = {0, std::nullopt}})(x, Tensor(y(1))), x * y(1) + 1, "one for all");
  check_close(vmap(f, {.in_axes = {}, .out_axes = 1})(x, y), permute_dims(want, {1, 0, 2}), "results second");
  check_close(vmap(f, {.in_axes = {}, .out_axes = -1})(x, y), permute_dims(want, {1, 2, 0}), "results last");
  check_close(vmap(f, {.in_axes = {0, std::nullopt}})(x, 2.0), x * 2 + 1, "a number");
}

BOOST_AUTO_TEST_CASE(structures) {
  const Tensor x = samples({3}), y = samples({3}) * 2;
  const auto both = vmap([](const std::pair<Tensor, Tensor>& p) {
    return std::tuple(p.first + p.second, std::vector<Tensor>{sum(p.first), p.second});
  })(std::pair(x, y));
  check_close(std::get<0>(both), x + y, "first");
  check_close(std::get<1>(both)[0], sum(x, {1}), "second");
  check_close(std::get<1>(both)[1], y, "third");
}

BOOST_AUTO_TEST_CASE(gradients_of_a_model_for_each_sample) {
  manual_seed(4);
  nn::Sequential model{nn::Linear{6, 8}, nn::ReLU{}, nn::Linear{8, 3}};
  const Tensor x = samples({6}), y = tensor<int64_t>({0, 2, 1, 1});
  const auto gradients = [&](const Tensor& one, const Tensor& target) {
    cross_entropy(model(unsqueeze(one, 0)), unsqueeze(target, 0)).backward();
    std::vector<Tensor> g;
    for (const ParameterRef& p : model.parameters()) g.push_back(p->grad());
    model.zero_grad();
    return g;
  };
  const std::vector<Tensor> got = vmap(gradients)(x, y);
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<Tensor> want = gradients(Tensor(x(i)), Tensor(y(i)));
    BOOST_REQUIRE(got.size() == want.size());
    for (size_t p = 0; p < want.size(); ++p)
      check_close(Tensor(got[p](i)), want[p],
                  "sample " + std::to_string(i) + ", parameter " + std::to_string(p));
  }
}

BOOST_AUTO_TEST_CASE(all_samples_are_one_flush_and_one_program) {
  const Tensor w = samples({}, 5), x = samples({5}, 100), y = samples({}, 100);
  const auto loss = [](const Tensor& a, const Tensor& one, const Tensor& target) {
    return square(sum(a * one) - target);
  };
  const auto each = vmap(grad(loss, argnums<0>), {.in_axes = {std::nullopt, 0, 0}});
  each(w, x, y).eval();
  const auto before = metrics();
  const Tensor g = each(w, x, y).eval();
  const auto after = metrics();
  BOOST_TEST(after.flushes - before.flushes == 1u);
  BOOST_TEST(after.kernels_compiled - before.kernels_compiled == 0u);
  check_close(g, 2 * (sum(w * x, {1}, keepdims) - reshape(y, {100, 1})) * x, "gradients");
}

BOOST_AUTO_TEST_CASE(mistakes) {
  const Tensor x = samples({3}), y = samples({3}, 5);
  const auto f = [](const Tensor& a, const Tensor& b) { return a + b; };
  const auto one = [](const Tensor& a) { return a * 2; };
  FAILS(ShapeError, "vmap: arguments have 4 and 5 samples", vmap(f)(x, y));
  FAILS(IndexError, "vmap: in_axes 2 of a value of 2 axes", vmap(one, {.in_axes = {2}})(x));
  FAILS(IndexError, "vmap: out_axes 5 of a value of 2 axes", vmap(one, {.out_axes = 5})(x));
  FAILS(Error, "vmap: 1 in_axes for 2 arguments", vmap(f, {.in_axes = {0}})(x, x));
  FAILS(Error, "vmap: no argument has samples", vmap(one, {.in_axes = {std::nullopt}})(x));
  FAILS(IndexError, "vmap: in_axes 0 of a value of 0 axes", vmap(one)(tensor(1.0f)));
  // A value of a sample cannot be asked for; the program goes on after.
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return sum(a).item<float>() > 0 ? a : -a; })(x), Error,
                        [](const Error& e) {
                          return std::string(e.what()).find("each sample of a batch") != std::string::npos;
                        });
  check_close(vmap(one)(x), x * 2, "after it");
}

BOOST_AUTO_TEST_CASE(batches_without_samples) {
  const Tensor none = zeros({0, 3});
  const Tensor y = vmap([](const Tensor& a) { return sum(a * a) + matmul(ones({2, 3}), a); })(none);
  BOOST_TEST((y.shape() == Shape{0, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
