#include <bit>

#include "lazy/pretrained/gguf/state.hpp"
#include "support/text.hpp"

namespace lazy::gguf {
namespace {
using lazy::detail::FileBytes;

constexpr uint64_t kMostKeys = 100'000, kMostTensors = 100'000;
constexpr int kMostDepth = 8;  // of lists in lists
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kMostAlignment = uint64_t{1} << 20;
constexpr uint32_t kKinds = 13;

/// Returns the bytes of a number; 0 for texts and lists.
uint64_t size_of_kind(Kind k) {
  switch (k) {
    case Kind::uint8:
    case Kind::int8:
    case Kind::boolean: return 1;
    case Kind::uint16:
    case Kind::int16: return 2;
    case Kind::uint32:
    case Kind::int32:
    case Kind::float32: return 4;
    case Kind::uint64:
    case Kind::int64:
    case Kind::float64: return 8;
    case Kind::text:
    case Kind::list: break;
  }
  return 0;
}

constexpr uint64_t kTextHead = 8, kListHead = 12;  // bytes before the characters, before the elements

}  // namespace

/// Goes through a file from its start, and checks each size before it is used.
class Reader {
 public:
  Reader(std::shared_ptr<State> state) : state_(std::move(state)), file_(state_->file) {}
  void read();

 private:
  template <class T>
  T number(const char* what) {
    file_.need(at_, sizeof(T), what);
    const T v = file_.little<T>(at_);
    at_ += sizeof(T);
    return v;
  }
  std::string_view text(const char* what) {
    const uint64_t begin = at_, length = number<uint64_t>(what);
    if (length > file_.bytes.size() - at_)
      file_.bad(begin, std::string(what) + " of " + std::to_string(length) + " bytes goes beyond the end");
    at_ += length;
    return file_.bytes.substr(at_ - length, length);
  }
  Kind kind() {
    const uint64_t begin = at_;
    const auto k = number<uint32_t>("a type");
    if (k >= kKinds) file_.bad(begin, "expected a type of metadata, 0 to 12, found " + std::to_string(k));
    return static_cast<Kind>(k);
  }
  void skip(Kind, int depth);
  void skip_elements(Kind, uint64_t count, int depth);
  void list_head(Kind& element, uint64_t& count);
  void read_metadata(uint64_t count);
  void read_tensor(uint64_t& data_end, uint64_t aligned);
  uint64_t alignment() const;
  Shape dimensions(const std::string& name, uint64_t& elements);

  friend class Value;
  std::shared_ptr<State> state_;
  const FileBytes& file_;
  uint64_t at_ = 0;
};

void Reader::list_head(Kind& element, uint64_t& count) {
  const uint64_t begin = at_;
  element = kind();
  count = number<uint64_t>("the length of a list");
  const uint64_t least = element == Kind::text   ? kTextHead
                         : element == Kind::list ? kListHead
                                                 : size_of_kind(element);
  if (count > (file_.bytes.size() - at_) / least)
    file_.bad(begin, "a list of " + std::to_string(count) + " elements goes beyond the end");
}

void Reader::skip_elements(Kind element, uint64_t count, int depth) {
  if (const uint64_t size = size_of_kind(element)) {
    at_ += count * size;  // which list_head() has seen to be there
    return;
  }
  for (uint64_t i = 0; i < count; ++i) skip(element, depth);
}

void Reader::skip(Kind k, int depth) {
  if (k == Kind::text) {
    (void)text("a text");
  } else if (k == Kind::list) {
    if (depth >= kMostDepth)
      file_.bad(at_, "lists lie in each other more than " + std::to_string(kMostDepth) + " deep");
    Kind element;
    uint64_t count;
    list_head(element, count);
    skip_elements(element, count, depth + 1);
  } else {
    file_.need(at_, size_of_kind(k), "a number");
    at_ += size_of_kind(k);
  }
}

void Reader::read_metadata(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = at_;
    Value v;
    v.of_ = state_->bytes;
    v.key_ = text("a key");
    v.kind_ = kind();
    v.begin_ = at_;
    if (v.is_list()) {
      list_head(v.element_, v.count_);
      v.begin_ = at_;
      skip_elements(v.element_, v.count_, 1);
    } else {
      skip(v.kind_, 0);
    }
    const std::string key = v.key_;
    if (!state_->keys.emplace(key, state_->metadata.size()).second)
      file_.bad(begin, "the key " + text::quoted(key) + " is there twice");
    state_->metadata.emplace_back(key, std::move(v));
  }
}

uint64_t Reader::alignment() const {
  constexpr uint64_t kUsual = 32;
  const auto at = state_->keys.find("general.alignment");
  if (at == state_->keys.end()) return kUsual;
  const Value& v = state_->metadata[at->second].second;
  if (v.kind_ != Kind::uint32) file_.bad(v.begin_, "expected general.alignment to be a uint32");
  const auto a = file_.little<uint32_t>(v.begin_);
  if (!std::has_single_bit(a) || a > kMostAlignment)
    file_.bad(v.begin_,
              "expected general.alignment to be a power of two up to 2^20, found " + std::to_string(a));
  return a;
}

Shape Reader::dimensions(const std::string& name, uint64_t& elements) {
  const uint64_t begin = at_;
  const auto count = number<uint32_t>("a number of dimensions");
  if (count > kMostDimensions)
    file_.bad(begin, text::quoted(name) + " has " + std::to_string(count) + " dimensions, expected up to 4");
  uint64_t extents[kMostDimensions];
  elements = 1;
  for (uint32_t i = 0; i < count; ++i) {
    extents[i] = number<uint64_t>("an extent");
    if (extents[i] == 0 || extents[i] > INT64_MAX ||
        __builtin_mul_overflow(elements, extents[i], &elements) || elements > INT64_MAX / sizeof(double))
      file_.bad(begin, text::quoted(name) + " has no elements, or more than can be addressed");
  }
  Shape shape;
  for (uint32_t i = count; i-- > 0;) shape.push_back(static_cast<int64_t>(extents[i]));
  return shape;
}

void Reader::read_tensor(uint64_t& data_end, uint64_t aligned) {
  TensorInfo t;
  const uint64_t begin = at_;
  t.name = text("the name of a tensor");
  uint64_t elements = 0;
  t.shape = dimensions(t.name, elements);
  const uint64_t type_at = at_;
  t.type = static_cast<TensorType>(number<uint32_t>("a tensor's type"));
  const Block* const block = block_of(t.type);
  if (!block)
    file_.fail<Error>(type_at, text::quoted(t.name) + " has type " +
                                   std::to_string(static_cast<uint32_t>(t.type)) +
                                   ", which is not supported");
  const uint64_t row = t.shape.empty() ? 1 : static_cast<uint64_t>(t.shape.back());
  if (row % block->elements != 0)
    file_.bad(begin, text::quoted(t.name) + " has rows of " + std::to_string(row) +
                         " elements, which blocks of " + std::to_string(block->elements) + " (" +
                         block->name + ") don't divide");
  if (__builtin_mul_overflow(elements / block->elements, uint64_t{block->bytes}, &t.bytes))
    file_.bad(begin, text::quoted(t.name) + " has more bytes than can be addressed");
  const uint64_t offset_at = at_;
  t.offset = number<uint64_t>("a tensor's offset");
  if (t.offset != data_end)
    file_.bad(offset_at, text::quoted(t.name) + " begins at " + std::to_string(t.offset) +
                             " of the values, expected " + std::to_string(data_end));
  const uint64_t size = file_.bytes.size();
  if (t.bytes > size || t.offset > size || t.offset + t.bytes > size)
    file_.bad(offset_at,
              text::quoted(t.name) + " has " + std::to_string(t.bytes) + " bytes, which go beyond the end");
  data_end = (t.offset + t.bytes + aligned - 1) / aligned * aligned;
  if (!state_->names.emplace(t.name, state_->tensors.size()).second)
    file_.bad(begin, "the tensor " + text::quoted(t.name) + " is there twice");
  state_->tensors.push_back(std::move(t));
}

void Reader::read() {
  constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
  const uint64_t size = file_.bytes.size();
  if (size < sizeof kMagic || number<uint32_t>("the magic number") != kMagic)
    file_.bad(0, "expected a GGUF file, which begins with 'GGUF'");
  const auto version = number<uint32_t>("a version");
  if (version != 2 && version != 3)
    file_.fail<Error>(sizeof kMagic, "version " + std::to_string(version) +
                                         ((version & 0xffff) == 0 ? " (of big-endian numbers)" : "") +
                                         " is not supported; supported: 2, 3");
  const uint64_t counts_at = at_;
  const auto tensors = number<uint64_t>("the number of tensors"),
             keys = number<uint64_t>("the number of keys");
  if (tensors > kMostTensors || keys > kMostKeys)
    file_.bad(counts_at,
              std::to_string(tensors) + " tensors and " + std::to_string(keys) + " keys are above 100000");
  read_metadata(keys);
  uint64_t data_end = 0;
  const uint64_t aligned = alignment();
  for (uint64_t i = 0; i < tensors; ++i) read_tensor(data_end, aligned);
  const uint64_t data = (at_ + aligned - 1) / aligned * aligned;
  for (TensorInfo& t : state_->tensors) {
    t.offset += data;
    file_.check_within(t.offset, t.bytes, "values");
  }
}

std::shared_ptr<const State> read_state(const FileBytes& file) {
  const auto state = std::make_shared<State>(file);
  Reader(state).read();
  return state;
}

}  // namespace lazy::gguf
