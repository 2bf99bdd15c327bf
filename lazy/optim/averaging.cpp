#include "lazy/optim/averaging.hpp"

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

}  // namespace lazy::optim
