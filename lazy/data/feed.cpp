#include "lazy/data/feed.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "support/error.hpp"

namespace lazy::data::detail {

Feed::Feed(Batches batches, size_t first, Make make, int threads, size_t ahead)
    : batches_(std::move(batches)),
      make_(std::move(make)),
      ahead_(std::max<size_t>(ahead, 1)),
      read_(std::min(first, batches_.size())),
      begun_(read_),
      ring_(threads > 0 ? ahead_ : 0) {
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& e) {
    stop();
    throw DeviceError("DataLoader: cannot start " + std::to_string(threads) + " threads: " + e.what());
  }
}

Feed::~Feed() { stop(); }

void Feed::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

Feed::Made Feed::make_one(size_t batch) const noexcept {
  Made m{nullptr, nullptr, true};
  try {
    m.batch = make_(batches_[batch]);
  } catch (...) { m.error = std::current_exception(); }
  return m;
}

void Feed::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    room_.wait(lock, [&] { return stopping_ || begun_ >= batches_.size() || begun_ < read_ + ahead_; });
    if (stopping_ || begun_ >= batches_.size()) return;
    const size_t mine = begun_++;
    lock.unlock();
    Made m = make_one(mine);
    lock.lock();
    ring_[mine % ahead_] = std::move(m);
    made_.notify_one();
  }
}

std::shared_ptr<void> Feed::next(const Site& s) {
  if (read_ >= batches_.size()) return nullptr;
  if (threads_.empty()) return taken(make_one(read_++), s);
  std::unique_lock lock(mutex_);
  Made& place = ring_[read_ % ahead_];
  made_.wait(lock, [&] { return place.done; });
  Made m = std::exchange(place, {});
  ++read_;
  lock.unlock();
  room_.notify_one();
  return taken(std::move(m), s);
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
