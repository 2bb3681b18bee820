"""Kinds of trouble that real trace files bring, each with a small trace made here.

Expected times are worked out by hand: BASE in support.py, or next to the test. Exit status: 0 where
every figure is complete (repairs are counted and shown), 3 where something was left out, 1 where
there is nothing to analyse.
"""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zlib
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import (ABSENT, BASE, BASE_HEAD, NCCL, ONE, SANITIZED, SHARED, Case, base_events, copy,
                     document, event, join, kernel, launch, op)

PYTHON = '{"ph":"X","cat":"python_function","name":"%s","pid":31,"tid":32,"ts":90,"dur":400}'


def with_line(*lines, at=8):
    """The control with raw event text put in before the GPU events."""
    events = [json.dumps(e) for e in base_events()]
    return document(events[:at] + list(lines) + events[at:])


def dumped(**fields):
    """A kernel of the control's last name with some fields given as raw JSON text."""
    e = kernel("lost_kernel", 300, 20, 9)
    text = json.dumps({k: v for k, v in e.items() if k not in fields})
    extra = "".join(f', "{k}": {v}' for k, v in fields.items() if v is not ABSENT)
    return text[:-1] + extra + "}"


def place(data, needle):
    """Bytes from the start of the line that holds some text to the end of that text."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    find = needle.encode("utf-8", "surrogatepass")
    begin = raw.index(find)
    return raw.rfind(b"\n", 0, begin) + 1, begin + len(find)


class Odd(Case):
    def complete(self, data, kind=None, where=None, figures=BASE, count=None, **keywords):
        """All figures there, exit 0. Where a `kind` is given, it is recorded and said once, with
        its place: inside the line up to the text `where`, or within that range of bytes."""
        rep = self.report(data, **keywords)
        self.assertExit(rep, 0)
        self.assertFigures(rep, figures)
        self.assertTimelineCloses(rep)
        self.assertReconciles(rep)
        self.assertOutputsSane(rep)
        self.assertEqual(rep.lost(), {}, str(rep))
        if kind:
            where = place(data, where) if isinstance(where, str) else where
            self.assertNotice(rep, kind, where, count)
            if kind not in ("kernel_overrun", "kernel_before_launch"):
                (row,) = [r for r in rep.quality() if r["kind"] == kind]
                self.assertEqual(row["class"], "repair", str(row))
        return rep

    def left_out(self, data, kind, where=None, figures=BASE, count=1, **keywords):
        """Exit 3; the rest is analysed; what is lost, and nothing else, is counted and named."""
        rep = self.report(data, **keywords)
        self.assertExit(rep, 3)
        self.assertFigures(rep, figures)
        self.assertTimelineCloses(rep)
        self.assertReconciles(rep)
        self.assertOutputsSane(rep)
        self.assertEqual(rep.lost(), {kind: count}, str(rep))
        self.assertNotice(rep, kind, place(data, where) if isinstance(where, str) else where)
        return rep

    def refused(self, data, *words, name="trace.json"):
        """Exit 1, one line with the file's name and these words, nothing written."""
        path = self.write(data, name)
        rep = self.report(path)
        self.assertExit(rep, 1)
        self.assertOneLine(rep, *words, file=name)
        self.assertNothingWritten(rep)
        return rep

    def mentioned(self, data, *codes, **keywords):
        """Whatever the better reading is: the base figures, an exit status that fits the record,
        and not a silent one."""
        rep = self.report(data, **keywords)
        self.assertExit(rep, *(codes or (0, 3)))
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.rc == 3, bool(rep.lost()), str(rep))
        self.assertNotEqual(rep.flaws(), [], f"not a word about it\n{rep}")
        self.assertNotEqual(rep.lines(r"\bbyte \d"), [], f"not a word about it\n{rep}")
        return rep


class Control(Odd):
    def test_control_is_clean(self):
        rep = self.report(base_events())
        self.assertClean(rep)
        self.assertFigures(rep, BASE)
        self.assertOutputsSane(rep)
        self.assertReconciles(rep)
        self.assertEqual(rep.kernel_count(), 3)
        self.assertEqual(rep.kernel_sum(), 100 + 100 + 30)
        self.assertEqual(rep.direct("aten::linear"), 100)
        self.assertEqual(rep.direct("aten::relu"), 30)
        self.assertEqual(rep.direct("aten::copy_"), 50)
        self.assertEqual(rep.direct("c10d::allreduce_"), 0)
        self.assertEqual(rep.streams(), {("0", "7"), ("0", "9"), ("0", "11")})

    def test_control_by_device(self):
        rep = self.report(base_events())
        self.assertFigures(rep, BASE, device=0)

    def test_control_reconciliation(self):
        # Operations own [150,250), [290,340), [400,430): 180; communication 100; the overlap is
        # [200,250) and [290,300): 60; 180 + 100 - 60 = 220.
        q = self.report(base_events()).reconciliation()
        self.assertEqual(q["op_rows"] + q["copies"], 180000)
        self.assertEqual([q["communication"], q["unlinked"], q["overlap"]], [100000, 0, 60000])

    def test_control_launches(self):
        rows = self.report(base_events()).launches()
        self.assertEqual({k: (r["calls"], r["GPU events"], r["calls without kernel"])
                          for k, r in rows.items()},
                         {"cudaLaunchKernel": ("2", "2", "0"),
                          "cudaLaunchKernelExC": ("1", "1", "0"),
                          "cudaMemcpyAsync": ("1", "1", "0")})


class Text(Odd):
    """Trouble inside strings and between tokens."""

    def test_byte_order_mark(self):
        self.complete(b"\xef\xbb\xbf" + document(base_events()).encode())

    def test_bad_escape_letter(self):
        data = with_line(PYTHON % r"C:\quick\zebra")
        self.complete(data, "bad_escape", r"C:\quick\zebra")

    def test_bad_escape_in_kernel_name(self):
        events = [json.dumps(e) for e in base_events()]
        events[8] = events[8].replace("gemm_f32_64x64_tn", r"gemm\q64")
        data = document(events)
        rep = self.complete(data, "bad_escape", r"gemm\q64")
        self.assertEqual(rep.kernel_count(), 3)

    def test_bad_escape_in_key(self):
        self.complete(with_line(PYTHON.replace('"dur"', r'"x\y":1,"dur"') % "f"), "bad_escape")

    def test_short_unicode_escape(self):
        self.complete(with_line(PYTHON % r"cut \u12"), "bad_escape", r"cut \u12")

    def test_backslash_x_escape(self):
        self.complete(with_line(PYTHON % r"\x41\x00"), "bad_escape", r"\x41")

    def test_several_bad_escapes_are_one_notice(self):
        data = with_line(*[PYTHON % rf"C:\dir{i}\q" for i in range(40)])
        rep = self.complete(data, "bad_escape", r"C:\dir0\q")
        self.assertEqual(rep.counted("bad_escape"), 40, "strings with a bad escape")

    def test_raw_control_characters(self):
        data = with_line(PYTHON % "a\x01b\x1fc\x7f")
        self.complete(data, "control_character", "a\x01b\x1fc")

    def test_raw_tab_and_newlines(self):
        data = with_line(PYTHON % "a\tb\nc\r\nd")
        self.complete(data, "control_character", "a\tb", count=1)

    def test_raw_nul_in_name(self):
        data = with_line(PYTHON % "a\x00b")
        self.complete(data, "control_character", "a\x00b")

    def test_raw_newline_in_args_value(self):
        self.complete(with_line(PYTHON.replace('"ts"', '"args":{"note":"x\ny"},"ts"') % "f"),
                      "control_character")

    def test_control_characters_in_kernel_name_are_escaped(self):
        name = "evil\x1b[31m\x07\u009bkernel"
        rep = self.complete([*base_events()[:-1], kernel(name, 400, 30, 4)])
        self.assertEqual(rep.kernel_count(), 3)

    def test_unescaped_quotes_in_host_name(self):
        data = with_line(PYTHON % 'say "hello" twice')
        self.complete(data, "unescaped_quote", 'say "hello" twice')

    def test_unescaped_quotes_in_kernel_name(self):
        events = [json.dumps(e) for e in base_events()]
        events[8] = events[8].replace("gemm_f32_64x64_tn", 'gemm "fast" tn')
        rep = self.complete(document(events), "unescaped_quote")
        self.assertIn('gemm "fast" tn', rep.kernels())

    def test_unescaped_quotes_in_args(self):
        data = with_line(PYTHON.replace('"ts"', '"args":{"cmd":"run "a b" now"},"ts"') % "f")
        self.complete(data, "unescaped_quote", 'run "a b" now')

    def test_invalid_utf8(self):
        good = with_line(PYTHON % "MARK").encode()
        for name, bad in (("lone", b"\x9f"), ("overlong", b"\xc0\xaf"), ("cut", b"\xe2\x82"),
                          ("surrogate", b"\xed\xa0\x80"), ("high", b"\xf5\x80\x80\x80"),
                          ("ff", b"\xff\xfe")):
            with self.subTest(name):
                self.complete(good.replace(b"MARK", b"x" + bad + b"y"), "bad_utf8")

    def test_invalid_utf8_at_end_of_string(self):
        good = with_line(PYTHON % "MARK").encode()
        self.complete(good.replace(b"MARK", b"x\xe2\x82"), "bad_utf8")

    def test_invalid_utf8_in_kernel_name_becomes_replacement(self):
        raw = document(base_events()).encode().replace(b"gemm_f32", b"gemm\xff32")
        rep = self.complete(raw, "bad_utf8")
        self.assertIn("gemm\ufffd32_64x64_tn", rep.kernels())

    def test_escapes_are_decoded(self):
        events = [json.dumps(e) for e in base_events()]
        events[8] = events[8].replace("gemm_f32_64x64_tn",
                                      r"\u0067\u00e9\u20ac\ud83d\ude00\/\\\"\t")
        rep = self.report(document(events))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        names = [k for k in rep.kernels() if k.startswith("g\u00e9\u20ac\U0001f600/\\\"")]
        self.assertEqual(len(names), 1, str(list(rep.kernels())))

    def test_lone_surrogate_escapes(self):
        events = [json.dumps(e) for e in base_events()]
        events[8] = events[8].replace("gemm_f32_64x64_tn", r"a\ud800b\udc00c")
        rep = self.report(document(events))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertOutputsSane(rep)
        self.assertEqual([k for k in rep.kernels() if k[0] == "a" and k[-1] == "c"],
                         ["a\ufffdb\ufffdc"])

    def test_keys_with_escapes(self):
        text = document(base_events()).replace('"ts"', r'"\u0074s"') \
            .replace('"dur"', r'"d\u0075r"').replace('"correlation"', r'"c\u006frrelation"')
        rep = self.complete(text)
        self.assertEqual(rep.direct("aten::linear"), 100)

    def test_top_level_key_with_escapes(self):
        self.complete(document(base_events()).replace('"traceEvents"', r'"trace\u0045vents"'))

    def test_missing_comma_between_events(self):
        text = document(base_events())
        at = text.index('{"ph": "X", "cat": "kernel"')
        cut = text.rindex(",", 0, at)
        self.complete(text[:cut] + text[cut + 1:], "missing_comma", (cut - 1, at), count=1)

    def test_missing_comma_between_keys(self):
        text = document(base_events())
        bad = text.replace('"name": "gemm_f32_64x64_tn",', '"name": "gemm_f32_64x64_tn"')
        self.assertNotEqual(text, bad)
        self.complete(bad, "missing_comma", '"gemm_f32_64x64_tn" "pid"', count=1)

    def test_missing_comma_in_args(self):
        text = document(base_events()).replace('"device": 0,', '"device": 0')
        self.complete(text, "missing_comma", count=4)

    def test_trailing_comma_in_array(self):
        text = document(base_events()).replace("\n  ]\n", ",\n  ]\n")
        self.complete(text, "extra_comma")

    def test_trailing_comma_in_event_and_args(self):
        self.complete(document(base_events()).replace("}}", ",},}"), "extra_comma")

    def test_trailing_comma_in_top_object(self):
        self.complete(document(base_events()).replace("  ]\n}", "  ],\n}"), "extra_comma")

    def test_double_commas(self):
        self.complete(document(base_events()).replace("},\n  {", "},,\n  {"), "extra_comma")

    def test_nan_spellings_in_args(self):
        args = ",".join(f'"k{i}":{v}' for i, v in enumerate(
            ["NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "-nan(ind)"]))
        self.complete(with_line(PYTHON.replace('"ts"', '"args":{%s},"ts"' % args) % "f"),
                      "not_a_number")

    def test_python_literals_in_args(self):
        data = with_line(PYTHON.replace('"ts"', '"args":{"a":True,"b":None,"c":False},"ts"') % "f")
        self.mentioned(data)

    def test_odd_numbers_in_args(self):
        for bad in ("+5", ".5", "0x1f", "1e", "--1", "1_000", "1.#INF", "-1.#IND", "+inf"):
            with self.subTest(bad):
                self.mentioned(with_line(
                    PYTHON.replace('"ts"', f'"args":{{"a":{bad},"b":2}},"ts"') % "f"))

    def test_numbers_that_are_clear_but_no_json(self):
        for odd in ("05", "5.", "-0", "1E5", "0.0e-0"):
            with self.subTest(odd):
                self.complete(with_line(
                    PYTHON.replace('"ts"', f'"args":{{"a":{odd},"b":2}},"ts"') % "f"))

    def test_single_quoted_event(self):
        data = with_line("{'ph':'X','cat':'cpu_op','name':'x','pid':1,'tid':1,'ts':1,'dur':1}")
        self.mentioned(data)

    def test_broken_event_is_one_loss(self):
        data = with_line('{"ph":"X" : "cat" }{"x" , "name":')
        rep = self.report(data)
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE)
        self.assertReconciles(rep)

    def test_garbage_between_events(self):
        data = with_line("%%% log line of another process %%%")
        self.left_out(data, "unreadable_stretch", "%%% log line")

    def test_log_line_inside_event(self):
        text = document(base_events())
        bad = text.replace('"name": "gemm_f32_64x64_tn",', '"name": "gemm_f32_64x\nWARN: lost\n{')
        # The first kernel is gone: [200,300), [290,340), [400,430) remain.
        rep = self.report(bad)
        self.assertExit(rep, 3)
        self.assertEqual(rep.kernel_count(), 2, str(rep))
        self.assertFigures(rep, {"total": 230, "busy": 170, "compute": 30, "comm": 100,
                                 "memcpy": 50, "exposed_comm": 100, "exposed_memcpy": 40,
                                 "idle": 60})

    def test_ellipsis_in_array(self):
        data = with_line(PYTHON.replace('"ts"', '"args":{"ranks":[0,1, ...,9]},"ts"') % "f")
        self.mentioned(data, 0)


class Layout(Odd):
    """The same content spelled otherwise."""

    def same(self, text):
        rep = self.report(text)
        self.assertClean(rep)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.direct("aten::linear"), 100)

    def test_crlf_line_ends(self):
        self.same(document(base_events()).replace("\n", "\r\n"))

    def test_tabs(self):
        self.same(json.dumps({"traceEvents": base_events()}, indent="\t"))

    def test_deep_indent(self):
        self.same(json.dumps({"schemaVersion": 1, "traceEvents": base_events()}, indent=8))

    def test_one_line_compact(self):
        self.same(json.dumps({"traceEvents": base_events()}, separators=(",", ":")))

    def test_spaces_everywhere(self):
        self.same(json.dumps({"traceEvents": base_events()}, separators=(" \t,\r\n ", " \n:\t ")))

    def test_bare_array(self):
        self.same(json.dumps(base_events()))

    def test_bare_array_unclosed(self):
        rep = self.report("[\n" + join(base_events()) + ",\n")
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_bare_array_unclosed_no_comma(self):
        rep = self.report("[\n" + join(base_events()))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_keys_reversed(self):
        events = [dict(reversed(list(e.items()))) for e in base_events()]
        self.same(document(events))

    def test_metadata_after_events(self):
        text = '{"traceEvents": [' + join(base_events()) + '], "schemaVersion": 1, ' \
               '"distributedInfo": {"rank": 5, "world_size": 8}}'
        self.same(text)

    def test_metadata_holds_events_lookalike(self):
        decoy = kernel("decoy", 0, 10**6, 77)
        self.same(document(base_events(), note={"traceEvents": [decoy]}, rows=[decoy]))

    def test_args_hold_event_lookalikes(self):
        events = base_events()
        events[0]["args"]["nested"] = [kernel("decoy", 0, 10**6, 77), {"ph": "X"}]
        events[0]["args"]["ts"] = 5
        events[0]["args"]["name"] = "decoy"
        self.same(document(events))

    def test_large_metadata_before_events(self):
        self.same(document(base_events(), metadata={"text": "x" * 300000,
                                                    "list": list(range(30000))}))

    def test_duplicate_keys_last_wins(self):
        text = document(base_events()).replace(
            '"ts": 150, "dur": 100', '"ts": 3, "dur": 1, "ts": 150, "dur": 100')
        rep = self.report(text)
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_null_and_scalar_elements(self):
        rep = self.report(with_line("null", "7", '"text"', "[]", "{}", "true", "[[1]]", "-1.5e3"))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_very_long_name(self):
        name = "long_" + "k" * 300000
        rep = self.report([*base_events()[:-1], kernel(name, 400, 30, 4)], xlsx=True)
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertIn(name, rep.kernels())

    def test_event_above_one_megabyte(self):
        events = base_events()
        events[0]["args"]["Input Dims"] = [[i, i + 1] for i in range(100000)]
        self.assertGreater(len(json.dumps(events[0])), 1 << 20)
        self.same(document(events))

    def test_event_with_many_args(self):
        events = base_events()
        events[8]["args"].update({f"key {i}": i for i in range(20000)})
        self.same(document(events))

    def test_deep_nesting_in_args(self):
        deep = "[" * 10000 + "]" * 10000
        rep = self.report(with_line(PYTHON.replace('"ts"', f'"args":{{"d":{deep}}},"ts"') % "f"))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_deep_nesting_of_objects(self):
        deep = '{"a":' * 10000 + "1" + "}" * 10000
        rep = self.report(with_line(PYTHON.replace('"ts"', f'"args":{{"d":{deep}}},"ts"') % "f"))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_deep_nesting_unclosed(self):
        text = document(base_events())
        rep = self.report(text[:text.rindex("]")].rstrip() + ",\n" + '{"args":' + "[" * 100000)
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE)

    def test_many_small_chunks_of_whitespace(self):
        self.same(document(base_events()).replace("},\n", "}" + " " * 70000 + "," + "\n" * 70000))


class Ends(Odd):
    """Files that stop too early or go on too long."""

    def cut(self, needle, plus=0):
        text = document(base_events())
        return text[:text.rindex(needle) + plus]

    def test_truncated_between_events(self):
        text = document(base_events())
        at = text.rindex('{"ph": "X"')
        self.left_out(text[:at].rstrip(), "truncated", (at - 10, at), figures=BASE_HEAD)

    def test_truncated_after_last_event(self):
        self.left_out(self.cut("}}", 2), "truncated")

    def test_truncated_after_array(self):
        self.left_out(self.cut("]", 1), "truncated")

    def test_truncated_in_string(self):
        self.left_out(self.cut("elementwise", 4), "truncated", figures=BASE_HEAD)

    def test_truncated_in_key(self):
        self.left_out(self.cut('"correlation"', 5), "truncated", figures=BASE_HEAD)

    def test_truncated_in_number(self):
        self.left_out(self.cut('"dur": 30', 8), "truncated", figures=BASE_HEAD)

    def test_truncated_in_escape(self):
        text = document([*base_events()[:-1], kernel("a\\b", 400, 30, 4)])
        at = text.rindex("a\\\\b")
        self.left_out(text[:at + 2], "truncated", figures=BASE_HEAD)

    def test_truncated_in_metadata_after_events(self):
        text = '{"traceEvents": [' + join(base_events()) + '], "distributedInfo": {"ra'
        self.left_out(text, "truncated")

    def test_truncated_in_metadata_before_events(self):
        self.refused('{"schemaVersion": 1, "deviceProp', r"(truncat|ends|no events|no trace)")

    def test_truncated_at_every_byte(self):
        """Whatever the place of the cut: no crash, the complete events, the right status."""
        events = [op("aten::m", 1, 8), launch(2, 1, 5), kernel("k1", 10, 20, 5),
                  kernel("k2", 40, 10, 6)]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events, "z": {"a": [1]}})
        ends = [text.index(json.dumps(e)) + len(json.dumps(e)) for e in events]
        step = 23 if SANITIZED else 3
        for n in list(range(1, len(text), step)) + ends + [len(text) - 1, len(text)]:
            rep = self.report(text[:n])
            whole = sum(n >= e for e in ends)
            want = 0 if n == len(text) else 1 if whole == 0 else 3
            if rep.rc != want:
                self.fail(f"cut at {n} of {len(text)} ({whole} whole events): want {want}\n{rep}")
            if whole >= 3:
                busy = 20 if whole == 3 else 30
                total = 20 if whole == 3 else 40
                self.assertFigures(rep, {"busy": busy, "total": total})
            elif whole:
                self.assertFalse(rep.has("gpu_timeline"), f"cut at {n}")

    def test_second_document(self):
        text = document(base_events())
        self.left_out(text + text, "second_document", (len(text) - 1, len(text) + 1))

    def test_second_bare_array(self):
        text = json.dumps(base_events())
        self.left_out(text + "\n" + text, "second_document",
                      (len(text) - 1, len(text) + 2))

    def test_text_after_the_end(self):
        self.mentioned(document(base_events()) + "Traceback (most recent call last):\n")

    def test_nuls_after_the_end(self):
        self.mentioned(document(base_events()) + "\0" * 5000)

    def test_blank_after_the_end(self):
        rep = self.report(document(base_events()) + " \r\n\t" * 1000)
        self.assertClean(rep)
        self.assertFigures(rep, BASE)


class Nothing(Odd):
    """Inputs without a trace in them: one line, exit 1, no files."""

    def test_refused(self):
        no_gpu = r"(no GPU events|no events|no trace)"
        not_trace = r"(not a|no) .*(trace|JSON|events)"
        for name, data, word in (
                ("empty", b"", "empty"), ("blank", b" \n\t\r\n", r"(empty|no )"),
                ("nuls", b"\0" * 9000, r"(not a|empty)"), ("open_array", b"[", r"(truncat|no )"),
                ("open_object", b"{", r"(truncat|ends|no )"),
                ("open_events", b'{"traceEvents":[', r"(truncat|no )"),
                ("empty_object", b"{}", r"(traceEvents|no )"), ("empty_array", b"[]", no_gpu),
                ("no_events_key", b'{"schemaVersion": 1, "a": [1, 2]}', "(traceEvents|no )"),
                ("null_events", b'{"traceEvents": null}', "(traceEvents|no )"),
                ("text_events", b'{"traceEvents": "x"}', "(traceEvents|no )"),
                ("no_events", b'{"traceEvents": []}', no_gpu),
                ("number", b"42\n", not_trace), ("string", b'"text"\n', not_trace),
                ("null", b"null\n", not_trace), ("true", b"true\n", not_trace),
                ("html", b"<!DOCTYPE html><html></html>", "<"),
                ("words", b"hello world\n", not_trace), ("csv", b"ts,dur\n1,2\n", not_trace),
                ("elf", b"\x7fELF\x02\x01\x01" + bytes(99), not_trace),
                ("list_of_numbers", b"[1, 2, 3]", "no "),
                ("metadata_events", json.dumps([event("M", "", "process_name", 1, 1, 0, 0,
                                                      {"name": "x"})]).encode(), no_gpu)):
            with self.subTest(name):
                self.refused(data, word, name=f"{name}.json")

    def test_eight_categories_are_named(self):
        """Those with the most slices: the n-th of ten has 20 - n."""
        for categories, end in ((8, "c7 13, c8 12"), (10, "c7 13, c8 12, ...")):
            events = [event("X", f"c{n}", "x", 1, 1, 100 * n + i, 1)
                      for n in range(1, categories + 1) for i in range(20 - n)]
            rep = self.report(events)
            self.assertRegex(rep.err, f"events with a duration: c1 19, c2 18, .*, {re.escape(end)}\n")

    def test_other_containers_are_named(self):
        for name, data in (("zip", b"PK\x03\x04" + bytes(60)), ("bzip2", b"BZh91AY&SY" + bytes(60)),
                           ("xz", b"\xfd7zXZ\0" + bytes(60)),
                           ("SQLite", b"SQLite format 3\0" + bytes(100))):
            with self.subTest(name):
                self.refused(data, f"(?i){name}", name="t.json")

    def test_cpu_only(self):
        rep = self.report([op("aten::mm", 1, 5), op("aten::mm", 10, 5), op("aten::add", 20, 2)])
        self.assertExit(rep, 0)
        self.assertFalse(rep.has("gpu_timeline"))
        self.assertRegex(rep.out + rep.err, r"no GPU events")
        rows = {r["name"]: r for r in rep.table("cpu_ops")}
        self.assertEqual(set(rows), {"aten::mm", "aten::add"})
        self.assertOutputsSane(rep)

    def test_host_and_flows_only_of_lost_gpu_rows(self):
        rep = self.report([op("aten::mm", 1, 5), kernel("k", 0, 0, 1)])
        self.assertExit(rep, 3)
        self.assertFalse(rep.has("gpu_timeline"))
        self.assertOutputsSane(rep)


def gz(data, **keywords):
    return gzip.compress(data, mtime=0, **keywords)


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


class Compressed(Odd):
    DATA = document(base_events()).encode()

    def head(self):
        """The document up to inside its last kernel."""
        return self.DATA[:self.DATA.rindex(b"elementwise")]

    def clean(self, data, name):
        rep = self.report(data, name=name)
        self.assertClean(rep)
        self.assertFigures(rep, BASE)

    def test_gz(self):
        self.clean(gz(self.DATA), "t.json.gz")

    def test_gz_under_json_name(self):
        self.clean(gz(self.DATA), "t.json")

    def test_gz_under_no_name(self):
        self.clean(gz(self.DATA), "trace")

    def test_json_under_gz_name(self):
        self.clean(self.DATA, "t.json.gz")

    def test_json_under_zst_name(self):
        self.clean(self.DATA, "t.json.zst")

    def test_gz_stored_blocks(self):
        self.clean(gz(self.DATA, compresslevel=0), "t.json.gz")

    def test_gz_with_all_header_fields(self):
        raw = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = raw.compress(self.DATA) + raw.flush()
        head = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x04\x00abcd" + b"name.json\0" + b"comment\0"
        head += (zlib.crc32(head) & 0xffff).to_bytes(2, "little")
        tail = zlib.crc32(self.DATA).to_bytes(4, "little") + len(self.DATA).to_bytes(4, "little")
        self.clean(head + body + tail, "t.json.gz")

    def test_gz_members_split_inside_an_event(self):
        n = self.DATA.index(b"gemm_f32") + 3
        self.clean(gz(self.DATA[:n]) + gz(self.DATA[n:n + 1]) + gz(self.DATA[n + 1:]), "t.json.gz")

    def test_gz_member_a_byte(self):
        self.clean(b"".join(gz(self.DATA[i:i + 1]) for i in range(len(self.DATA))), "t.json.gz")

    def test_gz_empty_members(self):
        self.clean(gz(b"") + gz(self.DATA) + gz(b"") + gz(b""), "t.json.gz")

    def test_gz_trailing_zeros(self):
        rep = self.report(gz(self.DATA) + bytes(512), name="t.json.gz")
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)

    def test_gz_trailing_garbage(self):
        rep = self.report(gz(self.DATA) + b"GARBAGE" * 30, name="t.json.gz")
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertNotice(rep, "trailing_bytes")

    def test_gz_truncated(self):
        whole = gz(self.DATA, compresslevel=0)
        n = whole.index(b"elementwise")
        rep = self.report(whole[:n], name="t.json.gz")
        self.assertTruncated(rep, BASE_HEAD)

    def test_gz_without_trailer(self):
        self.assertTruncated(self.report(gz(self.DATA)[:-8], name="t.json.gz"), BASE)

    def assertTruncated(self, rep, figures):
        """A compressed file that ends early says that; the JSON inside it may end early too."""
        self.assertExit(rep, 3)
        self.assertFigures(rep, figures)
        self.assertReconciles(rep)
        self.assertIn("compressed_truncated", rep.lost())
        self.assertEqual(set(rep.lost()) - {"compressed_truncated", "truncated"}, set())
        self.assertTrue(1 <= len(rep.notices("compressed_truncated")) <= 2, str(rep))

    def test_gz_truncated_second_member(self):
        n = self.DATA.rindex(b"elementwise")
        data = gz(self.DATA[:n]) + gz(self.DATA[n:])[:12]
        self.assertTruncated(self.report(data, name="t.json.gz"), BASE_HEAD)

    def test_gz_bad_crc(self):
        data = bytearray(gz(self.DATA))
        data[-6] ^= 0x40
        rep = self.report(bytes(data), name="t.json.gz")
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.lost(), {"compressed_checksum": 1})
        self.assertNotice(rep, "compressed_checksum")

    def test_gz_bad_length(self):
        data = bytearray(gz(self.DATA))
        data[-1] ^= 0x40
        rep = self.report(bytes(data), name="t.json.gz")
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE)

    def test_gz_broken_in_the_middle(self):
        data = bytearray(gz(self.DATA))
        data[len(data) // 2:len(data) // 2 + 40] = b"\xff" * 40
        rep = self.report(bytes(data), name="t.json.gz")
        self.assertExit(rep, 1, 3)
        self.assertRegex(rep.err, r"\S")

    def test_gz_header_only(self):
        self.refused(gz(self.DATA)[:10], r"(truncat|ends|empty|no )", name="t.json.gz")

    def test_gz_of_nothing(self):
        self.refused(gz(b""), "empty", name="t.json.gz")

    def test_gz_of_text(self):
        self.refused(gz(b"<html>"), "<", name="t.json.gz")

    def test_gz_in_gz(self):
        rep = self.report(gz(gz(self.DATA)), name="t.json.gz")
        self.assertExit(rep, 0, 1)
        if rep.rc == 0:
            self.assertFigures(rep, BASE)
        else:
            self.assertOneLine(rep, r"gzip inside gzip|compressed twice")

    def test_zlib(self):
        rep = self.report(zlib.compress(self.DATA), name="t.json.gz")
        self.assertExit(rep, 0, 1)
        if rep.rc == 0:
            self.assertFigures(rep, BASE)
        else:
            self.assertOneLine(rep, "(?i)zlib")

    @unittest.skipUnless(shutil.which("zstd"), "no zstd program here")
    def test_zstd(self):
        self.clean(zstd(self.DATA), "t.json.zst")
        self.clean(zstd(self.DATA), "t.json")
        self.clean(zstd(self.DATA, "--no-check", "-19"), "t.json.zst")

    @unittest.skipUnless(shutil.which("zstd"), "no zstd program here")
    def test_zstd_frames_and_skippable(self):
        n = self.DATA.index(b"gemm_f32") + 3
        skippable = b"\x50\x2a\x4d\x18\x08\x00\x00\x00ABCDEFGH"
        self.clean(zstd(self.DATA[:n]) + skippable + zstd(self.DATA[n:]), "t.json.zst")

    @unittest.skipUnless(shutil.which("zstd"), "no zstd program here")
    def test_zstd_truncated(self):
        rep = self.report(zstd(self.DATA + b" " * 10)[:-3], name="t.json.zst")
        self.assertExit(rep, 1, 3)
        self.assertRegex(rep.err, r"(?i)(truncat|ends)")

    @unittest.skipUnless(shutil.which("zstd"), "no zstd program here")
    def test_zstd_bad_checksum(self):
        data = bytearray(zstd(self.DATA))
        data[-1] ^= 1
        rep = self.report(bytes(data), name="t.json.zst")
        self.assertExit(rep, 1, 3)
        self.assertRegex(rep.err, r"(?i)(checksum|crc|corrupt)")

    def test_standard_input(self):
        for data in (self.DATA, gz(self.DATA), json.dumps(base_events()).encode()):
            rep = self.report(pathlib.Path("-"), stdin=data)
            self.assertClean(rep)
            self.assertFigures(rep, BASE)


class Times(Odd):
    def respelled(self, spell):
        """The control with every ts and dur spelled by `spell`."""
        return re.sub(r'"(ts|dur)": (\d+)', lambda m: f'"{m[1]}": {spell(int(m[2]))}',
                      document(base_events()))

    def test_spellings(self):
        for name, spell in (
                ("exponent", lambda n: f"{n}e0"), ("hundredths", lambda n: f"{n * 100}e-2"),
                ("capital", lambda n: f"{Decimal(n).scaleb(-3)}E3"),
                ("plus", lambda n: f"{Decimal(n).scaleb(-3)}e+3"),
                ("decimals", lambda n: f"{n}.000"), ("many", lambda n: f"{n}." + "0" * 60),
                ("rounds_down", lambda n: f"{n}.0004" + "9" * 30),
                ("long_exponent", lambda n: f"{n}000000000000e-0012")):
            with self.subTest(name):
                rep = self.report(self.respelled(spell))
                self.assertExit(rep, 0)
                self.assertFigures(rep, BASE)

    def test_text_times(self):
        for name, spell in (("plain", lambda n: f'"{n}"'), ("decimals", lambda n: f'"{n}.000"'),
                            ("exponent", lambda n: f'"{n}e0"')):
            with self.subTest(name):
                self.complete(self.respelled(spell))

    def test_rounding_to_nearest_nanosecond(self):
        # 0.0005 us is half a nanosecond (up), 0.00049 is less (down), 0.0015 is one and a half.
        rep = self.report([
            json.dumps(kernel("a", 100, 0)).replace('"dur": 0', '"dur": 10.0015'),
            json.dumps(kernel("b", 200, 0)).replace('"dur": 0', '"dur": 10.00149')])
        self.assertExit(rep, 0)
        k = rep.kernels()
        self.assertEqual([k["a"][1], k["b"][1]], [Decimal("10.002"), Decimal("10.001")])

    def test_epoch_times_keep_nanoseconds(self):
        base = 1712169098000000
        rep = self.report(document([
            json.dumps(kernel("a", 0, 0)).replace('"ts": 0, "dur": 0',
                                                  f'"ts": {base}.001, "dur": 1.001'),
            json.dumps(kernel(NCCL, 0, 0, stream=9)).replace(
                '"ts": 0, "dur": 0', f'"ts": {base + 1}.001, "dur": 0.002')]))
        self.assertExit(rep, 0)
        # [.001, 1.002) compute, [1.001, 1.003) communication: one ns exposed.
        self.assertFigures(rep, {"total": "1.002", "busy": "1.002", "compute": "1.001",
                                 "comm": "0.002", "memcpy": 0, "exposed_comm": "0.001",
                                 "exposed_memcpy": 0, "idle": 0})

    def test_negative_ts(self):
        self.complete([{**e, "ts": e["ts"] - 1000} for e in base_events()])

    def test_display_time_unit(self):
        for unit in ("ms", "ns", "us", "fortnight", None, 7):
            with self.subTest(unit):
                rep = self.report(document(base_events(), displayTimeUnit=unit))
                self.assertClean(rep)
                self.assertFigures(rep, BASE)

    def test_base_time_nanoseconds(self):
        for base in (0, 1712169098000000000, 2**63 - 1):
            with self.subTest(base):
                rep = self.report(document(base_events(), baseTimeNanoseconds=base))
                self.assertExit(rep, 0)
                self.assertFigures(rep, BASE)

    def test_kernel_at_zero_is_kept(self):
        rep = self.report([kernel("k", 0, 50, 1)])
        self.assertClean(rep)
        self.assertFigures(rep, ONE)

    def test_kernel_of_no_length_is_kept(self):
        rep = self.report([kernel("k", 10, 50, 1), kernel("zero", 70, 0, 2)])
        self.assertExit(rep, 0)
        self.assertEqual(rep.kernels()["zero"], (1, 0, 0, 0))
        self.assertFigures(rep, {"busy": 50, "total": 60, "idle": 10, "compute": 50})

    def test_lost_times(self):
        """A GPU row whose time is gone: left out, counted, exit 3, the rest as the control."""
        for name, kind, fields in (
                ("nan_ts", "gpu_no_start", {"ts": "NaN"}),
                ("null_ts", "gpu_no_start", {"ts": "null"}),
                ("no_ts", "gpu_no_start", {"ts": ABSENT}),
                ("text_ts", "gpu_no_start", {"ts": '"soon"'}),
                ("array_ts", "gpu_no_start", {"ts": "[1]"}),
                ("void_ts", "gpu_no_start", {"ts": '""'}),
                ("bool_ts", "gpu_no_start", {"ts": "true"}),
                ("infinite_ts", "gpu_no_start", {"ts": "Infinity"}),
                ("nan_dur", "gpu_no_duration", {"dur": "NaN"}),
                ("infinite_dur", "gpu_no_duration", {"dur": "Infinity"}),
                ("null_dur", "gpu_no_duration", {"dur": "null"}),
                ("no_dur", "gpu_no_duration", {"dur": ABSENT}),
                ("text_dur", "gpu_no_duration", {"dur": '"long"'}),
                ("object_dur", "gpu_no_duration", {"dur": "{}"}),
                ("negative_dur", "gpu_negative_duration", {"dur": "-5"}),
                ("one_ns_negative", "gpu_negative_duration", {"dur": "-0.001"}),
                ("zero_zero", "gpu_time_lost", {"ts": "0", "dur": "0"}),
                ("zero_text", "gpu_time_lost", {"ts": '"0"', "dur": '"0.0"'}),
                ("huge_dur", "gpu_overflow", {"dur": "1e30"}),
                ("overflow_dur", "gpu_overflow", {"dur": "9300000000000000"}),
                ("overflow_ts", "gpu_overflow", {"ts": "9300000000000000"}),
                ("huge_ts", "gpu_overflow", {"ts": "1e400"}),
                ("overflow_end", "gpu_overflow", {"ts": "9223372036854775", "dur": "500000000000"}),
                ("never_ended", "gpu_overflow", {"dur": "9223372036854775.807"}),
                ("eight_days", "gpu_overflow", {"dur": str(8 * 86400 * 10**6)}),
                ("long_digits", "gpu_overflow", {"ts": "1" * 60})):
            with self.subTest(name):
                rep = self.left_out(with_line(dumped(**fields)), kind, '"lost_kernel"')
                self.assertNotIn("lost_kernel", rep.kernels())

    def test_lost_times_of_copies(self):
        lost = [copy(0, 0, 9), copy(300, -1, 9),
                {**copy(300, 1, 9), "cat": "gpu_memset", "dur": None}]
        rep = self.report(with_line(*map(json.dumps, lost)))
        self.assertExit(rep, 3)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.lost(), {"gpu_time_lost": 1, "gpu_negative_duration": 1,
                                      "gpu_no_duration": 1})

    def test_lost_times_of_host_rows_leave_gpu_figures(self):
        host = op("aten::odd", 120, 5)
        for name, fields in (("negative", {"dur": -5}), ("null", {"dur": None}),
                             ("huge", {"dur": 1e30}), ("zero", {"ts": 0, "dur": 0})):
            with self.subTest(name):
                rep = self.report(with_line(json.dumps({**host, **fields})))
                self.assertExit(rep, 0, 3)
                self.assertFigures(rep, BASE)
                if name != "zero":
                    self.assertNotEqual(rep.flaws(), [], "not a word about it")

    def test_long_but_possible_duration(self):
        # Nearly six days; above a week a duration is taken for a counter that ran over.
        rep = self.report([kernel("k", 100, 5 * 10**11, 1)])
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 5 * 10**11, "total": 5 * 10**11, "idle": 0})

    def test_begin_end_pairs(self):
        pairs = []
        for e in base_events():
            begin = {k: v for k, v in e.items() if k != "dur"}
            pairs += [(e["ts"], {**begin, "ph": "B"}),
                      (e["ts"] + e["dur"], {"ph": "E", "pid": e["pid"], "tid": e["tid"],
                                            "ts": e["ts"] + e["dur"]})]
        rep = self.report([e for _, e in sorted(pairs, key=lambda p: p[0])])
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.kernel_count(), 3)
        self.assertEqual(rep.direct("aten::linear"), 100)

    def test_begin_without_end(self):
        begin = {k: v for k, v in kernel("open", 500, 1, 9, stream=99).items() if k != "dur"}
        self.left_out(with_line(json.dumps({**begin, "ph": "B"}), at=12), "gpu_open")

    def test_end_without_begin(self):
        rep = self.report(with_line('{"ph":"E","pid":0,"tid":99,"ts":500}'))
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)


class Links(Odd):
    def pair(self, host, gpu):
        """aten::linear [100,140) around a launch, one kernel [150,200)."""
        return [op("aten::linear", 100, 40), {**launch(110, 5, None), **host},
                {**kernel("k", 150, 50), **gpu}]

    def args(self, **args):
        return {"args": args}

    def linked(self, events, figures=ONE):
        rep = self.report(events)
        self.assertExit(rep, 0)
        self.assertFigures(rep, figures)
        self.assertEqual(rep.direct("aten::linear"), figures["busy"])
        self.assertEqual(rep.reconciliation()["unlinked"], 0)
        self.assertReconciles(rep)
        return rep

    def test_correlation(self):
        self.linked(self.pair(self.args(correlation=5),
                              self.args(correlation=5, device=0, stream=7)))

    def test_external_id_only(self):
        self.linked(self.pair(self.args(**{"External id": 5}),
                              self.args(**{"External id": 5, "device": 0, "stream": 7})))

    def test_external_id_lower_case(self):
        self.linked(self.pair(self.args(**{"external id": 5}),
                              self.args(**{"external id": 5, "device": 0, "stream": 7})))

    def test_flow_only(self):
        flow = {"id": 3, "cat": "ac2g", "name": "ac2g"}
        flows = [{"ph": "s", "pid": 31, "tid": 32, "ts": 110, **flow},
                 {"ph": "f", "pid": 0, "tid": 7, "ts": 150, "bp": "e", **flow}]
        self.linked(self.pair(self.args(), self.args(device=0, stream=7)) + flows)

    def test_correlation_above_2_53(self):
        big = 2**53
        rep = self.report([
            op("aten::linear", 100, 40), launch(110, 5, big), op("aten::relu", 150, 20),
            launch(155, 5, big + 1), kernel("a", 200, 30, big), kernel("b", 300, 20, big + 1)])
        self.assertEqual([rep.direct("aten::linear"), rep.direct("aten::relu")], [30, 20])

    def test_correlation_above_int64(self):
        # 2**64 - 1 is minus one: no id.
        for big in (2**63, 2**64 - 2):
            with self.subTest(big):
                self.linked(self.pair(self.args(correlation=big),
                                      self.args(correlation=big, device=0, stream=7)))

    def test_correlation_zero_links_nothing(self):
        rep = self.report([op("aten::item", 100, 200), launch(100, 190, 0, "hipStreamSynchronize"),
                           kernel(NCCL, 120, 50, 0), kernel("k", 180, 20, 0)])
        self.assertExit(rep, 0)
        self.assertEqual(rep.direct("aten::item"), 0)
        self.assertFigures(rep, {"busy": 70, "total": 80, "comm": 50, "compute": 20})
        self.assertReconciles(rep)

    def test_odd_correlations_lose_no_kernel(self):
        for value in (-1, -5, "abc", "", None, 1.5, [1], {"a": 1}, True, "0", 10**30):
            with self.subTest(value):
                rep = self.report(self.pair(self.args(correlation=value), self.args(
                    correlation=value, device=0, stream=7)))
                self.assertExit(rep, 0)
                self.assertFigures(rep, ONE)
                self.assertReconciles(rep)

    def test_duplicate_correlations(self):
        rep = self.report([
            op("aten::a", 100, 20), launch(105, 5, 7), op("aten::b", 130, 20), launch(135, 5, 7),
            kernel("x", 200, 10, 7), kernel("y", 220, 10, 7)])
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 20, "total": 30})
        # Each kernel is charged once.
        self.assertEqual(rep.direct("aten::a") + rep.direct("aten::b"), 20)
        self.assertReconciles(rep)

    def test_unlinked_kernels(self):
        events = base_events() + [kernel("orphan", 500, 20, 77), kernel("orphan", 530, 20)]
        rep = self.report(events)
        self.assertExit(rep, 0)
        # The base to 430, then idle 70, 20, idle 10, 20: the end is 550.
        self.assertFigures(rep, {"total": 400, "busy": 260, "idle": 140, "compute": 170})
        self.assertEqual(rep.reconciliation()["unlinked"], 40000)
        self.assertReconciles(rep)
        self.assertNotIn("orphan", " ".join(rep.ops()))
        self.assertIn("orphan", json.dumps(rep.table("unlinked")))
        linked = self.report(events, "--linked-only")
        self.assertFigures(linked, BASE)
        self.assertEqual(linked.kernel_count(), 5, "kernel_summary holds all kernels always")

    def test_launch_without_kernel(self):
        rep = self.report(base_events() + [launch(120, 1, 90), launch(122, 1, 91)])
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        row = rep.launches()["cudaLaunchKernel"]
        self.assertEqual([row["calls"], row["GPU events"], row["calls without kernel"]],
                         ["4", "2", "2"])

    def test_graph_launch_on_several_streams(self):
        events = [op("ReplayGraph", 100, 80), launch(110, 60, 900, "cudaGraphLaunch")]
        for i in range(6):
            events.append(kernel(f"node{i}", 200 + 20 * i, 10, 900, stream=7 + i % 3))
        rep = self.report(events)
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 60, "total": 110, "idle": 50})
        self.assertEqual(rep.direct("ReplayGraph"), 60)
        row = rep.launches()["cudaGraphLaunch"]
        self.assertEqual([row["calls"], row["GPU events"], row["calls without kernel"]],
                         ["1", "6", "0"])
        self.assertEqual({(r["device"], r["stream"], r["kernels"]) for r in rep.table("streams")},
                         {("0", "7", "2"), ("0", "8", "2"), ("0", "9", "2")})

    def test_driver_launches_count_like_runtime_ones(self):
        for name in ("cuLaunchKernel", "cuLaunchKernelEx"):
            with self.subTest(name):
                rep = self.linked([op("aten::linear", 100, 40),
                                   launch(110, 5, 5, name, cat="cuda_driver"),
                                   kernel("triton_k", 150, 50, 5)])
                self.assertEqual(rep.launches()[name]["GPU events"], "1")

    def test_runtime_call_around_driver_call(self):
        """The kernel's correlation is that of the inner call: still one launch, one operation."""
        rep = self.report([op("aten::linear", 100, 40), launch(108, 12, 6, "cudaLaunchKernel"),
                           launch(110, 5, 5, "cuLaunchKernel", cat="cuda_driver"),
                           kernel("k", 150, 50, 5)])
        self.assertExit(rep, 0)
        self.assertFigures(rep, ONE)
        self.assertReconciles(rep)

    def test_kernel_before_its_launch(self):
        rep = self.report([op("aten::linear", 90, 40), launch(100, 10, 5), kernel("k", 95, 50, 5)])
        self.assertExit(rep, 0)
        self.assertFigures(rep, ONE)
        self.assertEqual(rep.direct("aten::linear"), 50)
        self.assertEqual(rep.counted("kernel_before_launch"), 1, str(rep.quality()))

    def test_launch_on_another_thread_than_the_operation(self):
        rep = self.report([op("aten::linear", 100, 40), launch(110, 5, 5, tid=99),
                           kernel("k", 150, 50, 5)])
        self.assertExit(rep, 0)
        self.assertEqual(rep.direct("aten::linear"), 0)
        self.assertEqual(rep.direct("cudaLaunchKernel"), 50)

    def test_execute_is_passed_over(self):
        rep = self.report([op("aten::linear", 100, 40), op("execute", 105, 30), launch(110, 5, 5),
                           kernel("k", 150, 50, 5)])
        self.assertEqual([rep.direct("aten::linear"), rep.direct("execute")], [50, 0])

    def test_python_functions_are_passed_over(self):
        rep = self.report([op("aten::linear", 100, 40),
                           op("torch/nn.py(1): f", 105, 30, cat="python_function"),
                           launch(110, 5, 5), kernel("k", 150, 50, 5)])
        self.assertEqual(rep.direct("aten::linear"), 50)

    def test_nested_operations(self):
        rep = self.report([
            op("aten::outer", 100, 100), op("aten::inner", 110, 30), launch(112, 5, 1),
            launch(150, 5, 2), kernel("a", 300, 20, 1), kernel("b", 310, 40, 2)])
        ops = rep.ops()
        # inner owns [300,320), outer [310,350); the union below outer is 50.
        self.assertEqual(ops["aten::inner"], (1, 20, 20))
        self.assertEqual(ops["aten::outer"], (1, 40, 50))
        self.assertReconciles(rep)
        self.assertEqual(rep.reconciliation()["overlap"], 10000)

    def test_overrunning_child_keeps_its_kernels(self):
        rep = self.report([op("aten::outer", 100, 50), op("aten::inner", 120, 50),
                           launch(130, 5, 1), kernel("a", 300, 20, 1)])
        self.assertExit(rep, 0)
        self.assertEqual(rep.direct("aten::inner"), 20)
        self.assertEqual(rep.counted("overrun_parent"), 1, str(rep.quality()))

    def test_same_ids_in_two_processes(self):
        """Two processes in one file use the same correlation: each kernel goes with a launch of
        its own device's process where that can be told; no kernel is counted twice."""
        events = []
        for pid, device in ((31, 0), (41, 1)):
            events += [op(f"aten::p{pid}", 100, 40, pid=pid, tid=pid),
                       launch(110, 5, 5, pid=pid, tid=pid),
                       kernel("k", 150 + device, 50, 5, device=device)]
        rep = self.report(events)
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"busy": 51, "total": 51})
        self.assertReconciles(rep)
        self.assertEqual(rep.kernel_count(), 2)


class Tracks(Odd):
    def test_same_stream_number_on_two_devices(self):
        events = [kernel("a", 100, 50, 1, device=0), kernel("b", 160, 10, 2, device=0),
                  kernel("c", 120, 50, 3, device=1), kernel("d", 180, 10, 4, device=1),
                  kernel("e", 200, 20, 5, device=1)]
        rep = self.report(events)
        self.assertExit(rep, 0)
        # Together [100,170) [180,190) [200,220); device 0: 50 + 10 of 70; device 1: 80 of 100.
        self.assertFigures(rep, {"total": 120, "busy": 100, "idle": 20})
        self.assertFigures(rep, {"total": 70, "busy": 60, "idle": 10}, device=0)
        self.assertFigures(rep, {"total": 100, "busy": 80, "idle": 20}, device=1)
        self.assertEqual({(r["device"], r["stream"], r["kernels"]) for r in rep.table("streams")},
                         {("0", "7", "2"), ("1", "7", "3")})
        one = self.report(events, "--device", "1")
        self.assertFigures(one, {"total": 100, "busy": 80, "idle": 20})

    def test_device_only_in_args(self):
        rep = self.report([{**kernel("a", 100, 50, 1, device=3), "pid": 4711},
                           {**kernel("b", 160, 10, 2, device=3), "pid": "GPU"}])
        self.assertEqual(rep.streams(), {("3", "7")})

    def test_device_and_stream_from_pid_and_tid(self):
        rep = self.report([{k: v for k, v in kernel("a", 100, 50, device=2, stream=5).items()
                            if k != "args"}])
        self.assertEqual(rep.streams(), {("2", "5")})
        self.assertFigures(rep, ONE)

    def test_stream_null(self):
        e = kernel("a", 100, 50, 1)
        e["args"]["stream"] = None
        rep = self.report([e])
        self.assertExit(rep, 0)
        self.assertFigures(rep, ONE)
        self.assertEqual(len(rep.table("streams")), 1)

    def test_stream_ids_of_64_bits_and_text(self):
        ids = [94734093647888, 94738388615184, 2**64 - 1, 2**63, "7", "default", 0]
        rep = self.report([kernel(f"k{i}", 100 + 10 * i, 10, i + 1, stream=s)
                           for i, s in enumerate(ids)])
        self.assertExit(rep, 0)
        self.assertEqual({s for _, s in rep.streams()}, {str(s) for s in ids})

    def test_many_streams(self):
        rep = self.report([kernel("k", 100 + i, 1, i + 1, stream=i) for i in range(1000)])
        self.assertEqual(len(rep.streams()), 1000)
        self.assertFigures(rep, {"busy": 1000, "total": 1000})

    def test_text_tids_of_2021(self):
        rep = self.report([{**kernel("k", 100, 50, 1, stream=7), "tid": "stream 7 "}])
        self.assertEqual(rep.streams(), {("0", "7")})

    def test_stream_in_tid_text_only(self):
        e = {k: v for k, v in kernel("k", 100, 50).items() if k != "args"}
        rep = self.report([{**e, "tid": "stream 20"}])
        self.assertEqual({s for _, s in rep.streams()} & {"20", "stream 20"},
                         {s for _, s in rep.streams()})

    def test_text_pids(self):
        events = [{**e, "pid": "python 4242", "tid": "MainThread"} if e["cat"] in (
            "cpu_op", "cuda_runtime") else e for e in base_events()]
        rep = self.complete(events)
        self.assertEqual(rep.direct("aten::linear"), 100)

    def test_events_without_pid_tid_or_name(self):
        bare = {"ph": "X", "cat": "kernel", "ts": 400, "dur": 30}
        rep = self.report([*base_events()[:-1], bare])
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.kernel_count(), 3)
        self.assertEqual(sum(int(r["kernels"]) for r in rep.table("streams")), 3,
                         "a kernel without a stream has a row, too")

    def test_non_busy_rows_on_gpu_tracks(self):
        rows = [("cuda_sync", "Stream Sync"), ("cuda_event", "cudaEventRecord"),
                ("overhead", "Buffer Flush"), ("gpu_user_annotation", "step"), ("Trace", "t"),
                ("cuda_profiler_range", "r"), ("", "no category"), ("kernels", "near miss")]
        rep = self.report(base_events() + [event("X", c, n, 0, 7, 10, 5000, {"stream": 7})
                                           for c, n in rows])
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.kernel_count(), 3)

    def test_other_phases_of_category_kernel(self):
        rows = [{**kernel("odd", 10, 5000, 1), "ph": ph} for ph in
                ("i", "I", "C", "M", "s", "t", "f", "b", "e", "n", "N", "O", "D", "P", "R", "c", "",
                 "Z", "XX", None, 7)]
        rows.append({k: v for k, v in kernel("odd", 10, 5000, 1).items() if k != "ph"})
        rep = self.report(base_events() + rows)
        self.assertExit(rep, 0)
        self.assertFigures(rep, BASE)
        self.assertEqual(rep.kernel_count(), 3)

    def test_category_spellings_of_2021(self):
        old = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
               "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
        rep = self.complete([{**e, "cat": old[e["cat"]]} for e in base_events()])
        self.assertEqual(rep.direct("aten::linear"), 100)

    def test_shuffled_events(self):
        events = base_events()
        rep = self.complete(events[::-1])
        self.assertEqual(rep.direct("aten::linear"), 100)
        again = self.complete(events[1::2] + events[::2])
        self.assertEqual(rep.table("ops_summary"), again.table("ops_summary"))

    def test_unknown_metadata_events(self):
        rep = self.report(base_events() + [event("M", "", "process_uptime", 1, 1, 0, 0, {"x": 1}),
                                           {"ph": "M", "name": "no args"}, {"ph": "M"}])
        self.assertClean(rep)
        self.assertFigures(rep, BASE)


class Kernels(Odd):
    """What counts as communication and copies, and how overlaps add up."""

    def classes(self, name, cat="kernel"):
        rep = self.report([kernel(name, 100, 50, 1, cat=cat), kernel("gemm", 200, 20, 2)])
        f = rep.figures()
        return "comm" if f["comm"] == 50 else "copy" if f["memcpy"] == 50 else "compute"

    def test_communication_names(self):
        for name in (NCCL, "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)",
                     "rcclGenericKernel",
                     "void mscclpp::allreduce_kernel<half>", "ncclDevKernel_Generic_4(args)",
                     "void vllm::cross_device_reduce_1stage<half, 8>(vllm::RankData*)",
                     "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot<4>",
                     "void deep_ep::intranode::combine<8>(int4*)",
                     "nvshmemi_barrier_on_stream_kernel",
                     "void (anonymous namespace)::one_shot_all_reduce_kernel<float>"):
            with self.subTest(name):
                self.assertEqual(self.classes(name), "comm")

    def test_compute_names(self):
        for name in ("void at::native::reduce_kernel<512, 1>", "__amd_rocclr_fillBufferAligned.kd",
                     "dispatch_sorted_rows", "elementwise_add",
                     "void splitKreduce_kernel<32, 16, int, float>"):
            with self.subTest(name):
                self.assertEqual(self.classes(name), "compute")

    def test_copy_names(self):
        for name in ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBufferRectAligned.kd",
                     "__amd_rocclr_copyBufferAligned", "MEMORY_COPY_HOST_TO_DEVICE",
                     "MEMORY_COPY_DEVICE_TO_DEVICE"):
            with self.subTest(name):
                self.assertEqual(self.classes(name), "copy")
        self.assertEqual(self.classes("Memcpy DtoD (Device -> Device)", "gpu_memcpy"), "copy")
        self.assertEqual(self.classes("nccl named copy", "gpu_memcpy"), "copy")
        self.assertEqual(self.classes("Memset (Device)", "gpu_memset"), "compute")

    def test_overlapping_streams_are_not_summed(self):
        rep = self.report([kernel("a", 100, 100, 1, stream=1), kernel("b", 150, 100, 2, stream=2),
                           kernel(NCCL, 180, 100, 3, stream=3), copy(190, 120, 4)])
        # compute [100,250), comm [180,280), copy [190,310)
        self.assertFigures(rep, {"total": 210, "busy": 210, "compute": 150, "comm": 100,
                                 "memcpy": 120, "exposed_comm": 30, "exposed_memcpy": 30,
                                 "idle": 0})
        self.assertEqual(rep.kernel_sum(), 300)

    def test_touching_intervals(self):
        rep = self.report([kernel("a", 100, 50, 1), kernel("b", 150, 50, 2),
                           kernel("c", 200, 1, 3)])
        self.assertFigures(rep, {"total": 101, "busy": 101, "idle": 0})

    def test_neighbours_that_overlap_are_no_overrun(self):
        rep = self.report([kernel("a", 100, 52, 1), kernel("b", 150, 52, 2),
                           kernel("c", 200, 50, 3)])
        self.assertFigures(rep, {"total": 150, "busy": 150, "idle": 0})
        self.assertEqual(rep.kernel_count(), 3)
        self.assertEqual(rep.counted("kernel_overrun"), 0)

    def test_overrun_is_counted_and_clipped_on_demand(self):
        events = [kernel("long", 100, 500, 1), kernel("x", 200, 50, 2), kernel("y", 300, 100, 3)]
        rep = self.report(events)
        self.assertExit(rep, 0)
        self.assertFigures(rep, {"total": 500, "busy": 500, "idle": 0})
        self.assertEqual(rep.counted("kernel_overrun"), 1, str(rep.quality()))
        clipped = self.report(events, "--clip-overruns")
        # long ends at 200: [100,200) [200,250) [300,400)
        self.assertFigures(clipped, {"total": 300, "busy": 250, "idle": 50})
        self.assertEqual(clipped.kernels()["long"][1], 100)

    def test_identical_kernels_are_one(self):
        rep = self.report([kernel("k", 100, 50, 1), kernel("k", 100, 50, 1)])
        self.assertEqual(rep.kernels()["k"][0], 1)
        self.assertEqual(rep.counted("repeated_gpu"), 1)
        self.assertFigures(rep, ONE)

    def test_kernels_of_two_launches_are_two(self):
        rep = self.report([kernel("k", 100, 50, 1), kernel("k", 100, 50, 2)])
        self.assertEqual(rep.kernels()["k"][0], 2)
        self.assertEqual(rep.counted("repeated_gpu"), 0)
        self.assertFigures(rep, ONE)

    def test_names_that_break_tables(self):
        names = ["=SUM(A1:A9)", "+1", "-1", "@cmd", "a,b;\"c\"\td\ne", "{{7*7}}${x}`|`", "<script>",
                 "\x1b[31mred", "tab\tname", " lead", "", "\u202eright", "'quoted'", "#REF!"]
        rep = self.report([kernel(n, 100 + 10 * i, 10, i + 1) for i, n in enumerate(names)],
                          xlsx=True)
        self.assertExit(rep, 0)
        self.assertEqual(len(rep.table("kernel_summary")), len(names))
        self.assertOutputsSane(rep)
        for r in rep.table("kernel_summary"):
            # A signed number is one in any reader; anything else after a sign is a formula.
            self.assertNotRegex(r["Kernel name"], r"^[=@\t\r]|^[-+](?![\d.]*$)", "a formula")

    @unittest.skipUnless(SHARED.is_dir(), "needs the given cases")
    def test_given_external_ids_without_calls(self):
        report = self.report(SHARED / "cases/found/kineto-08-external-id-no-runtime/trace.json")
        self.assertExit(report, 0)
        self.assertEqual(report.ops(), {"aten::mm": (3, 90, 90)})
        self.assertEqual(report.counted("unlinked_gpu"), 0)


if __name__ == "__main__":
    unittest.main()
