"""GPU time of ranges, a slow second opinion: every event against every range.

A GPU event belongs to the ranges of the launching thread that are around the start of its launch,
ends included; where there is none, or only such as the framework sets, to those of other threads of
the process too, except what the framework set there.
"""
import collections
import re

import oracle

FRAMEWORK = re.compile("nccl:|FSDP::", re.I)


class Sum(collections.Counter):
    def add(self, g, exposed):
        self["events"] += 1
        self["kernels"] += g.cat == "kernel"
        self["gpu"] += g.dur
        if g.kind() == "communication":
            self["communication"] += g.dur
            self["exposed"] += exposed


class Row:
    def __init__(self):
        self.instances, self.host = 0, 0
        self.all, self.own = Sum(), Sum()
        self.reach = {}  # by instance: first start and last end of its events

    @property
    def projected(self):
        return sum(b - a for a, b in self.reach.values())


def annotations(source):
    """Ranges in order of process, thread (as they first appear) and start."""
    place, found = {}, []
    for i, raw in enumerate(oracle.load(source)):
        where = (raw.get("pid"), raw.get("tid"))
        place.setdefault(where, len(place))
        if raw.get("cat") == "user_annotation" and raw.get("ph") == "X":
            found.append(oracle.Event(i, raw))
    for r in found:
        r.place = place[(r.pid, r.tid)]
    return sorted(found, key=lambda r: (r.pid, r.place, r.ts, r.index))


def each_once(ranges, gpu):
    """Without those recorded twice; where GPU times are whole microseconds nothing tells them."""
    if all(g.ts % 1000 == g.dur % 1000 == 0 for g in gpu):
        return ranges
    seen, kept = set(), []
    for r in ranges:
        what = (r.pid, r.tid, r.name, r.ts, r.dur)
        if not r.dur or what not in seen:
            kept.append(r)
        seen.add(what)
    return kept


def exposed_of(g, gpu):
    return oracle.minus([g.span], [o.span for o in gpu
                                   if o.device == g.device and o.kind() == "compute"])


def around(g, ranges):
    """The ranges that an event belongs to, in order of start: of its own thread, of others."""
    at = g.launch.ts
    of = [r for r in ranges if r.pid == g.launch.pid and r.ts <= at <= r.end]
    own = [r for r in of if r.tid == g.launch.tid]
    users = [r for r in of if not FRAMEWORK.match(r.name)]
    if any(r in users for r in own):
        users = []
    return sorted(own, key=lambda r: r.ts), sorted(users, key=lambda r: r.ts)


def rows(truth, source):
    """Rows by (pid, name), and what is in no range by (pid, "outside") or (None, "unlaunched")."""
    ranges, out = each_once(annotations(source), truth.gpu), collections.defaultdict(Row)
    for r in ranges:
        out[(r.pid, "range", r.name)].instances += 1
        out[(r.pid, "range", r.name)].host += r.dur
    for g in truth.gpu:
        exposed = exposed_of(g, truth.gpu) if g.kind() == "communication" else 0
        if g.launch is None:
            out[(None, "unlaunched", "")].own.add(g, exposed)
            continue
        own, others = around(g, ranges)
        of = own or others
        if not of:
            out[(g.launch.pid, "outside", "")].own.add(g, exposed)
            continue
        shortest = min(r.dur for r in of)
        inner = [r for r in of if r.dur == shortest][-1]
        out[(inner.pid, "range", inner.name)].own.add(g, exposed)
        seen = set()
        for r in own + others:
            if r.name in seen:
                continue
            seen.add(r.name)
            row = out[(r.pid, "range", r.name)]
            row.all.add(g, exposed)
            a, b = row.reach.get(r.index, (g.ts, g.end))
            row.reach[r.index] = (min(a, g.ts), max(b, g.end))
    return out
