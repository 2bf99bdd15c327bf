// Goes through the steps of recurrent layers for some of the sequences of a batch, which do not depend on
// each other. Written once for all machines: a backend gives its own matrix product, and compiles the rest
// for its instructions by inlining it.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "jit/built_in/nn/recurrent.hpp"

#define LAZY_STEP [[gnu::always_inline]] inline

namespace lazy::jit::calls {

/// Holds a run's extents and memory, as recurrent.hpp names them; what is not asked for is null.
template <class T>
struct Recurrence {
  RecurrentAttributes how;
  int64_t steps, batch, units, outputs;            // T, N, R, P
  const T *x, *h0, *w, *c0, *w_r, *b_n;            // what the layer has
  const T* w_t;                                    // w transposed, forward
  const T* w_r_t;                                  // w_r transposed, forward
  T *y = nullptr, *saved = nullptr, *c = nullptr;  // forward
  const T *y_in = nullptr, *saved_in = nullptr;    // backward
  const T *g_y = nullptr, *g_c = nullptr;          // backward
  T *g_x = nullptr, *g_h0 = nullptr, *g_c0 = nullptr, *g_inner = nullptr;

  explicit Recurrence(const CallRun& r) : how(r.spec.as<RecurrentAttributes>()) {
    const Shape& shape = r.operands[0].shape;
    steps = shape[0], batch = shape[1], units = shape[2] / gates(), outputs = r.operands[1].shape[1];
    const auto in = [&](int i) { return reinterpret_cast<const T*>(r.in[i]); };
    const bool lstm = how.kind == RecurrentKind::lstm;
    x = in(0), h0 = in(1), w = in(2);
    c0 = lstm ? in(3) : nullptr;
    w_r = how.projected ? in(4) : nullptr;
    b_n = how.kind == RecurrentKind::gru ? in(3) : nullptr;
    w_t = w_r_t = nullptr;
  }
  int64_t gates() const { return gates_of(how.kind); }
  int64_t row() const { return gates() * units; }
  /// Returns the step that is the i-th to be done.
  int64_t step(int64_t i) const { return how.reverse ? steps - 1 - i : i; }
};

/// Returns e^x (Cephes' polynomial; within 2 ulp), in a form that compilers vectorise.
LAZY_STEP float step_exp(float x) {
  x = x < -87 ? -87.0f : x;
  x = x > 88 ? 88.0f : x;
  const float n = std::floor(x * 1.44269504088896341f + 0.5f);
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1;
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}
/// Returns 1 / (1 + e^-x); NaN stays.
LAZY_STEP float step_sigmoid(float x) {
  const float y = 1 / (1 + step_exp(-x));
  return x != x ? x : y;
}
LAZY_STEP float step_tanh(float x) {
  const float a = std::fabs(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * x + x;
  const float large = std::copysign(1 - 2 / (step_exp(2 * a) + 1), x);
  const float y = a < 0.625f ? small : large;
  return x != x ? x : y;
}
LAZY_STEP double step_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
LAZY_STEP double step_tanh(double x) { return std::tanh(x); }

/// Turns the gates of one sequence into c and h: `g` has them before and after.
template <class T>
LAZY_STEP void lstm_step(int64_t n, T* g, T* c, T* h) {
  for (int64_t j = 0; j < 3 * n; ++j) g[j] = j < 2 * n ? step_sigmoid(g[j]) : step_tanh(g[j]);
  for (int64_t j = 3 * n; j < 4 * n; ++j) g[j] = step_sigmoid(g[j]);
  for (int64_t j = 0; j < n; ++j) c[j] = g[n + j] * c[j] + g[j] * g[2 * n + j];
  for (int64_t j = 0; j < n; ++j) h[j] = g[3 * n + j] * step_tanh(c[j]);
}
/// `g` has r and z and h's part of n before, then r, z, n, and that part in `inner`; `x` has the inputs'
/// part.
template <class T>
LAZY_STEP void gru_step(int64_t n, const T* x, T* g, T* inner, T* h) {
  for (int64_t j = 0; j < 2 * n; ++j) g[j] = step_sigmoid(g[j]);
  for (int64_t j = 0; j < n; ++j) {
    inner[j] = g[2 * n + j];
    g[2 * n + j] = step_tanh(x[2 * n + j] + g[j] * inner[j]);
  }
  for (int64_t j = 0; j < n; ++j) h[j] = (1 - g[n + j]) * g[2 * n + j] + g[n + j] * h[j];
}
template <class T>
LAZY_STEP void plain_step(RecurrentKind kind, int64_t n, const T* g, T* h) {
  if (kind == RecurrentKind::tanh)
    for (int64_t j = 0; j < n; ++j) h[j] = step_tanh(g[j]);
  else
    for (int64_t j = 0; j < n; ++j) h[j] = g[j] < 0 ? T{0} : g[j];
}

/// Computes sequences [first, last). `add_product(c, a, b, rows, depth, columns)` adds the product of a
/// (rows, depth) and b (depth, columns) to c; all are row-major without gaps.
template <class T, class Product>
LAZY_STEP void recurrent_forward(const Recurrence<T>& r, int64_t first, int64_t last, Product&& add_product) {
  const int64_t rows = last - first, n = r.units, p = r.outputs, wide = r.row();
  const RecurrentKind kind = r.how.kind;
  std::vector<T> gates(rows * wide), h(r.h0 + first * p, r.h0 + last * p), c, inner(n), full;
  if (r.c0) c.assign(r.c0 + first * n, r.c0 + last * n);
  if (r.w_r_t) full.resize(rows * n);
  for (int64_t i = 0; i < r.steps; ++i) {
    const int64_t at = r.step(i) * r.batch + first;
    const T* const x = r.x + at * wide;
    std::copy_n(x, rows * wide, gates.data());
    if (r.b_n)
      for (int64_t b = 0; b < rows; ++b) std::copy_n(r.b_n, n, gates.data() + b * wide + 2 * n);
    add_product(gates.data(), h.data(), r.w_t, rows, p, wide);
    for (int64_t b = 0; b < rows; ++b) {
      T *const g = gates.data() + b * wide, *const out = r.w_r_t ? full.data() + b * n : h.data() + b * p;
      if (kind == RecurrentKind::lstm) lstm_step(n, g, c.data() + b * n, out);
      else if (kind == RecurrentKind::gru) gru_step(n, x + b * wide, g, inner.data(), out);
      else plain_step(kind, n, g, out);
      if (!r.saved || kind < RecurrentKind::lstm) continue;
      T* const s = r.saved + (at + b) * saved_of(kind) * n;
      std::copy_n(g, wide, s);
      std::copy_n(kind == RecurrentKind::lstm ? c.data() + b * n : inner.data(), n, s + wide);
    }
    if (r.w_r_t) {
      std::fill(h.begin(), h.end(), T{0});
      add_product(h.data(), full.data(), r.w_r_t, rows, n, p);
    }
    if (r.y) std::copy_n(h.data(), rows * p, r.y + at * p);
  }
  if (r.c) std::copy_n(c.data(), rows * n, r.c + first * n);
}

/// Takes the gradient of h in `g_h` and that of c, which it moves to the step before, to those of the gates.
template <class T>
LAZY_STEP void lstm_step_back(int64_t n, const T* s, const T* c_before, const T* g_h, T* g_c, T* g) {
  for (int64_t j = 0; j < n; ++j) {
    const T i = s[j], f = s[n + j], u = s[2 * n + j], o = s[3 * n + j], t = step_tanh(s[4 * n + j]);
    const T d = g_c[j] + g_h[j] * o * (1 - t * t);
    g[j] = d * u * i * (1 - i);
    g[n + j] = d * c_before[j] * f * (1 - f);
    g[2 * n + j] = d * i * (1 - u * u);
    g[3 * n + j] = g_h[j] * t * o * (1 - o);
    g_c[j] = d * f;
  }
}
/// Leaves in `g_h` what goes to h of the step before directly; `g` gets r, z and n, `g_in` r, z and h's part.
template <class T>
LAZY_STEP void gru_step_back(int64_t n, const T* s, const T* before, T* g_h, T* g, T* g_in) {
  for (int64_t j = 0; j < n; ++j) {
    const T r = s[j], z = s[n + j], u = s[2 * n + j], inner = s[3 * n + j];
    const T d = g_h[j] * (1 - z) * (1 - u * u);
    g[j] = g_in[j] = d * inner * r * (1 - r);
    g[n + j] = g_in[n + j] = g_h[j] * (before[j] - u) * z * (1 - z);
    g[2 * n + j] = d;
    g_in[2 * n + j] = d * r;
    g_h[j] *= z;
  }
}
template <class T>
LAZY_STEP void plain_step_back(RecurrentKind kind, int64_t n, const T* y, const T* g_h, T* g) {
  if (kind == RecurrentKind::tanh)
    for (int64_t j = 0; j < n; ++j) g[j] = g_h[j] * (1 - y[j] * y[j]);
  else
    for (int64_t j = 0; j < n; ++j) g[j] = y[j] > 0 ? g_h[j] : T{0};
}

/// Computes the gradients of sequences [first, last).
template <class T, class Product>
LAZY_STEP void recurrent_backward(const Recurrence<T>& r, int64_t first, int64_t last,
                                  Product&& add_product) {
  const int64_t rows = last - first, n = r.units, p = r.outputs, wide = r.row();
  const RecurrentKind kind = r.how.kind;
  const bool lstm = kind == RecurrentKind::lstm, gru = kind == RecurrentKind::gru;
  std::vector<T> g_h(rows * p), g_c, g(rows * wide), g_in(gru ? rows * wide : 0), full(r.w_r ? rows * n : 0);
  if (lstm) g_c.assign(r.g_c + first * n, r.g_c + last * n);
  for (int64_t i = r.steps - 1; i >= 0; --i) {
    const int64_t at = r.step(i) * r.batch + first, before = i ? r.step(i - 1) * r.batch + first : 0;
    for (int64_t j = 0; j < rows * p; ++j) g_h[j] += r.g_y[at * p + j];
    if (r.w_r) {
      if (r.g_inner) std::copy_n(g_h.data(), rows * p, r.g_inner + at * p);
      std::fill(full.begin(), full.end(), T{0});
      add_product(full.data(), g_h.data(), r.w_r, rows, p, n);
    }
    const int64_t kept = saved_of(kind) * n;
    for (int64_t b = 0; b < rows; ++b) {
      const T* const s = r.saved_in + (at + b) * kept;
      T *const to = g.data() + b * wide, *const from = r.w_r ? full.data() + b * n : g_h.data() + b * p;
      const T* const h = i ? r.y_in + (before + b) * p : r.h0 + (first + b) * p;
      if (lstm)
        lstm_step_back(n, s, i ? r.saved_in + (before + b) * kept + wide : r.c0 + (first + b) * n, from,
                       g_c.data() + b * n, to);
      else if (gru) gru_step_back(n, s, h, from, to, g_in.data() + b * wide);
      else plain_step_back(kind, n, r.y_in + (at + b) * p, from, to);
      if (gru && r.g_inner) std::copy_n(g_in.data() + b * wide + 2 * n, n, r.g_inner + (at + b) * n);
    }
    if (r.g_x) std::copy_n(g.data(), rows * wide, r.g_x + at * wide);
    if (!gru) std::fill(g_h.begin(), g_h.end(), T{0});
    add_product(g_h.data(), gru ? g_in.data() : g.data(), r.w, rows, wide, p);
  }
  if (r.g_h0) std::copy_n(g_h.data(), rows * p, r.g_h0 + first * p);
  if (r.g_c0) std::copy_n(g_c.data(), rows * n, r.g_c0 + first * n);
}

/// Transposes rows x columns.
template <class T>
std::vector<T> transposed(const T* from, int64_t rows, int64_t columns) {
  std::vector<T> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  return to;
}

/// Sets up a run of `recurrent`, or of `recurrent_backward`.
template <class T>
Recurrence<T> recurrence_of(const CallRun& r, bool backward) {
  Recurrence<T> s(r);
  const auto in = [&](size_t i) { return reinterpret_cast<const T*>(r.in[i]); };
  const auto out = [&](size_t i) { return i < r.outputs.size() ? reinterpret_cast<T*>(r.out[i]) : nullptr; };
  const bool lstm = s.how.kind == RecurrentKind::lstm;
  if (!backward) {
    s.y = out(0), s.saved = out(1), s.c = lstm ? out(2) : nullptr;
    return s;
  }
  const auto own = static_cast<size_t>(recurrent_operands(s.how));
  s.y_in = in(own), s.saved_in = in(own + 1), s.g_y = in(own + 2), s.g_c = lstm ? in(own + 3) : nullptr;
  s.g_x = out(0), s.g_h0 = out(1), s.g_c0 = lstm ? out(2) : nullptr;
  s.g_inner = lstm ? out(3) : out(2);
  return s;
}

}  // namespace lazy::jit::calls
