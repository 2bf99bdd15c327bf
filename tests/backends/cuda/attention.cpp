// Tests attentions as one kernel: like on the CPU, in every form that users write them, at every edge.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "backends/cuda/compile.hpp"
#include "tests/backends/cuda/direct.hpp"
#include "tests/backends/cuda/on_gpu.hpp"
#include "tests/backends/cuda/registers.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

struct Operands {
  Tensor q, k, v, hidden, bias;
};
using Form = std::function<Tensor(const Operands&)>;

Tensor softmax(const Tensor& x) {
  const Tensor e = exp(x - max(x, {-1}, keepdims));
  return e / sum(e, {-1}, keepdims);
}
Tensor scores(const Operands& o) { return matmul(o.q, swapaxes(o.k, -1, -2)); }

const std::vector<std::pair<const char*, Form>> forms = {
    {"plain", [](const Operands& o) { return scaled_dot_product_attention(o.q, o.k, o.v); }},
    {"causal", [](const Operands& o) { return scaled_dot_product_attention(o.q, o.k, o.v, {}, true); }},
    {"hidden", [](const Operands& o) { return scaled_dot_product_attention(o.q, o.k, o.v, o.hidden); }},
    {"biased", [](const Operands& o) { return scaled_dot_product_attention(o.q, o.k, o.v, o.bias); }},
    {"biased and causal",
     [](const Operands& o) { return scaled_dot_product_attention(o.q, o.k, o.v, o.bias, true); }},
    {"by hand", [](const Operands& o) { return matmul(softmax(scores(o) * 0.3), o.v); }},
    {"in float32",
     [](const Operands& o) {
       return matmul(softmax(astype(scores(o), float32) * 0.3 + o.bias), astype(o.v, float32));
     }},
    {"with an epilogue",
     [](const Operands& o) { return gelu(matmul(softmax(tanh(scores(o))), o.v)) * 2 + 1; }},
};

struct Extents {
  Shape batch;
  int64_t queries, keys, width, columns;
  bool fused = true;
};

Shape of(const Extents& e, int64_t rows, int64_t columns) {
  Shape s = e.batch;
  s.push_back(rows);
  s.push_back(columns);
  return s;
}
Operands operands(const Extents& e, DType t = float32) {
  const OnCpu host;
  const Shape flat{e.queries, e.keys};
  return {varied(of(e, e.queries, e.width), t, 1), varied(of(e, e.keys, e.width), t, 2),
          varied(of(e, e.keys, e.columns), t, 3), Tensor(varied(flat, float32, 4) > -1.2).eval(),
          varied(flat, float32, 5)};
}
Operands moved(const Operands& o, Device d) {
  return {o.q.to(d), o.k.to(d), o.v.to(d), o.hidden.to(d), o.bias.to(d)};
}

/// Returns the largest difference; infinite where one is NaN and the other is not.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : 1e300;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] != a[i] && b[i] != b[i]) continue;
    const double d = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    if (!(d <= worst)) worst = d == d ? d : 1e300;
  }
  return worst;
}

/// Returns the tolerance for results up to some 3: another order of sums, and weights that are not rounded to
/// 16 bits.
double tolerance(DType t) { return t == float32 ? 4e-6 : t == float16 ? 4e-3 : 3e-2; }

void check(const char* name, const Form& f, const Extents& e, DType t = float32) {
  const Operands o = operands(e, t), there = moved(o, cuda);
  reset_metrics();
  const auto got = astype(f(there), float64).to_vector<double>();
  const uint64_t tile_groups = metrics().tile_groups;
  const OnCpu host;
  const auto wanted = astype(f(o), float64).to_vector<double>();
  const std::string what = std::string(name) + ", " + name_of(t) + ", " +
                           to_string(of(e, e.queries, e.keys)) + " of " + std::to_string(e.width) + " and " +
                           std::to_string(e.columns);
  BOOST_TEST(distance(got, wanted) <= tolerance(t), what << ": " << distance(got, wanted));
  if (e.fused) BOOST_TEST(tile_groups == 1u, what << " is not one kernel");
}

/// Returns the kernel for f that LAZY_DUMP_DIR receives.
std::string text_of(const Form& f, const Extents& e, DType t) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("lazy_attention_" + std::to_string(getpid()));
  const Operands o = moved(operands(e, t), cuda);
  {
    const Override dump("LAZY_DUMP_DIR", dir.string());
    f(o).eval();
  }
  std::string text;
  for (const auto& file : std::filesystem::directory_iterator(dir))
    if (contains(file.path().filename().string(), ".tile_group0.cu")) {
      std::ostringstream s;
      s << std::ifstream(file.path()).rdbuf();
      text = s.str();
    }
  std::filesystem::remove_all(dir);
  return text;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(attention, OnGpu)

BOOST_AUTO_TEST_CASE(every_form_is_one_kernel_with_the_results_of_the_cpu) {
  for (const auto& [name, f] : forms)
    for (const Extents& e :
         {Extents{{2, 2}, 128, 64, 64, 64}, Extents{{3}, 130, 70, 32, 20}, Extents{{1, 2}, 17, 200, 40, 65}})
      check(name, f, e);
}

BOOST_AUTO_TEST_CASE(every_dtype) {
  for (DType t : {float16, bfloat16})
    for (const auto& [name, f] : forms) {
      check(name, f, {{2}, 70, 90, 32, 40}, t);
      check(name, f, {{1, 2}, 16, 33, 8, 128}, t);
    }
}

BOOST_AUTO_TEST_CASE(edges_of_tiles) {
  for (int64_t queries : {16, 127, 128, 129, 257})
    for (int64_t keys : {32, 63, 64, 65, 129}) {
      check("plain", forms[0].second, {{}, queries, keys, 16, 64, false});
      check("causal", forms[1].second, {{2}, queries, keys, 15, 33});
    }
  for (int64_t width : {1, 2, 15, 16, 17, 33, 100})
    for (int64_t columns : {1, 3, 64, 65, 127, 128})
      check("hidden", forms[2].second, {{2}, 40, 70, width, columns});
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take_is_right_too) {
  for (const auto& [name, f] : forms)
    for (const Extents& e : {Extents{{2}, 3, 40, 8, 8, false}, Extents{{2}, 40, 5, 8, 8, false},
                             Extents{{2}, 40, 40, 8, 130, false}, Extents{{0}, 40, 40, 8, 8, false},
                             Extents{{2}, 40, 40, 8, 0, false}, Extents{{2}, 0, 40, 8, 8, false}})
      check(name, f, e);
}

BOOST_AUTO_TEST_CASE(keys_that_heads_share) {
  const Tensor q = varied({2, 3, 40, 16}, float32, 1), k = varied({2, 1, 50, 16}, float32, 2),
               v = varied({2, 1, 50, 24}, float32, 3);
  reset_metrics();
  const auto got = scaled_dot_product_attention(q.to(cuda), k.to(cuda), v.to(cuda)).to_vector<double>();
  BOOST_TEST(metrics().tile_groups == 1u);
  const OnCpu host;
  BOOST_TEST(distance(got, scaled_dot_product_attention(q, k, v).to_vector<double>()) <= 4e-6);
}

BOOST_AUTO_TEST_CASE(heads_beside_each_other_in_memory) {
  const Tensor q = varied({2, 40, 3, 16}, float32, 1), k = varied({2, 50, 3, 16}, float32, 2),
               v = varied({2, 50, 3, 24}, float32, 3);
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(swapaxes(q, 1, 2), swapaxes(k, 1, 2), swapaxes(v, 1, 2), {}, true);
  };
  reset_metrics();
  const auto got = f(q.to(cuda), k.to(cuda), v.to(cuda)).to_vector<double>();
  BOOST_TEST(metrics().tile_groups == 1u);
  const OnCpu host;
  BOOST_TEST(distance(got, f(q, k, v).to_vector<double>()) <= 4e-6);
}

BOOST_AUTO_TEST_CASE(queries_that_see_nothing) {
  const Extents e{{2}, 40, 100, 16, 24};
  Operands o = operands(e);
  {
    const OnCpu host;
    const Tensor row = arange(40, int32)(_, newaxis), key = arange(100, int32);
    o.hidden = Tensor((row % 3 != 0) & (key >= 70)).eval();  // the first keys are hidden from all
    o.bias = Tensor(where(o.hidden, o.bias, -std::numeric_limits<double>::infinity())).eval();
  }
  for (const Form& f : {forms[2].second, forms[3].second, forms[6].second}) {
    const auto got = f(moved(o, cuda)).to_vector<double>();
    const OnCpu host;
    const auto wanted = f(o).to_vector<double>();
    BOOST_TEST(distance(got, wanted) <= 4e-6);
  }
}

BOOST_AUTO_TEST_CASE(infinities_and_nan) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double odd : {inf, -inf, nan, 1e30, -1e30})
    for (int64_t at : {0, 70, 99}) {
      const Extents e{{1}, 20, 100, 16, 24};
      Operands o = operands(e);
      {
        const OnCpu host;
        const Tensor there = (arange(20, int32)(_, newaxis) == 7) & (arange(100, int32) == at);
        o.bias = Tensor(where(there, odd, o.bias)).eval();
      }
      for (const Form& f : {forms[3].second, forms[6].second}) {
        const auto got = f(moved(o, cuda)).to_vector<double>();
        const OnCpu host;
        BOOST_TEST(distance(got, f(o).to_vector<double>()) <= 4e-6, odd << " at " << at);
      }
    }
}

BOOST_AUTO_TEST_CASE(what_is_hidden_by_order_and_a_number) {
  // Hidden keys count where they are hidden by something else than -inf.
  const auto f = [](const Operands& o, double hidden) {
    const Tensor x = where(arange(o.k.shape()[1]) <= arange(o.q.shape()[1])(_, newaxis), scores(o), hidden);
    return matmul(softmax(x), o.v);
  };
  const Operands o = operands({{2}, 40, 100, 16, 24}), there = moved(o, cuda);
  for (double hidden : {0.5, -std::numeric_limits<double>::infinity(), -3.0}) {
    const auto got = f(there, hidden).to_vector<double>();
    const OnCpu host;
    BOOST_TEST(distance(got, f(o, hidden).to_vector<double>()) <= 4e-6, hidden);
  }
}

// Keys that no query sees by their order are not looked at, wherever the mask is written: values there may be
// NaN.
BOOST_AUTO_TEST_CASE(keys_that_no_query_sees_are_not_looked_at) {
  const std::vector<Form> causal = {
      forms[1].second,
      [](const Operands& o) {  // the mask is of what is more than a product and a factor
        const Tensor row = arange(o.q.shape()[1])(_, newaxis), key = arange(o.k.shape()[1]);
        return matmul(softmax(where(key <= row, tanh(scores(o)) * 2, -INFINITY)), o.v);
      }};
  for (DType t : {float32, bfloat16})
    for (const Form& f : causal) {
      Operands o = operands({{2}, 150, 400, 16, 24}, t);
      const auto wanted = f(moved(o, cuda)).to_vector<double>();
      {
        const OnCpu host;
        o.v = where(arange(400)(_, newaxis) < 150, o.v, NAN).astype(t).eval();
      }
      BOOST_TEST((f(moved(o, cuda)).to_vector<double>() == wanted), name_of(t));
    }
}

BOOST_AUTO_TEST_CASE(weights_of_other_values_than_the_largest_is_of) {
  // This is no attention: one mask for the largest, another for the weights.
  const auto f = [](const Operands& o, const Tensor& first, const Tensor& second) {
    const double inf = std::numeric_limits<double>::infinity();
    const Tensor x = scores(o), top = max(where(first, x, -inf), {-1}, keepdims);
    const Tensor e = exp(where(second, x, -inf) - where(isfinite(top), top, 0.f));
    return matmul(e, o.v) / sum(e, {-1}, keepdims);
  };
  Operands o = operands({{2}, 40, 100, 16, 24});
  Tensor other;
  {
    const OnCpu host;
    other = Tensor(arange(40, int32)(_, newaxis) + arange(100, int32) < 50).eval();
    o.hidden = Tensor(o.hidden & (arange(40, int32)(_, newaxis) != 3)).eval();
  }
  const Operands there = moved(o, cuda);
  const Tensor other_there = other.to(cuda);
  for (bool same : {true, false, true}) {  // by the same program
    const auto got = f(there, there.hidden, same ? there.hidden : other_there).to_vector<double>();
    const OnCpu host;
    BOOST_TEST(distance(got, f(o, o.hidden, same ? o.hidden : other).to_vector<double>()) <= 2e-5, same);
  }
}

BOOST_AUTO_TEST_CASE(sums_in_order_give_the_bits_of_the_cpu) {
  const Override ordered("LAZY_CUDA_SUMS", "ordered");
  for (const auto& [name, f] : forms) {
    const Operands o = operands({{2}, 40, 70, 16, 24});
    const auto got = bits(f(moved(o, cuda)));
    const OnCpu host;
    BOOST_TEST((got == bits(f(o))), name);
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_kept_are_right) {
  const Operands o = operands({{2}, 40, 70, 16, 24});
  const auto f = [](const Operands& o) {
    const Tensor x = scores(o), e = exp(x - max(x, {-1}, keepdims)), total = sum(e, {-1}, keepdims);
    const Tensor y = matmul(e, o.v) / total;
    eval(y, total, x);
    std::vector<std::vector<double>> all;
    for (const Tensor& t : {y, total, x, e}) all.push_back(t.to_vector<double>());
    return all;
  };
  const auto got = f(moved(o, cuda));
  const OnCpu host;
  const auto wanted = f(o);
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(distance(got[i], wanted[i]) <= 2e-4, i);
}

BOOST_AUTO_TEST_CASE(sums_that_others_need_come_out_of_it) {
  const Operands o = operands({{2}, 40, 70, 16, 24});
  const auto f = [](const Operands& o) {
    const auto both = [&] {
      const Tensor x = scores(o), top = max(x, {-1}, keepdims), e = exp(x - top),
                   total = sum(e, {-1}, keepdims);
      return std::pair(Tensor(matmul(e, o.v) / total), Tensor(log(total) + top));
    }();
    eval(both.first, both.second);
    return std::pair(both.first.to_vector<double>(), both.second.to_vector<double>());
  };
  const auto got = f(moved(o, cuda));
  const OnCpu host;
  const auto wanted = f(o);
  BOOST_TEST(distance(got.first, wanted.first) <= 4e-6);
  BOOST_TEST(distance(got.second, wanted.second) <= 4e-6);
}

BOOST_AUTO_TEST_CASE(scores_take_no_memory) {
  const Operands o = moved(operands({{4}, 512, 512, 16, 16}), cuda);  // scores: 4 MiB
  forms[1].second(o).eval();
  gpu().allocator.release_kept();
  const size_t before = gpu().allocator.stats().used;
  const Tensor y = forms[1].second(o).eval();
  BOOST_TEST(gpu().allocator.stats().used + gpu().allocator.stats().kept - before <= size_t{1} << 20);
  BOOST_TEST(metrics().tile_groups > 0u);
}

BOOST_AUTO_TEST_CASE(verified_against_the_reference) {
  const Override verify("LAZY_VERIFY", "on");
  for (DType t : {float32, bfloat16})
    for (const auto& [name, f] : forms) {
      const Operands o = moved(operands({{2}, 40, 70, 16, 24}, t), cuda);
      reset_metrics();
      BOOST_TEST(thrown<Error>([&, f = f] { f(o).eval(); }) == "", name);
      BOOST_TEST(metrics().tile_groups == 1u, name);
    }
}

BOOST_AUTO_TEST_CASE(graphs_hold_them_too) {
  const Operands o = operands({{2}, 40, 70, 16, 24}), there = moved(o, cuda);
  const auto f = [](const Operands& o) { return forms[4].second(o) - sum(o.q, {0, 1, 2}); };
  const auto first = bits(f(there));
  for (int run = 0; run < 5; ++run) BOOST_TEST((bits(f(there)) == first));
  BOOST_TEST(metrics().graph_launches > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

// Runs in a separate process: once the real NVRTC was used, later compilations use it, too.
BOOST_FIXTURE_TEST_SUITE(tile_groups, OnGpu)

BOOST_AUTO_TEST_CASE(nvrtc_takes_them_for_every_architecture) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " + no_real_nvrtc());
    return;
  }
  const auto softmax_of_scores = [](const Operands& o) { return softmax(o.bias * 0.5); };
  std::map<std::string, Use> use;
  for (const auto& [name, f, t] : {std::tuple("attention_f32", forms[4].second, float32),
                                   std::tuple("attention_bf16", forms[4].second, bfloat16),
                                   std::tuple("attention_f16_by_hand", forms[5].second, float16),
                                   std::tuple("softmax", Form(softmax_of_scores), float32)}) {
    const std::string text = text_of(f, {{2}, 40, 70, 16, 24}, t);
    BOOST_REQUIRE(contains(text, "__global__"));
    for (int architecture : {75, 80, 90, 100}) {
      // Below sm_80 an attention of 16-bit floats has another text.
      if (architecture == 75 && contains(text, "_mma_")) continue;
      int n = 0;
      for (size_t from = 0, to = 0; from < text.size(); from = to) {
        to = std::min(text.find("// ---- another module", from + 1), text.size());
        const Compiled c = with_real_nvrtc(text.substr(from, to - from), architecture);
        BOOST_TEST(c.ok, name << ", " << architecture << ": " << c.log);
        for (const auto& g : cuda_backend::functions_in(c.log)) {
          if (!g.name.starts_with("lazy_")) continue;
          BOOST_TEST(g.spill_stores + g.spill_loads == 0, g.name << " spills, sm_" << architecture);
          if (architecture == 90)
            use[std::string(name) + "\t" + std::to_string(n++)] = {g.registers,
                                                                   g.spill_stores + g.spill_loads};
        }
      }
    }
  }
  compare_with_table("tile_groups.tsv", use);
}

BOOST_AUTO_TEST_SUITE_END()
