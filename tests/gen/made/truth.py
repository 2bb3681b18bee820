"""What is true of a made run: step times with and without each fault, by simulation."""
from .job import Job

KINDS = """
data_loading launch_bound host_sync allocator_calls pageable_copy exposed_copy host_pause
checkpoint_save unfused_attention fusible_chain rope_unfused layout_copies norm_unfused
low_efficiency_gemm misaligned_gemm fp32_gemm_without_tf32 small_gemms low_efficiency_attention
low_efficiency_convolution low_efficiency_elementwise low_efficiency_reduction
low_efficiency_other optimizer_unfused exposed_communication low_bandwidth_collective
small_collectives straggler_compute straggler_host moe_imbalance pipeline_bubble
activation_recompute graph_gap queued_gap stream_serialization recompilation power_or_clock
""".split()
PLACES = ("rank", "op", "module", "file", "call", "stream")


def times(job):
    """(ms of a step after the first, ms of the window) over all ranks, in the time of the job."""
    ends, first, last = {}, None, 0
    for rank in job.ranks:
        for w in rank.works:
            if w.call is None:
                continue
            start, end = job.at(w.start), job.at(w.end)
            first, last = min(first or start, start), max(last, end)
            if w.step is not None:
                ends[w.step] = max(ends.get(w.step, 0), end)
    return (ends[max(ends)] - ends[min(ends)]) / (max(ends) - min(ends)) / 1e6, (last - first) / 1e6


def union(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(spans):
    return sum(b - a for a, b in union(spans))


def timeline(job, rank):
    """GPU time of a rank in ns: copies and communication are exposed where nothing computes."""
    by = {"compute": [], "comm": [], "copy": []}
    for w in rank.works:
        kind = "copy" if w.cat == "gpu_memcpy" else "comm" if "nccl" in w.name else "compute"
        by[kind].append((job.at(w.start), job.at(w.end)))
    every = by["compute"] + by["comm"] + by["copy"]
    busy, total = length(every), max(b for _, b in every) - min(a for a, _ in every)
    compute, both = length(by["compute"]), length(by["compute"] + by["comm"])
    return {"computation_time": compute, "exposed_comm_time": both - compute,
            "exposed_memcpy_time": busy - both, "busy_time": busy, "idle_time": total - busy,
            "total_time": total, "total_comm_time": length(by["comm"]),
            "total_memcpy_time": length(by["copy"])}


class Gain:
    """Of leaving out some faults."""

    def __init__(self, scenario, with_, without):
        self.with_, self.without = with_, without
        if scenario.measure == "window":
            self.step = [w / scenario.steps for _, w in (with_, without)]
        else:
            self.step = [s for s, _ in (with_, without)]
        self.ms = self.step[0] - self.step[1]
        self.percent = 100 * self.ms / self.step[0]
        self.window = 100 * (with_[1] - without[1]) / with_[1]

    def facts(self):
        return {"gain_ms_per_step": round(self.ms, 6), "gain_percent": round(self.percent, 3),
                "gain_percent_of_window": round(self.window, 3)}


def truth(scenario):
    """(the run with its faults, its truth.json)."""
    everything = {**scenario.faults, **scenario.hidden}
    job = Job(scenario, everything)
    with_ = times(job)

    def gain(*names):
        rest = {k: v for k, v in everything.items() if k not in names}
        return Gain(scenario, with_, times(Job(scenario, rest)) if names else with_)
    gains = {name: gain(name) for name in scenario.faults}
    every = gain(*gains) if len(gains) != 1 else next(iter(gains.values()))
    facts = {**about(scenario), **of_faults(scenario, gains, every),
             "gpu_timeline_ns": [timeline(job, r) for r in job.ranks]}
    if scenario.hidden:
        facts["gain_of_hidden_ms_per_step"] = {
            scenario.kinds_of_hidden[n]: round(gain(n).ms, 6) for n in scenario.hidden}
    return job, facts


def about(scenario):
    window = scenario.measure == "window"
    return {"scenario": scenario.name, "kind": scenario.observation,
            "is_finding": bool(scenario.faults), "observation": scenario.observation,
            "description": scenario.description, "platform": scenario.device,
            "ranks": scenario.ranks, "steps": scenario.steps,
            "step_measure": "window by steps" if window else "mean of the steps after the first"}


def of_faults(scenario, gains, every):
    order = sorted(gains, key=lambda n: -gains[n].ms)
    told = set(scenario.kinds.values()) | set(scenario.also_ok)
    where = {k: None for k in PLACES}
    facts = {}
    if order:
        facts["kind"] = scenario.kinds[order[0]]
        where.update(scenario.where[order[0]])
    facts.update({"step_ms_with": round(every.step[0], 6),
                  "step_ms_without": round(every.step[1], 6)})
    facts.update(gains[order[0]].facts() if order else every.facts())
    facts.update({
        "window_ms_per_step": round(every.with_[1] / scenario.steps, 6), "where": where,
        "order": [{"kind": scenario.kinds[n], **gains[n].facts(), "where": scenario.where[n]}
                  for n in order],
        "gain_of_all_ms_per_step": round(every.ms, 6), "also_ok": sorted(scenario.also_ok),
        "must_not": [k for k in KINDS if k not in told]})
    return facts
