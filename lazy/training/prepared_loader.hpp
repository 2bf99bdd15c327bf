// Gives each rank its part of a loader's batches: what Accelerator::prepare(loader) returns.
#pragma once
#include <iterator>
#include <optional>
#include <utility>

#include "lazy/data/loader.hpp"
#include "lazy/distributed/world.hpp"

namespace lazy::training {

namespace detail {

/// Is what an accelerator knows of the loop that is under way.
struct Loop {
  bool last = false;      // the batch is the epoch's last one
  int64_t examples = -1;  // of all ranks' batches, each counted once; -1: there is no such loop
};

/// Sends rank 0's batches to all. Each has rows r, r + ranks, ... of one, r its own number; rows are visited
/// again where they do not divide.
struct Sent {
  std::optional<data::Batch> part;  // none at the end
  Loop loop;
  data::LoaderState state;
};
/// `own`: rank 0's batch; null at the end, and on other ranks. `loop` and `state` are rank 0's.
Sent send_parts(const data::Batch* own, const Loop& loop, const data::LoaderState& state, const Site& s);

}  // namespace detail

/// Walks over this rank's part of the batches. It is made by an accelerator, which it must not outlive.
template <class L>
class PreparedLoader {
 public:
  using Value = typename L::Value;
  static constexpr bool kCanSend = std::is_same_v<Value, data::Batch>;

  /// Takes the loader of this rank's part; where `sends`, rank 0's is of all batches, and others read none.
  PreparedLoader(L loader, bool sends, detail::Loop& loop)
      : loader_(std::move(loader)), loop_(loop), sends_(sends) {}

  /// Returns the number of batches of an epoch, the same on all ranks unless examples are not shared evenly.
  int64_t size() const { return loader_.size(); }
  /// Says where it is, in examples of all ranks: any number of ranks goes on from there.
  data::LoaderState state() const { return sends_ && distributed::rank() ? sent_ : loader_.state(); }
  void load_state(const data::LoaderState& state) {
    sent_ = state;
    loader_.load_state(state);
  }
  /// Lets the next loop leave out so many batches of each rank.
  void skip_first(int64_t batches, Site s = Site::current()) { loader_.skip_first(batches, s); }

  class Iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    Iterator(const Iterator&) = delete;
    ~Iterator() { all_.loop_ = {}; }
    const Value& operator*() const { return value_ ? *value_ : **own_; }
    const Value* operator->() const { return &**this; }
    Iterator& operator++() {
      if (own_) ++*own_;
      take();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.ended_; }

   private:
    friend PreparedLoader;
    Iterator(PreparedLoader& all, Site s) : all_(all), site_(s) {
      if (!all.sends_ || distributed::rank() == 0) own_.emplace(all.loader_.begin(s));
      take();
    }
    /// Looks at the batch that was read, or receives one.
    void take() {
      const bool some = own_ && *own_ != std::default_sentinel;
      detail::Loop now;
      if (some) now = {!all_.loader_.state().begun, all_.loader_.examples_of_last()};
      ended_ = own_ && !some;
      if constexpr (kCanSend) {
        if (all_.sends_) {
          detail::Sent sent = detail::send_parts(some ? &**own_ : nullptr, now, all_.loader_.state(), site_);
          ended_ = !sent.part;
          value_ = std::move(sent.part);
          now = sent.loop, all_.sent_ = sent.state;
        }
      }
      all_.loop_ = ended_ ? detail::Loop{} : now;
    }
    PreparedLoader& all_;
    Site site_;
    std::optional<typename L::Iterator> own_;
    std::optional<Value> value_;  // what was received
    bool ended_ = false;
  };
  /// Begins an epoch, on all ranks.
  Iterator begin(Site s = Site::current()) { return Iterator(*this, s); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  L loader_;
  detail::Loop& loop_;
  data::LoaderState sent_;  // rank 0's, where it sends
  bool sends_;
};

}  // namespace lazy::training
