#include "lazy/training/accelerator.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "lazy/core/build.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"

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
  parallel_.push_back(std::make_unique<distributed::DataParallel>(model, options_.data_parallel, s));
  models_.push_back(&model);
}
void Accelerator::prepare(nn::Module& model, optim::Optimizer& optimizer, Site s) {
  prepare(model, s);
  optimizers_.push_back(&optimizer);
}

data::LoaderOptions Accelerator::share_of(int64_t examples, data::LoaderOptions o, Site s) const {
  if (o.sampler || o.batch_sampler)
    throw Error("share_of: a sampler of one's own has to know of the ranks", s);
  const int ranks = num_processes();
  if (ranks == 1) return o;
  if (options_.split_batches) {
    if (o.batch_size % ranks)
      throw Error("share_of: " + std::to_string(ranks) + " ranks do not divide batches of " +
                      std::to_string(o.batch_size),
                  s);
    o.batch_size /= ranks;
  }
  o.sampler = std::make_shared<data::DistributedSampler>(
      examples, process_index(), ranks,
      data::DistributedOptions{
          .shuffle = o.shuffle, .drop_last = !options_.even_batches, .seed = options_.seed},
      s);
  o.shuffle = false;
  return o;
}

Accelerator::Accumulation Accelerator::accumulate(bool last) {
  ++batches_;
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
  // The gradients of one model become ready in it; others have nothing to exchange.
  if (parallel_.size() != 1) {
    if (num_processes() > 1)
      throw Error("backward: one prepared model is needed to exchange gradients, there are " +
                      std::to_string(parallel_.size()),
                  s);
    return own.backward({}, false, false, s);
  }
  std::optional<distributed::DataParallel::NoSync> alone;
  if (!sync_gradients_) alone.emplace(*parallel_[0]);
  parallel_[0]->backward(own, s);
}

void Accelerator::unscale(const Site& s) {
  if (!scaler_.is_enabled()) return;
  for (optim::Optimizer* o : optimizers_)
    if (std::find(unscaled_.begin(), unscaled_.end(), o) == unscaled_.end())
      scaler_.unscale_(*o, s), unscaled_.push_back(o);
}

Tensor Accelerator::clip_grad_norm_(const optim::ParameterList& parameters, double max_norm, double norm_type,
                                    Site s) {
  unscale(s);
  return optim::clip_grad_norm_(parameters, max_norm, norm_type, s);
}
void Accelerator::clip_grad_value_(const optim::ParameterList& parameters, double clip_value, Site s) {
  unscale(s);
  optim::clip_grad_value_(parameters, clip_value, s);
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

void Accelerator::zero_grad(optim::Optimizer& optimizer, Site s) {
  if (sync_gradients_) optimizer.zero_grad(s);
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

std::string Accelerator::save_state(const std::string& folder, int64_t step, Site s) const {
  const CheckpointFolder checkpoints(folder, {}, s);
  if (is_main_process()) {
    Checkpoint c(step);
    for (size_t i = 0; i < models_.size(); ++i) c.add("model" + std::to_string(i), *models_[i], s);
    for (size_t i = 0; i < optimizers_.size(); ++i)
      c.add("optimizer" + std::to_string(i), *optimizers_[i], s);
    if (scaler_.is_enabled()) c.add("scaler", scaler_, s);
    for (const Other& o : others_) o.add(c);
    (void)checkpoints.save(c, s);
  }
  distributed::barrier({}, s);
  return checkpoints.path(step);
}

std::optional<int64_t> Accelerator::load_state(const std::string& folder, Site s) {
  distributed::barrier({}, s);
  const auto c = CheckpointFolder(folder, {}, s).newest(s);
  if (!c) return {};
  for (size_t i = 0; i < models_.size(); ++i) c->restore("model" + std::to_string(i), *models_[i], s);
  for (size_t i = 0; i < optimizers_.size(); ++i)
    c->restore("optimizer" + std::to_string(i), *optimizers_[i], s);
  if (scaler_.is_enabled()) c->restore("scaler", scaler_, s);
  for (const Other& o : others_) o.restore(*c);
  return c->step();
}

}  // namespace lazy::training
