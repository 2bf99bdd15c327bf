// Answers questions about the loops of hand.cpp (serve.hpp): the side `hand` of bench/run.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "hand.hpp"
#include "inputs.hpp"
#include "row_sizes.hpp"
#include "serve.hpp"

namespace bench {
namespace {

using Column = std::vector<float>;

struct Data {
  std::vector<Column> in, out;
  std::vector<std::vector<int64_t>> in_shapes, out_shapes;

  void input(const std::vector<int64_t>& shape, float low = -1, float high = 1) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    in.push_back(uniform(n, low, high, in.size() + 1)), in_shapes.push_back(shape);
  }
  void output(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    out.emplace_back(static_cast<size_t>(n)), out_shapes.push_back(shape);
  }
};

/// Makes the call of a function of the data, which must have its inputs and outputs.
template <class F>
Call call_of(std::shared_ptr<Data> d, F f) {
  Call c;
  c.run = [d, f] { f(*d); };
  c.arrays = [d, f](Arrays& to) {
    f(*d);
    for (size_t i = 0; i < d->in.size(); ++i) to.in("float32", d->in_shapes[i], d->in[i].data());
    for (size_t i = 0; i < d->out.size(); ++i) to.out("float32", d->out_shapes[i], d->out[i].data());
  };
  return c;
}

std::vector<Row> rows;

using Four = void (*)(const float*, const float*, const float*, const float*, float*, size_t);

void add_four(const char* name, int64_t n, Four f) {
  rows.push_back({name, std::to_string(n), [n, f] {
                    auto d = std::make_shared<Data>();
                    for (int i = 0; i < 4; ++i) d->input({n});
                    d->output({n});
                    return call_of(d, [f](Data& x) {
                      f(x.in[0].data(), x.in[1].data(), x.in[2].data(), x.in[3].data(), x.out[0].data(),
                        x.out[0].size());
                    });
                  }});
}

/// Adds a function of rows, whose result has the input's shape, or one number a row if `reduces`.
template <class F>
void add_rows(const char* name, int64_t m, int64_t n, int vectors, bool reduces, F f) {
  rows.push_back({name, std::to_string(m) + "x" + std::to_string(n), [=] {
                    auto d = std::make_shared<Data>();
                    d->input({m, n});
                    for (int i = 0; i < vectors; ++i) d->input({n});
                    reduces ? d->output({m}) : d->output({m, n});
                    return call_of(
                        d, [f, m, n](Data& x) { f(x, static_cast<size_t>(m), static_cast<size_t>(n)); });
                  }});
}

void add_pointwise() {
  rows.push_back({"overhead_chain10", "16", [] {
                    auto d = std::make_shared<Data>();
                    for (int i = 0; i < 3; ++i) d->input({16});
                    d->output({16});
                    return call_of(d, [](Data& x) {
                      hand::chain10(x.in[0].data(), x.in[1].data(), x.in[2].data(), x.out[0].data(), 16);
                    });
                  }});
  for (const int64_t n : {1000, 100000, 1000000, 10000000}) {
    add_four("fused_chain", n, hand::fused_chain_accurate);
    add_four("arith_chain", n, hand::arith_chain);
  }
  rows.push_back({"black_scholes", "1000000", [] {
                    auto d = std::make_shared<Data>();
                    const std::vector<int64_t> n{1000000};
                    d->input(n, 80, 120), d->input(n, 80, 120), d->input(n, 0.1f, 2.1f),
                        d->input(n, 0.1f, 0.5f);
                    d->output(n), d->output(n);
                    return call_of(d, [](Data& x) {
                      hand::black_scholes(x.in[0].data(), x.in[1].data(), x.in[2].data(), x.in[3].data(),
                                          x.out[0].data(), x.out[1].data(), x.out[0].size());
                    });
                  }});
  rows.push_back({"mandelbrot100", "1000000", [] {
                    auto d = std::make_shared<Data>();
                    d->input({1000000}, -2, 1), d->input({1000000}, -1.2f, 1.2f);
                    d->output({1000000});
                    return call_of(d, [](Data& x) {
                      hand::mandelbrot(x.in[0].data(), x.in[1].data(), x.out[0].data(), x.out[0].size(), 100);
                    });
                  }});
}

void add_softmax(int64_t m, int64_t n) {
  add_rows("softmax", m, n, 0, false,
           [](Data& x, size_t r, size_t c) { hand::softmax(x.in[0].data(), x.out[0].data(), r, c); });
}

void add_norms(int64_t m, int64_t n) {
  add_rows("layernorm", m, n, 2, false, [](Data& x, size_t r, size_t c) {
    hand::layernorm(x.in[0].data(), x.in[1].data(), x.in[2].data(), x.out[0].data(), r, c);
  });
  add_rows("rmsnorm", m, n, 1, false, [](Data& x, size_t r, size_t c) {
    hand::rmsnorm(x.in[0].data(), x.in[1].data(), x.out[0].data(), r, c);
  });
}

void add_reductions(int64_t m, int64_t n) {
  const auto one = [&](const char* name, void (*f)(const float*, float*, size_t, size_t)) {
    add_rows(name, m, n, 0, true,
             [f](Data& x, size_t r, size_t c) { f(x.in[0].data(), x.out[0].data(), r, c); });
  };
  one("logsumexp", hand::logsumexp);
  one("argmax", hand::argmax);
  one("sum", hand::sum);
}

}  // namespace
}  // namespace bench

int main() {
  using namespace bench;
  const char* threads = std::getenv("LAZY_NUM_THREADS");
  hand::set_threads(threads ? std::max(1, std::atoi(threads)) : 1);
  add_pointwise();
  each_row_size(add_softmax, add_norms, add_reductions);
  return serve(rows, "loops by hand; GCC " + std::string(__VERSION__) + "; " + hand::instructions());
}
