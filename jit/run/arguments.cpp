#include "jit/run/arguments.hpp"

#include <algorithm>

#include "jit/plan/bind.hpp"
#include "support/fp16.hpp"

namespace lazy::jit {
namespace {
using loop::ArgLayout;

/// Calls f(number) for each number of a value that words may depend on, until it returns false.
template <class F>
bool each_number(const Node& n, bool input, F&& f) {
  for (int64_t d : n.shape)
    if (!f(d)) return false;
  if (input) {
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

/// True if the shape follows from the operands' shapes.
bool is_derived(const Node& n) {
  switch (kind_of(n.op)) {
    case OpKind::pointwise:
    case OpKind::indexed:
    case OpKind::reduce:
    case OpKind::scan:
    case OpKind::contract: return true;
    case OpKind::view: return n.op == Op::permute;
    default: return false;
  }
}

bool is_constant(const ScalarArgument& a) {
  return a.source == ScalarArgument::Source::constant && a.node != kNone;
}

uint64_t argument_of(const Scalar& v, DType from) {
  if (from == DType::float16) return Scalar::of(static_cast<float>(v.as<float16_t>())).bits;
  if (from == DType::bfloat16) return Scalar::of(static_cast<float>(v.as<bfloat16_t>())).bits;
  return v.bits;
}

}  // namespace

Arguments::Arguments(const Program& p) : p_(p), steps_(p.steps.size() + 1) {
  uint32_t words = 0;
  const auto begins = [&](Bound& b) {
    b.words = words;
    b.addresses = static_cast<uint32_t>(addresses_.size());
    b.scalars = static_cast<uint32_t>(scalars_.size());
  };
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    begins(steps_[i]);
    for (int o = 0; o < s.args.operands; ++o) {
      const Binding& b = s.operands[static_cast<size_t>(o)];
      addresses_.push_back({words + static_cast<uint32_t>(s.args.pointer(o)), b.slot, b.node, 0});
    }
    for (size_t k = 0; k < s.scalars.size(); ++k)
      if (const ScalarArgument& a = s.scalars[k]; is_constant(a))
        scalars_.push_back(
            {words + static_cast<uint32_t>(s.args.scalar(static_cast<int>(k))), a.node, a.from});
    words += static_cast<uint32_t>(s.args.words());
  }
  begins(steps_.back());
  words_.resize(words);
}

void Arguments::add_lines(Lines& lines) const {
  lines.add(this, sizeof *this);
  lines.add_entries(steps_);
  lines.add_entries(words_);
  lines.add_entries(addresses_);
  lines.add_entries(scalars_);
  lines.add_entries(watched_);
  lines.add_entries(numbers_);
}

void Arguments::begin(const CapturedGraph& f, uint64_t context, bool same) {
  f_ = &f;
  if (context == context_ && (same || as_before(f))) {
    misses_ = 0;
    arena.lay_out(p_);
    return;
  }
  context_ = context;
  // If extents differ each time it is not worth noting them.
  constexpr uint32_t kMisses = 4, kTriesOneIn = 16;
  if (++misses_ <= kMisses || misses_ % kTriesOneIn == 0) note(f);
  else numbers_.clear();
  for (Bound& b : steps_) b.bound = false;
  launch_graph.reset();
  arena.forget();
}

bool Arguments::as_before(const CapturedGraph& f) const {
  if (numbers_.empty()) return false;
  const int64_t* was = numbers_.data();
  for (const Watched& w : watched_)
    if (!each_number(*f.values[w.value], w.input, [&](int64_t n) { return n == *was++; })) return false;
  return true;
}

void Arguments::note(const CapturedGraph& f) {
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
    each_number(*f.values[w.value], w.input, [&](int64_t n) {
      numbers_.push_back(n);
      return true;
    });
}

bool Arguments::lay_out(size_t i) {
  Bound& b = steps_[i];
  if (!b.bound) bind_anew(p_.steps[i], b);
  return !b.empty;
}

bool Arguments::bind(size_t i, char* const* address) {
  if (!lay_out(i)) return false;
  Bound& b = steps_[i];
  uint64_t* const w = words_.data();
  Node* const* const values = f_->values.data();
  uint64_t bits = b.changed.address_bits;
  for (const Address *a = &addresses_[0] + b.addresses, *end = &addresses_[0] + (&b)[1].addresses; a != end;
       ++a) {
    const uint64_t is =
        reinterpret_cast<uint64_t>(a->slot < 0 ? values[a->input]->data() : address[a->slot]) +
        static_cast<uint64_t>(a->bytes);
    bits |= w[a->word] ^ is;
    w[a->word] = is;
  }
  b.changed.address_bits = bits;
  for (uint32_t k = b.scalars; k < (&b)[1].scalars; ++k) {
    const ScalarWord& a = scalars_[k];
    const uint64_t is = argument_of(values[a.constant]->scalar, a.from);
    b.changed.scalars |= w[a.word] != is;
    w[a.word] = is;
  }
  return true;
}

/// Binds all words except addresses and nodes' scalars.
void Arguments::bind_anew(const Step& s, Bound& b) {
  const ArgLayout& at = s.args;
  uint64_t* const w = words_.data() + b.words;
  b.bound = true;
  b.empty = false;
  b.changed = {~uint64_t{0}, true};
  w[ArgLayout::kContext] = context_;
  std::fill_n(w + 1, 3, 0);
  for (int a = 0; a < at.rank; ++a) {
    w[at.extent(a)] = 1;
    w[at.origin(a)] = 0;
  }
  for (size_t d = 0; d < s.dims.size(); ++d) {
    const auto n = static_cast<uint64_t>(extent_of(s.dims[d], *f_));
    w[at.extent(s.axis_of[d])] *= n;
    b.empty |= n == 0 && s.axis_of[d] != s.sequential;
  }
  if (b.empty) return;
  for (int o = 0; o < at.operands; ++o) {
    const Binding& operand = s.operands[static_cast<size_t>(o)];
    int64_t& from = addresses_[b.addresses + static_cast<uint32_t>(o)].bytes;
    from = 0;
    if (operand.known_strides) {
      for (int a = 0; a < at.rank; ++a) w[at.stride(o, a)] = 0;
      if (operand.moves) w[at.stride(o, at.rank - 1)] = size_of(operand.dtype);
    } else {
      from = bind_operand(s, o, w);
    }
  }
  for (size_t i = 0; i < s.scalars.size(); ++i)
    if (!is_constant(s.scalars[i])) w[at.scalar(static_cast<int>(i))] = derived(s, s.scalars[i]);
}

uint64_t Arguments::derived(const Step& s, const ScalarArgument& a) const {
  switch (a.source) {
    case ScalarArgument::Source::constant: break;
    case ScalarArgument::Source::extent:
      return static_cast<uint64_t>(f_->values[a.node]->shape[a.dim]) + a.value;
    case ScalarArgument::Source::stride:
      return static_cast<uint64_t>(indexed_stride(p_, s.operands[a.dim], *f_));
    case ScalarArgument::Source::fault: return faults.address(a.value);
  }
  return a.value;
}

int64_t Arguments::bind_operand(const Step& s, int o, uint64_t* w) const {
  const ArgLayout& at = s.args;
  const Binding& b = s.operands[static_cast<size_t>(o)];
  const auto size = static_cast<int64_t>(size_of(b.dtype));
  OperandLayout l;
  operand_layout(p_, s, b, *f_, l);
  for (size_t d = 0; d < s.dims.size(); ++d)  // the innermost dimension of a merged axis comes last
    w[at.stride(o, s.axis_of[d])] = static_cast<uint64_t>(l.stride[d] * size);
  return (b.slot < 0 ? l.offset - f_->values[b.node]->offset : l.offset) * size;
}

SpareArguments::~SpareArguments() { delete spare_.load(std::memory_order_acquire); }

std::unique_ptr<Arguments> SpareArguments::take(const Program& p) const {
  std::unique_ptr<Arguments> a(spare_.exchange(nullptr, std::memory_order_acquire));
  return a ? std::move(a) : std::make_unique<Arguments>(p);
}

bool SpareArguments::as_before(const CapturedGraph& f) const {
  std::unique_ptr<Arguments> a(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!a) return false;
  const bool good = a->as_before(f);
  put(std::move(a));
  return good;
}

void SpareArguments::put(std::unique_ptr<Arguments> a) const noexcept {
  delete spare_.exchange(a.release(), std::memory_order_acq_rel);
}

}  // namespace lazy::jit
