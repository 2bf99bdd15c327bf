// The executor: binds a frame's nodes to a program's steps and launches them.
#include <array>

#include "jit/plan/bind.hpp"
#include "jit/plan/program.hpp"
#include "support/config.hpp"
#include "support/fp16.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

size_t bytes_of(const Slot& s, const Frame& f) {
  return static_cast<size_t>(numel(f.values[s.node]->shape)) * size_of(s.dtype);
}

class Run {
 public:
  Run(const Program& p, Frame& f, Backend& backend)
      : p_(p), f_(f), backend_(backend), buffers_(p.slots.size()), donate_(!config::get().verify) {}

  void steps() {
    uint64_t launches = 0;
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      for (uint32_t slot : s.made)
        if (!buffers_[slot]) make(slot, i);
      if (s.has_initial) initialise(s);
      launches += launch(s);
      for (uint32_t slot : s.dead) buffers_[slot].reset();
    }
    metric::add(Counter::launches, launches);
  }

  // Nothing can fail any more: the nodes get their values, and let go of their operands.
  void publish() {
    for (const Result& r : p_.results) {
      Node* n = f_.values[r.node];
      if (r.path == 0 && r.leaf == kNone) {
        n->contiguous = true;
        n->offset = 0;
        n->buffer = buffers_[static_cast<size_t>(r.slot)];
        continue;
      }
      const Layout l = result_layout(p_, r, f_);
      n->contiguous = l.is_contiguous();
      n->offset = l.offset;
      n->strides = l.strides;
      n->buffer = r.leaf == kNone ? buffers_[static_cast<size_t>(r.slot)] : f_.values[r.leaf]->buffer;
    }
  }

 private:
  void make(uint32_t slot, size_t step) {
    const Step& s = p_.steps[step];
    const Slot& what = p_.slots[slot];
    const size_t bytes = bytes_of(what, f_);
    if (what.donor_slot >= 0) {
      buffers_[slot] = std::move(buffers_[static_cast<size_t>(what.donor_slot)]);
      donated(bytes, s.has_initial);
    } else if (donate_ && what.donor_leaf != kNone && f_.is_sole_owner(what.donor_leaf) &&
               takes_all(what.donor_leaf, bytes)) {
      reserve_after(step);
      buffers_[slot] = f_.values[what.donor_leaf]->buffer;  // the dying leaf goes on reading it as well
      donated(bytes, s.has_initial);
    } else {
      buffers_[slot] = BufferRef::allocate(backend_, bytes);
    }
  }
  // Once an input has been overwritten the run must not fail: what later steps need is allocated before.
  void reserve_after(size_t step) {
    if (std::exchange(reserved_, true)) return;
    for (size_t i = step; i < p_.steps.size(); ++i)
      for (uint32_t slot : p_.steps[i].made) {
        const Slot& what = p_.slots[slot];
        if (!buffers_[slot] && what.donor_slot < 0 && what.donor_leaf == kNone)
          buffers_[slot] = BufferRef::allocate(backend_, bytes_of(what, f_));
      }
  }
  bool takes_all(uint32_t leaf, size_t bytes) const {
    const Node& n = *f_.values[leaf];
    return n.contiguous && n.offset == 0 && n.buffer->bytes() == bytes;
  }
  void donated(size_t bytes, bool initial) {
    metric::add(Counter::bytes_donated, bytes);
    in_place_ = initial;
  }

  void initialise(const Step& s) {
    const uint32_t slot = s.made[0];
    if (std::exchange(in_place_, false)) return;
    const Binding& from = s.initial_from;
    const char* data = from.slot >= 0 ? static_cast<char*>(buffers_[static_cast<size_t>(from.slot)]->data())
                                      : f_.values[from.node]->data();
    std::memcpy(buffers_[slot]->data(), data, bytes_of(p_.slots[slot], f_));
  }

  char* base_of(const Binding& b, const Step& s) {
    if (b.slot < 0) return static_cast<char*>(f_.values[b.node]->buffer->data());
    const auto slot = static_cast<size_t>(b.slot);
    if (buffers_[slot]) return static_cast<char*>(buffers_[slot]->data());
    for (uint32_t made : s.made)  // it was taken over by an output of this very step
      if (p_.slots[made].donor_slot == b.slot) return static_cast<char*>(buffers_[made]->data());
    return nullptr;
  }

  bool launch(const Step& s) {
    const loop::ArgLayout& at = s.args;
    const auto words = static_cast<size_t>(at.words());
    std::array<uint64_t, 256> few;
    std::vector<uint64_t> many;
    uint64_t* w = few.data();
    if (words > few.size()) {
      many.resize(words);
      w = many.data();
    }
    std::fill_n(w, 4, 0);
    for (int a = 0; a < at.rank; ++a) {
      w[at.extent(a)] = 1;
      w[at.origin(a)] = 0;
    }
    bool empty = false;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      const auto n = static_cast<uint64_t>(extent_of(s.dims[d], f_));
      w[at.extent(s.axis_of[d])] *= n;
      empty |= n == 0 && s.axis_of[d] != s.sequential;
    }
    if (empty) return false;
    for (size_t i = 0; i < s.operands.size(); ++i) bind(s, static_cast<int>(i), w);
    for (size_t i = 0; i < s.scalars.size(); ++i) w[at.scalar(static_cast<int>(i))] = scalar(s.scalars[i]);
    s.kernel->launch(w);
    return true;
  }

  void bind(const Step& s, int i, uint64_t* w) {
    const loop::ArgLayout& at = s.args;
    const Binding& b = s.operands[static_cast<size_t>(i)];
    const auto size = static_cast<int64_t>(size_of(b.dtype));
    char* base = base_of(b, s);
    if (b.known_strides) {
      for (int a = 0; a < at.rank; ++a) w[at.stride(i, a)] = 0;
      if (b.moves) w[at.stride(i, at.rank - 1)] = static_cast<uint64_t>(size);
      if (b.slot < 0) base += f_.values[b.node]->offset * size;
    } else {
      OperandLayout l;
      operand_layout(p_, s, b, f_, l);
      for (size_t d = 0; d < s.dims.size();
           ++d)  // of a merged axis the innermost dimension has the stride, and comes last
        w[at.stride(i, s.axis_of[d])] = static_cast<uint64_t>(l.stride[d] * size);
      base += l.offset * size;
    }
    w[at.pointer(i)] = reinterpret_cast<uint64_t>(base);
  }
  uint64_t scalar(const ScalarArgument& a) const {
    if (a.node == kNone) return a.value;
    const Scalar& v = f_.values[a.node]->scalar;
    if (a.from == DType::float16) return Scalar::of(static_cast<float>(v.as<float16_t>())).bits;
    if (a.from == DType::bfloat16) return Scalar::of(static_cast<float>(v.as<bfloat16_t>())).bits;
    return v.bits;
  }

  const Program& p_;
  Frame& f_;
  Backend& backend_;
  std::vector<BufferRef> buffers_;
  const bool donate_;  // the verifier reads the inputs again
  bool in_place_ = false;
  bool reserved_ = false;
};

}  // namespace

void run(const Program& p, Frame& f, Backend& backend) {
  Run r(p, f, backend);
  r.steps();
  r.publish();
}

}  // namespace lazy::jit
