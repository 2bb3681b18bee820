"""What a merged trace has to be, found from its JSON alone and from that of its inputs: a second
way that shares nothing with the program."""
import bisect
import collections
import gzip
import json
import pathlib
from decimal import Decimal

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"}
HOST = {"cuda_runtime", "cuda_driver", "user_annotation"}
KEPT = GPU | HOST | {"ac2g", "fwdbwd", "cpu_instant_event", "Kernel"}
IDS = 10 ** 10  # ids of a rank are from here times rank on
DOUBLES = 2 ** 53
NAMES = {"process_name", "process_labels", "process_sort_index", "thread_name",
         "thread_sort_index"}


def read_bytes(path):
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def no_twice(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice: {keys}")
    return dict(pairs)


def load(path):
    """A merged trace, strictly: UTF-8, no NaN, no key twice, no half characters; exact numbers."""
    def text(value):
        if isinstance(value, str):
            value.encode("utf-8")
        elif isinstance(value, dict):
            for k, v in value.items():
                text(k)
                text(v)
        elif isinstance(value, list):
            for v in value:
                text(v)
    data = json.loads(read_bytes(path).decode("utf-8"), parse_float=Decimal,
                      parse_constant=no_constant, object_pairs_hook=no_twice)
    text(data)
    return data


def load_input(path):
    data = json.loads(read_bytes(path), parse_float=Decimal)
    return data if isinstance(data, dict) else {"traceEvents": data}


def plain(value):
    """Numbers of arguments as doubles, for comparing: 16.0 is 16."""
    if isinstance(value, Decimal):
        value = float(value)
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def slices_of(events):
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    return {k: sorted(v, key=lambda s: (s[0], -s[1])) for k, v in tracks.items()}


class Places:
    """Whether some slice of a track holds a moment."""

    def __init__(self, tracks):
        self.tracks = {}
        for key, slices in tracks.items():
            ends, last = [], Decimal(-10 ** 30)
            for _, end in slices:
                last = max(last, end)
                ends.append(last)
            self.tracks[key] = ([s for s, _ in slices], ends)

    def holds(self, event):
        starts, ends = self.tracks.get((event["pid"], event["tid"]), ([], []))
        n = bisect.bisect_right(starts, event["ts"])
        return n > 0 and ends[n - 1] >= event["ts"]


def nesting_faults(events):
    faults = []
    for track, slices in slices_of(events).items():
        stack = []
        for start, end in slices:
            while stack and stack[-1] <= start:
                stack.pop()
            if stack and stack[-1] < end:
                faults.append((track, start, end))
            stack.append(end)
    return faults


def flow_faults(events):
    """Every arrow has one start and one finish, in one rank, each on a slice."""
    flows, faults = collections.defaultdict(list), []
    places = Places(slices_of(events))
    for e in events:
        if e["ph"] in ("s", "t", "f"):
            flows[e["id"]].append(e)
    for number, ends in flows.items():
        if collections.Counter(e["ph"] for e in ends if e["ph"] != "t") != {"s": 1, "f": 1}:
            faults.append((number, "ends", [e["ph"] for e in ends]))
        if len({e["pid"] // 1000 for e in ends}) != 1 or len({e["cat"] for e in ends}) != 1:
            faults.append((number, "ranks or kinds differ"))
        if not isinstance(number, int) or not 0 <= number < DOUBLES:
            faults.append((number, "not exact in a double"))
        faults += [(number, "on no slice", e) for e in ends if not places.holds(e)]
    return faults


def place_faults(events):
    """Processes belong to one rank, threads are named, ids of ranks are their own."""
    faults, used, named = [], set(), collections.defaultdict(dict)
    ids = collections.defaultdict(set)
    for e in events:
        if e["ph"] == "M" and e["name"] in NAMES:
            if e["name"] in named[e["pid"], e["tid"]]:
                faults.append(("named twice", e))
            named[e["pid"], e["tid"]][e["name"]] = next(iter(e["args"].values()))
            continue
        rank = e["pid"] // 1000
        used.add((e["pid"], e["tid"]))
        if not e["name"].startswith(f"[R{rank}] "):
            faults.append(("name", e))
        if e["ph"] != "C" and e["args"].get("rank") != rank:
            faults.append(("rank", e))
        if e.get("cat") in GPU and e["pid"] % 1000 >= 500:
            faults.append(("GPU work on the host", e))
        if e.get("cat") in HOST and e["pid"] % 1000 < 500:
            faults.append(("host on a GPU", e))
        if "correlation" in e["args"] and e["ph"] == "X":
            ids["correlation", rank].add(e["args"]["correlation"])
        if "id" in e:
            ids["id", rank].add(e["id"])
    for (what, rank), numbers in ids.items():
        if any(not rank * IDS <= n < (rank + 1) * IDS for n in numbers):
            faults.append((what, rank, "ids of another rank"))
    for pid, tid in used:
        rank, sort = pid // 1000, 2 * (pid // 1000) + (pid % 1000 >= 500)
        process = named[pid, 0]
        want = f"Rank {rank} - " + ("GPU Stream" if pid % 1000 < 500 else "CPU/CUDA Runtime")
        if not str(process.get("process_name")).startswith(want) or \
                process.get("process_sort_index") != sort:
            faults.append(("process", pid, process))
        if {"thread_name", "thread_sort_index"} - set(named[pid, tid]):
            faults.append(("thread", pid, tid))
    pids = {pid for pid, _ in used}
    faults += [("nothing there", pid) for pid, _ in named if pid not in pids]
    return faults


def faults(merged):
    events = merged["traceEvents"]
    return (nesting_faults(events) + flow_faults(events) + place_faults(events))[:5]


# ---- compared with the inputs


def moved_args(args, rank):
    """The arguments that an event of a rank has after the merge."""
    out = {}
    for key, value in (args or {}).items():
        if key in ("External id", "external id"):
            if value > 0:
                out["External id"] = rank * IDS + value
        elif key == "correlation":
            if 0 < value < 2 ** 31:
                out[key] = rank * IDS + value
        elif key in ("Sequence number", "Python id", "Python parent id") and \
                isinstance(value, int) and value >= 0:
            out[key] = rank * IDS + value
        else:
            out[key] = plain(value)
    out["rank"] = rank
    return out


def is_kept(event, keep):
    return event.get("ph") in ("X", "i", "I") and (keep == "all" or event.get("cat") in KEPT)


def want_of(events, rank, keep, shift):
    """What of a rank has to be there, as a multiset."""
    return collections.Counter(
        (e["ph"], e.get("cat"), f"[R{rank}] {e['name']}", e["ts"] + shift, e.get("dur"),
         json.dumps(moved_args(e.get("args"), rank), sort_keys=True))
        for e in events if is_kept(e, keep))


def got_of(events, rank):
    return collections.Counter(
        (e["ph"], e.get("cat"), e["name"], e["ts"], e.get("dur"),
         json.dumps(plain(e["args"]), sort_keys=True))
        for e in events if e["ph"] in ("X", "i", "I") and e["pid"] // 1000 == rank)


def arrows_of(events, keep):
    """How many arrows of the input have both their ends on slices that are kept."""
    kept = [e for e in events if e.get("ph") == "X" and is_kept(e, keep)]
    places = Places(slices_of(kept))
    begins = {(e["pid"], e["tid"], e["ts"]) for e in kept}
    ends = collections.defaultdict(collections.Counter)
    for e in events:
        exact = keep == "all" or e.get("cat") == "ac2g"
        if e.get("ph") in ("s", "f") and (
                places.holds(e) if exact else (e["pid"], e["tid"], e["ts"]) in begins):
            ends[e["cat"], e["id"]][e["ph"]] += 1
    return sum(n["f"] for n in ends.values() if n["s"])


def differences(merged, inputs, keep="gpu", shifts=None):
    """`inputs`: rank -> path. What is missing or too much, shortened."""
    out = []
    for rank, path in inputs.items():
        events = load_input(path)["traceEvents"]
        want = want_of(events, rank, keep, (shifts or {}).get(rank, 0))
        got = got_of(merged["traceEvents"], rank)
        out += [("missing", x) for x in list(want - got)[:2]]
        out += [("too much", x) for x in list(got - want)[:2]]
        arrows = sum(e["ph"] == "f" and e["pid"] // 1000 == rank for e in merged["traceEvents"])
        if arrows != arrows_of(events, keep):
            out.append(("arrows", rank, arrows, arrows_of(events, keep)))
    ranks = {e["pid"] // 1000 for e in merged["traceEvents"]}
    if ranks != set(inputs):
        out.append(("ranks", ranks))
    return out
