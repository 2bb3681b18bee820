"""The category of each kernel by its name: columns and tables that have it, the names that
tests/cli/kernel_categories.tsv lists and, collected before a look at the patterns,
kernel_categories_found.tsv, and data/kernel_categories.tsv itself, by a second, slow matcher.
`python3 tests/cli/test_kernel_categories.py coverage` prints the coverage alone.
"""
import collections
import pathlib
import re
import sys
import unittest
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, SHARED, Case, copy, kernel, launch, op

TRACES = SHARED / "traces"
# Traces whose kernels no operation launched, or one that no table knows.
BY_GRAPH = ("sglang_decode", "vllm_graph_execution", "xdit_flux", "mi210_gpu_only")


def rows_of(path, fields):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            row = line.split("\t")
            assert len(row) == fields, line
            yield row


# ---- a second matcher, by regular expressions

def words(text):
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    text = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", text)
    return [w.lower() for w in re.findall(r"[A-Za-z]+|[0-9]+", text)]


def mangled_function(name):
    rest = name[4:] if name.startswith("_ZTS") else name[2:]
    nested, parts = rest.startswith("N"), []
    rest = rest[1:] if nested else rest
    while True:
        rest = re.sub(r"^(St|[KL])+", "", rest) if nested else rest
        size = re.match(r"\d+", rest)
        if not size or not int(size[0]):
            return parts
        rest = rest[size.end():]
        parts.append(rest[:int(size[0])])
        rest = rest[int(size[0]):]
        if not nested:
            return parts


def function_words(name):
    if name.startswith("_Z") and mangled_function(name):
        return [w for part in mangled_function(name) for w in words(part)]
    name = name.replace("(anonymous namespace)", "\0")
    while True:
        inner = re.search(r"<[^<>]*>", name)
        first = name.find("(")
        if not inner or 0 <= first < inner.start() and "<" not in name[:first]:
            break
        name = name[:inner.start()] + "\1" * len(inner[0]) + name[inner.end():]
    name = re.split(r"\(| \[", name.replace("\1", ""))[0].rstrip("<")
    return words(re.sub(r"<.*", "", name.split(" ")[-1] if not name.endswith(" ") else ""))


def regex(pattern):
    return re.compile("".join(r"(\w+ )*" if p == "*" else p + " " for p in pattern.split()))


class Matcher:
    def __init__(self):
        self.rows = [(regex(function), function, inside, category) for function, inside, category, _
                     in rows_of(ROOT / "data/kernel_categories.tsv", 4)]

    def __call__(self, name):
        """Category and row."""
        text = "".join(w + " " for w in function_words(name))
        for i, (pattern, function, inside, category) in enumerate(self.rows):
            if not pattern.fullmatch(text):
                continue
            if inside.startswith("="):
                after = text.split(function.strip("* ") + " ", 1)[1].split()
                after = [w for w in after if not w.isdigit()]
                if not after or set(after) - set(inside[1:].split()):
                    continue
            elif inside != "-" and not regex(inside).fullmatch(
                    "".join(w + " " for w in words(name))):
                continue
            return category, i
        return "other", None


# ---- tests

class KernelCategories(Case):
    def categories(self, names):
        """By kernel_summary, of a trace with one kernel of each name."""
        rep = self.report([kernel(n, 10 * i, 1 + i % 7)
                                   for i, n in enumerate(names)])
        self.assertClean(rep)
        return rep, {r["Kernel name"]: r["Kernel category"] for r in rep.table("kernel_summary")}

    def listed(self):
        return [*rows_of(ROOT / "tests/cli/kernel_categories.tsv", 3),
                *((c, "", n) for c, n in
                  rows_of(ROOT / "tests/cli/kernel_categories_found.tsv", 2))]

    def test_names_have_their_category(self):
        listed = self.listed()
        rep, got = self.categories([name for _, _, name in listed])
        self.assertEqual({n: got.get(n) for c, _, n in listed if got.get(n) != c},
                         {n: c for c, _, n in listed if got.get(n) != c})
        self.assertGreaterEqual(len(listed), 700)
        self.assertGreaterEqual(sum(mark == "near" for _, mark, _ in listed), 50)

    def test_every_row_is_needed_by_a_name(self):
        """Each row decides a listed name; the slow matcher says which, and agrees."""
        matcher, decided = Matcher(), set()
        for category, _, name in self.listed():
            if category == "communication" or name.startswith("__amd_rocclr"):
                continue
            got, row = matcher(name)
            self.assertEqual(got, category, name)
            decided.add(row)
        self.assertEqual([r[1:] for i, r in enumerate(matcher.rows) if i not in decided], [])

    def test_a_name_in_other_places_does_not_count(self):
        """Template arguments and parameters decide nothing of a function that is known itself."""
        pairs = {
            "void at::native::vectorized_elementwise_kernel<4, ns::gemm_like<float>>(int)": "elementwise",
            "void vllm::rms_norm_kernel<attention_t, softmax_t>(sort_t*)": "norm",
            "void Unknown<at::native::FillFunctor<float> >(float*)": "other",
            "_ZN2ns7UnknownIN2at6native11FillFunctorEEEvv": "other",
            "[R3] void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)": "reduce",
            "std::enable_if<!(true), void>::type internal::gemvx::kernel<int>(int)": "GEMM",
            "attn_fwd [clone .kd]": "attention",
            "_ZNK2ns13sort_in_placeEv": "sort",
            "_Z12copy_forwardPf": "copy",
            "_Z99copy_forward": "copy",  # cut: shorter than it says
            "_ZN": "other", "_Z": "other", "<": "other", "((((": "other", " ": "other",
            "gemm" * 3: "other", "GEMM": "GEMM", "GemmKernel": "GEMM", "GEMMKernel": "GEMM",
            "x" * 70000 + "_gemm": "other",  # that far behind nothing is looked for
        }
        _, got = self.categories(pairs)
        self.assertEqual({n[:60]: got[n] for n in pairs}, {n[:60]: c for n, c in pairs.items()})

    def test_by_hand(self):
        """Sums of kernel_categories, and what no known operation launched, worked out by hand."""
        rep = self.report([
            op("aten::mm", 0, 20), launch(1, 2, 1), kernel("nvjet_tst_64x8", 100, 40, 1),
            op("my_lib::step", 30, 20), launch(31, 2, 2), kernel("flash_fwd_kernel", 150, 30, 2),
            launch(60, 2, 3, name="cudaGraphLaunch"), kernel("rms_norm_kernel", 200, 20, 3),
            kernel("Cijk_Alik_Bljk", 230, 10, 3), kernel("unheard_of", 250, 5),
            copy(300, 50)])
        self.assertEqual(
            [(r["kernel category"], int(r["kernels"]), Decimal(r["kernel time (ms)"]) * 1000,
              Decimal(r["without operation (ms)"]) * 1000) for r in rep.table("kernel_categories")],
            [("GEMM", 2, 50, 10), ("attention", 1, 30, 30), ("norm", 1, 20, 20), ("other", 1, 5, 5)])
        self.assertRegex(rep.out, r"GPU time by kernel category")

    def test_said_where_operations_say_little_only(self):
        rep = self.report([
            op("aten::mm", 0, 20), launch(1, 2, 1), kernel("nvjet_tst_64x8", 100, 40, 1),
            kernel("rms_norm_kernel", 200, 39)])
        self.assertNotIn("kernel category", rep.out)

    def test_communication_follows_the_timeline(self):
        """Whatever decides what communicates, the category is the same decision."""
        rep, got = self.categories(["ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "block_reduce",
                                    "void vllm::cross_device_reduce_1stage<float, 8>(int)"])
        self.assertEqual(list(got.values()).count("communication"), 2)
        (row,) = [r for r in rep.table("kernel_categories") if r["kernel category"] == "communication"]
        self.assertEqual(Decimal(row["kernel time (ms)"]) * 1000, rep.figures()["comm"])

    def test_coverage(self):
        """Of the kernels that no known operation launched 95 % of the time has a category."""
        if not TRACES.exists():
            self.skipTest("given material absent: traces (TRAWL_SHARED)")
        for name, whole, known, alone, alone_known in coverage(self):
            with self.subTest(name):
                if name in BY_GRAPH:
                    self.assertGreater(alone, 0)
                    self.assertGreaterEqual(alone_known, alone * Decimal("0.95"))
                self.assertGreaterEqual(known, whole * Decimal("0.95"))


def coverage(case):
    for directory in sorted(p for p in TRACES.iterdir() if p.is_dir()):
        rep = case.report((directory / "trace.json.gz").read_bytes(), name=f"{directory.name}.json.gz")
        sums = collections.Counter()
        for r in rep.table("kernel_categories"):
            for column, what in (("kernel time (ms)", "whole"), ("without operation (ms)", "alone")):
                sums[what] += Decimal(r[column])
                sums[what, "known"] += Decimal(r[column]) * (r["kernel category"] != "other")
        yield directory.name, sums["whole"], sums["whole", "known"], sums["alone"], sums["alone", "known"]


class Coverage(Case):
    def runTest(self):
        for name, whole, known, alone, alone_known in coverage(self):
            print(f"{name:24} {known / whole * 100:6.2f} % of {whole:10.3f} ms; without operation "
                  f"{alone_known / alone * 100 if alone else 100:6.2f} % of {alone:10.3f} ms")


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(KernelCategories)


if __name__ == "__main__":
    if sys.argv[1:] == ["coverage"]:
        unittest.TextTestRunner().run(Coverage())
    else:
        unittest.main()
