#include "lazy/data/files.hpp"

#include <filesystem>

#include "lazy/data/files_bytes.hpp"
#include "lazy/io/gzip.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/joining.hpp"

namespace lazy::data {
namespace {

using detail::FileBytes;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// Opens the first of these files that there is, or the first so that its error is thrown.
FileBytes open_one_of(const char* op, const std::vector<std::string>& paths, const Site& s) {
  for (const std::string& p : paths)
    if (is_file(p)) return lazy::detail::open_file(op, p, s);
  return lazy::detail::open_file(op, paths[0], s);
}

Tensor joined(const std::vector<Tensor>& parts, const Site& s) {
  const Tensor all = concat(parts, 0, s);
  all.eval(s);
  return all;
}

TensorDataset cifar(const std::vector<std::string>& paths, const char* op, size_t labels, size_t label,
                    int classes, const Site& s) {
  std::vector<Tensor> x, y;
  for (const std::string& p : paths) {
    Batch b = detail::read_cifar(lazy::detail::open_file(op, p, s), labels, label, classes);
    x.push_back(std::move(b.x));
    y.push_back(std::move(b.y));
  }
  return TensorDataset(joined(x, s), joined(y, s), s);
}

}  // namespace

namespace detail {

namespace {

struct IdxHeader {
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, bytes;  // of the elements in the file
};

IdxHeader read_idx_header(const FileBytes& f) {
  constexpr uint64_t kMagic = 4;
  f.need(0, kMagic, "an IDX header");
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(f.bytes[i]); };
  if (byte(0) || byte(1)) f.bad(0, "expected two zeros, as an IDX file begins");
  constexpr struct {
    uint8_t code;
    DType dtype;
  } kTypes[] = {{8, uint8}, {9, int8}, {11, int16}, {12, int32}, {13, float32}, {14, float64}};
  const auto* const type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto t) { return t.code == byte(2); });
  if (type == std::end(kTypes)) f.bad(2, "there is no IDX type " + std::to_string(byte(2)));
  const size_t rank = byte(3);
  f.need(kMagic, 4 * rank, "extents");
  IdxHeader h{type->dtype, {}, kMagic + 4 * rank, 0};
  for (size_t i = 0; i < rank; ++i) h.shape.push_back(f.big32(kMagic + 4 * i));
  h.bytes = lazy::detail::checked_bytes(f, kMagic, h.shape, h.dtype);
  return h;
}

}  // namespace

Tensor read_idx(const FileBytes& packed) {
  // The header says how much a file packed by gzip may unpack to.
  constexpr uint64_t kMostHeader = 4 + 4 * 255;
  const IdxHeader h = read_idx_header(lazy::detail::unpacked(packed, kMostHeader));
  const uint64_t end = h.begin + h.bytes;
  const FileBytes f = lazy::detail::unpacked(packed, end + 1);
  f.need(h.begin, h.bytes, "elements");
  if (f.bytes.size() > end) f.bad(end, "bytes at the end belong to no element");
  return lazy::detail::copied_value(f, h.begin, h.dtype, Shape(std::span<const int64_t>(h.shape)), false,
                                    size_of(h.dtype) > 1, {});
}

Batch read_cifar(const FileBytes& f, size_t labels, size_t label, int classes) {
  constexpr size_t kPixels = 3 * 32 * 32;
  const size_t record = labels + kPixels, n = f.bytes.size() / record;
  if (f.bytes.empty() || f.bytes.size() % record != 0)
    f.bad(n * record, "expected records of " + std::to_string(record) + " bytes, " +
                          std::to_string(f.bytes.size() % record) + " are left");
  const std::shared_ptr<char[]> pixels(new char[n * kPixels]);
  std::vector<int64_t> y(n);
  for (size_t i = 0; i < n; ++i) {
    const auto* const at = f.bytes.data() + i * record;
    y[i] = static_cast<uint8_t>(at[label]);
    if (y[i] >= classes)
      f.bad(i * record + label, "class " + std::to_string(y[i]) + " of " + std::to_string(classes));
    std::memcpy(pixels.get() + i * kPixels, at + labels, kPixels);
  }
  const Shape shape{static_cast<int64_t>(n), 3, 32, 32};
  return {from_blob(
              pixels.get(), ShapeArg(shape), uint8, {}, [pixels](void*) {}, {}, f.site),
          from_span(y, {}, f.site)};
}

}  // namespace detail

Tensor read_idx(const std::string& path, Site s) {
  return detail::read_idx(lazy::detail::open_file("read_idx", path, s));
}

TensorDataset mnist(const std::string& folder, bool train, Site s) {
  const auto read = [&](const std::string& what, int rank) {
    const std::string base = folder + "/" + (train ? "train" : "t10k") + "-" + what, i = std::to_string(rank);
    const FileBytes f = open_one_of(
        "mnist",
        {base + "-idx" + i + "-ubyte", base + "-idx" + i + "-ubyte.gz", base + ".idx" + i + "-ubyte"}, s);
    Tensor x = detail::read_idx(f);
    if (x.dtype() != uint8 || x.ndim() != rank)
      f.bad(0, "expected uint8 of rank " + i + ", found " + name_of(x.dtype()) + " " + to_string(x.shape()));
    return std::pair(std::move(x), f);
  };
  const auto [x, pictures] = read("images", 3);
  const auto [y, labels] = read("labels", 1);
  if (x.size(0) != y.size(0))
    labels.bad(4, "expected " + std::to_string(x.size(0)) + " labels, as there are pictures, found " +
                      std::to_string(y.size(0)));
  return TensorDataset(x, y.astype(int64, s), s);
}

Batch read_cifar10(const std::string& path, Site s) {
  return detail::read_cifar(lazy::detail::open_file("read_cifar10", path, s), 1, 0, 10);
}

Batch read_cifar100(const std::string& path, bool coarse, Site s) {
  return detail::read_cifar(lazy::detail::open_file("read_cifar100", path, s), 2, coarse ? 0 : 1,
                            coarse ? 20 : 100);
}

TensorDataset cifar10(const std::string& folder, bool train, Site s) {
  std::vector<std::string> paths;
  for (int i = 1; train && i <= 5; ++i) paths.push_back(folder + "/data_batch_" + std::to_string(i) + ".bin");
  if (!train) paths.push_back(folder + "/test_batch.bin");
  return cifar(paths, "cifar10", 1, 0, 10, s);
}

TensorDataset cifar100(const std::string& folder, bool train, bool coarse, Site s) {
  return cifar({folder + (train ? "/train.bin" : "/test.bin")}, "cifar100", 2, coarse ? 0 : 1,
               coarse ? 20 : 100, s);
}

}  // namespace lazy::data
