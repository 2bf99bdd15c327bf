// Declares DataLoader, which gives a dataset's examples in batches:
//
//   data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true, .workers = 2});
//   for (int epoch = 0; epoch < 10; ++epoch)
//     for (const auto& [x, y] : loader) step(x, y);
//
// The order of batches, and what is in them, does not depend on the number of workers. Workers are threads:
// they call the dataset's get() and the collate function, make memory, and record nothing, so that the loop's
// graph does not see them. What a worker throws is thrown at the loop's line, when its batch is next.
#pragma once
#include "lazy/data/collate.hpp"
#include "lazy/data/feed.hpp"
#include "lazy/data/sampler.hpp"

namespace lazy::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;                 // leaves out a last batch that is smaller than the others
  int workers = 0;                        // threads; 0: batches are made by the thread that reads them
  int prefetch = 2;                       // batches that are made ahead, for each worker
  Generator* generator = nullptr;         // of the order: outlives the loader; null: default_generator()
  std::shared_ptr<Sampler> sampler = {};  // in place of shuffle
  std::shared_ptr<BatchSampler> batch_sampler = {};  // in place of batch_size, shuffle, sampler, drop_last
};

/// Says where a loader is: all that is needed to go on, in this epoch and those behind it.
struct LoaderState {
  uint64_t epoch = 0;  // epochs that were begun and are over
  uint64_t batch = 0;  // the next one of the epoch that is under way
  bool begun = false;  // an epoch is under way, that of the ticket
  Ticket ticket = {};
  std::optional<Ticket> next = {};  // of the next epoch: the state of the generator of the order
  /// Count what all processes that share the order have visited of the epoch under way: there they go on, on
  /// however many of them. 0 where nothing is shared.
  uint64_t examples = 0;

  /// Returns it as uint64 [8], or [6] without the next epoch's ticket, and reads these, and older ones
  /// without `examples`; ShapeError or DtypeError for others.
  Tensor to_tensor() const;
  static LoaderState from_tensor(const Tensor& x, Site s = Site::current());
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

namespace detail {
/// Keeps what loaders have in common, whatever their examples are.
class Loading {
 public:
  Loading(int64_t examples, LoaderOptions, const Site&);
  int64_t size() const { return sampler_->size(); }
  LoaderState state() const;
  void load_state(const LoaderState&);
  /// Begins the next epoch, or the rest of the one whose state was loaded; who reads the last one is at its
  /// end.
  std::shared_ptr<Feed> begin(Feed::Make, const Site&);
  /// Returns the next batch; null at the end.
  std::shared_ptr<void> next(Feed&, const Site&);
  /// Leaves out the first batches of what begin() begins next.
  void skip(int64_t batches, const Site&);
  const LoaderOptions& options() const { return options_; }
  /// Returns the examples of all processes that the batch which was read last has, each counted once.
  int64_t examples_of_last() const { return last_examples_; }

 private:
  LoaderOptions options_;
  std::shared_ptr<BatchSampler> sampler_;
  LoaderState state_;
  bool resumed_ = false;                               // the next epoch is the one of state_
  int64_t skipped_ = 0;                                // batches, of the next epoch
  uint64_t batches_before_ = 0, examples_before_ = 0;  // of the epoch, before the feed's first
  std::vector<int64_t> sizes_;                         // examples in the feed's batches before each
  int64_t last_examples_ = 0;
  std::weak_ptr<Feed> feed_;  // of the epoch under way
};
}  // namespace detail

template <Dataset D, class C = DefaultCollate>
class DataLoader {
 public:
  using Value = std::decay_t<decltype(std::declval<const C&>()(std::declval<std::vector<ExampleOf<D>>>()))>;

  /// `collate` makes a batch of a std::vector of examples, on any thread. ShapeError for a batch size or
  /// numbers of workers and batches ahead that there can't be.
  explicit DataLoader(D dataset, LoaderOptions options = {}, C collate = {}, Site s = Site::current())
      : dataset_(std::make_shared<const D>(std::move(dataset))),
        collate_(std::move(collate)),
        loading_(std::make_unique<detail::Loading>(dataset_->size(), std::move(options), s)) {}

  /// Returns the number of batches of an epoch.
  int64_t size() const { return loading_->size(); }
  const D& dataset() const { return *dataset_; }
  /// Says where it is: behind the batch that was read last. The rest of an epoch that a loop has left is not
  /// visited unless its state is loaded.
  LoaderState state() const { return loading_->state(); }
  /// Lets the next loop go on from there. The generator of the order gets the state that it had.
  void load_state(const LoaderState& state) { loading_->load_state(state); }

  /// Walks over the batches of an epoch. Leaving the loop stops the workers.
  class Iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    const Value& operator*() const { return *static_cast<const Value*>(batch_.get()); }
    const Value* operator->() const { return &**this; }
    Iterator& operator++() {
      batch_.reset();
      batch_ = loading_->next(*feed_, site_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return !i.batch_; }

   private:
    friend DataLoader;
    Iterator(detail::Loading* loading, std::shared_ptr<detail::Feed> feed, const Site& s)
        : loading_(loading), feed_(std::move(feed)), site_(s) {
      ++*this;
    }
    detail::Loading* loading_;
    std::shared_ptr<detail::Feed> feed_;
    std::shared_ptr<void> batch_;
    Site site_;
  };
  const LoaderOptions& options() const { return loading_->options(); }
  /// Returns a loader of the same dataset, which both share, by other options.
  DataLoader with(LoaderOptions options, Site s = Site::current()) const {
    return DataLoader(dataset_, collate_, std::move(options), s);
  }
  /// Lets the next loop leave out so many batches, which are not made. ShapeError for less than 0.
  void skip_first(int64_t batches, Site s = Site::current()) { loading_->skip(batches, s); }
  /// Returns how many examples the batch that was read last has: of all processes' batches where they share
  /// an order, without those that are visited again.
  int64_t examples_of_last() const { return loading_->examples_of_last(); }
  /// Begins an epoch; one that another iterator is in ends.
  Iterator begin(Site s = Site::current()) {
    return Iterator(loading_.get(), loading_->begin(maker(), s), s);
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  DataLoader(std::shared_ptr<const D> dataset, C collate, LoaderOptions options, const Site& s)
      : dataset_(std::move(dataset)),
        collate_(std::move(collate)),
        loading_(std::make_unique<detail::Loading>(dataset_->size(), std::move(options), s)) {}
  detail::Feed::Make maker() const {
    return [dataset = dataset_, collate = collate_](const std::vector<int64_t>& indices) {
      std::vector<ExampleOf<D>> examples;
      examples.reserve(indices.size());
      for (const int64_t i : indices) examples.push_back(dataset->get(i));
      return std::shared_ptr<void>(std::make_shared<Value>(collate(std::move(examples))));
    };
  }

  std::shared_ptr<const D> dataset_;
  C collate_;
  std::unique_ptr<detail::Loading> loading_;  // where iterators find it when the loader was moved
};

}  // namespace lazy::data
