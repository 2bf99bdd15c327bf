// Writes event files, which TensorBoard shows: `tensorboard --logdir run`.
#pragma once
#include <memory>
#include <string>

#include "lazy/core/tensor.hpp"

namespace lazy::training {

/// Appends events to a new file of a folder. Each is in the file when the call returns. What it is given as a
/// tensor it evaluates: call it after the step. IoError for what can't be written, of which nothing stays in
/// the file: later events can be read.
class EventWriter {
 public:
  /// Makes the folder, and a file in it whose name has time, host and process.
  explicit EventWriter(const std::string& folder, Site s = Site::current());
  EventWriter(EventWriter&&) noexcept;
  ~EventWriter();

  void add_scalar(const std::string& tag, double value, int64_t step, Site s = Site::current());
  /// Takes one element (ShapeError).
  void add_scalar(const std::string& tag, const Tensor& value, int64_t step, Site s = Site::current());
  /// Counts the values in buckets whose limits grow by a tenth. NaN is left out.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t step, Site s = Site::current());
  /// Takes a picture as write_png does.
  void add_image(const std::string& tag, const Tensor& picture, int64_t step, Site s = Site::current());

  const std::string& path() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lazy::training
