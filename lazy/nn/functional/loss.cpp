#include "lazy/nn/functional/loss.hpp"

#include <cmath>

#include "lazy/core/advice.hpp"
#include "lazy/indexing/recording.hpp"
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

Term minus_log_sigmoid(const Term& x) {
  Composite whole("logsigmoid", {&x.handle()}, x.formula().site);
  const Term y = log1p(exp(-abs(x))) + maximum(-x, 0.0);
  return x.formula().term(whole.result(y.handle(), [](const Differentiated& d) {
    const Formula back("logsigmoid", d.site);
    return std::vector{(-sigmoid(-back.term(d.operands[0])) * back.term(d.gradient)).handle()};
  }));
}

Term largest_alone(const Term& x, const Dims& axes) {
  Composite whole("max", {&x.handle()}, x.formula().site);
  const Term top = max(x, axes);
  return x.formula().term(
      whole.result(top.handle(), [](const Differentiated&) { return std::vector<Handle>(1); }));
}

}  // namespace detail

namespace {
using namespace detail;

/// Tells if values and targets are of different shapes, unless one of them is a number: (6) with (6, 1) is
/// the loss of 36 pairs, which is seldom meant.
void tell_of_broadcast(const Term& x, const Term& target) {
  if (x.shape() == target.shape() || x.rank() == 0 || target.rank() == 0) [[likely]]
    return;
  const Formula& f = x.formula();
  const Shape both = broadcast_shapes(f.name, x.shape(), target.shape(), f.site);
  if (is_first_time(f.name, f.site))
    advise(f.name, f.site,
           "broadcasts x " + to_string(x.shape()) + " and a target " + to_string(target.shape()) + " to " +
               to_string(both) + ": if that is not meant, reshape one of them");
}

/// Records a loss of two operands that broadcast: `formula(x, target)` gives its numbers.
template <class F>
Tensor loss(const char* name, Arg& a, Arg& b, Reduction r, F&& formula) {
  const Formula f(name, {&a, &b});
  const Term x = f.term(a), target = f.term(b);
  check_reduction(f, r);
  tell_of_broadcast(x, target);
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

/// Returns half the square of what is within the bound, else 0. Its derivative is finite where x is not.
Term half_square_within(const Term& x, const Term& within) {
  const Term d = where(within, x, 0.0);
  return d * d * 0.5;
}

/// Returns the cross entropy of probabilities, with logarithms of at least -100. The derivative by the
/// probabilities is torch's: bounded where one is 0 or 1, so that it is 0 behind a sigmoid that has saturated
/// there.
Term cross_entropy_of_probabilities(const Term& x, const Term& target) {
  Composite whole("binary_cross_entropy", {&x.handle(), &target.handle()}, x.formula().site);
  const auto logarithm = [](const Term& l) { return maximum(l, -100.0); };
  const Term y = (target - 1.0) * logarithm(log1p(-x)) - target * logarithm(log(x));
  return x.formula().term(whole.result(y.handle(), [logarithm](const Differentiated& d) {
    const Formula back("binary_cross_entropy", d.site);
    const Term v = back.term(d.operands[0]), t = back.term(d.operands[1]), g = back.term(d.gradient);
    std::vector<Handle> r(2);
    if (d.wants(0)) r[0] = (g * (v - t) / maximum((1.0 - v) * v, 1e-12)).handle();
    if (d.wants(1)) r[1] = (g * (logarithm(log1p(-v)) - logarithm(log(v)))).handle();
    return r;
  }));
}

/// Returns zeros, which throw when they are computed unless both are in 0 to 1 there.
Term zeros_if_probabilities(const Term& x, const Term& target) {
  const Formula& f = x.formula();
  const auto within = [](const Term& p) { return (p >= 0.0) & (p <= 1.0); };
  const Handle both = (within(x) & within(target)).handle();
  return f.term(
      zeros_if("binary_cross_entropy: x and the target have to be in 0 to 1", f.work, both, f.site));
}

/// Returns x, or `least` where it is less. Gradients go through as if it were x.
Term bounded_alone(const Term& x, double least) {
  Composite whole("clamp", {&x.handle()}, x.formula().site);
  const Term y = where(x < least, least, x);
  return x.formula().term(
      whole.result(y.handle(), [](const Differentiated& d) { return std::vector<Handle>{d.gradient}; }));
}

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
    const Term d = v - t, size = abs(d), within = size <= delta;
    return where(within, half_square_within(d, within), (size - delta / 2) * delta);
  });
}

Tensor smooth_l1_loss(Arg x, Arg target, Reduction r, double beta) {
  if (!(beta >= 0)) fail<Error>("smooth_l1_loss", "beta is negative", x.site());
  return loss("smooth_l1_loss", x, target, r, [=](const Term& v, const Term& t) {
    const Term d = v - t, size = abs(d);
    if (beta == 0) return size;
    const Term within = size < beta;
    return where(within, half_square_within(d, within) / beta, size - beta / 2);
  });
}

Tensor binary_cross_entropy(Arg x, Arg target, const MaybeTensor& weight, Reduction r) {
  const Formula f("binary_cross_entropy", {&x, &target}, {&weight});
  const Term v = f.term(x), t = f.term(target);
  check_same(v, t);
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &t.handle(), &weight.handle()}, f.site);
  const Term losses = cross_entropy_of_probabilities(v, t) + zeros_if_probabilities(v, t);
  return f.finish(whole, reduced(weighted(losses, weight), r));
}

Tensor binary_cross_entropy_with_logits(Arg x, Arg target, const MaybeTensor& weight, Reduction r,
                                        const MaybeTensor& pos_weight) {
  const Formula f("binary_cross_entropy_with_logits", {&x, &target}, {&weight, &pos_weight});
  const Term v = f.term(x), t = f.term(target);
  check_same(v, t);
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &t.handle(), &weight.handle(), &pos_weight.handle()}, f.site);
  const Term bent = minus_log_sigmoid(v);
  Term y;
  if (pos_weight.defined()) y = (1.0 - t) * v + (weighted(t, pos_weight) - t + 1.0) * bent;
  else y = (1.0 - t) * v + bent;
  return f.finish(whole, reduced(weighted(y, weight), r));
}

Tensor kl_div(Arg x, Arg target, Reduction r, bool log_target) {
  const Formula f("kl_div", {&x, &target});
  const Term v = f.term(x), t = f.term(target);
  tell_of_broadcast(v, t);
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
  const Term bounded = bounded_alone(variance, eps), d = v - t;
  Term y = (log(bounded) + d * d / bounded) * 0.5;
  if (full) y = y + 0.9189385332046727;  // log(2 pi) / 2
  return f.finish(whole, reduced(y, r));
}

Tensor margin_ranking_loss(Arg a, Arg b, Arg target, double margin, Reduction r) {
  const Formula f("margin_ranking_loss", {&a, &b, &target});
  const Term x = f.term(a), y = f.term(b), t = f.term(target);
  check_reduction(f, r);
  Composite whole(f.name, {&x.handle(), &y.handle(), &t.handle()}, f.site);
  return f.finish(whole, reduced(positive_part(margin - t * (x - y)), r));
}

Tensor hinge_embedding_loss(Arg x, Arg target, double margin, Reduction r) {
  return loss("hinge_embedding_loss", x, target, r, [=](const Term& v, const Term& t) {
    return where(t != 1.0, positive_part(margin - v), 0.0) + where(t != -1.0, v, 0.0);
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
      where(t == 1.0, 1.0 - cosine, 0.0) + where(t == -1.0, positive_part(cosine - margin), 0.0);
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
  return f.finish(whole, reduced(positive_part(distance(a, p) - other + o.margin), o.reduction));
}

}  // namespace lazy
