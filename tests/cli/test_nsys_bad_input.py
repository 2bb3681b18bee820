"""Databases that are damaged, locked, unfinished, of another program, or hostile: one clear line
with what to do, or what could be read and a record of what could not; never a crash, and nothing
is made beside the file.
"""
import csv
import gzip
import io
import os
import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, trawl

KERNEL = ("start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
          " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
          " globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL")
RUNTIME = ("start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,"
           " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,"
           " returnValue INTEGER NOT NULL")
NVTX = ("start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
        " globalTid INTEGER, textId INTEGER, domainId INTEGER")
TABLES = {"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME": RUNTIME,
          "NVTX_EVENTS": NVTX, "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
          "META_DATA_EXPORT": "name TEXT, value TEXT"}
PID = (1 << 48) | (4242 << 24)


class Databases(Case):
    def path(self, name="x.sqlite"):
        return self.tmp / name

    def make(self, rows=8, name="x.sqlite", skip=(), **tables):
        """An export with `rows` kernels of 10 ns, one every 100 ns, each with its launch."""
        path = self.path(name)
        db = sqlite3.connect(path)
        for table, columns in {**TABLES, **tables}.items():
            if table not in skip and columns:
                db.execute(f"CREATE TABLE {table} ({columns})")
        if "StringIds" not in skip:
            db.executemany("INSERT INTO StringIds VALUES (?,?)",
                           [(1, "gemm"), (2, "cudaLaunchKernel_v7000")])
        for i in range(rows):
            if "CUPTI_ACTIVITY_KIND_KERNEL" not in skip:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,1,1)",
                           (100 * i + 100, 100 * i + 110, i + 1, PID))
            if "CUPTI_ACTIVITY_KIND_RUNTIME" not in skip:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,2,0)",
                           (100 * i + 50, 100 * i + 60, PID + 4242, i + 1))
        db.commit()
        db.close()
        return path

    def edit(self, path, *statements):
        db = sqlite3.connect(path)
        for s in statements:
            db.execute(s)
        db.commit()
        db.close()

    def refused(self, path, *words, **keywords):
        """check and report: exit 1, one line with these words, nothing new beside the file."""
        before = sorted(os.listdir(self.tmp))
        for command in (["check", path], ["report", path, "-o", self.tmp / "no" / "where"]):
            done = trawl(*command, **keywords)
            self.assertAlive(done)
            self.assertExit(done, 1)
            self.assertEqual(len(done.err.strip().splitlines()), 1, str(done))
            for w in words:
                self.assertRegex(done.err, w)
        self.assertEqual(sorted(os.listdir(self.tmp)), before)
        return done

    def lost(self, path, kind, kernels=None, place=None):
        """A report with exit 3 that has the kind in its record."""
        before = set(os.listdir(self.tmp))
        rep = self.report(path)
        self.assertExit(rep, 3)
        rows = {r["kind"]: r for r in rep.quality()}
        self.assertIn(kind, rows, str(rep))
        if place:
            self.assertEqual(rows[kind]["first row"], place)
        if kernels is not None:
            self.assertEqual(rep.kernel_count(), kernels, str(rep))
        made = set(os.listdir(self.tmp)) - before
        self.assertTrue(all(m.startswith("out") for m in made), made)
        return rep

    def good(self, path, kernels=8):
        rep = self.report(path)
        self.assertExit(rep, 0)
        self.assertEqual(rep.kernel_count(), kernels, str(rep))
        return rep

    # ---- what is no export

    def test_control(self):
        rep = self.good(self.make())
        self.assertEqual(rep.launches()["cudaLaunchKernel"]["calls"], "8")

    def test_empty_file(self):
        for name in ("x.sqlite", "x.DB", "x.sqlite3"):
            self.refused(self.write(b"", name), "empty file.*export again")
            os.unlink(self.path(name))

    def test_header_of_zeros(self):
        self.refused(self.write(bytes(8192), "x.sqlite"), "no database header.*interrupted.*export again")

    def test_other_content_under_the_name(self):
        self.refused(self.write(b"\x7fELF" + bytes(200), "x.sqlite"), "ELF")
        self.refused(self.write(b"hello\n", "y.sqlite"), "y.sqlite")

    def test_header_alone(self):
        self.refused(self.write(b"SQLite format 3\0", "x.sqlite"), "SQLite database|damaged")
        self.refused(self.write(b"SQLite format 3\0" + bytes(84), "y.sqlite"), "damaged|no table")

    def test_other_databases(self):
        other = self.path("other.db")
        self.edit(other, "CREATE TABLE a(x)", "CREATE TABLE b(x)")
        self.refused(other, r"not an Nsight Systems export \(tables: a, b\)")
        nvprof = self.path("nvprof.db")
        self.edit(nvprof, "CREATE TABLE StringTable(_id_ INTEGER, value TEXT)",
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start INT)")
        self.refused(nvprof, "nvprof database, not an nsys export")
        rpd = self.path("x.rpd")
        self.edit(rpd, "CREATE TABLE rocpd_op(id INT)", "CREATE TABLE rocpd_string(id INT)")
        self.refused(rpd, "rocpd database, not an nsys export")
        self.edit(self.path("none.db"), "CREATE TABLE a(x)", "DROP TABLE a")
        self.refused(self.path("none.db"), "not an Nsight Systems export.*no tables")

    def test_pipe_and_compressed(self):
        path = self.make()
        data = path.read_bytes()
        done = trawl("check", "-", stdin=data)
        self.assertExit(done, 1)
        self.assertRegex(done.err, "standard input is an SQLite database.*path of the uncompressed file")
        packed = self.write(gzip.compress(data), "x.sqlite.gz")
        self.refused(packed, "SQLite database inside gzip.*uncompressed file")

    def test_directory_and_missing(self):
        (self.tmp / "d.sqlite").mkdir()
        self.refused(self.tmp / "d.sqlite", "directory")
        self.refused(self.tmp / "absent.sqlite", "No such file")

    # ---- names and places

    def test_odd_paths(self):
        for name in ("a b.sqlite", "a%20b.sqlite", "a?mode=rwc.sqlite", "a#b.sqlite", "ä'\".sqlite",
                     "a&b.sqlite"):
            os.makedirs(self.tmp / ("dir " + name), exist_ok=True)
            moved = self.tmp / ("dir " + name) / name
            shutil.move(self.make(), moved)
            self.good(moved)
            self.assertEqual([p for p in os.listdir(moved.parent)], [name])

    def test_relative_path(self):
        self.make()
        os.makedirs(self.tmp / "sub")
        done = trawl("check", "../x.sqlite", cwd=self.tmp / "sub")
        self.assertExit(done, 0)
        done = trawl("check", "x.sqlite", cwd=self.tmp)
        self.assertExit(done, 0)

    def test_read_only_directory(self):
        path = self.make()
        self.edit(path, "PRAGMA journal_mode=WAL")
        os.chmod(path, 0o444)
        os.chmod(self.tmp, 0o555)
        try:
            done = trawl("check", path)
        finally:
            os.chmod(self.tmp, 0o755)
        self.assertExit(done, 0)

    # ---- writers

    def test_locked(self):
        path = self.make()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        try:
            self.refused(path, "locked by another program.*try again")
        finally:
            db.execute("ROLLBACK")
            db.close()
        self.good(path)

    def test_wal(self):
        path = self.make()
        self.edit(path, "PRAGMA journal_mode=WAL")
        self.assertEqual(os.listdir(self.tmp), ["x.sqlite"])
        self.good(path)
        self.assertEqual([p for p in os.listdir(self.tmp) if p.startswith("x.")], ["x.sqlite"])

    def test_wal_with_changes(self):
        path = self.make()
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("INSERT INTO StringIds VALUES (77, 'x')")
        db.commit()
        self.assertIn("x.sqlite-wal", os.listdir(self.tmp))
        self.refused(path, r"log \(-wal\).*wal_checkpoint")
        db.close()

    def test_journal(self):
        path = self.make()
        self.write(bytes([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]) + bytes(600),
                   "x.sqlite-journal")
        self.refused(path, "-journal.*export again")
        self.write(b"", "x.sqlite-journal")
        self.good(path)
        self.write(bytes(512), "x.sqlite-journal")
        self.good(path)

    def test_wal_that_is_done_with(self):
        """SQLite would open a log of zeros and make files for that."""
        path = self.make()
        self.write(bytes(5000), "x.sqlite-wal")
        before = sorted(os.listdir(self.tmp))
        self.assertExit(trawl("check", path), 0)
        self.ask(path)
        self.assertEqual(sorted(os.listdir(self.tmp)), before)

    def test_log_that_is_a_pipe(self):
        path = self.make()
        for name in ("x.sqlite-wal", "x.sqlite-journal"):
            os.mkfifo(self.tmp / name)
            self.refused(path, name[8:], timeout=20)
            os.unlink(self.tmp / name)

    def test_pipe_without_a_writer(self):
        os.mkfifo(self.path())
        done, _ = self.ask(self.path(), status=1, timeout=20)
        self.assertRegex(done.err, "from a pipe or device; give a file path")

    def test_file_named_as_memory(self):
        shutil.move(self.make(), self.path(":memory:"))
        for command in (("check",), ("nsys", "setup")):
            done = trawl(*command, ":memory:", cwd=self.tmp)
            self.assertExit(done, 0)
            self.assertNotIn("no ranges and no GPU work", done.out)
        done, rows = self.ask(":memory:", cwd=self.tmp)
        self.assertEqual(len(rows), 1)

    # ---- damage

    def pages(self, path):
        data = bytearray(path.read_bytes())
        size = int.from_bytes(data[16:18], "big")
        return data, size if size != 1 else 65536

    def root(self, path, table):
        db = sqlite3.connect(path)
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name=?", (table,)).fetchone()
        db.close()
        return root

    def test_truncated(self):
        path = self.make(rows=4000)
        data, size = self.pages(path)
        whole = len(data) // size
        for pages in range(whole - 1, 0, -max(1, whole // 12)):
            path.write_bytes(data[:pages * size])
            before = set(os.listdir(self.tmp))
            done = trawl("check", path)
            self.assertAlive(done)
            self.assertIn(done.rc, (1, 3), str(done))
            self.assertEqual(set(os.listdir(self.tmp)), before)
            self.assertRegex(done.out + done.err, "ends in the middle|damaged")
        path.write_bytes(data[:(whole - 1) * size + 100])
        self.lost(path, "truncated")

    def test_damaged_table(self):
        path = self.make(rows=4000)
        data, size = self.pages(path)
        root = self.root(path, "CUPTI_ACTIVITY_KIND_RUNTIME")
        at = (root - 1) * size
        data[at:at + size] = bytes([0xff]) * size
        path.write_bytes(data)
        rep = self.lost(path, "table_damaged", kernels=4000)
        self.assertRegex(rep.err, "table_damaged .*CUPTI_ACTIVITY_KIND_RUNTIME")

    def test_damaged_leaf(self):
        """What stands before the damage is used, the place named."""
        path = self.make(rows=4000, skip=("CUPTI_ACTIVITY_KIND_RUNTIME",))
        data, size = self.pages(path)
        leaf = next(p for p in range(len(data) // size // 2, len(data) // size)
                    if data[p * size] == 13)
        data[leaf * size] = 99
        path.write_bytes(data)
        rep = self.lost(path, "table_damaged")
        row = {r["kind"]: r for r in rep.quality()}["table_damaged"]["first row"]
        self.assertRegex(row, r"^table CUPTI_ACTIVITY_KIND_KERNEL, row \d+$")
        self.assertEqual(rep.kernel_count(), int(row.rsplit(" ", 1)[1]))

    def test_nothing_readable(self):
        path = self.make(rows=500, skip=("CUPTI_ACTIVITY_KIND_RUNTIME",))
        data, size = self.pages(path)
        at = (self.root(path, "CUPTI_ACTIVITY_KIND_KERNEL") - 1) * size
        data[at:at + size] = bytes([0xff]) * size
        path.write_bytes(data)
        self.refused(path, "damaged.*export again")

    def test_damaged_schema(self):
        path = self.make()
        data, size = self.pages(path)
        data[100:size] = bytes([0xee]) * (size - 100)
        path.write_bytes(data)
        self.refused(path, "start of the SQLite database is damaged.*export again")

    def test_damaged_texts(self):
        path = self.make()
        data, size = self.pages(path)
        at = (self.root(path, "StringIds") - 1) * size
        data[at:at + size] = bytes([0xff]) * size
        path.write_bytes(data)
        rep = self.lost(path, "table_damaged", kernels=8)
        self.assertEqual(rep.counted("unnamed_kernel"), 8)

    # ---- rows that make no sense

    def test_text_where_numbers_belong(self):
        path = self.make()
        self.edit(path, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start='soon' WHERE rowid=3",
                  "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId=x'00ff' WHERE rowid=5",
                  "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId=1.5 WHERE rowid=6")
        self.lost(path, "unreadable_row", kernels=5,
                  place="table CUPTI_ACTIVITY_KIND_KERNEL, row 3")

    def test_numbers_as_text(self):
        """Digits are numbers, however they are stored."""
        path = self.make(CUPTI_ACTIVITY_KIND_KERNEL=KERNEL.replace("INTEGER", "TEXT"))
        self.good(path)

    def test_impossible_times(self):
        path = self.make()
        self.edit(path, f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end={2**63 - 1} WHERE rowid=1",
                  f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start={-2**63} WHERE rowid=2",
                  f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start={2**63 - 1},end={-2**63}"
                  " WHERE rowid=3",
                  "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=end+1 WHERE rowid=4")
        rep = self.lost(path, "gpu_overflow", kernels=4)
        self.assertEqual(rep.counted("gpu_overflow"), 3)
        self.assertEqual(rep.counted("gpu_negative_duration"), 1)

    def test_negative_times(self):
        path = self.make()
        self.edit(path, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start=start-1000,end=end-1000")
        rep = self.good(path)
        self.assertEqual(rep.timeline()["total_time"] * 1000, 710)

    def test_bad_utf8(self):
        path = self.make()
        self.edit(path, "UPDATE StringIds SET value=CAST(x'67ff6d' AS TEXT) WHERE id=1")
        rep = self.good(path)
        self.assertEqual(list(rep.kernels()), ["g\ufffdm"])
        self.assertEqual(rep.counted("bad_utf8"), 1)

    # ---- tables of another kind

    def test_view_and_virtual_table(self):
        """What is no real table is not there: no view is followed, no module asked."""
        path = self.make(CUPTI_ACTIVITY_KIND_RUNTIME=None, skip=("CUPTI_ACTIVITY_KIND_RUNTIME",))
        self.edit(path, "CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE c(n) AS"
                  " (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n AS start FROM c")
        rep = self.good(path)
        self.assertEqual(rep.counted("no_calls"), 1)

    def test_without_rowid(self):
        path = self.make(skip=("CUPTI_ACTIVITY_KIND_RUNTIME",))
        self.edit(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER PRIMARY KEY,"
                  " end INTEGER) WITHOUT ROWID", "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME"
                  " VALUES (1,2)")
        self.lost(path, "table_damaged", kernels=8, place="table CUPTI_ACTIVITY_KIND_RUNTIME")

    def test_hostile_columns(self):
        """A computed column may not run away with memory."""
        path = self.make(skip=("CUPTI_ACTIVITY_KIND_RUNTIME",))
        self.edit(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end AS"
                  " (zeroblob(900000000)), globalTid INTEGER)",
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start) VALUES (1)")
        done = trawl("check", path)
        self.assertAlive(done)
        self.assertExit(done, 3)

    def test_absent_columns(self):
        path = self.make(skip=("CUPTI_ACTIVITY_KIND_KERNEL",))
        self.edit(path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x TEXT, end INTEGER, start INTEGER)",
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('', 20, 10)")
        rep = self.good(path, kernels=1)
        self.assertEqual(rep.counted("unnamed_kernel"), 1)

    def test_far_rowids(self):
        """Rowids far apart are no reason to read for ever."""
        path = self.make()
        self.edit(path, f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid={2**63 - 1} WHERE rowid=8",
                  f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET rowid={-2**63} WHERE rowid=1")
        self.good(path)

    def test_ids_of_texts_that_are_no_rowids(self):
        path = self.make(StringIds="value TEXT, id INT", skip=("StringIds",))
        self.edit(path, "CREATE TABLE StringIds (value TEXT, id INT)",
                  "INSERT INTO StringIds VALUES ('zero',9),('gemm',1),('cudaLaunchKernel',2)")
        rep = self.good(path)
        self.assertEqual(list(rep.kernels()), ["gemm"])

    # ---- the queries: what a report leaves out they leave out, too

    def ask(self, path, query="streams", *more, status=0, **keywords):
        done = trawl("nsys", query, path, "--format", "csv", *more, **keywords)
        self.assertAlive(done)
        self.assertExit(done, status)
        return done, list(csv.DictReader(io.StringIO(done.out)))

    def test_query_counts_kernels_as_report_does(self):
        """Values, and times, for which a report leaves a kernel out."""
        for change in ("deviceId='x'", "streamId=1.5", "correlationId=x'00'", "contextId='c'",
                       "end=start-1", f"end=start+{2**60}", "start=0,end=0", f"start={2**63 - 1}"):
            path = self.make()
            self.edit(path, f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {change} WHERE rowid IN (2,5)")
            rep = self.report(path)
            self.assertEqual(rep.kernel_count(), 6, change)
            done, rows = self.ask(path, "streams", "--start", 0, "--end", 10**18, status=3)
            self.assertEqual(sum(int(r["n_comp"]) + int(r["n_comm"]) for r in rows), 6, change)
            self.assertRegex(done.err, "KERNEL: 2 rows with a missing or impossible number "
                             "skipped, first in row 2")
            os.unlink(path)

    def test_window_of_kernels_that_end_before_they_start(self):
        path = self.make()
        self.edit(path, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end=start-50")
        _, rows = self.ask(path, "windows", status=3)
        self.assertTrue(all(int(r["start"]) <= int(r["end"]) for r in rows), rows)

    def test_query_on_damaged_texts(self):
        """Names that cannot be read make communication look like computation: not silently."""
        path = self.make()
        data, size = self.pages(path)
        at = (self.root(path, "StringIds") - 1) * size
        data[at:at + size] = bytes([0xff]) * size
        path.write_bytes(data)
        done, rows = self.ask(path, status=3)
        self.assertEqual(sum(int(r["n_comp"]) for r in rows), 4)
        self.assertEqual(done.err.count("StringIds"), 1, done.err)
        self.assertRegex(done.err, "x.sqlite: table StringIds is damaged.*repeat the export")

    def test_a_damaged_table_was_captured_all_the_same(self):
        """What cannot be read is missing, which is not what was never recorded."""
        whole = (ROOT / "examples/sample.sqlite").read_bytes()
        for table, what in (("CUPTI_ACTIVITY_KIND_KERNEL", "kernels"), ("NVTX_EVENTS", "NVTX ranges"),
                            ("CUPTI_ACTIVITY_KIND_RUNTIME", "API calls")):
            for fill in (0xff, 0):
                path = self.write(whole, "x.sqlite")
                data, size = self.pages(path)
                at = (self.root(path, table) - 1) * size
                data[at:at + size] = bytes([fill]) * size
                path.write_bytes(data)
                for query in ("setup", "windows", "streams", "overlap"):
                    done = trawl("nsys", query, path)
                    self.assertAlive(done)
                    said = done.out + done.err
                    self.assertNotIn("not captured", said, (table, query, fill))
                    if what != "API calls":
                        self.assertIn(f"{table} is damaged: {what} are missing", said)
                done = trawl("report", path, "-o", self.tmp / "out", "--no-xlsx")
                self.assertExit(done, 3)
                self.assertNotIn("not captured", done.out + done.err)
                done = trawl("compare", path, ROOT / "examples/sample.sqlite", "-o",
                             self.tmp / "page.html")
                self.assertExit(done, 3)
                self.assertNotIn("not captured", done.out + done.err)
                # Once, though it is of every rank.
                self.assertEqual(done.err.count(f"are used: table {table}"), 1, done.err)
            self.write(whole, "x.sqlite")
            self.edit(path, f"DELETE FROM {table}")
            if what != "API calls":
                self.assertIn(f"{what} not captured", trawl("nsys", "setup", path).out)

    def test_column_named_rowid(self):
        for kind in ("TEXT DEFAULT 'x'", "INTEGER DEFAULT 5"):
            path = self.make()
            self.edit(path, f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN rowid {kind}",
                      f"ALTER TABLE StringIds ADD COLUMN rowid {kind}")
            self.good(path)
            os.unlink(path)

    # ---- sizes: these take seconds, and took minutes

    def test_many_texts_without_a_key(self):
        """As copies of exports have them: CREATE TABLE AS forgets the key."""
        path = self.make(rows=0, skip=("StringIds",))
        count = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<60000)"
        self.edit(path, "CREATE TABLE StringIds (value TEXT, id INTEGER)",
                  f"INSERT INTO StringIds {count} SELECT 'name '||i,i FROM c",
                  f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL {count} SELECT"
                  f" 100*i,100*i+50,0,1,7,i,{PID},i,i FROM c")
        rep = trawl("check", path, timeout=15)
        self.assertExit(rep, 0)
        _, rows = self.ask(path, "streams", "--start", 0, "--end", 10**18, timeout=15)
        self.assertEqual(rows[0]["n_comp"], "60000")

    def test_windows_of_many_processes(self):
        path = self.make(rows=0)
        count = "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM c WHERE i<{})"
        self.edit(path, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL " + count.format(39999) + " SELECT"
                  " 100*i,100*i+50,0,1,7,i,i<<24,1,1 FROM c",
                  "INSERT INTO NVTX_EVENTS " + count.format(159999) + " SELECT"
                  " 100*i,100*i+50,59,'step '||i,((i/4)<<24)+7,NULL,0 FROM c")
        _, rows = self.ask(path, "windows", timeout=20)
        self.assertEqual(len(rows), 40000)

    def test_names_of_megabytes(self):
        path = self.make()
        self.edit(path, "UPDATE StringIds SET value=value||hex(zeroblob(5000000))")
        for query in ("check", "report"):
            done = trawl(query, path, *(("-o", self.tmp / "long") if query == "report" else ()),
                         timeout=20)
            self.assertExit(done, 0)
        self.ask(path, timeout=10)


if __name__ == "__main__":
    unittest.main()
