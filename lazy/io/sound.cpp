#include "lazy/io/sound.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazy/core/build.hpp"
#include "lazy/io/file.hpp"
#include "lazy/io/sound_bytes.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::detail {
namespace {

enum Form : uint16_t { kPcm = 1, kFloat = 3, kExtensible = 0xfffe };

struct Format {
  uint16_t form = 0, channels = 0, bits = 0;
  uint32_t rate = 0;
  bool known() const {
    return channels > 0 &&
           (form == kFloat ? bits == 32
                           : form == kPcm && (bits == 8 || bits == 16 || bits == 24 || bits == 32));
  }
};

Format format_at(const FileBytes& f, uint64_t at, uint64_t size) {
  constexpr uint64_t kLeast = 16, kWithExtension = 26;
  f.need(at, std::max(size, kLeast), "the format of the samples");
  Format found{f.little<uint16_t>(at), f.little<uint16_t>(at + 2), f.little<uint16_t>(at + 14),
               f.little<uint32_t>(at + 4)};
  // An extension begins with its size, the bits that count and a mask of speakers.
  if (found.form == kExtensible)
    found.form = size >= kWithExtension ? f.little<uint16_t>(at + 24) : uint16_t{kPcm};
  if (!found.known())
    f.bad(at, "expected PCM of 8, 16, 24 or 32 bits, or float32, found form " + std::to_string(found.form) +
                  " of " + std::to_string(found.bits) + " bits and " + std::to_string(found.channels) +
                  " channels");
  return found;
}

float sample_at(const FileBytes& f, const Format& format, uint64_t at) {
  if (format.form == kFloat) return f.little<float>(at);
  switch (format.bits) {
    case 8: return (static_cast<float>(static_cast<uint8_t>(f.bytes[at])) - 128) / 128;
    case 16: return static_cast<float>(f.little<int16_t>(at)) / 32768;
    case 24: {
      const auto low = f.little<uint16_t>(at);
      const auto high = static_cast<int8_t>(f.bytes[at + 2]);
      return static_cast<float>(high * 65536 + low) / 8388608;
    }
    default: return static_cast<float>(f.little<int32_t>(at)) / 2147483648.0f;
  }
}

}  // namespace

Sound read_wav(const FileBytes& f, const MaybeDevice& device) {
  if (f.bytes.size() < 12 || f.bytes.substr(0, 4) != "RIFF" || f.bytes.substr(8, 4) != "WAVE")
    f.bad(0, "expected a .wav file");
  std::optional<Format> format;
  for (uint64_t at = 12; at + 8 <= f.bytes.size();) {
    const std::string_view kind = f.bytes.substr(at, 4);
    const uint64_t size = f.little<uint32_t>(at + 4), begin = at + 8;
    if (kind == "fmt ") {
      format = format_at(f, begin, size);
    } else if (kind == "data") {
      if (!format) f.bad(at, "expected the format before the samples");
      // Programs that write to a pipe don't know the size; then samples go to the end of the file.
      const uint64_t each = format->bits / 8u, frame = each * format->channels,
                     count = std::min<uint64_t>(size, f.bytes.size() - begin) / frame;
      std::vector<float> samples(count * format->channels);
      for (uint64_t c = 0; c < format->channels; ++c)
        for (uint64_t i = 0; i < count; ++i)
          samples[c * count + i] = sample_at(f, *format, begin + i * frame + c * each);
      const Shape shape{format->channels, static_cast<int64_t>(count)};
      return {from_span(std::span<const float>(samples), ShapeArg(shape), device, f.site), format->rate};
    }
    at = begin + size + (size & 1);
  }
  f.bad(f.bytes.size(), "expected samples, found none");
}

}  // namespace lazy::detail

namespace lazy {

Sound read_wav(const std::string& path, MaybeDevice device, Site s) {
  return detail::read_wav(detail::open_file("read_wav", path, s), device);
}

void write_wav(const std::string& path, TensorArg x, int64_t rate) {
  using namespace detail;
  constexpr const char* kName = "write_wav";
  const Operand h(kName, x);
  const Shape& shape = h->shape;
  const int64_t channels = shape.size() == 2 ? shape[0] : 1;
  if ((shape.size() != 1 && shape.size() != 2) || channels < 1 || channels > 65535)
    fail<ShapeError>(kName, "samples are (samples) or (channels, samples), not " + to_string(shape),
                     x.site());
  if (h->dtype != int16 && !is_float(h->dtype))
    fail<DtypeError>(kName, std::string("samples are of floating point or int16, not ") + name_of(h->dtype),
                     x.site());
  if (rate < 1 || rate > INT32_MAX)
    fail<Error>(kName, "a rate of " + std::to_string(rate) + " samples a second", x.site());
  const bool whole = h->dtype == int16;
  jit::BufferRef keep;
  const std::string_view bytes =
      host_bytes(kName, Tensor(whole ? Handle(h) : cast(h, float32, x.site())), x.site(), keep);
  const int64_t count = shape.back();
  std::string data;
  data.reserve(static_cast<size_t>(2 * channels * count));
  const auto sample = [&](int64_t at) -> int16_t {
    if (whole) {
      int16_t v;
      std::memcpy(&v, bytes.data() + at * 2, sizeof v);
      return v;
    }
    float v;
    std::memcpy(&v, bytes.data() + at * 4, sizeof v);
    return std::isnan(v) ? int16_t{0}
                         : static_cast<int16_t>(std::lrint(std::clamp(v * 32768.0f, -32768.0f, 32767.0f)));
  };
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < channels; ++c) put_little(data, sample(c * count + i));
  if (data.size() > UINT32_MAX - 36)
    fail<ShapeError>(kName, "more samples than a .wav file can have: " + to_string(shape), x.site());
  std::string head = "RIFF";
  put_little(head, static_cast<uint32_t>(36 + data.size()));
  head += "WAVEfmt ";
  put_little(head, uint32_t{16});
  put_little(head, uint16_t{kPcm});
  put_little(head, static_cast<uint16_t>(channels));
  put_little(head, static_cast<uint32_t>(rate));
  put_little(head, static_cast<uint32_t>(rate * channels * 2));
  put_little(head, static_cast<uint16_t>(channels * 2));
  put_little(head, uint16_t{16});
  head += "data";
  put_little(head, static_cast<uint32_t>(data.size()));
  NewFile file(kName, path, x.site());
  file.put(head);
  file.put(data);
  file.finish();
}

}  // namespace lazy
