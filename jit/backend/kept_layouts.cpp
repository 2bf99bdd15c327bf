#include "jit/backend/kept_layouts.hpp"

#include <algorithm>
#include <atomic>

#include "jit/backend/backend.hpp"
#include "support/config.hpp"

namespace lazy::jit {
namespace {

std::atomic<uint64_t> bytes_kept{0};

}  // namespace

/// Copies that a thread of the parent was changing when this process was forked are forgotten.
class KeptLayouts::Locked {
 public:
  explicit Locked(KeptLayouts& all) : hold_(all.mutex_) {
    if (!hold_.intact()) std::construct_at(&all.copies_);
  }

 private:
  const Hold<Mutex> hold_;
};

KeptLayouts::Copy* KeptLayouts::find_locked(const std::shared_ptr<const Kernel>& kernel,
                                            std::span<const uint64_t> words) {
  for (Copy& c : copies_)
    if (c.kernel == kernel && std::equal(c.words.begin(), c.words.end(), words.begin(), words.end()))
      return &c;
  return nullptr;
}

BufferRef KeptLayouts::find(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words,
                            bool& again) {
  const Locked hold(*this);
  const Copy* const found = find_locked(kernel, words);
  again = found != nullptr;
  if (found) return found->made;
  if (copies_.size() == kMost) {
    release(copies_.front());
    copies_.erase(copies_.begin());
  }
  copies_.push_back({kernel, {words.begin(), words.end()}, {}});
  return {};
}

void KeptLayouts::keep(const std::shared_ptr<const Kernel>& kernel, std::span<const uint64_t> words,
                       const BufferRef& made) {
  const uint64_t most = config::get().keep_layouts;
  if (bytes_kept.fetch_add(made->bytes(), std::memory_order_relaxed) + made->bytes() > most) {
    bytes_kept.fetch_sub(made->bytes(), std::memory_order_relaxed);
    return;
  }
  const Locked hold(*this);
  if (Copy* const c = find_locked(kernel, words); c && !c->made) c->made = made;
  else bytes_kept.fetch_sub(made->bytes(), std::memory_order_relaxed);
}

void KeptLayouts::release(Copy& c) noexcept {
  if (c.made) bytes_kept.fetch_sub(c.made->bytes(), std::memory_order_relaxed);
}

void KeptLayouts::clear() noexcept {
  const Locked hold(*this);
  for (Copy& c : copies_) release(c);
  copies_.clear();
}

}  // namespace lazy::jit
