/*
 * The page that compares: what is in it, what hostile texts become, pictures that are not there.
 * With TRAWL_COMPARE_PAGE set it writes a page there, for tests with a browser, with the pictures
 * first.png, second.png and third.svg of the directory TRAWL_COMPARE_PICTURES.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "data/tables.h"
#include "failing.h"
#include "render/base64.h"
#include "render/pages/compare_page.h"
#include "scratch.h"
#include "table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE \
	"</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' &amp; javascript:x"
#define LONG_NAME                                                                              \
	"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_" \
	"align8, <script>alert(3)</script>>(cutlass_80_tensorop_bf16_s16816gemm::Params)"

static const struct trawl_column columns[] = {
	TW_TEXT("name", 40, "of the \"kernel\""),
	TW_DECIMAL("before", "us", 3, 1, 10, "its time on the first side"),
	TW_DECIMAL("after", "us", 3, 1, 10, "its time on the second side"),
	TW_PERCENT_1("change", 10, "of the first"),
	TW_INTEGER("calls", 6, "how often"),
	TW_TEXT("verdict", 8, "better, worse or same"),
	TW_TEXT("why", 40, "what it follows from"),
};

static const struct tw_table_spec spec =
	TW_SPEC("kernels", "kernels of both sides & what changed", columns, .keep_empty = true);

static void add_row(struct trawl_table *t, const char *name, int64_t before, int64_t after,
		    int64_t calls, const char *verdict)
{
	size_t row = tw_table_add_row(t);

	tw_table_set_str(t, row, 0, name);
	if (before)
		tw_table_set_integer(t, row, 1, before);
	if (after)
		tw_table_set_integer(t, row, 2, after);
	if (before && after)
		tw_table_set_real(t, row, 3, (double)(after - before) * 100 / (double)before);
	tw_table_set_integer(t, row, 4, calls);
	tw_table_set_str(t, row, 5, verdict);
	tw_table_set_str(t, row, 6, "the spread of the ranks is 2 %");
}

/* `more` rows behind those that are looked at. */
static struct trawl_table *make_table(size_t more, const struct trawl_allocator *allocator)
{
	struct trawl_table *t = tw_table_new(&spec, allocator);
	char name[40];
	size_t i;

	if (!t)
		return NULL;
	add_row(t, "gemm 10", 1000, 900, 5, "better");
	add_row(t, "gemm 9", 20000, 30500, 12, "worse");
	add_row(t, HOSTILE, 3000, 3000, 7, "same");
	add_row(t, "only on one side", 0, 123456, 1, "new");
	add_row(t, LONG_NAME, 100500, 100500, 100, "same");
	for (i = 0; i < more; i++) {
		snprintf(name, sizeof(name), "kernel %zu", i);
		add_row(t, name, (int64_t)(i * 37 % 101 + 1) * 100, (int64_t)(i + 1) * 50,
			(int64_t)i, "same");
	}
	tw_table_add_note(t, "A note with <b>.");
	if (!tw_table_finish(t, NULL))
		return t;
	trawl_table_free(t);
	return NULL;
}

struct made {
	struct trawl_table *tables[3];
	struct tw_page_table shown[3];
	struct tw_page_pictures pictures[3];
	struct tw_page_side sides[2];
	struct tw_compare_page page;
};

static const char *const lines[] = { "after is 3.1 % faster than before.", HOSTILE };
static const char *const files[] = { "top5_gemm_kernels_time_variance.csv, 128 rows", HOSTILE,
				     NULL };

static bool make(struct made *m, const char *first, const char *second, const char *third,
		 const struct trawl_allocator *allocator)
{
	static const size_t more[] = { 0, 120, 0 };
	size_t i;

	*m = (struct made){ .page = { .title = "GEMM Kernel Variance - Sweep Comparison",
				      .side_count = 2,
				      .lines = lines,
				      .line_count = 2 },
			    .sides = { { "Base ROCm", "sweep_20251121_155219", files },
				       { HOSTILE, HOSTILE, files } } };
	m->page.sides = m->sides;
	for (i = 0; i < 3; i++) {
		m->tables[i] = i < 2 ? make_table(more[i], allocator) :
				       tw_table_new(&spec, allocator);
		if (!m->tables[i])
			return false;
		m->shown[i] = (struct tw_page_table){ i ? "Kernels & more" : HOSTILE,
						      i ? NULL : "Text",
						      m->tables[i],
						      5,
						      i == 1 ? 20 : 0,
						      0,
						      NULL,
						      NULL,
						      0,
						      NULL,
						      false };
	}
	m->pictures[0] = (struct tw_page_pictures){ "Variance by Thread Count", { first, second } };
	m->pictures[1] = (struct tw_page_pictures){ HOSTILE, { third, first } };
	m->pictures[2] = (struct tw_page_pictures){ "Nothing", { NULL, "no/such/picture<.png" } };
	m->page.tables = m->shown;
	m->page.table_count = 3;
	m->page.pictures = m->pictures;
	m->page.picture_count = 3;
	return true;
}

static void drop(struct made *m)
{
	size_t i;

	for (i = 0; i < 3; i++)
		trawl_table_free(m->tables[i]);
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

static struct tw_str out, told;

static void render(const char *first, const char *second, const char *third)
{
	struct trawl_error err;
	struct made m;

	assert_true(make(&m, first, second, third, trawl_allocator_default()));
	tw_str_init(&out, trawl_allocator_default());
	tw_str_init(&told, trawl_allocator_default());
	assert_int_equal(tw_render_compare_page(&m.page, &out, &told, &err), 0);
	drop(&m);
}

static void has(const char *what)
{
	if (!strstr(out.ptr, what))
		fail_msg("not there: %s", what);
}

static void release(void)
{
	tw_str_release(&out);
	tw_str_release(&told);
}

static void test_structure(void **state)
{
	render(NULL, NULL, NULL);
	has("<title>GEMM Kernel Variance - Sweep Comparison</title>");
	has("<h1>GEMM Kernel Variance - Sweep Comparison</h1>");
	has("<h2>Sweep Information</h2>");
	has("<th scope=\"row\" class=\"text wide\">Base ROCm</th><td class=\"text "
	    "wide\">sweep_20251121_155219</td>");
	has("<p>after is 3.1 % faster than before.</p>");
	has("<a href=\"#table2\">Kernels &amp; more</a>");
	has("<caption><span>kernels of both sides &amp; what changed</span></caption>");
	has("<th scope=\"col\" class=\"n\" title=\"its time on the first side\">before (us)</th>");
	has("title=\"of the &quot;kernel&quot;\"");
	has("<tr class=\"better\"><th scope=\"row\" class=\"text wide\">gemm 10</th>"
	    "<td class=\"n\" data-value=\"1\">1.0</td><td class=\"n\" data-value=\"0.9\">0.9</td>"
	    "<td class=\"n\" data-value=\"-10\">-10.0</td><td class=\"n\" data-value=\"5\">5</td>"
	    "<td class=\"text verdict\">better</td>");
	/* What is not there has no value. */
	has("<td class=\"n\"></td><td class=\"n\" data-value=\"123.456\">123.5</td><td "
	    "class=\"n\"></td>");
	has("<li>A note with &lt;b&gt;.</li>");
	has("No rows.");
	has("<h2 id=\"files1\">Data Files Information</h2>");
	assert_int_equal(count_of(out.ptr, "<figure>"), 6);
	assert_int_equal(count_of(out.ptr, "data-shown=\"20\""), 1);
	/* Tables before pictures. */
	assert_true(strstr(out.ptr, "id=\"table3\"") < strstr(out.ptr, "id=\"pictures1\""));
	release();
}

/* No tag, attribute or address comes from a text. */
static void test_hostile(void **state)
{
	render(NULL, NULL, NULL);
	assert_int_equal(count_of(out.ptr, "<script"), 1);
	assert_int_equal(count_of(out.ptr, "</script"), 1);
	assert_int_equal(count_of(out.ptr, "<style"), 1);
	assert_int_equal(count_of(out.ptr, "<img"), 0);
	assert_int_equal(count_of(out.ptr, " src="), count_of(out.ptr, "img src=x"));
	assert_int_equal(count_of(out.ptr, "href=\"#"), count_of(out.ptr, "href="));
	has("&lt;img src=x onerror=alert(2)&gt;&quot;&#39; &amp;amp; javascript:x");
	/* A long name is there in short and whole. */
	has("<details><summary>Kernel2&lt;");
	has("&lt;script&gt;alert(3)&lt;/script&gt;&gt;(cutlass_80_tensorop_bf16_s16816gemm::Params)"
	    "</details>");
	release();
}

static void test_policy(void **state)
{
	render(NULL, NULL, NULL);
	has("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src "
	    "'sha256-");
	has(tw_compare_script_hash);
	has(tw_compare_style_hash);
	assert_null(strstr(out.ptr, "unsafe-inline"));
	assert_null(strstr(out.ptr, "http:"));
	assert_null(strstr(out.ptr, "https:"));
	assert_null(strstr(out.ptr, " style="));
	release();
}

static void test_pictures(void **state)
{
	struct scratch scratch;
	const char *png, *svg, *other;

	scratch_make(&scratch);
	png = scratch_path(&scratch, "a.png");
	svg = scratch_path(&scratch, "b.svg");
	other = scratch_path(&scratch, "c.png");
	scratch_write(&scratch, "a.png", "\x89PNG\r\n\x1a\n");
	scratch_write(&scratch, "b.svg", "<svg xmlns=\"x\"/>");
	scratch_write(&scratch, "c.png", "GIF89a....");
	render(png, svg, other);
	/* A signature alone is too short to be one. */
	assert_int_equal(count_of(out.ptr, "<img "), 1);
	has("<img alt=\"Variance by Thread Count, &lt;/script&gt;");
	has(" src=\"data:image/svg+xml;base64,PHN2ZyB4bWxucz0ieCIvPg==\"></figure>");
	has("No plot: picture&lt;.png</p>");
	has("No plot</p>");
	assert_int_equal(count_of(told.ptr, "\n"), 4);
	assert_non_null(strstr(told.ptr, "/c.png' is no PNG or SVG picture\n"));
	assert_non_null(strstr(told.ptr, "no/such/picture<.png"));
	release();
	scratch_remove(&scratch);
}

static void test_other_kinds(void **state)
{
	static const struct tw_page_side sides[] = { { "a", NULL, NULL }, { "b", NULL, NULL } };
	static const struct tw_compare_page page = { .title = "t",
						     .what = "Report",
						     .sides = sides,
						     .side_count = 2 };
	struct trawl_error err;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_init(&told, trawl_allocator_default());
	assert_int_equal(tw_render_compare_page(&page, &out, &told, &err), 0);
	has("<h2>Report Information</h2>");
	assert_null(strstr(out.ptr, "Data Files"));
	assert_null(strstr(out.ptr, "class=\"info\""));
	release();
}

/* A page of one thing: no sides, a chart above its table. */
static void test_one_thing(void **state)
{
	struct trawl_table *table = make_table(0, trawl_allocator_default());
	struct tw_str chart;
	const struct tw_page_table shown = { .heading = "Time <by> rank",
					     .table = table,
					     .verdict = SIZE_MAX,
					     .chart = &chart };
	const struct tw_compare_page page = { .title = "t", .tables = &shown, .table_count = 1 };
	struct trawl_error err;

	tw_str_init(&chart, trawl_allocator_default());
	tw_str_add_cstr(&chart, "<svg xmlns=\"x\"/>");
	tw_str_init(&out, trawl_allocator_default());
	tw_str_init(&told, trawl_allocator_default());
	assert_int_equal(tw_render_compare_page(&page, &out, &told, &err), 0);
	assert_null(strstr(out.ptr, "Information"));
	has("<h2 id=\"table1\">Time &lt;by&gt; rank</h2>\n<figure class=\"chart\"><img alt=\"Chart: "
	    "Time &lt;by&gt; rank\" src=\"data:image/svg+xml;base64,PHN2ZyB4bWxucz0ieCIvPg==\">"
	    "</figure>\n<div class=\"scroll\"");
	assert_int_equal(told.len, 0);
	release();
	tw_str_release(&chart);
	trawl_table_free(table);
}

static void test_base64(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },	   { "f", "Zg==" },	   { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "\xff\xfe\xfd", "//79" }
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_init(&out, trawl_allocator_default());
		tw_add_base64(&out, (const unsigned char *)cases[i][0], strlen(cases[i][0]));
		assert_string_equal(out.ptr ? out.ptr : "", cases[i][1]);
		tw_str_release(&out);
	}
}

static void test_no_memory(void **state)
{
	struct scratch scratch;
	long n;

	scratch_make(&scratch);
	scratch_write(&scratch, "b.svg", "<svg xmlns=\"x\"/>");
	for (n = 0;; n++) {
		struct failing failing;
		struct made m;
		int status = TRAWL_ENOMEM;

		failing_init(&failing, n);
		tw_str_init(&out, &failing.allocator);
		tw_str_init(&told, &failing.allocator);
		if (make(&m, scratch_path(&scratch, "b.svg"), NULL, NULL, &failing.allocator))
			status = tw_render_compare_page(&m.page, &out, &told, NULL);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		drop(&m);
		release();
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 5);
	scratch_remove(&scratch);
}

/* For tests with a browser. */
static void write_page(void **state)
{
	const char *path = getenv("TRAWL_COMPARE_PAGE"), *dir = getenv("TRAWL_COMPARE_PICTURES");
	char paths[3][1000];
	FILE *file;

	if (!path || !dir)
		skip();
	snprintf(paths[0], sizeof(paths[0]), "%s/first.png", dir);
	snprintf(paths[1], sizeof(paths[1]), "%s/second.png", dir);
	snprintf(paths[2], sizeof(paths[2]), "%s/third.svg", dir);
	render(paths[0], paths[1], paths[2]);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(out.ptr, 1, out.len, file), out.len);
	fclose(file);
	release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_policy),	    cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_other_kinds), cmocka_unit_test(test_one_thing),
		cmocka_unit_test(test_base64),	    cmocka_unit_test(test_no_memory),
		cmocka_unit_test(write_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
