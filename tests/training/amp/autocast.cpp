// Tests autocast: which functions take their operands in which dtype. tests/golden/make_autocast.py wrote
// what torch's do.
#include "lazy/amp/autocast.hpp"

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "lazy/linalg/linalg.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

namespace {

using namespace lazy;

/// Returns values below 1 of a shape.
using Given = std::function<Tensor(const Shape&)>;
const Shape square{4, 4}, batch{2, 4, 4}, line{4};

const std::map<std::string, std::function<Tensor(const Given&)>> functions = {
    {"matmul", [](const Given& r) { return matmul(r(square), r(square)); }},
    {"mm", [](const Given& r) { return mm(r(square), r(square)); }},
    {"bmm", [](const Given& r) { return bmm(r(batch), r(batch)); }},
    {"mv", [](const Given& r) { return mv(r(square), r(line)); }},
    {"addmm", [](const Given& r) { return addmm(r(square), r(square), r(square)); }},
    {"addmv", [](const Given& r) { return addmv(r(line), r(square), r(line)); }},
    {"addr", [](const Given& r) { return addr(r(square), r(line), r(line)); }},
    {"addbmm", [](const Given& r) { return addbmm(r(square), r(batch), r(batch)); }},
    {"baddbmm", [](const Given& r) { return baddbmm(r(batch), r(batch), r(batch)); }},
    {"einsum",
     [](const Given& r) {
       return einsum("ij,jk->ik", {r(square), r(square)});
     }},
    {"tensordot", [](const Given& r) { return tensordot(r(square), r(square), 1); }},
    {"multi_dot",
     [](const Given& r) {
       return multi_dot({r(square), r(square), r(square)});
     }},
    {"linear", [](const Given& r) { return linear(r(square), r(square), r(line)); }},
    {"bilinear",
     [](const Given& r) {
       return bilinear(r(square), r(square), r({3, 4, 4}));
     }},
    {"conv1d",
     [](const Given& r) {
       return conv1d(r({1, 2, 6}), r({3, 2, 3}));
     }},
    {"conv2d",
     [](const Given& r) {
       return conv2d(r({1, 2, 6, 6}), r({3, 2, 3, 3}));
     }},
    {"conv3d",
     [](const Given& r) {
       return conv3d(r({1, 2, 4, 4, 4}), r({3, 2, 3, 3, 3}));
     }},
    {"conv_transpose",
     [](const Given& r) {
       return conv_transpose(r({1, 2, 6, 6}), r({2, 3, 3, 3}));
     }},
    {"prelu", [](const Given& r) { return prelu(r(square), r(line)); }},
    {"scaled_dot_product_attention",
     [](const Given& r) { return scaled_dot_product_attention(r(batch), r(batch), r(batch)); }},
    {"mse_loss", [](const Given& r) { return mse_loss(r(square), r(square)); }},
    {"l1_loss", [](const Given& r) { return l1_loss(r(square), r(square)); }},
    {"smooth_l1_loss", [](const Given& r) { return smooth_l1_loss(r(square), r(square)); }},
    {"huber_loss", [](const Given& r) { return huber_loss(r(square), r(square)); }},
    {"cross_entropy", [](const Given& r) { return cross_entropy(r(square), arange(4)); }},
    {"nll_loss", [](const Given& r) { return nll_loss(r(square), arange(4)); }},
    {"kl_div", [](const Given& r) { return kl_div(r(square), r(square)); }},
    {"binary_cross_entropy_with_logits",
     [](const Given& r) { return binary_cross_entropy_with_logits(r(square), r(square)); }},
    {"poisson_nll_loss", [](const Given& r) { return poisson_nll_loss(r(square), r(square)); }},
    {"hinge_embedding_loss", [](const Given& r) { return hinge_embedding_loss(r(square), r(square)); }},
    {"margin_ranking_loss", [](const Given& r) { return margin_ranking_loss(r(line), r(line), r(line)); }},
    {"soft_margin_loss", [](const Given& r) { return soft_margin_loss(r(square), r(square)); }},
    {"triplet_margin_loss",
     [](const Given& r) { return triplet_margin_loss(r(square), r(square), r(square)); }},
    {"multi_margin_loss", [](const Given& r) { return multi_margin_loss(r(square), arange(4)); }},
    {"cosine_embedding_loss",
     [](const Given& r) { return cosine_embedding_loss(r(square), r(square), r(line)); }},
    {"grid_sample",
     [](const Given& r) {
       return grid_sample(r({1, 2, 4, 4}), r({1, 3, 3, 2}));
     }},
    {"prod", [](const Given& r) { return prod(r(square)); }},
    {"cdist", [](const Given& r) { return cdist(r(square), r(square)); }},
    {"trace", [](const Given& r) { return trace(r(square)); }},
    {"quantile", [](const Given& r) { return quantile(r(square), 0.5); }},
    {"inv", [](const Given& r) { return inv(r(square)); }},
    {"solve", [](const Given& r) { return solve(r(square), r(square)); }},
    {"qr", [](const Given& r) { return qr(r(square)).R; }},
    {"svdvals", [](const Given& r) { return svdvals(r(square)); }},
    {"exp", [](const Given& r) { return exp(r(square)); }},
    {"log", [](const Given& r) { return log(r(square)); }},
    {"pow", [](const Given& r) { return pow(r(square), 2.0); }},
    {"rsqrt", [](const Given& r) { return rsqrt(r(square)); }},
    {"tanh", [](const Given& r) { return tanh(r(square)); }},
    {"add", [](const Given& r) { return r(square) + r(square); }},
    {"relu", [](const Given& r) { return relu(r(square)); }},
    {"gelu", [](const Given& r) { return gelu(r(square)); }},
    {"softplus", [](const Given& r) { return softplus(r(square)); }},
    {"softmax", [](const Given& r) { return softmax(r(square), -1); }},
    {"log_softmax", [](const Given& r) { return log_softmax(r(square), -1); }},
    {"layer_norm", [](const Given& r) { return layer_norm(r(square), {4}); }},
    {"group_norm",
     [](const Given& r) {
       return group_norm(r({2, 4, 3}), 2);
     }},
    {"sum", [](const Given& r) { return sum(r(square)); }},
    {"mean", [](const Given& r) { return mean(r(square)); }},
    {"cumsum", [](const Given& r) { return cumsum(r(square), 0); }},
    {"cumprod", [](const Given& r) { return cumprod(r(square), 0); }},
    {"logsumexp", [](const Given& r) { return logsumexp(r(square), 0); }},
    {"vector_norm", [](const Given& r) { return vector_norm(r(square)); }},
    {"concat",
     [](const Given& r) {
       return concat({r(square), r(square)});
     }},
    {"stack",
     [](const Given& r) {
       return stack({r(square), r(square)});
     }},
};

/// Makes new tensors on the CPU for a scope, whatever LAZY_DEVICE says.
struct OnCpu {
  OnCpu() { set_default_device(cpu); }
  OnCpu(const OnCpu&) = delete;
  ~OnCpu() { set_default_device(before_); }

 private:
  const Device before_ = default_device();
};

Given given_as(DType t) {
  return [t](const Shape& shape) {
    return remainder(reshape(arange(1, numel(shape) + 1), shape) / 8.0, 1.0).astype(t);
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(autocasts)

// On the CPU by what they return, on a GPU by what the table says: one without a GPU records there as well.
BOOST_AUTO_TEST_CASE(dtypes_are_those_of_torch) {
  std::map<std::string, DType> cuda_table;
  for (const AutocastRule& r : autocast_table(DeviceKind::cuda)) cuda_table[r.function] = r.takes;
  std::ifstream in(LAZY_SOURCE_DIR "/tests/golden/autocast.txt");
  BOOST_REQUIRE(in);
  size_t seen = 0;
  for (std::string text; std::getline(in, text);) {
    const std::vector<std::string> words = golden::words(text, ' ');
    const std::string& name = words.at(1);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(functions.contains(name));
      ++seen;
      if (words[0] == "cpu") {
        const OnCpu host;
        const Given r = given_as(golden::dtype_named(words[2]));
        const autocast scope(bfloat16);
        BOOST_TEST(name_of(functions.at(name)(r).dtype()) == words[3]);
      } else {
        // Matrices of 16 bits can't be decomposed there by torch; here they can, in float32.
        static const std::set<std::string> more{"trace", "quantile", "inv",        "solve",
                                                "qr",    "svdvals",  "grid_sample"};
        const std::string expected = more.contains(name) ? "float32" : words[2];
        const auto rule = cuda_table.find(name);
        BOOST_TEST((rule == cuda_table.end()  ? "promote"
                    : rule->second == float32 ? "float32"
                                              : "lower") == expected);
      }
    }
  }
  BOOST_TEST(seen == 3 * functions.size());
}

BOOST_AUTO_TEST_CASE(values_are_those_of_casts_by_hand) {
  manual_seed(1);
  const Tensor x = randn({3, 8}), w = randn({5, 8}), b = randn({5});
  Tensor y;
  {
    const autocast scope(bfloat16);
    y = linear(x, w, b);
  }
  const Tensor expected = linear(x.astype(bfloat16), w.astype(bfloat16), b.astype(bfloat16));
  BOOST_TEST((y.dtype() == bfloat16));
  BOOST_TEST(y.to_vector<float>() == expected.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_dtypes_are_left_alone) {
  const autocast scope(float16);
  const Tensor d = ones({4, 4}, float64), f = ones({4, 4}), i = ones({4, 4}, int32);
  BOOST_TEST((matmul(d, d).dtype() == float64));
  BOOST_TEST((matmul(f, d).dtype() == float64));
  BOOST_TEST((matmul(i, i).dtype() == int32));
  BOOST_TEST((matmul(f, f).dtype() == float16));
  BOOST_TEST((matmul(f, f, float64).dtype() == float64));  // was given
  BOOST_TEST((linear(f, f.astype(bfloat16)).dtype() == float16));
}

BOOST_AUTO_TEST_CASE(scopes_nest_and_are_a_thread_s_own) {
  const Tensor x = ones({4, 4});
  BOOST_TEST(!is_autocast_enabled());
  {
    const autocast scope(bfloat16);
    BOOST_TEST(is_autocast_enabled());
    {
      const autocast inner(float16);
      BOOST_TEST((matmul(x, x).dtype() == float16));
      const autocast off(false);
      BOOST_TEST(!is_autocast_enabled());
      BOOST_TEST((matmul(x, x).dtype() == float32));
    }
    BOOST_TEST((matmul(x, x).dtype() == bfloat16));
    std::thread([&] { BOOST_TEST((matmul(x, x).dtype() == float32)); }).join();
  }
  BOOST_TEST((matmul(x, x).dtype() == float32));
  BOOST_CHECK_THROW(const autocast refused(float32), DtypeError);
  BOOST_CHECK_THROW(const autocast refused(int8), DtypeError);
  BOOST_TEST(!is_autocast_enabled());
}

BOOST_AUTO_TEST_CASE(recurrent_layers_and_attention) {
  manual_seed(1);
  nn::LSTM lstm(4, 3);
  nn::MultiheadAttention attention(8, 2);
  const autocast scope(bfloat16);
  BOOST_TEST((lstm(randn({5, 2, 4})).output.dtype() == bfloat16));
  const Tensor q = randn({2, 5, 8});
  BOOST_TEST((attention(q, q, q).output.dtype() == bfloat16));
}

// An intention that is flushed within the scope is expanded as it would be outside.
BOOST_AUTO_TEST_CASE(flushes_within_a_scope) {
  manual_seed(1);
  nn::Conv2d conv(2, 3, 3);
  const Tensor x = randn({1, 2, 6, 6});
  const Tensor before = conv(x);
  const Tensor expected = conv(x).detach().eval();
  nn::LSTM lstm(4, 3);
  const Tensor sequence = randn({5, 2, 4});
  const Tensor states = lstm(sequence).output, same = lstm(sequence).output.detach().eval();
  const autocast scope(bfloat16);
  BOOST_TEST(before.to_vector<float>() == expected.to_vector<float>(), boost::test_tools::per_element());
  BOOST_TEST(states.to_vector<float>() == same.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_have_the_dtypes_of_parameters) {
  manual_seed(1);
  nn::Sequential model(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4));
  const Tensor x = randn({6, 8}), labels = arange(6) % 4;
  const auto gradients = [&](bool lowered) {
    model.zero_grad();
    Tensor loss;
    {
      const autocast scope(lowered);
      loss = cross_entropy(model(x), labels);
    }
    BOOST_TEST((loss.dtype() == float32));
    loss.backward();
    std::vector<float> all;
    for (const auto& [name, p] : model.named_parameters()) {
      BOOST_TEST((p->grad().dtype() == float32), name);
      for (float v : p->grad().to_vector<float>()) all.push_back(v);
    }
    return all;
  };
  const std::vector<float> exact = gradients(false), rounded = gradients(true);
  double difference = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::abs(exact[i] - rounded[i]), size += std::abs(exact[i]);
  }
  BOOST_TEST(difference > 0);
  BOOST_TEST(difference < 0.03 * size);
}

// Backward passes and optimizers within the scope compute as they do outside.
BOOST_AUTO_TEST_CASE(training_steps_within_a_scope) {
  const auto trained = [](bool whole) {
    manual_seed(3);
    nn::Linear model(4, 2);
    optim::Adam adam(model.parameters(), {.lr = 0.1});
    const Tensor x = randn({6, 4}), y = randn({6, 2});
    for (int i = 0; i < 5; ++i) {
      adam.zero_grad();
      std::optional<autocast> scope(bfloat16);
      const Tensor loss = mse_loss(model(x), y);
      if (!whole) scope.reset();
      loss.backward();
      adam.step();
    }
    return model.weight.to_vector<float>();
  };
  BOOST_TEST(trained(true) == trained(false), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
