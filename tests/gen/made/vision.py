"""Convolutional networks in training: stages of residual blocks, norms and activations compiled."""
from . import faults, inputs, kernels, ops
from .device import Tensor
from .kernels import named
from .parallel import hook

MODEL = {
    "batch": 64, "size": 56, "width": 64, "blocks": (2, 2, 2), "dtype": "c10::Half",
    "file": "nets/resnet.py", "script": "imagenet.py", "side": 20, "optimizer": "AdamW",
    "style": {"samples": 10, "frame": "imagenet_data.py(58): __getitem__", "sample": (3, 224, 224),
              "parts": (("PIL/Image.py(994): convert", 0.5),
                        ("torchvision/transforms/v2/_container.py(50): forward", 0.5))}}


def conv_us(rank, x, w, stride, at=None):
    """(output, us)"""
    n, c, h, _ = x.shape
    k, _, r, _ = w.shape
    out = Tensor((n, k, h // stride, h // stride), x.dtype)
    low, high = (0.9 * s for s in rank.dev.math)
    at = at or kernels.share(rank, "conv", (x.shape, w.shape), low, high)
    math = 2e-6 * out.n * c * r * r / (rank.dev.peak(x.dtype) * at)
    moved = (x.bytes + w.bytes + out.bytes) / (rank.dev.bw * 780)
    return out, kernels.START_US + max(math, moved)


def conv_kernel(rank, way, dtype):
    if rank.dev.amd:
        way = {"fprop": "fwd", "dgrad": "bwd", "wgrad": "wrw"}[way]
        return named("conv_amd", way=way, kind="fp16" if dtype == "c10::Half" else "bf16")
    half = "f16f16_f16f32_f32" if dtype == "c10::Half" else "bf16bf16_bf16f32_f32"
    return named("conv_nvidia", way=way, kind=half)


class Net:
    def __init__(self, rank):
        self.rank, self.m, self.params = rank, {**MODEL, **rank.job.scenario.model}, []

    def launch(self, kernel, us, like):
        self.rank.launch(kernel, us, grid=(max(1, like.n // 16384), 1, 1), regs=232, shared=65536,
                         api="hipExtModuleLaunchKernel" if self.rank.dev.amd else None)

    def transpose(self, t, way):
        """The library's own change of layout, where tensors are not channels last."""
        fault = self.rank.job.fault("nchw")
        if fault:
            us = kernels.memory_us(self.rank, 2 * t.bytes, "transpose", fault["share"])
            self.rank.launch(named("transpose_" + way), us, grid=(t.n // 8192, 1, 1),
                             block=(256, 1, 1))

    def conv(self, x, k, r, stride=1):
        """nn.Conv2d without bias."""
        rank, w = self.rank, Tensor((k, x.shape[1], r, r), x.dtype)
        slow = rank.job.fault("conv")
        slow = slow if slow and (r, x.shape[1]) == (slow["r"], slow["c"]) else None
        pad, step, ones = str([r // 2, r // 2]), str([stride, stride]), "[1, 1]"
        tail = (step, pad, ones, "False", "[0, 0]", "1")
        name = "aten::miopen_convolution" if rank.dev.amd else "aten::cudnn_convolution"
        flags = ("False", "False") if rank.dev.amd else ("False", "False", "True")
        with rank.op("aten::conv2d", x, w, "", step, pad, ones, "1"):
            with rank.op("aten::convolution", x, w, "", *tail, back="ConvolutionBackward0") as e:
                with rank.op("aten::_convolution", x, w, "", *tail, *flags, "True", "True"):
                    with rank.op(name, x, w, pad, step, ones, "1", *flags):
                        self.transpose(x, "in")
                        out, us = conv_us(rank, x, w, stride, slow and slow["share"])
                        kernel = named("conv_slow") if slow else conv_kernel(rank, "fprop", x.dtype)
                        self.launch(kernel, us, out)
                        self.transpose(out, "out")
        ops.undo(rank, e, "ConvolutionBackward0", lambda: self.conv_backward(x, w, out, stride), w)
        self.params.append(w)
        return out

    def conv_backward(self, x, w, out, stride):
        rank = self.rank
        with rank.op("aten::convolution_backward", out, x, w, "", str([stride] * 2),
                     str([w.shape[2] // 2] * 2), "[1, 1]", "False", "[0, 0]", "1", ""):
            _, us = conv_us(rank, x, w, stride)
            for way, a, b in (("dgrad", out, x), ("wgrad", x, w)):
                self.transpose(a, "in")
                self.launch(conv_kernel(rank, way, x.dtype), 1.08 * us, x)
                self.transpose(b, "out")

    def normed(self, x, add=False):
        """Batch norm, activation and residual, compiled: one pass for the statistics, one for the
        rest."""
        name, stat = "_native_batch_norm_legit_functional", Tensor((x.shape[1],), "float")
        ops.compiled(self.rank, f"triton_red_fused_{name}_0", [x], [stat])
        back = "triton_poi_fused_native_batch_norm_backward_threshold_backward_3", [x, x], [x]
        return ops.compiled(self.rank, f"triton_poi_fused_{name}_{'add_' * add}relu_{1 + add}",
                            [x, stat] + [x] * add, [x], back)

    def block(self, i, x, width, stride):
        rank = self.rank
        with rank.module("Bottleneck", i), rank.frame(f"{self.m['file']}(144): forward"):
            y = self.normed(self.conv(x, width, 1))
            y = self.normed(self.conv(y, width, 3, stride))
            y = self.conv(y, 4 * width, 1)
            if y.shape != x.shape:
                self.conv(x, 4 * width, 1, stride)
            return self.normed(y, add=True)

    def forward(self):
        rank, m = self.rank, self.m
        self.params, i = [], 0
        with rank.module("ResNet", 0), rank.frame(f"{m['file']}(266): forward"):
            x = Tensor((m["batch"], m["width"], m["size"], m["size"]), m["dtype"])
            for stage, blocks in enumerate(m["blocks"]):
                for b in range(blocks):
                    faults.before_layer(rank, i, sum(m["blocks"]))
                    x = self.block(i, x, m["width"] << stage, 2 if stage and not b else 1)
                    i += 1
            with rank.op("aten::mean", x, "[-1, -2]", "True", "", back="MeanBackward1") as e:
                kernels.reduce(rank, "mean", x)
            ops.undo(rank, e, "MeanBackward1", lambda: ops.pointwise(rank, "div", x, "49"))
            return ops.linear(rank, Tensor((m["batch"], x.shape[1]), m["dtype"]), 1000, bias=True)


def train(rank):
    net = Net(rank)
    m, script = net.m, net.m["script"]
    hook(rank)
    image = Tensor((m["batch"], 3, 4 * m["size"], 4 * m["size"]), "float")
    faults.before_steps(rank)
    for step in faults.steps(rank):
        with rank.frame(f"{script}(205): train_one_step"):
            inputs.fetch(rank, m["style"])
            inputs.upload(rank, [image, Tensor((m["batch"],), "long int")],
                          f"{script}(171): prefetch", m["side"])
            ops.zero_grad(rank, m["optimizer"])
            rank.grad = True
            ops.cross_entropy(rank, net.forward())
            rank.params = net.params
            ops.backward(rank)
            rank.grad = False
            faults.optimize(rank, m["optimizer"])
            faults.end_of_step(rank, step, m)
    faults.after_steps(rank)
