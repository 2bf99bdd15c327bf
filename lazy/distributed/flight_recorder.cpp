#include "lazy/distributed/flight_recorder.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "jit/core/dtype.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "support/config.hpp"

namespace lazy::distributed::detail {

std::string describe(const Announcement& a) {
  const Kind kind = static_cast<Kind>(a.kind);
  std::string text = name_of(kind);
  if (a.elements || kind != Kind::barrier)
    text += " of " + std::to_string(a.elements) + " x " + lazy::name_of(static_cast<DType>(a.dtype));
  if (a.reduction) text += std::string(", ") + name_of(static_cast<ReduceOp>(a.reduction));
  if (kind == Kind::broadcast) text += ", rank " + std::to_string(a.root);
  else if (kind == Kind::send) text += " to rank " + std::to_string(a.root);
  else if (kind == Kind::recv) text += " from rank " + std::to_string(a.root);
  else if (kind == Kind::shift) text += " by " + std::to_string(a.root);
  if (const int32_t n = a.place % Announcement::kAdds)
    text += n == 1 ? ", on a GPU" : ", on its GPU number " + std::to_string(n);
  if (a.place >= Announcement::kAdds) text += ", which adds up itself (LAZY_COMM_SUMS=any)";
  if (a.group) text += ", group " + std::to_string(a.group);
  return text + ", its number " + std::to_string(a.sequence + 1) + ", at " + std::string(a.line);
}

uint64_t FlightRecorder::begin(const Announcement& a) {
  const std::lock_guard lock(mutex_);
  Flight& f = flights_[count_ % kMost];
  f.what = a, f.begin = Clock::now(), f.end = {}, f.state = Flight::State::running;
  return count_++;
}

uint64_t FlightRecorder::end(uint64_t number, bool good) {
  const std::lock_guard lock(mutex_);
  Flight& f = flights_[number % kMost];
  f.end = Clock::now(), f.state = good ? Flight::State::done : Flight::State::failed;
  return static_cast<uint64_t>(std::chrono::nanoseconds(f.end - f.begin).count());
}

std::string FlightRecorder::text(int rank, int size, const char* engine) const {
  const std::lock_guard lock(mutex_);
  const auto us = [&](Clock::time_point t) {
    return std::chrono::duration_cast<std::chrono::microseconds>(t - start_).count();
  };
  nlohmann::ordered_json all = {{"rank", rank}, {"world_size", size}, {"engine", engine}, {"count", count_}};
  auto& list = all["collectives"] = nlohmann::ordered_json::array();
  for (uint64_t n = count_ > kMost ? count_ - kMost : 0; n < count_; ++n) {
    const Flight& f = flights_[n % kMost];
    const auto kind = static_cast<Kind>(f.what.kind);
    nlohmann::ordered_json one = {
        {"number", f.what.sequence + 1}, {"group", f.what.group},
        {"kind", name_of(kind)},         {"dtype", lazy::name_of(static_cast<DType>(f.what.dtype))},
        {"elements", f.what.elements},   {"line", f.what.line},
        {"begin_us", us(f.begin)}};
    if (f.what.place) one["gpu"] = f.what.place % Announcement::kAdds;
    if (f.what.reduction) one["reduction"] = name_of(static_cast<ReduceOp>(f.what.reduction));
    if (f.state != Flight::State::running) one["end_us"] = us(f.end);
    one["state"] = f.state == Flight::State::running ? "running"
                   : f.state == Flight::State::done  ? "done"
                                                     : "failed";
    list.push_back(std::move(one));
  }
  return all.dump(1) + "\n";
}

void FlightRecorder::write(int rank, int size, const char* engine, bool asked) const noexcept {
  try {
    const std::string folder = config::get().dump_dir;
    if (folder.empty() && asked) std::fputs(text(rank, size, engine).c_str(), stderr);
    if (folder.empty()) return;
    std::ofstream(folder + "/collectives_" + std::to_string(rank) + ".json") << text(rank, size, engine);
  } catch (const std::exception&) {}  // the error that is being reported matters more
}

}  // namespace lazy::distributed::detail
