// Decides which inputs of a run give their memory to what it computes.
#include <algorithm>
#include <utility>

#include "jit/run/execution.hpp"

namespace lazy::jit {
namespace {
// Bytes below which new memory costs no more than finding out whether an input's can be overwritten, by
// looking ahead at indices or for other inputs that share it.
constexpr size_t kWorthLooking = 64 << 10;
// Bytes below which new memory is made faster than an input is found to take it from.
constexpr size_t kWorthTaking = 1 << 10;
}  // namespace

bool Run::takes_input(uint32_t slot) {
  if (!donate_ || p_.slots[slot].donor_input == kNone) return false;
  if (!std::exchange(donors_sought_, true) && any_donor()) find_donors();
  return !f_.donors.empty() && f_.donors[slot] != kNone;
}

bool Run::any_donor() const {
  const auto gives = [&](uint32_t input) {
    return f_.values[input]->buffer->bytes() >= kWorthTaking && f_.is_sole_owner(input);
  };
  for (const Slot& s : p_.slots)
    if (s.donor_input != kNone &&
        (gives(s.donor_input) || std::any_of(s.other_inputs.begin(), s.other_inputs.end(), gives)))
      return true;
  return false;
}

void Run::find_donors() {
  f_.donors.assign(p_.slots.size(), kNone);
  f_.gives.assign(f_.values.size(), 0);
  const int64_t ahead = last_ahead();
  for (size_t step = 0; step < p_.steps.size(); ++step)
    for (const uint32_t slot : p_.steps[step].made) {
      const Slot& what = p_.slots[slot];
      if (what.donor_input == kNone) continue;
      const size_t bytes = bytes_of(slot);
      if (bytes < kWorthTaking || (static_cast<int64_t>(step) <= ahead && bytes < kWorthLooking)) continue;
      const auto is_free = [&](uint32_t input) {
        return !f_.gives[input] && f_.is_sole_owner(input) && takes_all(input, bytes) &&
               dies_whole(input, step, bytes);
      };
      uint32_t donor = is_free(what.donor_input) ? what.donor_input : kNone;
      for (size_t i = 0; donor == kNone && i < what.other_inputs.size(); ++i)
        if (is_free(what.other_inputs[i])) donor = what.other_inputs[i];
      if (donor == kNone) continue;
      f_.donors[slot] = donor;
      f_.gives[donor] = 1;
    }
}

bool Run::takes_all(uint32_t input, size_t bytes) const {
  const Node& n = *f_.values[input];
  return n.contiguous && n.offset == 0 && n.buffer->bytes() == bytes;
}

/// Lists the inputs that share memory with others, as a weight and its transpose do, and the last step that
/// reads each input.
struct Run::SharedInputs {
  SharedInputs(const Program& p, const CapturedGraph& f) : last_read(f.values.size(), 0) {
    for (uint32_t v = 0; v < f.values.size(); ++v)
      if (!f.pending[v] && f.values[v]->buffer && f.values[v]->buffer->use_count() > 1)
        inputs.emplace_back(f.values[v]->buffer.get(), v);
    std::sort(inputs.begin(), inputs.end());
    for (uint32_t i = 0; i < p.steps.size(); ++i) {
      const Step& s = p.steps[i];
      const uint32_t at = s.folded_into == kNone ? i : s.folded_into;
      const auto reads = [&](const Binding& b) {
        if (b.slot < 0) last_read[b.node] = std::max(last_read[b.node], at);
      };
      for (const Binding& b : s.operands) reads(b);
      if (s.initial == Initial::copy) reads(s.initial_from);
    }
    for (const Result& r : p.results)
      if (r.input != kNone) last_read[r.input] = kNone;
  }
  auto with(const Buffer* b) const {
    return std::equal_range(inputs.begin(), inputs.end(), std::pair{b, 0u},
                            [](const auto& x, const auto& y) { return x.first < y.first; });
  }
  std::vector<std::pair<const Buffer*, uint32_t>> inputs;  // by address
  std::vector<uint32_t> last_read;                         // by value; kNone: a result is a view of it
};

const Run::SharedInputs& Run::shared_inputs() {
  if (!shared_) shared_ = std::make_shared<SharedInputs>(p_, f_);
  return *shared_;
}

bool Run::dies_whole(uint32_t input, size_t step, size_t bytes) {
  const BufferRef& buffer = f_.values[input]->buffer;
  if (buffer->use_count() == 1) return true;
  if (bytes < kWorthLooking) return false;
  const SharedInputs& shared = shared_inputs();
  const auto [first, last] = shared.with(buffer.get());
  if (last - first != static_cast<ptrdiff_t>(buffer->use_count())) return false;
  return std::all_of(first, last, [&](const auto& other) {
    const uint32_t v = other.second;
    return v == input || (f_.is_sole_owner(v) && shared.last_read[v] < first_of_tile_group(step));
  });
}

size_t Run::first_of_tile_group(size_t step) const {
  for (const TileGroup& t : p_.tile_groups)
    if (step >= t.first && step < t.first + t.count) return t.first;
  return step;
}

int64_t Run::last_ahead() const {
  int64_t last = -1;
  for (size_t i = p_.steps.size(); i-- > 0 && p_.steps[i].ahead_of != kNone;)
    last = std::max<int64_t>(last, p_.steps[i].ahead_of);
  return last;
}

bool Run::may_overwrite(size_t step) {
  if (std::exchange(looked_ahead_, true)) return true;
  look_for_faults();
  if (look_ahead(step)) return true;
  f_.donors.clear();  // the step with the index will throw
  return false;
}

/// Runs the checks of the steps from `step` on. False if an index is out of range.
bool Run::look_ahead(size_t step) {
  for (size_t i = p_.steps.size(); i-- > 0 && p_.steps[i].ahead_of != kNone;)
    if (p_.steps[i].ahead_of >= step) launch(i);
  if (!std::exchange(unseen_faults_, false)) return true;
  if (capture_) capture_->finish();
  capture_.reset();
  if (arguments_.faults.none(p_.faults.size(), backend_)) return true;
  arguments_.faults.clear(p_.faults.size(), backend_);
  return false;
}

/// Notes the inputs whose values go when the memory of this one is overwritten.
void Run::note_overwritten(uint32_t input) {
  const BufferRef& buffer = f_.values[input]->buffer;
  if (buffer->use_count() == 1) return f_.overwritten.push_back(f_.values[input]);
  const auto [first, last] = shared_inputs().with(buffer.get());
  for (auto other = first; other != last; ++other) f_.overwritten.push_back(f_.values[other->second]);
}

}  // namespace lazy::jit
