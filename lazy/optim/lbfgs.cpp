#include "lazy/optim/lbfgs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "lazy/complex/complex.hpp"
#include "lazy/core/build.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/optim/progress.hpp"
#include "lazy/optim/update.hpp"

namespace lazy::optim {
namespace {

double product(const Tensor& a, const Tensor& b, const Site& s) { return a.dot(Arg(b, s)).item<double>(s); }
double largest(const Tensor& a, const Site& s) {
  return a.size(s) == 0 ? 0 : a.abs(s).max({}, dropdims, s).item<double>(s);
}

/// Returns where a cubic through two points with slopes is least, within bounds.
double cubic_minimum(double x1, double f1, double g1, double x2, double f2, double g2, double low,
                     double high) {
  const double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2), square = d1 * d1 - g1 * g2;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double x = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
                            : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
  return std::min(std::max(x, low), high);
}

}  // namespace

void validate(const char* name, const LBFGSOptions& o, const Site& s) {
  check_range(name, "lr", o.lr, kUnbounded, s);
  check_range(name, "tolerance_grad", o.tolerance_grad, kUnbounded, s);
  check_range(name, "tolerance_change", o.tolerance_change, kUnbounded, s);
  if (o.max_iter < 1)
    detail::fail<Error>(name, "max_iter is " + std::to_string(o.max_iter) + ", not >= 1", s);
  if (o.max_eval < 0)
    detail::fail<Error>(name, "max_eval is " + std::to_string(o.max_eval) + ", not >= 0", s);
  if (o.history_size < 1)
    detail::fail<Error>(name, "history_size is " + std::to_string(o.history_size) + ", not >= 1", s);
}

void LBFGS::step(Site s) {
  detail::fail<Error>(name(), "step() needs a closure that computes the loss and its gradients", s);
}

void LBFGS::step_unless(const Tensor&, const Tensor&, Site s) {
  detail::fail<Error>(name(), "has no step of scaled gradients: its search reads the losses of many points",
                      s);
}

// Returns the gradients as one vector, of zeros where there is none.
Tensor LBFGS::gradient(const Site& s) {
  std::vector<Tensor> parts;
  bool any = false;
  for (const Held& h : held_) {
    const Parameter* const p = h.parameter.get();
    if (!p) detail::fail<Error>(name(), "parameter " + h.name + " was destroyed", s);
    if (!p->defined()) continue;
    const Tensor g = p->grad(s);
    any |= g.defined();
    const Tensor all = g.defined() ? g : zeros(p->shape(s), p->dtype(s), p->device(s), s);
    parts.push_back((all.is_complex(s) ? view_as_real(Arg(all, s)) : all).flatten(s));
  }
  if (!any) tell_no_gradient(s);
  if (parts.empty()) detail::fail<Error>(name(), "there are no parameters", s);
  const Tensor all = parts.size() == 1 ? parts[0] : concat(parts, 0, s);
  return options_[0].maximize ? negative(Arg(all, s)) : all;
}

LBFGS::Point LBFGS::evaluate(const Closure& closure, const Site& s, Tensor* loss) {
  Tensor value;
  {
    const enable_grad scope;
    value = closure();
  }
  if (loss) *loss = value;
  const Tensor g = gradient(s);
  const double f = value.item<double>(s);
  return {options_[0].maximize ? -f : f, g};
}

// Adds t * direction to the parameters.
void LBFGS::move(double t, const Tensor& direction, const Site& s) {
  int64_t offset = 0;
  for (const Held& h : held_) {
    Parameter& p = *h.parameter;
    if (!p.defined()) continue;
    const bool pairs = p.is_complex(s);
    Shape shape = p.shape(s);
    if (pairs) shape.push_back(2);
    const int64_t n = numel(shape);
    Tensor part = std::as_const(direction)(slice(offset, offset + n)).reshape(shape, s);
    if (pairs) part = view_as_complex(Arg(part, s));
    p = add(Arg(p, s), multiply(Arg(part, s), Arg(t, s))).astype(p.dtype(s), s);
    offset += n;
  }
}

// Takes the last step into the history and returns where the approximate Newton step goes.
Tensor LBFGS::direction(const Tensor& gradient, const Site& s) {
  const auto scaled = [&](const Tensor& x, double by) { return multiply(Arg(x, s), Arg(by, s)); };
  const Tensor y = subtract(Arg(gradient, s), Arg(prev_flat_grad_, s)), step = scaled(d_, t_);
  const double ys = product(y, step, s);
  if (ys > 1e-10) {
    if (static_cast<int64_t>(old_dirs_.size()) == options_[0].history_size) {
      old_dirs_.erase(old_dirs_.begin());
      old_stps_.erase(old_stps_.begin());
      ro_.erase(ro_.begin());
    }
    old_dirs_.push_back(y);
    old_stps_.push_back(step);
    ro_.push_back(1 / ys);
    H_diag_ = ys / product(y, y, s);
  }
  std::vector<double> al(old_dirs_.size());
  Tensor q = negative(Arg(gradient, s));
  for (size_t i = al.size(); i-- > 0;) {
    al[i] = product(old_stps_[i], q, s) * ro_[i];
    q = subtract(Arg(q, s), scaled(old_dirs_[i], al[i]));
  }
  q = scaled(q, H_diag_);
  for (size_t i = 0; i < al.size(); ++i) {
    const double be = product(old_dirs_[i], q, s) * ro_[i];
    q = add(Arg(q, s), scaled(old_stps_[i], al[i] - be));
  }
  return q;
}

Tensor LBFGS::step(const Closure& closure, Site s) {
  if (size() != 1)
    detail::fail<Error>(name(), "takes one group of parameters, not " + std::to_string(size()), s);
  const no_grad scope;
  const LBFGSOptions o = options_[0];
  const int64_t max_eval = o.max_eval ? o.max_eval : o.max_iter * 5 / 4;
  Tensor first;
  Point at = evaluate(closure, s, &first);
  int64_t evaluations = 1;
  ++func_evals_;
  if (largest(at.gradient, s) <= o.tolerance_grad) return first;
  for (int64_t n = 1; n <= o.max_iter; ++n) {
    if (++n_iter_ == 1) d_ = negative(Arg(at.gradient, s));
    else d_ = direction(at.gradient, s);
    prev_flat_grad_ = at.gradient;
    prev_loss_ = at.loss;
    t_ = o.lr;
    if (n_iter_ == 1) t_ *= std::min(1.0, 1 / at.gradient.abs(s).sum({}, dropdims, {}, s).item<double>(s));
    const double slope = product(at.gradient, d_, s);
    if (slope > -o.tolerance_change) break;
    int64_t calls = 0;
    if (o.line_search_fn == LineSearch::strong_wolfe) {
      t_ = line_search(closure, t_, slope, max_eval - evaluations, at, calls, s);
      move(t_, d_, s);
    } else {
      move(t_, d_, s);
      if (n != o.max_iter) at = evaluate(closure, s), calls = 1;
    }
    evaluations += calls;
    func_evals_ += calls;
    if (n == o.max_iter || evaluations >= max_eval || largest(at.gradient, s) <= o.tolerance_grad) break;
    if (std::abs(t_) * largest(d_, s) <= o.tolerance_change) break;
    if (std::abs(at.loss - prev_loss_) < o.tolerance_change) break;
  }
  return first;
}

/// Searches along a direction for a point with the strong Wolfe conditions (Nocedal and Wright, "Numerical
/// Optimization", 3.5 and 3.6), in torch's way.
class LBFGS::Search {
 public:
  /// Is one end of the bracket: how far along the direction, the loss and its slope there.
  struct End {
    double t;
    Point at;
    double slope;
  };
  static constexpr double kDecrease = 1e-4, kCurvature = 0.9;

  Search(LBFGS& l, const Closure& c, const Site& s) : l_(l), closure_(c), s_(s) {
    for (const Held& h : l.held_) before_.push_back(*h.parameter);
  }

  /// Evaluates `t` along the direction and puts the parameters back.
  End probe(double t) {
    l_.move(t, l_.d_, s_);
    const Point at = l_.evaluate(closure_, s_);
    for (size_t i = 0; i < before_.size(); ++i)
      if (before_[i].defined()) *l_.held_[i].parameter = before_[i];
    ++calls;
    return {t, at, product(at.gradient, l_.d_, s_)};
  }
  End run(double t, const End& start, int64_t most);

  int64_t calls = 0;

 private:
  bool bracket(double t, int64_t most);
  void zoom(int64_t most);
  bool too_high(const End& e) const { return e.at.loss > start_.at.loss + kDecrease * e.t * start_.slope; }
  bool flat(const End& e) const { return std::abs(e.slope) <= -kCurvature * start_.slope; }

  LBFGS& l_;
  const Closure& closure_;
  const Site s_;
  std::vector<Tensor> before_;
  End start_{}, low_{}, high_{};  // low_ has the lower loss
  int64_t rounds_ = 0;
};

// Goes on until a minimum lies between low_ and high_. True if low_ has the conditions already.
bool LBFGS::Search::bracket(double t, int64_t most) {
  End previous = start_, e = probe(t);
  const auto between = [&](const End& a, const End& b) {
    low_ = a.at.loss <= b.at.loss ? a : b;
    high_ = a.at.loss <= b.at.loss ? b : a;
  };
  for (; rounds_ < most; ++rounds_) {
    if (too_high(e) || (rounds_ > 1 && e.at.loss >= previous.at.loss)) return between(previous, e), false;
    if (flat(e)) return low_ = e, true;
    if (e.slope >= 0) return between(previous, e), false;
    const double least = e.t + 0.01 * (e.t - previous.t), furthest = e.t * 10;
    const double next =
        cubic_minimum(previous.t, previous.at.loss, previous.slope, e.t, e.at.loss, e.slope, least, furthest);
    previous = e;
    e = probe(next);
  }
  return between(start_, e), false;
}

void LBFGS::Search::zoom(int64_t most) {
  const double longest = largest(l_.d_, s_);
  bool slow = false;
  while (rounds_ < most) {
    if (std::abs(high_.t - low_.t) * longest < l_.options_[0].tolerance_change) return;
    const double from = std::min(low_.t, high_.t), to = std::max(low_.t, high_.t);
    double t = cubic_minimum(low_.t, low_.at.loss, low_.slope, high_.t, high_.at.loss, high_.slope, from, to);
    const double margin = 0.1 * (to - from);
    const bool at_edge = std::min(to - t, t - from) < margin;
    if (at_edge && (slow || t >= to || t <= from)) {
      t = std::abs(t - to) < std::abs(t - from) ? to - margin : from + margin;
      slow = false;
    } else {
      slow = at_edge;
    }
    const End e = probe(t);
    ++rounds_;
    if (too_high(e) || e.at.loss >= low_.at.loss) {
      high_ = e;
      if (high_.at.loss < low_.at.loss) std::swap(low_, high_);
      continue;
    }
    const bool done = flat(e);
    if (!done && e.slope * (high_.t - low_.t) >= 0) high_ = low_;
    low_ = e;
    if (done) return;
  }
}

LBFGS::Search::End LBFGS::Search::run(double t, const End& start, int64_t most) {
  start_ = start;
  if (!bracket(t, most)) zoom(most);
  return low_;
}

double LBFGS::line_search(const Closure& closure, double t, double slope, int64_t most, Point& at,
                          int64_t& evaluations, const Site& s) {
  Search search(*this, closure, s);
  const Search::End found = search.run(t, {0, at, slope}, most);
  evaluations = search.calls;
  at = found.at;
  return found.t;
}

std::vector<std::pair<std::string, Option>> LBFGS::numbers() {
  const std::string at = "state.lbfgs.";
  std::vector<std::pair<std::string, Option>> all;
  all.emplace_back(at + "n_iter", Option("n_iter", n_iter_));
  all.emplace_back(at + "func_evals", Option("func_evals", func_evals_));
  all.emplace_back(at + "t", Option("t", t_));
  all.emplace_back(at + "H_diag", Option("H_diag", H_diag_));
  all.emplace_back(at + "prev_loss", Option("prev_loss", prev_loss_));
  for (size_t i = 0; i < ro_.size(); ++i)
    all.emplace_back(at + "ro." + std::to_string(i), Option("ro", ro_[i]));
  return all;
}

void LBFGS::save_own(NamedTensors& all) const {
  if (n_iter_ == 0) return;
  for (const auto& [name, value] : saved(const_cast<LBFGS*>(this)->numbers())) all.set(name, value);
  const std::string at = "state.lbfgs.";
  all.set(at + "d", d_);
  all.set(at + "prev_flat_grad", prev_flat_grad_);
  for (size_t i = 0; i < ro_.size(); ++i) {
    all.set(at + "old_dirs." + std::to_string(i), old_dirs_[i]);
    all.set(at + "old_stps." + std::to_string(i), old_stps_[i]);
  }
}

void LBFGS::load_own(const NamedTensors& state, const Site& s) {
  const std::string at = "state.lbfgs.";
  if (!state.contains(at + "n_iter")) {
    n_iter_ = func_evals_ = 0;
    old_dirs_.clear(), old_stps_.clear(), ro_.clear();
    return;
  }
  size_t history = 0;
  while (state.contains(at + "ro." + std::to_string(history))) ++history;
  std::vector<Tensor> dirs, steps;
  for (size_t i = 0; i < history; ++i) {
    dirs.push_back(state.at(at + "old_dirs." + std::to_string(i), s));
    steps.push_back(state.at(at + "old_stps." + std::to_string(i), s));
  }
  const Tensor d = state.at(at + "d", s), before = state.at(at + "prev_flat_grad", s);
  const std::vector<double> ro = std::exchange(ro_, std::vector<double>(history));
  try {
    load(name(), numbers(), state, s);
  } catch (...) {
    ro_ = ro;
    throw;
  }
  d_ = d, prev_flat_grad_ = before, old_dirs_ = dirs, old_stps_ = steps;
}

}  // namespace lazy::optim
