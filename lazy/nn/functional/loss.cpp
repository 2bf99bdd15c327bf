#include "lazy/nn/functional/loss.hpp"

#include <cmath>

#include "lazy/nn/functional/losses.hpp"
#include "lazy/nn/functional/norms.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace detail {

void check_reduction(const Formula& f, Reduction r) {
  if (r == Reduction::batchmean) f.fail<Error>("has no Reduction::batchmean");
}

Term reduced(const Term& x, Reduction r, int64_t batch) {
  if (r == Reduction::none) return x;
  if (r == Reduction::mean) return mean(x, {}, dropdims);
  const Term total = sum(x, {}, dropdims);
  return r == Reduction::sum ? total : total / static_cast<double>(batch);
}

}  // namespace detail

namespace {
using namespace detail;

/// Records a loss of two operands that broadcast: `formula(x, target)` gives its numbers.
template <class F>
Tensor loss(const char* name, Arg& a, Arg& b, Reduction r, F&& formula) {
  const Formula f(name, {&a, &b});
  const Term x = f.term(a), target = f.term(b);
  check_reduction(f, r);
  Composite whole(name, {&x.handle(), &target.handle()}, f.site);
  return f.finish(whole, reduced(formula(x, target), r));
}

void check_same(const Term& x, const Term& target) {
  if (x.shape() != target.shape())
    x.formula().fail<ShapeError>("x " + to_string(x.shape()) + " and target " + to_string(target.shape()) +
                                 " differ in shape");
}

/// Multiplies by an optional weight, which broadcasts to x.
Term weighted(const Term& x, const Tensor& weight) {
  if (!weight.defined()) return x;
  const Formula& f = x.formula();
  const Term w = f.term(weight);
  if (broadcast_shapes(f.name, x.shape(), w.shape(), f.site) != x.shape())
    f.fail<ShapeError>("a weight " + to_string(w.shape()) + " for " + to_string(x.shape()));
  return x * w;
}

Term at_least_zero(const Term& x) { return maximum(x, 0.0); }

/// Returns log(1 + e^-|x|), which cannot overflow.
Term log1p_exp(const Term& x) { return log1p(exp(-abs(x))); }

}  // namespace

Tensor mse_loss(Arg x, Arg target, Reduction r) {
  return loss("mse_loss", x, target, r, [](const Term& v, const Term& t) {
    const Term d = v - t;
    return d * d;
  });
}

Tensor l1_loss(Arg x, Arg target, Reduction r) {
  return loss("l1_loss", x, target, r, [](const Term& v, const Term& t) { return abs(v - t); });
}

Tensor huber_loss(Arg x, Arg target, Reduction r, double delta) {
  if (!(delta > 0)) fail<Error>("huber_loss", "delta is not positive", x.site());
  return loss("huber_loss", x, target, r, [=](const Term& v, const Term& t) {
    const Term d = abs(v - t);
    return where(d <= delta, d * d * 0.5, (d - delta / 2) * delta);
  });
}

Tensor smooth_l1_loss(Arg x, Arg target, Reduction r, double beta) {
  if (!(beta >= 0)) fail<Error>("smooth_l1_loss", "beta is negative", x.site());
  return loss("smooth_l1_loss", x, target, r, [=](const Term& v, const Term& t) {
    const Term d = abs(v - t);
    return beta == 0 ? d : where(d < beta, d * d * 0.5 / beta, d - beta / 2);
  });
}

Tensor binary_cross_entropy(Arg x, Arg target, const Tensor& weight, Reduction r) {
  const Formula f("binary_cross_entropy", {&x, &target}, {&weight});
  const Term v = f.term(x), t = f.term(target);
  check_same(v, t);
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &t.handle(), &weight.handle()}, f.site);
  const Term y = (t - 1.0) * maximum(log1p(-v), -100.0) - t * maximum(log(v), -100.0);
  return f.finish(whole, reduced(weighted(y, weight), r));
}

Tensor binary_cross_entropy_with_logits(Arg x, Arg target, const Tensor& weight, Reduction r,
                                        const Tensor& pos_weight) {
  const Formula f("binary_cross_entropy_with_logits", {&x, &target}, {&weight, &pos_weight});
  const Term v = f.term(x), t = f.term(target);
  check_same(v, t);
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &t.handle(), &weight.handle(), &pos_weight.handle()}, f.site);
  const Term bent = log1p_exp(v) + at_least_zero(-v);  // -log(sigmoid(x))
  Term y;
  if (pos_weight.defined()) y = (1.0 - t) * v + (weighted(t, pos_weight) - t + 1.0) * bent;
  else y = (1.0 - t) * v + bent;
  return f.finish(whole, reduced(weighted(y, weight), r));
}

Tensor kl_div(Arg x, Arg target, Reduction r, bool log_target) {
  const Formula f("kl_div", {&x, &target});
  const Term v = f.term(x), t = f.term(target);
  if (r == Reduction::batchmean && v.rank() == 0) f.fail<ShapeError>("batchmean needs an axis");
  Composite whole(f.name, {&v.handle(), &t.handle()}, f.site);
  const Term y = log_target ? exp(t) * (t - v) : where(t == 0.0, 0.0, t * log(t)) - t * v;
  return f.finish(whole, reduced(y, r, v.rank() ? v.extent(0) : 1));
}

Tensor poisson_nll_loss(Arg x, Arg target, bool log_input, bool full, double eps, Reduction r) {
  return loss("poisson_nll_loss", x, target, r, [=](const Term& v, const Term& t) {
    const Term y = log_input ? exp(v) - t * v : v - t * log(v + eps);
    if (!full) return y;
    constexpr double two_pi = 6.283185307179586;
    return y + where(t > 1.0, t * log(t) - t + log(t * two_pi) * 0.5, 0.0);
  });
}

Tensor gaussian_nll_loss(Arg x, Arg target, Arg var, bool full, double eps, Reduction r) {
  const Formula f("gaussian_nll_loss", {&x, &target, &var});
  const Term v = f.term(x), t = f.term(target);
  Term variance = f.term(var);
  check_reduction(f, r);
  if (!(eps > 0)) f.fail<Error>("eps is not positive");
  Shape row = v.shape(), one = v.shape();
  if (!row.empty()) row.resize(row.size() - 1), one[one.size() - 1] = 1;
  if (variance.shape() == row && variance.shape() != v.shape()) variance = reshape(variance, one);
  if (variance.shape() != v.shape() && variance.shape() != one)
    f.fail<ShapeError>("a variance " + to_string(variance.shape()) + " for " + to_string(v.shape()));
  Composite whole(f.name, {&v.handle(), &t.handle(), &variance.handle()}, f.site);
  const Term bounded = where(variance < eps, eps, variance), d = v - t;
  Term y = (log(bounded) + d * d / bounded) * 0.5;
  if (full) y = y + 0.9189385332046727;  // log(2 pi) / 2
  return f.finish(whole, reduced(y, r));
}

Tensor margin_ranking_loss(Arg a, Arg b, Arg target, double margin, Reduction r) {
  const Formula f("margin_ranking_loss", {&a, &b, &target});
  const Term x = f.term(a), y = f.term(b), t = f.term(target);
  check_reduction(f, r);
  Composite whole(f.name, {&x.handle(), &y.handle(), &t.handle()}, f.site);
  return f.finish(whole, reduced(at_least_zero(margin - t * (x - y)), r));
}

Tensor hinge_embedding_loss(Arg x, Arg target, double margin, Reduction r) {
  return loss("hinge_embedding_loss", x, target, r, [=](const Term& v, const Term& t) {
    return where(t != 1.0, at_least_zero(margin - v), 0.0) + where(t != -1.0, v, 0.0);
  });
}

Tensor cosine_embedding_loss(Arg a, Arg b, Arg target, double margin, Reduction r) {
  const Formula f("cosine_embedding_loss", {&a, &b, &target});
  const Term x = f.term(a), y = f.term(b), t = f.term(target);
  check_reduction(f, r);
  if (x.rank() != t.rank() + 1 || y.rank() != t.rank() + 1)
    f.fail<ShapeError>("vectors " + to_string(x.shape()) + " and " + to_string(y.shape()) +
                       " with a target " + to_string(t.shape()));
  Composite whole(f.name, {&x.handle(), &y.handle(), &t.handle()}, f.site);
  constexpr double eps = 1e-12;
  const auto product = [](const Term& p, const Term& q) { return sum(p * q, {-1}, dropdims); };
  const Term cosine = product(x, y) / sqrt((product(x, x) + eps) * (product(y, y) + eps));
  const Term loss =
      where(t == 1.0, 1.0 - cosine, 0.0) + where(t == -1.0, at_least_zero(cosine - margin), 0.0);
  return f.finish(whole, reduced(loss, r));
}

Tensor triplet_margin_loss(Arg anchor, Arg positive, Arg negative, const TripletOptions& o) {
  const Formula f("triplet_margin_loss", {&anchor, &positive, &negative});
  const Term a = f.term(anchor), p = f.term(positive), n = f.term(negative);
  check_reduction(f, o.reduction);
  if (!(o.margin >= 0)) f.fail<Error>("the margin is negative");
  if (a.rank() == 0 || a.rank() != p.rank() || a.rank() != n.rank())
    f.fail<ShapeError>("vectors " + to_string(a.shape()) + ", " + to_string(p.shape()) + " and " +
                       to_string(n.shape()));
  Composite whole(f.name, {&a.handle(), &p.handle(), &n.handle()}, f.site);
  const auto distance = [&](const Term& u, const Term& v) {
    return norm(u - v + o.eps, o.p, {-1}, dropdims);
  };
  Term other = distance(a, n);
  if (o.swap) other = minimum(other, distance(p, n));
  return f.finish(whole, reduced(at_least_zero(distance(a, p) - other + o.margin), o.reduction));
}

}  // namespace lazy
