#include "lazy/onnx/ops/call.hpp"

namespace lazy::onnx {

const Value& Call::value(size_t i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is needed, and is left out");
  return inputs_[i];
}

std::vector<Tensor> Call::tensors(size_t first) const {
  std::vector<Tensor> all;
  for (size_t i = first; i < inputs_.size(); ++i) all.push_back(tensor(i));
  return all;
}

Known Call::elements(size_t i) const {
  const Value& v = value(i);
  if (v.known()) return *v.known();
  const Tensor& t = v.tensor(run_.device, run_.site);
  Known k = Known::of(t.dtype(site()), t.shape(site()));
  if (k.real()) k.reals = t.to_vector<double>(site());
  else k.integers = t.to_vector<int64_t>(site());
  return k;
}

double Call::number(size_t i) const {
  const Known k = elements(i);
  if (k.size() != 1)
    fail<ShapeError>("input " + std::to_string(i) + " has " + std::to_string(k.size()) +
                     " elements, expected one");
  return k.number(0);
}

int64_t Call::integer(size_t i) const {
  const std::vector<int64_t> k = integers(i);
  if (k.size() != 1)
    fail<ShapeError>("input " + std::to_string(i) + " has " + std::to_string(k.size()) +
                     " elements, expected one");
  return k[0];
}

const AttributeProto* Call::attribute(std::string_view name) const {
  for (const AttributeProto& a : node_.attribute)
    if (a.name == name) return &a;
  return nullptr;
}

int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  const AttributeProto* const a = attribute(name);
  return a ? a->i : otherwise;
}

double Call::real(std::string_view name, double otherwise) const {
  const AttributeProto* const a = attribute(name);
  return a ? static_cast<double>(a->f) : otherwise;
}

std::string_view Call::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* const a = attribute(name);
  return a ? a->s : otherwise;
}

std::vector<int64_t> Call::integers(std::string_view name) const {
  const AttributeProto* const a = attribute(name);
  return a ? a->ints : std::vector<int64_t>();
}

std::vector<double> Call::reals(std::string_view name) const {
  const AttributeProto* const a = attribute(name);
  return a ? std::vector<double>(a->floats.begin(), a->floats.end()) : std::vector<double>();
}

std::vector<std::string_view> Call::texts(std::string_view name) const {
  const AttributeProto* const a = attribute(name);
  return a ? a->strings : std::vector<std::string_view>();
}

int64_t Call::needed(std::string_view name) const {
  const AttributeProto* const a = attribute(name);
  if (!a) fail("attribute '" + std::string(name) + "' is needed, and is left out");
  return a->i;
}

int Call::axis(int64_t given, int rank) const {
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank)
    fail<IndexError>("axis " + std::to_string(given) + " is out of range for " + std::to_string(rank) +
                     " dimensions");
  return static_cast<int>(axis);
}

Dims Call::axes(const std::vector<int64_t>& given, int rank) const {
  Dims all;
  for (const int64_t a : given) all.push_back(axis(a, rank));
  return all;
}

}  // namespace lazy::onnx
