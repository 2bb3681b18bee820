"""All ranks of a made run: built, then timed."""
from .device import DEVICES
from .graph import Graph
from .noise import mix, normal, uniform, word
from .rank import Rank

GRAPH_GAP_US = 1.0


class Group:
    """A process group."""

    def __init__(self, name, ranks, description, amd):
        self.name, self.ranks, self.description, self.amd = name, ranks, description, amd

    def kernel(self, kind, args):
        from .comm import kernel_name
        return kernel_name(kind, args, self.amd)

    def channels(self, args):
        n = max(args["In msg nelems"], args["Out msg nelems"])
        return 8 if n < 1 << 18 else 16 if n < 1 << 22 else 24


class Job:
    """What a scenario says, built for all ranks: `faults` is fault -> its parameters."""

    def __init__(self, scenario, faults, host_factor=1.0, ledger=None):
        self.scenario, self.faults, self.seed = scenario, faults, scenario.seed
        self.config = {"stack": True, "syncs": False, "graph_gap": GRAPH_GAP_US, **scenario.config}
        self.device = DEVICES[scenario.device]
        self.host_factor = self.number("host", 0.8, 1.25) * host_factor
        self.latency = self.device.latency * self.number("latency", 0.9, 1.15)
        self.stream_gap = self.device.gap * self.number("gap", 0.9, 1.2)
        self.ledger, self.graph, self.meetings, self.groups = ledger, Graph(), {}, {}
        self.root, self.ranks_wanted = self.graph.node(), range(scenario.ranks)
        self.world = self.group("0", list(range(scenario.ranks)), "default_pg")
        self.ranks = [Rank(self, r) for r in range(scenario.ranks)]
        for rank in self.ranks:
            scenario.program(rank)
        self.join()
        self.time = self.graph.solve()

    def fault(self, name):
        """Parameters of a fault that this run has, else None."""
        return {"on": True, **self.faults[name]} if name in self.faults else None

    def group(self, name, ranks, description):
        key = (name, tuple(ranks))
        if key not in self.groups:
            self.groups[key] = Group(name, ranks, description, self.device.amd)
        return self.groups[key]

    def number(self, what, low, high):
        """A number of this run."""
        return uniform(mix(self.seed, word(what)), low, high)

    def start_ns(self, rank):
        """When a rank's recording begins: some tens of us apart."""
        return 50000 + mix(mix(self.seed, word("start")), rank) % 40000

    def clock_ns(self, rank):
        """What a rank's clock is off by."""
        return self.config.get("clocks", {}).get(rank, 0)

    def meet(self, group, kind, seq, rank, start, end, us, slack):
        """A member of a collective; the noise of its transfer is that of the first one's place."""
        key = (group.name, tuple(group.ranks), "p2p" if kind in ("send", "recv") else kind, seq)
        noise = normal(mix(mix(rank.place, word("transfer")), self.seed))
        if self.ledger is not None:
            rank.note("transfer", int(1000 * us * (1 + 0.015 * noise)))
        self.meetings.setdefault(key, []).append((rank.r, start, end, us, noise, slack))

    def join(self):
        """Every collective ends after its last member has come."""
        for (name, ranks, kind, seq), members in self.meetings.items():
            if sorted(m[0] for m in members) != sorted(ranks):
                raise ValueError(f"{kind} {seq} of group {name}: ranks {[m[0] for m in members]}")
            us, noise = max(m[3] for m in members), members[0][4]
            ns = int(1000 * us * (1 + 0.015 * noise))
            for _, _, end, _, _, slack in members:
                self.graph.into[end] += [(s[0], s[1] + ns + slack) for _, s, _, _, _, _ in members]

    def at(self, time):
        return self.time[time[0]] + time[1]
