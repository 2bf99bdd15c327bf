// Implements connectionist temporal classification (Graves et al. 2006) by the forward variables in
// logarithms.

#include "lazy/core/special_values.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/nn/functional/losses.hpp"

namespace lazy {
namespace {
using namespace detail;

Handle integers(const Formula& f, const char* what, Arg& a) {
  Handle h = Operand(f.name, a).take();
  if (!is_int(h->dtype)) f.fail<DtypeError>(std::string(what) + " are integers, not " + name_of(h->dtype));
  return f.as(int64, h);
}

/// Returns log(e^a + e^b + e^c) without overflow; -infinity where all are. The gradient's shares are e^a over
/// the sum, and so on: 0 where all are -infinity.
Term log_of_sum(const Term& a, const Term& b, const Term& c) {
  const Formula& f = a.formula();
  Composite whole(f.name, {&a.handle(), &b.handle(), &c.handle()}, f.site);
  const Term top = maximum(maximum(a, b), c);
  const Term base = where(top == -kInfinity, 0.0, top);
  const Term y = log(exp(a - base) + exp(b - base) + exp(c - base)) + base;
  return f.term(whole.result(y.handle(), [name = f.name](const Differentiated& d) {
    const Formula f(name, d.site);
    const Term y = f.term(d.result), g = f.term(d.gradient), least = where(y == -kInfinity, 0.0, y);
    std::vector<Handle> all;
    for (const Handle& x : d.operands) all.push_back((exp(f.term(x) - least) * g).handle());
    return all;
  }));
}

/// Holds a batch: steps (T, N, C), labels (N, S), lengths (N, 1).
struct Batch {
  const Formula& f;
  Term steps, labels, inputs, lengths;
  int64_t blank;

  int64_t time() const { return steps.extent(0); }
  int64_t rows() const { return steps.extent(1); }
  int64_t states() const { return 2 * labels.extent(1) + 1; }

  /// Returns labels between blanks, (N, 2 S + 1): those beyond a row's length are blanks.
  Term extended() const {
    const int64_t n = rows(), s = labels.extent(1);
    const Term counts = f.term(f.Recorder::index(1, labels.shape(), labels.handle())) < lengths;
    const Term kept = where(counts, labels, static_cast<double>(blank));
    const Handle blanks = f.filled(blank, int64, {n, s, 2}, labels.handle());
    const Handle pairs = f.replaced(blanks, f.reshape(kept.handle(), {n, s, 1}), 2, 1);
    const Handle all = f.filled(blank, int64, {n, 2 * s + 1}, labels.handle());
    return f.term(f.replaced(all, f.reshape(pairs, {n, 2 * s}), 1, 0));
  }
  /// Returns -log of the probability of each row's labels: (N).
  Term losses() const;
};

Term Batch::losses() const {
  const int64_t n = rows(), length = states();
  const Term path = extended();
  const Term emitted =
      f.term(take_along_axis(f.arg(steps.handle()), f.arg(f.reshape(path.handle(), {1, n, length})), 2,
                             Bounds::strict)
                 .handle());
  const auto at = [&](int64_t t) { return reshape(part(emitted, 0, t, 1), {n, length}); };
  const Term state = f.term(f.Recorder::index(1, {1, length}, path.handle()));
  // From two states before one comes to a label that is not that one again.
  Term jumps = (path != static_cast<double>(blank)) & (state >= 2.0);
  if (length > 2) {
    const Handle before = f.replaced(f.filled(blank, int64, {n, length}, path.handle()),
                                     f.part(path.handle(), 1, 0, length - 2), 1, 2);
    jumps = jumps & (path != f.term(before));
  }
  // Two states that cannot be stand before the first: then all have two before them.
  const Handle none = f.filled(-kInfinity, f.work, {n, length + 2}, path.handle());
  const auto with_none = [&](const Term& a) { return f.term(f.replaced(none, a.handle(), 1, 2)); };
  Term alpha = with_none(where((state == 0.0) | ((state == 1.0) & (lengths > 0.0)), at(0), -kInfinity));
  for (int64_t t = 1; t < time(); ++t) {
    const Term here = part(alpha, 1, 2, length), one = part(alpha, 1, 1, length);
    const Term two = where(jumps, part(alpha, 1, 0, length), -kInfinity);
    const Term next = at(t) + log_of_sum(here, one, two);
    alpha = with_none(where(inputs > static_cast<double>(t), next, here));
  }
  const Term last = lengths * 2.0;
  const auto ending = [&](const Term& s) {
    const Term p = gathered(part(alpha, 1, 2, length), s, 1, Bounds::clip);
    return where(inputs > 0.0, p, where(lengths == 0.0, p.number(0), p.number(-kInfinity)));
  };
  const Term all = ending(last), but_one = where(lengths > 0.0, ending(last - 1.0), -kInfinity);
  return reshape(-log_of_sum(all, but_one, all.number(-kInfinity)), {n});
}

/// Returns lengths (N, 1).
Term lengths_of(const Formula& f, const char* what, Arg& a, int64_t n) {
  const Handle h = integers(f, what, a);
  if (numel(h->shape) != n || h->shape.size() > 1)
    f.fail<ShapeError>(std::string(what) + " " + to_string(h->shape) + " for " + std::to_string(n) + " rows");
  return f.term(f.reshape(h, {n, 1}));
}

}  // namespace

Tensor ctc_loss(Arg log_probs, Arg targets, Arg input_lengths, Arg target_lengths, const CtcOptions& o) {
  const Formula f("ctc_loss", {&log_probs});
  Term x = f.term(log_probs);
  Handle labels = integers(f, "targets", targets);
  check_reduction(f, o.reduction);
  const bool single = x.rank() == 2;
  if (single) x = reshape(x, {x.extent(0), 1, x.extent(1)});
  if (single && labels->shape.size() == 1) labels = f.reshape(labels, {1, labels->shape[0]});
  if (x.rank() != 3 || labels->shape.size() != 2 || labels->shape[0] != x.extent(1) || x.extent(0) == 0)
    f.fail<ShapeError>("takes (T, N, C) and targets (N, S), T at least 1, not " + to_string(x.shape()) +
                       " and " + to_string(labels->shape));
  if (o.blank < 0 || o.blank >= x.extent(2))
    f.fail<IndexError>("blank " + std::to_string(o.blank.value) + " is none of " +
                       std::to_string(x.extent(2)) + " classes");
  const int64_t n = x.extent(1);
  const Batch b{f,
                x,
                f.term(labels),
                lengths_of(f, "input_lengths", input_lengths, n),
                lengths_of(f, "target_lengths", target_lengths, n),
                o.blank};
  Composite whole(f.name, {&x.handle(), &labels, &b.inputs.handle(), &b.lengths.handle()}, f.site);
  Term losses = b.losses();
  if (o.zero_infinity) losses = where(losses == kInfinity, 0.0, losses);
  if (o.reduction == Reduction::mean) losses = losses / reshape(maximum(b.lengths, 1.0), {n}).as(f.work);
  if (single && o.reduction == Reduction::none) losses = reshape(losses, {});
  return f.finish(whole, reduced(losses, o.reduction));
}

}  // namespace lazy
