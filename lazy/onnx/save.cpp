#include "lazy/onnx/save.hpp"

#include <algorithm>
#include <set>

#include "jit/flush/no_flush.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/record.hpp"
#include "lazy/io/file.hpp"
#include "lazy/onnx/export/exporter.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/quant/export.hpp"

namespace lazy::onnx {
namespace {
using wire::MessageWriter;

constexpr int64_t kIrVersion = 8, kOpset = 18;
constexpr uint64_t kAlignment = 64;

size_t varint_bytes(uint64_t v) {
  size_t n = 1;
  for (; v >= 0x80; v >>= 7) ++n;
  return n;
}

std::vector<std::string> names(const std::vector<std::string>& given, const char* letter, size_t count,
                               const Site& s) {
  if (!given.empty()) {
    if (given.size() != count || std::set(given.begin(), given.end()).size() != count)
      throw Error("onnx::save: expected " + std::to_string(count) + " distinct names", s);
    return given;
  }
  if (count == 1) return {letter};
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.push_back(letter + std::to_string(i));
  return all;
}

/// Describes an input or output; extents that differ are those of the batch.
MessageWriter value_info(const std::string& name, DType t, const Shape& a, const Shape& b, int64_t rows) {
  MessageWriter shape;
  for (int i = 0; i < a.size(); ++i) {
    MessageWriter d;
    if (a[i] == b[i]) d.integer(1, a[i]);
    else if (a[i] == rows) d.text(2, "batch");
    shape.message(1, d);
  }
  const MessageWriter tensor =
      MessageWriter().integer(1, static_cast<int64_t>(data_type_of(t))).message(2, shape);
  return MessageWriter().text(1, name).message(2, MessageWriter().message(1, tensor));
}

/// Holds what a call recorded.
struct Recorded {
  std::vector<Tensor> inputs, outputs;
};

Recorded record(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& call,
                const std::vector<Tensor>& example, std::optional<int64_t> rows, const Site& s) {
  Recorded r;
  for (size_t i = 0; i < example.size(); ++i) {
    Shape shape = example[i].shape(s);
    if (rows) shape[0] = *rows;
    // An input is the output of a call, so that its views are recorded as ops.
    const jit::Handle base = zeros(ShapeArg(shape), example[i].dtype(s), example[i].device(s), s).handle();
    const jit::Handle* const one[] = {&base};
    const auto number = static_cast<int64_t>(i);
    r.inputs.emplace_back(detail::record_call(jit::intern_call(input_call(), number), one, s)[0]);
  }
  r.outputs = call(r.inputs);
  for (const Tensor& t : r.outputs)
    if (!t.defined()) throw Error("onnx::save: the model returns a tensor that holds nothing", s);
  return r;
}

/// Lays out the file: values of initializers begin at multiples of 64 bytes.
class Layout {
 public:
  explicit Layout(const std::vector<Exporter::Initializer>& all, const Site& s) {
    for (const Exporter::Initializer& i : all) {
      MessageWriter head;
      for (const int64_t n : i.value.shape(s)) head.integer(1, n);
      head.integer(2, static_cast<int64_t>(data_type_of(i.value.dtype(s)))).text(8, i.name);
      heads_.push_back(head.bytes());
      sizes_.push_back(i.value.nbytes(s));
    }
  }

  /// Returns the bytes before each initializer's values, if the first begins at a place of the file.
  std::vector<std::string> before(uint64_t at) const {
    std::vector<std::string> all;
    for (size_t i = 0; i < heads_.size(); ++i) {
      for (size_t pad = 0; pad < kAlignment; ++pad) {
        MessageWriter m;
        m.append(heads_[i]).text(12, std::string(pad, ' ')).begin(9, sizes_[i]);
        MessageWriter whole;
        whole.begin(5, m.bytes().size() + sizes_[i]).append(m.bytes());
        if ((at + whole.bytes().size()) % kAlignment && pad + 1 < kAlignment) continue;
        at += whole.bytes().size() + sizes_[i];
        all.push_back(whole.bytes());
        break;
      }
    }
    return all;
  }
  uint64_t values() const {
    uint64_t sum = 0;
    for (const uint64_t n : sizes_) sum += n;
    return sum;
  }

 private:
  std::vector<std::string> heads_;
  std::vector<uint64_t> sizes_;
};

void write(const std::filesystem::path& path, const std::vector<Exporter::Initializer>& initializers,
           const std::string& rest, const Site& s) {
  MessageWriter model;
  model.integer(1, kIrVersion).text(2, "lazy").message(8, MessageWriter().integer(2, kOpset));
  const Layout layout(initializers, s);
  for (size_t guess = 1;; ++guess) {
    const std::vector<std::string> before = layout.before(model.bytes().size() + 1 + guess);
    uint64_t size = layout.values() + rest.size();
    for (const std::string& b : before) size += b.size();
    if (size > (uint64_t{1} << 31) - 4096)
      throw Error("onnx::save: the model has " + std::to_string(size) +
                      " bytes, and a file of the format has less than 2 GiB",
                  s);
    if (varint_bytes(size) != guess) continue;
    model.begin(7, size);
    detail::NewFile file("onnx::save", path.string(), s);
    file.put(model.bytes());
    for (size_t i = 0; i < initializers.size(); ++i) {
      file.put(before[i]);
      jit::BufferRef keep;
      file.put(detail::host_bytes("onnx::save", initializers[i].value, s, keep));
    }
    file.put(rest);
    return file.finish();
  }
}

}  // namespace

void save(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& call,
          const NamedTensors& weights, const std::vector<Tensor>& example, const std::filesystem::path& path,
          const SaveOptions& options, Site s) {
  if (example.empty()) throw Error("onnx::save: the example has no tensor", s);
  // Extents of 1 are told apart from others, so numbers of rows are neither.
  constexpr int64_t kRows = 7, kOtherRows = 11;
  const bool two = options.dynamic_batch;
  for (const Tensor& t : example)
    if (two && (t.ndim(s) == 0 || t.shape(s)[0] != example[0].shape(s)[0]))
      throw ShapeError("onnx::save: inputs of a dynamic batch have axis 0 in common", s);
  const std::vector<std::string> inputs = names(options.inputs, "x", example.size(), s);
  for (const auto& [name, t] : weights) Tensor(t).eval(s);
  std::vector<Exporter::Initializer> initializers;
  std::string rest;
  {
    const no_grad scope;
    const jit::NoFlush guard;
    const quant::detail::RecordsForExport layers;
    const Recorded a = record(call, example, two ? std::optional(kRows) : std::nullopt, s);
    const Recorded b = two ? record(call, example, kOtherRows, s) : Recorded();
    if (two && a.outputs.size() != b.outputs.size())
      throw Error("onnx::save: the number of outputs depends on the batch", s);
    const std::vector<std::string> outputs = names(options.outputs, "y", a.outputs.size(), s);
    Exporter exporter(weights, inputs, kRows, kOtherRows, s);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (std::find(inputs.begin(), inputs.end(), outputs[i]) != inputs.end())
        throw Error("onnx::save: '" + outputs[i] + "' is an input and an output", s);
      exporter.add_output({a.outputs[i].handle().get(), two ? b.outputs[i].handle().get() : nullptr},
                          outputs[i]);
    }
    if (!exporter.problems().empty()) {
      std::string text = "onnx::save: the model can't be saved:";
      for (const std::string& p : exporter.problems()) text += "\n  " + p;
      throw Error(text, s);
    }
    MessageWriter graph;
    for (const MessageWriter& n : exporter.nodes()) graph.message(1, n);
    graph.text(2, "lazy");
    for (size_t i = 0; i < inputs.size(); ++i)
      graph.message(11, value_info(inputs[i], a.inputs[i].dtype(s), a.inputs[i].shape(s),
                                   (two ? b : a).inputs[i].shape(s), kRows));
    for (size_t i = 0; i < outputs.size(); ++i)
      graph.message(12, value_info(outputs[i], a.outputs[i].dtype(s), a.outputs[i].shape(s),
                                   (two ? b : a).outputs[i].shape(s), kRows));
    rest = graph.bytes();
    initializers = exporter.initializers();
  }
  write(path, initializers, rest, s);
}

}  // namespace lazy::onnx
