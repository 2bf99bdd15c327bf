#include "jit/graph/nan_origin.hpp"

#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "jit/graph/places.hpp"
#include "jit/graph/record.hpp"
#include "support/error.hpp"
#include "support/fp16.hpp"
#include "support/lock.hpp"

namespace lazy::jit::nan_origin {
namespace {

struct Origin {
  const char* op;       // null: the NaN is the input's that is at the site
  const char* purpose;  // why a composite recorded it; may be null
  Site site;
  int64_t first, count, all;  // index of the first NaN in row-major order, number of NaNs and of elements
};

/// Holds the origins by node. A node that dies leaves its entry to the next at its address, which is noted
/// too.
struct Origins {
  Mutex lock;
  std::unordered_map<const Node*, Origin> by_node;
};
Origins& origins() {
  static Origins* const all = new Origins;
  return *all;
}

thread_local bool noting = false;

template <class T>
void find(const void* data, int64_t n, Origin& o) {
  for (int64_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof v), sizeof v);
    if (!std::isnan(static_cast<double>(v))) continue;
    if (o.count++ == 0) o.first = i;
  }
}

/// Returns an origin that says which elements are NaN; nothing if none is.
std::optional<Origin> nans(const Handle& h, const void* data) {
  Origin o{name_of(h->op), without_place(h->purpose), h->site, 0, 0, numel(h->shape)};
  switch (h->dtype) {
    case DType::float16: find<float16_t>(data, o.all, o); break;
    case DType::bfloat16: find<bfloat16_t>(data, o.all, o); break;
    case DType::float32: find<float>(data, o.all, o); break;
    case DType::float64: find<double>(data, o.all, o); break;
    default: return std::nullopt;
  }
  if (o.count == 0) return std::nullopt;
  return o;
}

std::optional<Origin> nans(const Handle& h) {
  if (!is_float(h->dtype)) return std::nullopt;
  BufferRef keep;
  return nans(h, contiguous_data(h, Cause::eager, h->site, keep));
}

}  // namespace

void note(const char* op, const Handle& result, std::span<const Handle* const> operands) {
  if (noting) return;
  noting = true;
  struct Done {
    ~Done() { noting = false; }
  } done;
  std::optional<Origin> origin = nans(result);
  if (origin) origin->op = op;
  for (const Handle* o : operands) {
    if (!origin) break;
    std::optional<Origin> passed_on = nans(*o);
    if (!passed_on) continue;
    const std::scoped_lock hold(origins().lock);
    const auto at = origins().by_node.find(o->get());
    if (at != origins().by_node.end()) {
      origin = at->second;
    } else if ((*o)->op == Op::input) {
      origin = passed_on;
      origin->op = nullptr;
    } else {
      origin.reset();  // a constant, which the user wrote
    }
    break;
  }
  const std::scoped_lock hold(origins().lock);
  if (origin) origins().by_node.insert_or_assign(result.get(), *origin);
  else origins().by_node.erase(result.get());
}

void forget(const Node* n) {
  const std::scoped_lock hold(origins().lock);
  origins().by_node.erase(n);
}

void look(const Handle& value, const void* data, const Site& site) {
  if (noting || !nans(value, data)) return;
  Origin o{};
  {
    const std::scoped_lock hold(origins().lock);
    const auto at = origins().by_node.find(value.get());
    if (at == origins().by_node.end()) return;
    o = at->second;
  }
  std::string text =
      o.op ? "check_nan: the value has a NaN, first made by " + std::string(o.op) + " at "
           : std::string("check_nan: the value has a NaN, which came in with the input made at ");
  text += lazy::to_string(o.site);
  if (o.op && o.purpose) text += std::string(" (") + o.purpose + ")";
  text += ": " + std::to_string(o.count) + " of " + std::to_string(o.all) +
          " elements, the first is number " + std::to_string(o.first) + (o.op ? "; no operand had one" : "");
  throw Error(text, site);
}

}  // namespace lazy::jit::nan_origin
