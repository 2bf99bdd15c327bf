// Has the steps of recurrent layers for vectors of one width. Included by the file of each, after its lanes.
// Every element is computed in one order, so the width changes no bit.
#pragma once
#include "backends/cpu/calls/lanes_product.hpp"
#include "backends/cpu/calls/recurrent.hpp"

namespace lazy::cpu_backend::recurrent {
namespace {

LAZY_LEVEL_INLINE Vector<float> sigmoid(Vector<float> x) {
  using L = Lanes<float>;
  return L::all(1) / (L::all(1) + exponential(-x));
}
LAZY_LEVEL_INLINE Vector<float> hyperbolic(Vector<float> x) {
  using L = Lanes<float>;
  const auto a = L::magnitude(x), z = x * x;
  auto p = L::all(-5.70498872745e-3f);
  for (const float c : {2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f})
    p = L::fma(p, z, L::all(c));
  const auto small = L::fma(p * z, x, x);
  const auto large = L::all(1) - L::all(2) / (exponential(a + a) + L::all(1));
  return L::select_less(a, L::all(0.625f), small, L::with_sign(large, x));
}
LAZY_LEVEL_INLINE Vector<double> sigmoid(Vector<double> x) {
  return each_lane(x, [](double v) { return jit::calls::step_sigmoid(v); });
}
LAZY_LEVEL_INLINE Vector<double> hyperbolic(Vector<double> x) {
  return each_lane(x, [](double v) { return jit::calls::step_tanh(v); });
}

/// Adds the product of a and one panel to c.
template <class T>
LAZY_LEVEL void add_product(const Panels<T>& p, int64_t panel, T* c, int64_t c_step, const T* a,
                            int64_t a_step, int64_t rows) {
  const int64_t width = p.width(panel), lanes = Lanes<T>::kCount;
  const T* const b = p.data + panel * p.most * lanes * p.depth;
  for (int64_t k = 0; k < p.depth; k += kDepthAtOnce)
    add_panel_of(width, c, c_step, a + k, a_step, rows, b + k * width * lanes,
                 std::min(kDepthAtOnce, p.depth - k));
}
/// Adds the product of a and all panels to c. The part of a that is read fits the first-level cache.
template <class T>
LAZY_LEVEL void add_product(const Panels<T>& p, T* c, int64_t c_step, const T* a, int64_t a_step,
                            int64_t rows) {
  const int64_t lanes = Lanes<T>::kCount;
  for (int64_t k = 0; k < p.depth; k += kDepthAtOnce)
    for (int64_t panel = 0; panel < p.count(); ++panel) {
      const int64_t width = p.width(panel), before = panel * p.most * lanes;
      add_panel_of(width, c + before, c_step, a + k, a_step, rows,
                   p.data + before * p.depth + k * width * lanes, std::min(kDepthAtOnce, p.depth - k));
    }
}

/// Returns a row's extent in memory of a thread's own: whole vectors, and rows not a power of two apart.
template <class T>
constexpr int64_t padded(int64_t n) {
  return round_up(n, Lanes<T>::kCount) + 64 / static_cast<int64_t>(sizeof(T));
}

/// Holds memory for rows of one length, zeros at first.
template <class T>
struct Rows {
  Rows(int64_t rows, int64_t n)
      : step(padded<T>(n)),
        memory(rows * step * static_cast<int64_t>(sizeof(T))),
        data(reinterpret_cast<T*>(memory.data())) {
    std::fill_n(data, rows * step, T{0});
  }
  T* row(int64_t i) const { return data + i * step; }
  void fill(const T* from, int64_t rows, int64_t n) const {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * n, n, row(i));
  }
  void copy_to(T* to, int64_t rows, int64_t n) const {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(row(i), n, to + i * n);
  }
  const int64_t step;
  const Scratch memory;
  T* const data;
};

/// Holds where a vector of one sequence's units lies in a step.
template <class T>
struct Units {
  const T* gates;     // a panel's row: a vector of each gate
  const T* x;         // the inputs' part, at the unit
  const T* h_before;  // own memory
  T *h, *c;           // own memory
  T* saved;           // at the unit; null if it is not asked for
  int64_t n, count;   // units; those from here on
};
template <class T>
LAZY_LEVEL_INLINE void lstm_units(const Units<T>& u) {
  using L = Lanes<T>;
  const auto i = sigmoid(L::load(u.gates)), f = sigmoid(L::load(u.gates + L::kCount)),
             g = hyperbolic(L::load(u.gates + 2 * L::kCount)), o = sigmoid(L::load(u.gates + 3 * L::kCount));
  const auto c = L::fma(f, L::load(u.c), i * g);
  L::store(u.c, c);
  L::store(u.h, o * hyperbolic(c));
  if (!u.saved) return;
  store_some(u.saved, i, u.count);
  store_some(u.saved + u.n, f, u.count);
  store_some(u.saved + 2 * u.n, g, u.count);
  store_some(u.saved + 3 * u.n, o, u.count);
  store_some(u.saved + 4 * u.n, c, u.count);
}
template <class T>
LAZY_LEVEL_INLINE void gru_units(const Units<T>& u) {
  using L = Lanes<T>;
  const auto r = sigmoid(L::load(u.gates)), z = sigmoid(L::load(u.gates + L::kCount)),
             inner = L::load(u.gates + 2 * L::kCount);
  const auto n = hyperbolic(L::fma(r, inner, load_some(u.x + 2 * u.n, u.count)));
  L::store(u.h, L::fma(z, L::load(u.h_before), (L::all(1) - z) * n));
  if (!u.saved) return;
  store_some(u.saved, r, u.count);
  store_some(u.saved + u.n, z, u.count);
  store_some(u.saved + 2 * u.n, n, u.count);
  store_some(u.saved + 3 * u.n, inner, u.count);
}

/// Does steps forward for some sequences.
template <class T>
struct Forward {
  using L = Lanes<T>;
  const Work<T>& work;
  const Recurrence<T>& r = work.r;
  const int64_t first, rows, n = r.units, p = r.outputs, wide = r.row(), kept = saved_of(r.how.kind) * n;
  const Rows<T> even{rows, p}, odd{rows, p}, c{rows, n}, full{work.w_r.data ? rows : 0, n},
      panel{rows, 4 * L::kCount};

  /// Puts the inputs' part of a panel's gates where the product is added to it.
  LAZY_LEVEL void begin(int64_t at, int64_t number) const {
    const int64_t gates = r.gates(), width = work.w.width(number);
    for (int64_t v = 0; v < width; ++v) {
      const int64_t vector = number * work.w.most + v, gate = vector % gates, j = vector / gates * L::kCount;
      const bool own = r.b_n && gate == 2;
      const T* const from = own ? r.b_n + j : r.x + at * wide + gate * n + j;
      // Rows are too far apart for the processor to see that the next panel's vectors come next.
      for (int64_t b = 0; b < rows; ++b) {
        const T* const row = from + (own ? 0 : b * wide);
        __builtin_prefetch(row + L::kCount, 0, 2);
        L::store(panel.row(b) + v * L::kCount, load_some(row, n - j));
      }
    }
  }
  /// Computes the units of a panel from their gates.
  LAZY_LEVEL void end(int64_t at, int64_t number, const Rows<T>& before, const Rows<T>& out) const {
    const RecurrentKind kind = r.how.kind;
    if (kind < RecurrentKind::lstm) return end_plain(number, out);
    const int64_t j = number * L::kCount;
    for (int64_t b = 0; b < rows; ++b) {
      const Units<T> u{panel.row(b),
                       r.x + (at + b) * wide + j,
                       before.row(b) + j,
                       out.row(b) + j,
                       c.row(b) + j,
                       r.saved ? r.saved + (at + b) * kept + j : nullptr,
                       n,
                       n - j};
      kind == RecurrentKind::lstm ? lstm_units(u) : gru_units(u);
    }
  }
  LAZY_LEVEL void end_plain(int64_t number, const Rows<T>& out) const {
    const int64_t width = work.w.width(number), j = number * work.w.most * L::kCount;
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t v = 0; v < width * L::kCount; v += L::kCount) {
        const auto g = L::load(panel.row(b) + v);
        L::store(out.row(b) + j + v,
                 r.how.kind == RecurrentKind::tanh ? hyperbolic(g) : L::larger(L::all(0), g));
      }
  }
  LAZY_LEVEL void run() const {
    odd.fill(r.h0 + first * p, rows, p);
    if (r.c0) c.fill(r.c0 + first * n, rows, n);
    for (int64_t i = 0; i < r.steps; ++i) {
      const int64_t at = r.step(i) * r.batch + first;
      const Rows<T>&before = i % 2 ? even : odd, &after = i % 2 ? odd : even;
      const Rows<T>& out = work.w_r.data ? full : after;
      for (int64_t number = 0; number < work.w.count(); ++number) {
        begin(at, number);
        add_product(work.w, number, panel.data, panel.step, before.data, before.step, rows);
        end(at, number, before, out);
      }
      if (work.w_r.data) {
        std::fill_n(after.data, rows * after.step, T{0});
        add_product(work.w_r, after.data, after.step, full.data, full.step, rows);
      }
      if (r.y) after.copy_to(r.y + at * p, rows, p);
    }
    if (r.c) c.copy_to(r.c + first * n, rows, n);
  }
};

/// Does steps back for some sequences.
template <class T>
struct Backward {
  using L = Lanes<T>;
  const Work<T>& work;
  const Recurrence<T>& r = work.r;
  const int64_t first, rows, n = r.units, p = r.outputs, wide = r.row(), kept = saved_of(r.how.kind) * n;
  const Rows<T> g_h{rows, p}, g_c{rows, n}, gates{rows, wide}, full{work.w_r.data ? rows : 0, n};

  /// Adds the gradient of a step's y to that of h, through the projection if there is one.
  LAZY_LEVEL const Rows<T>& of_outputs(int64_t at) const {
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t j = 0; j < p; j += L::kCount)
        L::store(g_h.row(b) + j, L::load(g_h.row(b) + j) + load_some(r.g_y + (at + b) * p + j, p - j));
    if (!work.w_r.data) return g_h;
    if (r.g_inner) g_h.copy_to(r.g_inner + at * p, rows, p);
    std::fill_n(full.data, rows * full.step, T{0});
    add_product(work.w_r, full.data, full.step, g_h.data, g_h.step, rows);
    return full;
  }
  LAZY_LEVEL void lstm(int64_t at, int64_t b, const T* c_before, const T* from) const {
    const T* const s = r.saved_in + (at + b) * kept;
    T *const own = gates.row(b), *const to = r.g_x ? r.g_x + (at + b) * wide : nullptr;
    const auto one = L::all(1);
    for (int64_t j = 0; j < n; j += L::kCount) {
      const int64_t count = n - j;
      const auto i = load_some(s + j, count), f = load_some(s + n + j, count),
                 u = load_some(s + 2 * n + j, count), o = load_some(s + 3 * n + j, count),
                 t = hyperbolic(load_some(s + 4 * n + j, count));
      const auto g = L::load(from + j), d = L::fma(g * o, L::fma(-t, t, one), L::load(g_c.row(b) + j));
      const Vector<T> all[] = {d * u * (i * (one - i)), d * load_some(c_before + j, count) * (f * (one - f)),
                               d * i * L::fma(-u, u, one), g * t * (o * (one - o))};
      L::store(g_c.row(b) + j, d * f);
      for (int64_t q = 0; q < 4; ++q) {
        store_some(own + q * n + j, all[q], count);
        if (to) store_some(to + q * n + j, all[q], count);
      }
    }
  }
  /// Leaves in `g_h` what goes to h of the step before directly.
  LAZY_LEVEL void gru(int64_t at, int64_t b, const T* h_before) const {
    const T* const s = r.saved_in + (at + b) * kept;
    T *const own = gates.row(b), *const to = r.g_x ? r.g_x + (at + b) * wide : nullptr,
             *const g_h_row = g_h.row(b);
    const auto one = L::all(1);
    for (int64_t j = 0; j < n; j += L::kCount) {
      const int64_t count = n - j;
      const auto f = load_some(s + j, count), z = load_some(s + n + j, count),
                 u = load_some(s + 2 * n + j, count), inner = load_some(s + 3 * n + j, count),
                 g = L::load(g_h_row + j);
      const auto d = g * (one - z) * L::fma(-u, u, one), d_inner = d * f;
      const auto d_f = d * inner * (f * (one - f)),
                 d_z = g * (load_some(h_before + j, count) - u) * (z * (one - z));
      L::store(g_h_row + j, g * z);
      store_some(own + j, d_f, count);
      store_some(own + n + j, d_z, count);
      store_some(own + 2 * n + j, d_inner, count);
      if (r.g_inner) store_some(r.g_inner + (at + b) * n + j, d_inner, count);
      if (!to) continue;
      store_some(to + j, d_f, count);
      store_some(to + n + j, d_z, count);
      store_some(to + 2 * n + j, d, count);
    }
  }
  LAZY_LEVEL void plain(int64_t at, int64_t b) const {
    const T* const y = r.y_in + (at + b) * p;
    T *const own = gates.row(b), *const to = r.g_x ? r.g_x + (at + b) * wide : nullptr;
    for (int64_t j = 0; j < n; j += L::kCount) {
      const auto h = load_some(y + j, n - j), g = L::load(g_h.row(b) + j);
      const auto d = r.how.kind == RecurrentKind::tanh ? g * L::fma(-h, h, L::all(1))
                                                       : L::select_less(L::all(0), h, g, L::all(0));
      store_some(own + j, d, n - j);
      if (to) store_some(to + j, d, n - j);
    }
  }
  LAZY_LEVEL void run() const {
    const RecurrentKind kind = r.how.kind;
    if (r.g_c) g_c.fill(r.g_c + first * n, rows, n);
    for (int64_t i = r.steps - 1; i >= 0; --i) {
      const int64_t at = r.step(i) * r.batch + first, before = i ? r.step(i - 1) * r.batch + first : 0;
      const Rows<T>& from = of_outputs(at);
      for (int64_t b = 0; b < rows; ++b)
        if (kind == RecurrentKind::lstm)
          lstm(at, b, i ? r.saved_in + (before + b) * kept + wide : r.c0 + (first + b) * n, from.row(b));
        else if (kind == RecurrentKind::gru)
          gru(at, b, i ? r.y_in + (before + b) * p : r.h0 + (first + b) * p);
        else plain(at, b);
      if (kind != RecurrentKind::gru) std::fill_n(g_h.data, rows * g_h.step, T{0});
      add_product(work.w, g_h.data, g_h.step, gates.data, gates.step, rows);
    }
    if (r.g_h0) g_h.copy_to(r.g_h0 + first * p, rows, p);
    if (r.g_c0) g_c.copy_to(r.g_c0 + first * n, rows, n);
  }
};

template <class T>
void forward(const Work<T>& work, int64_t first, int64_t last) {
  Forward<T>{.work = work, .first = first, .rows = last - first}.run();
}
template <class T>
void backward(const Work<T>& work, int64_t first, int64_t last) {
  Backward<T>{.work = work, .first = first, .rows = last - first}.run();
}

}  // namespace
}  // namespace lazy::cpu_backend::recurrent
