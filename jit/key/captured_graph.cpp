#include "jit/key/captured_graph.hpp"

#include <utility>

#include "jit/calls/call.hpp"
#include "jit/graph/observed.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/per_thread.hpp"

namespace lazy::jit {
namespace {

size_t slot_of(const Node* n, size_t mask) {
  return (reinterpret_cast<uintptr_t>(n) * 0x9E3779B97F4A7C15ull >> 32) & mask;
}

}  // namespace

void CapturedGraph::encode(Node* n, bool output, const uint32_t* operands) {
  // An input is a value, whatever op made it. A source is always its own recipe, even if it was also
  // evaluated.
  const bool recipe = operands || kind_of(n->op) == OpKind::constant || kind_of(n->op) == OpKind::iota;
  const Op op = recipe ? n->op : Op::input;
  const uint32_t arity = operands ? static_cast<uint32_t>(n->arity) : 0;
  KeyWriter to(key);
  if (op == Op::input) {
    const uint16_t marks = n->marks.load(std::memory_order_relaxed);
    char* const at = to.value(op, n->dtype, n->shape, output, nullptr, 0, marks ? sizeof marks : 0);
    if (marks) std::memcpy(at, &marks, sizeof marks);
  } else if (op == Op::call) {
    const std::string& identity = n->call->identity();
    char* const at = to.value(op, n->dtype, n->shape, output, operands, arity, identity.size());
    std::memcpy(at, identity.data(), identity.size());
  } else {
    const auto axes = static_cast<size_t>(n->axes.size());
    char* const at = to.value(op, n->dtype, n->shape, output, operands, arity, axes, n->accuracy);
    for (size_t i = 0; i < axes; ++i) at[i] = static_cast<char>(n->axes[static_cast<int>(i)]);
  }
  values.push_back(n);
  uses.push_back(0);
  key_flags_.push_back(output);
}

uint32_t CapturedGraph::number_of(Node* input) {
  if (inputs_ * 2 >= table_.size()) grow();
  const size_t mask = table_.size() - 1;
  for (size_t i = slot_of(input, mask);; i = (i + 1) & mask) {
    Slot& s = table_[i];
    if (s.round == round_ && s.node == input) return s.number;
    if (s.round != round_) {
      if (input->lost)
        throw Error("an input was overwritten by an earlier run of this computation, which failed",
                    input->site);
      watch::note_use(*input);
      s = {input, static_cast<uint32_t>(values.size()), round_};
      ++inputs_;
      encode(input, false, nullptr);
      pending.push_back(0);
      return s.number;
    }
  }
}

void CapturedGraph::grow() {
  std::vector<Slot> old(std::max<size_t>(64, table_.size() * 2), Slot{nullptr, 0, 0});
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Slot& s : old) {
    if (s.round != round_) continue;
    size_t i = slot_of(s.node, mask);
    while (table_[i].round == round_) i = (i + 1) & mask;
    table_[i] = s;
  }
}

namespace {

// True for what must not run twice: its values are stored, for the flush may fail later.
bool keeps_itself(const Node& n) {
  if (n.op < Op::call) [[likely]]
    return false;
  static_assert(Op::part > Op::call && static_cast<int>(Op::part) + 1 == kOpCount);
  return is_run_once(n.op == Op::call ? n : *n.operand[0]);
}

}  // namespace

void CapturedGraph::build(std::span<Node* const> nodes, uint32_t code_class) {
  values.clear();
  uses.clear();
  pending.clear();
  key.clear();
  key_flags_.clear();
  repended.clear();
  word_of_.clear();
  inputs_ = 0;
  outputs = 0;
  uintptr_t marks = 0;
  const auto& settings = config::get();
  verify = settings.verify;
  key.push_back(
      KeySettings{settings.exact_casts, settings.dynamic.get(), settings.fp_contract, code_class}.word());
  if (++round_ == 0) {  // wrapped: forget the stamps of 2^32 flushes ago
    table_.assign(table_.size(), Slot{nullptr, 0, 0});
    round_ = 1;
  }
  for (Node* n : nodes) {
    uint32_t few[Operands::kInline], *operands = few;
    if (n->arity > Operands::kInline) [[unlikely]]
      operands_.resize(static_cast<size_t>(n->arity)), operands = operands_.data();
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      operands[i] = n->operand.is_input(i) ? number_of(o) : o->index;
      ++uses[operands[i]];
    }
    n->index = static_cast<uint32_t>(values.size());
    const bool output = n->handles() != 0 || keeps_itself(*n);
    outputs += output;
    marks |= watch::word(*n);
    encode(n, output, operands);
    pending.push_back(1);
  }
  if (marks & watch::kRepended) drop_again();
}

// Finds the re-pended nodes that are not needed and drops them again. One is needed if a read requires it, or
// an op that was recorded since uses it.
void CapturedGraph::drop_again() {
  const auto was_repended = [](const Node& n) { return (watch::word(n) & watch::kRepended) != 0; };
  for (uint32_t v = 0; v < values.size(); ++v) {
    const Node& n = *values[v];
    if (!pending[v] || was_repended(n)) continue;
    for (int i = 0; i < n.arity; ++i)
      if (!n.operand.is_input(i) && was_repended(*n.operand[i])) watch::need(*n.operand[i]);
  }
  std::vector<uint32_t> dropped;
  for (uint32_t v = 0; v < values.size(); ++v)
    if (pending[v] && key_flags_[v] && was_repended(*values[v]) &&
        !(watch::word(*values[v]) & watch::kNeeded))
      dropped.push_back(v);
  if (!dropped.empty()) drop(dropped);
}

void CapturedGraph::restore(std::vector<uint32_t> of, std::vector<Node*> nodes) {
  key = std::move(of);
  values = std::move(nodes);
  uses.assign(values.size(), 0);
  find_words();
  for (uint32_t v = 0; v < values.size(); ++v) {
    const KeyValue x = key_value(v);
    key_flags_.push_back(x.output);
    // An input or source that is no output is only read; a call may have no operands.
    pending.push_back(x.output || !x.operands.empty() || x.op == Op::call);
    outputs += x.output;
    for (const uint32_t o : x.operands) ++uses[o];
  }
}

void CapturedGraph::find_words() {
  if (!word_of_.empty()) return;
  word_of_.reserve(values.size());
  for (size_t at = 1; at < key.size(); at += words_of_value(key[at + 1]))
    word_of_.push_back(static_cast<uint32_t>(at));
}

void CapturedGraph::drop(std::span<const uint32_t> dropped) {
  find_words();
  for (uint32_t v : dropped) {
    KeyWriter::drop_output(key, word_of_[v]);
    key_flags_[v] = 0;
    --outputs;
  }
  const bool again = !repended.empty();
  if (!again) stays_.assign(values.size(), 0);
  for (uint32_t v : dropped) stays_[v] |= 1;
  for (auto v = static_cast<uint32_t>(values.size()); v-- > 0;) {
    if (stays_[v] != 1) continue;
    stays_[v] = 3;  // counted
    for (const uint32_t o : key_value(v).operands) {
      --uses[o];  // this reference outlives the flush
      if (pending[o] && !key_flags_[o]) stays_[o] |= 1;
    }
  }
  repended.clear();
  for (uint32_t v = 0; v < values.size(); ++v)
    if (stays_[v]) repended.push_back(values[v]);
}

namespace {

struct SpareCapturedGraphs {
  CapturedGraph* first = nullptr;
  ~SpareCapturedGraphs() { release(); }
  void release() noexcept {
    while (first) delete std::exchange(first, first->next_spare);
  }
};

}  // namespace

CapturedGraphLease::CapturedGraphLease() {
  SpareCapturedGraphs& spare = PerThread<SpareCapturedGraphs>::get();
  captured_ = spare.first ? std::exchange(spare.first, spare.first->next_spare) : new CapturedGraph;
}
void CapturedGraphLease::release_spare() noexcept {
  if (SpareCapturedGraphs* const spare = PerThread<SpareCapturedGraphs>::if_there()) spare->release();
}
CapturedGraphLease::~CapturedGraphLease() {
  SpareCapturedGraphs* const spare = PerThread<SpareCapturedGraphs>::if_there();
  if (!spare) {
    delete captured_;
    return;
  }
  captured_->next_spare = std::exchange(spare->first, captured_);
}

}  // namespace lazy::jit
