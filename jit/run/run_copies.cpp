#include "jit/run/execution.hpp"

#include "jit/backend/kept_layouts.hpp"
#include "support/config.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {

Run::FoldedOperands Run::read_through(size_t i) {
  const Step& s = p_.steps[i];
  FoldedOperands folds;
  for (const Step::Folds& f : s.folds) {
    if (std::erase(unmade_, f.step) == 0) continue;
    if (auto operand = folded(i, f)) folds.push_back(std::move(operand));
    else make_copy(f.step);
  }
  return folds;
}

std::unique_ptr<FoldedOperand> Run::folded(size_t i, const Step::Folds& f) {
  if (!bind(i) || !bind(f.step)) return {};
  return p_.steps[i].kernel->fold(arguments_.words(i),
                                  {f.operand, p_.steps[f.step].kernel.get(), arguments_.words(f.step)});
}

void Run::make_copy(uint32_t step) {
  for (uint32_t slot : p_.steps[step].made)
    if (!buffers_[slot]) make(slot, step);
  launch(step);
}

bool Run::lay_out_anew(size_t i) {
  const Step& s = p_.steps[i];
  const size_t in = s.operands[0].output, slot = s.made[0];
  Buffer& from = *f_.values[s.operands[in].node]->buffer.get();
  const size_t bytes = bytes_of(slot);
  // A copy larger than the input, as the windows of an image are, is not worth its memory.
  if (!donate_ || !backend_.host() || from.borrowed() || bytes < KeptLayouts::kLeastBytes ||
      bytes > from.bytes() || config::get().keep_layouts == 0 || !bind(i))
    return false;
  std::vector<uint64_t> words(arguments_.words(i), arguments_.words(i) + s.args.words());
  words[static_cast<size_t>(s.args.pointer(static_cast<int>(in)))] -= reinterpret_cast<uint64_t>(from.data());
  words[static_cast<size_t>(s.args.pointer(static_cast<int>(!in)))] = 0;
  bool again = false;
  BufferRef copy = from.layouts().find(s.kernel, words, again);
  if (!again) return false;
  const bool found = static_cast<bool>(copy);
  if (!found && !memory_to_keep(copy, bytes)) return false;
  buffers_[slot] = std::move(copy);
  address_[slot] = static_cast<char*>(buffers_[slot]->data());
  if (found) metric::add(MetricCounter::layouts_reused);
  else launch(i), from.layouts().keep(s.kernel, words, buffers_[slot]);
  for (uint32_t dead : s.dead) release(dead);
  return true;
}

bool Run::memory_to_keep(BufferRef& copy, size_t bytes) {
  try {
    copy = BufferRef::allocate(backend_, bytes);
    return true;
  } catch (...) { return false; }
}

}  // namespace lazy::jit
