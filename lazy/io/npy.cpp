#include "lazy/io/npy.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"
#include "lazy/io/npy_header.hpp"
#include "lazy/io/zip.hpp"

namespace lazy {

void save(const std::string& path, TensorArg x) {
  const detail::Operand h("save", x);
  jit::BufferRef keep;
  const std::string_view elements = detail::host_bytes("save", Tensor(h), x.site(), keep);
  detail::NewFile file("save", path, x.site());
  file.put(detail::npy_header(h->dtype, h->shape));
  file.put(elements);
  file.finish();
}

Tensor load(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_npy(detail::open_file("load", path, s, detail::Access::parts), device);
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed, Site s) {
  constexpr size_t kMostName = 65000;
  for (const auto& [name, x] : tensors) {
    if (name.empty() || name.size() > kMostName)
      detail::fail<Error>(
          "save_npz",
          "a name has 1 to " + std::to_string(kMostName) + " bytes, not " + std::to_string(name.size()), s);
    if (!x.defined()) detail::throw_empty("save_npz", s);
  }
  detail::NewFile file("save_npz", path, s);
  detail::ZipWriter zip(file, "save_npz", s);
  for (const auto& [name, x] : tensors) {
    jit::BufferRef keep;
    const std::string_view elements = detail::host_bytes("save_npz", x, s, keep);
    zip.add(name + ".npy", detail::npy_header(x.dtype(s), x.shape(s)), elements, compressed);
  }
  zip.finish();
  file.finish();
}

NamedTensors load_npz(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_npz(detail::open_file("load_npz", path, s, detail::Access::parts), device);
}

namespace detail {
namespace {

/// Reads one array of an archive. What its header says is compared with what the archive says before it is
/// unpacked: a few bytes may stand for very many.
Tensor read_array(const FileBytes& f, const ZipMember& m, const MaybeDevice& device) {
  constexpr uint64_t kLengthEnds = 12;  // bytes that say where the header ends
  const FileBytes packed = packed_member(f, m);
  const uint64_t header = npy_header_end(begin_of_member(packed, m, kLengthEnds));
  const FileBytes begin = begin_of_member(packed, m, header);
  const NpyHeader h = read_npy_header(begin);
  const uint64_t bytes = checked_bytes(begin, h.data, h.shape, h.dtype);
  if (m.bytes > h.data && m.bytes - h.data > bytes)
    begin.bad(h.data, "expected " + std::to_string(bytes) + " bytes of elements, found " +
                          std::to_string(m.bytes - h.data));
  return read_npy(read_member(packed, m), device);
}

}  // namespace

NamedTensors read_npz(const FileBytes& f, const MaybeDevice& device) {
  constexpr std::string_view kNpy = "\x93NUMPY";
  f.need(0, std::min<uint64_t>(kNpy.size(), f.bytes.size()), "a ZIP file");
  if (f.bytes.starts_with(kNpy)) f.bad(0, "expected a .npz file, found a .npy file: load reads these");
  NamedTensors all;
  for (const ZipMember& m : zip_members(f)) {
    std::string name = m.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (all.contains(name)) f.bad(m.header, "'" + name + "' is there twice");
    all.set(name, read_array(f, m, device));
  }
  return all;
}

}  // namespace detail
}  // namespace lazy
