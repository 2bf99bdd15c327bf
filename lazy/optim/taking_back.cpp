#include "lazy/optim/taking_back.hpp"

#include <atomic>

#include "jit/flush/faults.hpp"
#include "jit/graph/node.hpp"
#include "jit/graph/planes.hpp"
#include "support/lock.hpp"

namespace lazy::optim {
namespace {
/// Numbers the threads that record steps.
unsigned this_thread() {
  static std::atomic<unsigned> last{0};
  thread_local const unsigned mine = ++last;
  return mine;
}
}  // namespace

// Never destroyed: optimizers may outlive static destruction.
struct Revocable::All {
  static All& get() {
    static All& all = *new All;
    return all;
  }
  All() { jit::set_fault_listener(tell); }
  static void tell(const std::vector<const jit::Node*>& nodes) noexcept {
    try {
      const Failed failed(nodes.begin(), nodes.end());
      std::vector<Revocable*> here;
      {
        const Hold hold(get().mutex);
        for (Revocable* r : get().members)
          if (r->thread_ == this_thread()) here.push_back(r);
      }
      for (Revocable* r : here) r->take_back(failed);
    } catch (...) {}  // the error that is under way says more
  }
  Mutex mutex;
  std::unordered_set<Revocable*> members;
};

Revocable::~Revocable() {
  if (!known_) return;
  All& all = All::get();
  const Hold hold(all.mutex);
  all.members.erase(this);
}

void Revocable::note_step() {
  if (known_ && thread_ == this_thread()) return;
  All& all = All::get();
  const Hold hold(all.mutex);
  all.members.insert(this);
  known_ = true;
  thread_ = this_thread();
}

Nodes::Nodes(const jit::Handle& value) {
  if (!value) return;
  const bool pair = is_complex(value->dtype);
  real_ = pair ? jit::real_plane(value).get() : value.get();
  imaginary_ = pair ? jit::imaginary_plane(value).get() : nullptr;
}

jit::Handle Nodes::value() const {
  if (!real_) return {};
  return imaginary_ ? jit::complex(handle_of(real_), handle_of(imaginary_), real_->site) : handle_of(real_);
}

bool is_computed(const jit::Handle& value) {
  return is_complex(value->dtype) ? jit::real_plane(value)->ready() && jit::imaginary_plane(value)->ready()
                                  : value->ready();
}

jit::Handle handle_of(const jit::Node* n) {
  auto* const node = const_cast<jit::Node*>(n);
  node->counts.fetch_add(jit::Node::kHandle, std::memory_order_relaxed);
  return jit::Handle::adopt(node);
}

}  // namespace lazy::optim
