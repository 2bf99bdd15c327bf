#include "lazy/training/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "lazy/distributed/world.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace lazy::training {
namespace {
using text::formatted;

constexpr size_t kBar = 24;  // characters

/// Returns a time such as 1:02:03, or 02:03.
std::string clock_of(double seconds) {
  const auto all = static_cast<int64_t>(std::min(std::max(seconds, 0.0), 3.6e8) + 0.5);
  char text[64];
  if (all >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(all / 3600),
                  static_cast<long long>(all / 60 % 60), static_cast<long long>(all % 60));
  else
    std::snprintf(text, sizeof text, "%02lld:%02lld", static_cast<long long>(all / 60),
                  static_cast<long long>(all % 60));
  return text;
}

}  // namespace

Progress::Progress(int64_t total, std::string title, ProgressOptions options, Site s)
    : total_(total), title_(std::move(title)), options_(std::move(options)), loss_(std::nan("")) {
  if (total < 0) throw Error("Progress: " + std::to_string(total) + " steps", s);
  if (options_.every < 1)
    throw Error("Progress: the loss is looked at every " + std::to_string(options_.every) + " steps", s);
  // Rank 0 shows it; the others count, and compute losses, likewise.
  if (!options_.write && !distributed::is_main_process()) options_.write = [](std::string_view) {};
  if (options_.terminal == ProgressOptions::unknown)
    options_.terminal =
        !options_.write && ::isatty(STDERR_FILENO) ? ProgressOptions::yes : ProgressOptions::no;
  if (!options_.write) options_.write = [](std::string_view text) { logging::write_raw(text); };
  begun_ = shown_ = Clock::now();
}

Progress::~Progress() {
  try {
    finish();
  } catch (...) {}  // what is shown is not worth an end of the program
}

void Progress::update(const Tensor& loss, Site s) {
  if (loss.size(s) != 1)
    throw ShapeError("update: a loss is one element, not " + to_string(loss.shape(s)), s);
  loss.eval(s);
  const bool look = (step_ + 1) % options_.every == 0 || step_ + 1 == total_ || step_ == 0;
  if (look) loss_ = loss.item<double>(s);
  ++step_;
  show(look && total_ == 0 && options_.terminal == ProgressOptions::no);
}

void Progress::update(double loss) {
  loss_ = loss;
  ++step_;
  show(total_ == 0 && step_ % options_.every == 0 && options_.terminal == ProgressOptions::no);
}

std::string Progress::line(size_t bar) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  std::string text = title_.empty() ? "" : title_ + " ";
  if (total_ > 0) {
    const int64_t done = std::min(step_, total_);
    if (options_.terminal == ProgressOptions::yes) {
      const auto full = static_cast<size_t>(static_cast<int64_t>(bar) * done / total_);
      if (bar > 0) text += "[" + std::string(full, '#') + std::string(bar - full, '.') + "] ";
    }
    text += std::to_string(step_) + "/" + std::to_string(total_);
  } else {
    text += std::to_string(step_);
  }
  if (!std::isnan(loss_)) text += "  loss " + formatted("%.4g", loss_);
  if (seconds > 0) text += "  " + formatted("%.1f", static_cast<double>(step_) / seconds) + " steps/s";
  if (total_ > step_ && step_ > 0)
    text +=
        "  " + clock_of(seconds / static_cast<double>(step_) * static_cast<double>(total_ - step_)) + " left";
  else text += "  " + clock_of(seconds);
  return text;
}

void Progress::show(bool always) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  const bool last = step_ == total_;
  if (options_.terminal == ProgressOptions::yes) {
    const auto now = Clock::now();
    if (!last && step_ > 1 && now - shown_ < kPause) return;
    shown_ = now;
    const int columns = options_.columns ? options_.columns : terminal_columns(STDERR_FILENO);
    // A line that fills its last column would go on in the next one.
    const size_t most = columns > 1 ? static_cast<size_t>(columns) - 1 : std::string::npos;
    std::string text = line(kBar);
    if (text.size() > most) text = line(text.size() - most < kBar ? kBar - (text.size() - most) : 0);
    if (text.size() > most) text.resize(most);
    const size_t width = text.size();
    width_ = std::min(width_, most);
    if (width < width_) text.append(width_ - width, ' ');
    width_ = width;
    options_.write("\r" + text);
    return;
  }
  const int64_t tenths = total_ > 0 ? step_ * 10 / total_ : 0;
  if (!always && tenths <= tenths_) return;
  tenths_ = tenths;
  options_.write(line(kBar) + "\n");
}

void Progress::say(std::string_view text) {
  std::string line(text);
  if (width_ > 0) line = "\r" + std::string(width_, ' ') + "\r" + line;
  options_.write(line + "\n");
  if (std::exchange(width_, 0) == 0) return;
  shown_ = {};
  show(false);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (options_.terminal == ProgressOptions::yes && width_ > 0) options_.write("\n");
}

}  // namespace lazy::training
