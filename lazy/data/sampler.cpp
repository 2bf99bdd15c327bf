#include "lazy/data/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/data/host_draws.hpp"
#include "support/error.hpp"

namespace lazy::data {
namespace {

using detail::HostDraws;

void set_state(Generator& g, Ticket t) {
  g.manual_seed(t.seed);
  g.set_position(t.position);
}

void check_size(const char* op, int64_t size, const Site& s) {
  if (size < 0) throw ShapeError(std::string(op) + ": a size can't be negative: " + std::to_string(size), s);
}

/// Returns -log(u) / weight for each weight above 0, else infinity: the least ones make a weighted choice.
std::vector<double> arrivals(HostDraws& draws, const std::vector<double>& weights) {
  std::vector<double> at;
  for (const double w : weights) {
    const double u = draws.fraction() + 0x1p-54;
    at.push_back(w > 0 ? -std::log(u) / w : HUGE_VAL);
  }
  return at;
}

}  // namespace

SequentialSampler::SequentialSampler(int64_t size, Site s) : size_(size) {
  check_size("SequentialSampler", size, s);
}

std::vector<int64_t> SequentialSampler::order(Ticket) const {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

RandomSampler::RandomSampler(int64_t size, Generator& g, bool replacement, int64_t samples, Site s)
    : generator_(g), count_(size), samples_(samples < 0 ? size : samples), replacement_(replacement) {
  check_size("RandomSampler", size, s);
  if ((!replacement && samples_ > size) || (size == 0 && samples_ > 0))
    throw ShapeError("RandomSampler: " + std::to_string(samples_) + " samples of " + std::to_string(size) +
                         (replacement ? "" : " without replacement"),
                     s);
}

Ticket RandomSampler::draw() { return {generator_.seed(), generator_.advance()}; }
std::optional<Ticket> RandomSampler::next() const { return Ticket{generator_.seed(), generator_.position()}; }
void RandomSampler::set_next(Ticket t) { set_state(generator_, t); }

std::vector<int64_t> RandomSampler::order(Ticket t) const {
  HostDraws draws(t.seed, t.position);
  if (!replacement_) {
    std::vector<int64_t> all = draws.permutation(count_);
    all.resize(static_cast<size_t>(samples_));
    return all;
  }
  std::vector<int64_t> drawn(static_cast<size_t>(samples_));
  for (int64_t& i : drawn) i = static_cast<int64_t>(draws.below(static_cast<uint64_t>(count_)));
  return drawn;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t samples, Generator& g,
                                             bool replacement, Site s)
    : generator_(g), weights_(std::move(weights)), samples_(samples), replacement_(replacement) {
  check_size("WeightedRandomSampler", samples, s);
  double sum = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!(weights_[i] >= 0))
      throw Error("WeightedRandomSampler: weight " + std::to_string(i) + " is " + std::to_string(weights_[i]),
                  s);
    sum += weights_[i];
  }
  if (samples > 0 && !(sum > 0 && std::isfinite(sum)))
    throw Error("WeightedRandomSampler: the weights add up to " + std::to_string(sum), s);
  const auto some = std::count_if(weights_.begin(), weights_.end(), [](double w) { return w > 0; });
  if (!replacement && samples > some)
    throw ShapeError("WeightedRandomSampler: " + std::to_string(samples) +
                         " samples without replacement of " + std::to_string(some) + " weights above 0",
                     s);
}

Ticket WeightedRandomSampler::draw() { return {generator_.seed(), generator_.advance()}; }
std::optional<Ticket> WeightedRandomSampler::next() const {
  return Ticket{generator_.seed(), generator_.position()};
}
void WeightedRandomSampler::set_next(Ticket t) { set_state(generator_, t); }

std::vector<int64_t> WeightedRandomSampler::order(Ticket t) const {
  HostDraws draws(t.seed, t.position);
  std::vector<int64_t> drawn(static_cast<size_t>(samples_));
  if (replacement_) {
    std::vector<double> sums(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
    // Rounding may give the sum itself: the last weight above 0 has it.
    const auto last = std::find(sums.begin(), sums.end(), sums.empty() ? 0 : sums.back());
    for (int64_t& i : drawn)
      i = std::min(std::upper_bound(sums.begin(), sums.end(), draws.fraction() * sums.back()), last) -
          sums.begin();
    return drawn;
  }
  const std::vector<double> at = arrivals(draws, weights_);
  std::vector<int64_t> all(weights_.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  std::stable_sort(all.begin(), all.end(), [&](int64_t a, int64_t b) {
    return at[static_cast<size_t>(a)] < at[static_cast<size_t>(b)];
  });
  std::copy_n(all.begin(), drawn.size(), drawn.begin());
  return drawn;
}

DistributedSampler::DistributedSampler(int64_t size, int64_t rank, int64_t processes,
                                       DistributedOptions options, Site s)
    : count_(size), rank_(rank), processes_(processes), options_(options) {
  check_size("DistributedSampler", size, s);
  if (processes < 1 || rank < 0 || rank >= processes)
    throw IndexError("DistributedSampler: rank " + std::to_string(rank) + " of " + std::to_string(processes) +
                         " processes",
                     s);
}

int64_t DistributedSampler::size() const {
  if (options_.drop_last) return count_ / processes_;
  return (count_ + processes_ - 1 - (options_.even ? 0 : rank_)) / processes_;
}

std::vector<int64_t> DistributedSampler::order_behind(Ticket t, int64_t visited) const {
  const std::vector<int64_t> all = options_.shuffle ? HostDraws(t.seed, t.position).permutation(count_)
                                                    : SequentialSampler(count_).order({});
  std::vector<int64_t> mine;
  for (int64_t i = std::min(visited, count_); i < count_; i += processes_) {
    const bool whole = i + processes_ <= count_;  // each process has an example
    if (!whole && options_.drop_last) break;
    if (!whole && !options_.even && i + rank_ >= count_) break;
    mine.push_back(all[static_cast<size_t>((i + rank_) % count_)]);
  }
  return mine;
}

BatchSampler::BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last, Site s)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  if (!sampler_) throw Error("BatchSampler: there is no sampler", s);
  if (batch_size < 1)
    throw ShapeError("BatchSampler: a batch has at least one example, not " + std::to_string(batch_size), s);
}

int64_t BatchSampler::size() const {
  const int64_t n = sampler_->size();
  return n / batch_size_ + (!drop_last_ && n % batch_size_ != 0);
}

std::vector<std::vector<int64_t>> BatchSampler::batches(Ticket t) const { return cut(sampler_->order(t)); }

std::vector<std::vector<int64_t>> BatchSampler::cut(const std::vector<int64_t>& order) const {
  std::vector<std::vector<int64_t>> all;
  const auto each = static_cast<size_t>(batch_size_);
  for (size_t at = 0; at < order.size(); at += each) {
    const size_t n = std::min(each, order.size() - at);
    if (n < each && drop_last_) break;
    all.emplace_back(order.begin() + static_cast<ptrdiff_t>(at),
                     order.begin() + static_cast<ptrdiff_t>(at + n));
  }
  return all;
}

SharedBatchSampler::SharedBatchSampler(std::shared_ptr<DistributedSampler> sampler, int64_t batch_size,
                                       bool drop_last, Site s)
    : BatchSampler(sampler, batch_size, drop_last, s), order_(std::move(sampler)) {}

std::vector<std::vector<int64_t>> SharedBatchSampler::batches_behind(Ticket t, int64_t visited) const {
  return cut(order_->order_behind(t, visited));
}

}  // namespace lazy::data
