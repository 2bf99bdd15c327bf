// Reads and writes tables of numbers as text whose cells are separated by commas.
#pragma once
#include <string>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;  // the first line has the names of the columns
};

struct Csv {
  std::vector<std::string> names;  // of the columns; empty without a header
  Tensor values;                   // float64 [rows, columns]
};

/// Reads a file of RFC 4180: cells may be in quotes, with "" for a quote and with line breaks. Lines end with
/// \n or \r\n; empty ones, a byte order mark and blanks around cells are skipped. An empty cell, NA, null and
/// nan are NaN; numbers beyond float64's are infinity or 0. IoError, which names the line, for a cell that is
/// no number, for a line with more or fewer cells than the first, and for a header of more than 4 million
/// names; Error for a delimiter that is a quote, a digit or a line's end.
Csv read_csv(const std::string& path, CsvOptions options = {}, MaybeDevice device = {},
             Site s = Site::current());

/// Writes a table, (rows, columns) or (rows), which is one column, one row a line, under the names of the
/// columns if there are any. Numbers have as few digits as read_csv() needs to give the same; bool is 0 or 1.
/// Replaces a file that is there once it is whole. ShapeError for other shapes, and unless there is a name
/// for each column; DtypeError for complex numbers; Error for a delimiter as read_csv() says. Evaluates.
void write_csv(const std::string& path, TensorArg values, const std::vector<std::string>& names = {},
               char delimiter = ',');

}  // namespace lazy
