"""compare's breakdown of a difference against a count of every microsecond: small random jobs whose
collectives end together, some on streams beside each other, some under computing."""
import json
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import FULL, Case, document, kernel, trawl

STREAMS = (9, 10)  # a process group each


def job(rng, ranks):
    """{rank: (computing, collectives)}: lists of (start, end), and of (start, end, number)."""
    computing = [[] for _ in range(ranks)]
    collectives = [[] for _ in range(ranks)]
    for stream in range(len(STREAMS)):
        at = rng.randrange(50)
        for _ in range(rng.randrange(1, 5)):
            starts = [at + rng.randrange(60) for _ in range(ranks)]
            end = max(starts) + rng.randrange(1, 40)
            for r in range(ranks):
                collectives[r].append((starts[r], end, stream))
            at = end + rng.randrange(1, 30)
    for r in range(ranks):
        at = 0
        for _ in range(rng.randrange(1, 8)):
            at += rng.randrange(30)
            length = rng.randrange(1, 40)
            computing[r].append((at, at + length))
            at += length
    return computing, collectives


def events(computing, collectives, ranks):
    out = [kernel("gemm", a, b - a, stream=7) for a, b in computing]
    count = [0] * len(STREAMS)
    for a, b, stream in collectives:
        out.append(kernel("ncclDevKernel_AllReduce", a, b - a, stream=STREAMS[stream],
                          **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 4,
                             "Out msg nelems": 4, "Group size": ranks,
                             "Process Group Name": str(stream), "Seq": count[stream],
                             "Process Group Ranks": str(list(range(ranks)))}))
        count[stream] += 1
    return out


def counted(computing, collectives):
    """{(part, rank): us over all ranks}, each microsecond by itself."""
    ranks = len(computing)
    last = [[max(collectives[r][i][0] for r in range(ranks)) for i in range(len(collectives[0]))]]
    late = [[r for r in range(ranks) if collectives[r][i][0] == last[0][i]][0]
            for i in range(len(collectives[0]))]
    total = {}

    def add(part, rank):
        total[part, rank] = total.get((part, rank), 0) + 1
    for r in range(ranks):
        times = [t for a, b, *_ in computing[r] + collectives[r] for t in (a, b)]
        for t in range(min(times), max(times)):
            running = [i for i, (a, b, _) in enumerate(collectives[r]) if a <= t < b]
            if any(a <= t < b for a, b in computing[r]):
                add("computing", r)
            elif not running:
                add("idle", r)
            elif any(t >= last[0][i] for i in running):
                add("transfer", None)
            else:
                # Of equal ones any: their last ranks may differ, and the sum tells nothing then.
                longest = max(running, key=lambda i: last[0][i])
                if len({late[i] for i in running if last[0][i] == last[0][longest]}) > 1:
                    return None
                add("waiting", late[longest])
    return total


class Breakdown(Case):
    def test_every_microsecond(self):
        seen = 0
        for seed in range(60 if FULL else 12):
            rng = random.Random(seed)
            ranks = rng.randrange(2, 5)
            sides, wants = [], []
            for name in "ab":
                computing, collectives = job(rng, ranks)
                place = self.tmp / f"{seed}{name}"
                place.mkdir()
                for r in range(ranks):
                    (place / f"rank{r}.json").write_text(document(
                        events(computing[r], collectives[r], ranks),
                        distributedInfo={"rank": r, "world_size": ranks}))
                sides.append(place)
                wants.append(counted(computing, collectives))
            if None in wants:
                continue
            result = trawl("compare", *sides, "-o", self.tmp / "p.html", "--format", "json", "-q")
            self.assertExit(result, 0)
            table = next(t for t in json.loads(result.out)["tables"]
                         if t["name"] == "difference_split")
            got = {(r[0], r[1]): r[2:4] for r in table["rows"]}
            for side, want in enumerate(wants):
                for key in set(want) | set(got) - {("total", None)}:
                    self.assertAlmostEqual(got.get(key, (0, 0))[side],
                                           want.get(key, 0) / ranks / 1000, delta=1e-9,
                                           msg=(seed, side, key))
                    seen += key[0] == "waiting"
                self.assertAlmostEqual(got["total", None][side], sum(want.values()) / ranks / 1000,
                                       delta=1e-9)
        self.assertGreater(seen, 10)


if __name__ == "__main__":
    unittest.main()
