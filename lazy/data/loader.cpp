#include "lazy/data/loader.hpp"

#include "lazy/ops/creation.hpp"
#include "support/error.hpp"

namespace lazy::data {

Tensor LoaderState::to_tensor() const {
  std::vector<uint64_t> all{epoch, batch, begun, ticket.seed, ticket.position};
  if (next) all.insert(all.end(), {next->seed, next->position});
  return from_span(all);
}

LoaderState LoaderState::from_tensor(const Tensor& x, Site s) {
  if (x.dtype(s) != uint64)
    throw DtypeError(std::string("from_tensor: a loader's state is uint64, not ") + name_of(x.dtype()), s);
  if (x.shape() != Shape{5} && x.shape() != Shape{7})
    throw ShapeError("from_tensor: a loader's state has shape [7] or [5], not " + to_string(x.shape()), s);
  const auto v = x.to_vector<uint64_t>(s);
  LoaderState state{v[0], v[1], v[2] != 0, {v[3], v[4]}};
  if (v.size() == 7) state.next = Ticket{v[5], v[6]};
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

std::shared_ptr<Feed> Loading::begin(Feed::Make make, const Site& s) {
  if (state_.begun && !resumed_) ++state_.epoch;  // one that was left
  const bool again = std::exchange(resumed_, false);
  if (!again) {
    state_.ticket = sampler_->draw();
    state_.batch = 0;
    state_.begun = true;
  }
  Batches batches = sampler_->batches(state_.ticket);
  if (again && state_.batch > batches.size())
    throw IndexError("DataLoader: its state says batch " + std::to_string(state_.batch) + ", an epoch has " +
                         std::to_string(batches.size()),
                     s);
  const auto ahead =
      static_cast<size_t>(options_.prefetch) * static_cast<size_t>(std::max(options_.workers, 1));
  const auto feed =
      std::make_shared<Feed>(std::move(batches), state_.batch, std::move(make), options_.workers, ahead);
  feed_ = feed;
  return feed;
}

std::shared_ptr<void> Loading::next(Feed& feed, const Site& s) {
  if (feed_.lock().get() != &feed) return nullptr;  // another epoch was begun
  auto batch = feed.next(s);
  state_.batch = feed.position();
  if (!batch || feed.at_end()) {
    // Between epochs there is nothing to go on with.
    state_ = {.epoch = state_.epoch + (state_.begun ? 1 : 0)};
  }
  return batch;
}

}  // namespace detail
}  // namespace lazy::data
