// Shortens the rows of the table: ROW(name, sample, statements), in which the arguments are taken in order.
#pragma once
#include "tests/oracle/table.hpp"

#define ROW(name, sample, ...)                             \
  {                                                        \
    name, sample, [](Given& g) -> Results { __VA_ARGS__; } \
  }

#define ARG(x) Arg x = g.arg()
#define TENSOR(x) const Tensor x = g.tensor()
#define TENSORS(x) const std::vector<Tensor> x = g.tensors()
#define INT(x, otherwise) const int64_t x = g.integer(otherwise)
#define REAL(x, otherwise) const double x = g.real(otherwise)
#define FLAG(x, otherwise) const bool x = g.flag(otherwise)
#define TEXT(x, otherwise) const std::string x = g.text(otherwise)
#define INTS(x) const std::vector<int64_t> x = g.ints()
#define REALS(x) const std::vector<double> x = g.reals()
#define AXES(x) const Axes x = g.axes()
#define KEEP(x) const KeepDims x = g.keep()
#define DTYPE(x) const MaybeDType x = g.dtype()
#define NUMBER(x, otherwise) const ScalarNumber x = g.number(otherwise)
#define SHAPE(x) const ShapeArg x = g.shape()
#define BOUNDS(x) const Bounds x = g.bounds()

#define UNARY(f) ROW(#f, "x 2,3", ARG(x); return f(std::move(x)))
#define BINARY(f) ROW(#f, "x 2,3\tx 3", ARG(a); ARG(b); return f(std::move(a), std::move(b)))
