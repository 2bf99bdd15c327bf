#include "lazy/optim/update.hpp"

#include "lazy/ops/creation.hpp"

namespace lazy::optim {

Update::Update(const char* n, const Site& s, const Tensor& value, const Tensor& gradient, ParameterState& st,
               const StepCondition& condition, bool master_weights, SharedByKind& shared)
    : Formula(n, s),
      state_(st),
      shared_(shared),
      skip_(condition.skip.handle()),
      master_(master_weights && is_half(value.dtype(s))) {
  numbers = &shared.numbers;
  result = value.dtype(s);
  work = is_half(result) ? float32 : result;
  p = term(master_ && st.master.is_of(value) ? st.master.value : value);
  g = term(gradient);
  if (condition.factor.defined()) {
    g = g * term(condition.factor);
    result_.gradient = tensor(as(gradient.dtype(s), g.handle()));
  }
  ++st.step;
  count();
}

// Once on the device, the count stays there: its value is known nowhere else.
void Update::count() {
  if (!skip_ && !state_.step_value.defined()) return;
  if (!shared_.count) {
    const Formula alone(name, site);
    shared_.before_count = state_.step_value;
    const Term before = alone.term(
        state_.step_value.defined() ? state_.step_value.handle()
                                    : alone.Recorder::number(static_cast<double>(state_.step - 1), float64));
    const Term n = before + 1;
    shared_.count = n.handle();
    shared_.kept_count = unless_skipped(before, n).handle();
  }
  state_.step_value = tensor(shared_.kept_count);
}

void Update::multiply_product_by(const std::function<Term(const Term& n)>& f) {
  if (!shared_.product) {
    const Formula alone(name, site);
    shared_.before_product = state_.product_value;
    const Term before =
        alone.term(state_.product_value.defined() ? state_.product_value.handle()
                                                  : alone.Recorder::number(state_.product, float64));
    const Term product = before * f(alone.term(shared_.count));
    shared_.product = product.handle();
    shared_.kept_product = unless_skipped(before, product).handle();
  }
  state_.product_value = tensor(shared_.kept_product);
}

Term Update::filled_with(double v) const { return term(filled(v, work, p.shape(), p.handle())); }

Term Update::state(size_t i, double otherwise) const {
  return before_[i] = had(i) ? term(state_.tensors[i]) : filled_with(otherwise);
}

Term Update::unless_skipped(const Term& old, const Term& value) const {
  return skip_ ? detail::where(term(skip_), old, value) : value;
}

Term Update::keep(size_t i, Term value) const {
  if (skip_ && !before_[i].handle()) state(i);
  state_.tensors[i] = tensor(unless_skipped(before_[i], value).handle());
  before_[i] = Term();
  return value;
}

void Update::with_lengths(const Term& a, const Term& b, std::function<void(const Term&, const Term&)> f) {
  const auto square = [](const Term& t) { return sum(t * t, {}); };
  const Term squares[] = {square(a), square(b)};
  if (!both) return f(sqrt(squares[0]), sqrt(squares[1]));
  if (!both->first) {
    both->first = std::move(f);
    both->squares = {squares[0], squares[1]};
    return;
  }
  const Term of_a = sqrt(both->squares[0] + squares[0]), of_b = sqrt(both->squares[1] + squares[1]);
  both->first(of_a, of_b);
  f(of_a, of_b);
}

// The parameter takes the value itself if nobody else has it.
void Update::finish(Term value) {
  if (skip_) value = unless_skipped(p, value);
  detail::Handle h = as(result, value.handle());
  if (master_) state_.master.value = tensor(value.handle());
  value = Term();
  result_.value = Tensor(std::move(h));
  result_.master = master_;
}

void check_range(const char* optimizer, const char* option, double value, double below, const Site& s) {
  if (value >= 0 && value < below) return;
  detail::fail<Error>(optimizer,
                      std::string(option) + " is " + std::to_string(value) + ", not in [0, " +
                          (std::isinf(below) ? "inf" : std::to_string(below)) + ")",
                      s);
}

}  // namespace lazy::optim
