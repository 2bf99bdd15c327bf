#include "jit/backend/buffer.hpp"

#include <exception>
#include <string>

#include "jit/backend/backend.hpp"
#include "jit/backend/kept_layouts.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"
#include "support/spare_memory.hpp"

namespace lazy::jit {

void* Buffer::operator new(size_t) { return SpareMemory<Buffer>::take(); }
void Buffer::operator delete(void* memory) noexcept { SpareMemory<Buffer>::put(memory); }

BufferRef BufferRef::allocate(Backend& backend, size_t bytes) {
  BufferRef r;
  r.p_ = new Buffer;
  try {
    r.p_->data_ = backend.allocate(bytes);
  } catch (...) {
    delete std::exchange(r.p_, nullptr);
    throw;
  }
  r.p_->bytes_ = bytes;
  r.p_->backend_ = &backend;
  metric::allocated(bytes);
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

KeptLayouts& Buffer::layouts() {
  KeptLayouts* all = layouts_.load(std::memory_order_acquire);
  if (all) return *all;
  auto fresh = std::make_unique<KeptLayouts>();
  if (layouts_.compare_exchange_strong(all, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *all;
}

void Buffer::forget_layouts() noexcept {
  if (KeptLayouts* const all = layouts_.load(std::memory_order_acquire)) all->clear();
}

void Buffer::destroy() noexcept {
  delete layouts_.load(std::memory_order_acquire);
  if (!borrowed_) {
    backend_->deallocate(data_, bytes_);
    metric::freed(bytes_);
  } else if (deleter_) {
    release_borrowed();
  }
  delete this;
}

}  // namespace lazy::jit
