// Shares the small parts of which nodes are written. Internal to lazy/onnx/export.
#pragma once
#include <span>
#include <vector>

#include "lazy/onnx/export/exporter.hpp"
#include "lazy/onnx/model/tensor.hpp"

namespace lazy::onnx {

using jit::Node;
using jit::Op;
using Bytes = wire::MessageWriter;

// Return an AttributeProto.

inline Bytes attribute(const char* name, int64_t v) {
  return Bytes().text(1, name).integer(3, v).integer(20, static_cast<int64_t>(AttributeType::integer));
}
inline Bytes attribute(const char* name, float v) {
  return Bytes().text(1, name).real(2, v).integer(20, static_cast<int64_t>(AttributeType::real));
}
inline Bytes attribute(const char* name, const std::string& v) {
  return Bytes().text(1, name).text(4, v).integer(20, static_cast<int64_t>(AttributeType::string));
}
inline Bytes attribute(const char* name, const std::vector<int64_t>& v) {
  Bytes m;
  m.text(1, name);
  for (const int64_t n : v) m.integer(8, n);
  return m.integer(20, static_cast<int64_t>(AttributeType::integers));
}

/// Returns a handle to a node that others refer to.
inline jit::Handle handle_to(Node* n) {
  n->counts.fetch_add(jit::Counted::kHandle, std::memory_order_relaxed);
  return jit::Handle::adopt(n);
}

inline std::vector<int64_t> listed(std::span<const int64_t> v) { return {v.begin(), v.end()}; }

}  // namespace lazy::onnx
