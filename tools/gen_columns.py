#!/usr/bin/env python3
"""Writes what the documentation takes from the source: docs/COLUMNS.md, and in docs/CLI.md the
kinds of the quality record.

usage: tools/gen_columns.py [--check] [--build build/release]

The declarations are read by a small C program that is linked with BUILD/libtrawl.a, so what is
written is what the program has. --check writes nothing and names the pages that are not current.
Exit status 0 or 1.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from built import require_current

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = ROOT / "docs/COLUMNS.md"
CLI = ROOT / "docs/CLI.md"
BEGIN = "<!-- kinds: written by tools/gen_columns.py -->"
END = "<!-- end of kinds -->"
TYPES = ("text", "integer", "decimal", "real", "id")
# What a program of the library's archive needs besides.
LIBRARIES = re.search(r"^Libs.private: (.*)$", (ROOT / "cmake/trawl.pc.in").read_text(),
                      re.M)[1].split()

LISTER = r"""
#include "analysis/analysis.h"
#include "diagnose/diagnosis.h"
#include "study/compare/tables.h"
#include "model/model.h"
#include "job/sums/sums.h"
#include "job/tables/all_tables.h"
#include "job/tables/outliers.h"
#include "path/path_tables.h"

#include <stdio.h>

static void list_columns(const struct tw_table_spec *table)
{
	size_t c;

	for (c = 0; c < table->column_count; c++)
		printf("column\t%s\t%d\t%s\t%s\n", table->columns[c].header,
		       (int)table->columns[c].type, table->columns[c].unit,
		       table->columns[c].meaning);
}

/* What is summed over ranks; tables of families are all alike. */
static void list_sums(const struct tw_analysis *analysis)
{
	static bool families;
	const struct tw_table_spec *table = &analysis->table;
	size_t c;

	if (!tw_table_is_summed(table) || (analysis->family && families))
		return;
	families |= analysis->family != NULL;
	printf("sum\t%s\n", analysis->family ? "*" : table->name);
	for (c = 0; c < table->column_count; c++) {
		const struct trawl_column *column = &table->columns[c];

		if (column->over_ranks)
			printf("role\t%d\t%s\t%d\n", column->over_ranks, column->header, column->place);
		if (analysis->family && !c)
			printf("role\t%d\tparam: *\t0\n", TRAWL_KEY);
	}
}

static void list_ranks(void)
{
	static const struct tw_ranks_table *const tables[] = {
		&tw_ranks_table_ranks,
		&tw_ranks_table_rank_timeline,
		&tw_ranks_table_rank_outliers,
	};
	size_t i;

	printf("ranks\n");
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct tw_table_spec *table = &tables[i]->table;

		printf("table\t%s\t%s\t0\t%d\t%p\n", table->name, table->meaning,
		       table->keep_empty, (const void *)table->columns);
		list_columns(table);
	}
	for (i = 0; i < tw_analysis_count; i++)
		list_sums(tw_analyses[i]);
}

/* What "ranks" does not have already. */
static void list_collectives(void)
{
	size_t i;

	printf("collectives\n");
	for (i = 0; i < tw_ranks_table_count; i++) {
		const struct tw_table_spec *table = &tw_ranks_tables[i]->table;

		if (tw_ranks_tables[i] == &tw_ranks_table_ranks ||
		    tw_ranks_tables[i] == &tw_ranks_table_rank_timeline)
			continue;
		printf("table\t%s\t%s\t0\t%d\t%p\n", table->name, table->meaning,
		       table->keep_empty, (const void *)table->columns);
		list_columns(table);
	}
}

static void list_path(void)
{
	size_t i;

	printf("path\n");
	for (i = 0; i < TW_PATH_TABLES; i++) {
		const struct tw_table_spec *table = tw_path_tables[i];

		printf("table\t%s\t%s\t0\t%d\t%p\n", table->name, table->meaning,
		       table->keep_empty, (const void *)table->columns);
		list_columns(table);
	}
}

static void list_findings(void)
{
	const struct tw_table_spec *table = &tw_findings_spec;

	printf("findings\n");
	printf("table\t%s\t%s\t0\t%d\t%p\n", table->name, table->meaning, table->keep_empty,
	       (const void *)table->columns);
	list_columns(table);
}

static void list_compare(void)
{
	size_t i;

	printf("compare\n");
	for (i = 0; i < TW_COMPARE_TABLES; i++) {
		const struct tw_table_spec *table = &tw_compare_specs[i];

		printf("table\t%s\t%s\t0\t%d\t%p\n", table->name, table->meaning, 0,
		       (const void *)table->columns);
		list_columns(table);
	}
}

int main(void)
{
	size_t i;

	for (i = 0; i < tw_analysis_count; i++) {
		const struct tw_table_spec *table = &tw_analyses[i]->table;

		const char *const *parameter;

		printf("table\t%s\t%s\t%u\t%d\t%p", table->name, table->meaning,
		       tw_analyses[i]->needs, table->keep_empty, (const void *)table->columns);
		for (parameter = tw_sheet_parameters(
			     tw_analyses[i]->family ? tw_analyses[i]->family : "");
		     *parameter; parameter++)
			printf("\t%s", *parameter);
		printf("\n");
		list_columns(table);
	}
	list_ranks();
	list_collectives();
	list_path();
	list_findings();
	list_compare();
#define TW_DEFECT(id, severity, meaning) \
	printf("kind\t%s\t%s\t%s\n", #id, trawl_severity_name(TRAWL_##severity), meaning);
#include "store/quality.def"
	return 0;
}
"""

FINDINGS = """
# Findings

`trawl analyze` writes this table, also as `findings.json`, and prints it with `--format`. How gains are
worked out is in [METRICS.md](METRICS.md#findings)."""
HEAD = """# Tables and columns

This page is written by `tools/gen_columns.py` from the declarations in `src/analysis/`; do not edit
it. The same texts are in the sheet `about` of every workbook. Definitions:
[METRICS.md](METRICS.md).

Each table is a CSV file and a sheet of the workbook, in the order of this page. Empty tables are
not written unless noted below. Types:

| type | in CSV and JSON |
|---|---|
| text | UTF-8; lists are in Python notation |
| integer | digits |
| decimal | an exact decimal: whole nanoseconds, in the unit of the column |
| real | the shortest text that reads back to the same double |
| id | an identifier or a count: a number if possible, else text |

An empty cell (`null` in JSON) is an unknown value, never 0.
"""

OVER_RANKS = """
# Over the ranks of a job

`trawl report` of several ranks writes the three tables below, then those of one trace over the
ranks: one row per key, with the same names of tables and columns. The list shows keys and measured
columns; `*` means the tables of operator families.

| column | meaning |
|---|---|
| the keys | as for one trace, without devices, processes and threads, which differ between ranks: rows of a rank that differ only in these are merged, times, counts and shares added, means weighted by the number of calls |
| where ranks agree | the common value of all ranks with the row; empty if they differ |
| `ranks` | number of ranks with the row |
| `X_mean`, `X_median`, `X_min`, `X_max` | of the measured column X, over the ranks that have it. Exact numbers of a trace have an exact median, min and max |
| `X_total` | its sum over all ranks, if X is a time or a count |
| `slowest rank` | the rank with the max of the first measure (ties: the lowest rank); `rank of most` in `quality` |

Rows are sorted by the total of the first measure, largest first, then by key; those of
`gpu_timeline` and `quality` keep the order of the ranks.
"""

COLLECTIVES = """
# Collectives over ranks

`trawl collectives` writes `ranks` and `rank_timeline` as above, and these. In `nccl_implicit_sync`
and `nccl_all2allv` columns of each rank are before `node_span`: `rank_R_ts`, `rank_R_dur` and
others, explained in the sheet `about`. For very many ranks they are omitted, with a note:
`nccl_long` has the same data.
"""

PATH = """
# Dependencies of a run

`trawl path` writes these tables, of one trace or of all ranks of a job.
"""

COMPARE = """
# Comparisons

`trawl compare` prints these tables with `--format csv`, `json` or `markdown` and puts them into its
workbook; the page shows the main columns. Tables by configuration exist if both sides have several
configurations. Of more than two sides all but `comparison_summary` have a first column `test`, the
label of the side that is compared with the baseline. After them the workbook has the sheets of two runs of several ranks
(`Summary_Dashboard`, `GPU_Summary_Cmp`, `GPU_ByRank_Cmp`, `NCCL_ImplicitSyncCmp`, `NCCL_LongCmp`)
or of two reports, which its sheet `about` explains.
"""

# Bits of enum tw_needs that a trace has or has not; what is made from it does not matter here.
NEEDS = {0: "", 1: "GPU events", 2: "host events", 3: "GPU events and host events"}
NEEDS_EXPORT, NEEDS_WHO = 8, 32


def declarations(build):
    """What the lister prints, a list of fields a line."""
    library = build / "libtrawl.a"
    require_current(build / "trawl")
    with tempfile.TemporaryDirectory(prefix="trawl-columns-") as place:
        source, program = pathlib.Path(place, "list.c"), pathlib.Path(place, "list")
        source.write_text(LISTER)
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11",
                        f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", source, "-o", program,
                        library, *LIBRARIES], check=True)
        text = subprocess.run([program], check=True, capture_output=True).stdout.decode()
    return [line.split("\t") for line in text.splitlines()]


def cell(text):
    return text.replace("\\", "\\\\").replace("|", "\\|") or " "


def sentence(text):
    return text[:1].upper() + text[1:] + "."


def columns_page(lines):
    """Tables of one declaration show its columns once, at the first of them."""
    out, names = [], [f[1] for f in lines if f[0] == "table"]
    first = {}
    show = True
    out.append(HEAD)
    out.append(" · ".join(f"[{n}](#{n.lower()})" for n in names) + "\n")
    for fields in lines:
        if fields[0] == "ranks":
            out.append(OVER_RANKS)
        elif fields[0] == "collectives":
            out.append(COLLECTIVES)
        elif fields[0] == "path":
            out.append(PATH)
        elif fields[0] == "findings":
            out.append(FINDINGS)
        elif fields[0] == "compare":
            out.append(COMPARE)
        elif fields[0] == "table":
            _, name, meaning, needs, always, columns, *parameters = fields
            parameters = "Parameters: " + ", ".join(f"`{p}`" for p in parameters) + "." if parameters else ""
            show = columns not in first
            shown_at = first.setdefault(columns, name)
            out.append(f"\n## {name}\n")
            if not show:
                out.append(f"{sentence(meaning)} Columns as of [{shown_at}](#{shown_at.lower()}). "
                           f"{parameters}".rstrip())
                continue
            said = [sentence(meaning)]
            if NEEDS[int(needs) & 3]:
                said.append(f"Made from traces with {NEEDS[int(needs) & 3]}.")
            if int(needs) & NEEDS_EXPORT:
                said.append("Made from exports of Nsight Systems.")
            if int(needs) & NEEDS_WHO:
                said.append("Made where Python functions (`with_stack=True`) or, in exports, NVTX ranges are recorded.")
            if int(always):
                said.append("Written even when it has no rows.")
            out.append(" ".join([*said, parameters]).rstrip() + "\n")
            out.append("| column | type | unit | meaning |\n|---|---|---|---|")
        elif fields[0] == "column" and show:
            _, header, kind, unit, meaning = fields
            out.append(f"| `{cell(header)}` | {TYPES[int(kind)]} | {cell(unit)} | "
                       f"{cell(meaning)} |")
    return "\n".join(out + sums(lines)) + "\n"


KEY, SAME, TIME, LEAD = 1, 2, 3, 4  # enum trawl_over_ranks


def sums(lines):
    """A row a table that is summed over ranks."""
    out = ["\n## What is summed\n", "| table | keys | where ranks agree | measured |\n|---|---|---|---|"]
    tables = []
    for kind, *fields in lines:
        if kind == "sum":
            tables.append((fields[0], []))
        elif kind == "role":
            tables[-1][1].append((int(fields[0]), int(fields[2]), f"`{cell(fields[1])}`"))
    for name, columns in tables:
        columns.sort(key=lambda c: (c[0] not in (TIME, LEAD), c[1]))
        parts = [[h for role, _, h in columns if role == KEY],
                 [h for role, _, h in columns if role == SAME] or [" "],
                 [h for role, _, h in columns if role not in (KEY, SAME)]]
        out.append(f"| `{name}` | " + " | ".join(map(", ".join, parts)) + " |")
    return out


def kinds(lines):
    order = ("lost", "defect", "repair", "note")
    rows = sorted((f[1:] for f in lines if f[0] == "kind"), key=lambda f: order.index(f[1]))
    return "\n".join(["| kind | class | meaning |", "|---|---|---|",
                      *(f"| `{k}` | {c} | {cell(m)} |" for k, c, m in rows)]) + "\n"


def with_kinds(page, text):
    """The page with the stretch between the marks replaced."""
    pattern = re.compile(re.escape(BEGIN) + r"\n.*?" + re.escape(END), re.S)
    if not pattern.search(page):
        sys.exit(f"gen_columns: {CLI} has no line '{BEGIN}' or '{END}'")
    return pattern.sub(lambda _: f"{BEGIN}\n{text}{END}", page)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = ap.parse_args()
    lines = declarations(options.build)
    pages = {COLUMNS: columns_page(lines), CLI: with_kinds(CLI.read_text(), kinds(lines))}
    stale = [p for p, text in pages.items() if not p.exists() or p.read_text() != text]
    for page in stale:
        if options.check:
            print(f"{page.relative_to(ROOT)} is not current: run tools/gen_columns.py")
        else:
            page.write_text(pages[page])
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
