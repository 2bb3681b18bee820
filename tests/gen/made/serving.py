"""Inference in parts that differ: text encoders before the model that they condition, and a server that
reads prompts in some iterations and writes a token in the others."""
from contextlib import nullcontext

from . import faults, inputs
from .decode import Decoder
from .device import Tensor
from .transformer import Transformer

ENCODER = {"layers": 8, "d": 768, "heads": 12, "kv": 12, "ff": 3072, "vocab": 32768, "batch": 1,
           "seq": 96, "causal": False, "file": "text/encoder.py",
           "classes": ("TextEncoder", "EncoderLayer", "EncoderAttention", "EncoderMLP")}


def part(rank, sizes):
    """A model of other sizes than the run's."""
    model = Transformer(rank)
    model.m = m = {**model.m, **sizes}
    model.dh, model.vocab = m["d"] // m["heads"], m["vocab"]
    model.qkv, model.up = (m["heads"] + 2 * m["kv"]) * model.dh, m["ff"]
    return model


def generate(rank):
    """Images: the prompt is encoded, in a graph unless the run has the fault of launching one by
    one; then the large model runs on it."""
    encoder, model = part(rank, ENCODER), Transformer(rank)
    m, script = model.m, model.m["script"]
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(88): generate"):
            with rank.frame(f"{script}(52): encode_prompt"):
                inputs.upload(rank, [Tensor((1, ENCODER["seq"]), "long int")],
                              f"{script}(31): to_device")
                with nullcontext() if rank.job.fault("eager") else rank.graph_launch():
                    encoder.forward()
            with rank.frame(f"{script}(70): denoise"):
                model.forward()
            faults.end_of_step(rank, step, m)
            rank.sync_stream()
    faults.after_steps(rank)


def serve(rank):
    """An iteration that reads prompts, then some that write a token: in a graph, unless the run has
    the fault of launching one by one."""
    reader, writer = part(rank, rank.job.scenario.config["prompts"]), Decoder(rank)
    m, script = writer.m, writer.m["script"]
    ids = Tensor((m["batch"],), "long int")
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(140): event_loop"):
            with rank.range(f"step[EXTEND bs={reader.m['batch']} "
                            f"toks={reader.m['batch'] * reader.m['seq']}]"):
                reader.forward()
                rank.sync_stream()
            for _ in range(rank.job.scenario.config["tokens"]):
                with rank.range(f"step[DECODE bs={m['batch']}]"):
                    inputs.upload(rank, [ids, ids], f"{script}(52): prepare_inputs")
                    eager = rank.job.fault("eager")
                    with nullcontext() if eager else rank.graph_launch():
                        logits = writer.forward()
                    writer.sample(logits)
                    rank.sync_stream()
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
