"""Recurrent layers, attention and transformers, as tests/training/models/layers.cpp has them. Each returns a module and
its results."""
import torch
from torch import nn

from cases import real


def recurrent(kind, x, sizes, states=0, **options):
    layer = getattr(nn, kind)(*sizes, **options)
    directions = 2 if options.get("bidirectional") else 1
    depth = directions * options.get("num_layers", 1)
    width = options.get("proj_size", 0) or sizes[1]
    n = x.shape[0 if options.get("batch_first") else 1] if x.ndim == 3 else None
    shape = (depth, width) if n is None else (depth, n, width)
    cell = (depth, sizes[1]) if n is None else (depth, n, sizes[1])

    def run():
        if not states:
            arguments = (x,)
        elif kind == "LSTM":
            arguments = (x, (real("h0", *shape), real("c0", *cell)))
        else:
            arguments = (x, real("h0", *shape))
        out, last = layer(*arguments)
        return [out, *(last if kind == "LSTM" else [last])]

    return layer, run


def cell(kind, given):
    layer = getattr(nn, kind)(3, 4)
    x, h, c = real("x", 2, 3), real("h0", 2, 4), real("c0", 2, 4)

    def run():
        if kind == "LSTMCell":
            return list(layer(x, (h, c) if given else None))
        return [layer(x, h if given else None)]

    return layer, run


def attention(options, call, self_attention=True, weights=True):
    layer = nn.MultiheadAttention(6, 2, **options)
    first = options.get("batch_first", False)
    q = real("q", *((2, 5, 6) if first else (5, 2, 6)))
    k = q if self_attention else real("k", *((2, 4, options.get("kdim", 6)) if first else (4, 2, options.get("kdim", 6))))
    v = q if self_attention else real("v", *((2, 4, options.get("vdim", 6)) if first else (4, 2, options.get("vdim", 6))))

    def run():
        out, w = layer(q, k, v, need_weights=weights, **call)
        return [out] if w is None else [out, w]

    return layer, run


def encoder(**options):
    layer = nn.TransformerEncoderLayer(6, 2, dim_feedforward=10, dropout=0.0, **options)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    x = real("x", *((2, 5, 6) if options.get("batch_first") else (5, 2, 6)))
    return layer, lambda: [layer(x, src_key_padding_mask=padding)]


def decoder(**options):
    layer = nn.TransformerDecoderLayer(6, 2, dim_feedforward=10, dropout=0.0, **options)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    return layer, lambda: [layer(real("x", 5, 2, 6), real("memory", 4, 2, 6), tgt_mask=mask)]


def transformer():
    model = nn.Transformer(6, 2, 2, 2, 10, 0.0)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    return model, lambda: [model(real("src", 4, 2, 6), real("tgt", 5, 2, 6), tgt_mask=mask)]


def cases():
    x = real("x", 5, 2, 3)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    return {
        "rnn": recurrent("RNN", x, (3, 4)),
        "rnn_relu": recurrent("RNN", x, (3, 4), 1, nonlinearity="relu", num_layers=2, bidirectional=True),
        "lstm": recurrent("LSTM", x, (3, 4)),
        "lstm_states": recurrent("LSTM", x, (3, 4), 1, num_layers=2, bidirectional=True, batch_first=True),
        "lstm_projected": recurrent("LSTM", x, (3, 4), 1, num_layers=2, bidirectional=True, proj_size=2),
        "lstm_one": recurrent("LSTM", real("x", 5, 3), (3, 4), 1, bias=False),
        "gru": recurrent("GRU", x, (3, 4)),
        "gru_states": recurrent("GRU", x, (3, 4), 1, num_layers=2, bidirectional=True),
        "gru_plain": recurrent("GRU", x, (3, 4), 1, bias=False),
        "rnn_cell": cell("RNNCell", True),
        "lstm_cell": cell("LSTMCell", True),
        "lstm_cell_first": cell("LSTMCell", False),
        "gru_cell": cell("GRUCell", True),
        "attention": attention({}, {}),
        "attention_masked": attention({"batch_first": True}, {"key_padding_mask": padding, "attn_mask": later}, weights=False),
        "attention_added": attention({}, {"attn_mask": real("mask", 4, 5, 5), "average_attn_weights": False}),
        "attention_causal": attention({}, {"attn_mask": later, "is_causal": True}, weights=False),
        "attention_extents": attention({"kdim": 3, "vdim": 4}, {}, False),
        "attention_extended": attention({"add_bias_kv": True, "add_zero_attn": True}, {}, False),
        "attention_plain": attention({"bias": False}, {}, False),
        "encoder": encoder(),
        "encoder_first": encoder(norm_first=True, activation="gelu", batch_first=True),
        "decoder": decoder(),
        "decoder_first": decoder(norm_first=True),
        "transformer": transformer(),
    }
