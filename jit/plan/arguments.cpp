#include "jit/plan/arguments.hpp"

#include <algorithm>

#include "jit/plan/bind.hpp"
#include "support/fp16.hpp"

namespace lazy::jit {
namespace {
using loop::ArgLayout;

/// f(number) for what a value has that words may depend on, until that says false.
template <class F>
bool each_number(const Node& n, bool leaf, F&& f) {
  for (int64_t d : n.shape)
    if (!f(d)) return false;
  if (leaf) {
    if (!f(n.contiguous)) return false;
    if (!n.contiguous)
      for (int i = 0; i < n.shape.size(); ++i)
        if (!f(n.strides[i])) return false;
    return true;
  }
  if (!f(n.ints.size()) || !f(n.steps.size())) return false;
  for (int64_t i : n.ints)
    if (!f(i)) return false;
  for (int64_t i : n.steps)
    if (!f(i)) return false;
  return true;
}

/// The shape follows from those of the operands.
bool is_derived(const Node& n) {
  switch (kind_of(n.op)) {
    case OpKind::pointwise:
    case OpKind::reduce:
    case OpKind::scan:
    case OpKind::contract: return true;
    case OpKind::view: return n.op == Op::permute;
    default: return false;
  }
}

uint64_t value_of(const ScalarArgument& a, const Frame& f) {
  const Scalar& v = f.values[a.node]->scalar;
  if (a.from == DType::float16) return Scalar::of(static_cast<float>(v.as<float16_t>())).bits;
  if (a.from == DType::bfloat16) return Scalar::of(static_cast<float>(v.as<bfloat16_t>())).bits;
  return v.bits;
}

/// Binding one step without any layout to work out takes no longer than finding out that nothing changed.
bool is_worth_keeping(const Program& p) {
  if (p.steps.size() != 1) return true;
  const auto& operands = p.steps[0].operands;
  return std::any_of(operands.begin(), operands.end(), [](const Binding& b) { return !b.known_strides; });
}

}  // namespace

Arguments::Arguments(const Program& p) : p_(p), keeps_(is_worth_keeping(p)), steps_(p.steps.size()) {
  size_t words = 0, addresses = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].words = words;
    steps_[i].addresses = addresses;
    words += static_cast<size_t>(p.steps[i].args.words());
    addresses += p.steps[i].operands.size();
  }
  words_.resize(words);
  addresses_.resize(addresses);
}

void Arguments::begin(const Frame& f, uint64_t context) {
  f_ = &f;
  if (keeps_ && context == context_ && as_before(f)) return;
  context_ = context;
  if (keeps_) note(f);
  for (Bound& b : steps_) b.bound = false;
  held.reset();
}

bool Arguments::as_before(const Frame& f) {
  if (numbers_.empty()) return false;  // never run, or there is nothing to tell by
  const int64_t* was = numbers_.data();
  for (const Watched& w : watched_)
    if (!each_number(*f.values[w.value], w.leaf, [&](int64_t n) { return n == *was++; })) return false;
  return true;
}

void Arguments::note(const Frame& f) {
  if (watched_.empty()) {
    for (uint32_t v = 0; v < f.values.size(); ++v) {
      const Node& n = *f.values[v];
      const OpKind kind = kind_of(n.op);
      const bool source = kind == OpKind::constant || kind == OpKind::iota;
      if (f.pending[v] ? !is_derived(n) : !(source && n.shape.empty()))
        watched_.push_back({v, !f.pending[v] && !source});
    }
  }
  numbers_.clear();
  for (const Watched& w : watched_)
    each_number(*f.values[w.value], w.leaf, [&](int64_t n) {
      numbers_.push_back(n);
      return true;
    });
}

bool Arguments::lay_out(size_t i) {
  Bound& b = steps_[i];
  if (!b.bound) {
    b.bound = true;
    b.changed = {~uint64_t{0}, true};
    b.empty = !bind_anew(p_.steps[i], b);
  }
  return !b.empty;
}

bool Arguments::bind(size_t i, char* const* address) {
  if (!lay_out(i)) return false;
  const Step& s = p_.steps[i];
  Bound& b = steps_[i];
  uint64_t* const w = words_.data() + b.words;
  const Address* a = addresses_.data() + b.addresses;
  for (int o = 0; o < s.args.operands; ++o) {
    uint64_t& word = w[s.args.pointer(o)];
    const uint64_t is = now(a[o], address);
    b.changed.address_bits |= word ^ is;
    word = is;
  }
  for (size_t k = 0; k < s.scalars.size(); ++k) {
    if (s.scalars[k].node == kNone) continue;
    uint64_t& word = w[s.args.scalar(static_cast<int>(k))];
    const uint64_t is = value_of(s.scalars[k], *f_);
    b.changed.scalars |= word != is;
    word = is;
  }
  return true;
}

/// All but addresses and the scalars that nodes have. False if there is nothing to do.
bool Arguments::bind_anew(const Step& s, Bound& b) {
  const ArgLayout& at = s.args;
  uint64_t* const w = words_.data() + b.words;
  w[ArgLayout::kContext] = context_;
  std::fill_n(w + 1, 3, 0);
  for (int a = 0; a < at.rank; ++a) {
    w[at.extent(a)] = 1;
    w[at.origin(a)] = 0;
  }
  bool empty = false;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    const auto n = static_cast<uint64_t>(extent_of(s.dims[d], *f_));
    w[at.extent(s.axis_of[d])] *= n;
    empty |= n == 0 && s.axis_of[d] != s.sequential;
  }
  if (empty) return false;
  for (int o = 0; o < at.operands; ++o)
    bind_operand(s, o, w, addresses_[b.addresses + static_cast<size_t>(o)]);
  for (size_t i = 0; i < s.scalars.size(); ++i)
    if (s.scalars[i].node == kNone) w[at.scalar(static_cast<int>(i))] = s.scalars[i].value;
  return true;
}

void Arguments::bind_operand(const Step& s, int o, uint64_t* w, Address& address) const {
  const ArgLayout& at = s.args;
  const Binding& b = s.operands[static_cast<size_t>(o)];
  const auto size = static_cast<int64_t>(size_of(b.dtype));
  address = {b.slot, b.node, 0};
  if (b.known_strides) {
    for (int a = 0; a < at.rank; ++a) w[at.stride(o, a)] = 0;
    if (b.moves) w[at.stride(o, at.rank - 1)] = static_cast<uint64_t>(size);
    return;
  }
  OperandLayout l;
  operand_layout(p_, s, b, *f_, l);
  for (size_t d = 0; d < s.dims.size(); ++d)  // a merged axis has its innermost dimension's, which comes last
    w[at.stride(o, s.axis_of[d])] = static_cast<uint64_t>(l.stride[d] * size);
  if (b.slot < 0) l.offset -= f_->values[b.node]->offset;
  address.bytes = l.offset * size;
}

SpareArguments::~SpareArguments() { delete spare_.load(std::memory_order_acquire); }

std::unique_ptr<Arguments> SpareArguments::take(const Program& p) const {
  std::unique_ptr<Arguments> a(spare_.exchange(nullptr, std::memory_order_acquire));
  return a ? std::move(a) : std::make_unique<Arguments>(p);
}

void SpareArguments::put(std::unique_ptr<Arguments> a) const noexcept {
  delete spare_.exchange(a.release(), std::memory_order_acq_rel);
}

}  // namespace lazy::jit
