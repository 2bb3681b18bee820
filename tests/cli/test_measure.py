"""tools/measure.py finds headers of columns that are written twice."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case


class Headers(Case):
    def found(self, name, text):
        """What is found once a source more is there."""
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (self.tmp / "schema").mkdir(exist_ok=True)
        for schema in ("documents.json", "trawl.sweep_run-1.json"):
            (self.tmp / "schema" / schema).write_text("{}\n")
        done = subprocess.run([sys.executable, ROOT / "tools/measure.py", "--root", self.tmp,
                               "--check"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual(bool(done.stdout), done.returncode == 1, str(done))
        return done.stdout

    def test_a_header_stands_once(self):
        declared = 'TW_TEXT("kernel time", 8, "what it takes"), TW_MS(TW_COL_IDLE, 4, "idle");\n'
        self.assertEqual(self.found("src/a/a.c", declared), "")
        self.assertEqual(self.found("src/table/columns.h", '#define TW_COL_IDLE "idle ms"\n'), "")
        self.assertEqual(self.found("src/b/comment.c", '/* "kernel time", "idle ms" */\n'), "")
        self.assertEqual(self.found("src/b/words.c", 'x = "of the kernel time";\n'), "")
        self.assertIn('src/b/again.c: "kernel time"',
                      self.found("src/b/again.c", 'x = column("kernel time");\n'))
        self.assertIn('src/b/again.c: "idle ms"',
                      self.found("src/b/again.c", 'x = column("idle ms");\n'))


if __name__ == "__main__":
    unittest.main()
