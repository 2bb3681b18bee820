#include "render/charts/svg.h"

#include "render/escape.h"
#include "render/width.h"

#include <string.h>

void tw_svg_number(struct tw_str *out, const char *before, double value)
{
	tw_str_add_cstr(out, before);
	/* A tenth of a pixel: as integers, without zeros at the end. */
	tw_str_add_decimal(out, (int64_t)(value * 10 + (value < 0 ? -0.5 : 0.5)), 1);
}

static void add_text(struct tw_str *out, const char *text, size_t cells)
{
	struct tw_str shown;

	tw_str_init(&shown, out->allocator);
	tw_shown_text(&shown, text, cells);
	tw_escape_html(out, shown.ptr ? shown.ptr : "", shown.len);
	out->failed = out->failed || shown.failed;
	tw_str_release(&shown);
}

void tw_svg_begin(struct tw_str *out, double height, const char *title)
{
	tw_str_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\"", TW_SVG_WIDTH);
	tw_svg_number(out, " height=\"", height);
	tw_str_addf(out, "\" viewBox=\"0 0 %d", TW_SVG_WIDTH);
	tw_svg_number(out, " ", height);
	tw_str_add_cstr(out, "\" role=\"img\" font-family=\"sans-serif\">\n<title>");
	add_text(out, title, 0);
	tw_str_add_cstr(out, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
}

void tw_svg_end(struct tw_str *out)
{
	tw_str_add_cstr(out, "</svg>\n");
}

void tw_svg_told_begin(struct tw_str *out, const char *text)
{
	tw_str_add_cstr(out, "<g><title>");
	add_text(out, text, 0);
	tw_str_add_cstr(out, "</title>");
}

void tw_svg_told_end(struct tw_str *out)
{
	tw_str_add_cstr(out, "</g>\n");
}

void tw_svg_text(struct tw_str *out, double x, double y, const struct tw_svg_font *font,
		 const char *text, size_t cells)
{
	static const char *const anchors[] = { "", " text-anchor=\"middle\"",
					       " text-anchor=\"end\"" };

	tw_svg_number(out, "<text x=\"", x);
	tw_svg_number(out, "\" y=\"", y);
	/* Capitals are around the middle then, with any renderer. */
	tw_svg_number(out, "\" dy=\"", font->size * 0.36);
	tw_svg_number(out, "\" font-size=\"", font->size);
	tw_str_addf(out, "\" fill=\"#%s\"%s%s", font->colour, anchors[font->align],
		    font->bold ? " font-weight=\"bold\"" : "");
	if (font->turned) {
		tw_svg_number(out, " transform=\"rotate(", font->turned);
		tw_svg_number(out, " ", x);
		tw_svg_number(out, " ", y);
		tw_str_add_cstr(out, ")\"");
	}
	tw_str_add_char(out, '>');
	add_text(out, text, cells);
	tw_str_add_cstr(out, "</text>\n");
}

void tw_svg_box(struct tw_str *out, double left, double top, double right, double bottom,
		const char *colour)
{
	tw_svg_number(out, "<rect x=\"", left);
	tw_svg_number(out, "\" y=\"", top);
	tw_svg_number(out, "\" width=\"", right - left);
	tw_svg_number(out, "\" height=\"", bottom - top);
	tw_str_addf(out, "\" fill=\"#%s\"/>\n", colour);
}

void tw_svg_line(struct tw_str *out, double x1, double y1, double x2, double y2, double width,
		 const char *colour)
{
	tw_svg_number(out, "<path d=\"M", x1);
	tw_svg_number(out, " ", y1);
	tw_svg_number(out, "L", x2);
	tw_svg_number(out, " ", y2);
	tw_svg_number(out, "\" stroke-width=\"", width);
	tw_str_addf(out, "\" stroke=\"#%s\"/>\n", colour);
}
