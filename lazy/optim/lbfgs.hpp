// Declares L-BFGS, which asks for the loss at several points each step.
#pragma once
#include "lazy/optim/optimizer.hpp"

namespace lazy::optim {

enum class LineSearch { none, strong_wolfe };

template <template <class> class As>
struct LBFGSOptionsAs {
  As<double> lr = otherwise<As>(1.0);
  As<int64_t> max_iter = otherwise<As>(int64_t{20});  // iterations a step
  As<int64_t> max_eval = otherwise<As>(int64_t{0});   // calls of the closure a step; 0: 5/4 of max_iter
  As<double> tolerance_grad = otherwise<As>(1e-7);
  As<double> tolerance_change = otherwise<As>(1e-9);
  As<int64_t> history_size = otherwise<As>(int64_t{100});
  As<LineSearch> line_search_fn = otherwise<As>(LineSearch::none);
  As<bool> maximize = otherwise<As>(false);

  static void each(auto&& f, auto&... o) {
    f("lr", o.lr...), f("max_iter", o.max_iter...), f("max_eval", o.max_eval...),
        f("tolerance_grad", o.tolerance_grad...);
    f("tolerance_change", o.tolerance_change...), f("history_size", o.history_size...);
    f("line_search_fn", o.line_search_fn...), f("maximize", o.maximize...);
  }
};
using LBFGSOptions = LBFGSOptionsAs<Value>;
using LBFGSGroup = LBFGSOptionsAs<Given>;
void validate(const char* name, const LBFGSOptions&, const Site&);

/// torch.optim.LBFGS. step(closure) calls the closure, which must compute loss and gradients anew, as often
/// as the search asks; where to go next depends on these numbers, so they are read, and a step is many
/// flushes. The state is history_size pairs of vectors as long as all parameters together.
class LBFGS final : public OptimizerOf<LBFGSOptionsAs> {
 public:
  using Closure = std::function<Tensor()>;
  explicit LBFGS(const ParameterList& parameters, const LBFGSOptions& o = {}, Site s = Site::current())
      : OptimizerOf("LBFGS", parameters, o, s) {}
  /// Takes a learning rate in the place of options.
  LBFGS(const ParameterList& parameters, std::floating_point auto lr, Site s = Site::current())
      : LBFGS(parameters, LBFGSOptions{.lr = static_cast<double>(lr)}, s) {}

  /// Throws Error: there is no step without a closure.
  void step(Site s = Site::current()) override;
  void step_unless(const Tensor& skip, const Tensor& factor = {}, Site s = Site::current()) override;
  /// Returns the loss before the step. Error if there is more than one group.
  Tensor step(const Closure& closure, Site s = Site::current()) override;

 private:
  /// Holds the loss and its gradient by all parameters, as one vector.
  struct Point {
    double loss;
    Tensor gradient;
  };
  class Search;

  Point evaluate(const Closure& closure, const Site& s, Tensor* loss = nullptr);
  Tensor gradient(const Site& s);
  void move(double t, const Tensor& direction, const Site& s);
  Tensor direction(const Tensor& gradient, const Site& s);
  double line_search(const Closure& closure, double t, double slope, int64_t most, Point& at,
                     int64_t& evaluations, const Site& s);
  std::vector<std::pair<std::string, Option>> numbers();

  std::span<const char* const> state_names() const override { return {}; }
  void save_own(NamedTensors&) const override;
  void load_own(const NamedTensors&, const Site&) override;
  bool is_own(const std::string& name) const override { return name.starts_with("state.lbfgs."); }

  int64_t n_iter_ = 0, func_evals_ = 0;
  double t_ = 0, H_diag_ = 1, prev_loss_ = 0;
  Tensor d_, prev_flat_grad_;
  std::vector<Tensor> old_dirs_, old_stps_;  // differences of gradients and steps, oldest first
  std::vector<double> ro_;                   // 1 / (dir . step)
};

}  // namespace lazy::optim
