// Writes maps: element by element, or vectors of neighbours.
#pragma once
#include "backends/cuda/emitter/layouts.hpp"

namespace lazy::cuda_backend {

class MapWriter : public Writer {
 public:
  using Writer::Writer;
  void write();

 private:
  // These functions are in write_map.cpp.
  void write_elements();
  void open_elements();
  void close_elements();
  /// Writes the body at `i`, loads and stores where they are.
  void write_element();
  void write_turned_index();
  // This one is in write_vectors.cpp.
  void write_vectors();
};

}  // namespace lazy::cuda_backend
