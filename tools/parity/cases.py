"""The models in the sizes of the tests and in full, and what goes in. tests/training/models/cases.cpp has the same."""
import torch
import torchvision

import formula
import reference


def real(name, *shape):
    return torch.from_numpy(formula.uniform(name, shape).copy())


def ids(name, below, *shape):
    return torch.from_numpy(formula.integers(name, shape, below).copy())


def without_dropout(model):
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.p = 0.0
        if isinstance(m, torch.nn.MultiheadAttention):
            m.dropout = 0.0
    return model


def transformers_model(kind, **sizes):
    import transformers as t

    if kind == "bert":
        config = t.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes)
        config._attn_implementation = "eager"
        return reference.Logits(t.BertModel(config), "pooler_output")
    if kind == "gpt2":
        config = t.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **sizes)
        config._attn_implementation = "eager"
        return reference.Logits(t.GPT2LMHeadModel(config), "logits")
    config = t.LlamaConfig(**sizes)
    config._attn_implementation = "eager"
    return reference.Logits(t.LlamaForCausalLM(config), "logits")


def vit(**sizes):
    return torchvision.models.VisionTransformer(**sizes)


def build(name, full):
    """Returns a model in training mode without dropout, and its arguments."""
    v = torchvision.models
    if name == "mlp":
        sizes = (784, [512, 512, 10]) if full else (12, [16, 8, 3])
        return torchvision.ops.MLP(*sizes, inplace=False, dropout=0.0), [real("input", 4, sizes[0])]
    if name == "lenet":
        return reference.LeNet(), [real("input", 4, 1, 28, 28)]
    if name == "resnet18":
        layers = [2, 2, 2, 2] if full else [1, 1, 1, 1]
        classes = 1000 if full else 7
        model = v.resnet.ResNet(v.resnet.BasicBlock, layers, num_classes=classes)
        return model, [real("input", 2 if full else 4, 3, 224 if full else 64, 224 if full else 64)]
    if name == "resnet50":
        layers = [3, 4, 6, 3] if full else [1, 1, 1, 1]
        classes = 1000 if full else 7
        model = v.resnet.ResNet(v.resnet.Bottleneck, layers, num_classes=classes)
        return model, [real("input", 2 if full else 4, 3, 224 if full else 64, 224 if full else 64)]
    if name in ("mobilenet_v3_large", "mobilenet_v3_small"):
        model = getattr(v, name)(num_classes=1000 if full else 7)
        return model, [real("input", 4, 3, 224 if full else 96, 224 if full else 96)]
    if name == "unet":
        model = reference.UNet(width=64 if full else 4)
        return model, [real("input", 2, 3, 64 if full else 36, 64 if full else 32)]
    if name == "vit":
        sizes = dict(image_size=224, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)
        if not full:
            sizes = dict(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=12, mlp_dim=20, num_classes=5)
        return vit(**sizes), [real("input", 2, 3, sizes["image_size"], sizes["image_size"])]
    if name == "bert":
        sizes = dict(vocab_size=30, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
                     max_position_embeddings=16)
        return transformers_model("bert", **({} if full else sizes)), [ids("input", 30, 2, 11)]
    if name == "gpt2":
        sizes = dict(vocab_size=30, n_embd=12, n_layer=2, n_head=3, n_positions=16)
        return transformers_model("gpt2", **({} if full else sizes)), [ids("input", 30, 2, 11)]
    if name == "llama":
        sizes = dict(vocab_size=30, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, max_position_embeddings=16, rms_norm_eps=1e-5)
        if full:
            sizes = dict(vocab_size=32000, hidden_size=512, intermediate_size=1408, num_hidden_layers=8,
                         num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=2048, rms_norm_eps=1e-5)
        return transformers_model("llama", **sizes), [ids("input", 30, 2, 11)]
    if name == "tagger":
        model = reference.Tagger(20000, 128, 256, 50) if full else reference.Tagger(20, 6, 8, 5, 2, True)
        return model, [ids("input", 20, 3, 7)]
    if name == "dlrm":
        if full:
            model = reference.DLRM([1000] * 8, 16, [13, 512, 256, 64, 16], [512, 256, 1])
            return model, [real("input", 16, 13), ids("ids", 1000, 16, 8)]
        model = reference.DLRM([10, 20, 5], 4, [3, 8, 4], [6, 1])
        return model, [real("input", 6, 3), ids("ids", 5, 6, 3)]
    raise KeyError(name)


NAMES = ["mlp", "lenet", "resnet18", "resnet50", "mobilenet_v3_large", "mobilenet_v3_small", "unet", "vit", "bert", "gpt2",
         "llama", "tagger", "dlrm"]
