#include "lazy/io/npy.hpp"

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
  return detail::read_npy(detail::open_file("load", path, s), device);
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
  return detail::read_npz(detail::open_file("load_npz", path, s), device);
}

namespace detail {

NamedTensors read_npz(const FileBytes& f, const MaybeDevice& device) {
  if (f.bytes.starts_with("\x93NUMPY")) f.bad(0, "expected a .npz file, found a .npy file: load reads these");
  NamedTensors all;
  for (const ZipMember& m : zip_members(f)) {
    std::string name = m.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (all.contains(name)) f.bad(m.header, "'" + name + "' is there twice");
    all.set(name, read_npy(read_member(f, m), device));
  }
  return all;
}

}  // namespace detail
}  // namespace lazy
