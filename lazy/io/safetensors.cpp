#include "lazy/io/safetensors.hpp"

#include <algorithm>

#include "lazy/core/build.hpp"
#include "lazy/io/safetensors_header.hpp"
#include "support/lock.hpp"

namespace lazy {
namespace {
using detail::fail;
using detail::FileBytes;
using detail::SafeEntry;

struct SafeType {
  const char* name;
  DType dtype;
};
// Narrow ones first: the format's library writes tensors in the opposite order, so that all are aligned.
constexpr SafeType kSafeTypes[] = {{"BOOL", bool_}, {"U8", uint8},     {"I8", int8},       {"I16", int16},
                                   {"U16", uint16}, {"F16", float16},  {"BF16", bfloat16}, {"I32", int32},
                                   {"U32", uint32}, {"F32", float32},  {"F64", float64},   {"I64", int64},
                                   {"U64", uint64}, {"C64", complex64}};

int rank_of(DType t) {
  return static_cast<int>(std::find_if(std::begin(kSafeTypes), std::end(kSafeTypes),
                                       [t](const SafeType& s) { return s.dtype == t; }) -
                          std::begin(kSafeTypes));
}

struct Placed {
  const SafeEntry* entry;
  DType dtype;
  Shape shape;
};

/// Checks what one entry says by itself.
Placed checked(const FileBytes& f, const SafeEntry& e) {
  constexpr uint64_t kAt = 8;  // where the header is
  const std::string who = "tensor '" + e.name + "' ";
  const auto* const t = std::find_if(std::begin(kSafeTypes), std::end(kSafeTypes),
                                     [&](const SafeType& s) { return s.name == e.dtype; });
  if (t == std::end(kSafeTypes))
    f.fail<DtypeError>(kAt, who + "has dtype '" + e.dtype + "', which no tensor has");
  if (e.offsets.size() != 2 || e.offsets[0] > e.offsets[1])
    f.bad(kAt, who + "needs two data_offsets, in order");
  std::vector<int64_t> shape;
  for (const uint64_t extent : e.shape) {
    if (extent > INT64_MAX) f.bad(kAt, who + "has an extent above 2^63 - 1");
    shape.push_back(static_cast<int64_t>(extent));
  }
  const uint64_t bytes = detail::checked_bytes(f, kAt, shape, t->dtype), found = e.offsets[1] - e.offsets[0];
  const Shape all{std::span<const int64_t>(shape)};
  if (bytes != found)
    f.bad(kAt, who + "is " + to_string(all) + " " + e.dtype + ", " + std::to_string(bytes) +
                   " bytes, but has " + std::to_string(found));
  return {&e, t->dtype, all};
}

/// Checks that the tensors lie side by side, from the header to the end of the file.
void check_places(const FileBytes& f, uint64_t data, std::vector<Placed> all) {
  std::sort(all.begin(), all.end(),
            [](const Placed& a, const Placed& b) { return a.entry->offsets < b.entry->offsets; });
  uint64_t end = 0;
  for (const Placed& p : all) {
    const uint64_t begin = p.entry->offsets[0];
    if (begin != end)
      f.bad(data + std::min<uint64_t>(begin, f.bytes.size() - data),
            "tensor '" + p.entry->name + "' begins at " + std::to_string(begin) +
                " of the values, expected " + std::to_string(end) +
                (begin < end ? ": tensors overlap" : ": bytes belong to no tensor"));
    end = p.entry->offsets[1];
  }
  f.check_within(data, end, "values");
  if (end != f.bytes.size() - data) f.bad(data + end, "bytes at the end belong to no tensor");
}

}  // namespace

namespace detail {

const char* safe_name_of(DType t) { return kSafeTypes[rank_of(t)].name; }

std::optional<DType> safe_dtype_of(std::string_view name) {
  for (const SafeType& t : kSafeTypes)
    if (t.name == name) return t.dtype;
  return {};
}

Safetensors read_safetensors(const FileBytes& f, const MaybeDevice& device) {
  SafeHeader h = read_safe_header(f);
  std::vector<Placed> all;
  for (const SafeEntry& e : h.entries) all.push_back(checked(f, e));
  check_places(f, h.data, all);
  Safetensors r;
  r.metadata = std::move(h.metadata);
  for (const Placed& p : all)
    r.set(p.entry->name, shared_value(f, h.data + p.entry->offsets[0], p.dtype, p.shape, device));
  return r;
}

}  // namespace detail

Safetensors load_safetensors(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_safetensors(detail::open_file("load_safetensors", path, s, detail::Access::mapped),
                                  device);
}

void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata, Site s) {
  detail::write_safetensors("save_safetensors", path, tensors, metadata, false, s);
}

void detail::write_safetensors(const char* op, const std::string& path, const NamedTensors& tensors,
                               const std::map<std::string, std::string>& metadata, bool durable,
                               const Site& s) {
  std::vector<const NamedTensors::Entry*> all;
  for (const NamedTensors::Entry& e : tensors) {
    if (e.first == "__metadata__") fail<Error>(op, "no tensor may have the name __metadata__", s);
    if (!e.second.defined()) detail::throw_empty(op, s);
    if (e.second.dtype(s) == complex128)
      fail<DtypeError>(
          op, "the format has no complex128, which " + e.first + " is: save view_as_real() of it", s);
    all.push_back(&e);
  }
  std::sort(all.begin(), all.end(), [&](const auto* a, const auto* b) {
    const int i = rank_of(a->second.dtype()), j = rank_of(b->second.dtype());
    return i != j ? i > j : a->first < b->first;
  });
  std::string header = "{";
  if (!metadata.empty()) {
    for (const auto& [key, text] : metadata)
      header += (header == "{" ? "\"__metadata__\":{" : ",") + detail::json_text(op, key, s) + ":" +
                detail::json_text(op, text, s);
    header += "}";
  }
  uint64_t at = 0;
  for (const auto* e : all) {
    const uint64_t end = at + e->second.nbytes(s);
    std::string extents;
    for (const int64_t n : e->second.shape(s)) extents += (extents.empty() ? "" : ",") + std::to_string(n);
    header += (header == "{" ? "" : ",") + detail::json_text(op, e->first, s) + ":{\"dtype\":\"" +
              kSafeTypes[rank_of(e->second.dtype())].name + "\",\"shape\":[" + extents +
              "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "]}";
    at = end;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  detail::NewFile file(op, path, s);
  std::string length;
  detail::put_little(length, static_cast<uint64_t>(header.size()));
  file.put(length);
  file.put(header);
  for (const auto* e : all) {
    jit::BufferRef keep;
    file.put(detail::host_bytes(op, e->second, s, keep));
  }
  file.finish(durable);
}

struct ShardedSafetensors::State {
  std::map<std::string, std::string> files;  // by tensor
  std::string path, folder;                  // of the index
  MaybeDevice device;
  Mutex mutex;  // guards `open`
  std::map<std::string, Safetensors> open;
};

std::vector<std::string> ShardedSafetensors::names() const {
  std::vector<std::string> all;
  if (state_)
    for (const auto& [name, file] : state_->files) all.push_back(name);
  return all;
}

size_t ShardedSafetensors::size() const noexcept { return state_ ? state_->files.size() : 0; }

bool ShardedSafetensors::contains(std::string_view name) const {
  return state_ && state_->files.contains(std::string(name));
}

size_t ShardedSafetensors::opened() const {
  if (!state_) return 0;
  const Hold lock(state_->mutex);
  return state_->open.size();
}

Tensor ShardedSafetensors::at(std::string_view name, Site s) const {
  if (!contains(name)) fail<IndexError>("at", "the index has no '" + std::string(name) + "'", s);
  const std::string& file = state_->files.at(std::string(name));
  const Hold lock(state_->mutex);
  auto shard = state_->open.find(file);
  if (shard == state_->open.end())
    shard = state_->open.emplace(file, load_safetensors(state_->folder + file, state_->device, s)).first;
  if (!shard->second.contains(name))
    fail<IoError>(
        "at", state_->folder + file + ": expected '" + std::string(name) + "', as " + state_->path + " says",
        s);
  return shard->second.at(name, s);
}

ShardedSafetensors load_safetensors_index(const std::string& path, MaybeDevice device, Site s) {
  const FileBytes f = detail::open_file("load_safetensors_index", path, s);
  auto state = std::make_shared<ShardedSafetensors::State>();
  state->files = detail::read_safe_index(f);
  state->path = path;
  const size_t slash = path.rfind('/');
  state->folder = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  state->device = device;
  ShardedSafetensors r;
  r.state_ = std::move(state);
  return r;
}

}  // namespace lazy
