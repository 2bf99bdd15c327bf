#include "lazy/training/accelerator.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "lazy/core/build.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"
#include "lazy/training/heartbeat.hpp"
#include "lazy/training/model_files.hpp"

namespace lazy::training {
namespace {

/// Returns what ACCELERATE_MIXED_PRECISION asks for; float32 for none.
DType precision_of_environment(const Site& s) {
  const char* const text = std::getenv("ACCELERATE_MIXED_PRECISION");
  const std::string_view word = text ? text : "";
  if (word.empty() || word == "no") return float32;
  if (word == "fp16") return float16;
  if (word == "bf16") return bfloat16;
  throw Error("Accelerator: ACCELERATE_MIXED_PRECISION is no, fp16 or bf16, not " + std::string(word), s);
}

int64_t steps_of_environment(const Site& s) {
  const char* const text = std::getenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS");
  const std::string_view word = text ? text : "";
  if (word.empty()) return 1;
  int64_t steps = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), steps);
  if (error != std::errc() || end != word.data() + word.size() || steps < 1)
    throw Error(
        "Accelerator: ACCELERATE_GRADIENT_ACCUMULATION_STEPS is a number from 1 on, not " + std::string(word),
        s);
  return steps;
}

/// Returns the options with each set, by the environment where the program has not.
AcceleratorOptions complete(AcceleratorOptions o, const Site& s) {
  if (!o.gradient_accumulation_steps) o.gradient_accumulation_steps = steps_of_environment(s);
  if (!o.mixed_precision) o.mixed_precision = precision_of_environment(s);
  if (*o.gradient_accumulation_steps < 1)
    throw Error("Accelerator: " + std::to_string(*o.gradient_accumulation_steps) + " batches to a step", s);
  const DType d = *o.mixed_precision;
  if (d != bfloat16 && d != float16 && d != float32)
    throw DtypeError(
        std::string("Accelerator: mixed_precision is bfloat16, float16 or float32, not ") + name_of(d), s);
  return o;
}

}  // namespace

Accelerator::Accelerator(const AcceleratorOptions& options, Site s)
    : options_(complete(options, s)), scaler_({.enabled = options_.mixed_precision == float16}, s) {
  (void)detail::Heartbeat::of_process();
  if (distributed::is_initialized()) return;
  distributed::init({}, s);
  joined_ = distributed::is_initialized();
}

Accelerator::~Accelerator() {
  if (!joined_) return;
  try {
    distributed::finalize();
  } catch (const std::exception& e) { std::fprintf(stderr, "lazy: Accelerator: %s\n", e.what()); }
}

void Accelerator::prepare(nn::Module& model, Site s) {
  if (zero_) throw Error("prepare: a ZeroOptimizer goes with one model alone", s);
  parallel_.push_back(std::make_unique<distributed::DataParallel>(model, options_.data_parallel, s));
  models_.push_back(&model);
}
void Accelerator::prepare(nn::Module& model, optim::Optimizer& optimizer, Site s) {
  prepare(model, s);
  optimizers_.push_back(&optimizer);
}

void Accelerator::prepare(nn::Module& model, distributed::ZeroOptimizer& optimizer, Site s) {
  if (!models_.empty()) throw Error("prepare: a ZeroOptimizer goes with one model alone", s);
  zero_ = &optimizer;
  models_.push_back(&model);
}

int Accelerator::local_process_index() const {
  const char* const local = std::getenv("LOCAL_RANK");
  const char* const rank = std::getenv("RANK");
  // Threads as ranks have no variables of their own.
  if (local && rank && std::atoi(rank) == process_index()) return std::atoi(local);
  return process_index();
}

Accelerator::OthersAfter::OthersAfter(bool first, Site s)
    : first_(first), site_(s), exceptions_(std::uncaught_exceptions()) {
  if (!first_) distributed::barrier({}, site_);
}
Accelerator::OthersAfter::~OthersAfter() noexcept(false) {
  if (!first_) return;
  if (std::uncaught_exceptions() == exceptions_) {
    distributed::barrier({}, site_);
    return;
  }
  try {
    distributed::barrier({}, site_);
  } catch (const CommunicationError&) {}  // what f has thrown is what went wrong
}

void Accelerator::free_memory(Site s) {
  wait_for_saves(s);
  folders_.clear(), parallel_.clear(), models_.clear(), optimizers_.clear(), others_.clear(),
      unscaled_.clear();
  stepped_ = 0;
}

data::LoaderOptions Accelerator::share_of(int64_t examples, data::LoaderOptions o, Site s) const {
  if (o.sampler || o.batch_sampler)
    throw Error("share_of: a sampler of one's own has to know of the ranks", s);
  const int ranks = num_processes();
  if (options_.split_batches) {
    if (o.batch_size % ranks)
      throw Error("share_of: " + std::to_string(ranks) + " ranks do not divide batches of " +
                      std::to_string(o.batch_size),
                  s);
    o.batch_size /= ranks;
  }
  // On one rank, too: the order is then the same on any number of them.
  o.batch_sampler = std::make_shared<data::SharedBatchSampler>(
      std::make_shared<data::DistributedSampler>(
          examples, process_index(), ranks,
          data::DistributedOptions{.shuffle = o.shuffle,
                                   .drop_last = o.drop_last,
                                   .even = options_.even_batches,
                                   .seed = o.generator ? o.generator->seed() : options_.seed},
          s),
      o.batch_size, o.drop_last, s);
  return o;
}

data::LoaderOptions Accelerator::all_of(data::LoaderOptions o, const Site& s) const {
  if (o.sampler || o.batch_sampler) return o;  // rank 0 alone reads
  if (!options_.split_batches) o.batch_size *= num_processes();
  else if (o.batch_size % num_processes())
    throw Error("prepare: " + std::to_string(num_processes()) + " ranks do not divide batches of " +
                    std::to_string(o.batch_size),
                s);
  return o;
}

void Accelerator::throw_not_sent(const Site& s) {
  throw Error("prepare: dispatch_batches sends data::Batch; this loader's batches are of another type", s);
}

Accelerator::Accumulation Accelerator::accumulate(bool last) {
  ++batches_;
  last = last || loop_.last;
  sync_gradients_ = last || batches_ % batches_to_a_step() == 0;
  if (last) batches_ = 0;
  return Accumulation(*this);
}

lazy::autocast Accelerator::autocast(Site s) const {
  const DType d = *options_.mixed_precision;
  return d == float32 ? lazy::autocast(false, s) : lazy::autocast(d, s);
}

void Accelerator::backward(const Tensor& loss, Site s) {
  Tensor own = loss;
  if (batches_to_a_step() > 1) own = divide(Arg(loss, s), Arg(static_cast<double>(batches_to_a_step()), s));
  if (scaler_.is_enabled()) own = scaler_.scale(own, s);
  if (zero_) {
    std::optional<distributed::ZeroOptimizer::NoSync> alone;
    if (!sync_gradients_ || paused_) alone.emplace(*zero_);
    return zero_->backward(own, s);
  }
  // The gradients of one model become ready in it; others have nothing to exchange.
  if (parallel_.size() != 1) {
    if (num_processes() > 1)
      throw Error("backward: one prepared model is needed to exchange gradients, there are " +
                      std::to_string(parallel_.size()),
                  s);
    return own.backward({}, false, false, s);
  }
  std::optional<distributed::DataParallel::NoSync> alone;
  if (!sync_gradients_ || paused_) {
    alone.emplace(*parallel_[0]);
  } else if (joining_) {
    ++joined_steps_;
    s = join_site_;
    const no_grad scope;
    (void)distributed::all_reduce(full({1}, int64_t{1}), distributed::ReduceOp::sum, {},
                                  s);  // there is a step
  }
  parallel_[0]->backward(own, s);
}

void Accelerator::begin_join(const Site& s) {
  joining_ = num_processes() > 1, joined_steps_ = 0, join_site_ = s;
}

void Accelerator::end_join() {
  const Site s = join_site_;
  if (!joining_) return;
  joining_ = false;
  if (parallel_.size() != 1)
    throw Error(
        "join_uneven_inputs: one prepared model is needed, there are " + std::to_string(parallel_.size()), s);
  const auto any_steps = [&] {
    const no_grad scope;
    return distributed::all_reduce(full({1}, int64_t{0}), distributed::ReduceOp::sum, {}, s)
               .item<int64_t>(s) > 0;
  };
  const ParameterRef first = models_[0]->parameters(s).at(0);
  while (any_steps()) parallel_[0]->backward(sum(Arg(multiply(Arg(*first, s), Arg(0.0, s)), s)), s);
  // Who has taken most steps, and of those the first one, has what the others get.
  const no_grad scope;
  const int64_t own = joined_steps_ * num_processes() + (num_processes() - 1 - process_index());
  const int64_t most =
      distributed::all_reduce(full({1}, own), distributed::ReduceOp::max, {}, s).item<int64_t>(s);
  const int64_t root = num_processes() - 1 - most % num_processes();
  const auto of_root = [&](const NamedTensors& state) {
    NamedTensors all;
    for (const auto& [name, value] : state) all.set(name, distributed::broadcast(value, root, {}, s));
    return all;
  };
  models_[0]->load_state_dict(of_root(models_[0]->state_dict(s)), true, s);
  for (optim::Optimizer* o : optimizers_) {
    o->load_state_dict(of_root(o->state_dict()), s);
    o->zero_grad(s);
  }
  if (scaler_.is_enabled()) scaler_.load_state_dict(of_root(scaler_.state_dict()), s);
}

void Accelerator::unscale(const Site& s) {
  if (!scaler_.is_enabled()) return;
  if (zero_ && !std::exchange(zero_unscaled_, true)) zero_->unscale_(scaler_, s);
  for (optim::Optimizer* o : optimizers_)
    if (std::find(unscaled_.begin(), unscaled_.end(), o) == unscaled_.end())
      scaler_.unscale_(*o, s), unscaled_.push_back(o);
}

Tensor Accelerator::clip_grad_norm_(const optim::ParameterList& parameters, double max_norm, double norm_type,
                                    Site s) {
  unscale(s);
  if (zero_ && num_processes() > 1) {
    if (norm_type != 2)
      throw Error("clip_grad_norm_: of a ZeroOptimizer's gradients the norm is the 2nd, not another", s);
    return zero_->clip_grad_norm_(max_norm, s);
  }
  return optim::clip_grad_norm_(parameters, max_norm, norm_type, s);
}
void Accelerator::clip_grad_value_(const optim::ParameterList& parameters, double clip_value, Site s) {
  unscale(s);
  optim::clip_grad_value_(zero_ ? zero_->inner().parameters() : parameters, clip_value, s);
}

void Accelerator::step(optim::Optimizer& optimizer, Site s) {
  if (!sync_gradients_) return;
  if (!scaler_.is_enabled()) return optimizer.step(s);
  scaler_.step(optimizer, s);
  if (++stepped_ < std::max<size_t>(1, optimizers_.size())) return;
  scaler_.update(s);
  stepped_ = 0;
  unscaled_.clear();
}

void Accelerator::step(distributed::ZeroOptimizer& optimizer, Site s) {
  if (!sync_gradients_) return;
  if (!scaler_.is_enabled()) return optimizer.step(s);
  optimizer.step(scaler_, s);
  scaler_.update(s);
  zero_unscaled_ = false;
}
void Accelerator::zero_grad(distributed::ZeroOptimizer& optimizer, Site s) {
  if (sync_gradients_) optimizer.zero_grad(s);
}

void Accelerator::zero_grad(optim::Optimizer& optimizer, Site s) {
  if (sync_gradients_) optimizer.zero_grad(s);
}

void Accelerator::step(optim::lr_scheduler::LRScheduler& schedule, Site s) {
  if (!sync_gradients_) return;
  if (scaler_.is_enabled()) {
    const double scale = scaler_.get_scale(s);
    const bool skipped = scale < std::exchange(scale_, scale);
    if (skipped) return;
  }
  for (int i = options_.split_batches ? 1 : num_processes(); i > 0; --i) schedule.step(s);
}

bool Accelerator::check_trigger(Site s) {
  bool any = std::exchange(triggered_, false);
  if (num_processes() == 1) return any;
  const no_grad scope;
  return distributed::all_reduce(full({1}, int64_t{any}), distributed::ReduceOp::max, {}, s)
             .item<int64_t>(s) > 0;
}

Tensor Accelerator::pad_across_processes(const Tensor& x, int64_t dim, double value, bool pad_first,
                                         Site s) const {
  const Shape shape = x.shape(s);
  const int64_t axis = dim < 0 ? dim + shape.size() : dim;
  if (axis < 0 || axis >= shape.size())
    throw IndexError("pad_across_processes: axis " + std::to_string(dim) + " of " + to_string(shape), s);
  if (num_processes() == 1) return x;
  int64_t most = 0;
  {
    const no_grad scope;
    most =
        distributed::all_reduce(full({1}, shape[static_cast<int>(axis)]), distributed::ReduceOp::max, {}, s)
            .item<int64_t>(s);
  }
  const int64_t more = most - shape[static_cast<int>(axis)];
  if (more == 0) return x;
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(shape.size()), {0, 0});
  widths[static_cast<size_t>(axis)] = pad_first ? std::pair(more, int64_t{0}) : std::pair(int64_t{0}, more);
  return pad(Arg(x, s), PadWidths(widths), "constant", ScalarNumber(value));
}

Tensor Accelerator::gather_for_metrics(const Tensor& x, Site s) const {
  if (loop_.examples < 0) {
    if (num_processes() == 1) return x;
    throw Error(
        "gather_for_metrics: outside of a loop over a prepared loader the number of examples is needed", s);
  }
  return gather_for_metrics(x, loop_.examples, s);
}

Tensor Accelerator::gather_for_metrics(const Tensor& x, int64_t examples, Site s) const {
  const int ranks = num_processes();
  if (ranks == 1) return x;
  // Rank r has examples r, r + ranks, ...: row i of rank r is example i ranks + r.
  const Shape shape = x.shape(s);
  if (shape.empty())
    lazy::detail::fail<ShapeError>("gather_for_metrics", "a value without axes has no examples", s);
  Shape apart{ranks}, together = shape;
  for (int i = 0; i < shape.size(); ++i) apart.push_back(shape[i]);
  together[0] = shape[0] * ranks;
  const Tensor all = reshape(Arg(distributed::all_gather(x, {}, s), s), apart);
  Dims order{1, 0};
  for (int i = 2; i < apart.size(); ++i) order.push_back(i);
  const Tensor rows = reshape(Arg(permute(Arg(all, s), Axes(order)), s), together);
  return rows(slice(0, examples));
}

void Accelerator::init_trackers(const std::string& project, const std::map<std::string, std::string>& config,
                                Site s) {
  const std::string folder = options_.project_dir + "/" + project;
  for (const std::string& name : options_.log_with)
    if (name != "tensorboard" && name != "csv")
      throw Error("init_trackers: there are the trackers tensorboard and csv, not " + name, s);
  if (!is_main_process()) return;
  for (const std::string& name : options_.log_with)
    trackers_.push_back(name == "csv" ? csv_tracker(folder, s) : event_tracker(folder, s));
  for (const auto& t : trackers_) t->configure(config, s);
}

void Accelerator::log(const std::map<std::string, LoggedValue>& values, int64_t step, Site s) {
  if (!is_main_process() || trackers_.empty()) return;
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, v] : values)
    numbers.emplace_back(name, v.tensor.defined() ? v.tensor.item<double>(s) : v.number);
  for (const auto& t : trackers_) t->log(numbers, step, s);
}

void Accelerator::end_training(Site s) {
  for (const auto& t : trackers_) t->end(s);
  trackers_.clear();
  wait_for_saves(s);
}

void Accelerator::save_model(const nn::Module& model, const std::string& folder, int64_t max_shard_size,
                             Site s) const {
  if (max_shard_size < 1)
    throw Error("save_model: files of at most " + std::to_string(max_shard_size) + " bytes", s);
  std::exception_ptr failure;
  if (is_main_process()) try {
      detail::write_model("save_model", folder, model.state_dict(s), max_shard_size, s);
    } catch (...) { failure = std::current_exception(); }
  // All ranks learn if there is a model.
  int64_t failed = failure != nullptr;
  if (num_processes() > 1) {
    const no_grad scope;
    failed = distributed::broadcast(full({1}, failed), 0, {}, s).item<int64_t>(s);
  }
  if (failure) std::rethrow_exception(failure);
  if (failed) throw IoError("save_model: the main process could not write " + folder, s);
}

Checkpoint Accelerator::state(int64_t step, const Site& s) {
  Checkpoint c(step);
  for (size_t i = 0; i < models_.size(); ++i) c.add("model" + std::to_string(i), *models_[i], s);
  for (size_t i = 0; i < optimizers_.size(); ++i) c.add("optimizer" + std::to_string(i), *optimizers_[i], s);
  if (zero_) add_zero(c, "zero", *zero_, *models_[0], s);
  if (scaler_.is_enabled()) c.add("scaler", scaler_, s);
  for (const Other& o : others_) o.add(c);
  return c;
}

ShardedFolder& Accelerator::sharded(const std::string& folder, const Site& s) {
  std::unique_ptr<ShardedFolder>& f = folders_[folder];
  if (!f)
    f = std::make_unique<ShardedFolder>(folder,
                                        ShardedFolderOptions{.asynchronous = options_.asynchronous_saves}, s);
  return *f;
}

std::string Accelerator::save_state(const std::string& folder, int64_t step, Site s) {
  if (num_processes() > 1 || options_.asynchronous_saves) return sharded(folder, s).save(state(step, s), s);
  return CheckpointFolder(folder, {}, s).save(state(step, s), s);
}

void Accelerator::wait_for_saves(Site s) {
  for (const auto& [folder, f] : folders_) f->wait(s);
}

std::optional<int64_t> Accelerator::load_state(const std::string& folder, Site s) {
  wait_for_saves(s);
  std::optional<Checkpoint> c = sharded(folder, s).newest(s);
  // A single file may be newer: rank 0 says so for all.
  const CheckpointFolder files(folder, {}, s);
  int64_t in_file = -1;
  if (const auto steps = files.steps(s); !steps.empty()) in_file = steps.back();
  if (num_processes() > 1) {
    const no_grad scope;
    in_file = distributed::broadcast(full({1}, in_file), 0, {}, s).item<int64_t>(s);
  }
  if (in_file > (c ? c->step() : -1))
    if (auto newest = files.newest(s); newest && newest->step() > (c ? c->step() : -1)) c = std::move(newest);
  if (!c) return {};
  for (size_t i = 0; i < models_.size(); ++i) c->restore("model" + std::to_string(i), *models_[i], s);
  for (size_t i = 0; i < optimizers_.size(); ++i)
    c->restore("optimizer" + std::to_string(i), *optimizers_[i], s);
  if (zero_) restore_zero(*c, "zero", *zero_, *models_[0], s);
  if (scaler_.is_enabled()) c->restore("scaler", scaler_, s);
  for (const Other& o : others_) o.restore(*c);
  return c->step();
}

}  // namespace lazy::training
