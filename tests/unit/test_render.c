#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "failing.h"
#include "json/writer.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"
#include "render/width.h"
#include "scratch.h"
#include "table/table.h"

static const struct trawl_column columns[] = {
	TW_TEXT("Kernel name", 0, "Name of the kernel.", .over_ranks = TRAWL_KEY),
	TW_INTEGER("Stream", 0, "Stream it ran on."),
	TW_DECIMAL("Kernel duration (µs)_sum", "µs", 3, 1, 0, "Sum.", .over_ranks = TRAWL_TIME),
	TW_PERCENT_2("Percentage (%)", 0, "Of the total."),
};

static const struct tw_table_spec spec = {
	.name = "kernel_summary",
	.meaning = "One row a kernel and stream.",
	.columns = columns,
	.column_count = 4,
};

static struct tw_str out;

static int setup(void **state)
{
	tw_str_init(&out, trawl_allocator_default());
	return 0;
}

static int teardown(void **state)
{
	tw_str_release(&out);
	return 0;
}

static void add(struct trawl_table *table, const char *name, int64_t stream, int64_t ns,
		double share)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, 0, name);
	if (stream >= 0)
		tw_table_set_integer(table, row, 1, stream);
	tw_table_set_integer(table, row, 2, ns);
	tw_table_set_real(table, row, 3, share);
}

static struct trawl_table *sample(const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_table_new(&spec, allocator);

	if (!table)
		return NULL;
	add(table, "gemm", 7, 98718, 32.135079444135194);
	add(table, "a,b;\"c\"\td\ne", -1, 350000, NAN);
	add(table, "=SUM(A1:A9)", 20, 0, 0.5);
	add(table, "\x1b[31mred|<b>", 7, -1, 1e-9);
	tw_table_add_note(table, "two streams");
	return table;
}

static void assert_out(const char *expected)
{
	assert_false(out.failed);
	tw_str_add(&out, "", 0);
	assert_string_equal(out.ptr, expected);
}

/* --- escapes ------------------------------------------------------------------------------ */

static const char *csv(const char *text)
{
	tw_str_clear(&out);
	tw_escape_csv(&out, text, strlen(text));
	tw_str_add(&out, "", 0);
	return out.ptr;
}

static void csv_quotes_only_when_needed(void **state)
{
	assert_string_equal(csv(""), "");
	assert_string_equal(csv("void foo<float>(int)"), "void foo<float>(int)");
	assert_string_equal(csv("a,b"), "\"a,b\"");
	assert_string_equal(csv("a\"b"), "\"a\"\"b\"");
	assert_string_equal(csv("a\nb"), "\"a\nb\"");
	assert_string_equal(csv("a\tb"), "a\tb");
	assert_string_equal(csv("a\r\nb"), "\"a\\x0d\nb\"");
	assert_string_equal(csv("[[1, 2], [3]]"), "\"[[1, 2], [3]]\"");
	assert_string_equal(csv(" lead and trail "), " lead and trail ");
	assert_string_equal(csv("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
	assert_string_equal(csv("\xC2\x9B"), "\\x9b");
	assert_string_equal(csv("a\xE2\x80\xAE"
				"b"),
			    "a\\u202eb");
	assert_string_equal(csv("\xF3\xA0\x81\x81"), "\\U000e0041");
	assert_string_equal(csv("caf\xE9!"), "caf\xEF\xBF\xBD!");
	assert_string_equal(csv("\xE6\xBC\xA2 \xC2\xB5s"), "\xE6\xBC\xA2 \xC2\xB5s");
}

static void csv_text_is_no_formula(void **state)
{
	assert_string_equal(csv("=SUM(A1:A9)"), "'=SUM(A1:A9)");
	assert_string_equal(csv("=1,2"), "\"'=1,2\"");
	assert_string_equal(csv("+cmd"), "'+cmd");
	assert_string_equal(csv("-cmd|' /C calc'!A0"), "'-cmd|' /C calc'!A0");
	assert_string_equal(csv("@SUM(1)"), "'@SUM(1)");
	assert_string_equal(csv("\t=1"), "'\t=1");
	assert_string_equal(csv("\n=1"), "\"'\n=1\"");
	assert_string_equal(csv("\r=1"), "\\x0d=1");
	assert_string_equal(csv("\xEF\xBC\x9D"
				"1"),
			    "'\xEF\xBC\x9D"
			    "1");
	/* Harmless: unchanged. */
	assert_string_equal(csv("-5"), "-5");
	assert_string_equal(csv("+1.25e-3"), "+1.25e-3");
	assert_string_equal(csv("-"), "-");
	assert_string_equal(csv("="), "=");
	assert_string_equal(csv("a=b"), "a=b");
	assert_string_equal(csv("'quoted'"), "'quoted'");
	/* Numbers that are none. */
	assert_string_equal(csv("-5+3"), "'-5+3");
	assert_string_equal(csv("-.5"), "'-.5");
	assert_string_equal(csv("-5."), "'-5.");
	assert_string_equal(csv("-1e"), "'-1e");
	assert_string_equal(csv("--1"), "'--1");
	/* Taking one apostrophe away always gives the original. */
	assert_string_equal(csv("'=1"), "''=1");
	assert_string_equal(csv("''-5"), "'''-5");
}

static void terminals_get_no_commands(void **state)
{
	const char *text = "\x1b]0;title\a\n\t\\ \xC2\x9B"
			   "31m\xE2\x81\xA6\xE2\x80\x8F";

	tw_escape_terminal(&out, text, strlen(text));
	assert_out("\\x1b]0;title\\x07\\n\\t\\ \\x9b31m\\u2066\\u200f");
}

static void markdown_shows_the_text_itself(void **state)
{
	const char *text = "a|b <b>&amp; *x* _y_ my_var__2 `c` [l](u) ~s~ $m$ \\n\nend";

	tw_escape_markdown(&out, text, strlen(text));
	assert_out("a\\|b &lt;b&gt;&amp;amp; \\*x\\* \\_y\\_ my_var__2 \\`c\\` [l\\](u) \\~s\\~ "
		   "\\$m\\$ \\\\n end");
}

static void a_long_run_of_underscores_is_linear(void **state)
{
	size_t len = 1 << 20;
	char *text = malloc(len);

	memset(text, '_', len);
	tw_escape_markdown(&out, text, len);
	assert_int_equal(out.len, 2 * len);
	free(text);
}

static void html_shows_the_text_itself(void **state)
{
	const char *text = "k<script>alert('1')</script>&amp;\"\x01";

	tw_escape_html(&out, text, strlen(text));
	assert_out("k&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&quot;\\x01");
}

static void workbooks_get_text_they_can_hold(void **state)
{
	const char *text = "=1 <a> _x0041_ _x41_ \x01\xFF\ttab";
	char *longer = malloc(200000);

	tw_escape_xlsx(&out, text, strlen(text));
	assert_out("=1 <a> _x005F_x0041_ _x41_ \\x01\xEF\xBF\xBD\ttab");
	memset(longer, 'k', 200000);
	tw_str_clear(&out);
	tw_escape_xlsx(&out, longer, TW_XLSX_TEXT_LIMIT);
	assert_int_equal(out.len, TW_XLSX_TEXT_LIMIT);
	tw_str_clear(&out);
	tw_escape_xlsx(&out, longer, 200000);
	assert_int_equal(out.len, TW_XLSX_TEXT_LIMIT - 1 + 3);
	assert_memory_equal(out.ptr + out.len - 4, "k\xE2\x80\xA6", 5);
	free(longer);
}

/* --- widths ------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
	return tw_text_width(text, strlen(text));
}

#define DOTS "\xE2\x80\xA6"

static const char *shortened(const char *text, size_t width)
{
	tw_str_clear(&out);
	tw_shorten(&out, text, strlen(text), width);
	tw_str_add(&out, "", 0);
	return out.ptr;
}

static void widths_and_shortening(void **state)
{
	assert_int_equal(width_of("abc"), 3);
	assert_int_equal(width_of("\xC2\xB5s"), 2);
	assert_int_equal(width_of("\xE6\xBC\xA2\xE5\xAD\x97"), 4);
	assert_int_equal(width_of("e\xCC\x81"), 1);
	assert_int_equal(width_of("\xF0\x9F\x98\x80"), 2);
	assert_string_equal(shortened("abcdef", 6), "abcdef");
	assert_string_equal(shortened("abcdefgh", 5), "ab\xE2\x80\xA6gh");
	assert_string_equal(shortened("abcdefgh", 4), "ab\xE2\x80\xA6h");
	assert_string_equal(shortened("abcdefgh", 1), "\xE2\x80\xA6");
	/* A kernel: without its parameters, then its namespaces, then the end of its arguments. */
	assert_string_equal(shortened("void a::b::fill<int>(int, f(x))", 31),
			    "void a::b::fill<int>(int, f(x))");
	assert_string_equal(shortened("void a::b::fill<int>(int, f(x))", 30), "a::b::fill<int>");
	assert_string_equal(shortened("void a::b::fill<int>(int, f(x))", 15), "a::b::fill<int>");
	assert_string_equal(shortened("void a::b::fill<int>(int, f(x))", 14), "fill<int>");
	assert_string_equal(shortened("void a::b::fill<int>(int, f(x))", 8), "fill<in" DOTS);
	assert_string_equal(shortened("void fill<a::b>(int)", 6), "fill<" DOTS);
	assert_string_equal(shortened("void (int)", 5), "(int)");
	assert_string_equal(shortened("void x)", 4), "x)");
	assert_string_equal(shortened("void a::(anonymous namespace)::fill<b::c>(int)", 12),
			    "fill<b::c>");
	assert_string_equal(shortened("void fill(a::b<int>, int) [clone]", 14),
			    "fill(a::b<int" DOTS);
	assert_string_equal(shortened("void a::b::", 4), "b::");
	/* A line of a file: without directories. */
	assert_string_equal(shortened("/srv/a/run.py(7): go", 19), DOTS "/a/run.py(7): go");
	assert_string_equal(shortened("/srv/a/run.py(7): go", 17), DOTS "/a/run.py(7): go");
	assert_string_equal(shortened("/srv/a/run.py(7): go", 16), DOTS "/run.py(7): go");
	assert_string_equal(shortened("/srv/a/run.py(7): go", 15), DOTS "/run.py(7): go");
	assert_string_equal(shortened("/srv/a/run.py(7): go", 14), "run.py(7): go");
	assert_string_equal(shortened("/srv/a/run.py(7): go", 12), "run.py" DOTS "): go");
	assert_string_equal(shortened("run(7): a/b", 7), "run" DOTS "a/b");
	assert_string_equal(shortened("aten::div/rest of it(x)", 13), "aten::" DOTS " it(x)");
	assert_string_equal(shortened("abcdefgh", 0), "");
	/* Wide characters are not cut in two, marks not separated. */
	assert_string_equal(shortened("\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2\xE5\xAD\x97", 6),
			    "\xE6\xBC\xA2\xE2\x80\xA6\xE5\xAD\x97");
	assert_string_equal(shortened("abce\xCC\x81", 3), "a\xE2\x80\xA6"
							  "e\xCC\x81");
	assert_string_equal(shortened("abcde\xCC\x81", 2), "a\xE2\x80\xA6");
}

static void units_are_named_once(void **state)
{
	static const struct {
		const char *header, *unit, *expected;
	} cases[] = {
		{ "time ms", "ms", "time ms" },
		{ "total_duration_us", "\xC2\xB5s", "total_duration_us" },
		{ "Kernel Time (\xC2\xB5s)", "\xC2\xB5s", "Kernel Time (\xC2\xB5s)" },
		{ "dur_sum", "\xC2\xB5s", "dur_sum (\xC2\xB5s)" },
		{ "bonus", "\xC2\xB5s", "bonus (\xC2\xB5s)" },
		{ "percent", "%", "percent" },
		{ "share", "%", "share (%)" },
		{ "items", "ms", "items (ms)" },
		{ "Count", "", "Count" },
		{ "Count", NULL, "Count" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_column column = { .header = cases[i].header, .unit = cases[i].unit };

		tw_str_clear(&out);
		tw_header_with_unit(&out, &column);
		assert_out(cases[i].expected);
	}
}

/* --- renderers ---------------------------------------------------------------------------- */

static void as_csv(void **state)
{
	struct trawl_table *table = sample(trawl_allocator_default());

	tw_render_csv(table, &out);
	assert_out("Kernel name,Stream,Kernel duration (µs)_sum,Percentage (%)\n"
		   "gemm,7,98.718,32.135079444135194\n"
		   "\"a,b;\"\"c\"\"\td\ne\",,350,\n"
		   "'=SUM(A1:A9),20,0,0.5\n"
		   "\\x1b[31mred|<b>,7,-0.001,1e-09\n");
	trawl_table_free(table);
}

/* An empty line would be no row for most readers. */
static void a_single_empty_cell_is_quoted(void **state)
{
	struct trawl_table *table =
		tw_table_new_columns(&spec, columns, 1, trawl_allocator_default());

	tw_table_add_row(table);
	tw_table_set_str(table, tw_table_add_row(table), 0, "");
	tw_render_csv(table, &out);
	assert_out("Kernel name\n\"\"\n\"\"\n");
	trawl_table_free(table);
}

static void as_markdown(void **state)
{
	struct trawl_table *table = sample(trawl_allocator_default());

	tw_render_markdown(table, &out);
	assert_out("| Kernel name | Stream | Kernel duration (µs)\\_sum | Percentage (%) |\n"
		   "| --- | ---: | ---: | ---: |\n"
		   "| gemm | 7 | 98.7 | 32.14 |\n"
		   "| a,b;\"c\" d e |  | 350.0 |  |\n"
		   "| =SUM(A1:A9) | 20 | 0.0 | 0.50 |\n"
		   "| \\x1b[31mred\\|&lt;b&gt; | 7 | 0.0 | 0.00 |\n"
		   "\n- two streams\n");
	trawl_table_free(table);
}

static void as_text_without_a_limit(void **state)
{
	struct trawl_table *table = sample(trawl_allocator_default());

	tw_render_text(table, &out, 0, 0);
	assert_out("Kernel name      Stream  Kernel duration (µs)_sum  Percentage (%)\n"
		   "---------------  ------  ------------------------  --------------\n"
		   "gemm                  7                      98.7           32.14\n"
		   "a,b;\"c\"\\td\\ne         -                     350.0               -\n"
		   "=SUM(A1:A9)          20                       0.0            0.50\n"
		   "\\x1b[31mred|<b>       7                       0.0            0.00\n"
		   "note: two streams\n");
	trawl_table_free(table);
}

static void as_text_in_little_room(void **state)
{
	struct trawl_table *table = sample(trawl_allocator_default());

	add(table, "void cutlass::Kernel2<cutlass_80_tensorop_bf16>(Params)", 7, 5, 1);
	tw_render_text(table, &out, 60, 3);
	assert_out("                         Kernel\n"
		   "                       duration  Percentage\n"
		   "Kernel name    Stream  (µs)_sum         (%)\n"
		   "-------------  ------  --------  ----------\n"
		   "gemm                7      98.7       32.14\n"
		   "a,b;\"c\"\\td\\ne       -     350.0           -\n"
		   "=SUM(A1:A9)        20       0.0        0.50\n"
		   "+2 rows: csv has all\n"
		   "note: two streams\n");
	tw_str_clear(&out);
	/* The name keeps 28 cells, "Stream" 6 and "duration" 8. */
	tw_render_text(table, &out, 46, 0);
	assert_non_null(strstr(out.ptr, "\nKernel2<cutlass_80_tensorop" DOTS " "));
	assert_non_null(strstr(out.ptr, "+1 column: csv has all\n"));
	tw_str_clear(&out);
	tw_render_text(table, &out, 45, 0);
	assert_non_null(strstr(out.ptr, "+2 columns: csv has all\n"));
	trawl_table_free(table);
}

/* No line is wider than asked for, at any width; every row is there. */
static void text_fits_any_width(void **state)
{
	struct trawl_table *table = sample(trawl_allocator_default());
	unsigned width;

	add(table,
	    "\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2\xE5\xAD\x97\xE6\xBC\xA2\xE5\xAD\x97 kernel "
	    "with a name that is long enough to be cut",
	    7, 5, 0.5);
	for (width = 24; width < 160; width++) {
		size_t lines = 0;
		char *line;

		tw_str_clear(&out);
		tw_render_text(table, &out, width, 0);
		for (line = out.ptr; *line; line = strchr(line, '\n') + 1, lines++)
			assert_in_range(tw_text_width(line, strcspn(line, "\n")), 0, width);
		assert_true(lines >= 8);
	}
	trawl_table_free(table);
}

static void empty_tables_say_so(void **state)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());

	tw_render_text(table, &out, 80, 0);
	assert_non_null(strstr(out.ptr, "(no rows)\n"));
	tw_str_clear(&out);
	tw_render_csv(table, &out);
	assert_out("Kernel name,Stream,Kernel duration (µs)_sum,Percentage (%)\n");
	trawl_table_free(table);
	table = tw_table_new_columns(&spec, NULL, 0, trawl_allocator_default());
	tw_str_clear(&out);
	tw_render_text(table, &out, 80, 0);
	assert_out("(no rows)\n");
	trawl_table_free(table);
}

static void as_json(void **state)
{
	const struct trawl_table *table = sample(trawl_allocator_default());

	tw_render_json(&table, 1, "report", &out);
	assert_out("{\n"
		   "  \"schema\": \"trawl.report/1\",\n"
		   "  \"tables\": [\n"
		   "    {\n"
		   "      \"name\": \"kernel_summary\",\n"
		   "      \"meaning\": \"One row a kernel and stream.\",\n"
		   "      \"columns\": [\n"
		   "        {\"id\": \"kernel_name\", \"header\": \"Kernel name\", \"unit\": \"\", "
		   "\"type\": \"text\", \"meaning\": \"Name of the kernel.\"},\n"
		   "        {\"id\": \"stream\", \"header\": \"Stream\", \"unit\": \"\", "
		   "\"type\": \"integer\", \"meaning\": \"Stream it ran on.\"},\n"
		   "        {\"id\": \"kernel_duration_us_sum\", "
		   "\"header\": \"Kernel duration (µs)_sum\", \"unit\": \"µs\", "
		   "\"type\": \"decimal\", \"meaning\": \"Sum.\"},\n"
		   "        {\"id\": \"percentage\", \"header\": \"Percentage (%)\", "
		   "\"unit\": \"%\", \"type\": \"real\", \"meaning\": \"Of the total.\"}\n"
		   "      ],\n"
		   "      \"rows\": [\n"
		   "        [\"gemm\", 7, 98.718, 32.135079444135194],\n"
		   "        [\"a,b;\\\"c\\\"\\td\\ne\", null, 350, null],\n"
		   "        [\"=SUM(A1:A9)\", 20, 0, 0.5],\n"
		   "        [\"\\u001b[31mred|<b>\", 7, -0.001, 1e-09]\n"
		   "      ],\n"
		   "      \"notes\": [\n"
		   "        \"two streams\"\n"
		   "      ]\n"
		   "    }\n"
		   "  ]\n"
		   "}\n");
	trawl_table_free((struct trawl_table *)table);
}

static void as_json_lines(void **state)
{
	const struct trawl_table *tables[] = { sample(trawl_allocator_default()), NULL };

	tw_render_jsonl(tables, 1, &out);
	assert_out("{\"kernel_name\": \"gemm\", \"stream\": 7, \"kernel_duration_us_sum\": 98.718, "
		   "\"percentage\": 32.135079444135194}\n"
		   "{\"kernel_name\": \"a,b;\\\"c\\\"\\td\\ne\", \"stream\": null, "
		   "\"kernel_duration_us_sum\": 350, \"percentage\": null}\n"
		   "{\"kernel_name\": \"=SUM(A1:A9)\", \"stream\": 20, "
		   "\"kernel_duration_us_sum\": 0, \"percentage\": 0.5}\n"
		   "{\"kernel_name\": \"\\u001b[31mred|<b>\", \"stream\": 7, "
		   "\"kernel_duration_us_sum\": -0.001, \"percentage\": 1e-09}\n");
	/* Of two tables each line has the name of its own. */
	tw_str_clear(&out);
	tables[1] = tables[0];
	tw_render_jsonl(tables, 2, &out);
	assert_ptr_equal(strstr(out.ptr, "{\"table\": \"kernel_summary\", \"kernel_name\": "),
			 out.ptr);
	trawl_table_free((struct trawl_table *)tables[0]);
}

/* All of a column are text where one of them is beyond 2^53, or has more than 15 digits. */
static void numbers_beyond_doubles_are_text(void **state)
{
	static const struct trawl_column numbers[] = { TW_INTEGER("a", 0, "x"), TW_US("b", 0, "x"),
						       TW_REAL("c", "", 0, 0, "x") };
	static const struct {
		int64_t a, b;
		const char *out;
	} cases[] = {
		{ 9007199254740992, 999999999999999,
		  "{\"a\": 9007199254740992, \"b\": 999999999999.999, \"c\": 0.5}\n"
		  "{\"a\": 1, \"b\": 0.001, \"c\": null}\n" },
		{ 9007199254740993, 1000000000000000,
		  "{\"a\": \"9007199254740993\", \"b\": \"1000000000000\", \"c\": 0.5}\n"
		  "{\"a\": \"1\", \"b\": \"0.001\", \"c\": null}\n" },
		{ -9007199254740993, -1000000000000001,
		  "{\"a\": \"-9007199254740993\", \"b\": \"-1000000000000.001\", \"c\": 0.5}\n"
		  "{\"a\": \"1\", \"b\": \"0.001\", \"c\": null}\n" },
		{ -9007199254740992, -999999999999999,
		  "{\"a\": -9007199254740992, \"b\": -999999999999.999, \"c\": 0.5}\n"
		  "{\"a\": 1, \"b\": 0.001, \"c\": null}\n" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_table *table =
			tw_table_new_columns(&spec, numbers, 3, trawl_allocator_default());
		const struct trawl_table *const tables[] = { table };

		tw_table_add_row(table);
		tw_table_add_row(table);
		tw_table_set_integer(table, 0, 0, cases[i].a);
		tw_table_set_integer(table, 0, 1, cases[i].b);
		tw_table_set_real(table, 0, 2, 0.5);
		tw_table_set_integer(table, 1, 0, 1);
		tw_table_set_integer(table, 1, 1, 1);
		tw_str_clear(&out);
		tw_render(tables, 1, TW_FORMAT_JSONL, "x", 0, &out);
		assert_out(cases[i].out);
		trawl_table_free(table);
	}
}

static void wrapped_at_blanks(void **state)
{
	static const char text[] = "one two three four five six seven";

	tw_add_wrapped(&out, text, 0, 2);
	assert_out("one two three four five six seven\n");
	/* 30 cells less the indent: just as long as "... five six" with a blank behind it. */
	tw_str_clear(&out);
	tw_add_wrapped(&out, text, 30, 2);
	assert_out("one two three four five six\n  seven\n");
	tw_str_clear(&out);
	tw_add_wrapped(&out, text, 35, 2);
	assert_out("one two three four five six seven\n");
	tw_str_clear(&out);
	tw_add_wrapped(&out, text, 34, 2);
	assert_out("one two three four five six\n  seven\n");
	/* Never less than 20 cells; a word that is longer has a line of its own. */
	tw_str_clear(&out);
	tw_add_wrapped(&out, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 5, 2);
	assert_out("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  b\n");
	tw_str_clear(&out);
	tw_add_wrapped(&out, "a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5, 2);
	assert_out("a\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
	tw_str_clear(&out);
	tw_add_wrapped(&out, "aaaaaaaaaaaaaaaaaaaa b", 5, 1);
	assert_out("aaaaaaaaaaaaaaaaaaaa\n b\n");
}

static void ids_are_unique_and_stable(void **state)
{
	static const struct trawl_column odd[] = {
		{ .header = "TB/s_mean" },  { .header = "Mean (%)" }, { .header = "mean" },
		{ .header = "MEAN" },	    { .header = "%" },	      { .header = "param: B" },
		{ .header = "FLOPS/Byte" }, { .header = "/x/" },
	};
	static const char *const ids[] = { "tb_per_s_mean", "mean",    "mean_2",	 "mean_3",
					   "column_5",	    "param_b", "flops_per_byte", "x" };
	const struct trawl_table *table =
		tw_table_new_columns(&spec, odd, 8, trawl_allocator_default());
	char text[64];
	size_t i;

	tw_render_json(&table, 1, "x", &out);
	for (i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "{\"id\": \"%s\",", ids[i]);
		if (!strstr(out.ptr, text))
			fail_msg("%s is not in %s", text, out.ptr);
	}
	trawl_table_free((struct trawl_table *)table);
}

static void json_writer(void **state)
{
	struct tw_json json;

	tw_json_init(&json, &out);
	tw_json_object(&json, TW_JSON_INLINE);
	tw_json_key(&json, "a\n\"");
	tw_json_array(&json, TW_JSON_LINES); /* inline all the same */
	tw_json_real(&json, NAN);
	tw_json_real(&json, -INFINITY);
	tw_json_real(&json, 0.1);
	tw_json_integer(&json, INT64_MIN);
	tw_json_decimal(&json, 1700000000123456789, 3);
	tw_json_bool(&json, true);
	tw_json_cstr(&json, NULL);
	tw_json_string(&json, "\xFF\\\x7F\xE2\x80\xA8\xF3\xA0\x80\xA0/\0", 12);
	tw_json_end(&json);
	tw_json_key(&json, "e");
	tw_json_object(&json, TW_JSON_LINES);
	tw_json_end(&json);
	tw_json_end(&json);
	tw_json_finish(&json);
	assert_out("{\"a\\n\\\"\": [null, null, 0.1, -9223372036854775808, 1700000000123456.789, "
		   "true, null, \"\xEF\xBF\xBD\\\\\\u007f\\u2028\\udb40\\udc20/\\u0000\"], "
		   "\"e\": {}}\n");
}

static void several_tables_have_headings(void **state)
{
	struct trawl_table *table =
		tw_table_new_columns(&spec, columns, 1, trawl_allocator_default());
	const struct trawl_table *both[] = { table, table };

	tw_table_set_str(table, tw_table_add_row(table), 0, "x");
	tw_render(both, 2, TW_FORMAT_TABLE, "r", 80, &out);
	assert_out("kernel_summary: One row a kernel and stream.\nKernel name\n-----------\nx\n\n"
		   "kernel_summary: One row a kernel and stream.\nKernel name\n-----------\nx\n");
	tw_str_clear(&out);
	tw_render(both, 2, TW_FORMAT_CSV, "r", 80, &out);
	assert_out("# kernel_summary\nKernel name\nx\n\n# kernel_summary\nKernel name\nx\n");
	tw_str_clear(&out);
	tw_render(both, 1, TW_FORMAT_CSV, "r", 80, &out);
	assert_out("Kernel name\nx\n");
	tw_str_clear(&out);
	tw_render(both, 1, TW_FORMAT_MARKDOWN, "r", 80, &out);
	assert_out("### kernel_summary\n\nOne row a kernel and stream.\n\n"
		   "| Kernel name |\n| --- |\n| x |\n");
	trawl_table_free(table);
}

/* --- directories of CSV ------------------------------------------------------------------- */

static const struct tw_table_spec other_spec = {
	.name = "other",
	.meaning = "",
	.columns = columns,
	.column_count = 4,
};

static void a_directory_of_csv(void **state)
{
	struct trawl_table *tables[2] = { sample(trawl_allocator_default()),
					  tw_table_new(&other_spec, trawl_allocator_default()) };
	const struct trawl_table *const *borrowed = (const struct trawl_table *const *)tables;
	struct scratch scratch;
	struct trawl_error err;
	char *text;
	int i;

	scratch_make(&scratch);
	/* Enough to be written in several pieces. */
	for (i = 0; i < 20000; i++)
		add(tables[1], "a name of some length", i, i * 1001, i / 7.0);
	assert_int_equal(tw_render_csv_directory(borrowed, 2, scratch_path(&scratch, "r/csvs"),
						 trawl_allocator_default(), &err),
			 0);
	assert_int_equal(scratch_count(&scratch, "r/csvs"), 2);
	for (i = 0; i < 2; i++) {
		tw_str_clear(&out);
		tw_render_csv(tables[i], &out);
		text = scratch_read(scratch_path(&scratch, i ? "r/csvs/other.csv" :
							       "r/csvs/kernel_summary.csv"),
				    NULL);
		assert_string_equal(text, out.ptr);
		free(text);
	}
	/* One place is taken by a directory: none of the files changes. */
	mkdir(scratch_path(&scratch, "s"), 0777);
	mkdir(scratch_path(&scratch, "s/other.csv"), 0777);
	scratch_write(&scratch, "s/kernel_summary.csv", "old");
	assert_int_equal(tw_render_csv_directory(borrowed, 2, scratch_path(&scratch, "s"),
						 trawl_allocator_default(), &err),
			 TRAWL_EIO);
	assert_non_null(strstr(err.message, "s/other.csv': Is a directory"));
	assert_int_equal(scratch_count(&scratch, "s"), 2);
	text = scratch_read(scratch_path(&scratch, "s/kernel_summary.csv"), NULL);
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(tw_render_csv_directory(borrowed, 0, scratch_path(&scratch, "t"),
						 trawl_allocator_default(), &err),
			 0);
	scratch_remove(&scratch);
	trawl_table_free(tables[0]);
	trawl_table_free(tables[1]);
}

static void directories_survive_failed_allocations(void **state)
{
	const struct trawl_table *table = sample(trawl_allocator_default());
	struct scratch scratch;
	struct failing failing;
	struct trawl_error err;
	int status;
	long n;

	scratch_make(&scratch);
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = tw_render_csv_directory(&table, 1, scratch.dir, &failing.allocator, &err);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		assert_int_equal(scratch_count(&scratch, ""), failing.failed ? 0 : 1);
		if (!failing.failed)
			break;
	}
	scratch_remove(&scratch);
	trawl_table_free((struct trawl_table *)table);
}

/* Each renderer, with every allocation failing in turn: the flag is set, nothing leaks. */
static void failure_is_sticky(void **state)
{
	const struct trawl_table *table = sample(trawl_allocator_default());
	struct failing failing;
	struct tw_str str;
	int format;
	long n;

	for (format = TW_FORMAT_TABLE; format <= TW_FORMAT_MARKDOWN; format++) {
		for (n = 0;; n++) {
			failing_init(&failing, n);
			tw_str_init(&str, &failing.allocator);
			tw_render(&table, 1, (enum tw_format)format, "x", 40, &str);
			assert_int_equal(str.failed, failing.failed);
			tw_str_release(&str);
			assert_int_equal(failing.live_blocks, 0);
			assert_false(failing.wrong_size);
			if (!failing.failed)
				break;
		}
		assert_true(n >= 1);
	}
	trawl_table_free((struct trawl_table *)table);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(csv_quotes_only_when_needed),
		TEST(csv_text_is_no_formula),
		TEST(terminals_get_no_commands),
		TEST(markdown_shows_the_text_itself),
		TEST(a_long_run_of_underscores_is_linear),
		TEST(html_shows_the_text_itself),
		TEST(workbooks_get_text_they_can_hold),
		TEST(widths_and_shortening),
		TEST(units_are_named_once),
		TEST(as_csv),
		TEST(a_single_empty_cell_is_quoted),
		TEST(as_markdown),
		TEST(as_text_without_a_limit),
		TEST(as_text_in_little_room),
		TEST(text_fits_any_width),
		TEST(empty_tables_say_so),
		TEST(as_json),
		TEST(as_json_lines),
		TEST(numbers_beyond_doubles_are_text),
		TEST(wrapped_at_blanks),
		TEST(ids_are_unique_and_stable),
		TEST(json_writer),
		TEST(several_tables_have_headings),
		TEST(a_directory_of_csv),
		TEST(directories_survive_failed_allocations),
		TEST(failure_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
