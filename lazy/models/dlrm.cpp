#include "lazy/models/dlrm.hpp"

#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/nn/modules/activation.hpp"
#include "lazy/nn/modules/init.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::models {
namespace {

/// Returns linear layers of these extents, with relu after each, and a sigmoid after number `sigmoid`.
nn::Sequential layers(const std::vector<int64_t>& extents, int64_t sigmoid, const Site& s) {
  nn::Sequential list;
  for (size_t i = 0; i + 1 < extents.size(); ++i) {
    const int64_t in = extents[i], out = extents[i + 1];
    nn::Linear linear(in, out, {}, s);
    nn::init::normal_({linear.weight, s}, 0, std::sqrt(2.0 / static_cast<double>(in + out)));
    nn::init::normal_({linear.bias, s}, 0, std::sqrt(1.0 / static_cast<double>(out)));
    list.push_back(std::move(linear));
    if (static_cast<int64_t>(i) == sigmoid) list.push_back(nn::Sigmoid());
    else list.push_back(nn::ReLU());
  }
  return list;
}

}  // namespace

DLRM::DLRM(const DLRMConfig& c, Site s) {
  if (c.bottom.size() < 2 || c.bottom.back() != c.dimension || c.top.empty())
    lazy::detail::fail<ShapeError>(
        "DLRM",
        "the bottom's last extent is not the rows' " + std::to_string(c.dimension) + ", or there is no top",
        s);
  for (const int64_t rows : c.tables) {
    emb_l.emplace_back(rows, c.dimension, nn::EmbeddingOptions{}, s);
    const double bound = std::sqrt(1.0 / static_cast<double>(rows));
    nn::init::uniform_({emb_l.back().weight, s}, -bound, bound);
  }
  bot_l = layers(c.bottom, -1, s);
  const auto features = static_cast<int64_t>(c.tables.size()) + 1;
  std::vector<int64_t> extents{c.dimension + features * (features - 1) / 2};
  extents.insert(extents.end(), c.top.begin(), c.top.end());
  top_l = layers(extents, static_cast<int64_t>(c.top.size()) - 1, s);
}

Tensor DLRM::operator()(Arg dense, Arg ids) const {
  const Site s = dense.site();
  const Tensor which(lazy::detail::Operand("DLRM", ids).take());
  const auto tables = static_cast<int64_t>(emb_l.size());
  if (which.ndim(s) != 2 || which.size(1, s) != tables)
    lazy::detail::fail<ShapeError>(
        "DLRM", "ids " + to_string(which.shape(s)) + " instead of (N, " + std::to_string(tables) + ")", s);
  const Tensor x = bot_l(std::move(dense));
  std::vector<Tensor> rows{x};
  for (int64_t i = 0; i < tables; ++i) rows.push_back(emb_l[static_cast<size_t>(i)](which(_, i)));
  const Tensor all = stack(rows, 1, s);
  const Tensor products = matmul(all, swapaxes(all, 1, 2));
  std::vector<Tensor> parts{x};
  for (int64_t i = 1; i <= tables; ++i) parts.push_back(products(_, i, slice(i)));
  return top_l(concat(parts, 1, s));
}

}  // namespace lazy::models
