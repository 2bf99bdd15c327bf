#include "jit/built_in/linalg/planes.hpp"

#include <algorithm>

#include "jit/core/pairs.hpp"
#include "support/error.hpp"

namespace lazy::jit::calls {
namespace {

bool of_planes(const CallSpec& spec) { return (spec.as<MatrixAttributes>().flags & kOfPlanes) != 0; }
bool is_plane(DType t) { return t == DType::float32 || t == DType::float64; }

/// Holds operands as whole numbers, and the place of each, or of its real plane, among those of the call.
struct Operands {
  std::vector<Meta> whole;
  std::vector<size_t> place;

  Operands(const CallSpec& spec, std::span<const Meta> operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      place.push_back(i);
      whole.push_back(operands[i]);
      if (!of_planes(spec) || !is_plane(operands[i].dtype)) continue;
      if (++i == operands.size() || operands[i].dtype != operands[i - 1].dtype ||
          operands[i].shape != operands[i - 1].shape)
        throw ShapeError(std::string(spec.name()) + ": two planes of one shape are needed");
      whole.back().dtype = complex_type(operands[i].dtype);
    }
  }
};

}  // namespace

std::vector<CallOutput> infer_whole(const CallSpec& spec, std::span<const Meta> operands) {
  return spec.definition().infer_complex(spec, operands);
}

std::vector<CallOutput> infer_planes(const CallSpec& spec, std::span<const Meta> operands) {
  const Operands given(spec, operands);
  std::vector<CallOutput> out;
  for (CallOutput& o : infer_whole(spec, given.whole)) {
    for (CallOutput::Tie& t : o.tied)
      if (t.operand >= 0) t.operand = static_cast<int16_t>(given.place[static_cast<size_t>(t.operand)]);
    const bool pair = is_complex(o.meta.dtype);
    o.meta.dtype = plane_type(o.meta.dtype);
    if (pair) out.push_back(o);
    out.push_back(o);
  }
  return out;
}

WholeRun::WholeRun(const CallRun& r) : planes_(r) {
  const Operands given(r.spec, r.operands);
  const std::vector<CallOutput> outputs = infer_whole(r.spec, given.whole);
  if (outputs.size() == r.outputs.size() && !of_planes(r.spec)) return;
  operands_ = given.whole;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const char* const first = r.in[given.place[i]];
    in_.push_back(first);
    if (!is_complex(operands_[i].dtype)) continue;
    char* const to = memory_for(operands_[i]);
    interleave(plane_type(operands_[i].dtype), first, r.in[given.place[i] + 1], to,
               static_cast<size_t>(numel(operands_[i].shape)));
    in_.back() = to;
  }
  size_t place = 0;
  for (const CallOutput& o : outputs) {
    outputs_.push_back(o.meta);
    char* const first = r.out[place++];
    out_.push_back(first);
    if (!is_complex(o.meta.dtype)) continue;
    const bool read = first || r.out[place];
    ++place;
    out_.back() = read ? memory_for(o.meta) : nullptr;
  }
  whole_.emplace(CallRun{r.spec, r.backend, operands_, outputs_, in_.data(), out_.data(), r.workspace,
                         r.workspace_bytes, r.site, r.function});
}

char* WholeRun::memory_for(const Meta& m) {
  const size_t bytes = static_cast<size_t>(numel(m.shape)) * size_of(m.dtype);
  memory_.push_back(BufferRef::allocate(planes_.backend, bytes));
  return static_cast<char*>(memory_.back()->data());
}

void WholeRun::give() const {
  if (!whole_) return;
  size_t place = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_complex(outputs_[i].dtype)) {
      ++place;
      continue;
    }
    for (const int which : {0, 1}) {
      char* const to = planes_.out[place++];
      if (!to) continue;
      take_plane(plane_type(outputs_[i].dtype), out_[i], which, to,
                 static_cast<size_t>(numel(outputs_[i].shape)));
    }
  }
}

}  // namespace lazy::jit::calls
