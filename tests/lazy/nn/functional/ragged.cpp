// Tests sequences without padding, and attention over them, against attention over each sequence.

#include <fstream>
#include <random>

#include "lazy/autograd/gradient.hpp"
#include "support/config.hpp"
#include "tests/common/asked.hpp"
#include "tests/common/run_again.hpp"
#include "tests/lazy/autograd/gradient_check.hpp"

using namespace lazy;
using config::Override;

namespace {

Tensor wave(Shape shape, double frequency, DType t = float32) {
  return sin(reshape(arange(1, numel(shape) + 1, 1, float64), shape) * frequency).astype(t).eval();
}

unsigned drawn_seed() {
  const uint64_t seed = test::asked_seed();
  BOOST_TEST_MESSAGE("LAZY_TEST_SEED=" << seed);
  return static_cast<unsigned>(seed);
}

struct Sizes {
  int64_t heads, groups, depth, width;
};
struct Given {
  Ragged q, k, v;
  std::vector<int64_t> queries, keys;
};
std::vector<int64_t> drawn(std::mt19937& g, size_t count, int64_t most) {
  std::vector<int64_t> n(count);
  for (int64_t& x : n) x = std::uniform_int_distribution<int64_t>(0, most)(g);
  return n;
}
Ragged sequences(const std::vector<int64_t>& lengths, int64_t heads, int64_t width, double frequency,
                 DType t) {
  std::vector<Tensor> all;
  for (size_t n = 0; n < lengths.size(); ++n)
    all.push_back(wave({lengths[n], heads, width}, frequency + 0.01 * static_cast<double>(n), t));
  return ragged(all);
}
Given given(const Sizes& z, std::vector<int64_t> queries, std::vector<int64_t> keys, DType t = float32) {
  return {sequences(queries, z.heads, z.depth, 0.7, t), sequences(keys, z.groups, z.depth, 1.3, t),
          sequences(keys, z.groups, z.width, 0.9, t), queries, keys};
}

/// Computes attention of each sequence by itself, from ops, in double precision.
Tensor by_sequence(const Given& g, const Sizes& z, const VarlenOptions& o) {
  std::vector<Tensor> all;
  int64_t q0 = 0, k0 = 0;
  const double scale = o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(z.depth));
  for (size_t n = 0; n < g.queries.size(); ++n) {
    const int64_t l = g.queries[n], s = g.keys[n], shared = z.heads / z.groups;
    const auto rows = [&](const Tensor& x, int64_t from, int64_t count) {
      return permute(x(slice(from, from + count)).astype(float64), {1, 0, 2});
    };
    const Tensor q = rows(g.q.values, q0, l).reshape({z.groups, shared, l, z.depth});
    const Tensor k = rows(g.k.values, k0, s).reshape({z.groups, 1, s, z.depth});
    const Tensor v = rows(g.v.values, k0, s).reshape({z.groups, 1, s, z.width});
    q0 += l, k0 += s;
    if (l == 0) continue;
    if (s == 0) {
      all.push_back(zeros({l, z.heads, z.width}, float64));
      continue;
    }
    const Tensor place = (arange(l) + (s - l)).reshape({l, 1}), key = arange(s).reshape({1, s});
    Tensor seen = ones({l, s}, bool_);
    if (o.causal) seen = seen & (key <= place);
    if (o.window > 0) seen = seen & (abs(place - key) < o.window.value);
    Tensor x = matmul(q, swapaxes(k, -1, -2)) * scale;
    if (o.slopes.defined())
      x = x - o.slopes.astype(float64).reshape({z.groups, shared, 1, 1}) * abs(place - key).astype(float64);
    x = where(seen, x, -inf);
    const Tensor w = where(seen, exp(x - max(where(seen, x, -1e30), {-1}, keepdims)), 0.0);
    const Tensor total = sum(w, {-1}, keepdims);
    const Tensor y = where(total == 0.0, 0.0, matmul(w, v) / where(total == 0.0, 1.0, total));
    all.push_back(permute(y.reshape({z.heads, l, z.width}), {1, 0, 2}));
  }
  return all.empty() ? zeros({0, z.heads, z.width}, float64) : concat(all, 0);
}

void compare(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  BOOST_REQUIRE(got.shape() == expected.shape());
  const auto a = got.astype(float64).to_vector<double>(), b = expected.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (const double d = std::abs(a[i] - b[i]); !(d <= worst)) worst = d;
  BOOST_TEST(worst <= tolerance, what << ": off by " << worst);
}

std::vector<VarlenOptions> ways(int64_t heads) {
  Tensor slopes = exp2(-arange(1, heads + 1, 1, float32));
  return {{},
          {.causal = true},
          {.scale = 0.3, .window = 5},
          {.causal = true, .window = 7},
          {.causal = true, .slopes = slopes},
          {.window = 300, .slopes = slopes}};
}
std::string name_of_way(const Sizes& z, const VarlenOptions& o) {
  return std::to_string(z.heads) + "/" + std::to_string(z.groups) + " heads of " + std::to_string(z.depth) +
         ", " + std::to_string(z.width) + (o.causal ? ", causal" : "") + ", window " +
         std::to_string(o.window.value) + (o.slopes.defined() ? ", slopes" : "");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ragged_sequences)

BOOST_AUTO_TEST_CASE(to_and_from_padded) {
  const Tensor x = wave({3, 4, 2}, 0.7);
  const Ragged r = ragged(x, {4, 0, 3});
  BOOST_TEST(r.count() == 3);
  BOOST_TEST(r.offsets.to_vector<int64_t>() == (std::vector<int64_t>{0, 4, 4, 7}),
             boost::test_tools::per_element());
  BOOST_TEST(r.lengths().to_vector<int64_t>() == (std::vector<int64_t>{4, 0, 3}),
             boost::test_tools::per_element());
  const Tensor mask = arange(4).reshape({1, 4}) < asarray(std::vector<int64_t>{4, 0, 3}).reshape({3, 1});
  const auto expected = where(unsqueeze(mask, 2), x, -7.0f).to_vector<float>();
  BOOST_TEST(r.to_padded(4, -7).to_vector<float>() == expected, boost::test_tools::per_element());
  BOOST_TEST(r.to_padded(2).to_vector<float>() ==
                 where(unsqueeze(mask, 2), x, 0.0f)(slice(0, 3), slice(0, 2)).to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(r.to_padded(6).shape() == (Shape{3, 6, 2}));
  const Tensor lengths = asarray(std::vector<int32_t>{4, 0, 3});
  BOOST_TEST(ragged(x, lengths).values.to_vector<float>() == r.values.to_vector<float>(),
             boost::test_tools::per_element());
  const Ragged joined = ragged({x(0), x(1)(slice(0, 0)), x(2)(slice(0, 3))});
  BOOST_TEST(joined.values.to_vector<float>() == r.values.to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(ragged(x, {0, 0, 0}).to_padded(4, 2).to_vector<float>() == std::vector<float>(24, 2),
             boost::test_tools::per_element());
  // Gradients go there and back.
  const auto through = [&](const std::vector<Tensor>& in) { return ragged(in[0], {4, 0, 3}).to_padded(5); };
  check::two_orders("padding", through, {wave({3, 4, 2}, 0.7, float64)});
}

BOOST_AUTO_TEST_CASE(attends_within_each_sequence) {
  const unsigned seed = drawn_seed();
  std::mt19937 random(seed);
  for (const Sizes& z : {Sizes{2, 2, 16, 16}, Sizes{4, 2, 7, 5}, Sizes{3, 1, 64, 80}, Sizes{1, 1, 1, 1}})
    for (const VarlenOptions& o : ways(z.heads)) {
      for (const auto& lengths : {std::vector<int64_t>{5, 1, 0, 17}, drawn(random, 6, 70), {300, 2}, {0}}) {
        const Given self = given(z, lengths, lengths);
        compare(scaled_dot_product_attention(self.q, self.k, self.v, o).values, by_sequence(self, z, o), 3e-6,
                name_of_way(z, o));
      }
      const Given few = given(z, {1, 2, 0, 3}, {2500, 1030, 5, 1024});  // long keys of few queries are split
      compare(scaled_dot_product_attention(few.q, few.k, few.v, o).values, by_sequence(few, z, o), 3e-6,
              "few queries: " + name_of_way(z, o));
      const Given cross = given(z, {3, 40, 0, 1, 9}, {11, 33, 4, 600, 0});
      compare(scaled_dot_product_attention(cross.q, cross.k, cross.v, o).values, by_sequence(cross, z, o),
              3e-6, name_of_way(z, o));
    }
}

BOOST_AUTO_TEST_CASE(dtypes) {
  const Sizes z{2, 1, 24, 12};
  for (const auto& [t, tolerance] :
       {std::pair{float64, 1e-13}, {float32, 3e-6}, {float16, 2e-3}, {bfloat16, 1e-2}}) {
    const Given g = given(z, {50, 3}, {50, 3}, t);
    const Ragged y = scaled_dot_product_attention(g.q, g.k, g.v, {.causal = true});
    BOOST_TEST(name_of(y.values.dtype()) == name_of(t));
    compare(y.values, by_sequence(g, z, {.causal = true}), tolerance, name_of(t));
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_each_way) {
  for (const Sizes& z : {Sizes{2, 2, 16, 16}, Sizes{4, 2, 7, 5}})
    for (const VarlenOptions& o : ways(z.heads)) {
      const Given g = given(z, {5, 0, 130, 300, 2}, {5, 3, 70, 300, 0});
      const auto ours = [&](const std::vector<Tensor>& x) {
        return scaled_dot_product_attention(g.q.with(x[0]), g.k.with(x[1]), g.v.with(x[2]), o).values;
      };
      const auto theirs = [&](const std::vector<Tensor>& x) {
        Given h = g;
        h.q = g.q.with(x[0]), h.k = g.k.with(x[1]), h.v = g.v.with(x[2]);
        return by_sequence(h, z, o);
      };
      const std::vector<Tensor> at{g.q.values, g.k.values, g.v.values};
      const Pullback a = vjp(ours, at), b = vjp(theirs, at);
      const Tensor c = wave(a.value.shape(), 2.1);
      const auto x = a(c), y = b(c.astype(float64));
      for (size_t i = 0; i < 3; ++i)
        compare(x[i], y[i].astype(float64), 2e-5, name_of_way(z, o) + " " + std::to_string(i));
    }
}

BOOST_AUTO_TEST_CASE(second_derivatives) {
  const Sizes z{2, 1, 3, 2};
  const Given g = given(z, {2, 0, 3}, {2, 1, 4}, float64);
  const auto f = [&](const std::vector<Tensor>& x) {
    return scaled_dot_product_attention(g.q.with(x[0]), g.k.with(x[1]), g.v.with(x[2]), {.causal = true})
        .values;
  };
  check::two_orders("ragged attention", f, {g.q.values, g.k.values, g.v.values}, 1e-5);
}

BOOST_AUTO_TEST_CASE(keys_in_blocks) {
  const unsigned seed = drawn_seed();
  std::mt19937 random(seed);
  const Sizes z{4, 2, 16, 8};
  for (const int64_t page : {1, 4, 16}) {
    const Given g = given(z, {1, 3, 0, 20, 1}, {7, 3, 5, 33, 0});
    const int64_t pages = (33 + page - 1) / page, blocks = 5 * pages + 3;
    std::vector<int64_t> order(static_cast<size_t>(blocks)), table(static_cast<size_t>(5 * pages), -1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int64_t> rows;
    size_t next = 0;
    for (int64_t n = 0; n < 5; ++n)
      for (int64_t j = 0; j < g.keys[static_cast<size_t>(n)]; ++j) {
        int64_t& block = table[static_cast<size_t>(n * pages + j / page)];
        if (block < 0) block = order[next++];
        rows.push_back(block * page + j % page);
      }
    const auto pool = [&](int64_t width) {
      const Tensor none = full({blocks * page, z.groups, width}, std::nan(""), float32);  // nobody reads it
      return none.copy();
    };
    const auto put = [&](const Ragged& r, int64_t width) {
      Tensor all = pool(width);
      all(asarray(rows)) = r.values;
      return reshape(all, {blocks, page, z.groups, width});
    };
    const PagedKeys keys{put(g.k, z.depth), put(g.v, z.width), reshape(asarray(table), {5, pages}),
                         asarray(g.keys)};
    for (const VarlenOptions& o : ways(z.heads))
      compare(scaled_dot_product_attention(g.q, keys, o).values, by_sequence(g, z, o), 3e-6,
              "blocks of " + std::to_string(page) + ": " + name_of_way(z, o));
  }
}

BOOST_AUTO_TEST_CASE(one_program_for_all_lengths) {
  const Sizes z{2, 2, 8, 8};
  std::mt19937 random(3);
  const auto step = [&](size_t count) {
    const auto lengths = drawn(random, count, 60);
    const Given g = given(z, lengths, lengths);
    eval(g.q.values, g.k.values, g.v.values, g.q.offsets, g.k.offsets);
    scaled_dot_product_attention(g.q, g.k, g.v).values.eval();
    const uint64_t before = metrics().program_misses;
    (scaled_dot_product_attention(g.q, g.k, g.v, {.causal = true}).values * 2.0f).eval();
    return metrics().program_misses - before;
  };
  uint64_t compiled = 0;
  for (size_t i = 0; i < 300; ++i) compiled += step(1 + i % 9);
  BOOST_TEST(compiled <= (default_device() == Device{} ? 3u : 4u));
}

BOOST_AUTO_TEST_CASE(same_bits_on_any_number_of_threads) {
  const Sizes z{4, 2, 64, 64};
  const Given g = given(z, {700, 3, 1500, 64, 1}, {700, 3, 1500, 64, 5000});
  std::vector<std::vector<float>> all;
  for (const char* threads : {"1", "2", "5"}) {
    const Override with("LAZY_NUM_THREADS", threads);
    const auto f = [&](const std::vector<Tensor>& x) {
      return scaled_dot_product_attention(g.q.with(x[0]), g.k.with(x[1]), g.v.with(x[2]), {.causal = true})
          .values;
    };
    const Pullback p = vjp(f, {g.q.values, g.k.values, g.v.values});
    std::vector<float> bits = p.value.to_vector<float>();
    for (const Tensor& d : p(cos(p.value)))
      for (const float x : d.to_vector<float>()) bits.push_back(x);
    all.push_back(bits);
  }
  BOOST_TEST((all[0] == all[1]));
  BOOST_TEST((all[0] == all[2]));
}

/// Values that a query doesn't see, infinite or not, show in nothing.
BOOST_AUTO_TEST_CASE(hidden_values_stay_hidden) {
  const Sizes z{1, 1, 16, 16};
  Given g = given(z, {40}, {40});
  const auto expected =
      scaled_dot_product_attention(g.q, g.k, g.v, {.causal = true}).values(slice(0, 39)).to_vector<float>();
  for (const double bad : {std::nan(""), static_cast<double>(inf)}) {
    Tensor k = g.k.values.copy(), v = g.v.values.copy();
    k(39) = bad;
    v(39) = bad;
    const Tensor y = scaled_dot_product_attention(g.q, g.k.with(k), g.v.with(v), {.causal = true}).values;
    BOOST_TEST(y(slice(0, 39)).to_vector<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(std::isnan(y(39, 0, 0).item<float>()));
  }
  Tensor k = g.k.values.copy();
  k(0) = std::nan("");
  for (const float x : scaled_dot_product_attention(g.q, g.k.with(k), g.v).values.to_vector<float>())
    BOOST_TEST(std::isnan(x));
}

BOOST_AUTO_TEST_CASE(verified_and_eager) {
  const Sizes z{4, 2, 9, 5};
  const Given g = given(z, {5, 0, 70}, {5, 3, 71});
  for (const char* how : {"LAZY_EAGER", "LAZY_VERIFY"}) {
    const Override on(how, "1");
    reset_metrics();
    compare(scaled_dot_product_attention(g.q, g.k, g.v, {.causal = true}).values,
            by_sequence(g, z, {.causal = true}), 3e-6, how);
    BOOST_TEST(metrics().verify_failures == 0u);
  }
}

BOOST_AUTO_TEST_CASE(messages) {
  const Sizes z{2, 2, 4, 4};
  const Given g = given(z, {3, 2}, {3, 2});
  const auto attend = [&](const Ragged& q, const Ragged& k, const Ragged& v, const VarlenOptions& o = {}) {
    return scaled_dot_product_attention(q, k, v, o).values;
  };
  BOOST_CHECK_THROW(attend(g.q, g.k.with(wave({5, 2, 3}, 1)), g.v), ShapeError);
  BOOST_CHECK_THROW(g.q.with(wave({4, 2, 4}, 1)), ShapeError);
  BOOST_CHECK_THROW(attend(g.q, ragged(wave({2, 3, 1}, 1), {3, 2}), g.v), ShapeError);
  BOOST_CHECK_THROW(attend(g.q, ragged({wave({5, 2, 4}, 1)}), ragged({wave({5, 2, 4}, 1)})), ShapeError);
  BOOST_CHECK_THROW(attend(g.q, g.k, g.v, {.slopes = wave({3}, 1)}), ShapeError);
  BOOST_CHECK_THROW(attend(g.q, g.k, g.v, {.window = -1}), Error);
  BOOST_CHECK_THROW(attend({g.q.values, g.q.offsets.astype(float32)}, g.k, g.v), DtypeError);
  BOOST_CHECK_THROW(attend(g.q.with(arange(40).reshape({5, 2, 4})), g.k.with(arange(40).reshape({5, 2, 4})),
                           g.v.with(arange(40).reshape({5, 2, 4}))),
                    DtypeError);
  BOOST_CHECK_THROW(ragged(wave({2, 3}, 1), {1, 4}), ShapeError);
  BOOST_CHECK_THROW(ragged(wave({2, 3}, 1), {1}), ShapeError);
  BOOST_CHECK_THROW(ragged(wave({2, 3}, 1), wave({2}, 1)), DtypeError);
  BOOST_CHECK_THROW(ragged(std::vector<Tensor>{}), ShapeError);
  // Offsets are data: what is wrong with them is found when they are used, and the program goes on.
  const Tensor pool = wave({4, 2, 2, 4}, 1);
  const bool looked_at = default_device() == Device{};  // ops go where offsets say
  if (looked_at) {
    for (const auto& offsets : {std::vector<int64_t>{0, 4, 3}, {0, 3, 6}, {1, 3, 5}, {0, -1, 5}})
      BOOST_CHECK_THROW(attend({g.q.values, asarray(offsets)}, g.k, g.v).eval(), IndexError);
    for (const auto& [table, length] : {std::pair<int64_t, int64_t>{4, 2}, {-1, 2}, {0, 3}, {0, -1}}) {
      const Ragged one = ragged({wave({1, 2, 4}, 1)});
      BOOST_CHECK_THROW(scaled_dot_product_attention(
                            one, {pool, pool, full({1, 1}, table, int64), full({1}, length, int64)})
                            .values.eval(),
                        IndexError);
    }
    try {
      attend({g.q.values, asarray(std::vector<int64_t>{0, 4, 3})}, g.k, g.v).eval();
    } catch (const IndexError& e) {
      BOOST_TEST(std::string(e.what()).find("ragged.cpp") != std::string::npos, e.what());
    }
  }
  compare(attend(g.q, g.k, g.v), by_sequence(g, z, {}), 3e-6, "after errors");
  const PagedKeys keys{pool, pool, zeros({1, 1}, int64), ones({1}, int64)};
  const Ragged one = ragged({wave({1, 2, 4}, 1)});
  BOOST_CHECK_THROW(vjp(
                        [&](const std::vector<Tensor>& x) {
                          return scaled_dot_product_attention(one.with(x[0]), keys).values;
                        },
                        {one.values})(ones({1, 2, 4}, float32)),
                    Error);
}

/// Writes results to a file for the parent to compare; does nothing by itself.
BOOST_AUTO_TEST_CASE(bits_of_a_process) {
  const char* const to = std::getenv("LAZY_TEST_BITS");
  if (!to) return;
  const Sizes z{4, 2, 40, 24};
  const Given g = given(z, {300, 3, 64, 1, 2}, {300, 3, 64, 3000, 5});
  const auto f = [&](const std::vector<Tensor>& x) {
    return scaled_dot_product_attention(g.q.with(x[0]), g.k.with(x[1]), g.v.with(x[2]), {.causal = true})
        .values;
  };
  const Pullback p = vjp(f, {g.q.values, g.k.values, g.v.values});
  std::ofstream file(to, std::ios::binary);
  const auto write = [&](const Tensor& t) {
    const auto v = t.to_vector<float>();
    file.write(reinterpret_cast<const char*>(v.data()),
               static_cast<std::streamsize>(v.size() * sizeof(float)));
  };
  write(p.value);
  for (const Tensor& d : p(wave(p.value.shape(), 0.3))) write(d);
}

/// The plain functions, and the ops that it is made of elsewhere, pass the same tests; wide and narrow
/// vectors give the same bits. A process has one backend.
BOOST_AUTO_TEST_CASE(again_on_other_machines) {
  for (const char* isa : {"reference", "avx2"})
    test::run_again("ragged_sequences/attends*,gradients*,keys*", {{"LAZY_CPU_ISA", isa}});
  test::same_bits("ragged_sequences/bits_of_a_process", {{}, {{"LAZY_CPU_ISA", "avx2"}}});
}

BOOST_AUTO_TEST_SUITE_END()
