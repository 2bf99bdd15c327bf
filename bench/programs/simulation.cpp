// Programs that iterate: ranks of pages, waves, solvers, an attractor, the price of an option.
#include <array>
#include <cmath>

#include "programs.hpp"

using namespace lazy;
using programs::uniform;

/// Ranks pages by power iteration with a dense matrix of links.
PROGRAM(pagerank, "2000") {
  const int64_t pages = n(2000, 60);
  Tensor links = uniform({pages, pages}, 0, 1, 1);
  links = (links / sum(links, 0)).eval();
  return [=] {
    Tensor rank = full(pages, 1.0f / static_cast<float>(pages));
    for (int step = 0; step < 50; ++step)
      rank = 0.85f * matmul(links, rank) + 0.15f / static_cast<float>(pages);
    return rank;
  };
}

/// Lets a wave run over a plate with an obstacle, and absorbs it at the border.
PROGRAM(wave, "512x512") {
  const int64_t edge = n(512, 40), steps = n(400, 30);
  const Tensor at = arange(edge).astype(float32) / static_cast<float>(edge);
  const Tensor y = at(_, newaxis), x = at(newaxis);
  const Tensor free = (square(x - 0.7f) + square(y - 0.5f) > 0.01f).eval();
  const Tensor start = exp(-200.0f * (square(x - 0.3f) + square(y - 0.4f))).eval();
  return [=] {
    const auto inner = slice(1, -1), before = slice(none, -2), after = slice(2, none);
    Tensor now = start, past = start;
    for (int64_t step = 0; step < steps; ++step) {
      const Tensor laplace = now(before, inner) + now(after, inner) + now(inner, before) + now(inner, after) -
                             4.0f * now(inner, inner);
      Tensor next = zeros_like(now);
      next(inner, inner) = 0.999f * (2.0f * now(inner, inner) - past(inner, inner) + 0.2f * laplace);
      next = where(free, next, 0.0f);
      past = now;
      now = next;
      if (step % 10 == 9) eval(now, past);
    }
    return now;
  };
}

/// Solves Poisson's equation on a square by conjugate gradients.
PROGRAM(conjugate_gradients, "256x256_f64") {
  const int64_t edge = n(256, 24), steps = n(300, 20);
  const Tensor right = uniform({edge, edge}, -1, 1, 2).astype(float64).eval();
  const auto apply = [](const Tensor& u) {
    const Tensor p = pad(u, {{1, 1}});
    const auto inner = slice(1, -1), before = slice(none, -2), after = slice(2, none);
    return 4 * u - p(before, inner) - p(after, inner) - p(inner, before) - p(inner, after);
  };
  return [=] {
    Tensor x = zeros_like(right), r = right, d = r, norm = sum(r * r);
    for (int64_t step = 0; step < steps; ++step) {
      const Tensor q = apply(d);
      const Tensor alpha = norm / sum(d * q);
      x = x + alpha * d;
      r = r - alpha * q;
      const Tensor now = sum(r * r);
      d = r + now / norm * d;
      norm = now;
      eval(x, r, d, norm);
    }
    return x;
  };
}

/// Solves a dense system whose diagonal is large by Jacobi's iteration.
PROGRAM(jacobi, "1000") {
  const int64_t size = n(1000, 50);
  const Tensor rest = ((1.0f - eye(size)) * uniform({size, size}, -1, 1, 3)).eval();
  const Tensor diagonal = (uniform(size, 1, 2, 4) * static_cast<float>(size)).eval();
  const Tensor right = uniform(size, -1, 1, 5);
  return [=] {
    Tensor x = zeros(size);
    for (int step = 0; step < 200; ++step) x = (right - matmul(rest, x)) / diagonal;
    return x;
  };
}

/// Follows many points of Lorenz' system by the classical method of Runge and Kutta.
PROGRAM(lorenz, "100000") {
  const int64_t points = n(100000, 100), steps = n(200, 50);
  const Tensor first = uniform({3, points}, -1, 1, 6);
  using State = std::array<Tensor, 3>;
  const auto slope = [](const State& s) {
    return State{10.0f * (s[1] - s[0]), s[0] * (28.0f - s[2]) - s[1], s[0] * s[1] - 8.0f / 3.0f * s[2]};
  };
  const auto moved = [](const State& s, float h, const State& k) {
    return State{s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2]};
  };
  return [=] {
    constexpr float h = 0.005f;
    State s{first(0), first(1), first(2) + 25.0f};
    for (int64_t step = 0; step < steps; ++step) {
      const State a = slope(s), b = slope(moved(s, h / 2, a)), c = slope(moved(s, h / 2, b)),
                  d = slope(moved(s, h, c));
      for (size_t i = 0; i < 3; ++i) s[i] = s[i] + h / 6 * (a[i] + 2.0f * b[i] + 2.0f * c[i] + d[i]);
      if (step % 10 == 9) eval(s[0], s[1], s[2]);
    }
    return stack({s[0], s[1], s[2]});
  };
}

/// Prices an Asian option by paths whose noise comes from a generator of its own.
PROGRAM(asian_option, "100000x64") {
  const int64_t paths = n(100000, 500);
  const Tensor seeds = (arange(paths) * 2654435761 + 12345).astype(uint32).eval();
  return [=] {
    Tensor state = seeds, price = full(paths, 100.0f), total = zeros(paths);
    const auto next = [&] {
      state = state ^ (state << 13u);
      state = state ^ (state >> 17u);
      state = state ^ (state << 5u);
      return ((state >> 8u).astype(float32) + 0.5f) * 0x1p-24f;
    };
    for (int step = 0; step < 64; ++step) {
      const Tensor radius = sqrt(-2.0f * log(next())), angle = 6.2831853f * next();
      price = price * exp(0.0003f + 0.025f * radius * cos(angle));
      total = total + price;
    }
    return mean(maximum(total / 64.0f - 100.0f, 0.0f)).reshape({1});
  };
}
