// Tests what is kept beside inputs that stay as they are: layouts of weights, casts, packs for products, and
// what is computed from weights alone.
#include <thread>

#include "lazy/core/unchanging.hpp"
#include "tests/common/forked.hpp"
#include "tests/common/fresh.hpp"

using namespace lazy;
using config::Override;
using detail::mark_unchanging;

namespace {

/// Starts without anything that is kept.
struct Fixture : fresh::Fixture {
  Fixture() {
    release_memory();
    reset_metrics();
  }
  ~Fixture() { release_memory(); }
};

Tensor image() { return fresh::numbers({9, 72}) * 0.01f; }
Tensor weights() { return (sin(fresh::numbers({16, 8, 3, 3})) * 1.0f).eval(); }
Tensor marked(const Tensor& t) {
  mark_unchanging(t);
  return t;
}
/// Multiplies by weights (results, ...), which are read as a matrix (..., results).
Tensor product(const Tensor& x, const Tensor& w) {
  return matmul(x, reshape(permute(w, {2, 1, 3, 0}), {72, w.size(0)}));
}
std::vector<float> multiplied(const Tensor& x, const Tensor& w) { return product(x, w).to_vector<float>(); }

template <class F>
auto without_kept(F&& f) {
  const Override off("LAZY_KEEP_MB", "0");
  return f();
}
std::vector<float> without_copies(const Tensor& x, const Tensor& w) {
  return without_kept([&] { return multiplied(x, w); });
}
template <class T>
void same(const std::vector<T>& a, const std::vector<T>& b) {
  BOOST_TEST(a == b, boost::test_tools::per_element());
}
/// Returns values near 0, of any dtype, that exist.
Tensor numbers(Shape shape, DType t = float32) {
  return (floor(sin(fresh::numbers(shape)) * 7.0f)).astype(t).eval();
}
std::vector<double> all_of(const Tensor& t) { return t.astype(float64).to_vector<double>(); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kept_results, Fixture)

BOOST_AUTO_TEST_CASE(a_relayout_is_kept_when_it_is_asked_for_again) {
  const Tensor x = image().eval(), w = weights();
  const std::vector<float> first = multiplied(x, w);
  BOOST_TEST(metrics().results_reused == 0u);
  BOOST_TEST(metrics().bytes_kept == 0u);
  const uint64_t live = metrics().bytes_live, launches = metrics().launches;
  same(multiplied(x, w), first);
  const uint64_t of_a_run = metrics().launches - launches;
  BOOST_TEST(metrics().results_reused == 0u);
  BOOST_TEST(metrics().results_kept == 1u);
  BOOST_TEST(metrics().bytes_live > live);
  BOOST_TEST(metrics().bytes_kept >= w.nbytes());
  same(multiplied(x, w), first);
  BOOST_TEST(metrics().results_reused == 1u);
  BOOST_TEST(metrics().launches - launches == 2 * of_a_run - 1);
  same(without_copies(x, w), first);
}

BOOST_AUTO_TEST_CASE(of_marked_memory_it_is_kept_at_once) {
  const Tensor x = image().eval(), w = marked(weights());
  const std::vector<float> first = multiplied(x, w);
  BOOST_TEST(metrics().results_kept == 1u);
  const uint64_t launches = metrics().launches;
  same(multiplied(x, w), first);
  BOOST_TEST(metrics().results_reused == 1u);
  BOOST_TEST(metrics().launches - launches == 1u);
  same(without_copies(x, w), first);
}

BOOST_AUTO_TEST_CASE(results_go_with_their_input) {
  const Tensor x = image().eval();
  const uint64_t live = metrics().bytes_live;
  for (const bool mark : {false, true}) {
    Tensor w = weights();
    if (mark) mark_unchanging(w);
    const uint64_t reused = metrics().results_reused;
    for (int i = 0; i < 4; ++i) multiplied(x, w);
    BOOST_TEST(metrics().results_reused >= reused + 2);
    BOOST_TEST(metrics().bytes_kept > 0u);
    w = Tensor();
    BOOST_TEST(metrics().bytes_live == live);
    BOOST_TEST(metrics().bytes_kept == 0u);
  }
}

// Weights are written to in place, completely or in part.
BOOST_AUTO_TEST_CASE(an_input_that_changes_is_laid_out_anew) {
  const Tensor x = image().eval();
  Tensor w = weights();
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 3; ++k) same(multiplied(x, w), without_copies(x, w));
    w = w * 1.5f + 0.25f;
    w.eval();
    same(multiplied(x, w), without_copies(x, w));
    w(3, _) = static_cast<float>(i);
    w.eval();
  }
  BOOST_TEST(metrics().results_reused >= 5u);
  BOOST_TEST(metrics().bytes_donated > 0u);
}

// A variable whose memory is marked gets memory of its own when it is updated.
BOOST_AUTO_TEST_CASE(marked_memory_is_never_written_to) {
  std::vector<float> mine = weights().to_vector<float>();
  const std::vector<float> before = mine;
  const Tensor x = image().eval();
  Tensor w = marked(from_blob(mine.data(), {16, 8, 3, 3}));
  multiplied(x, w);
  w = w * 1.5f;
  w.eval();
  w(3, _) = 2.0f;
  for (int i = 0; i < 3; ++i) same(multiplied(x, w), without_copies(x, w));
  BOOST_TEST((mine == before));

  Tensor own = (weights() * 1.0f).eval();
  mark_unchanging(own);
  const float* const at = own.data<float>();
  const uint64_t donated = metrics().bytes_donated;
  own = tanh(std::move(own));
  own.eval();
  BOOST_TEST(own.data<float>() != at);
  BOOST_TEST(metrics().bytes_donated == donated);
}

BOOST_AUTO_TEST_CASE(the_users_memory_may_change_at_any_time) {
  const Tensor x = image().eval();
  std::vector<float> mine = weights().to_vector<float>();
  const Tensor w = from_blob(mine.data(), {16, 8, 3, 3});
  for (int i = 0; i < 4; ++i) {
    for (float& v : mine) v = v * 0.5f + 1;
    same(multiplied(x, w), multiplied(x, w.copy()));
  }
  BOOST_TEST(metrics().bytes_kept == 0u);
}

BOOST_AUTO_TEST_CASE(views_of_one_buffer_have_results_of_their_own) {
  const Tensor x = image().eval(), all = (cos(fresh::numbers({32, 8, 3, 3})) * 1.0f).eval();
  for (const bool mark : {false, true}) {
    if (mark) mark_unchanging(all);
    const Tensor low = all(slice(0, 16)), high = all(slice(16, 32)), other = all(slice(0, 32, 2));
    for (int i = 0; i < 4; ++i)
      for (const Tensor& w : {low, high, other}) same(multiplied(x, w), without_copies(x, w));
    BOOST_TEST(metrics().results_reused > 0u);
  }
}

// A fold of scale, variance and weights is a chain of steps, all of which run once.
BOOST_AUTO_TEST_CASE(what_is_computed_from_weights_alone_is_computed_once) {
  const Tensor x = image().eval(), w = marked(weights());
  const Tensor gamma = marked(numbers({16})), samples = marked(numbers({40, 16}));
  const auto folded = [&] {
    const Tensor scale = gamma / sqrt(var(samples, {0}) + 1e-5f);
    return multiplied(x, w * reshape(scale, {16, 1, 1, 1}));
  };
  const uint64_t before = metrics().launches;
  const std::vector<float> first = folded();
  const uint64_t once = metrics().launches, kept = metrics().results_kept;
  BOOST_TEST(once - before > 2u);
  BOOST_TEST(kept == once - before - 1);
  same(folded(), first);
  BOOST_TEST(metrics().launches - once == 1u);
  BOOST_TEST(metrics().results_kept == kept);
  same(without_kept(folded), first);
}

BOOST_AUTO_TEST_CASE(one_input_that_may_change_is_enough_to_compute_it_again) {
  const Tensor x = image().eval(), w = marked(weights());
  for (int i = 0; i < 3; ++i) {
    const Tensor scale = (numbers({16}) + static_cast<float>(i)).eval();
    const auto folded = [&] { return multiplied(x, w * reshape(scale, {16, 1, 1, 1})); };
    same(folded(), without_kept(folded));
  }
  BOOST_TEST(metrics().bytes_kept == 0u);
}

BOOST_AUTO_TEST_CASE(scalars_and_dtypes_are_part_of_what_is_kept) {
  const Tensor x = image().eval(), w = marked(weights());
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5; ++i) {
      const auto scaled = [&] { return multiplied(x, w * (1.0f + static_cast<float>(i))); };
      same(scaled(), without_kept(scaled));
      const auto rounded = [&] {
        return multiplied(x, w.astype(i % 2 ? float16 : bfloat16).astype(float32));
      };
      same(rounded(), without_kept(rounded));
    }
  BOOST_TEST(metrics().results_reused > 0u);
}

// A weight under another scalar each time leaves a few results, not one for each.
BOOST_AUTO_TEST_CASE(what_is_never_asked_for_again_stays_little) {
  const Tensor x = image().eval(), w = marked(weights());
  for (int i = 0; i < 200; ++i) multiplied(x, w * (1.0f + static_cast<float>(i)));
  BOOST_TEST(metrics().bytes_kept < 40 * w.nbytes());
  BOOST_TEST(metrics().results_evicted > 100u);
}

BOOST_AUTO_TEST_CASE(a_tensors_value_is_the_tensors) {
  const Tensor w = marked(weights());
  Tensor half = (w * 0.5f).eval();
  BOOST_TEST(metrics().bytes_kept == 0u);
  const float* const at = half.data<float>();
  half = tanh(std::move(half));
  half.eval();
  BOOST_TEST(half.data<float>() == at);
}

BOOST_AUTO_TEST_CASE(the_limit_holds) {
  const Tensor x = numbers({128, 512});
  const Override limit("LAZY_KEEP_MB", "3");
  std::vector<Tensor> all;  // a packed copy takes 1 MiB and a little
  for (int i = 0; i < 6; ++i) all.push_back(marked(numbers({512, 512})));
  const auto pass = [&] {
    for (const Tensor& w : all)
      same(matmul(x, w.T()).to_vector<float>(),
           without_kept([&] { return matmul(x, w.T()).to_vector<float>(); }));
    BOOST_TEST(metrics().bytes_kept <= 3u << 20);
  };
  pass();
  BOOST_TEST(metrics().results_kept == 2u);
  // What doesn't fit pushes nothing out that is used as often.
  for (int i = 0; i < 3; ++i) pass();
  BOOST_TEST(metrics().results_evicted == 0u);
  BOOST_TEST(metrics().results_reused == 6u);
  // What is not used any more goes for what is.
  const Tensor& last = all.back();
  for (int i = 0; i < 3; ++i) matmul(x, last.T()).eval();
  BOOST_TEST(metrics().results_evicted == 1u);
  BOOST_TEST(metrics().results_reused >= 8u);
}

// A recurrence over the copy overwrites its state in one flush: the copy's memory is not taken over.
BOOST_AUTO_TEST_CASE(a_kept_copy_is_not_handed_on) {
  for (const bool mark : {false, true}) {
    const Tensor w = (sin(fresh::numbers({72, 8, 3, 3})) * 0.05f).eval();
    if (mark) mark_unchanging(w);
    std::vector<float> expected;
    for (int round = 0; round < 6; ++round) {
      Tensor x = image().eval(), v = (x * 0.1f).eval();
      for (int t = 0; t < 6; ++t) {
        v = 0.9f * v - 0.1f * product(x, w);
        x = x + v;
      }
      const std::vector<float> found = x.to_vector<float>();
      if (round == 0) expected = found;
      same(found, expected);
    }
    BOOST_TEST(metrics().results_reused > 0u);
  }
}

// The last step may overwrite what the steps before it made, but not what is kept.
BOOST_AUTO_TEST_CASE(a_kept_result_gives_its_memory_to_nothing) {
  const Tensor w = marked(numbers({64, 65})), v = marked(numbers({64, 65}));
  Tensor x = numbers({64, 65});
  const auto computed = [&] {
    const Tensor c = cumsum(cumsum(w, 1), 1) + cumsum(v, 0);  // of weights alone
    return (cumsum(c, 0) * x + x).to_vector<float>();
  };
  const std::vector<float> expected = without_kept(computed);
  for (int i = 0; i < 3; ++i) same(computed(), expected);
  BOOST_TEST(metrics().results_reused > 0u);
  x = x * 2;  // in place, before the rest runs
  const std::vector<float> doubled = without_kept(computed);
  for (int i = 0; i < 3; ++i) same(computed(), doubled);
}

BOOST_AUTO_TEST_CASE(threads_share_results) {
  for (const bool mark : {false, true}) {
    const Tensor x = image().eval(), w = weights();
    if (mark) mark_unchanging(w);
    const std::vector<float> expected = without_copies(x, w);
    const uint64_t kept = metrics().results_kept, reused = metrics().results_reused;
    std::vector<std::thread> threads;
    std::vector<int> good(4, 0);
    for (size_t t = 0; t < good.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) good[t] += multiplied(x, w) == expected;
      });
    for (std::thread& t : threads) t.join();
    for (int g : good) BOOST_TEST(g == 50);
    BOOST_TEST(metrics().results_reused - reused > 100u);
    BOOST_TEST(metrics().results_kept - kept == 1u);
  }
}

// Threads keep, forget and push out at once.
BOOST_AUTO_TEST_CASE(threads_mark_and_drop) {
  const Tensor x = numbers({96, 256});
  const Override limit("LAZY_KEEP_MB", "1");
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  const Tensor shared = marked(numbers({256, 256}));
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const Tensor w = marked((numbers({256, 256}) + static_cast<float>(i)).eval());
        const Tensor ones = full({96, 256}, 1.0f).eval();
        const auto both = [&] {
          return std::pair(matmul(x, shared.T()).to_vector<float>(), matmul(ones, w.T()).to_vector<float>());
        };
        const auto first = both();
        good[t] += both() == first && both() == first;
        if (i % 7 == 0) release_memory();
      }
    });
  for (std::thread& t : threads) t.join();
  for (int g : good) BOOST_TEST(g == 20);
}

BOOST_AUTO_TEST_CASE(a_forked_child_goes_on) {
  const Tensor x = image().eval(), w = marked(weights());
  const std::vector<float> expected = multiplied(x, w);
  BOOST_TEST(
      test::good_in_child([&] { return multiplied(x, w) == expected && multiplied(x, w) == expected; }));
  same(multiplied(x, w), expected);
}

BOOST_AUTO_TEST_CASE(memory_that_runs_out_takes_what_is_kept) {
  fresh::Probe& probe = fresh::Probe::instance();
  const fresh::Probe::Hooks hooks;
  const Tensor x = image().eval(), w = marked(weights());
  const std::vector<float> expected = without_copies(x, w);
  // No memory for what is kept: it is computed like any other value.
  int asked = 0;
  probe.on_allocate = [&](size_t bytes) {
    if (bytes == w.nbytes() && asked++ == 0) throw DeviceError("none left", Site{});
  };
  same(multiplied(x, w), expected);
  BOOST_TEST(asked == 1);
  BOOST_TEST(metrics().bytes_kept == 0u);
  same(multiplied(x, w), expected);
  BOOST_TEST(metrics().bytes_kept > 0u);
  // No memory for a value: what is kept gives way.
  bool thrown = false;
  probe.on_allocate = [&](size_t bytes) {
    if (bytes == 12345 * sizeof(float) && !std::exchange(thrown, true))
      throw DeviceError("none left", Site{});
  };
  Tensor(full({12345}, 1.0f) + fresh::numbers({1})).eval();
  BOOST_TEST(thrown);
  BOOST_TEST(metrics().bytes_kept == 0u);
  same(multiplied(x, w), expected);
}

BOOST_AUTO_TEST_CASE(the_log_and_the_metrics_tell_of_them) {
  const Tensor x = image().eval(), w = marked(weights());
  const Override log("LAZY_LOG", "memory");
  const std::string text = fresh::standard_error_of([&] { multiplied(x, w); });
  BOOST_TEST(fresh::contains(text, " kept for later runs"), text);
  BOOST_TEST(!fresh::contains(text, " 0 B kept"), text);
  BOOST_TEST(fresh::contains(to_string(metrics()), "bytes_kept"));
  BOOST_TEST(metrics().bytes_kept > 0u);
  release_memory();
  BOOST_TEST(metrics().bytes_kept == 0u);
}

BOOST_AUTO_TEST_CASE(op_by_op_and_verified) {
  const Tensor x = image().eval(), w = marked(weights());
  const std::vector<float> expected = without_copies(x, w);
  for (const auto& [name, value] : {std::pair{"LAZY_EAGER", "1"}, std::pair{"LAZY_VERIFY", "1"}}) {
    const Override setting(name, value);
    for (int i = 0; i < 3; ++i) same(multiplied(x, w), expected);
  }
  BOOST_TEST(metrics().verify_failures == 0u);
}

// Steps that share outer dimensions run block by block, but not those whose results are there.
BOOST_AUTO_TEST_CASE(steps_of_tile_groups) {
  const Override blocks("LAZY_BLOCK_BYTES", "1");
  const Tensor w = marked(numbers({64, 48})), x = numbers({64, 48});
  const auto computed = [&] {
    const Tensor soft = exp(w - max(w, {1}, keepdims)), total = sum(soft, {1}, keepdims);
    return (sum(soft / total * x, {1}, keepdims) + x).to_vector<float>();
  };
  const std::vector<float> expected = without_kept(computed);
  for (int i = 0; i < 3; ++i) same(computed(), expected);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(kept_packs, Fixture)

BOOST_AUTO_TEST_CASE(one_packed_copy_serves_any_number_of_rows) {
  for (const DType t : {float32, float64}) {
    const Tensor w = marked(numbers({200, 300}, t)), all = numbers({300, 300}, t);
    const uint64_t kept = metrics().results_kept;
    for (int round = 0; round < 2; ++round)
      for (const int64_t rows : {1, 2, 5, 24, 25, 96, 128, 300}) {
        const Tensor x = all(slice(0, rows)).copy().eval();
        const auto of = [&] { return linear(x, w).to_vector<double>(); };
        same(of(), without_kept(of));
      }
    BOOST_TEST(metrics().results_kept - kept == 1u);
    BOOST_TEST(metrics().results_reused >= 10u);
  }
}

BOOST_AUTO_TEST_CASE(of_every_dtype) {
  for (const DType t : {float32, float64, float16, bfloat16, int8, uint8, int16, uint16, int32})
    for (const int64_t columns : {1, 7, 64, 211})
      for (const int64_t depth : {3, 130, 3300}) {
        if (depth > 200 && columns > 64) continue;
        const Tensor w = marked(numbers({columns, depth}, t));
        for (const int64_t rows : {1, 3, 128}) {
          const Tensor x = numbers({rows, depth}, t);
          const auto of = [&] { return all_of(matmul(x, w.T())); };
          BOOST_TEST_CONTEXT(name_of(t) << ", " << rows << " by " << depth << " by " << columns) {
            const auto expected = without_kept(of);
            BOOST_TEST((of() == expected));
            BOOST_TEST((of() == expected));
          }
        }
      }
  BOOST_TEST(metrics().results_reused > 50u);
}

// A weight that is cast before the product is read, packed and cast at once.
BOOST_AUTO_TEST_CASE(of_cast_weights) {
  const Tensor w = marked(numbers({130, 140}, bfloat16)), x = numbers({128, 140});
  const auto of = [&] { return linear(x, w.astype(float32)).to_vector<float>(); };
  const std::vector<float> expected = without_kept(of);
  same(of(), expected);
  const uint64_t kept = metrics().results_kept;
  BOOST_TEST(kept > 0u);
  same(of(), expected);
  BOOST_TEST(metrics().results_kept == kept);
  BOOST_TEST(metrics().results_reused > 0u);
}

BOOST_AUTO_TEST_CASE(of_slices_strides_and_batches) {
  const Tensor all = marked(numbers({6, 150, 160}));
  const Tensor x = numbers({100, 160}), batch = numbers({6, 100, 160}), few = numbers({6, 1, 160});
  const auto test = [&](auto&& of) {
    const auto values = [&] { return of().template to_vector<float>(); };
    const std::vector<float> expected = without_kept(values);
    for (int i = 0; i < 3; ++i) same(values(), expected);
  };
  for (int i = 0; i < 6; ++i) test([&] { return matmul(x, all(i).T()); });
  test([&] { return matmul(x, all(1, slice(3, 140, 2)).T()); });
  test([&] { return matmul(batch, all(2).T()); });
  test([&] { return matmul(batch, permute(all, {0, 2, 1})); });
  test([&] { return matmul(few, permute(all, {0, 2, 1})); });
  test([&] { return matmul(x, permute(all, {0, 2, 1})); });
  test([&] { return matmul(x(_, slice(0, 150)), all(3)); });
  BOOST_TEST(metrics().results_reused > 10u);
}

// The pack is no part of what a product with another right side reads.
BOOST_AUTO_TEST_CASE(with_epilogues_and_other_sides) {
  const Tensor w = marked(numbers({96, 128})), v = numbers({96, 128}), x = numbers({100, 128}),
               bias = numbers({96});
  for (int i = 0; i < 3; ++i)
    for (const Tensor& side : {w, v}) {
      const auto of = [&] { return tanh(linear(x, side, bias) * 0.01f).to_vector<float>(); };
      same(of(), without_kept(of));
      const auto left = [&] { return matmul(side, x.T()).to_vector<float>(); };
      same(left(), without_kept(left));
      const auto itself = [&] { return matmul(side, side.T()).to_vector<float>(); };
      same(itself(), without_kept(itself));
    }
}

BOOST_AUTO_TEST_CASE(threads_make_one) {
  const Tensor w = marked(numbers({300, 310})), x = numbers({128, 310});
  const auto of = [&] { return linear(x, w).to_vector<float>(); };
  const std::vector<float> expected = without_kept(of);
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) good[t] += of() == expected;
    });
  for (std::thread& t : threads) t.join();
  for (int g : good) BOOST_TEST(g == 10);
  BOOST_TEST(metrics().results_kept == 1u);
}

// Blocks of an attention, or of a product whose result goes through a softmax, read one packed side.
BOOST_AUTO_TEST_CASE(in_tile_groups) {
  for (const char* bytes : {"0", "1", "20000"}) {
    const Override blocks("LAZY_BLOCK_BYTES", bytes);
    const Tensor k = marked(numbers({2, 100, 64})), v = marked(numbers({2, 100, 64})),
                 q = numbers({2, 130, 64});
    const Tensor w = marked(numbers({90, 64}));
    const auto attention = [&] { return scaled_dot_product_attention(q, k, v).to_vector<float>(); };
    const auto soft = [&] { return softmax(linear(q, w), -1).to_vector<float>(); };
    same(attention(), without_kept(attention));
    same(soft(), without_kept(soft));
    same(attention(), without_kept(attention));
    same(soft(), without_kept(soft));
  }
}

BOOST_AUTO_TEST_SUITE_END()
