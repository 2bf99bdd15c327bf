// Rows of activations, normalisation, distances and looking rows up: lazy/nn/functional/.
#include "tests/oracle/rows.hpp"

namespace oracle {
namespace {

#define ALONG(f) ROW(#f, "x 2,3\tI 1", ARG(x); INT(a, 0); DTYPE(t); return f(x, a, t))
#define WITH(f, otherwise) ROW(#f, "x 2,3", ARG(x); REAL(v, otherwise); return f(x, v))

const Row kRows[] = {
    ALONG(softmax),
    ALONG(log_softmax),
    ALONG(softmin),
    UNARY(silu),
    UNARY(selu),
    UNARY(softsign),
    UNARY(mish),
    UNARY(hardsigmoid),
    UNARY(hardswish),
    UNARY(relu6),
    UNARY(logsigmoid),
    UNARY(tanhshrink),
    WITH(leaky_relu, 0.01),
    WITH(elu, 1),
    WITH(celu, 1),
    WITH(softshrink, 0.5),
    WITH(hardshrink, 0.5),
    ROW("softplus", "x 2,3", ARG(x); REAL(beta, 1); REAL(limit, 20); return softplus(x, beta, limit)),
    ROW("hardtanh", "x 2,3", ARG(x); REAL(low, -1); REAL(high, 1); return hardtanh(x, low, high)),
    ROW("glu", "x 2,4", ARG(x); INT(a, -1); return glu(x, a)),
    ROW("prelu", "x 2,3\tx 3", ARG(x); ARG(w); return prelu(x, w)),
    ROW("threshold", "x 2,3\tF 1\tF 2", ARG(x); REAL(t, 0); REAL(v, 0); return threshold(x, t, v)),
    ROW("embedding", "i 2,3\tx 4,5", ARG(ids); ARG(w); return embedding(ids, w)),
    ROW("embedding_bag", "i 2,3\tx 4,5", ARG(ids); ARG(w); TEXT(mode, "mean"); BagOptions o;
        o.mode = mode == "sum"    ? Bag::sum
                 : mode == "mean" ? Bag::mean
                                  : Bag::max;
        o.per_sample_weights = g.tensor(); return embedding_bag(ids, w, o)),
    ROW("embedding_dense_backward", "x 2,3,5\ti 2,3\tI 4", ARG(d); ARG(ids); INT(n, 1); INT(padding, -1);
        return embedding_dense_backward(d, ids, n, padding)),
    ROW("one_hot", "i 2,3\tI 4", ARG(ids); INT(n, 1); return one_hot(ids, n)),
    ROW("layer_norm", "x 2,3\tL 3\tx 3\tx 3", ARG(x); SHAPE(s); TENSOR(w); TENSOR(b); REAL(eps, 1e-5);
        return layer_norm(x, s, w, b, eps)),
    ROW("rms_norm", "x 2,3\tL 3\tx 3", ARG(x); SHAPE(s); TENSOR(w); std::optional<double> eps;
        if (g.more()) eps = g.real(); else g.flag(); return rms_norm(x, s, w, eps)),
    ROW("batch_norm", "x 2,3,4\tx 3\tx 3\tx 3\tx 3", ARG(x); TENSOR(m); TENSOR(v); TENSOR(w); TENSOR(b);
        REAL(eps, 1e-5); return batch_norm(x, m, v, w, b, eps)),
    ROW("batch_norm_training", "x 2,3,4\tx 3\tx 3\tx 3\tx 3", ARG(x); TENSOR(m); TENSOR(v);
        BatchNormOptions o; o.weight = g.tensor(); o.bias = g.tensor(); o.momentum = g.real(0.1);
        o.eps = g.real(1e-5); const BatchNormResult n = batch_norm_training(x, m, v, o);
        return {n.output, n.running_mean, n.running_var}),
    ROW("instance_norm_training", "x 2,3,4\tx 3\tx 3", ARG(x); TENSOR(m); TENSOR(v);
        const BatchNormResult n = instance_norm_training(x, m, v);
        return {n.output, n.running_mean, n.running_var}),
    ROW("layer_norm_backward", "x 2,3\tx 2,3\tL 3\tx 3", ARG(d); ARG(x); SHAPE(s); TENSOR(w); REAL(eps, 1e-5);
        const NormGradients r = layer_norm_backward(d, x, s, w, eps); return {r.input, r.weight, r.bias}),
    ROW("group_norm_backward", "x 2,4,3\tx 2,4,3\tI 2\tx 4", ARG(d); ARG(x); INT(n, 1); TENSOR(w);
        REAL(eps, 1e-5); const NormGradients r = group_norm_backward(d, x, n, w, eps);
        return {r.input, r.weight, r.bias}),
    ROW("group_norm", "x 2,4,3\tI 2\tx 4\tx 4", ARG(x); INT(n, 1); TENSOR(w); TENSOR(b); REAL(eps, 1e-5);
        return group_norm(x, n, w, b, eps)),
    ROW("instance_norm", "x 2,4,3\tx 4\tx 4", ARG(x); TENSOR(w); TENSOR(b); REAL(eps, 1e-5);
        return instance_norm(x, w, b, eps)),
    ROW("local_response_norm", "x 2,4,3\tI 2", ARG(x); INT(n, 1); REAL(alpha, 1e-4); REAL(beta, 0.75);
        REAL(k, 1); return local_response_norm(x, n, alpha, beta, k)),
    ROW("normalize", "x 2,3", ARG(x); REAL(p, 2); const Axes a = g.axes(1); REAL(eps, 1e-12);
        return normalize(x, p, a, eps)),
    ROW("cosine_similarity", "x 2,3\tx 2,3", ARG(a); ARG(b); INT(axis, 1); REAL(eps, 1e-8);
        return cosine_similarity(a, b, axis, eps)),
    ROW("pairwise_distance", "x 2,3\tx 2,3", ARG(a); ARG(b); REAL(p, 2); REAL(eps, 1e-6); KEEP(k);
        return pairwise_distance(a, b, p, eps, k)),
    ROW("pdist", "x 4,3", ARG(x); REAL(p, 2); return pdist(x, p)),
    ROW("cdist", "x 2,3\tx 4,3", ARG(a); ARG(b); REAL(p, 2); return cdist(a, b, p)),
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace oracle
