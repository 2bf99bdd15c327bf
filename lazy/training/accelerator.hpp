// Runs one training loop on one rank or many, in float32 or mixed precision, with several batches to a step:
// by the names that Hugging Face's Accelerate has for it.
//
//   training::Accelerator accelerator({.mixed_precision = bfloat16, .gradient_accumulation_steps = 4});
//   accelerator.prepare(model, optimizer);
//   data::DataLoader loader(train, accelerator.share_of(train.size(), {.batch_size = 32, .shuffle = true}));
//   for (const auto& [x, y] : loader) {
//     const auto step = accelerator.accumulate();        // every fourth batch ends a step
//     Tensor loss;
//     {
//       const auto scope = accelerator.autocast();
//       loss = cross_entropy(model(x), y);
//     }
//     accelerator.backward(loss);
//     if (accelerator.sync_gradients()) accelerator.clip_grad_norm_(model.named_parameters(), 1.0);
//     accelerator.step(optimizer);
//     accelerator.zero_grad(optimizer);
//   }
//   accelerator.save_state("run/state");
//
// Unlike Accelerate's, prepare() returns nothing: model and optimizer stay what they are, and the loop calls
// step() and zero_grad() of the accelerator, which do nothing between the ends of steps.
#pragma once
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lazy/amp/autocast.hpp"
#include "lazy/amp/grad_scaler.hpp"
#include "lazy/data/loader.hpp"
#include "lazy/distributed/data_parallel.hpp"
#include "lazy/optim/clip_grad.hpp"
#include "lazy/training/checkpoint.hpp"

namespace lazy::training {

/// Says how a loop runs. What is not set here comes from the environment, where lazy-launch puts its
/// settings: ACCELERATE_MIXED_PRECISION (no, fp16 or bf16) and ACCELERATE_GRADIENT_ACCUMULATION_STEPS, else
/// from the model's dtypes and one batch to a step.
struct AcceleratorOptions {
  std::optional<DType> mixed_precision = {};  // bfloat16 or float16; float32: as the model's dtypes are
  std::optional<int64_t> gradient_accumulation_steps = {};  // batches to a step, from 1 on
  bool split_batches = false;  // batch sizes are those of all ranks together, else of each
  bool even_batches = true;    // where examples don't divide, first ones are visited again
  uint64_t seed = 0;           // of the order of examples, the same on all ranks
  distributed::DataParallelOptions data_parallel = {};
};

class Accelerator {
 public:
  /// Joins the world that the environment names (distributed::init), unless the thread is in one. Error for
  /// options that make no sense.
  explicit Accelerator(const AcceleratorOptions& options = {}, Site s = Site::current());
  Accelerator(const Accelerator&) = delete;
  /// Leaves the world, if this has joined it.
  ~Accelerator();

  int process_index() const { return distributed::rank(); }
  int num_processes() const { return distributed::world_size(); }
  bool is_main_process() const { return distributed::is_main_process(); }

  /// Has the gradients of the model's parameters exchanged by backward(), from rank 0's values on, and states
  /// saved: models and optimizers are numbered in the order in which they come. They have to stay where they
  /// are.
  void prepare(nn::Module& model, optim::Optimizer& optimizer, Site s = Site::current());
  void prepare(nn::Module& model, Site s = Site::current());
  /// Has save_state() and load_state() take this, too: a schedule, a loader, a generator.
  template <class T>
  void register_for_checkpointing(const std::string& name, T& x) {
    others_.push_back({[name, &x](Checkpoint& c) { c.add(name, x); },
                       [name, &x](const Checkpoint& c) { c.restore(name, x); }});
  }
  /// Returns options for this rank's part of so many examples: the sampler and batch size are of all ranks'
  /// making. Error for a sampler of the user's own, and for batches that the ranks don't divide.
  data::LoaderOptions share_of(int64_t examples, data::LoaderOptions options, Site s = Site::current()) const;

  /// Counts batches: within the returned scope, sync_gradients() says if this one ends a step. `last`: it
  /// does, for the loader ends with it.
  class Accumulation {
   public:
    explicit Accumulation(Accelerator& a) : accelerator_(a) {}
    Accumulation(const Accumulation&) = delete;
    ~Accumulation() { accelerator_.sync_gradients_ = true; }

   private:
    Accelerator& accelerator_;
  };
  Accumulation accumulate(bool last = false);
  bool sync_gradients() const { return sync_gradients_; }

  /// Has ops be recorded in the mixed precision that was asked for, or none, in a scope.
  lazy::autocast autocast(Site s = Site::current()) const;
  /// Adds the gradients of the loss over the number of batches of a step; at its end they become the means of
  /// all ranks'. A loss is to be computed by one prepared model.
  void backward(const Tensor& loss, Site s = Site::current());
  /// Bounds the gradients, unscaled, and returns the norm that they had.
  Tensor clip_grad_norm_(const optim::ParameterList& parameters, double max_norm, double norm_type = 2,
                         Site s = Site::current());
  void clip_grad_value_(const optim::ParameterList& parameters, double clip_value, Site s = Site::current());
  /// Records the optimizer's step, and forgets the gradients: at the end of a step, else nothing.
  void step(optim::Optimizer& optimizer, Site s = Site::current());
  void zero_grad(optim::Optimizer& optimizer, Site s = Site::current());

  /// Returns all ranks' values one behind the other, or combined.
  Tensor gather(const Tensor& x, Site s = Site::current()) const { return distributed::all_gather(x, {}, s); }
  Tensor reduce(const Tensor& x, distributed::ReduceOp op = distributed::ReduceOp::sum,
                Site s = Site::current()) const {
    return distributed::all_reduce(x, op, {}, s);
  }
  /// Returns the first `examples` of what all ranks have of an epoch, in the order of the examples of a
  /// loader that does not shuffle: `x` is all that this rank has, one row an example. Rows of examples that
  /// were visited again are left out.
  Tensor gather_for_metrics(const Tensor& x, int64_t examples, Site s = Site::current()) const;
  /// Waits until all ranks are here.
  void wait_for_everyone(Site s = Site::current()) const { distributed::barrier({}, s); }
  /// Prints on the main process alone, as printf does.
  template <class... A>
  void print(const char* format, const A&... a) const {
    if (!is_main_process()) return;
    if constexpr (sizeof...(a) == 0) std::fputs(format, stdout);
    else std::printf(format, a...);
    std::fflush(stdout);
  }

  /// Has the main process write what was prepared and registered, and others wait for it. Returns the path.
  std::string save_state(const std::string& folder, int64_t step = 0, Site s = Site::current()) const;
  /// Has every rank read the newest state of the folder, and returns its step; nothing if there is none.
  std::optional<int64_t> load_state(const std::string& folder, Site s = Site::current());

 private:
  struct Other {
    std::function<void(Checkpoint&)> add;
    std::function<void(const Checkpoint&)> restore;
  };
  void unscale(const Site& s);
  int64_t batches_to_a_step() const { return *options_.gradient_accumulation_steps; }

  const AcceleratorOptions options_;  // each set
  bool joined_ = false;
  std::vector<nn::Module*> models_;
  std::vector<std::unique_ptr<distributed::DataParallel>> parallel_;
  std::vector<optim::Optimizer*> optimizers_;
  std::vector<Other> others_;
  GradScaler scaler_;
  std::vector<optim::Optimizer*> unscaled_;  // since the last step
  size_t stepped_ = 0;                       // optimizers that have stepped since the scaler's update
  int64_t batches_ = 0;
  bool sync_gradients_ = true;
};

}  // namespace lazy::training
