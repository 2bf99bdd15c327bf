// Builds models in the ONNX format in memory: the messages of onnx.proto, written field by field.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazy/io/wire/writer.hpp"
#include "lazy/onnx/onnx.hpp"
#include "tests/common/check.hpp"

namespace onnx_test {

using Message = lazy::wire::MessageWriter;

enum Type { kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kString = 8, kBool = 9, kFloat8 = 17 };

/// Returns a TensorProto.
template <class T>
Message tensor(std::string_view name, Type type, const std::vector<int64_t>& dims,
               const std::vector<T>& values) {
  Message m;
  for (const int64_t n : dims) m.integer(1, n);
  m.integer(2, type).text(8, name);
  return m.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline Message floats(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& v) {
  return tensor(name, kFloat, dims, v);
}
inline Message ints(std::string_view name, const std::vector<int64_t>& v) {
  return tensor(name, kInt64, {static_cast<int64_t>(v.size())}, v);
}

/// Returns a TensorProto of float32 with values in a file.
inline Message external(std::string_view name, const std::vector<int64_t>& dims, const std::string& location,
                        int64_t offset = 0) {
  Message m;
  for (const int64_t n : dims) m.integer(1, n);
  m.integer(2, kFloat).text(8, name);
  m.message(13, Message().text(1, "location").text(2, location));
  m.message(13, Message().text(1, "offset").text(2, std::to_string(offset)));
  return m.integer(14, 1);
}

// Return an AttributeProto.

inline Message attribute(std::string_view name, int64_t v) {
  return Message().text(1, name).integer(3, v).integer(20, 2);
}
inline Message attribute(std::string_view name, int v) { return attribute(name, int64_t{v}); }
inline Message attribute(std::string_view name, float v) {
  return Message().text(1, name).real(2, v).integer(20, 1);
}
inline Message attribute(std::string_view name, const char* v) {
  return Message().text(1, name).text(4, v).integer(20, 3);
}
inline Message attribute(std::string_view name, const std::vector<int64_t>& v) {
  Message m;
  m.text(1, name);
  for (const int64_t n : v) m.integer(8, n);
  return m.integer(20, 7);
}
inline Message tensor_attribute(std::string_view name, const Message& t) {
  return Message().text(1, name).message(5, t).integer(20, 4);
}
inline Message graph_attribute(std::string_view name, const Message& g) {
  return Message().text(1, name).message(6, g).integer(20, 5);
}
inline Message reference_attribute(std::string_view name, std::string_view of_call, int type) {
  return Message().text(1, name).integer(20, type).text(21, of_call);
}

using Names = std::vector<std::string>;

/// Returns a NodeProto. Its name is that of its first output.
inline Message node(std::string_view op, const Names& inputs, const Names& outputs,
                    const std::vector<Message>& attributes = {}, std::string_view domain = "") {
  Message m;
  for (const std::string& n : inputs) m.text(1, n);
  for (const std::string& n : outputs) m.text(2, n);
  m.text(3, outputs.at(0)).text(4, op);
  for (const Message& a : attributes) m.message(5, a);
  return domain.empty() ? m : m.text(7, domain);
}

/// Returns a ValueInfoProto. Dimensions are numbers or names; "?" is one of which nothing is said.
inline Message value(std::string_view name, const Names& dims = {}, Type type = kFloat) {
  Message shape;
  for (const std::string& d : dims) {
    Message dimension;
    if (d.find_first_not_of("0123456789") == d.npos) dimension.integer(1, std::stoll(d));
    else if (d != "?") dimension.text(2, d);
    shape.message(1, dimension);
  }
  const Message tensor = Message().integer(1, type).message(2, shape);
  return Message().text(1, name).message(2, Message().message(1, tensor));
}
/// Returns one of any shape.
inline Message any(std::string_view name, Type type = kFloat) {
  return Message().text(1, name).message(2, Message().message(1, Message().integer(1, type)));
}

/// Holds the parts of a GraphProto.
struct Graph {
  std::vector<Message> inputs, outputs, nodes, initializers = {};

  Message message() const {
    Message m;
    for (const Message& n : nodes) m.message(1, n);
    m.text(2, "graph");
    for (const Message& t : initializers) m.message(5, t);
    for (const Message& v : inputs) m.message(11, v);
    for (const Message& v : outputs) m.message(12, v);
    return m;
  }
};

/// Returns a ModelProto.
inline Message model(const Graph& g, int64_t opset = 17, const std::vector<Message>& functions = {},
                     int64_t ir_version = 8) {
  Message m;
  m.integer(1, ir_version).text(2, "test").message(7, g.message());
  m.message(8, Message().integer(2, opset));
  for (const Message& f : functions) m.message(25, f);
  return m;
}

inline lazy::onnx::Model load_model(const std::string& bytes) {
  return lazy::onnx::load(std::as_bytes(std::span(bytes)));
}
inline lazy::onnx::Model load_model(const Graph& g, int64_t opset = 17) {
  return load_model(model(g, opset).bytes());
}

/// Records one node with inputs a, b, c, ... and returns its first output.
inline lazy::Tensor run(const Message& of_node, const std::vector<lazy::Tensor>& inputs, Type result = kFloat,
                        int64_t opset = 17) {
  Graph g;
  std::vector<lazy::Tensor> given = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const lazy::DType t = inputs[i].dtype();
    const Type type = t == lazy::int64   ? kInt64
                      : t == lazy::int32 ? kInt32
                      : t == lazy::uint8 ? kUint8
                      : t == lazy::int8  ? kInt8
                      : t == lazy::bool_ ? kBool
                                         : kFloat;
    g.inputs.push_back(any(std::string(1, static_cast<char>('a' + i)), type));
  }
  g.outputs = {any("y", result)};
  g.nodes = {of_node};
  return load_model(g, opset)(given)[0];
}

}  // namespace onnx_test
