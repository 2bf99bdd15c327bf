#include "jit/backend/buffer.hpp"

#include <exception>
#include <string>

#include "jit/backend/backend.hpp"
#include "jit/backend/kept_results.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"
#include "support/spare_memory.hpp"

namespace lazy::jit {

void* Buffer::operator new(size_t) { return SpareMemory<Buffer>::take(); }
void Buffer::operator delete(void* memory) noexcept { SpareMemory<Buffer>::put(memory); }

namespace {

/// Allocates; where there is no memory, results that are kept for later runs give way.
void* memory_of(Backend& backend, size_t bytes) {
  try {
    return backend.allocate(bytes);
  } catch (const DeviceError&) {
    if (!backend.host() || kept::release() == 0) throw;
  }
  return backend.allocate(bytes);
}

}  // namespace

BufferRef BufferRef::allocate(Backend& backend, size_t bytes) {
  BufferRef r;
  r.p_ = new Buffer;
  try {
    r.p_->data_ = memory_of(backend, bytes);
  } catch (...) {
    delete std::exchange(r.p_, nullptr);
    throw;
  }
  r.p_->bytes_ = bytes;
  r.p_->backend_ = &backend;
  metric::allocated(bytes);
  if (holdings::on()) {
    r.p_->counted_ = true;
    holdings::allocated(r.p_, bytes);
  }
  return r;
}

BufferRef BufferRef::borrow(void* data, size_t bytes, std::function<void(void*)> deleter, Backend* device) {
  BufferRef r;
  r.p_ = new Buffer;
  r.p_->data_ = data;
  r.p_->bytes_ = bytes;
  r.p_->backend_ = device;
  r.p_->borrowed_ = true;
  r.p_->deleter_ = std::move(deleter);
  return r;
}

// A tensor goes at places where nothing may be thrown.
void Buffer::release_borrowed() noexcept {
  try {
    try {
      if (backend_) backend_->synchronize();
    } catch (const std::exception& e) {
      logging::warning(std::string("a device failed before its memory was given back: ") + e.what());
    }
    try {
      deleter_(data_);
    } catch (const std::exception& e) {
      logging::warning(std::string("a deleter given to from_blob threw: ") + e.what());
    } catch (...) { logging::warning("a deleter given to from_blob threw"); }
  } catch (...) {}  // no memory to say so
}

uint64_t Buffer::identity() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  uint64_t known = identity_.load(std::memory_order_acquire);
  if (known) return known;
  const uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return identity_.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

void Buffer::forget_results() noexcept {
  if (identity_.load(std::memory_order_acquire) == 0) return;
  kept::forget(identity_.exchange(0, std::memory_order_acq_rel));
}

void Buffer::destroy() noexcept {
  forget_results();
  if (counted_) holdings::freed(this);
  if (!borrowed_) {
    backend_->deallocate(data_, bytes_);
    metric::freed(bytes_);
  } else if (deleter_) {
    release_borrowed();
  }
  delete this;
}

}  // namespace lazy::jit
