// Implements losses of margins and of several labels.
#include "lazy/nn/functional/losses.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/running.hpp"

namespace lazy {
namespace {
using namespace detail;

void check_same(const Formula& f, const Term& x, const Shape& target) {
  if (x.shape() != target)
    f.fail<ShapeError>("x " + to_string(x.shape()) + " and target " + to_string(target) + " differ in shape");
}

/// Returns values of classes, (N, C), of which a vector is one row.
Term rows_of(const Formula& f, const Term& x) {
  if (x.rank() != 1 && x.rank() != 2)
    f.fail<ShapeError>("takes values of classes (C) or (N, C), not " + to_string(x.shape()));
  return x.rank() == 1 ? reshape(x, {1, x.extent(0)}) : x;
}

/// Returns the losses of rows without the axis that one row was given.
Term as_given(const Term& losses, const Term& x) { return x.rank() == 1 ? reshape(losses, {}) : losses; }

Handle int64_labels(const Formula& f, Arg& labels) {
  Handle h = Operand(f.name, labels).take();
  if (!is_int(h->dtype)) f.fail<DtypeError>(std::string("labels are integers, not ") + name_of(h->dtype));
  return f.as(int64, h);
}

Term class_weights(const Formula& f, const Tensor& weight, int64_t classes) {
  const Term w = f.term(weight);
  if (w.shape() != Shape{classes})
    f.fail<ShapeError>("weights " + to_string(w.shape()) + " for " + std::to_string(classes) + " classes");
  return reshape(w, {1, classes});
}

}  // namespace

Tensor soft_margin_loss(Arg x, Arg target, Reduction r) {
  const Formula f("soft_margin_loss", {&x, &target});
  const Term v = f.term(x), t = f.term(target);
  check_same(f, v, t.shape());
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &t.handle()}, f.site);
  return f.finish(whole, reduced(minus_log_sigmoid(v * t), r));
}

Tensor multi_margin_loss(Arg x, Arg target, const MarginOptions& o) {
  const Formula f("multi_margin_loss", {&x}, {&o.weight});
  const Term v = f.term(x), rows = rows_of(f, v);
  const Handle labels = int64_labels(f, target);
  check_reduction(f, o.reduction);
  if (o.p != 1 && o.p != 2) f.fail<Error>("p is 1 or 2, not " + std::to_string(o.p.value));
  const int64_t n = rows.extent(0), classes = rows.extent(1);
  if (classes == 0 || labels->shape != (v.rank() == 1 ? Shape{} : Shape{n}))
    f.fail<ShapeError>("labels " + to_string(labels->shape) + " for x " + to_string(v.shape()));
  Composite whole(f.name, {&v.handle(), &labels, &o.weight.handle()}, f.site);
  const Term at = f.term(f.reshape(labels, {n, 1}));
  const Term own = f.term(f.Recorder::index(1, rows.shape(), rows.handle())) == at;
  Term y = positive_part(where(own, 0.0, o.margin - gathered(rows, at, 1, Bounds::strict) + rows));
  if (o.p == 2) y = y * y;
  if (o.weight.defined()) y = y * gathered(class_weights(f, o.weight, classes), at, 1, Bounds::strict);
  const Term losses = sum(y, {1}, dropdims) / static_cast<double>(classes);
  return f.finish(whole, reduced(as_given(losses, v), o.reduction));
}

Tensor multilabel_margin_loss(Arg x, Arg target, Reduction r) {
  const Formula f("multilabel_margin_loss", {&x});
  const Term v = f.term(x), rows = rows_of(f, v);
  const Handle labels = int64_labels(f, target);
  check_same(f, v, labels->shape);
  check_reduction(f, r);
  Composite whole(f.name, {&v.handle(), &labels}, f.site);
  const int64_t n = rows.extent(0), classes = rows.extent(1);
  if (classes == 0) return f.finish(whole, reduced(as_given(sum(rows, {1}, dropdims), v), r));
  const Term given = f.term(f.reshape(labels, {n, classes}));
  // Labels count up to the first that is negative.
  const Handle ends = cumsum(f.arg((given < 0.0).as(int64).handle()), 1).handle();
  const Term counts = f.term(ends) == 0.0;
  const Term label = where(counts, given, 0.0);
  // (N, label, class)
  const Shape of_label{n, classes, 1}, of_class{n, 1, classes};
  const Term valid = reshape(counts, of_label);
  const Term index = f.term(f.Recorder::index(2, {1, 1, classes}, rows.handle()));
  const Term hit = (reshape(label, of_label) == index) & valid;
  const Term named = f.term(f.reduce(Op::any, hit.handle(), {1}, keepdims));
  const Term chosen = reshape(gathered(rows, label, 1, Bounds::strict), of_label);
  const Term margin = positive_part(1.0 - chosen + reshape(rows, of_class));
  const Term losses =
      sum(where(valid & !named, margin, 0.0), {1, 2}, dropdims) / static_cast<double>(classes);
  return f.finish(whole, reduced(as_given(losses, v), r));
}

Tensor multilabel_soft_margin_loss(Arg x, Arg target, const MaybeTensor& weight, Reduction r) {
  const Formula f("multilabel_soft_margin_loss", {&x, &target}, {&weight});
  const Term v = f.term(x), t = f.term(target);
  check_same(f, v, t.shape());
  check_reduction(f, r);
  if (v.rank() == 0) f.fail<ShapeError>("takes values of classes, not one number");
  Composite whole(f.name, {&v.handle(), &t.handle(), &weight.handle()}, f.site);
  Term y = t * minus_log_sigmoid(v) + (1.0 - t) * minus_log_sigmoid(-v);
  if (weight.defined()) {
    const Term w = f.term(weight);
    if (broadcast_shapes(f.name, v.shape(), w.shape(), f.site) != v.shape())
      f.fail<ShapeError>("a weight " + to_string(w.shape()) + " for " + to_string(v.shape()));
    y = y * w;
  }
  return f.finish(whole, reduced(mean(y, {-1}, dropdims), r));
}

Tensor triplet_margin_with_distance_loss(Arg anchor, Arg positive, Arg negative,
                                         const DistanceFunction& distance, double margin, bool swap,
                                         Reduction r) {
  const Formula f("triplet_margin_with_distance_loss", {&anchor, &positive, &negative});
  const Term a = f.term(anchor), p = f.term(positive), n = f.term(negative);
  check_reduction(f, r);
  if (!(margin >= 0)) f.fail<Error>("the margin is negative");
  if (!distance) f.fail<Error>("a distance is needed");
  const auto between = [&](const Term& u, const Term& v) {
    const Tensor d = distance(f.tensor(u.handle()), f.tensor(v.handle()));
    return f.term(d);
  };
  Term other = between(a, n);
  if (swap) other = minimum(other, between(p, n));
  const Term losses = positive_part(between(a, p) - other + margin);
  return f.tensor(f.as(f.result, reduced(losses, r).handle()));
}

}  // namespace lazy
