#include "lazy/training/event_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "lazy/io/image_bytes.hpp"
#include "lazy/training/tfrecord.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace lazy::training {
namespace detail {
namespace {

constexpr auto kCrc = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) ? 0x82f63b78u : 0u);
    table[i] = c;
  }
  return table;
}();

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t c = ~0u;
  for (const char b : bytes) c = (c >> 8) ^ kCrc[(c ^ static_cast<uint8_t>(b)) & 0xff];
  return ~c;
}

std::string record_of(std::string_view bytes) {
  std::string r;
  put(r, static_cast<uint64_t>(bytes.size()));
  put(r, masked(crc32c(r)));
  r += bytes;
  put(r, masked(crc32c(bytes)));
  return r;
}

enum WireType { kVarint = 0, k64 = 1, kLength = 2, k32 = 5 };

void Message::varint(uint64_t v) {
  for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
  bytes_ += static_cast<char>(v);
}
Message& Message::number(int field, uint64_t v) { return tag(field, kVarint), varint(v), *this; }
Message& Message::real(int field, double v) { return tag(field, k64), put(bytes_, v), *this; }
Message& Message::single(int field, float v) { return tag(field, k32), put(bytes_, v), *this; }
Message& Message::text(int field, std::string_view v) {
  tag(field, kLength);
  varint(v.size());
  bytes_ += v;
  return *this;
}
Message& Message::reals(int field, const double* v, size_t count) {
  return text(field, {reinterpret_cast<const char*>(v), count * sizeof *v});
}

}  // namespace detail

namespace {

using detail::Message;

// Fields of tensorflow.Event, Summary, Summary.Value, Summary.Image and HistogramProto (event.proto,
// summary.proto, histogram.proto).
namespace event {
enum { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
}
namespace summary {
enum { kValue = 1 };
}
namespace value {
enum { kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5 };
}
namespace image {
enum { kHeight = 1, kWidth = 2, kColourSpace = 3, kEncoded = 4 };
}
namespace histogram {
enum { kMin = 1, kMax = 2, kCount = 3, kSum = 4, kSumOfSquares = 5, kLimits = 6, kCounts = 7 };
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "host";
}

/// Returns the limits of buckets: up to 1e20 in either direction, each a tenth larger than the one before, as
/// TensorFlow's are.
const std::vector<double>& bucket_limits() {
  static const std::vector<double>& limits = *[] {
    std::vector<double> positive, all;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) all.push_back(-*v);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return new std::vector<double>(std::move(all));
  }();
  return limits;
}

Message histogram_of(const std::vector<double>& values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  double least = HUGE_VAL, most = -HUGE_VAL, n = 0, sum = 0, squares = 0;
  for (const double v : values) {
    if (std::isnan(v)) continue;
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), v) - limits.begin();
    ++counts[std::min(static_cast<size_t>(bucket), limits.size() - 1)];
    least = std::min(least, v), most = std::max(most, v);
    n += 1, sum += v, squares += v * v;
  }
  // Runs of empty buckets become one.
  std::vector<double> kept_limits, kept_counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0 && i + 1 < counts.size() && counts[i + 1] == 0) continue;
    kept_limits.push_back(limits[i]);
    kept_counts.push_back(counts[i]);
  }
  Message m;
  m.real(histogram::kMin, n > 0 ? least : 0).real(histogram::kMax, n > 0 ? most : 0);
  m.real(histogram::kCount, n).real(histogram::kSum, sum).real(histogram::kSumOfSquares, squares);
  m.reals(histogram::kLimits, kept_limits.data(), kept_limits.size());
  return m.reals(histogram::kCounts, kept_counts.data(), kept_counts.size());
}

}  // namespace

struct EventWriter::State {
  std::string path;
  files::Output out;
  bool torn = false;  // part of an event is at the end: no reader would get to one behind it

  [[noreturn]] void fail(int error, const Site& s) const {
    throw IoError("EventWriter: cannot write " + path + ": " + std::generic_category().message(error), s);
  }
  void put(const Message& event, const Site& s) {
    const std::string record = detail::record_of(event.bytes());
    if (torn) throw IoError("EventWriter: " + path + " ends with a part of an event that failed", s);
    if (!files::write_record(out.fd(), record.data(), record.size(), torn)) fail(errno, s);
  }
  void put(const Message& value, int64_t step, const Site& s) {
    Message all, e;
    all.text(summary::kValue, value.bytes());
    e.real(event::kWallTime, now()).number(event::kStep, static_cast<uint64_t>(step));
    put(e.text(event::kSummary, all.bytes()), s);
  }
};

EventWriter::EventWriter(const std::string& folder, Site s) {
  static std::atomic<int> next{0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError("EventWriter: cannot make " + folder + ": " + error.message(), s);
  const double time = now();
  std::string path = folder + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(time)) + "." +
                     host_name() + "." + std::to_string(::getpid()) + "." + std::to_string(next++);
  files::Output out(path);
  const int open_error = errno;
  const bool open = out.is_open();
  state_.reset(new State{std::move(path), std::move(out)});
  if (!open) state_->fail(open_error, s);
  state_->put(Message().real(event::kWallTime, time).text(event::kFileVersion, "brain.Event:2"), s);
}

EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter::~EventWriter() = default;

const std::string& EventWriter::path() const noexcept { return state_->path; }

void EventWriter::add_scalar(const std::string& tag, double v, int64_t step, Site s) {
  Message m;
  m.text(value::kTag, tag).single(value::kSimpleValue, static_cast<float>(v));
  state_->put(m, step, s);
}

void EventWriter::add_scalar(const std::string& tag, const Tensor& v, int64_t step, Site s) {
  add_scalar(tag, v.item<double>(s), step, s);
}

void EventWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t step, Site s) {
  Message m;
  m.text(value::kTag, tag).text(value::kHistogram, histogram_of(values.to_vector<double>(s)).bytes());
  state_->put(m, step, s);
}

void EventWriter::add_image(const std::string& tag, const Tensor& picture, int64_t step, Site s) {
  const std::string png = lazy::detail::png_bytes("add_image", TensorArg(picture, s));
  const Shape shape = picture.shape(s);
  Message i, m;
  i.number(image::kHeight, static_cast<uint64_t>(shape[0]))
      .number(image::kWidth, static_cast<uint64_t>(shape[1]));
  i.number(image::kColourSpace, static_cast<uint64_t>(shape.size() == 3 ? shape[2] : 1))
      .text(image::kEncoded, png);
  m.text(value::kTag, tag).text(value::kImage, i.bytes());
  state_->put(m, step, s);
}

}  // namespace lazy::training
