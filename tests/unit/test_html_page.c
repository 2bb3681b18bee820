/* Markdown as a page that needs nothing else, anchors, the script of the bars. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/charts/category_chart.h"
#include "render/pages/html_page.h"
#include "render/shapes.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct scratch scratch;
static struct tw_str page;

static int setup(void **state)
{
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static void render(const char *markdown)
{
	static const char *const style[] = { "p { margin: 0; }" };
	struct tw_html_page wanted = { "a <title>", style, 1, scratch.dir, "open.svg" };
	struct trawl_error err;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&page, trawl_allocator_default());
	tw_str_add_cstr(&text, markdown);
	assert_int_equal(tw_render_html_page(&wanted, &text, &page, &err), 0);
	tw_str_release(&text);
}

static void assert_page(const char *what, bool there)
{
	if (!strstr(page.ptr, what) == there)
		fail_msg("%s: %s\n%s", there ? "not there" : "there", what, page.ptr);
}

/* As GitHub makes them; the same twice gets a number. */
static void anchors(void **state)
{
	static const char *const cases[][2] = {
		{ "1. GEMM (43.21% of compute)", "1-gemm-4321-of-compute" },
		{ "P3: aten::addmm", "p3-atenaddmm" },
		{ "🔴 Critical Priority: x", "-critical-priority-x" },
		{ "⚪ Low → here", "-low--here" },
		{ "CPU/Idle_Time - now", "cpuidle_time---now" },
		{ "Größe 大小", "größe-大小" },
		{ "", "" },
		{ "a\xff", "a" },
	};
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_clear(&out);
		tw_heading_anchor(&out, cases[i][0], strlen(cases[i][0]));
		assert_int_equal(out.len, strlen(cases[i][1]));
		assert_int_equal(memcmp(out.len ? out.ptr : "", cases[i][1], out.len), 0);
	}
	tw_str_release(&out);
	render("# A `b` *c*\n\n## A b c\n\n## a B C\n\n### a-b-c-1\n");
	assert_page("<h1 id=\"a-b-c\">A <code>b</code> <em>c</em></h1>", true);
	assert_page("<h2 id=\"a-b-c-1\">A b c</h2>", true);
	assert_page("<h2 id=\"a-b-c-2\">a B C</h2>", true);
	assert_page("<h3 id=\"a-b-c-1-1\">a-b-c-1</h3>", true);
	tw_str_release(&page);
}

static void tables_have_a_box(void **state)
{
	render("| a | b |\n|---|---|\n| 1 | `x\\|y` |\n");
	assert_page("<div class=\"scroll\"><table>", true);
	assert_page("</table></div>", true);
	assert_page("<td><code>x|y</code></td>", true);
	tw_str_release(&page);
}

static void nothing_runs_and_nothing_is_loaded(void **state)
{
	render("<script>alert(1)</script>\n\n<h2>no heading</h2>\n\n# a heading\n\n"
	       "x <img src=x onerror=alert(1)> [a](javascript:alert(1)) "
	       "![b](https://example.org/b.png) ![c](../c.png) &lt;h2&gt;\n");
	assert_page("<script", false);
	assert_page("<img", false);
	assert_page("javascript:", false);
	assert_page("example.org", false);
	assert_page("<h2", false);
	assert_page("<h1 id=\"a-heading\">", true);
	assert_page("default-src 'none'", true);
	assert_page("<title>a &lt;title&gt;</title>", true);
	assert_page("p { margin: 0; }", true);
	tw_str_release(&page);
}

/* RFC 4648, section 10. */
static void pictures_are_inside(void **state)
{
	static const char *const cases[][2] = {
		{ "f", "Zg==" },	{ "fo", "Zm8=" },	 { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
	};
	char want[128];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scratch_write(&scratch, "a.svg", cases[i][0]);
		render("![what *it* \"is\"](a.svg) ![gone](b.svg) ![other](a.png)\n");
		snprintf(want, sizeof(want),
			 "<img src=\"data:image/svg+xml;base64,%s\" alt=\"what it "
			 "&quot;is&quot;\" /> gone other</p>",
			 cases[i][1]);
		assert_page(want, true);
		tw_str_release(&page);
	}
}

/* One as it is, to be pointed at, if it is one of ours; others as ever. */
static void an_open_picture(void **state)
{
	static const char ours[] =
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\"><g/></svg>\n";

	scratch_write(&scratch, "open.svg", ours);
	scratch_write(&scratch, "a.svg", ours);
	render("![x](open.svg)\n\n![y](a.svg)\n");
	assert_page("<p><svg width=\"1\"><g/></svg>\n</p>", true);
	assert_page("alt=\"y\"", true);
	assert_page("alt=\"x\"", false);
	tw_str_release(&page);
	scratch_write(&scratch, "open.svg", "<script>1</script>");
	render("![x](open.svg)\n");
	assert_page("<script", false);
	assert_page("alt=\"x\"", true);
	tw_str_release(&page);
	scratch_write(&scratch, "open.svg", "");
	render("![x](open.svg)\n");
	assert_page("alt=\"x\"", true);
	tw_str_release(&page);
}

static void an_empty_text(void **state)
{
	render("");
	assert_page("<main>\n</main>", true);
	tw_str_release(&page);
}

/* ---- bars */

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void bars(void **state)
{
	struct tw_category_bar list[] = {
		{ "GEMM <'&'>", TW_BAR_COMPUTE, 30, 60 },
		{ "half", TW_BAR_COMMUNICATION, 15, 30 },
		{ "unknown", TW_BAR_COMPUTE, NAN, NAN },
		{ "idle", TW_BAR_IDLE, 0, NAN },
	};
	struct tw_category_chart chart = { "title", "subtitle", "note", list, 4 };
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	assert_true(tw_category_chart(&chart, &out));
	/* The longest has all of the width, the next half of it, none is without any. */
	assert_non_null(strstr(out.ptr, "width=\"488\" height=\"14\" fill=\"#0072b2\""));
	assert_non_null(strstr(out.ptr, "width=\"244\" height=\"14\" fill=\"#d55e00\""));
	assert_non_null(strstr(out.ptr, "width=\"1\" height=\"14\" fill=\"#999999\""));
	/* The ground, three bars, three colours that are explained. */
	assert_int_equal(count(out.ptr, "<rect"), 7);
	assert_non_null(strstr(out.ptr, ">30.000 ms (60.00 %)<"));
	assert_non_null(strstr(out.ptr, ">0.000 ms<"));
	assert_non_null(strstr(out.ptr, ">GEMM &lt;&#39;&amp;&#39;&gt;<"));
	assert_null(strstr(out.ptr, "unknown"));
	tw_str_clear(&out);
	chart.count = 0;
	assert_false(tw_category_chart(&chart, &out));
	assert_int_equal(out.len, 0);
	tw_str_release(&out);
}

/* The smallest are one bar together; what is no computing stays. */
static void many_bars(void **state)
{
	struct tw_category_bar list[20];
	struct tw_category_chart chart = { "title", "subtitle", "note", list, 20 };
	struct tw_str out;
	size_t i;

	for (i = 0; i < 19; i++)
		list[i] = (struct tw_category_bar){ "c", TW_BAR_COMPUTE, 100 - (double)i, 1 };
	list[19] = (struct tw_category_bar){ "idle", TW_BAR_IDLE, 7, 3 };
	tw_str_init(&out, trawl_allocator_default());
	assert_true(tw_category_chart(&chart, &out));
	assert_int_equal(count(out.ptr, ">c<"), 12);
	/* 88 + ... + 82 */
	assert_non_null(strstr(out.ptr, ">further categories<"));
	assert_non_null(strstr(out.ptr, ">595.000 ms (7.00 %)<"));
	assert_non_null(strstr(out.ptr, ">7.000 ms (3.00 %)<"));
	tw_str_release(&out);
}

static void short_shapes(void **state)
{
	static const char *const cases[][2] = {
		{ "((8944, 1024), (1024, 2816), ())", "8944x1024,1024x2816" },
		{ "((512,), (141, 512), (), (3,))", "512,141x512,-,3" },
		{ "((), (), ())", "" },
		{ "", "" },
		/* No list: its first digit has nothing before it, whatever stands there in memory. */
		{ &" 512, 3"[1], "512x3" },
		{ &" 7"[1], "7" },
	};
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_clear(&out);
		tw_short_shapes(&out, cases[i][0], strlen(cases[i][0]));
		assert_string_equal(out.len ? out.ptr : "", cases[i][1]);
	}
	tw_str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors),
		cmocka_unit_test(tables_have_a_box),
		cmocka_unit_test(nothing_runs_and_nothing_is_loaded),
		cmocka_unit_test(pictures_are_inside),
		cmocka_unit_test(an_open_picture),
		cmocka_unit_test(an_empty_text),
		cmocka_unit_test(bars),
		cmocka_unit_test(many_bars),
		cmocka_unit_test(short_shapes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
