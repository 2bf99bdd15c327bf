#include "jit/verify/bisect.hpp"

#include "jit/run/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <unordered_set>

#include "jit/backend/registry.hpp"
#include "jit/compile/compile.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/layout.hpp"
#include "jit/verify/verify_values.hpp"
#include "support/config.hpp"
#include "support/files.hpp"
#include "support/log.hpp"

namespace lazy::jit {
namespace {

using Ops = std::vector<const Node*>;  // in recorded order

/// Holds the part of a flush that is run apart: some of its ops; other values that they read are inputs.
struct Part {
  Ops ops;
  bool all_kept = false;  // stores every op's value, not only the wrong one's
};

Handle handle_of(Node* n) {
  n->counts.fetch_add(Node::kHandle, std::memory_order_relaxed);
  return Handle::adopt(n);
}

class Bisection {
 public:
  Bisection(const Node& wrong, const ReferenceValues& values, double unit, const Site& site)
      : wrong_(&wrong), values_(values), unit_(unit), backend_(backend_of(wrong.device, site)) {}

  /// Returns the op whose value is wrong.
  const Node& wrong() const { return *wrong_; }

  Handle input(Node* operand) const {
    const auto known = values_.find(operand);
    return known != values_.end() ? known->second : handle_of(operand);
  }

  /// True if the wrong value is still wrong when just this part is compiled and run.
  bool differs(const Part& part) const {
    std::unordered_map<const Node*, Node*> copies;
    std::vector<Handle> handles;
    std::vector<Node*> nodes;
    for (const Node* n : part.ops) {
      std::vector<Handle> operands;
      for (int i = 0; i < n->arity; ++i) {
        const auto inner = copies.find(n->operand[i]);
        operands.push_back(inner != copies.end() ? handle_of(inner->second)
                                                 : in_reach_of(backend_, input(n->operand[i])));
      }
      Node* const copy = new_recipe(*n, operands);
      nodes.push_back(copy);
      copies.emplace(n, copy);
      if (part.all_kept || n == wrong_) {
        handles.push_back(Handle::adopt(copy));
      } else {
        copy->counts.store((copy->counts.load() & 0xffffffffu), std::memory_order_relaxed);  // no handle
      }
    }
    bool differs = false;
    try {
      CapturedGraph captured;
      (void)captured.build(nodes, backend_.code_class());
      run(*compile(captured, Variant::generic, backend_), captured, backend_);
      const Difference d = compare(*copies.at(wrong_), *values_.at(wrong_).get(), unit_);
      differs = d.at >= 0 && d.units > 64 * static_cast<double>(part.ops.size() + 1);
    } catch (const std::exception&) {  // then this part does not show the difference
    }
    for (Node* n : nodes)
      if (n->handles()) n->state.store(State::ready, std::memory_order_release);
      else drop_reference(n);
    return differs;
  }

  /// Returns those of the ops that the wrong one needs.
  Ops needed(const Ops& ops) const {
    std::unordered_set<const Node*> reached{wrong_};
    Ops kept;
    for (size_t i = ops.size(); i-- > 0;) {
      if (!reached.contains(ops[i])) continue;
      kept.push_back(ops[i]);
      reached.insert(ops[i]->operand.begin(), ops[i]->operand.begin() + ops[i]->arity);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  /// Makes `wrong_` the first op on the way whose value differs already. Only floating-point ones are tried:
  /// the effect of rounding on others is not known.
  void find_first(const Ops& ops) {
    constexpr size_t kMostRuns = 200;
    const Node* const last = wrong_;
    const size_t step = 1 + ops.size() / kMostRuns;
    for (size_t i = 0; i < ops.size() && is_float(last->dtype); i += step) {
      wrong_ = ops[i];
      if (is_float(wrong_->dtype) && differs({needed(ops), false})) return;
    }
    wrong_ = last;
  }

  /// Turns halves, quarters, ... single ops into inputs, as long as the difference remains.
  Part reduced(Part part) const {
    constexpr int kMostRuns = 400;
    int runs = 0;
    for (size_t length = part.ops.size() / 2; length > 0; length /= 2)
      for (size_t at = 0; at + length <= part.ops.size() && runs < kMostRuns;) {
        Part less = part;
        const auto first = less.ops.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + static_cast<std::ptrdiff_t>(length);
        if (std::find(first, last, wrong_) != last) break;
        less.ops.erase(first, last);
        if (!less.all_kept) less.ops = needed(less.ops);
        ++runs;
        if (differs(less)) part = less;
        else at += length;
      }
    return part;
  }

 private:
  const Node* wrong_;
  const ReferenceValues& values_;
  const double unit_;
  Backend& backend_;
};

/// Writes the part as C++, at the level at which ops are recorded.
class Source {
 public:
  Source(const Bisection& b, std::filesystem::path file) : bisection_(b), file_(std::move(file)) {}

  bool write(const Part& part, const Node& wrong, const Site& flush) {
    for (const Node* n : part.ops) op(*n);
    std::string s =
        "// LAZY_VERIFY: the value of " + std::string(name_of(wrong.op)) + " recorded at " +
        to_string(wrong.site) + " differs from the reference backend's, in the flush at " + to_string(flush) +
        ".\n// Link with lazy::lazy. Exits with status 1 while it does.\n" +
        "#include <fstream>\n#include <lazy/lazy.hpp>\n#include <vector>\n\n"
        "#include \"jit/graph/record.hpp\"\n#include \"support/config.hpp\"\n\nusing namespace lazy;\nusing "
        "namespace lazy::jit;\n\n" +
        data_ +
        "int main() {\n  config::set(\"LAZY_VERIFY\", \"1\");\n  const Site here = Site::current();\n" +
        body_;
    for (const Node* n : part.ops)
      if (n != &wrong && !part.all_kept) s += "  " + names_.at(n) + " = Handle();\n";
    s += "  const Handle* wanted[] = {&" + names_.at(&wrong) +
         "};\n  evaluate(wanted, Cause::eval, here);\n  return metrics().verify_failures ? 1 : 0;\n}\n";
    return files::write_whole(file_.string(), s) && good_;
  }

 private:
  static std::string braces(const Dims& d) {
    std::string s = "{";
    for (int i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
    return s + "}";
  }
  static std::string type(DType t) { return t == DType::bool_ ? "bool_" : name_of(t); }
  static std::string name(Op op) { return std::string("Op::") + name_of(op); }

  std::string name_for(const Node* n) {
    return names_.emplace(n, "v" + std::to_string(names_.size())).first->second;
  }

  void op(const Node& n) {
    std::string operands;
    for (int i = 0; i < n.arity; ++i) {
      if (!names_.contains(n.operand[i])) input(n.operand[i]);
      operands += (i ? ", &" : "&") + names_.at(n.operand[i]);
    }
    body_ += "  Handle " + name_for(&n) + " = record(" + name(n.op) + ", {" + operands + "}, " +
             type(n.dtype) + ", " + braces(n.shape) + ", here, {" + braces(n.ints) + ", " + braces(n.steps) +
             ", " + braces(n.axes) + "});  // " + to_string(n.site) + "\n";
  }

  void input(Node* operand) {
    const Handle value = bisection_.input(operand);
    const Node& n = *value.get();
    const std::string v = name_for(operand), shape = braces(n.shape);
    if (n.op == Op::constant) {
      body_ += "  const Handle " + v + " = constant(Scalar{" + std::to_string(n.scalar.bits) + "ull}, " +
               type(n.dtype) + ", " + shape + ", here);\n";
    } else if (n.op == Op::iota) {
      body_ += "  const Handle " + v + " = iota(" + std::to_string(axis_of(n)) + ", " + shape + ", here);\n";
    } else {
      memory(n, v);
    }
  }

  // Writes the memory of an input and its layout: a difference may come from its strides.
  void memory(const Node& n, const std::string& v) {
    const Layout l = layout_of(n);
    const auto size = static_cast<int64_t>(size_of(n.dtype));
    int64_t low = 0, high = 0;
    for (int i = 0; i < l.shape.size(); ++i)
      (l.strides[i] < 0 ? low : high) += (std::max<int64_t>(l.shape[i], 1) - 1) * l.strides[i];
    const bool empty = numel(l.shape) == 0;
    const auto count = static_cast<size_t>(empty ? 0 : (high - low + 1) * size);
    const Handle here = in_reach_of(*backends().main, handle_of(const_cast<Node*>(&n)));
    const auto* bytes = static_cast<const unsigned char*>(here->buffer->data()) + (l.offset + low) * size;
    constexpr size_t kInline = 16384;
    if (count > kInline) {
      const std::string file = file_.stem().string() + "." + v + ".bin";
      files::Output out((file_.parent_path() / file).string());
      if (out.is_open()) out.put(reinterpret_cast<const char*>(bytes), count);
      good_ &= out.is_open() && out.close();
      data_ += "std::vector<unsigned char> " + v + "_bytes() {\n  std::vector<unsigned char> bytes(" +
               std::to_string(count) + ");\n  std::ifstream(\"" + file +
               "\", std::ios::binary).read(reinterpret_cast<char*>(bytes.data()), " + std::to_string(count) +
               ");\n  return bytes;\n}\nstd::vector<unsigned char> " + v + "_data = " + v + "_bytes();\n\n";
    } else {
      data_ += "std::vector<unsigned char> " + v + "_data = {";
      for (size_t i = 0; i < count; ++i) data_ += (i % 32 ? "" : "\n    ") + std::to_string(bytes[i]) + ",";
      data_ += "};\n\n";
    }
    body_ += "  const Handle " + v + " = from_blob(" + v + "_data.data() + " + std::to_string(-low * size) +
             ", " + type(n.dtype) + ", " + braces(n.shape) + ", " + braces(l.strides) +
             ", [](void*) {}, Device{}, here);\n";
  }

  const Bisection& bisection_;
  const std::filesystem::path file_;
  std::unordered_map<const Node*, std::string> names_;
  std::string data_, body_;
  bool good_ = true;
};

}  // namespace

void bisect(const CapturedGraph& f, const Node& wrong, const ReferenceValues& values, bool alone, double unit,
            const Site& site) {
  Bisection bisection(wrong, values, is_float(wrong.dtype) ? unit : 0, site);
  std::vector<Part> starts;
  if (alone) {
    starts.push_back({{&wrong}, false});
  } else {
    starts.push_back({bisection.needed({f.taken.begin(), f.taken.end()}), false});
    starts.push_back({{f.taken.begin(), f.taken.end()}, true});
  }
  const auto part =
      std::find_if(starts.begin(), starts.end(), [&](const Part& p) { return bisection.differs(p); });
  if (part == starts.end())
    return logging::warning("LAZY_VERIFY=bisect: run again, no part of the flush at " + to_string(site) +
                            " differs");
  if (!alone && !part->all_kept) bisection.find_first(part->ops);
  const Part smallest = bisection.reduced(part->all_kept ? *part : Part{bisection.needed(part->ops), false});
  static std::atomic<int> number{0};
  const std::string& folder = config::get().dump_dir.get();
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path file =
      std::filesystem::path(folder.empty() ? "." : folder) /
      ("lazy-verify-" + std::to_string(::getpid()) + "-" + std::to_string(number++) + ".cpp");
  if (!Source(bisection, file).write(smallest, bisection.wrong(), site))
    return logging::warning("LAZY_VERIFY=bisect: cannot write " + file.string());
  logging::warning("LAZY_VERIFY=bisect: " + std::to_string(smallest.ops.size()) + " of " +
                   std::to_string(f.taken.size()) + " ops still differ; they are in " + file.string());
}

}  // namespace lazy::jit
