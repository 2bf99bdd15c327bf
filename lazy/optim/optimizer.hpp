// Defines what all optimizers have in common: groups of parameters with options of their own, step(),
// zero_grad(), and the state that is saved.
//
//   optim::AdamW optimizer(model.named_parameters(), {.lr = 3e-4});
//   for (auto [x, y] : batches) {
//     optimizer.zero_grad();
//     Tensor loss = cross_entropy(model(x), y);
//     loss.backward();
//     optimizer.step();
//     eval(loss);                    // forward, backward and update in one flush
//   }
//
// step() computes nothing: it records the updates and rebinds the parameters and the state. Whatever reads a
// value of the step flushes it whole. What changes from step to step (learning rates, powers of beta, step
// numbers) is an argument of the compiled program, so a schedule compiles nothing. Old values of parameters
// and state give their memory to the new ones.
//
// A parameter without a gradient is skipped: it keeps its value, its state and its number of steps. The state
// of a parameter of a 16-bit dtype is of float32; otherwise it has the parameter's dtype. With the option
// master_weights the parameter's own value is kept in float32 too, as part of the state: `master_param`. Real
// and imaginary parts of a complex parameter are updated as real parameters are, and so is its state: as
// torch.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lazy/core/named.hpp"
#include "lazy/optim/master.hpp"
#include "lazy/optim/options.hpp"
#include "lazy/optim/parameters.hpp"
#include "lazy/optim/taking_back.hpp"

namespace lazy::optim {

class Update;
struct StepCondition;

/// Reads and writes one option of a group as a number: bools are 0 and 1.
struct Option {
  template <class T>
  Option(std::string its_name, T& value)
      : name(std::move(its_name)),
        get([&value] { return static_cast<double>(value); }),
        set([&value](double v) { value = static_cast<T>(v); }) {}

  std::string name;  // torch's; of a pair "betas.0" and "betas.1"
  std::function<double()> get;
  std::function<void(double)> set;
};

/// Holds what an optimizer remembers of one parameter.
struct ParameterState {
  static constexpr size_t kMost = 4;  // tensors
  int64_t step = 0;                   // updates so far, those that were skipped too
  std::vector<Tensor> tensors;        // in the order of state_names(); undefined before the first update
  double product = 1;                 // of a sequence of numbers, for those who need one
  // What the two numbers are from the first step on that had a condition: float64, no axes.
  Tensor step_value, product_value;
  Master master;
};

class Optimizer : private Revocable {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Records one update of each parameter that has a gradient. Error if a parameter was destroyed. The first
  /// time that none has a gradient, a line on standard error says so.
  virtual void step(Site s = Site::current());
  /// Calls the function, which computes the loss and its gradients, then updates; returns the loss.
  virtual Tensor step(const std::function<Tensor()>& closure, Site s = Site::current());
  /// Records one update, as step() does, which changes nothing, not even the number of steps, if `skip`
  /// (bool, no axes) turns out to be true when values are computed. The gradients are multiplied by `factor`
  /// first (float32, no axes; undefined: 1), before they are rounded to 16 bits. What GradScaler does.
  virtual void step_unless(const Tensor& skip, const Tensor& factor = {}, Site s = Site::current());
  /// Forgets the gradients of all parameters.
  void zero_grad(Site s = Site::current());

  /// Returns the parameters of all groups, in the order in which they were added.
  ParameterList parameters() const;
  /// Returns the number of groups.
  size_t size() const noexcept { return groups_; }
  double lr(size_t group = 0, Site s = Site::current()) const { return option("lr", group, s); }
  void set_lr(double lr, size_t group = 0, Site s = Site::current()) { set_option("lr", lr, group, s); }
  /// Returns an option of a group by its name in torch. IndexError if there is no such option or group.
  double option(const std::string& name, size_t group = 0, Site s = Site::current()) const;
  /// Sets an option. Error for a value that the optimizer's constructor refuses.
  void set_option(const std::string& name, double value, size_t group = 0, Site s = Site::current());
  bool has_option(const std::string& name) const;
  /// Returns the learning rate from which schedules start: that of the group when the first of them began.
  double initial_lr(size_t group);
  void set_initial_lr(double lr, size_t group);

  /// Returns the state, as files hold it: `state.W.step` and `state.W.exp_avg` for the parameter named W (its
  /// number, if it has no name), `param_groups.0.lr` for options. They share the values of this moment.
  NamedTensors state_dict() const;
  /// Takes a state that state_dict() of the same optimizer returned, for parameters of the same names, and
  /// options too. Error for names that are missing or unknown, ShapeError for a state of another shape than
  /// the parameter; nothing changes then.
  void load_state_dict(const NamedTensors& state, Site s = Site::current());

  /// Returns the name of the class.
  const char* name() const noexcept { return name_; }

 protected:
  /// Remembers what a step replaced. Nobody else may have these nodes; they live as long as the step's new
  /// value of the parameter has to be computed.
  struct Replaced {
    Nodes by, parameter;
    // Of the state; none: there was none.
    Nodes tensors[ParameterState::kMost], step_value, product_value, master;
    int64_t step = 0;
    double product = 1;
  };
  /// Holds one parameter with its state.
  struct Held {
    std::string name;
    ParameterRef parameter;
    size_t group;
    ParameterState state;
    std::vector<Replaced> replaced;  // by the steps since the parameter last had a value, in order
    bool had_gradient = false;       // in a step
    bool added_later = false;        // than the first step
  };

  explicit Optimizer(const char* name) : name_(name) {}
  /// Throws Error: the optimizer was made for no parameters.
  void check_any(const Site& s) const;
  /// Says, once, on standard error: no parameter has a gradient.
  void tell_no_gradient(const Site& s);
  /// Adds parameters as the next group. Error for one that holds nothing or is there already.
  void add_parameters(const ParameterList& parameters, const Site& s);
  /// Updates one parameter and its state; what step() calls unless it is overridden.
  virtual void update(Update&, size_t group) const;
  /// Returns the names of the tensors in a parameter's state.
  virtual std::span<const char* const> state_names() const = 0;
  /// True if the options of the group give the state its tensor `i`.
  virtual bool needs(size_t /*i*/, size_t /*group*/) const { return true; }
  /// True if 16-bit parameters of the group have their values kept in float32.
  virtual bool has_master_weights(size_t /*group*/) const { return false; }
  /// Returns the name under which ParameterState::product is saved; null if it is not used.
  virtual const char* product_name() const { return nullptr; }
  virtual std::vector<Option> options_of(size_t group) const = 0;
  /// Throws Error if the group's options are out of range.
  virtual void check_options(size_t group, const Site& s) const = 0;
  /// Adds what the optimizer remembers beside the states of parameters, and takes it again; the default has
  /// nothing.
  virtual void save_own(NamedTensors&) const {}
  virtual void load_own(const NamedTensors&, const Site&) {}
  /// True if the name is one of save_own().
  virtual bool is_own(const std::string&) const { return false; }

  std::vector<Held> held_;

 private:
  struct Kind;
  void step_if(const StepCondition&, const Site&);
  void take_back(const Failed&) override;
  void load_parameter(const NamedTensors& state, Held& held, const Site& s) const;
  void load_options(const NamedTensors& state, const Site& s);
  void check_names(const NamedTensors& state, const Site& s) const;

  const char* name_;
  /// Tells if gradients are never set to zero between steps.
  void tell_of_sums(const Parameter& first, const Site& s);
  /// Says which parameters have never had a gradient, after kStepsToTell steps.
  void tell_of_untrained(const Site& s) const;
  static constexpr uint32_t kStepsToTell = 64;
  uint32_t steps_ = 0;  // in which any parameter had a gradient
  uint32_t additions_ = 0,
           summing_steps_ = 0;  // of the first gradient, at the latest step; steps that it grew
  bool told_no_gradient_ = false;
  size_t groups_ = 0;
  std::vector<double> initial_lrs_;  // one a group; NaN until a schedule begins
};

/// Adds to an optimizer its options, one set a group.
template <template <template <class> class> class OptionsAs>
class OptimizerOf : public Optimizer {
 public:
  using Options = OptionsAs<Value>;
  using Group = OptionsAs<Given>;

  /// Adds parameters with options of their own: those that are left out are what the optimizer was given.
  /// Error for a parameter that is there already.
  void add_param_group(const ParameterList& parameters, const Group& group = {}, Site s = Site::current()) {
    Options options = given_;
    Options::each(
        [](const char*, auto& option, const auto& of_group) {
          if (of_group) option = *of_group;
        },
        options, group);
    add_whole_group(parameters, options, s);
  }
  /// Adds parameters with all options, as another group has them: `auto options = a.param_groups()[0];`.
  template <std::convertible_to<Options> O>
  requires(!std::same_as<O, Group>) void add_param_group(const ParameterList& parameters, const O& options,
                                                         Site s = Site::current()) {
    add_whole_group(parameters, options, s);
  }
  /// Returns the options of each group, to be changed in place; they are read by the next step().
  std::span<Options> param_groups() noexcept { return options_; }
  std::span<const Options> param_groups() const noexcept { return options_; }

 protected:
  /// Error if there are no parameters.
  OptimizerOf(const char* name, const ParameterList& parameters, const Options& options, const Site& s)
      : Optimizer(name), given_(options) {
    add_whole_group(parameters, options, s);
    check_any(s);
  }
  std::vector<Option> options_of(size_t group) const override {
    std::vector<Option> all;
    const auto add = [&](const char* name, auto& value) {
      if constexpr (requires { value.size(); })
        for (size_t i = 0; i < value.size(); ++i)
          all.emplace_back(std::string(name) + "." + std::to_string(i), value[i]);
      else all.emplace_back(name, value);
    };
    Options::each(add, options_[group]);
    return all;
  }
  bool has_master_weights(size_t group) const override {
    if constexpr (requires { options_[group].master_weights; }) return options_[group].master_weights;
    else return false;
  }
  void check_options(size_t group, const Site& s) const override { validate(name(), options_[group], s); }

  mutable std::vector<Options> options_;  // one a group; mutable, for an Option reads and writes

 private:
  void add_whole_group(const ParameterList& parameters, const Options& options, const Site& s) {
    validate(name(), options, s);
    add_parameters(parameters, s);
    options_.push_back(options);
  }

  const Options given_;  // what groups inherit
};

}  // namespace lazy::optim
