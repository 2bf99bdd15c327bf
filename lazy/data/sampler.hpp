// Declares in which order examples are visited. An order is a pure function of a ticket, which a sampler
// draws when an epoch begins: that is all that has to be kept to go on in the middle of one.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::data {

/// Selects an epoch's order: a generator's seed and position.
struct Ticket {
  uint64_t seed = 0, position = 0;
  friend bool operator==(const Ticket&, const Ticket&) = default;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the number of indices of an epoch.
  virtual int64_t size() const = 0;
  /// Begins an epoch. The base draws nothing.
  virtual Ticket draw() { return {}; }
  /// Returns the ticket that draw() gives next, if that is all that later orders depend on. The base: none.
  virtual std::optional<Ticket> next() const { return {}; }
  /// Lets draw() give this ticket next. The base does nothing.
  virtual void set_next(Ticket) {}
  /// Returns the indices of the epoch of that ticket.
  virtual std::vector<int64_t> order(Ticket) const = 0;
};

/// Visits 0, 1, ... size - 1.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size, Site s = Site::current());
  int64_t size() const override { return size_; }
  std::vector<int64_t> order(Ticket) const override;

 private:
  int64_t size_;
};

/// Visits all in random order, or with replacement draws as many as there are, or `samples`. The generator
/// must outlive the sampler, and counts one draw an epoch.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(int64_t size, Generator& = default_generator(), bool replacement = false,
                         int64_t samples = -1, Site s = Site::current());
  int64_t size() const override { return samples_; }
  Ticket draw() override;
  std::optional<Ticket> next() const override;
  void set_next(Ticket) override;  // of the generator, whoever else draws from it
  std::vector<int64_t> order(Ticket) const override;

 private:
  Generator& generator_;
  int64_t count_, samples_;
  bool replacement_;
};

/// Draws indices with probabilities in proportion to weights. Without replacement an index comes once at most
/// (Efraimidis and Spirakis, 2006). ShapeError for more samples than weights above 0 then; Error for weights
/// that are negative, not finite, or all 0.
class WeightedRandomSampler : public Sampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, int64_t samples, Generator& = default_generator(),
                        bool replacement = true, Site s = Site::current());
  int64_t size() const override { return samples_; }
  Ticket draw() override;
  std::optional<Ticket> next() const override;
  void set_next(Ticket) override;  // of the generator, whoever else draws from it
  std::vector<int64_t> order(Ticket) const override;

 private:
  Generator& generator_;
  std::vector<double> weights_;
  int64_t samples_;
  bool replacement_;
};

struct DistributedOptions {
  bool shuffle = true;
  bool drop_last = false;  // leaves out what does not divide evenly; else first examples are visited again
  bool even = true;   // each process visits as many; else none twice, and the first ones may have one more
  uint64_t seed = 0;  // the same in every process
};
/// Visits every `processes`-th example of one order that all processes have, from `rank` on. Epochs are
/// counted; set_epoch() says which is next.
class DistributedSampler : public Sampler {
 public:
  DistributedSampler(int64_t size, int64_t rank, int64_t processes, DistributedOptions = {},
                     Site s = Site::current());
  int64_t size() const override;
  Ticket draw() override { return {options_.seed, epoch_++}; }
  std::optional<Ticket> next() const override { return Ticket{options_.seed, epoch_}; }
  void set_next(Ticket t) override { options_.seed = t.seed, epoch_ = t.position; }
  std::vector<int64_t> order(Ticket t) const override { return order_behind(t, 0); }
  /// Returns the indices that are left for this process when all processes together have visited the first
  /// so many of the epoch's order: however many processes they were.
  std::vector<int64_t> order_behind(Ticket, int64_t visited) const;
  int64_t examples() const { return count_; }
  int64_t processes() const { return processes_; }
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }

 private:
  int64_t count_, rank_, processes_;
  DistributedOptions options_;
  uint64_t epoch_ = 0;
};

/// Cuts a sampler's order into batches; the last one may be smaller unless it is dropped. Other rules
/// override the members.
class BatchSampler {
 public:
  BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last = false,
               Site s = Site::current());
  virtual ~BatchSampler() = default;
  /// Returns the number of batches of an epoch.
  virtual int64_t size() const;
  virtual Ticket draw() { return sampler_->draw(); }
  virtual std::optional<Ticket> next() const { return sampler_->next(); }
  virtual void set_next(Ticket t) { sampler_->set_next(t); }
  virtual std::vector<std::vector<int64_t>> batches(Ticket) const;

  // A rule that shares an order out among processes can go on in the middle of an epoch on another number of
  // them: it says how many it is for, and what is left of an epoch.

  virtual int64_t processes() const { return 0; }  // 0: the rule is of one, and goes on by batches
  virtual int64_t examples() const { return 0; }   // of an epoch, of all processes
  /// Returns the batches that are left when all processes together have visited so many examples.
  virtual std::vector<std::vector<int64_t>> batches_behind(Ticket t, int64_t /*visited*/) const {
    return batches(t);
  }

 protected:
  /// Cuts an order into batches.
  std::vector<std::vector<int64_t>> cut(const std::vector<int64_t>& order) const;

 private:
  std::shared_ptr<Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;
};

/// Cuts the order of a DistributedSampler into batches, of which a loader can go on with the rest on another
/// number of processes.
class SharedBatchSampler final : public BatchSampler {
 public:
  SharedBatchSampler(std::shared_ptr<DistributedSampler> sampler, int64_t batch_size, bool drop_last = false,
                     Site s = Site::current());
  int64_t processes() const override { return order_->processes(); }
  int64_t examples() const override { return order_->examples(); }
  std::vector<std::vector<int64_t>> batches_behind(Ticket, int64_t visited) const override;

 private:
  std::shared_ptr<DistributedSampler> order_;
};

}  // namespace lazy::data
