/* trawl model: the cost model of an operation, without a trace. */
#include "cli/cli.h"

#include "table/table.h"
#include "trawl/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct model_command {
	struct cli_common common;
	struct trawl_call call;
	const char *platform;
	int64_t time_ns; /* -1: not given */
	bool backward, list;
};

static int list_models(enum tw_format format)
{
	struct trawl_table *table;
	struct trawl_error err;

	return trawl_models(&table, &err) ? cli_fail(&err) :
					    cli_print_table(table, format, "models");
}

/* ---- the result */

/*
 * For people one column of values; programs get numbers as numbers, and texts in a column of
 * their own.
 */
static const struct trawl_column shown_columns[] = {
	TW_TEXT("quantity", 24, "quantity, named as the report's columns", .values = "!"),
	TW_TEXT("value", 24, "value from the model"),
	TW_TEXT("unit", 10, "unit of the value", .values = "bytes|µs|TFLOP/s|TOP/s|TB/s|GB/s|%"),
};
static const struct trawl_column data_columns[] = {
	TW_TEXT("quantity", 24, "quantity, named as the report's columns", .values = "!"),
	TW_REAL("value", "", 3, 16, "value from the model, where numeric"),
	TW_TEXT("unit", 10, "unit of the value", .values = "bytes|µs|TFLOP/s|TOP/s|TB/s|GB/s|%"),
	TW_TEXT("text", 24, "value from the model, where not numeric", .values = "~."),
};

static const struct tw_table_spec model_spec = {
	.name = "model",
	.meaning = "work of one call",
	.keep_empty = true,
};

struct output {
	struct trawl_table *table;
	bool for_people;
};

/* Digits after the point that leave at least four that mean something. */
static unsigned digits_for(double value)
{
	unsigned digits = 1;

	if (value == floor(value))
		return 0;
	for (value = fabs(value); value < 1000 && digits < 12; value *= 10)
		digits++;
	return digits - (digits > 1);
}

static void add_number(struct output *out, const char *quantity, double value, const char *unit)
{
	size_t row = tw_table_add_row(out->table);
	struct tw_str text;

	tw_table_set_str(out->table, row, 0, quantity);
	tw_table_set_str(out->table, row, 2, *unit ? unit : NULL);
	if (!out->for_people) {
		tw_table_set_real(out->table, row, 1, value);
		return;
	}
	tw_str_init(&text, trawl_allocator_default());
	if (isfinite(value))
		tw_str_add_real_fixed(&text, value, digits_for(value));
	tw_table_set_text(out->table, row, 1, text.len ? text.ptr : NULL, text.len);
	tw_str_release(&text);
}

static void add_text(struct output *out, const char *quantity, const char *text, size_t len)
{
	size_t row = tw_table_add_row(out->table);

	tw_table_set_str(out->table, row, 0, quantity);
	tw_table_set_text(out->table, row, out->for_people ? 1 : 3, len ? text : NULL, len);
}

/* An integer among the parameters is a number too. */
static void add_parameters(struct output *out, const struct trawl_work *work)
{
	size_t count = trawl_work_parameters(work), i, k, len;
	char name[80];
	const char *text;

	for (i = 0; i < count; i++) {
		double value = 0;

		snprintf(name, sizeof(name), "param: %s",
			 trawl_work_parameter(work, i, &text, &len));
		for (k = 0; k < len && text[k] >= '0' && text[k] <= '9'; k++)
			value = value * 10 + (text[k] - '0');
		if (len && k == len && k <= 15)
			add_number(out, name, value, "");
		else
			add_text(out, name, text, len);
	}
}

static void add_rates(struct output *out, const struct trawl_work_figures *f, int64_t time_ns)
{
	if (time_ns <= 0)
		return;
	add_number(out, "Kernel Time", (double)time_ns / 1e3, "µs");
	add_number(out, TW_COL_TFLOPS_S, f->tflops_per_s, "TFLOP/s");
	add_number(out, "TB/s", f->tb_per_s, "TB/s");
}

static void note_no_roofline(struct output *out, const struct trawl_roofline *r,
			     const struct trawl_work_figures *f)
{
	if (isnan(f->bytes))
		tw_table_add_note(out->table, "no roofline: bytes unknown");
	else if (!(f->bytes > 0))
		tw_table_add_note(out->table, "no roofline: no bytes moved");
	else
		tw_table_add_note(out->table, "no roofline: unknown %s peak of %s", f->spec,
				  r->platform);
}

static void add_roofline(struct output *out, const struct trawl_roofline *r,
			 const struct trawl_work_figures *f, int64_t time_ns)
{
	add_text(out, "platform", r->platform, strlen(r->platform));
	add_number(out, "peak", r->peak, strstr(f->spec, "int") ? "TOP/s" : "TFLOP/s");
	add_number(out, "memory bandwidth", r->bandwidth, "GB/s");
	add_number(out, "Roofline Time", r->time_us, "µs");
	add_text(out, TW_COL_ROOFLINE_BOUND, r->bound, r->bound ? strlen(r->bound) : 0);
	if (time_ns > 0)
		add_number(out, TW_COL_PCT_ROOFLINE, r->percent, "%");
	if (!r->bound) {
		note_no_roofline(out, r, f);
		add_number(out, "time at full bandwidth", r->memory_us, "µs");
		if (time_ns > 0)
			add_number(out, "percent of bandwidth", r->memory_percent, "%");
	}
	if (r->over)
		tw_table_add_note(out->table, "above the roofline: wrong time, arguments or "
					      "platform");
	if (r->unverified)
		tw_table_add_note(
			out->table,
			"unverified peak or bandwidth: sources in 'trawl platforms \"%s\"'",
			r->platform);
}

static int print_work(const struct model_command *c, const struct trawl_work *work,
		      const struct trawl_roofline *roofline)
{
	bool for_people = c->common.format == TW_FORMAT_TABLE ||
			  c->common.format == TW_FORMAT_MARKDOWN;
	const struct trawl_work_figures f = trawl_work_figures(work, c->time_ns);
	struct output out = { .for_people = for_people };

	out.table = tw_table_new_columns(&model_spec, for_people ? shown_columns : data_columns,
					 for_people ? 3 : 4, trawl_allocator_default());
	if (out.table) {
		add_text(&out, c->backward ? "backward of" : "name", c->call.operation,
			 strlen(c->call.operation));
		add_number(&out, "FLOPs", f.flops, "");
		add_number(&out, "Data Moved", f.bytes, "bytes");
		add_number(&out, TW_COL_FLOPS_PER_BYTE, f.flops_per_byte, "");
		add_text(&out, TW_COL_COMPUTE_SPEC, f.spec, strlen(f.spec));
		add_parameters(&out, work);
		if (f.more_bytes)
			tw_table_add_note(out.table, "data moved is a lower bound: not all "
						     "operands are among the arguments");
		else
			add_rates(&out, &f, c->time_ns);
		if (roofline && !f.more_bytes)
			add_roofline(&out, roofline, &f, c->time_ns);
	}
	return cli_print_table(out.table, c->common.format, "model");
}

static int model_call(const struct model_command *c)
{
	struct trawl_roofline roofline;
	struct trawl_work *work = NULL;
	struct trawl_error err;
	int status;

	status = trawl_work_new(&work, &c->call, c->backward, &err);
	if (!status && c->platform)
		status = trawl_work_roofline(work, c->platform, c->time_ns, &roofline, &err);
	if (status == TRAWL_ENODATA) {
		cli_message("model: %s", err.message);
		status = CLI_FAILED;
	} else if (status) {
		status = cli_fail(&err);
	} else {
		status = print_work(c, work, c->platform ? &roofline : NULL);
	}
	trawl_work_free(work);
	return status;
}

#define AT(member) offsetof(struct model_command, member)

static const struct cli_option own_options[] = {
	{ "dims", 0, &cli_string, "D", AT(call.dims),
	  "shapes: 8944x1024,1024x2816 or [[8944,1024],[1024,2816]]" },
	{ "dtype", 0, &cli_string, "T", AT(call.types),
	  "dtype of all tensors, or one per tensor: bf16 or fp8,fp8,float" },
	{ "concrete", 0, &cli_string, "C", AT(call.concrete),
	  "values of non-tensor arguments, by position: ;;[1,1];True" },
	{ "strides", 0, &cli_string, "S", AT(call.strides), "strides, in the form of --dims" },
	{ "backward", 0, &cli_flag, NULL, AT(backward), "work of the backward pass" },
	{ "platform", 0, &cli_string, "P", AT(platform),
	  "add the roofline of this GPU: a name or FILE.json" },
	{ "time-us", 0, &cli_time_us, "T", AT(time_ns),
	  "measured time in microseconds: adds achieved rates" },
	{ "list", 0, &cli_flag, NULL, AT(list), "list ops with a cost model" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_TABLE(AT(common)),
	{ 0 },
};

static int model(const struct cli_command *command, int argc, char **argv)
{
	struct model_command c = { .time_ns = -1 };
	struct trawl_error err;
	int count, status = cli_begin(command, &c, argc, argv, &count);

	if (status >= 0)
		return status;
	if (c.list && !count)
		return list_models(c.common.format);
	if (count != 1 || c.list)
		return cli_usage_error(command,
				       c.list ? "--list takes no OP argument" :
				       count  ? "more than one OP argument" :
						"missing OP argument; 'trawl model --list' lists "
						"all");
	if (!c.time_ns)
		return cli_usage_error(command, "--time-us 0: the time must be positive");
	c.call.operation = argv[0];
	if (trawl_model_check(c.call.operation, &err))
		return cli_usage_error(command, "%s", err.message);
	if (!c.call.dims || !c.call.types)
		return cli_usage_error(command, "missing option --%s",
				       c.call.dims ? "dtype" : "dims");
	return model_call(&c);
}

const struct cli_command cli_command_model = {
	"model",
	"OP",
	"FLOPs and bytes of an op, without a trace",
	"Prints the FLOPs and bytes of a call of OP, the parameters of its cost model and, with\n"
	"--platform, its roofline. Writes no file. Positions are those of the profiler's\n"
	"\"Input Dims\".\n"
	"\n"
	"  trawl model aten::mm --dims 8944x1024,1024x2816 --dtype bf16 --platform MI300X\n",
	options,
	model,
};
