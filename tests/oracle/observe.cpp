// Observes what a function records.
#include <algorithm>

#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "lazy/core/record.hpp"
#include "support/metrics.hpp"
#include "tests/oracle/names.hpp"

namespace oracle {
namespace {

class Watcher : public detail::Observer {
 public:
  void recorded(const detail::Recorded& r) override {
    if (r.op == jit::Op::constant || r.op == jit::Op::iota) ++sources;
    else if (r.op == jit::Op::cast) ++casts;
    else if (jit::row_of(r.op).kind == jit::OpKind::view) ++views;
    else ops.push_back(jit::name_of(r.op));
  }
  void recorded_call(const detail::RecordedCall& r) override { calls.push_back(&r.spec); }

  std::vector<std::string> ops;
  std::vector<const jit::CallSpec*> calls;
  int sources = 0, casts = 0, views = 0;
};

/// Runs the row while what it records is observed. The sample's tensors are made before, and computed.
Results observed(const Row& row, DType t, Watcher& watcher, bool& reads) {
  const auto fields = split_text(row.sample, '\t');
  std::vector<std::string> texts;
  for (const std::string_view f : fields) {
    const bool tensor = std::string_view("xfibp").find(f[0]) != std::string_view::npos;
    Given one(std::span(&f, 1), t);
    texts.push_back(tensor ? "T " + text_of(one.tensor()) : std::string(f));
  }
  const std::vector<std::string_view> arguments(texts.begin(), texts.end());
  const uint64_t flushes = metrics().flushes;
  Results results = [&] {
    const detail::Observing observing(watcher);
    return call(row, arguments, t);
  }();
  reads = metrics().flushes != flushes;
  try {
    for (const Tensor& r : results)
      if (r.defined()) r.eval();
  } catch (const DeviceError&) {  // a library that a call opens is not installed: the function takes the
                                  // dtype all the same
  }
  return results;
}

std::string kind_of(const Watcher& w) {
  const size_t ops = w.ops.size();
  const auto is_run = [](const jit::CallSpec* c) { return c->definition().run != nullptr; };
  if (!w.calls.empty())
    return ops != 0                                              ? "composite"
           : std::any_of(w.calls.begin(), w.calls.end(), is_run) ? "call"
                                                                 : "intention";
  if (ops > 1) return "composite";
  if (ops == 1) return "primitive";
  return w.views ? "view" : w.casts ? "cast" : w.sources ? "source" : "operand";
}

/// Says where the calls run: a backend that has no kernel for one expands it into ops or runs it on the host.
std::string backends_of(const std::vector<const jit::CallSpec*>& calls) {
  if (calls.empty()) return "all";
  std::string own, host;
  jit::Backend& backend = jit::backend_of(cpu, Site::current());
  for (const jit::CallSpec* c : calls) {
    if (!c->definition().run) return "all";  // it is expanded everywhere
    const std::string name = c->name();
    std::string& list = backend.make_call(*c) ? own : host;
    if (list.find(name) == list.npos) list += (list.empty() ? "" : ", ") + name;
    if (c->definition().expand) return "CPU: kernel of its own; others: as ops";
  }
  if (host.empty()) return "CPU: kernel of its own; reference, CUDA: on the host";
  return own.empty() ? "all: on the host" : "CPU: kernel of its own for " + own + "; the rest on the host";
}

}  // namespace

Tried try_sample(const Row& row) {
  Tried tried;
  std::vector<DType> order{float32};
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<DType>(i) != float32) order.push_back(static_cast<DType>(i));
  order.insert(order.end(), {complex64, complex128});
  for (const DType t : order) {
    Watcher watcher;
    bool reads = false;
    try {
      observed(row, t, watcher, reads);
    } catch (const DtypeError&) { continue; } catch (const Error& e) {
      if (t == float32 || tried.wrong.empty()) tried.wrong = std::string(name_of(t)) + ": " + e.what();
      continue;
    }
    if (tried.dtypes.empty()) {
      tried.kind = kind_of(watcher);
      tried.ops = watcher.ops;
      tried.reads = reads;
      for (const jit::CallSpec* c : watcher.calls) tried.calls.push_back(c->name());
      tried.backends = backends_of(watcher.calls);
    }
    tried.dtypes.push_back(t);
  }
  std::sort(tried.dtypes.begin(), tried.dtypes.end());
  return tried;
}

}  // namespace oracle
