// Tests vmap() of layers that take batches of sequences: samples are one larger batch, unless they have
// weights of their own.
#include "jit/backend/registry.hpp"
#include "lazy/nn/functional/recurrent.hpp"
#include "lazy/nn/functional/varlen_attention.hpp"
#include "lazy/nn/nn.hpp"
#include "tests/common/check.hpp"

using namespace lazy;

namespace {

constexpr int64_t kSamples = 5;

void check_close(const Tensor& got, const Tensor& want, const std::string& what) {
  BOOST_REQUIRE_MESSAGE(got.shape() == want.shape(),
                        what << ": " << to_string(got.shape()) << " in place of " << to_string(want.shape()));
  const double off = got.size() ? max(abs(got - want) / (1 + abs(want))).item<double>() : 0;
  BOOST_TEST(off <= 1e-10, what << ": off by " << off);
}
void check_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  BOOST_REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) check_close(got[i], want[i], what + ", " + std::to_string(i));
}

using Many = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Applies f to one sample after the other of those arguments that have some.
std::vector<Tensor> one_by_one(const Many& f, const std::vector<Tensor>& x, const std::vector<bool>& shared) {
  std::vector<std::vector<Tensor>> all;
  for (int64_t i = 0; i < kSamples; ++i) {
    std::vector<Tensor> one;
    for (size_t a = 0; a < x.size(); ++a) one.push_back(shared[a] ? x[a] : Tensor(x[a](i)));
    const std::vector<Tensor> y = f(one);
    all.resize(y.size());
    for (size_t o = 0; o < y.size(); ++o) all[o].push_back(y[o]);
  }
  std::vector<Tensor> stacked;
  for (const auto& each : all) stacked.push_back(stack(each, 0));
  return stacked;
}

/// Applies f by vmap().
std::vector<Tensor> mapped(const Many& f, const std::vector<Tensor>& x, const std::vector<bool>& shared) {
  std::vector<Tensor> samples;
  for (size_t a = 0; a < x.size(); ++a)
    if (!shared[a]) samples.push_back(x[a]);
  return vmap([&](const std::vector<Tensor>& some) {
    std::vector<Tensor> one;
    size_t next = 0;
    for (size_t a = 0; a < x.size(); ++a) one.push_back(shared[a] ? x[a] : some[next++]);
    return f(one);
  })(samples);
}

/// Returns the gradients of all arguments that are floats.
Many gradients_of(const Many& f) {
  return [=](const std::vector<Tensor>& x) {
    std::vector<Tensor> by;
    for (const Tensor& t : x)
      if (lazy::is_float(t.dtype())) by.push_back(t);
    const auto loss = [&](const std::vector<Tensor>& some) {
      std::vector<Tensor> all;
      size_t next = 0;
      for (const Tensor& t : x) all.push_back(lazy::is_float(t.dtype()) ? some[next++] : t);
      Tensor total = zeros({}, float64);
      double weight = 1;
      for (const Tensor& y : f(all)) total = total + mean(square(y + 0.3)) * (weight *= 0.7);
      return total;
    };
    return value_and_grad_of(loss, by).second;
  };
}

void agrees(const char* name, const Many& f, const std::vector<Tensor>& x, const std::vector<bool>& shared) {
  check_close(mapped(f, x, shared), one_by_one(f, x, shared), name);
  const Many g = gradients_of(f);
  check_close(mapped(g, x, shared), one_by_one(g, x, shared), std::string(name) + ", gradients of each");
  // Gradients through all of them.
  const auto of_all = [&](const auto& apply) {
    std::vector<Tensor> by;
    for (const Tensor& t : x)
      if (lazy::is_float(t.dtype())) by.push_back(t);
    return value_and_grad_of(
               [&](const std::vector<Tensor>& some) {
                 std::vector<Tensor> all;
                 size_t next = 0;
                 for (const Tensor& t : x) all.push_back(lazy::is_float(t.dtype()) ? some[next++] : t);
                 return sum(square(apply(f, all, shared)[0] + 0.1));
               },
               by)
        .second;
  };
  check_close(of_all(mapped), of_all(one_by_one), std::string(name) + ", gradients of all");
}

struct Layer {
  const char* name;
  detail::RecurrentKind kind;
  bool reverse, projected;
};
using detail::RecurrentKind;
const Layer kLayers[] = {{"tanh", RecurrentKind::tanh, false, false},
                         {"relu, reverse", RecurrentKind::relu, true, false},
                         {"gru", RecurrentKind::gru, false, false},
                         {"lstm", RecurrentKind::lstm, false, false},
                         {"lstm, reverse, projected", RecurrentKind::lstm, true, true}};

/// Returns the layer as a function of x (T, N, I), h0, c0 and weights.
Many function_of(const Layer& l) {
  return [l](const std::vector<Tensor>& x) {
    detail::RecurrentWeights w{x[3], x[4], x[5], x[6], l.projected ? x[7] : Tensor()};
    const bool lstm = l.kind == RecurrentKind::lstm;
    const auto r =
        detail::recurrent("layer", l.kind, l.reverse, x[0], x[1], lstm ? x[2] : Tensor(), w, Site::current());
    std::vector<Tensor> y{r.y, r.h};
    if (lstm) y.push_back(r.c);
    return y;
  };
}

/// Returns its arguments; those that are not shared have samples.
std::vector<Tensor> arguments_of(const Layer& l, int64_t steps, int64_t n, const std::vector<bool>& shared) {
  const int64_t in = 3, units = 4, out = l.projected ? 2 : units;
  const int64_t rows = units * jit::calls::gates_of(l.kind);
  std::vector<Shape> shapes{{steps, n, in}, {n, out}, {n, units}, {rows, in}, {rows, out}, {rows}, {rows}};
  if (l.projected) shapes.push_back({out, units});
  Generator g(11);
  std::vector<Tensor> all;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Shape shape;
    if (!shared[i]) shape.push_back(kSamples);
    for (const int64_t extent : shapes[i]) shape.push_back(extent);
    all.push_back((randn(g, shape, float64) * 0.5).eval());
  }
  return all;
}

/// Returns how many calls run until the values are there.
uint64_t calls_of(const std::function<std::vector<Tensor>()>& f) {
  const uint64_t before = metrics().calls;
  for (const Tensor& t : f()) t.eval();
  return metrics().calls - before;
}

bool is_cpu() { return zeros({1}).device().kind == DeviceKind::cpu; }

}  // namespace

BOOST_AUTO_TEST_SUITE(vmaps_of_sequences)

BOOST_AUTO_TEST_CASE(recurrent_layers) {
  for (const Layer& l : kLayers)
    for (const int64_t n : {1, 3})
      for (const int64_t steps : {1, 4}) {
        // Weights are shared, h0 is or has samples; then x is shared.
        for (std::vector<bool> shared :
             {std::vector<bool>{false, true, false, true, true, true, true, true},
              std::vector<bool>{true, false, true, true, true, true, true, true}}) {
          BOOST_TEST_CONTEXT(l.name << ", " << n << " sequences of " << steps)
          agrees(l.name, function_of(l), arguments_of(l, steps, n, shared), shared);
        }
      }
}

// Samples with weights of their own run one by one.
BOOST_AUTO_TEST_CASE(weights_of_samples) {
  for (const Layer& l : kLayers)
    for (size_t own = 3; own < (l.projected ? 8u : 7u); ++own) {
      std::vector<bool> shared{false, true, true, true, true, true, true, true};
      shared[own] = false;
      BOOST_TEST_CONTEXT(l.name << ", weights " << own)
      agrees(l.name, function_of(l), arguments_of(l, 3, 2, shared), shared);
    }
}

BOOST_AUTO_TEST_CASE(calls_of_all_samples) {
  if (!is_cpu()) return;
  for (const Layer& l : kLayers) BOOST_TEST_CONTEXT(l.name) {
      const std::vector<bool> shared{false, true, true, true, true, true, true, true};
      const std::vector<Tensor> x = arguments_of(l, 4, 2, shared);
      const Many f = function_of(l);
      BOOST_TEST(calls_of([&] { return mapped(f, x, shared); }) == 1u);
      BOOST_TEST(calls_of([&] { return mapped(gradients_of(f), x, shared); }) == 2u);
      // Another number of samples is the same program.
      const auto before = metrics();
      const auto tail = [&] {
        return vmap([&](const Tensor& one) {
          std::vector<Tensor> all = x;
          all[0] = one;
          return f(all);
        })(x[0](slice(0, 3)));
      };
      BOOST_TEST(calls_of(tail) == 1u);
      BOOST_TEST(metrics().kernels_compiled == before.kernels_compiled);
    }
}

BOOST_AUTO_TEST_CASE(gradients_of_a_model_for_each_sample) {
  manual_seed(4);
  nn::LSTM lstm{3, 4, {.num_layers = 2, .bidirectional = true}};
  nn::GRU gru{8, 5};
  const Tensor x = (randn({kSamples, 6, 3})).eval();
  const auto gradients = [&](const Tensor& one) {
    const Tensor y = lstm(unsqueeze(one, 1)).output;
    mean(square(gru(y).output)).backward();
    std::vector<Tensor> g;
    for (const auto& list : {lstm.parameters(), gru.parameters()})
      for (const ParameterRef& p : list) g.push_back(p->grad());
    lstm.zero_grad(), gru.zero_grad();
    return g;
  };
  const std::vector<Tensor> got = vmap(gradients)(x);
  for (int64_t i = 0; i < kSamples; ++i) {
    const std::vector<Tensor> want = gradients(Tensor(x(i)));
    BOOST_REQUIRE(got.size() == want.size());
    for (size_t p = 0; p < want.size(); ++p) BOOST_TEST(max(abs(got[p](i) - want[p])).item<float>() < 1e-6f);
  }
  if (is_cpu()) BOOST_TEST(calls_of([&] { return vmap(gradients)(x); }) == 2u * 5);
}

/// Returns attention of sequences of q (T, H, E), k and v, with offsets of each and slopes.
Many attention(VarlenOptions options) {
  return [options](const std::vector<Tensor>& x) {
    VarlenOptions o = options;
    return std::vector{
        scaled_dot_product_attention(Ragged{x[0], x[3]}, Ragged{x[1], x[4]}, Ragged{x[2], x[4]}, o).values};
  };
}

BOOST_AUTO_TEST_CASE(attention_over_sequences) {
  Generator g(3);
  const auto drawn = [&](const Shape& shape) { return randn(g, shape, float64).eval(); };
  const Tensor q = drawn({kSamples, 9, 4, 3}), k = drawn({kSamples, 7, 2, 3}), v = drawn({kSamples, 7, 2, 5});
  const Tensor to_q = tensor<int64_t>({0, 4, 4, 9}), to_k = tensor<int64_t>({0, 3, 5, 7});
  std::vector<Tensor> other_q, other_k;
  for (int64_t i = 0; i < kSamples; ++i) {
    other_q.push_back(tensor<int64_t>({0, i, i + 2, 9}));
    other_k.push_back(tensor<int64_t>({0, 6 - i, 7, 7}));
  }
  const Tensor own_q = stack(other_q, 0), own_k = stack(other_k, 0);
  for (const VarlenOptions& o :
       {VarlenOptions{}, VarlenOptions{.causal = true}, VarlenOptions{.window = 2}}) {
    agrees("offsets for all", attention(o), {q, k, v, to_q, to_k}, {false, false, false, true, true});
    agrees("offsets of samples", attention(o), {q, k, v, own_q, own_k}, {false, false, false, false, false});
    agrees("keys for all", attention(o), {q, Tensor(k(0)), Tensor(v(0)), own_q, to_k},
           {false, true, true, false, true});
  }
  const std::vector<bool> shared{false, false, false, true, true};
  const std::vector<Tensor> x{q, k, v, to_q, to_k};
  if (is_cpu()) {
    BOOST_TEST(calls_of([&] { return mapped(attention({}), x, shared); }) == 1u);
    BOOST_TEST(calls_of([&] { return mapped(gradients_of(attention({})), x, shared); }) == 2u);
  }
  VarlenOptions sloped;
  sloped.slopes = tensor({0.5, 0.25, 0.125, 1.0}, float64);
  const auto f = attention(sloped);
  check_close(mapped(f, x, shared), one_by_one(f, x, shared), "slopes");
  // Offsets that do not end with the rows are refused, of any sample.
  if (!is_cpu()) return;
  std::vector<Tensor> wrong = other_q;
  wrong[2] = tensor<int64_t>({0, 4, 4, 8});
  BOOST_CHECK_THROW(
      mapped(attention({}), {q, k, v, stack(wrong, 0), to_k}, {false, false, false, false, true})[0].eval(),
      IndexError);
}

BOOST_AUTO_TEST_CASE(keys_in_blocks) {
  Generator g(3);
  const auto drawn = [&](const Shape& shape) { return randn(g, shape, float64).eval(); };
  const Tensor q = drawn({kSamples, 5, 4, 3}), k = drawn({6, 2, 2, 3}), v = drawn({6, 2, 2, 3});
  const Tensor offsets = tensor<int64_t>({0, 2, 5}), lengths = tensor<int64_t>({3, 4});
  const Tensor table = tensor<int64_t>({{1, 3}, {0, 5}});
  const Tensor own = (table + reshape(arange(0, kSamples, 1, int64), {kSamples, 1, 1})) % 6;
  const Many f = [](const std::vector<Tensor>& x) {
    return std::vector{
        scaled_dot_product_attention(Ragged{x[0], x[1]}, PagedKeys{x[2], x[3], x[4], x[5]}).values};
  };
  const std::vector<bool> shared{false, true, true, true, false, true};
  const std::vector<Tensor> x{q, offsets, k, v, own, lengths};
  check_close(mapped(f, x, shared), one_by_one(f, x, shared), "tables of samples");
  if (is_cpu()) BOOST_TEST(calls_of([&] { return mapped(f, x, shared); }) == 1u);
  const std::vector<Tensor> blocks{q, offsets, drawn({kSamples, 6, 2, 2, 3}), v, table, lengths};
  const std::vector<bool> of_samples{false, true, false, true, true, true};
  check_close(mapped(f, blocks, of_samples), one_by_one(f, blocks, of_samples), "blocks of samples");
}

BOOST_AUTO_TEST_SUITE_END()
