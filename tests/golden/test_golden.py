"""What a person sees of the sample trace and of the help, byte for byte against kept files.

These keep the form; whether the numbers are true is for the other tests. `tests/run.py
--update-golden` (TRAWL_UPDATE_GOLDEN) rewrites the kept files and lists what changed.
"""
import difflib
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, report, trawl

KEPT = pathlib.Path(__file__).resolve().parent / "kept"
SAMPLE = ROOT / "examples/sample.json.gz"
UPDATE = bool(os.environ.get("TRAWL_UPDATE_GOLDEN"))


class Golden(Case):
    def compare(self, group, produced, may_be_new=()):
        """`produced` maps file names to bytes; these are kept for the group, but for what may be new."""
        directory = KEPT / group
        kept = {str(p.relative_to(directory)): p.read_bytes()
                for p in directory.rglob("*") if p.is_file()} if directory.exists() else {}
        if UPDATE:
            return self.update(directory, kept, produced)
        self.assertNotEqual(kept, {}, f"nothing kept for {group}: run with --update-golden")
        new = {name for name in produced if name not in kept and name in may_be_new}
        for name in sorted(new):
            print(f"# {group}/{name} is not kept yet: --update-golden")
        self.assertEqual(sorted({*produced} - new), sorted(kept), f"{group}: other files than kept")
        for name in sorted(kept):
            if kept[name] != produced[name]:
                self.fail(f"{group}/{name} differs (wanted: ./dev test --update-golden):\n"
                          + self.difference(kept[name], produced[name]))
        return None

    def difference(self, old, new):
        lines = difflib.unified_diff(old.decode("utf-8", "replace").splitlines(),
                                     new.decode("utf-8", "replace").splitlines(), "kept", "now",
                                     lineterm="", n=1)
        return "\n".join(line[:160] for _, line in zip(range(14), lines))

    def update(self, directory, kept, produced):
        for name in sorted({*kept, *produced}):
            path = directory / name
            if name not in produced:
                path.unlink()
            elif kept.get(name) != produced[name]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(produced[name])
            else:
                continue
            print(f"# golden updated: {path.relative_to(ROOT)}")

    def test_sample_report(self):
        self.assertTrue(SAMPLE.exists(), f"{SAMPLE} is missing")
        rep = report(SAMPLE, self.tmp / "out")
        self.assertExit(rep, 0)
        files = {f: (rep.dir / f).read_bytes() for f in rep.files()}
        tables = [f for f in files if f.endswith(".csv")]
        # A table more changes no other: only what is kept has to be the same.
        self.compare("sample", {**files, "stdout.txt": self.stable(rep.raw)}, may_be_new=tables)

    def stable(self, out):
        """The summary may say where it wrote; that place is a temporary one here."""
        return out.replace(str(self.tmp).encode(), b"TMP").replace(str(ROOT).encode() + b"/", b"")

    def test_sample_check(self):
        out = {}
        for form in ("table", "csv", "json", "markdown"):
            result = trawl("check", SAMPLE, "--format", form)
            self.assertExit(result, 0)
            out[f"{form}.txt"] = self.stable(result.raw)
        self.compare("check", out)

    def test_help(self):
        out = {}
        for args in (("help",), ("help", "report"), ("help", "check"), ("--version",)):
            result = trawl(*args)
            self.assertExit(result, 0)
            out["_".join(a.strip("-") for a in args) + ".txt"] = result.raw
        self.compare("help", out)


if __name__ == "__main__":
    unittest.main()
