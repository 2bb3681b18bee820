"""The same trace gives the same bytes: for any number of threads, any container, any size of the
blocks it is read in."""
import gzip
import hashlib
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
from random_trace import random_trace
from support import (SANITIZED, TRAWL, Case, base_events, document, environment, kernel, report, trawl)


def broken_trace():
    """Repairs and losses of several kinds, so that the quality record has rows with places."""
    text = document(base_events() + [kernel("lost", 0, 0, 9), kernel("overrun", 100, 500, 10),
                                     kernel("inside", 150, 10, 11)])
    return text.replace("aten::relu", "aten::\x01relu").replace("aten::copy_", r"aten::\qcopy") \
        .replace("},\n", "},,\n", 3)[:-20] + ', {"cut'


def large_trace(megabytes):
    """Many events with long and short names, so that several blocks and threads have work."""
    r = random.Random(5)
    events, size, i = [], 0, 0
    while size < megabytes << 20:
        e = kernel(f"kernel_{r.randrange(500)}_{'x' * r.randrange(120)}", 100 + 3 * i,
                   r.randrange(1, 5), i + 1, stream=r.randrange(4), grid=[i, 1, 1])
        events.append(e)
        size += 180
        i += 1
    return document(events)


class SameBytes(Case):
    def outcome(self, path, *options, stdin=None, env=None, xlsx=True):
        """Everything that a run leaves: files by digest, stdout, exit status."""
        self._runs += 1
        rep = report(path, self.tmp / f"o{self._runs}", *options, stdin=stdin, env=env, xlsx=xlsx)
        self.assertAlive(rep)
        self.assertExit(rep, 0, 3)
        files = {f: hashlib.sha256((rep.dir / f).read_bytes()).hexdigest() for f in rep.files()}
        self.assertNotEqual(files, {})
        return {"exit": rep.rc, "stdout": rep.out, **files}

    def assertSame(self, outcomes):
        (first_name, first), *others = outcomes.items()
        for name, other in others:
            different = {k for k in {*first, *other} if first.get(k) != other.get(k)}
            self.assertEqual(different, set(), f"{name} differs from {first_name}")

    def traces(self):
        yield "small", document(base_events())
        yield "broken", broken_trace()
        yield "random", random_trace(3)

    def test_threads(self):
        traces = list(self.traces()) + [("large", large_trace(1 if SANITIZED else 12))]
        for name, text in traces:
            with self.subTest(name):
                path = self.write(text, f"{name}.json")
                self.assertSame({f"-j{n}": self.outcome(path, f"-j{n}") for n in (1, 2, 3, 8)})

    def test_threads_gz(self):
        path = self.write(gzip.compress(large_trace(1).encode(), 1), "large.json.gz")
        self.assertSame({f"-j{n}": self.outcome(path, f"-j{n}") for n in (1, 8)})

    def test_repeated_runs(self):
        path = self.write(random_trace(4))
        self.assertSame({f"run {n}": self.outcome(path) for n in range(3)})

    def test_containers(self):
        for name, text in self.traces():
            with self.subTest(name):
                data = text.encode()
                files = {"json": data, "json.gz": gzip.compress(data, mtime=7)}
                if shutil.which("zstd"):
                    files["json.zst"] = subprocess.run(["zstd", "-qc"], input=data, check=True,
                                                       stdout=subprocess.PIPE).stdout
                outcomes = {}
                for suffix, content in files.items():
                    outcomes[suffix] = self.outcome(self.write(content, f"trace.{suffix}"))
                    outcomes[f"stdin of {suffix}"] = self.outcome("-", stdin=content)
                for o in outcomes.values():
                    # The summary may name its input; the files may not.
                    del o["stdout"]
                self.assertSame(outcomes)
                self.assertIn("perf_report.xlsx", outcomes["json"])

    def test_no_zstd(self):
        if not shutil.which("zstd"):
            self.skipTest("no zstd program here: .json.zst was not compared")

    def test_parts(self):
        """Parts of a few kB, which builds with sanitizers can be told to read."""
        if not SANITIZED:
            self.skipTest("only builds with sanitizers hear TRAWL_READ_PART")
        for name, text in self.traces():
            with self.subTest(name):
                path = self.write(text, f"{name}.json")
                self.assertSame({
                    f"-j{n}, parts of {size}": self.outcome(path, f"-j{n}", xlsx=False,
                                                            env=environment(TRAWL_READ_PART=size))
                    for n, size in ((1, 0), (2, 4096), (3, 1500), (8, 700))})

    def test_values_left_out_in_a_large_file(self):
        """A bare ... and an empty value behind an integer, in what the second thread reads."""
        events = []
        for i in range(45000):
            odd = {30000: '"x":5,"y":...,', 35000: '"x":-70000,"y":,', 40000: '"x":2,"y":None,'}
            events.append('{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":5,'
                          '"args":{%s"device":0,"stream":7,"correlation":%d,"note":"%s"}}'
                          % (i % 9, 10 * i, odd.get(i, ""), i, "x" * 260))
        path = self.write('{"traceEvents":[\n' + ",\n".join(events) + "\n]}", "large.json")
        self.assertGreater(path.stat().st_size, 16 << 20)
        outcomes = {}
        for n in (1, 2, 3, 8):
            ran = trawl("check", path, f"-j{n}")
            self.assertAlive(ran)
            self.assertExit(ran, 0)
            self.assertRegex(ran.out, r"repair\s+2 x malformed lists or objects")
            outcomes[f"-j{n}"] = {"stdout": ran.out}
        self.assertSame(outcomes)

    def test_hash_seeds(self):
        """Tables in memory are in another order in each process; nothing that is written is."""
        seeds = {"1": {"TRAWL_HASH_SEED": 1}, "2": {"TRAWL_HASH_SEED": 2},
                 "none": {"TRAWL_HASH_SEED": ""}}
        for name, text in self.traces():
            with self.subTest(name):
                path = self.write(text, f"{name}.json")
                self.assertSame({seed: self.outcome(path, env=environment(**env))
                                 for seed, env in seeds.items()})

    def test_hash_seeds_of_other_commands(self):
        path = self.write(random_trace(8), "rank0.json")
        other = self.write(random_trace(9), "rank1.json")
        commands = {"analyze": ("analyze", path, "-o"), "merge": ("merge", path, other, "-o"),
                    "collectives": ("collectives", path, other, "-o"),
                    "compare": ("compare", path, other, "-o")}
        for name, command in commands.items():
            with self.subTest(name):
                outcomes = {}
                for seed in (1, 2, 3):
                    out = self.tmp / f"{name}{seed}" / "out"
                    out.parent.mkdir()
                    ran = trawl(*command, out, env=environment(TRAWL_HASH_SEED=seed))
                    self.assertAlive(ran)
                    self.assertIn(ran.rc, (0, 3), str(ran))
                    outcomes[f"seed {seed}"] = {
                        str(f.relative_to(out.parent)): hashlib.sha256(f.read_bytes()).hexdigest()
                        for f in out.parent.rglob("*") if f.is_file()}
                    self.assertTrue(outcomes[f"seed {seed}"])
                self.assertSame(outcomes)

    def test_place_and_name_of_the_input(self):
        (self.tmp / "elsewhere").mkdir()
        text = document(base_events())
        outcomes = {n: self.outcome(self.write(text, n)) for n in ("a.json", "elsewhere/b.json")}
        for o in outcomes.values():
            del o["stdout"]
        self.assertSame(outcomes)

    def test_read_blocks(self):
        blocks = (1, 7, 4096, 1 << 20)
        for name, text in self.traces():
            data = text.encode()
            for suffix, content in (("json", data), ("json.gz", gzip.compress(data))):
                with self.subTest(f"{name}.{suffix}"):
                    path = self.write(content, f"{name}.{suffix}")
                    outcomes = {"default": self.outcome(path, xlsx=False)}
                    for b in blocks:
                        outcomes[f"block {b}"] = self.outcome(
                            path, xlsx=False, env=environment(TRAWL_READ_BLOCK=b))
                    self.assertSame(outcomes)

    def test_read_blocks_reach_the_reader(self):
        """The switch for tests does something: small blocks make many reads."""
        if not shutil.which("strace"):
            self.skipTest("no strace here: that TRAWL_READ_BLOCK is heard was not checked")
        path = self.write(document(base_events() * 50))
        counts = []
        for block in (1, 1 << 20):
            log = self.tmp / f"strace{block}"
            subprocess.run(["strace", "-f", "-e", "trace=read,pread64", "-o", str(log), str(TRAWL),
                            "check", str(path)], env=environment(TRAWL_READ_BLOCK=block),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            counts.append(len(log.read_text().splitlines()))
        self.assertGreater(counts[0], counts[1] + 100)

    def test_read_blocks_of_a_cut_file(self):
        """Every place of the cut with tiny blocks: a value may end at any byte of a block."""
        text = random_trace(6)[:4000]
        step = 401 if SANITIZED else 97
        for n in range(2000, len(text), step):
            path = self.write(text[:n])
            small = self.outcome(path, xlsx=False, env=environment(TRAWL_READ_BLOCK=1)) \
                if b"kernel" in text[:n].encode() else None
            if small:
                self.assertSame({"default": self.outcome(path, xlsx=False), f"cut {n}": small})

    def test_locale_and_time_zone(self):
        path = self.write(random_trace(5))
        self.assertSame({
            "C": self.outcome(path),
            "comma": self.outcome(path, env=environment(LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8",
                                                        LC_NUMERIC="de_DE.UTF-8")),
            "Tokyo": self.outcome(path, env=environment(TZ="Asia/Tokyo"))})

    def test_source_date_epoch(self):
        path = self.write(document(base_events()))
        when = environment(SOURCE_DATE_EPOCH=1700000000)
        one = self.outcome(path, env=when)
        self.assertSame({"one": one, "two": self.outcome(path, env=when)})
        self.assertNotEqual(one, self.outcome(path, env=environment(SOURCE_DATE_EPOCH=1600000000)))


if __name__ == "__main__":
    unittest.main()
