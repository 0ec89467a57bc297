"""Small Transformer models of the kinds people export, with PyTorch's answers.

Seeded random weights, two layers, hidden size 24; exported with the TorchScript exporter, attention 'eager', dynamic axes.
Each function returns (ModelProto, list of (inputs, outputs)).
"""

import numpy as np
import torch
import transformers
from torch import nn
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

import fixtures

VOCABULARY = 80
SMALL = dict(
    vocab_size=VOCABULARY,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=40,
    initializer_range=0.25,
    attn_implementation="eager",
)


def _tokens(rng, lengths, pad=0):
    """Ids and mask [batch, longest]; the padding carries the id `pad`."""
    width = max(lengths)
    ids = np.full((len(lengths), width), pad, np.int64)
    mask = np.zeros((len(lengths), width), np.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = rng.integers(5, VOCABULARY, length)
        mask[row, :length] = 1
    return [ids, mask]


def _answers(module, batches):
    """Each batch with what PyTorch makes of it, outputs flattened to a list of arrays."""
    sets = []
    with torch.no_grad():
        for batch in batches:
            result = module(*map(torch.from_numpy, batch))
            result = result if isinstance(result, tuple) else (result,)
            sets.append((batch, [tensor.numpy() for tensor in result]))
    return sets


def _export(module, batches, inputs, outputs, axes, opset=17):
    """Export with the first batch as the example and answer all of them."""
    module.eval()
    with torch.no_grad():
        model = fixtures.export_torch(module, tuple(map(torch.from_numpy, batches[0])), inputs, outputs, axes, opset)
    return model, _answers(module, batches)


class ByName(nn.Module):
    """Calls `model` with tensors under the given names and keeps one field of the result."""

    def __init__(self, model, names, field):
        super().__init__()
        self.model, self.names, self.field = model, names, field

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)))[self.field]


def _encoder(model, batches, names, field, outputs_axes, opset=17):
    axes = {name: {0: "batch", 1: "sequence"} for name in names}
    return _export(ByName(model, names, field), batches, names, [field], {**axes, field: outputs_axes}, opset)


def bert_ner():
    """Token classification: three inputs, logits per token."""
    rng = np.random.default_rng(1)
    model = transformers.BertForTokenClassification(transformers.BertConfig(**SMALL, num_labels=9))
    batches = []
    for lengths in ([9, 4], [1], [17, 17, 2]):
        ids, mask = _tokens(rng, lengths)
        batches.append([ids, mask, (rng.random(ids.shape) < 0.4).astype(np.int64)])
    return _encoder(model, batches, ["input_ids", "attention_mask", "token_type_ids"], "logits", {0: "batch", 1: "sequence"})


class SentenceEmbedding(nn.Module):
    """Mean over the tokens that count, scaled to length 1, as sentence-transformers does."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask):
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).expand(states.size()).float()
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return states, nn.functional.normalize(mean, p=2, dim=1)


def sentence_embedding():
    """A MiniLM-like encoder with pooling and normalisation in the graph."""
    rng = np.random.default_rng(2)
    model = SentenceEmbedding(transformers.BertModel(transformers.BertConfig(**SMALL), add_pooling_layer=False))
    batches = [_tokens(rng, lengths) for lengths in ([8, 5], [3], [20, 1, 13, 20])]
    axes = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask", "token_embeddings")}
    return _export(model, batches, ["input_ids", "attention_mask"], ["token_embeddings", "sentence_embedding"], {**axes, "sentence_embedding": {0: "batch"}})


def roberta():
    """Positions count from the padding mask (CumSum); sequence classification."""
    rng = np.random.default_rng(3)
    model = transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**SMALL, type_vocab_size=1, num_labels=2, pad_token_id=1))
    batches = [_tokens(rng, lengths, pad=1) for lengths in ([10, 6], [2], [15, 3, 9])]
    return _encoder(model, batches, ["input_ids", "attention_mask"], "logits", {0: "batch"})


def deberta_v2():
    """Disentangled attention: log buckets of relative positions, gathers along the last axis, a convolution layer."""
    rng = np.random.default_rng(4)
    config = transformers.DebertaV2Config(
        **SMALL,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=8,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_biased_input=False,
        conv_kernel_size=3,
        conv_act="gelu",
        num_labels=3,
    )
    model = transformers.DebertaV2ForSequenceClassification(config)
    batches = [_tokens(rng, lengths) for lengths in ([9, 5], [3], [21, 14])]
    return _encoder(model, batches, ["input_ids", "attention_mask"], "logits", {0: "batch"})


def t5_encoder():
    """Relative position bias by buckets (Log, Min, Where on integers), RMS norm, no biases."""
    rng = np.random.default_rng(5)
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=24,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
        initializer_factor=1.0,
    )
    model = transformers.T5EncoderModel(config)
    batches = [_tokens(rng, lengths) for lengths in ([9, 5], [1], [26, 14])]
    return _encoder(model, batches, ["input_ids", "attention_mask"], "last_hidden_state", {0: "batch", 1: "sequence"})


def vit():
    """Patches, class token, pre-norm encoder."""
    rng = np.random.default_rng(6)
    config = transformers.ViTConfig(
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=16,
        patch_size=4,
        num_labels=5,
        initializer_range=0.2,
        attn_implementation="eager",
    )
    model = transformers.ViTForImageClassification(config)
    batches = [[rng.standard_normal((n, 3, 16, 16)).astype(np.float32)] for n in (1, 2)]
    return _export(ByName(model, ["pixel_values"], "logits"), batches, ["pixel_values"], ["logits"], {"pixel_values": {0: "batch"}, "logits": {0: "batch"}})


def clip_text():
    """Causal text encoder that picks the state of the highest token id (ArgMax), quick GELU."""
    rng = np.random.default_rng(7)
    config = transformers.CLIPTextConfig(
        vocab_size=VOCABULARY,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=32,
        projection_dim=16,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation="eager",
    )
    model = transformers.CLIPTextModelWithProjection(config)
    batches = [_tokens(rng, lengths) for lengths in ([9, 5], [3], [21, 14])]
    return _encoder(model, batches, ["input_ids", "attention_mask"], "text_embeds", {0: "batch"})


WHISPER = dict(
    vocab_size=VOCABULARY,
    num_mel_bins=16,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    d_model=24,
    max_source_positions=12,
    max_target_positions=16,
    init_std=0.2,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
    attn_implementation="eager",
)


def _whisper():
    fixtures.seed_all(8)
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**WHISPER)).eval()


def whisper_encoder():
    """Two 1-D convolutions over the mel spectrogram, sinusoids, encoder layers."""
    rng = np.random.default_rng(8)
    model = _whisper().model.encoder
    batches = [[rng.standard_normal((n, 16, 24)).astype(np.float32)] for n in (1, 2)]
    return _export(
        ByName(model, ["input_features"], "last_hidden_state"),
        batches,
        ["input_features"],
        ["last_hidden_state"],
        {"input_features": {0: "batch"}, "last_hidden_state": {0: "batch"}},
    )


class WhisperDecoder(nn.Module):
    """First decoding pass: no cache in, logits and the cache of both attentions out."""

    def __init__(self, model):
        super().__init__()
        self.decoder, self.head = model.model.decoder, model.proj_out

    def forward(self, input_ids, encoder_hidden_states):
        result = self.decoder(
            input_ids=input_ids, encoder_hidden_states=encoder_hidden_states, use_cache=True, cache=EncoderDecoderCache(DynamicCache(), DynamicCache())
        )
        return (
            self.head(result.last_hidden_state),
            *_flat_cache(result.past_key_values.self_attention_cache),
            *_flat_cache(result.past_key_values.cross_attention_cache),
        )


class WhisperDecoderPast(nn.Module):
    """Next passes: one token and both caches in, logits and the grown self-attention cache out."""

    def __init__(self, model):
        super().__init__()
        self.decoder, self.head, self.config = model.model.decoder, model.proj_out, model.config

    def forward(self, input_ids, *past):
        own, cross = _cache(past[: len(past) // 2]), _cache(past[len(past) // 2 :])
        cache = EncoderDecoderCache(own, cross)
        batch = input_ids.shape[0]
        states = torch.zeros(batch, cross.layers[0].keys.shape[2], self.config.d_model)
        result = self.decoder(input_ids=input_ids, encoder_hidden_states=states, cache=cache, use_cache=True)
        return (self.head(result.last_hidden_state), *_flat_cache(result.past_key_values.self_attention_cache))


def _cache(tensors):
    """A DynamicCache of key, value, key, value, … one pair per layer."""
    cache = DynamicCache()
    for layer in range(len(tensors) // 2):
        cache.update(tensors[2 * layer], tensors[2 * layer + 1], layer)
    return cache


def _flat_cache(cache):
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def cache_names(prefix, layers=2):
    return [f"{prefix}.{layer}.{kind}" for layer in range(layers) for kind in ("key", "value")]


def whisper_decoder():
    """Causal self-attention and cross-attention over the encoder's states; gives the caches."""
    rng = np.random.default_rng(9)
    module = WhisperDecoder(_whisper()).eval()
    batches = [[rng.integers(3, VOCABULARY, (n, t)), rng.standard_normal((n, 12, 24)).astype(np.float32)] for n, t in ((1, 4), (2, 7))]
    own, cross = cache_names("present.decoder"), cache_names("present.encoder")
    axes = {
        "input_ids": {0: "batch", 1: "length"},
        "encoder_hidden_states": {0: "batch"},
        "logits": {0: "batch", 1: "length"},
        **{n: {0: "batch", 2: "length"} for n in own},
        **{n: {0: "batch"} for n in cross},
    }
    return _export(module, batches, ["input_ids", "encoder_hidden_states"], ["logits", *own, *cross], axes)


def whisper_decoder_past():
    """One token at a time with caches in and out; continues two prefixes of different length."""
    rng = np.random.default_rng(10)
    whisper = _whisper()
    first, module = WhisperDecoder(whisper).eval(), WhisperDecoderPast(whisper).eval()
    batches = []
    with torch.no_grad():
        for n, t in ((1, 3), (2, 8)):
            states = torch.from_numpy(rng.standard_normal((n, 12, 24)).astype(np.float32))
            caches = first(torch.from_numpy(rng.integers(3, VOCABULARY, (n, t))), states)[1:]
            batches.append([rng.integers(3, VOCABULARY, (n, 1)), *[c.numpy() for c in caches]])
    past = cache_names("past.decoder") + cache_names("past.encoder")
    present = cache_names("present.decoder")
    axes = {
        "input_ids": {0: "batch"},
        "logits": {0: "batch"},
        **{n: {0: "batch", 2: "past_length" if "decoder" in n else "states"} for n in past},
        **{n: {0: "batch", 2: "length"} for n in present},
    }
    return _export(module, batches, ["input_ids", *past], ["logits", *present], axes)


class CausalPast(nn.Module):
    """A causal language model with its key and value cache as plain inputs and outputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, cache=_cache(past), use_cache=True)
        return (result.logits, *_flat_cache(result.past_key_values))


def _causal(model, rng, heads, width):
    """Prefill (empty cache), one more token, and a batch with left padding and several tokens at once."""
    module = CausalPast(model).eval()

    def step(batch, length, past, padding=()):
        ids = rng.integers(3, VOCABULARY, (batch, length))
        total = length + past[0].shape[2]
        mask = np.ones((batch, total), np.int64)
        for row, count in enumerate(padding):
            mask[row, :count] = 0
        positions = np.maximum(mask.cumsum(1) - 1, 0)[:, -length:]
        return [ids, mask, positions, *past]

    def empty(batch):
        return [np.zeros((batch, heads, 0, width), np.float32)] * 4

    batches = []
    with torch.no_grad():
        for batch, prefix, more, padding in ((1, 5, 1, ()), (2, 7, 3, (0, 3))):
            batches.append(step(batch, prefix, empty(batch), padding))
            present = [t.numpy() for t in module(*map(torch.from_numpy, batches[-1]))[1:]]
            batches.append(step(batch, more, present, padding))
    batches = [batches[1], batches[0], batches[3], batches[2]]
    past, present = cache_names("past_key_values"), cache_names("present")
    axes = {
        "input_ids": {0: "batch", 1: "sequence"},
        "attention_mask": {0: "batch", 1: "total"},
        "position_ids": {0: "batch", 1: "sequence"},
        "logits": {0: "batch", 1: "sequence"},
        **{n: {0: "batch", 2: "past_sequence"} for n in past},
        **{n: {0: "batch", 2: "total"} for n in present},
    }
    return _export(module, batches, ["input_ids", "attention_mask", "position_ids", *past], ["logits", *present], axes)


def gpt2_past():
    """GPT-2 with a key and value cache; the prefill has a cache of length zero."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=40,
        n_embd=24,
        n_layer=2,
        n_head=4,
        n_inner=48,
        initializer_range=0.2,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation="eager",
    )
    return _causal(transformers.GPT2LMHeadModel(config), np.random.default_rng(11), 4, 6)


def llama_past():
    """RMS norm, rotary embedding, grouped keys and values, gated SiLU, with a cache."""
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2, tie_word_embeddings=True)
    return _causal(transformers.LlamaForCausalLM(config), np.random.default_rng(12), 2, 6)


MODELS = {
    "bert-ner": bert_ner,
    "sentence-embedding": sentence_embedding,
    "roberta": roberta,
    "deberta-v2": deberta_v2,
    "t5-encoder": t5_encoder,
    "vit": vit,
    "clip-text": clip_text,
    "whisper-encoder": whisper_encoder,
    "whisper-decoder": whisper_decoder,
    "whisper-decoder-past": whisper_decoder_past,
    "gpt2-past": gpt2_past,
    "llama-past": llama_past,
}
