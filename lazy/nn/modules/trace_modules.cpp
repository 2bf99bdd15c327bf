#include "lazy/nn/modules/trace_modules.hpp"

#include <atomic>
#include <string>
#include <unordered_map>

#include "jit/graph/places.hpp"
#include "lazy/autograd/updating.hpp"
#include "lazy/core/record.hpp"
#include "lazy/nn/modules/paths.hpp"
#include "support/profile.hpp"

namespace lazy {
namespace {

using jit::Handle;
using jit::Node;

enum class Phase : uint8_t { forward, backward, update };
constexpr const char* kPhases[] = {"forward", "backward", "update"};

struct Place {
  std::string path;
  Phase phase = Phase::forward;
};

}  // namespace

class TraceModules::Impl final : public detail::Observer {
 public:
  Impl(nn::Module& model, const Site& s) : model_(model.name()), observing_(*this) {
    for (const auto& [path, p] : model.named_parameters(s))
      if (const Parameter* const at = p.get())
        state_.emplace(at->handle().get(), std::string(nn::parent_of(path)));
    for (const auto& [path, b] : model.named_buffers(s))
      state_.emplace(b.handle().get(), std::string(nn::parent_of(path)));
  }
  ~Impl() = default;

  void recorded(const detail::Recorded& r) override {
    if (!r.operands.empty()) name(*r.result.get(), place(r.operands));
  }
  void recorded_call(const detail::RecordedCall& c) override {
    const Place p = place(c.operands);
    for (const Handle& h : c.outputs) {
      name(*h.get(), p);
      if (h->op == jit::Op::part && h->arity == 1) name(*h->operand[0], p);  // the call itself
    }
  }
  void derives(const Handle* result) override {
    deriving_ = result != nullptr;
    if (result) derived_ = place_of(*result->get()).path;
  }
  void updated(const Handle& from, const Handle& to, const Site&) override {
    const auto at = state_.find(from.get());
    if (at == state_.end()) return;
    std::string path = std::move(at->second);
    state_.erase(at);
    state_[to.get()] = std::move(path);
  }

 private:
  /// Returns the place that a value has; that of the whole model if it has none.
  Place place_of(const Node& n) const {
    const std::string_view text = jit::place_of(n.purpose);
    if (text.empty()) return {};
    const size_t comma = text.rfind(", ");
    const std::string_view path = text.substr(3, comma - 3), phase = text.substr(comma + 2);
    return {path == model_ ? std::string() : std::string(path), phase == "update"     ? Phase::update
                                                                : phase == "backward" ? Phase::backward
                                                                                      : Phase::forward};
  }

  Place place(std::span<const Handle* const> operands) {
    if (deriving_) return {derived_, Phase::backward};
    const std::string* own = nullptr;
    std::string common;
    Place of_gradient;
    for (const Handle* h : operands) {
      const Node& n = *h->get();
      if (const auto at = state_.find(&n); at != state_.end()) {
        common = own ? std::string(nn::common_module(common, at->second)) : at->second;
        own = &at->second;
      } else if (const Place p = place_of(n); p.phase != Phase::forward) {
        of_gradient = {p.path, Phase::update};
      }
    }
    // What an optimizer computes of parameters alone, as their decay, reads no gradient.
    if (of_gradient.phase == Phase::update || detail::Updating::now())
      return {own ? common : of_gradient.path, Phase::update};
    if (own) latest_ = common;
    return {own ? common : std::string(nn::parent_of(latest_)), Phase::forward};
  }

  void name(Node& n, const Place& p) {
    if (n.ready() || !jit::place_of(n.purpose).empty()) return;
    const std::string text =
        "in " + (p.path.empty() ? model_ : p.path) + ", " + kPhases[static_cast<size_t>(p.phase)];
    const char* const before = n.purpose && std::string_view(n.purpose) == "gradient" ? nullptr : n.purpose;
    // Another thread that flushes it meanwhile reads either text.
    std::atomic_ref<const char*>(n.purpose).store(jit::in_place(text, before), std::memory_order_relaxed);
  }

  const std::string model_;
  std::unordered_map<const Node*, std::string> state_;  // modules of parameters and buffers, by their values
  std::string latest_;                                  // the module whose parameters were read last
  std::string derived_;  // the module of the op whose gradient is being recorded
  bool deriving_ = false;
  const detail::Observing observing_;
};

TraceModules::TraceModules(nn::Module& model, Site s) {
  if (profile::on()) impl_ = std::make_unique<Impl>(model, s);
}
TraceModules::~TraceModules() = default;

}  // namespace lazy
