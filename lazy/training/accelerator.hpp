// Runs one training loop on one rank or many, in float32 or mixed precision, with several batches to a step:
// by the names that Hugging Face's Accelerate has for it.
//
//   training::Accelerator accelerator({.mixed_precision = bfloat16, .gradient_accumulation_steps = 4});
//   accelerator.prepare(model, optimizer);
//   auto batches = accelerator.prepare(data::DataLoader(train, {.batch_size = 32, .shuffle = true}));
//   for (const auto& [x, y] : batches) {
//     const auto step = accelerator.accumulate();        // every fourth batch ends a step, and the last one
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
// Unlike Accelerate's, prepare() of a model returns nothing: model and optimizer stay what they are, and the
// loop calls step() and zero_grad() of the accelerator, which do nothing between the ends of steps.
#pragma once
#include <cstdio>
#include <map>
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
#include "lazy/optim/lr_scheduler.hpp"
#include "lazy/training/checkpoint.hpp"
#include "lazy/training/prepared_loader.hpp"
#include "lazy/training/sharded_folder.hpp"
#include "lazy/training/trackers.hpp"
#include "lazy/training/zero_state.hpp"

namespace lazy::training {

/// Says how a loop runs. What is not set here comes from the environment, where lazy-launch puts its
/// settings: ACCELERATE_MIXED_PRECISION (no, fp16 or bf16) and ACCELERATE_GRADIENT_ACCUMULATION_STEPS, else
/// from the model's dtypes and one batch to a step.
struct AcceleratorOptions {
  std::optional<DType> mixed_precision = {};  // bfloat16 or float16; float32: as the model's dtypes are
  std::optional<int64_t> gradient_accumulation_steps = {};  // batches to a step, from 1 on
  bool split_batches = false;  // batch sizes are those of all ranks together, else of each
  /// Has first examples be visited again where ranks don't divide them; else none is, and first ranks may
  /// have one more, perhaps a batch more (join_uneven_inputs).
  bool even_batches = true;
  bool dispatch_batches = false;    // rank 0 reads all batches, and sends each rank its part (even_batches)
  bool asynchronous_saves = false;  // save_state() returns once it has the values; a thread writes them
  uint64_t seed = 0;                // of the order of examples, the same on all ranks
  distributed::DataParallelOptions data_parallel = {};
  std::vector<std::string> log_with = {};  // for init_trackers(): "tensorboard", "csv"
  std::string project_dir = ".";           // where trackers make their folders
};

/// Takes a number, or a tensor of one element.
struct LoggedValue {
  template <class T>
  requires std::is_arithmetic_v<T> LoggedValue(T v) : number(static_cast<double>(v)) {}
  LoggedValue(Tensor v) : tensor(std::move(v)) {}
  double number = 0;
  Tensor tensor;  // in its place, where it is defined
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
  /// Returns this process's number among those of its machine (LOCAL_RANK, as launchers say).
  int local_process_index() const;
  bool is_main_process() const { return distributed::is_main_process(); }
  bool is_local_main_process() const { return local_process_index() == 0; }
  bool is_last_process() const { return process_index() == num_processes() - 1; }

  // Call f on one process alone, or on one of each machine. f must not exchange anything with other ranks.

  template <class F>
  void on_main_process(F&& f) const {
    if (is_main_process()) f();
  }
  template <class F>
  void on_local_main_process(F&& f) const {
    if (is_local_main_process()) f();
  }
  template <class F>
  void on_last_process(F&& f) const {
    if (is_last_process()) f();
  }
  template <class F>
  void on_process(int index, F&& f) const {
    if (process_index() == index) f();
  }
  /// Calls f on the main process, and when that is done on all others: what it makes, such as files of a
  /// cache, is there for them. Returns what f returns. What f throws on the main process is thrown there, and
  /// the others call f all the same. f must not exchange anything with other ranks.
  template <class F>
  auto main_process_first(F&& f, Site s = Site::current()) const {
    const OthersAfter scope(is_main_process(), s);
    return f();
  }
  /// Does so on each machine, whose first process goes first.
  template <class F>
  auto local_main_process_first(F&& f, Site s = Site::current()) const {
    const OthersAfter scope(is_local_main_process(), s);
    return f();
  }

  /// Has the gradients of the model's parameters exchanged by backward(), from rank 0's values on, and states
  /// saved: models and optimizers are numbered in the order in which they come. They have to stay where they
  /// are.
  void prepare(nn::Module& model, optim::Optimizer& optimizer, Site s = Site::current());
  void prepare(nn::Module& model, Site s = Site::current());
  /// Has an optimizer that shares its state out among ranks exchange the model's gradients: one model, one
  /// optimizer.
  void prepare(nn::Module& model, distributed::ZeroOptimizer& optimizer, Site s = Site::current());
  /// Returns what gives each rank its part of the loader's batches, by the options above: in an order that
  /// all ranks share, of `seed` (or of the loader's generator's seed). accumulate() then knows which batch is
  /// an epoch's last one, gather_for_metrics(x) which examples were visited again, and its state() is good
  /// for any number of ranks. Error for a loader with a sampler, and for batches that ranks don't divide.
  template <class D, class C>
  PreparedLoader<data::DataLoader<D, C>> prepare(const data::DataLoader<D, C>& loader,
                                                 Site s = Site::current()) {
    using Loader = data::DataLoader<D, C>;
    const bool sends = options_.dispatch_batches && num_processes() > 1;
    if constexpr (!PreparedLoader<Loader>::kCanSend)
      if (sends) throw_not_sent(s);
    return {
        loader.with(
            sends ? all_of(loader.options(), s) : share_of(loader.dataset().size(), loader.options(), s), s),
        sends, loop_};
  }
  /// Lets the next loop over a prepared loader leave out so many batches of each rank, and returns it.
  template <class L>
  PreparedLoader<L>& skip_first_batches(PreparedLoader<L>& loader, int64_t batches,
                                        Site s = Site::current()) const {
    loader.skip_first(batches, s);
    return loader;
  }
  /// Returns the model: here prepare() does not wrap it.
  template <class M>
  M& unwrap_model(M& model) const {
    return model;
  }
  /// Forgets what was prepared and registered, and waits for saves: models and optimizers may go then.
  void free_memory(Site s = Site::current());
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
  /// does, for the loader ends with it; a prepared loader says so itself.
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
  /// Leaves gradients as each rank has them, in the returned scope: the next backward() outside exchanges
  /// their sums.
  class NoSync {
   public:
    explicit NoSync(Accelerator& a) : accelerator_(a) { ++a.paused_; }
    NoSync(const NoSync&) = delete;
    ~NoSync() { --accelerator_.paused_; }

   private:
    Accelerator& accelerator_;
  };
  NoSync no_sync() { return NoSync(*this); }
  /// Calls f, a loop in which ranks may take different numbers of steps (even_batches = false): a rank whose
  /// loop has ended takes part in the others' exchanges of gradients with zeros until theirs have. In the end
  /// all have the model and optimizers of the rank that took most steps. The loop must not exchange anything
  /// else. One prepared model.
  template <class F>
  void join_uneven_inputs(F&& f, Site s = Site::current()) {
    begin_join(s);
    f();
    end_join();
  }

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
  void step(distributed::ZeroOptimizer& optimizer, Site s = Site::current());
  void zero_grad(distributed::ZeroOptimizer& optimizer, Site s = Site::current());
  /// Takes as many steps of a schedule as there are ranks, or with split_batches one: at the end of a step of
  /// the optimizer, else nothing; nor, with float16, where that was skipped, which waits for the step.
  void step(optim::lr_scheduler::LRScheduler& schedule, Site s = Site::current());

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
  /// Returns all ranks' rows of one batch of a prepared loader's loop, in the order of the examples, without
  /// those that were visited again. Error outside of such a loop.
  Tensor gather_for_metrics(const Tensor& x, Site s = Site::current()) const;
  /// Returns x with as many elements along an axis as the rank that has most, `value` the others: what
  /// gather() needs.
  Tensor pad_across_processes(const Tensor& x, int64_t dim = 0, double value = 0, bool pad_first = false,
                              Site s = Site::current()) const;
  /// Says on one rank that something has happened, and asks on all if it has on any since it was last asked.
  void set_trigger() { triggered_ = true; }
  bool check_trigger(Site s = Site::current());
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

  /// Has the main process write PROJECT_DIR/PROJECT by what log_with names, from `config` on. Error for names
  /// that there are not, IoError.
  void init_trackers(const std::string& project, const std::map<std::string, std::string>& config = {},
                     Site s = Site::current());
  /// Adds a tracker of one's own, after init_trackers().
  void add_tracker(std::unique_ptr<Tracker> tracker) { trackers_.push_back(std::move(tracker)); }
  /// Has trackers write numbers, on the main process; tensors of one element are computed there.
  void log(const std::map<std::string, LoggedValue>& values, int64_t step, Site s = Site::current());
  void end_training(Site s = Site::current());

  /// Returns a model's state, which every rank has.
  NamedTensors get_state_dict(const nn::Module& model, Site s = Site::current()) const {
    return model.state_dict(s);
  }
  /// Has the main process write a model's state as Hugging Face has it: FOLDER/model.safetensors, or where
  /// that were above `max_shard_size` bytes model-00001-of-00003.safetensors, ... and
  /// model.safetensors.index.json. The others wait for it. IoError.
  void save_model(const nn::Module& model, const std::string& folder, int64_t max_shard_size = 10'000'000'000,
                  Site s = Site::current()) const;

  /// Has the ranks write what was prepared and registered, each its share: one file on one rank (a
  /// Checkpoint), a folder on several (ShardedFolder), of which the last three remain. Returns the path. What
  /// an asynchronous save fails of is thrown by the next call of this, load_state() or wait_for_saves().
  std::string save_state(const std::string& folder, int64_t step = 0, Site s = Site::current());
  /// Waits for an asynchronous save.
  void wait_for_saves(Site s = Site::current());
  /// Has every rank read the newest state of the folder, of any number of ranks, and returns its step;
  /// nothing if there is none.
  std::optional<int64_t> load_state(const std::string& folder, Site s = Site::current());

 private:
  struct Other {
    std::function<void(Checkpoint&)> add;
    std::function<void(const Checkpoint&)> restore;
  };
  /// Has others wait until the first ones are done, in its constructor, and the first ones say so.
  class OthersAfter {
   public:
    OthersAfter(bool first, Site s);
    OthersAfter(const OthersAfter&) = delete;
    ~OthersAfter() noexcept(false);

   private:
    bool first_;
    Site site_;
    int exceptions_;  // under way before f was called
  };
  [[noreturn]] static void throw_not_sent(const Site& s);
  data::LoaderOptions all_of(data::LoaderOptions options, const Site& s) const;
  void begin_join(const Site& s);
  void end_join();
  void unscale(const Site& s);
  Checkpoint state(int64_t step, const Site& s);
  ShardedFolder& sharded(const std::string& folder, const Site& s);
  int64_t batches_to_a_step() const { return *options_.gradient_accumulation_steps; }

  const AcceleratorOptions options_;  // each set
  bool joined_ = false;
  std::vector<nn::Module*> models_;
  std::vector<std::unique_ptr<distributed::DataParallel>> parallel_;
  std::vector<optim::Optimizer*> optimizers_;
  distributed::ZeroOptimizer* zero_ = nullptr;  // of the one model; null: whole optimizers
  std::vector<Other> others_;
  std::map<std::string, std::unique_ptr<ShardedFolder>> folders_;  // of states, by path
  GradScaler scaler_;
  std::vector<optim::Optimizer*> unscaled_;  // since the last step
  bool zero_unscaled_ = false;               // likewise
  size_t stepped_ = 0;                       // optimizers that have stepped since the scaler's update
  int64_t batches_ = 0;
  bool sync_gradients_ = true;
  int paused_ = 0;            // scopes of no_sync()
  bool joining_ = false;      // in join_uneven_inputs()
  int64_t joined_steps_ = 0;  // exchanges of gradients in it
  Site join_site_;            // of all of them: a rank whose loop has ended takes part from the same line
  bool triggered_ = false;
  double scale_ = 0;  // of the scaler, when a schedule last asked; 0: not yet
  detail::Loop loop_;
  std::vector<std::unique_ptr<Tracker>> trackers_;
};

}  // namespace lazy::training
