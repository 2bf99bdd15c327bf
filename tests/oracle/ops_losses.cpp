// Rows of losses: lazy/nn/functional/loss.hpp. Options are arguments in torch's order, the reduction last.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

Reduction reduction(Given& g) {
  const std::string s = g.text("mean");
  if (s == "none") return Reduction::none;
  if (s == "mean") return Reduction::mean;
  if (s == "sum") return Reduction::sum;
  if (s == "batchmean") return Reduction::batchmean;
  throw BadCase("no reduction: " + s);
}

ClassOptions class_options(Given& g) {
  ClassOptions o;
  o.weight = g.tensor();
  o.ignore_index = g.integer(-100);
  o.label_smoothing = g.real(0);
  o.reduction = reduction(g);
  return o;
}

#define LOSS(f) ROW(#f, "x 2,3\tx 2,3", ARG(x); ARG(t); return f(x, t, reduction(g)))

const Row kRows[] = {
    LOSS(mse_loss),
    LOSS(l1_loss),
    LOSS(soft_margin_loss),
    ROW("huber_loss", "x 2,3\tx 2,3", ARG(x); ARG(t); REAL(d, 1); return huber_loss(x, t, reduction(g), d)),
    ROW("smooth_l1_loss", "x 2,3\tx 2,3", ARG(x); ARG(t); REAL(d, 1);
        return smooth_l1_loss(x, t, reduction(g), d)),
    ROW("binary_cross_entropy", "u 2,3\tu 2,3", ARG(x); ARG(t); TENSOR(w);
        return binary_cross_entropy(x, t, w, reduction(g))),
    ROW("binary_cross_entropy_with_logits", "x 2,3\tx 2,3", ARG(x); ARG(t); TENSOR(w); TENSOR(p);
        return binary_cross_entropy_with_logits(x, t, w, reduction(g), p)),
    ROW("kl_div", "x 2,3\tx 2,3", ARG(x); ARG(t); FLAG(logs, false); return kl_div(x, t, reduction(g), logs)),
    ROW("poisson_nll_loss", "x 2,3\tx 2,3", ARG(x); ARG(t); FLAG(logs, true); FLAG(full, false);
        REAL(eps, 1e-8); return poisson_nll_loss(x, t, logs, full, eps, reduction(g))),
    ROW("gaussian_nll_loss", "x 2,3\tx 2,3\tx 2,3", ARG(x); ARG(t); ARG(v); FLAG(full, false);
        REAL(eps, 1e-6); return gaussian_nll_loss(x, t, v, full, eps, reduction(g))),
    ROW("margin_ranking_loss", "x 3\tx 3\tx 3", ARG(a); ARG(b); ARG(t); REAL(m, 0);
        return margin_ranking_loss(a, b, t, m, reduction(g))),
    ROW("hinge_embedding_loss", "x 3\tx 3", ARG(x); ARG(t); REAL(m, 1);
        return hinge_embedding_loss(x, t, m, reduction(g))),
    ROW("cosine_embedding_loss", "x 2,3\tx 2,3\tx 2", ARG(a); ARG(b); ARG(t); REAL(m, 0);
        return cosine_embedding_loss(a, b, t, m, reduction(g))),
    ROW("triplet_margin_loss", "x 2,3\tx 2,3\tx 2,3", ARG(a); ARG(p); ARG(n); TripletOptions o;
        o.margin = g.real(1); o.p = g.real(2); o.eps = g.real(1e-6); o.swap = g.flag(false);
        o.reduction = reduction(g); return triplet_margin_loss(a, p, n, o)),
    ROW(
        "triplet_margin_with_distance_loss", "x 2,3\tx 2,3\tx 2,3", ARG(a); ARG(p); ARG(n); REAL(m, 1);
        FLAG(swap, false);
        const DistanceFunction by = [](const Tensor& u, const Tensor& v) { return sum(abs(u - v), -1); };
        return triplet_margin_with_distance_loss(a, p, n, by, m, swap, reduction(g))),
    ROW("multi_margin_loss", "x 2,3\ti 2", ARG(x); ARG(t); MarginOptions o; o.p = g.integer(1);
        o.margin = g.real(1); o.weight = g.tensor(); o.reduction = reduction(g);
        return multi_margin_loss(x, t, o)),
    ROW("multilabel_margin_loss", "x 2,3\ti 2,3", ARG(x); ARG(t);
        return multilabel_margin_loss(x, t, reduction(g))),
    ROW("multilabel_soft_margin_loss", "x 2,3\tx 2,3", ARG(x); ARG(t); TENSOR(w);
        return multilabel_soft_margin_loss(x, t, w, reduction(g))),
    ROW("ctc_loss", "x 3,1,2\ti 1,1\ti 1\ti 1", ARG(x); ARG(t); ARG(n); ARG(m); CtcOptions o;
        o.blank = g.integer(0); o.reduction = reduction(g); o.zero_infinity = g.flag(false);
        return ctc_loss(x, t, n, m, o)),
    ROW("nll_loss", "x 2,3\ti 2", ARG(x); ARG(t); return nll_loss(x, t, class_options(g))),
    ROW("cross_entropy", "x 2,3\ti 2", ARG(x); ARG(t); return cross_entropy(x, t, class_options(g))),
};

}  // namespace

std::span<const Row> loss_rows() { return kRows; }

}  // namespace oracle
