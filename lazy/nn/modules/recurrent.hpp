// Recurrent layers, by torch.nn's names: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, of
// the other direction ..._l0_reverse.
//
// All steps of a layer are one call: sequences of any length are one program, and the inputs' products are
// one for all steps. Dtypes promote; 16-bit floats are computed in float32 and rounded once.
#pragma once
#include <string>
#include <vector>

#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn {

struct RecurrentOptions {
  IntegerArg num_layers = 1;
  bool bias = true;
  bool batch_first = false;  // x and output are (N, T, ...), not (T, N, ...)
  double dropout = 0;        // probability with which outputs of each layer but the last are dropped
  bool bidirectional = false;
  IntegerArg proj_size = 0;  // LSTM: number of outputs, by a product; 0: as many as units
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Says what an RNN's units apply.
enum class RecurrentActivation : uint8_t { tanh, relu };

/// Holds the layers that RNN, LSTM and GRU have in common. Sequences x are (T, N, input_size), or (T,
/// input_size) for one; with D directions and P outputs `output` is (T, N, D P), states are (D num_layers, N,
/// P), or without N, and begin as zeros where they are undefined. ShapeError where shapes don't fit, and for
/// sequences without steps.
class Recurrent : public Module {
 public:
  int64_t input_size() const { return inputs_; }
  int64_t hidden_size() const { return units_; }
  int64_t outputs() const { return outputs_; }
  const RecurrentOptions& options() const { return options_; }
  std::string extra_repr() const override;

 protected:
  enum class Kind : uint8_t { tanh, relu, lstm, gru };
  Recurrent(const char* name, Kind kind, IntegerArg inputs, IntegerArg units, const RecurrentOptions&,
            const Site&);
  void members(Visitor&) override;

  struct States {
    Tensor output, h, c;
  };
  States run(const Arg& x, const Tensor& h0, const Tensor& c0) const;

 private:
  /// Holds one direction of one layer; what it has not is undefined.
  struct Weights {
    Parameter ih, hh, b_ih, b_hh, hr;
  };
  void check(const Arg& x, const Tensor& h0, const Tensor& c0) const;
  /// Returns a state of one direction of one layer.
  Tensor state(const Tensor& all, size_t which, const Tensor& x, int64_t width, const Site&) const;

  const char* name_;
  Kind kind_;
  int64_t inputs_, units_, outputs_;
  RecurrentOptions options_;
  std::vector<Weights> weights_;  // a layer's directions side by side
};

struct RNNOutput {
  Tensor output, h_n;
};
struct LSTMOutput {
  Tensor output, h_n, c_n;
};

/// Computes h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of that (Elman, 1990).
class RNN : public Recurrent {
 public:
  RNN(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options = {},
      RecurrentActivation nonlinearity = RecurrentActivation::tanh, Site s = Site::current());
  RNNOutput operator()(Arg x, const Tensor& h0 = {}) const;
};

/// Computes i, f, o = sigmoid(...), g = tanh(...) of W_ih x + b_ih + W_hh h + b_hh, c = f c + i g, h = o
/// tanh(c) (Hochreiter and Schmidhuber, 1997); with proj_size h = W_hr o tanh(c) (Sak et al., 2014).
class LSTM : public Recurrent {
 public:
  LSTM(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options = {},
       Site s = Site::current());
  LSTMOutput operator()(Arg x, const Tensor& h0 = {}, const Tensor& c0 = {}) const;
};

/// Computes r, z = sigmoid(...), n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h = (1 - z) n + z h (Cho et
/// al., 2014).
class GRU : public Recurrent {
 public:
  GRU(IntegerArg input_size, IntegerArg hidden_size, const RecurrentOptions& options = {},
      Site s = Site::current());
  RNNOutput operator()(Arg x, const Tensor& h0 = {}) const;
};

struct RecurrentCellOptions {
  bool bias = true;
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Holds what the cells have in common: one step, x (N, input_size) or (input_size).
struct RecurrentCell : Module {
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;  // (G R, I), (G R, R), (G R)
  int64_t input_size() const { return weight_ih.size(1); }
  int64_t hidden_size() const { return weight_hh.size(1); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight_ih, weight_hh, bias_ih, bias_hh)

 protected:
  RecurrentCell(int gates, IntegerArg inputs, IntegerArg units, const RecurrentCellOptions&, const Site&);
  /// Throws ShapeError unless x and the state fit. Returns the state: zeros if it is undefined.
  Tensor start(const char* name, const Arg& x, const Tensor& state) const;
};

/// Does one step of an RNN: returns h.
struct RNNCell : RecurrentCell {
  RecurrentActivation nonlinearity;
  RNNCell(IntegerArg input_size, IntegerArg hidden_size, const RecurrentCellOptions& options = {},
          RecurrentActivation act = RecurrentActivation::tanh, Site s = Site::current())
      : RecurrentCell(1, input_size, hidden_size, options, s), nonlinearity(act) {}
  Tensor operator()(Arg x, const Tensor& h = {}) const;
};
struct LSTMState {
  Tensor h, c;
};
/// Does one step of an LSTM.
struct LSTMCell : RecurrentCell {
  LSTMCell(IntegerArg input_size, IntegerArg hidden_size, const RecurrentCellOptions& options = {},
           Site s = Site::current())
      : RecurrentCell(4, input_size, hidden_size, options, s) {}
  LSTMState operator()(Arg x, const LSTMState& state = {}) const;
};
/// Does one step of a GRU: returns h.
struct GRUCell : RecurrentCell {
  GRUCell(IntegerArg input_size, IntegerArg hidden_size, const RecurrentCellOptions& options = {},
          Site s = Site::current())
      : RecurrentCell(3, input_size, hidden_size, options, s) {}
  Tensor operator()(Arg x, const Tensor& h = {}) const;
};

}  // namespace lazy::nn
