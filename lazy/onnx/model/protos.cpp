#include "lazy/onnx/model/protos.hpp"

namespace lazy::onnx {
namespace {
using wire::Field;
using wire::Message;

GraphProto graph_of(Message m);

std::pair<std::string_view, std::string_view> entry_of(Message m) {
  std::pair<std::string_view, std::string_view> entry;
  while (const auto f = m.next()) {
    if (f->number == 1) entry.first = m.bytes(*f, "a key");
    if (f->number == 2) entry.second = m.bytes(*f, "a value");
  }
  return entry;
}

OperatorSetId opset_of(Message m) {
  OperatorSetId id;
  while (const auto f = m.next()) {
    if (f->number == 1) id.domain = m.bytes(*f, "a domain");
    if (f->number == 2) id.version = m.integer(*f, "a version");
  }
  return id;
}

TensorProto tensor_of(Message m) {
  TensorProto t;
  t.message = m.range();
  t.depth = m.depth();
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: m.integers(*f, "dims", [&](int64_t n) { t.dims.push_back(n); }); break;
      case 2: t.data_type = static_cast<DataType>(m.integer(*f, "data_type")); break;
      case 3: t.segmented = true; break;
      case 8: t.name = m.bytes(*f, "a tensor's name"); break;
      case 9:
        (void)m.bytes(*f, "raw_data");
        t.raw_data = f->range;
        break;
      case 13: t.external_data.push_back(entry_of(Message(m, *f))); break;
      case 14: t.external = m.integer(*f, "data_location") == 1; break;
      default: break;
    }
  }
  return t;
}

SparseTensorProto sparse_of(Message m) {
  SparseTensorProto s;
  while (const auto f = m.next()) {
    if (f->number == 1) s.values = tensor_of(Message(m, *f));
    if (f->number == 2) s.indices = tensor_of(Message(m, *f));
    if (f->number == 3) m.integers(*f, "dims", [&](int64_t n) { s.dims.push_back(n); });
  }
  return s;
}

Dimension dimension_of(Message m) {
  Dimension d;
  while (const auto f = m.next()) {
    if (f->number == 1) d.value = m.integer(*f, "dim_value");
    if (f->number == 2) d.name = m.bytes(*f, "dim_param");
  }
  return d;
}

void read_tensor_type(Message m, TypeProto& type) {
  while (const auto f = m.next()) {
    if (f->number == 1) type.elem_type = static_cast<DataType>(m.integer(*f, "elem_type"));
    if (f->number != 2) continue;
    type.has_shape = true;
    Message shape(m, *f);
    while (const auto d = shape.next())
      if (d->number == 1) type.shape.push_back(dimension_of(Message(shape, *d)));
  }
}

TypeProto type_of(Message m) {
  TypeProto type;
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1:
        type.kind = TypeKind::tensor;
        read_tensor_type(Message(m, *f), type);
        break;
      case 4: type.kind = TypeKind::sequence; break;
      case 5: type.kind = TypeKind::map; break;
      case 7: type.kind = TypeKind::opaque; break;
      case 8: type.kind = TypeKind::sparse_tensor; break;
      case 9: type.kind = TypeKind::optional; break;
      default: break;
    }
  }
  return type;
}

ValueInfoProto value_info_of(Message m) {
  ValueInfoProto v;
  while (const auto f = m.next()) {
    if (f->number == 1) v.name = m.bytes(*f, "a value's name");
    if (f->number == 2) v.type = type_of(Message(m, *f));
  }
  return v;
}

/// Returns the type that old files leave out: that of the one field that is there.
AttributeType found_type(const AttributeProto& a, AttributeType found) {
  return a.type == AttributeType::undefined ? found : a.type;
}

AttributeProto attribute_of(Message m) {
  AttributeProto a;
  AttributeType found = AttributeType::undefined;
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: a.name = m.bytes(*f, "an attribute's name"); break;
      case 2:
        a.f = m.real(*f, "f");
        found = AttributeType::real;
        break;
      case 3:
        a.i = m.integer(*f, "i");
        found = AttributeType::integer;
        break;
      case 4:
        a.s = m.bytes(*f, "s");
        found = AttributeType::string;
        break;
      case 5:
        a.t = std::make_shared<TensorProto>(tensor_of(Message(m, *f)));
        found = AttributeType::tensor;
        break;
      case 6:
        a.g = std::make_shared<GraphProto>(graph_of(Message(m, *f)));
        found = AttributeType::graph;
        break;
      case 7:
        m.reals(*f, "floats", [&](float v) { a.floats.push_back(v); });
        found = AttributeType::reals;
        break;
      case 8:
        m.integers(*f, "ints", [&](int64_t v) { a.ints.push_back(v); });
        found = AttributeType::integers;
        break;
      case 9:
        a.strings.push_back(m.bytes(*f, "strings"));
        found = AttributeType::strings;
        break;
      case 10: found = AttributeType::tensors; break;
      case 11: found = AttributeType::graphs; break;
      case 14: found = AttributeType::type; break;
      case 15: found = AttributeType::types; break;
      case 20: a.type = static_cast<AttributeType>(m.integer(*f, "an attribute's type")); break;
      case 21: a.ref_attr_name = m.bytes(*f, "ref_attr_name"); break;
      case 22:
        a.sparse_tensor = std::make_shared<SparseTensorProto>(sparse_of(Message(m, *f)));
        found = AttributeType::sparse_tensor;
        break;
      case 23: found = AttributeType::sparse_tensors; break;
      default: break;
    }
  }
  a.type = found_type(a, found);
  return a;
}

NodeProto node_of(Message m) {
  NodeProto n;
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: n.input.push_back(m.bytes(*f, "an input")); break;
      case 2: n.output.push_back(m.bytes(*f, "an output")); break;
      case 3: n.name = m.bytes(*f, "a node's name"); break;
      case 4: n.op_type = m.bytes(*f, "op_type"); break;
      case 5: n.attribute.push_back(attribute_of(Message(m, *f))); break;
      case 7: n.domain = m.bytes(*f, "a domain"); break;
      case 8: n.overload = m.bytes(*f, "overload"); break;
      default: break;
    }
  }
  return n;
}

GraphProto graph_of(Message m) {
  GraphProto g;
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: g.node.push_back(node_of(Message(m, *f))); break;
      case 2: g.name = m.bytes(*f, "a graph's name"); break;
      case 5: g.initializer.push_back(tensor_of(Message(m, *f))); break;
      case 11: g.input.push_back(value_info_of(Message(m, *f))); break;
      case 12: g.output.push_back(value_info_of(Message(m, *f))); break;
      case 15: {
        SparseTensorProto s = sparse_of(Message(m, *f));
        const std::string_view name = s.values.name;
        g.sparse_initializer.emplace_back(name, std::move(s));
        break;
      }
      default: break;
    }
  }
  return g;
}

FunctionProto function_of(Message m) {
  FunctionProto fn;
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: fn.name = m.bytes(*f, "a function's name"); break;
      case 4: fn.input.push_back(m.bytes(*f, "an input")); break;
      case 5: fn.output.push_back(m.bytes(*f, "an output")); break;
      case 7: fn.node.push_back(node_of(Message(m, *f))); break;
      case 9: fn.opset_import.push_back(opset_of(Message(m, *f))); break;
      case 10: fn.domain = m.bytes(*f, "a domain"); break;
      case 11: fn.attribute_proto.push_back(attribute_of(Message(m, *f))); break;
      case 13: fn.overload = m.bytes(*f, "overload"); break;
      default: break;
    }
  }
  return fn;
}

}  // namespace

ModelProto read_model(const detail::FileBytes& file) {
  ModelProto model;
  Message m(file);
  while (const auto f = m.next()) {
    switch (f->number) {
      case 1: model.ir_version = m.integer(*f, "ir_version"); break;
      case 2: model.producer_name = m.bytes(*f, "producer_name"); break;
      case 3: model.producer_version = m.bytes(*f, "producer_version"); break;
      case 7: model.graph = graph_of(Message(m, *f)); break;
      case 8: model.opset_import.push_back(opset_of(Message(m, *f))); break;
      case 14: model.metadata_props.push_back(entry_of(Message(m, *f))); break;
      case 20: model.training = true; break;
      case 25: model.functions.push_back(function_of(Message(m, *f))); break;
      default: break;
    }
  }
  return model;
}

TensorProto read_tensor(const detail::FileBytes& file) { return tensor_of(Message(file)); }

}  // namespace lazy::onnx
