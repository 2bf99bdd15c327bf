#include "jit/plan/names.hpp"

#include <atomic>

#include "support/text.hpp"

namespace lazy::jit {

uint64_t Program::next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

namespace {

/// Returns the node whose line the step goes by.
const Node* naming(const Step& s, const CapturedGraph* f) {
  return f && s.named_by < f->values.size() ? f->values[s.named_by] : nullptr;
}

}  // namespace

std::string step_name(const Step& s, const CapturedGraph* f) {
  const Node* const n = naming(s, f);
  return n ? s.label + "_" + std::string(file_name(n->site)) + "_" + std::to_string(n->site.line()) : s.label;
}

std::string step_line(const Step& s, const CapturedGraph* f) {
  const Node* const n = naming(s, f);
  return n ? std::string(n->site.file_name()) + ":" + std::to_string(n->site.line()) : std::string();
}

const char* step_purpose(const Step& s, const CapturedGraph* f) {
  const Node* const n = naming(s, f);
  return n ? n->purpose : nullptr;
}

const char* function_of(const Step& s, const CapturedGraph& f) {
  const char* const purpose = step_purpose(s, &f);
  return purpose ? purpose : s.call.spec->name();
}

std::string step_text(const Program& p, size_t step, const CapturedGraph* f) {
  const Step& s = p.steps[step];
  std::string line = step_name(s, f) + ": ";
  if (s.call.spec) line += "call " + describe(*s.call.spec) + ", ";
  else line += text::counted(s.ops, "op") + ", ";
  line += text::counted(s.operands.size(), "operand");
  for (size_t b = 0; b < p.tile_groups.size(); ++b)
    if (step - p.tile_groups[b].first < p.tile_groups[b].count) line += ", tile group " + std::to_string(b);
  if (const char* const purpose = step_purpose(s, f)) line += std::string(" (") + purpose + ")";
  return line;
}

const Site& site_of(const Step& s, const CapturedGraph& f) {
  static const Site none;
  const Node* const n = naming(s, &f);
  return n ? n->site : none;
}

void name_steps(Program& p, const CapturedGraph* f) {
  for (size_t i = 0; i < p.steps.size(); ++i) {
    p.steps[i].text = step_text(p, i, f);
    p.steps[i].at = step_line(p.steps[i], f);
  }
}

}  // namespace lazy::jit
