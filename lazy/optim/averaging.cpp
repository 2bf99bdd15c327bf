#include "lazy/optim/averaging.hpp"

#include <algorithm>

#include "lazy/formula/formula.hpp"

namespace lazy::optim {

void update_averages(const ParameterList& averages, const ParameterList& parameters, double weight, Site s) {
  using namespace lazy::detail;
  const no_grad scope;
  Formula f("update_averages", s);
  if (averages.size() != parameters.size())
    f.fail<Error>(std::to_string(averages.size()) + " averages of " + std::to_string(parameters.size()) +
                  " parameters");
  for (size_t i = 0; i < averages.size(); ++i) {
    Parameter *const a = averages[i].parameter.get(), *const p = parameters[i].parameter.get();
    if (!a || !p) f.fail<Error>("parameter " + std::to_string(i) + " holds nothing");
    if (!a->defined() || !p->defined()) continue;
    f.result = a->dtype(s);
    f.work = is_half(f.result) ? float32 : f.result;
    const Term average = f.term(*a), value = f.term(*p);
    if (average.shape() != value.shape())
      f.fail<ShapeError>("parameter " + std::to_string(i) + " has shape " + to_string(value.shape()) +
                         ", its average " + to_string(average.shape()));
    const auto next = [&] { return weight == 1 ? value : average + (value - average) * weight; };
    *a = f.tensor(f.as(f.result, next().handle()));
  }
}

void AverageSteps::update(const ParameterList& averages, const ParameterList& parameters, double weight,
                          const Site& s) {
  note_step();
  if (held_.size() != averages.size()) held_.assign(averages.size(), {});
  std::vector<Nodes> before(averages.size());
  for (size_t i = 0; i < averages.size(); ++i) {
    const ParameterRef& a = averages[i].parameter;
    Held& h = held_[i];
    if (!(h.average == a)) h = {a, {}};
    if (!a || !a->defined()) continue;
    if (is_computed(a->handle())) h.replaced.clear();
    if (weight != 1) before[i] = Nodes(a->handle());  // else nothing is computed from it
  }
  update_averages(averages, parameters, weight, s);
  for (size_t i = 0; i < averages.size(); ++i)
    if (Parameter* const a = held_[i].average.get(); a && a->defined())
      held_[i].replaced.push_back({Nodes(a->handle()), before[i]});
}

void AverageSteps::take_back(const Failed& failed) {
  const no_grad scope;
  int64_t most = 0;
  for (Held& h : held_) {
    Parameter* const a = h.average.get();
    if (!a || !a->defined()) continue;
    const std::vector<Replaced> removed = remove_failed(h.replaced, failed, Nodes(a->handle()));
    most = std::max(most, std::ssize(removed));
    if (!removed.empty() && removed.front().average) *a = Tensor(removed.front().average.value());
  }
  taken_back_ += most;
}

}  // namespace lazy::optim
