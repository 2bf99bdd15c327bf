// Finds a kernel that runs a call on a backend that may have none for it.
#include <atomic>

#include "jit/backend/registry.hpp"
#include "jit/calls/call.hpp"
#include "jit/calls/on_host.hpp"
#include "jit/core/bytes.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

/// Calls the definition's `run`.
class PlainCall final : public CallKernel {
 public:
  explicit PlainCall(const CallSpec& spec) : spec_(spec) {}
  size_t workspace(std::span<const Meta> operands, std::span<const Meta>) const override {
    const auto bytes = spec_.definition().workspace;
    return bytes ? bytes(spec_, operands) : 0;
  }
  void run(const CallRun& r) const override { spec_.definition().run(r); }
  std::string schedule() const override { return "plain"; }

 private:
  const CallSpec& spec_;
};

size_t bytes_of(const Meta& m) { return lazy::bytes_of(m.shape, m.dtype); }

/// Runs a device's call on the host: operands are copied there, outputs back. Or where they lie, if the call
/// takes them so.
class HostCall final : public CallKernel {
 public:
  explicit HostCall(std::shared_ptr<const CallKernel> there) : there_(std::move(there)) {}

  void run(const CallRun& r) const override {
    const CallDefinition& d = r.spec.definition();
    if (d.takes_device && d.takes_device(r.spec, r.backend)) return d.run(r);
    run_on_host(r, *there_, std::string(r.backend.name()) + " has no kernel for it");
  }
  std::string schedule() const override { return "on the host: " + there_->schedule(); }

 private:
  const std::shared_ptr<const CallKernel> there_;
};

}  // namespace

void run_on_host(const CallRun& r, const CallKernel& there, const std::string& why) {
  Backend& host = *backends().main;
  std::vector<BufferRef> memory;
  const auto allocate = [&](size_t bytes) {
    memory.push_back(BufferRef::allocate(host, bytes));
    return static_cast<char*>(memory.back()->data());
  };
  uint64_t moved = 0;
  std::vector<const char*> in;
  for (size_t i = 0; i < r.operands.size(); ++i) {
    const size_t bytes = bytes_of(r.operands[i]);
    char* const to = allocate(bytes);
    if (bytes) r.backend.read(to, r.in[i], bytes);
    in.push_back(to);
    moved += bytes;
  }
  std::vector<char*> out;
  for (size_t i = 0; i < r.outputs.size(); ++i)
    out.push_back(r.out[i] ? allocate(bytes_of(r.outputs[i])) : nullptr);
  const size_t work = there.workspace(r.operands, r.outputs);
  char* const workspace = allocate(work);
  r.backend.synchronize();
  there.run(
      {r.spec, host, r.operands, r.outputs, in.data(), out.data(), workspace, work, r.site, r.function});
  for (size_t i = 0; i < out.size(); ++i)
    if (const size_t bytes = out[i] ? bytes_of(r.outputs[i]) : 0) {
      r.backend.write(r.out[i], out[i], bytes);
      moved += bytes;
    }
  metric::add(MetricCounter::call_host_transfers);
  if (logging::enabled(logging::Channel::device))
    logging::print(logging::Channel::device, "%s at %s ran on the host, for %s: %zu bytes moved",
                   describe(r.spec).c_str(), lazy::to_string(r.site).c_str(), why.c_str(),
                   static_cast<size_t>(moved));
}

std::unique_ptr<CallKernel> Compiler::make_call(const CallSpec&) { return nullptr; }

bool runs_here(Backend& backend, const CallSpec& spec) {
  return (backend.host() && spec.definition().run) || backend.make_call(spec);
}
bool takes_whole(Backend& backend, const CallSpec& spec) {
  return !spec.definition().expand || runs_here(backend, spec);
}

std::shared_ptr<const CallKernel> call_kernel_for(const CallSpec& spec, Backend& backend) {
  const CallDefinition& d = spec.definition();
  if (backend.host() || !d.has(call_trait::kHostOnly))
    if (auto own = backend.make_call(spec)) return own;
  if (!backend.host()) return std::make_shared<HostCall>(call_kernel_for(spec, *backends().main));
  if (d.run) return std::make_shared<PlainCall>(spec);
  throw CompileError(std::string(d.name) + ": nothing runs this call on " + backend.name());
}

}  // namespace lazy::jit
