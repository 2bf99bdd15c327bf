#include "tests/emulated_cuda/fiber.hpp"

#include <sys/mman.h>

#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace emulated {
namespace {

struct Passage {
  Fiber *from, *to;
};

constexpr size_t kGuard = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStack = 256 << 10;
#else
constexpr size_t kStack = 64 << 10;
#endif

}  // namespace

Fiber::Fiber(void (*main)(void*), void* argument) : main_(main), argument_(argument), size_(kStack) {
  mapping_ = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED || mprotect(mapping_, kGuard, PROT_NONE) != 0) throw std::bad_alloc();
  bottom_ = static_cast<char*>(mapping_) + kGuard;
  restart();
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  if (mapping_ != nullptr) __tsan_destroy_fiber(tsan_);
#endif
  if (mapping_ != nullptr) munmap(mapping_, kGuard + kStack);
}

void Fiber::restart() {
  char* top = static_cast<char*>(mapping_) + kGuard + kStack;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(bottom_, size_);
  fake_stack_ = nullptr;
#endif
#ifdef __SANITIZE_THREAD__
  if (tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
  tsan_ = __tsan_create_fiber(0);
#endif
  context_ = boost::context::detail::make_fcontext(top, kStack, enter);
}

void Fiber::switch_to(Fiber& other) {
  Passage passage{this, &other};
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&fake_stack_, other.bottom_, other.size_);
#endif
#ifdef __SANITIZE_THREAD__
  if (tsan_ == nullptr) tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(other.tsan_, 0);
#endif
  arrive(boost::context::detail::jump_fcontext(other.context_, &passage));
}

void Fiber::arrive(boost::context::detail::transfer_t transfer) {
  Fiber& from = *static_cast<Passage*>(transfer.data)->from;
  from.context_ = transfer.fctx;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &from.bottom_, &from.size_);
#endif
}

void Fiber::enter(boost::context::detail::transfer_t transfer) {
  Fiber& self = *static_cast<Passage*>(transfer.data)->to;
  self.arrive(transfer);
  self.main_(self.argument_);
  __builtin_unreachable();
}

}  // namespace emulated
