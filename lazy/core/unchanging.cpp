#include "lazy/core/unchanging.hpp"

#include "jit/graph/planes.hpp"

namespace lazy::detail {

void mark_unchanging(const Tensor& t, Site s) {
  if (t.is_complex(s)) {
    mark_unchanging(Tensor(jit::real_plane(t.handle())), s);
    return mark_unchanging(Tensor(jit::imaginary_plane(t.handle())), s);
  }
  if (jit::Buffer* const memory = t.eval(s).handle()->buffer.get()) memory->mark_unchanging();
}

}  // namespace lazy::detail
