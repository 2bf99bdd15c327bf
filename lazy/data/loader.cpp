#include "lazy/data/loader.hpp"

#include <algorithm>
#include <utility>

#include "lazy/ops/creation.hpp"
#include "support/error.hpp"

namespace lazy::data {

Tensor LoaderState::to_tensor() const {
  std::vector<uint64_t> all{epoch, batch, begun, ticket.seed, ticket.position};
  if (next) all.insert(all.end(), {next->seed, next->position});
  all.push_back(examples);
  return from_span(all);
}

LoaderState LoaderState::from_tensor(const Tensor& x, Site s) {
  if (x.dtype(s) != uint64)
    throw DtypeError(std::string("from_tensor: a loader's state is uint64, not ") + name_of(x.dtype()), s);
  if (x.dim(s) != 1 || x.shape()[0] < 5 || x.shape()[0] > 8)
    throw ShapeError("from_tensor: a loader's state has shape [8] or [6], not " + to_string(x.shape()), s);
  const auto v = x.to_vector<uint64_t>(s);
  LoaderState state{v[0], v[1], v[2] != 0, {v[3], v[4]}};
  if (v.size() >= 7) state.next = Ticket{v[5], v[6]};
  if (v.size() % 2 == 0) state.examples = v.back();
  return state;
}

namespace detail {

Loading::Loading(int64_t examples, LoaderOptions o, const Site& s) : options_(std::move(o)) {
  constexpr int kMostWorkers = 1024, kMostAhead = 1 << 16;
  if (options_.workers < 0 || options_.workers > kMostWorkers)
    throw ShapeError("DataLoader: " + std::to_string(options_.workers) + " workers", s);
  if (options_.prefetch < 1 || options_.prefetch > kMostAhead)
    throw ShapeError("DataLoader: " + std::to_string(options_.prefetch) + " batches ahead for each worker",
                     s);
  sampler_ = options_.batch_sampler;
  if (sampler_) return;
  if (options_.batch_size < 1)
    throw ShapeError(
        "DataLoader: a batch has at least one example, not " + std::to_string(options_.batch_size), s);
  std::shared_ptr<Sampler> order = options_.sampler;
  Generator& g = options_.generator ? *options_.generator : default_generator();
  if (!order && options_.shuffle) order = std::make_shared<RandomSampler>(examples, g, false, -1, s);
  if (!order) order = std::make_shared<SequentialSampler>(examples, s);
  sampler_ = std::make_shared<BatchSampler>(std::move(order), options_.batch_size, options_.drop_last, s);
}

LoaderState Loading::state() const {
  LoaderState state = state_;
  state.next = sampler_->next();
  return state;
}

void Loading::load_state(const LoaderState& state) {
  feed_.reset();
  state_ = state;
  if (state.next) sampler_->set_next(*state.next);
  resumed_ = state.begun;
}

void Loading::skip(int64_t batches, const Site& s) {
  if (batches < 0) throw ShapeError("skip_first: " + std::to_string(batches) + " batches", s);
  skipped_ = batches;
}

std::shared_ptr<Feed> Loading::begin(Feed::Make make, const Site& s) {
  if (state_.begun && !resumed_) ++state_.epoch;  // one that was left
  const bool again = std::exchange(resumed_, false);
  if (!again) {
    state_.ticket = sampler_->draw();
    state_.batch = state_.examples = 0;
    state_.begun = true;
  }
  // Processes that share an order divide what is left of it among those that there are now.
  const bool by_examples = again && sampler_->processes() > 0 && (state_.examples > 0 || state_.batch == 0);
  Batches batches = by_examples
                        ? sampler_->batches_behind(state_.ticket, static_cast<int64_t>(state_.examples))
                        : sampler_->batches(state_.ticket);
  batches_before_ = by_examples ? state_.batch : 0;
  examples_before_ = by_examples ? state_.examples : 0;
  size_t first = by_examples ? 0 : state_.batch;
  if (again && first > batches.size())
    throw IndexError("DataLoader: its state says batch " + std::to_string(state_.batch) + ", an epoch has " +
                         std::to_string(batches.size()),
                     s);
  first = std::min(first + static_cast<size_t>(std::exchange(skipped_, 0)), batches.size());
  sizes_.assign(1, 0);
  for (const auto& b : batches) sizes_.push_back(sizes_.back() + static_cast<int64_t>(b.size()));
  const auto ahead =
      static_cast<size_t>(options_.prefetch) * static_cast<size_t>(std::max(options_.workers, 1));
  const auto feed =
      std::make_shared<Feed>(std::move(batches), first, std::move(make), options_.workers, ahead);
  feed_ = feed;
  return feed;
}

std::shared_ptr<void> Loading::next(Feed& feed, const Site& s) {
  if (feed_.lock().get() != &feed) return nullptr;  // another epoch was begun
  auto batch = feed.next(s);
  const size_t read = feed.position();
  state_.batch = batches_before_ + read;
  const int64_t shared = sampler_->processes(), all = sampler_->examples();
  const auto visited = [&](size_t batches) {
    return shared ? std::min(static_cast<int64_t>(examples_before_) + sizes_[batches] * shared, all)
                  : sizes_[batches];
  };
  last_examples_ = batch ? visited(read) - visited(read - 1) : 0;
  if (shared) state_.examples = static_cast<uint64_t>(visited(read));
  if (!batch || feed.at_end()) {
    // Between epochs there is nothing to go on with.
    state_ = {.epoch = state_.epoch + (state_.begun ? 1 : 0)};
  }
  return batch;
}

}  // namespace detail
}  // namespace lazy::data
