#include "lazy/data/feed.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "support/error.hpp"
#include "support/first_time.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::data::detail {

Feed::Feed(Batches batches, size_t first, Make make, int threads, size_t ahead)
    : batches_(std::move(batches)),
      make_(std::move(make)),
      ahead_(std::max<size_t>(ahead, 1)),
      read_(std::min(first, batches_.size())) {
  if (threads <= 0) return;
  shared_ = std::make_unique<Shared>();
  shared_->begun = shared_->read = read_;
  try {
    shared_->ring.resize(ahead_);
    shared_->threads.reserve(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) shared_->threads.emplace_back([this] { work(*shared_); });
  } catch (const std::system_error& e) {
    stop();
    throw DeviceError("DataLoader: cannot start " + std::to_string(threads) + " threads: " + e.what());
  } catch (...) {
    stop();
    throw;
  }
}

Feed::~Feed() { stop(); }

void Feed::stop() noexcept {
  leave_parents_threads();
  if (!shared_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->room.notify_all();
  for (std::thread& t : shared_->threads) t.join();
  shared_.reset();
}

/// Forgets the threads in a child: they stayed in the parent, and may have had the lock, or been at a batch,
/// when it was forked. What they share is never freed, since it can't be taken apart.
void Feed::leave_parents_threads() noexcept {
  if (generation_ != forks::generation()) (void)shared_.release();
}

Feed::Made Feed::make_one(size_t batch) const noexcept {
  Made m{nullptr, nullptr, true};
  try {
    m.batch = make_(batches_[batch]);
  } catch (...) { m.error = std::current_exception(); }
  return m;
}

void Feed::work(Shared& all) {
  std::unique_lock lock(all.mutex);
  for (;;) {
    all.room.wait(
        lock, [&] { return all.stopping || all.begun >= batches_.size() || all.begun < all.read + ahead_; });
    if (all.stopping || all.begun >= batches_.size()) return;
    const size_t mine = all.begun++;
    lock.unlock();
    Made m = make_one(mine);
    lock.lock();
    all.ring[mine % ahead_] = std::move(m);
    all.made.notify_one();
  }
}

Feed::Made Feed::take_next() {
  if (!shared_) return make_one(read_++);
  std::unique_lock lock(shared_->mutex);
  Made& place = shared_->ring[read_ % ahead_];
  shared_->made.wait(lock, [&] { return place.done; });
  Made m = std::exchange(place, {});
  shared_->read = ++read_;
  lock.unlock();
  shared_->room.notify_one();
  return m;
}

std::shared_ptr<void> Feed::next(const Site& s) {
  if (read_ >= batches_.size()) return nullptr;
  leave_parents_threads();
  const Clock::time_point start = Clock::now();
  Made m = take_next();
  // The first batch has nothing that it could be made beside.
  if (given_) waited_ += Clock::now() - start;
  else began_ = Clock::now();
  constexpr size_t kFew = 64;
  if (++given_ == kFew) tell_of_waiting(s);
  return taken(std::move(m), s);
}

void Feed::tell_of_waiting(const Site& s) const {
  constexpr double kMuch = 0.3;                    // of the loop's time
  constexpr std::chrono::microseconds kLong{200};  // for a batch: handing it over takes a tenth
  const double share =
      static_cast<double>(waited_.count()) / static_cast<double>((Clock::now() - began_).count() + 1);
  if (share < kMuch || waited_ < kLong * static_cast<int64_t>(given_) || !is_first_time("loader", s)) return;
  const std::string percent = std::to_string(static_cast<int>(share * 100 + 0.5)) + "% of its time";
  const logging::Fields hint = logging::Fields().at(s).add("hint", "loader");
  if (shared_)
    logging::hint("the loop over a DataLoader at " + to_string(s) + " waits for batches for " + percent +
                      ", though " + std::to_string(shared_->threads.size()) +
                      " threads make them: more workers, or less work for each example",
                  hint);
  else
    logging::hint("the loop over a DataLoader at " + to_string(s) + " makes its batches itself for " +
                      percent + ": {.workers = 1} or more makes them beside the steps",
                  hint);
}

std::shared_ptr<void> Feed::taken(Made m, const Site& s) {
  if (!m.error) return std::move(m.batch);
  stop();
  read_ = batches_.size();
  const auto with_line = [&]<class E>(const E& e) {
    if (e.where().line()) throw;
    throw E(e.what(), s);
  };
  try {
    std::rethrow_exception(m.error);
  } catch (const ShapeError& e) { with_line(e); } catch (const DtypeError& e) {
    with_line(e);
  } catch (const IndexError& e) { with_line(e); } catch (const IoError& e) {
    with_line(e);
  } catch (const DeviceError& e) { with_line(e); }
  return nullptr;
}

}  // namespace lazy::data::detail
