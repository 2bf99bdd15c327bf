"""The models that tests compare with: torchvision's and Hugging Face's, and those of well-known training scripts."""
import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, classes)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


class DoubleConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = nn.functional.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], 1))


class OutConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    """Names of the widely used github.com/milesial/Pytorch-UNet."""

    def __init__(self, channels=3, classes=2, width=64):
        super().__init__()
        self.inc = DoubleConv(channels, width)
        for i in range(4):
            setattr(self, f"down{i + 1}", Down(width << i, width << (i + 1)))
        for i in range(4):
            setattr(self, f"up{i + 1}", Up(width << (4 - i), width << (3 - i)))
        self.outc = OutConv(width, classes)

    def forward(self, x):
        xs = [self.inc(x)]
        for i in range(4):
            xs.append(getattr(self, f"down{i + 1}")(xs[-1]))
        y = xs.pop()
        for i in range(4):
            y = getattr(self, f"up{i + 1}")(y, xs.pop())
        return self.outc(y)


class Tagger(nn.Module):
    """Names of torch's tutorial on sequence models."""

    def __init__(self, vocabulary, embedding, hidden, tags, layers=1, bidirectional=False):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, layers, batch_first=True, bidirectional=bidirectional)
        self.hidden2tag = nn.Linear(hidden * (2 if bidirectional else 1), tags)

    def forward(self, ids):
        return self.hidden2tag(self.lstm(self.word_embeddings(ids))[0])


class DLRM(nn.Module):
    """Names of github.com/facebookresearch/dlrm; features interact by products of pairs."""

    def __init__(self, tables, dimension, bottom, top):
        super().__init__()
        self.emb_l = nn.ModuleList(nn.EmbeddingBag(n, dimension, mode="sum") for n in tables)
        self.bot_l = self.mlp(bottom, len(bottom))
        features = len(tables) + 1
        sizes = [dimension + features * (features - 1) // 2, *top]
        self.top_l = self.mlp(sizes, len(sizes) - 2)

    @staticmethod
    def mlp(sizes, sigmoid):
        layers = []
        for i in range(len(sizes) - 1):
            layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.Sigmoid() if i == sigmoid else nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, dense, ids):
        x = self.bot_l(dense)
        rows = [x] + [table(ids[:, k : k + 1]) for k, table in enumerate(self.emb_l)]
        t = torch.stack(rows, 1)
        z = t @ t.transpose(1, 2)
        i, j = torch.tril_indices(len(rows), len(rows), -1)
        return self.top_l(torch.cat([x, z[:, i, j]], 1))


class Logits(nn.Module):
    """Calls a Hugging Face model and returns one of its outputs, under the model's own names."""

    def __init__(self, model, output):
        super().__init__()
        self.model, self.output = model, output

    def forward(self, ids):
        return getattr(self.model(input_ids=ids), self.output)

    def named_parameters(self, *a, **k):
        return self.model.named_parameters(*a, **k)

    def state_dict(self, *a, **k):
        return self.model.state_dict(*a, **k)
