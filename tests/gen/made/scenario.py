"""The runs: name -> program, faults, sizes, seed.

`faults` names what a run has: fault -> its parameters, with `kind` (a kind of finding) and `where`.
`hidden` are faults whose removal gains nothing, because something else limits. What else is in a
line is a property of the run, with its faults and without. `also_ok`: kinds that gain something
too, or that the same remedy goes by; the comment says why."""
SCENARIOS = {}


class Scenario:
    def __init__(self, name, device, program, seed, description, faults=None, model=None, ranks=1,
                 steps=4, observation="nothing_found", also_ok=(), measure="steady", hidden=None,
                 **config):
        self.name, self.device, self.program, self.seed = name, device, program, seed
        self.description, self.config, self.model = description, config, model or {}
        self.ranks, self.steps, self.measure = ranks, steps, measure
        self.also_ok, self.observation = also_ok, None if faults else observation
        self.kinds, self.where, self.faults = parts(faults or {})
        self.kinds_of_hidden, _, self.hidden = parts(hidden or {})
        self.sort = SORT[-1]


def parts(faults):
    """Kinds, where, parameters, by fault."""
    rest = {n: {k: v for k, v in f.items() if k not in ("kind", "where")}
            for n, f in faults.items()}
    return ({n: f["kind"] for n, f in faults.items()},
            {n: f["where"] for n, f in faults.items()}, rest)


# The sort that the next runs are of.
SORT = []


def run(name, *args, **kw):
    assert name not in SCENARIOS
    SCENARIOS[name] = Scenario(name, *args, **kw)


def fault(kind, where=None, **parameters):
    return {"kind": kind, "where": where or {}, **parameters}


# ---- models -------------------------------------------------------------------------------------

LLM = {"layers": 4, "d": 2560, "heads": 20, "kv": 4, "ff": 6912, "vocab": 64000, "batch": 2,
       "seq": 2048, "gated": True, "rope": True, "file": "llm/modeling.py", "script": "pretrain.py",
       "classes": ("CausalLM", "DecoderLayer", "SelfAttention", "GatedMLP")}
GPT = {"layers": 5, "d": 1792, "heads": 14, "kv": 14, "ff": 7168, "vocab": 50304, "batch": 6,
       "seq": 1024, "bias": True, "classes": ("GPT", "Block", "CausalSelfAttention", "MLP"),
       "file": "nano/model.py", "script": "nano/train.py"}
IMAGES = {"samples": 8, "frame": "datasets/folder.py(93): __getitem__",
          "parts": (("<built-in function imdecode>", 0.55),
                    ("albumentations/core/composition.py(341): __call__", 0.45))}
VIT = {"layers": 6, "d": 1024, "heads": 16, "kv": 16, "ff": 4096, "vocab": 16384, "batch": 48,
       "seq": 256, "causal": False, "bias": True, "dtype": "c10::Half", "style": IMAGES,
       "classes": ("VisionTransformer", "EncoderBlock", "MultiheadSelfAttention", "FeedForward"),
       "file": "vision/vit.py", "script": "main_pretrain.py"}
BERT = {"layers": 8, "d": 1024, "heads": 16, "kv": 16, "ff": 4096, "vocab": 30528, "batch": 24,
        "seq": 384, "causal": False, "bias": True, "file": "encoder/bert.py",
        "classes": ("BertModel", "BertLayer", "BertSelfAttention", "BertIntermediate"),
        "script": "encoder/finetune.py"}
SOUNDS = {"samples": 6, "frame": "speech/dataset.py(71): __getitem__",
          "parts": (("soundfile.py(285): read", 0.35),
                    ("librosa/core/spectrum.py(55): stft", 0.65))}
SPEECH = {"layers": 6, "d": 1280, "heads": 20, "kv": 20, "ff": 5120, "vocab": 51968, "batch": 8,
          "seq": 1500, "causal": False, "bias": True, "style": SOUNDS, "file": "speech/encoder.py",
          "classes": ("AudioEncoder", "ResidualAttentionBlock", "MultiHeadAttention", "FFN"),
          "script": "speech/run.py"}
SMALL = {"layers": 6, "d": 512, "heads": 8, "kv": 8, "ff": 2048, "vocab": 8192, "batch": 4,
         "seq": 128, "classes": ("TinyLM", "TinyBlock", "TinyAttention", "TinyMLP"),
         "file": "tiny/model.py", "script": "tiny/fit.py"}
SHARED = {"stack": False}

# Places of faults.
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
HAND = {"op": "aten::bmm, aten::softmax, aten::_softmax"}
ROPE = {"op": "aten::neg, aten::cat, aten::mul, aten::add",
        "file": "llm/modeling.py(71): apply_rotary_pos_emb"}
NORM = {"op": "aten::pow, aten::mean, aten::rsqrt, aten::mul", "file": "llm/modeling.py(18): _norm"}
SCORES = "(40): attention_scores"
