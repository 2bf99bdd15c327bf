#include "jit/run/execution.hpp"

#include "jit/observe/profile.hpp"
#include "jit/plan/bind.hpp"
#include "jit/plan/names.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"

namespace lazy::jit {

void Run::call(size_t i) {
  const Step& s = p_.steps[i];
  const CallStep& c = s.call;
  const std::vector<Meta> operands = operand_metas(c, f_), outputs = output_metas(s, operands, f_);
  const auto work = static_cast<uint32_t>(c.workspace);
  const size_t work_bytes = workspace(work, [&] { return c.kernel->workspace(operands, outputs); });
  for (uint32_t slot : s.made) make(slot, i);
  std::vector<const char*> in;
  for (size_t k = 0; k < operands.size(); ++k) in.push_back(address_of(s.operands[k]));
  std::vector<char*> out(outputs.size(), nullptr);
  for (size_t k = 0; k < std::min(out.size(), c.outputs.size()); ++k)
    if (c.outputs[k] >= 0) out[k] = address_of(s.operands[static_cast<size_t>(c.outputs[k])]);
  const bool once = c.spec->definition().runs_once();
  if (once) look_for_faults();  // it must not see what an index out of range gave, nor run before it is told
  if (once) f_.stands.reserve(p_.results.size());  // once it has run nothing may fail
  const nvtx::Range range([&] { return step_name(s, &f_); });
  const profile::Ticks start = profile::start_time();
  c.kernel->run({*c.spec, backend_, operands, outputs, in.data(), out.data(), address_[work], work_bytes,
                 site_of(s, f_), function_of(s, f_)});
  if (once) note_it_stands(s);
  if (start) {
    if (!backend_.host()) backend_.synchronize();
    event::call(start, profile::now(), p_, s, f_);
  }
  metric::add(MetricCounter::calls);
  for (uint32_t slot : s.dead) release(slot);
}

void Run::note_it_stands(const Step& s) {
  for (const Binding& b : s.operands)
    if (b.output && f_.is_output(b.node)) f_.stands.push_back(f_.values[b.node]);
}

void Run::sort_stands() noexcept {
  std::sort(f_.stands.begin(), f_.stands.end(), [](Node* a, Node* b) { return a->index < b->index; });
}

}  // namespace lazy::jit
