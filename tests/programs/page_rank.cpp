// Ranks pages by the chance that somebody who follows links at random, and sometimes begins anew, is there.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(page_rank) {
  const Tensor links = in("links");
  const double damping = in.real("damping");
  const int64_t n = links.size(0);
  const Tensor out = sum(links, 0);
  const Tensor step = where(out > 0, links / maximum(out, 1), 1.0 / n);
  Tensor rank = full(n, 1.0 / n);
  int rounds = 0;
  for (bool moving = true; moving;) {
    const Tensor next = damping * matmul(step, rank) + (1 - damping) / n;
    moving = bool(sum(abs(next - rank)) >= 1e-4);
    rank = next;
    ++rounds;
  }
  return {{"rank", rank}, {"order", argsort(-rank)(slice(3))}, {"rounds", tensor(rounds)}};
}
