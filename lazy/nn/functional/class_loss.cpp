#include "lazy/nn/functional/losses.hpp"
#include "support/float_mode.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds values of classes, (C), (N, C) or (N, C, ...), and the options of the loss.
struct Classes {
  const Formula& f;
  const ClassOptions& options;
  Term x;
  int axis;
  int64_t count;
  Term weight;  // with x's rank; none if its handle is empty

  Classes(const Term& values, const ClassOptions& o) : f(values.formula()), options(o), x(values) {
    if (x.rank() == 0) f.fail<ShapeError>("takes values of classes, not one number");
    check_reduction(f, o.reduction);
    axis = x.rank() == 1 ? 0 : 1;
    count = x.extent(axis);
    if (!o.weight.defined()) return;
    const Term w = f.term(o.weight);
    if (w.shape() != Shape{count})
      f.fail<ShapeError>("weights " + to_string(w.shape()) + " for " + std::to_string(count) + " classes");
    weight = reshape(w, along_axis(x.rank(), axis, count));
  }
  /// Returns x's shape without classes: a number for each row.
  Shape rows() const {
    Shape r;
    for (int i = 0; i < x.rank(); ++i)
      if (i != axis) r.push_back(x.extent(i));
    return r;
  }
};

/// Holds labels, each in place of its row's classes; those to be ignored are 0.
struct Labels {
  Term label, counts;

  Labels(const Classes& c, const Handle& given) {
    if (given->shape != c.rows())
      c.f.fail<ShapeError>("labels " + to_string(given->shape) + " for x " + to_string(c.x.shape()));
    const Term l = c.f.term(
        cast(detail::reshape(given, with_extent(c.x.shape(), c.axis, 1), c.f.site), int64, c.f.site));
    counts = l != static_cast<double>(c.options.ignore_index);
    label = where(counts, l, 0.0);
  }
};

/// Reduces losses of labels: the mean is weighted.
Term of_labels(const Classes& c, const Labels& l, const Term& losses) {
  const Term seen = where(l.counts, losses, 0.0);
  if (c.options.reduction == Reduction::none) return reshape(seen, c.rows());
  const Term total = sum(seen, {}, dropdims);
  if (c.options.reduction == Reduction::sum) return total;
  if (!c.weight.handle()) return total / sum(l.counts.as(int64), {}, dropdims).as(c.f.work);
  return total / sum(where(l.counts, gathered(c.weight, l.label, c.axis, Bounds::strict), 0.0), {}, dropdims);
}

/// Returns -weight[label] value[label]: `value` is x's, or what the function gives for the label's x.
template <class F>
Term picked(const Classes& c, const Labels& l, F&& value) {
  const Term y = -value(gathered(c.x, l.label, c.axis, Bounds::strict));
  return c.weight.handle() ? y * gathered(c.weight, l.label, c.axis, Bounds::strict) : y;
}

Handle integer_labels(const Formula& f, Arg& labels) {
  Handle h = Operand(f.name, labels).take();
  if (!is_int(h->dtype)) f.fail<DtypeError>(std::string("labels are integers, not ") + name_of(h->dtype));
  return h;
}

}  // namespace

Tensor nll_loss(Arg x, Arg labels, const ClassOptions& options) {
  const Formula f("nll_loss", {&x}, {&options.weight});
  const Classes c(f.term(x), options);
  const Handle given = integer_labels(f, labels);
  Composite whole(f.name, {&c.x.handle(), &given, &options.weight.handle()}, f.site);
  const Labels l(c, given);
  return f.finish(whole, of_labels(c, l, picked(c, l, [](const Term& v) { return v; })));
}

Tensor cross_entropy(Arg x, Arg target, const ClassOptions& options) {
  constexpr const char* name = "cross_entropy";
  const Handle expected = Operand(name, target).take();
  const Tensor probabilities = is_float(expected->dtype) ? Tensor(expected) : Tensor();
  const Formula f(name, {&x}, {&options.weight, &probabilities});
  const Classes c(f.term(x), options);
  const double share = options.label_smoothing;
  if (!(share >= 0 && share <= 1)) f.fail<Error>("label_smoothing is not in 0 to 1");
  if (probabilities.defined() && expected->shape != c.x.shape())
    f.fail<ShapeError>(std::string("a target of ") + name_of(expected->dtype) +
                       " has probabilities, of x's shape " + to_string(c.x.shape()) + ", not " +
                       to_string(expected->shape) + ": labels are integers");
  if (!probabilities.defined() && !is_int(expected->dtype))
    f.fail<DtypeError>(std::string("takes labels or probabilities, not ") + name_of(expected->dtype));
  Composite whole(name, {&c.x.handle(), &expected, &options.weight.handle()}, f.site);
  const Term top = largest_alone(c.x, {c.axis}), shifted = c.x - top, rest = log(sum(exp(shifted), {c.axis}));
  const double rest_of_one = in_default_mode([&] { return 1 - share; }),
               of_each = in_default_mode([&] { return share / static_cast<double>(c.count); });
  const auto all_classes = [&](const Term& each) {  // -sum(each log_softmax(x))
    return -sum(c.weight.handle() ? each * c.weight : each, {c.axis});
  };
  if (probabilities.defined()) {
    Term p = f.term(probabilities);
    if (share > 0) p = p * rest_of_one + of_each;
    const Term losses = all_classes((shifted - rest) * p);
    return f.finish(whole, reduced(reshape(losses, c.rows()), options.reduction));
  }
  const Labels l(c, expected);
  Term losses = picked(c, l, [&](const Term& v) { return (v - top) - rest; });
  if (share > 0) losses = losses * rest_of_one + all_classes(shifted - rest) * of_each;
  return f.finish(whole, of_labels(c, l, losses));
}

}  // namespace lazy
