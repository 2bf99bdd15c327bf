#include "lazy/inference/session.hpp"

#include <string>

#include "lazy/core/build.hpp"
#include "lazy/inference/freeze.hpp"
#include "support/thread_share.hpp"

namespace lazy::detail {

Serving::Serving(std::shared_ptr<Replayer> replayer, nn::Module& model,
                 const inference::SessionOptions& options, size_t arguments, const Site& s)
    : replayer_(std::move(replayer)), model_(model), threads_(options.threads) {
  if (options.shapes == 0) fail<Error>("session", "keeps no shapes: at least 1 is needed", s);
  if (options.threads < 0) fail<Error>("session", std::to_string(options.threads) + " threads", s);
  replayer_->keep_at_most(options.shapes);
  replayer_->ignore_modes();
  if (options.benchmark) replayer_->benchmark();
  if (options.freeze) inference::freeze(model, s);
  check_model(s);
  const std::vector<Tensor>& example = options.example.all;
  if (example.empty()) return;
  if (example.size() != arguments)
    fail<Error>("session",
                "an example of " + std::to_string(example.size()) + " tensors for " +
                    std::to_string(arguments) + " arguments",
                s);
  std::vector<Replayed> given;
  given.reserve(arguments);
  std::vector<const Replayed*> pointers;
  std::vector<DType> dtypes;
  for (const Tensor& t : example) {
    dtypes.push_back(t.dtype(s));
    pointers.push_back(&given.emplace_back(t, s));
  }
  ReplayResults results;
  call(pointers, results, s);
  dtypes_ = std::move(dtypes);
}

/// Throws Error unless the model is frozen and in evaluation mode: else what was recorded is not what it is.
void Serving::check_model(const Site& s) {
  const uint64_t now = nn::Module::mode_changes();
  if (!inference::is_frozen(model_) && !model_.parameters(s).empty())
    fail<Error>("session", "the model is not frozen: freeze() it again after thaw()", s);
  for (const nn::Module* m : model_.modules())
    if (m->training()) fail<Error>("session", "a module of the model was set to train: eval() it", s);
  seen_.store(now, std::memory_order_release);
}

void Serving::call(std::span<const Replayed* const> arguments, ReplayResults& results, const Site& s) {
  if (seen_.load(std::memory_order_acquire) != nn::Module::mode_changes()) [[unlikely]]
    check_model(s);
  for (size_t i = 0; i < dtypes_.size(); ++i)
    for (const Tensor& t : arguments[i]->tensors)
      if (const DType is = t.dtype(arguments[i]->site); is != dtypes_[i]) [[unlikely]]
        fail<DtypeError>("session",
                         "argument " + std::to_string(i) + " is of " + name_of(is) +
                             ", where the example is of " + name_of(dtypes_[i]),
                         arguments[i]->site);
  const ThreadShare share(threads_);
  replayer_->call(arguments, results, s);
}

}  // namespace lazy::detail
