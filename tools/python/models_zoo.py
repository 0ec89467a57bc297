"""The architectures of the bench zoo at their real sizes, with seeded random weights.

The encoders, decoders and image models are transformers' own; the detector is a YOLOv8-like net written here. Speed does not
depend on the weights, with one exception: activations that fade away become denormal numbers, which processors are slow at. So
convolutions start with Kaiming's variance, batch normalisation gets its statistics from one pass over noise, and
attention gets weights wide enough that its softmax is not flat.

Each function returns a `Zoo`: the module, its names and axes, and its sets of inputs by name (`128x1` is 128 tokens in a
batch of 1).
"""

import dataclasses

import numpy as np
import torch
import transformers
from torch import nn

import models_transformers as small

WIDE = dict(initializer_range=0.05)
TOKENS = [(length, batch) for length in (16, 128, 512) for batch in (1, 8)]


@dataclasses.dataclass
class Zoo:
    """What the export needs; `axes` maps a name to its dynamic axes."""

    module: nn.Module
    inputs: list
    outputs: list
    axes: dict
    sets: dict


def make_distinct(module):
    """Move biases and scales off 0 and 1: the exporter stores equal parameters once, which trained ones never are."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.02 * torch.randn_like(parameter))


# ---- Encoders


def _tokens(rng, length, batch, vocabulary, pad=0):
    """Ids and mask; in a batch, the rows after the first are shorter by up to a half."""
    ids = rng.integers(5, vocabulary, (batch, length))
    mask = np.ones((batch, length), np.int64)
    for row in range(1, batch):
        mask[row, int(rng.integers(length // 2, length + 1)) :] = 0
    ids[mask == 0] = pad
    return [ids, mask]


def _encoder(model, vocabulary, output, types=False, pad=0, call=None):
    rng = np.random.default_rng(1)
    names = ["input_ids", "attention_mask"] + (["token_type_ids"] if types else [])
    sets = {}
    for length, batch in TOKENS:
        feeds = _tokens(rng, length, batch, vocabulary, pad)
        sets[f"{length}x{batch}"] = feeds + ([(np.arange(length) * 2 >= length).astype(np.int64) * feeds[1]] if types else [])
    axes = {name: {0: "batch", 1: "sequence"} for name in names}
    axes[output] = {0: "batch", 1: "sequence"} if output == "last_hidden_state" else {0: "batch"}
    return Zoo(call or small.ByName(model, names, output), names, [output], axes, sets)


def bert_base():
    """12 layers of 768, the library's default attention (scaled_dot_product_attention)."""
    return _encoder(transformers.BertModel(transformers.BertConfig(**WIDE), add_pooling_layer=False), 30522, "last_hidden_state", types=True)


def distilbert():
    """6 layers of 768, sequence classification, attention spelled out."""
    config = transformers.DistilBertConfig(**WIDE, attn_implementation="eager")
    return _encoder(transformers.DistilBertForSequenceClassification(config), 30522, "logits")


def minilm_l6():
    """6 layers of 384, mean pooling and normalisation in the graph, attention spelled out."""
    config = transformers.BertConfig(**WIDE, hidden_size=384, num_hidden_layers=6, intermediate_size=1536, attn_implementation="eager")
    zoo = _encoder(None, 30522, "sentence_embedding", call=_Embedding(transformers.BertModel(config, add_pooling_layer=False)))
    return zoo


class _Embedding(small.SentenceEmbedding):
    def forward(self, input_ids, attention_mask):
        return super().forward(input_ids, attention_mask)[1]


def roberta_base():
    """12 layers of 768, positions counted from the mask, sequence classification."""
    config = transformers.RobertaConfig(**WIDE, vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1)
    return _encoder(transformers.RobertaForSequenceClassification(config), 50265, "logits", pad=1)


def deberta_v3_small():
    """6 layers of 768, disentangled attention over 512 relative positions."""
    config = transformers.DebertaV2Config(
        **WIDE,
        vocab_size=128100,
        hidden_size=768,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=3072,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=256,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_biased_input=False,
    )
    return _encoder(transformers.DebertaV2ForSequenceClassification(config), 128100, "logits")


# ---- Images


def _calibrate(model, shape):
    """Kaiming's variance for convolutions, statistics of batch normalisation from one pass over noise."""
    for part in model.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_in", nonlinearity="relu")
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(torch.randn(shape))
    return model.eval()


def _images(model, size, output="logits"):
    rng = np.random.default_rng(2)
    sets = {f"{size}x1": [rng.standard_normal((1, 3, size, size)).astype(np.float32)]}
    axes = {"pixel_values": {0: "batch"}, output: {0: "batch"}}
    return Zoo(small.ByName(model, ["pixel_values"], output) if output == "logits" else model, ["pixel_values"], [output], axes, sets)


def vit_b16():
    """Patches of 16, 12 layers of 768."""
    return _images(transformers.ViTForImageClassification(transformers.ViTConfig(**WIDE, num_labels=1000)), 224)


def resnet50():
    """Bottlenecks, stride in the 3x3 convolution."""
    return _images(_calibrate(transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)), (2, 3, 224, 224)), 224)


def mobilenet_v2():
    """Inverted residuals, ReLU6, symmetric padding."""
    config = transformers.MobileNetV2Config(num_labels=1001, tf_padding=False)
    return _images(_calibrate(transformers.MobileNetV2ForImageClassification(config), (2, 3, 224, 224)), 224)


def efficientnet_b0():
    """MBConv with squeeze and excitation, SiLU, 5x5 depthwise, padding as nodes of its own."""
    config = transformers.EfficientNetConfig(width_coefficient=1.0, depth_coefficient=1.0, image_size=224, hidden_dim=1280, num_labels=1000)
    return _images(_calibrate(transformers.EfficientNetForImageClassification(config), (2, 3, 224, 224)), 224)


def convnext_tiny():
    """7x7 depthwise, layer norm over channels, GELU."""
    config = transformers.ConvNextConfig(num_labels=1000, layer_scale_init_value=0.1)
    return _images(_calibrate(transformers.ConvNextForImageClassification(config), (1, 3, 224, 224)), 224)


class _Conv(nn.Sequential):
    """Convolution, batch normalisation, SiLU."""

    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs, eps=1e-3), nn.SiLU())


class _Split(nn.Module):
    """Cross-stage block: two halves, each bottleneck goes on from the half before it, all halves are joined."""

    def __init__(self, inputs, outputs, count, shortcut):
        super().__init__()
        half = outputs // 2
        self.enter, self.leave, self.shortcut = _Conv(inputs, outputs), _Conv((2 + count) * half, outputs), shortcut
        self.parts = nn.ModuleList(nn.Sequential(_Conv(half, half, 3), _Conv(half, half, 3)) for _ in range(count))

    def forward(self, x):
        halves = list(self.enter(x).chunk(2, 1))
        for part in self.parts:
            halves.append(halves[-1] + part(halves[-1]) if self.shortcut else part(halves[-1]))
        return self.leave(torch.cat(halves, 1))


class _Pyramid(nn.Module):
    """Three 5x5 max poolings in a row, joined."""

    def __init__(self, channels):
        super().__init__()
        self.enter, self.leave, self.pool = _Conv(channels, channels // 2), _Conv(2 * channels, channels), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        levels = [self.enter(x)]
        for _ in range(3):
            levels.append(self.pool(levels[-1]))
        return self.leave(torch.cat(levels, 1))


class _Detect(nn.Module):
    """Boxes as distributions over 16 distances per side, class scores, anchor centres as constants."""

    def __init__(self, channels, size, classes=80, bins=16):
        super().__init__()
        self.classes, self.bins = classes, bins
        box, score = max(16, channels[0] // 4, 4 * bins), max(channels[0], min(classes, 100))
        self.boxes = nn.ModuleList(nn.Sequential(_Conv(c, box, 3), _Conv(box, box, 3), nn.Conv2d(box, 4 * bins, 1)) for c in channels)
        self.scores = nn.ModuleList(nn.Sequential(_Conv(c, score, 3), _Conv(score, score, 3), nn.Conv2d(score, classes, 1)) for c in channels)
        self.register_buffer("distances", torch.arange(bins, dtype=torch.float32).view(1, bins, 1, 1))
        centres, strides = [], []
        for stride in (8, 16, 32):
            axis = torch.arange(size // stride) + 0.5
            y, x = torch.meshgrid(axis, axis, indexing="ij")
            centres.append(torch.stack((x, y)).reshape(2, -1))
            strides.append(torch.full((1, x.numel()), float(stride)))
        self.register_buffer("centres", torch.cat(centres, 1)[None])
        self.register_buffer("strides", torch.cat(strides, 1)[None])

    def forward(self, levels):
        flat = [torch.cat((box(x), score(x)), 1).flatten(2) for x, box, score in zip(levels, self.boxes, self.scores)]
        box, score = torch.cat(flat, 2).split((4 * self.bins, self.classes), 1)
        box = box.view(box.shape[0], 4, self.bins, -1).transpose(1, 2).softmax(1)
        near, far = nn.functional.conv2d(box, self.distances).squeeze(1).chunk(2, 1)
        first, last = self.centres - near, self.centres + far
        return torch.cat((torch.cat(((first + last) / 2, last - first), 1) * self.strides, score.sigmoid()), 1)


class Detector(nn.Module):
    """A YOLOv8-like detector of the smallest size: 3 million parameters."""

    def __init__(self, size=640):
        super().__init__()
        self.stem = nn.Sequential(_Conv(3, 16, 3, 2), _Conv(16, 32, 3, 2), _Split(32, 32, 1, True))
        self.stage3 = nn.Sequential(_Conv(32, 64, 3, 2), _Split(64, 64, 2, True))
        self.stage4 = nn.Sequential(_Conv(64, 128, 3, 2), _Split(128, 128, 2, True))
        self.stage5 = nn.Sequential(_Conv(128, 256, 3, 2), _Split(256, 256, 1, True), _Pyramid(256))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.top4, self.top3 = _Split(384, 128, 1, False), _Split(192, 64, 1, False)
        self.down4, self.out4 = _Conv(64, 64, 3, 2), _Split(192, 128, 1, False)
        self.down5, self.out5 = _Conv(128, 128, 3, 2), _Split(384, 256, 1, False)
        self.detect = _Detect((64, 128, 256), size)

    def forward(self, x):
        p3 = self.stage3(self.stem(x))
        p4 = self.stage4(p3)
        p5 = self.stage5(p4)
        t4 = self.top4(torch.cat((self.up(p5), p4), 1))
        t3 = self.top3(torch.cat((self.up(t4), p3), 1))
        o4 = self.out4(torch.cat((self.down4(t3), t4), 1))
        o5 = self.out5(torch.cat((self.down5(o4), p5), 1))
        return self.detect((t3, o4, o5))


def yolov8_like():
    """SiLU everywhere, concats, nearest upsampling, distribution head."""
    zoo = _images(_calibrate(Detector(), (1, 3, 640, 640)), 640, "detections")
    zoo.axes = {}
    return zoo


# ---- Decoders


def gpt2():
    """GPT-2 small with a key and value cache: a prefill of 128 tokens, and one token after 127 and after 511."""
    config = transformers.GPT2Config(**WIDE)
    layers, heads, width, vocabulary = config.n_layer, config.n_head, config.n_embd // config.n_head, config.vocab_size
    rng = np.random.default_rng(3)

    def step(length, past):
        cache = [rng.standard_normal((1, heads, past, width)).astype(np.float32) for _ in range(2 * layers)]
        return [rng.integers(0, vocabulary, (1, length)), np.ones((1, past + length), np.int64), np.arange(past, past + length)[None], *cache]

    sets = {"past127": step(1, 127), "prefill128": step(128, 0), "past511": step(1, 511)}
    past, present = small.cache_names("past_key_values", layers), small.cache_names("present", layers)
    axes = {
        "input_ids": {0: "batch", 1: "sequence"},
        "attention_mask": {0: "batch", 1: "total"},
        "position_ids": {0: "batch", 1: "sequence"},
        "logits": {0: "batch", 1: "sequence"},
        **{name: {0: "batch", 2: "past_sequence"} for name in past},
        **{name: {0: "batch", 2: "total"} for name in present},
    }
    module = small.CausalPast(transformers.GPT2LMHeadModel(config))
    return Zoo(module, ["input_ids", "attention_mask", "position_ids", *past], ["logits", *present], axes, sets)


def _whisper():
    torch.manual_seed(8)
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(init_std=0.05))


def whisper_tiny_encoder():
    """30 seconds of sound: 1500 positions."""
    sets = {"30s": [np.random.default_rng(4).standard_normal((1, 80, 3000)).astype(np.float32)]}
    axes = {"input_features": {0: "batch"}, "last_hidden_state": {0: "batch"}}
    return Zoo(small.ByName(_whisper().model.encoder, ["input_features"], "last_hidden_state"), ["input_features"], ["last_hidden_state"], axes, sets)


def whisper_tiny_decoder():
    """First pass over four tokens: logits and both caches."""
    model = _whisper()
    rng = np.random.default_rng(5)
    sets = {"first4": [rng.integers(0, 50257, (1, 4)), rng.standard_normal((1, 1500, 384)).astype(np.float32)]}
    own, cross = small.cache_names("present.decoder", 4), small.cache_names("present.encoder", 4)
    axes = {
        "input_ids": {0: "batch", 1: "length"},
        "encoder_hidden_states": {0: "batch"},
        "logits": {0: "batch", 1: "length"},
        **{name: {0: "batch", 2: "length"} for name in own},
        **{name: {0: "batch"} for name in cross},
    }
    return Zoo(small.WhisperDecoder(model), ["input_ids", "encoder_hidden_states"], ["logits", *own, *cross], axes, sets)


def whisper_tiny_decoder_past():
    """One more token, with the caches of both attentions."""
    model = _whisper()
    rng = np.random.default_rng(6)

    def caches(length):
        return [rng.standard_normal((1, 6, length, 64)).astype(np.float32) for _ in range(8)]

    sets = {"past32": [rng.integers(0, 50257, (1, 1)), *caches(32), *caches(1500)]}
    past = small.cache_names("past.decoder", 4) + small.cache_names("past.encoder", 4)
    present = small.cache_names("present.decoder", 4)
    axes = {
        "input_ids": {0: "batch"},
        "logits": {0: "batch"},
        **{name: {0: "batch", 2: "past_length" if "decoder" in name else "states"} for name in past},
        **{name: {0: "batch", 2: "length"} for name in present},
    }
    return Zoo(small.WhisperDecoderPast(model), ["input_ids", *past], ["logits", *present], axes, sets)


MODELS = {
    "bert-base": bert_base,
    "distilbert": distilbert,
    "minilm-l6": minilm_l6,
    "roberta-base": roberta_base,
    "deberta-v3-small": deberta_v3_small,
    "vit-b16": vit_b16,
    "resnet50": resnet50,
    "mobilenet-v2": mobilenet_v2,
    "efficientnet-b0": efficientnet_b0,
    "convnext-tiny": convnext_tiny,
    "yolov8-like": yolov8_like,
    "whisper-tiny-encoder": whisper_tiny_encoder,
    "whisper-tiny-decoder": whisper_tiny_decoder,
    "whisper-tiny-decoder-past": whisper_tiny_decoder_past,
    "gpt2": gpt2,
}
