#include "jit/key/report.hpp"

#include <algorithm>

#include "jit/built_in/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/key/captured_graph.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

thread_local FlushListener* listener = nullptr;

std::string microseconds(uint64_t ns) {
  const uint64_t tenths = (ns + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

}  // namespace

FlushListener::FlushListener() : outer_(listener) { listener = this; }
FlushListener::~FlushListener() { listener = outer_; }
FlushListener* FlushListener::current() { return listener; }

std::string describe(const FlushReport& r) {
  std::string s =
      (r.replay ? std::string("replay recorded at ") : std::string("flush by ") + name_of(r.cause) + " at ") +
      lazy::to_string(r.site) + ": " + text::counted(r.ops, "op") + " -> " +
      text::counted(r.kernels, "kernel") +
      (r.tile_groups ? " in " + text::counted(r.tile_groups, "tile group") : "") + ", " +
      text::counted(r.outputs, "value") + " kept, " +
      (r.load_ns ? "loaded from disk in " + microseconds(r.load_ns)
       : r.hit   ? "hit"
                 : "compiled (" + r.variant + ") in " + microseconds(r.compile_ns)) +
      (r.replay ? "" : ", " + microseconds(r.total_ns) + " in all") +
      (r.function ? std::string(", for ") + r.function : "");
  if (r.recorded.line()) s += ", for what another thread recorded at " + lazy::to_string(r.recorded);
  if (!r.miss.empty()) s += "\n  miss: " + r.miss;
  for (const std::string& w : r.rewritten) s += "\n  rewritten: " + w;
  for (const std::string& k : r.kernel_texts) s += "\n  " + k;
  return s;
}

namespace {

/// Describes a value of a key; `shape`: its extents, where they are known.
std::string described(const KeyValue& x, const Shape* shape = nullptr) {
  std::string s = std::string(name_of(x.op)) + suffix_of(x.accuracy) + " " + name_of(x.dtype) + " [";
  for (int d = 0; d < x.rank; ++d) {
    s += (d ? ", " : "") + std::string(x.ones >> d & 1 ? "1" : "n");
    if (shape && shape->size() == x.rank && !(x.ones >> d & 1)) s += "=" + std::to_string((*shape)[d]);
  }
  s += "]";
  if (x.op == Op::call) {
    s += " " + call_text(x.call_name(), x.call_attributes());
  } else if (x.op == Op::input) {
    for (int d = 0; d < 16; ++d)
      if (x.marks() >> d & 1) s += (d < 8 ? " static=" : " dynamic=") + std::to_string(d % 8);
  } else if (const Dims axes = x.axes(); !axes.empty() && x.op != Op::reshape) {
    s += x.op == Op::slice ? " whole=" : " axes=";
    for (int k = 0; k < axes.size(); ++k) s += (k ? "," : "") + std::to_string(axes[k]);
  }
  for (size_t k = 0; k < x.operands.size(); ++k) s += (k ? ", v" : " v") + std::to_string(x.operands[k]);
  if (x.op == Op::reshape && x.attributes.size() == 1) s += " (extents of 1 only)";
  if (x.op == Op::reshape && x.attributes.size() == 2)
    s += " (the first " + std::to_string(x.axes()[1]) + " kept)";
  if (x.output) s += " (kept)";
  return s;
}

}  // namespace

std::vector<std::string> describe_key(std::span<const uint32_t> key) {
  std::vector<std::string> lines;
  KeyReader r(key);
  for (KeyValue x; r.next(x);) lines.push_back("v" + std::to_string(lines.size()) + " = " + described(x));
  return lines;
}

namespace {

/// Returns how many leading values two keys have in common.
size_t leading_values(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  const auto words =
      static_cast<size_t>(std::mismatch(a.begin() + 1, a.end(), b.begin() + 1, b.end()).first - a.begin());
  size_t values = 0;
  KeyReader r(a);
  for (KeyValue x; r.position() + 1 < words && r.next(x) && r.position() <= words;) ++values;
  return values;
}

}  // namespace

void NearestKey::offer(const std::vector<uint32_t>& key) {
  const size_t common = leading_values(captured_.key, key);
  const size_t gap = key.size() > captured_.key.size() ? key.size() - captured_.key.size()
                                                       : captured_.key.size() - key.size();
  if (!nearest_.empty() && (common < common_ || (common == common_ && gap >= gap_))) return;
  nearest_ = key;
  common_ = common;
  gap_ = gap;
}

std::string NearestKey::difference() const {
  if (nearest_.empty()) return "first program of this process";
  const CapturedGraph& f = captured_;
  std::vector<std::string> ours;
  KeyReader r(f.key);
  for (KeyValue x; r.next(x);)
    ours.push_back("v" + std::to_string(ours.size()) + " = " + described(x, &f.values[ours.size()]->shape));
  const auto nearest = describe_key(nearest_);
  const auto line_of = [&](size_t v) {
    const Site& site = f.values[v]->site;
    return site.line() ? (f.pending[v] ? " at " : " made at ") + lazy::to_string(site) : std::string();
  };
  if (common_ == ours.size() && common_ == nearest.size())
    return "same graph under other settings or on another kind of device";
  const auto sizes = [&] {
    return ours.size() == nearest.size() ? std::string()
                                         : " (" + std::to_string(ours.size()) + " values, there " +
                                               std::to_string(nearest.size()) + ")";
  };
  if (common_ == 0) return "no program begins like this one (" + ours[0] + ")";
  if (common_ == ours.size())
    return "the nearest program goes on with " + nearest[common_] + "; this graph ends before" + sizes();
  if (common_ == nearest.size())
    return "the nearest program ends before " + ours[common_] + line_of(common_) + sizes();
  return "the nearest program has " + nearest[common_] + "; here it is " + ours[common_] + line_of(common_) +
         sizes();
}

}  // namespace lazy::jit
