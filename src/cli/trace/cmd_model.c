/* trawl model: the cost model of an operation, without a trace. */
#include "cli/cli.h"
#include "cli/trace/model_call.h"

#include "model/model.h"
#include "model/roofline.h"
#include "table/table.h"
#include "text/suggestions.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct model_command {
	struct cli_common common;
	struct cli_call_arguments call;
	const char *platform;
	int64_t time_ns; /* -1: not given */
	bool backward, list;
};

/* ---- operations with a model */

static const struct trawl_column list_columns[] = {
	TW_TEXT("operation", 40, "op name in the profiler's trace", .values = "!"),
	TW_TEXT("model", 24, "cost model (ops may share one)", .values = "!"),
	TW_TEXT("table", 20, "report table of the op", .values = "!"),
	TW_TEXT("unit", 8, "GPU unit that does the work", .values = "!matrix|vector|"),
	TW_TEXT("backward", 8, "whether the model covers the backward pass", .values = "!yes|no"),
};

static const struct tw_table_spec list_spec =
	TW_SPEC("models", "ops with a cost model", list_columns, .keep_empty = true);

static const struct tw_model *model_of(const char *op)
{
	return tw_model_of(op, strlen(op));
}

static int list_models(enum tw_format format)
{
	static const char *const units[] = { "", "matrix", "vector" };
	struct trawl_table *table = tw_table_new(&list_spec, trawl_allocator_default());
	size_t i, row;

	for (i = 0; table && i < tw_op_model_count; i++) {
		const struct tw_model *model = model_of(tw_op_models[i].op);

		if (!model)
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, tw_op_models[i].op);
		tw_table_set_str(table, row, 1, model->name);
		tw_table_set_str(table, row, 2, model->sheet);
		tw_table_set_str(table, row, 3, units[model->unit]);
		tw_table_set_str(table, row, 4, model->backward ? "yes" : "no");
	}
	return cli_print_table(table, format, "models");
}

/* ---- names similar to an unknown one */

static int no_model(const struct cli_command *command, const char *op)
{
	struct tw_nearest nearest = { .count = 0 };
	size_t i;

	for (i = 0; i < tw_op_model_count; i++)
		if (model_of(tw_op_models[i].op))
			tw_nearest_add(&nearest, op, tw_op_models[i].op);
	return cli_usage_error(command,
			       "no model of '%.100s'; nearest: %s, %s, %s; 'trawl model --list' "
			       "lists all",
			       op, nearest.name[0], nearest.name[1], nearest.name[2]);
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
static void add_parameters(struct output *out, const struct tw_work *work)
{
	char name[80];
	unsigned i;

	for (i = 0; i < work->parameter_count; i++) {
		const struct tw_parameter *p = &work->parameters[i];
		const char *text = work->texts.ptr + p->at;
		size_t k = 0;
		double value = 0;

		snprintf(name, sizeof(name), "param: %s", p->name);
		for (; k < p->len && text[k] >= '0' && text[k] <= '9'; k++)
			value = value * 10 + (text[k] - '0');
		if (p->len && k == p->len && k <= 15)
			add_number(out, name, value, "");
		else
			add_text(out, name, text, p->len);
	}
}

static void add_rates(struct output *out, const struct tw_work *work, int64_t time_ns)
{
	struct tw_rates rates;

	if (time_ns <= 0)
		return;
	tw_rates(&rates, work->flops, work->bytes, time_ns);
	add_number(out, "Kernel Time", (double)time_ns / 1e3, "µs");
	add_number(out, TW_COL_TFLOPS_S, rates.tflops_per_s, "TFLOP/s");
	add_number(out, "TB/s", rates.tb_per_s, "TB/s");
}

static void note_no_roofline(struct output *out, const struct tw_platform *p,
			     const struct tw_work *work, const char *spec)
{
	if (isnan(work->bytes))
		tw_table_add_note(out->table, "no roofline: bytes unknown");
	else if (!(work->bytes > 0))
		tw_table_add_note(out->table, "no roofline: no bytes moved");
	else
		tw_table_add_note(out->table, "no roofline: unknown %s peak of %s", spec, p->name);
}

static void add_roofline(struct output *out, const struct tw_platform *p,
			 const struct tw_work *work, const char *spec, int64_t time_ns)
{
	double peak = tw_platform_peak(p, spec, NULL);
	struct tw_roofline r;

	tw_roofline(&r, p, work->flops, work->bytes, spec, time_ns);
	add_text(out, "platform", p->name, strlen(p->name));
	add_number(out, "peak", peak, strstr(spec, "int") ? "TOP/s" : "TFLOP/s");
	add_number(out, "memory bandwidth", p->mem_bw_gbps, "GB/s");
	add_number(out, "Roofline Time", r.time_us, "µs");
	add_text(out, TW_COL_ROOFLINE_BOUND, r.bound, r.bound ? strlen(r.bound) : 0);
	if (time_ns > 0)
		add_number(out, TW_COL_PCT_ROOFLINE, r.percent, "%");
	if (!r.bound) {
		note_no_roofline(out, p, work, spec);
		add_number(out, "time at full bandwidth", r.memory_us, "µs");
		if (time_ns > 0)
			add_number(out, "percent of bandwidth", r.memory_percent, "%");
	}
	if (r.anomaly)
		tw_table_add_note(out->table, "above the roofline: wrong time, arguments or "
					      "platform");
	if (r.mark == TW_MARK_UNVERIFIED)
		tw_table_add_note(
			out->table,
			"unverified peak or bandwidth: sources in 'trawl platforms \"%s\"'",
			p->name);
}

static int print_work(const struct model_command *c, const struct tw_work *work,
		      const struct tw_platform *platform)
{
	bool for_people = c->common.format == TW_FORMAT_TABLE ||
			  c->common.format == TW_FORMAT_MARKDOWN;
	struct output out = { .for_people = for_people };
	struct tw_rates rates;
	char spec[32];

	out.table = tw_table_new_columns(&model_spec, for_people ? shown_columns : data_columns,
					 for_people ? 3 : 4, trawl_allocator_default());
	if (out.table) {
		tw_rates(&rates, work->flops, work->bytes, 0);
		tw_compute_spec(work, spec);
		add_text(&out, c->backward ? "backward of" : "name", c->call.op,
			 strlen(c->call.op));
		add_number(&out, "FLOPs", work->flops, "");
		add_number(&out, "Data Moved", work->bytes, "bytes");
		add_number(&out, TW_COL_FLOPS_PER_BYTE, rates.flops_per_byte, "");
		add_text(&out, TW_COL_COMPUTE_SPEC, spec, strlen(spec));
		add_parameters(&out, work);
		if (work->at_least)
			tw_table_add_note(out.table, "data moved is a lower bound: not all "
						     "operands are among the arguments");
		else
			add_rates(&out, work, c->time_ns);
		if (platform && !work->at_least)
			add_roofline(&out, platform, work, spec, c->time_ns);
	}
	return cli_print_table(out.table, c->common.format, "model");
}

static int model_call(const struct cli_command *command, const struct model_command *c)
{
	const struct tw_model *model = model_of(c->call.op);
	struct tw_platform platform;
	struct trawl_error err;
	struct tw_call call;
	struct tw_work work;
	int status;

	if (!model)
		return no_model(command, c->call.op);
	if (c->platform && tw_platform_open(c->platform, NULL, &platform, &err))
		return cli_fail(&err);
	tw_work_init(&work, trawl_allocator_default());
	if (cli_read_call(&c->call, &call, &err)) {
		status = cli_fail(&err);
	} else if (tw_model_run(model, c->backward, &call, &work)) {
		cli_message("model: %s: %s", c->call.op, work.reason);
		status = CLI_FAILED;
	} else {
		status = print_work(c, &work, c->platform ? &platform : NULL);
	}
	tw_work_release(&work);
	return status;
}

#define AT(member) offsetof(struct model_command, member)

static const struct cli_option own_options[] = {
	{ "dims", 0, &cli_string, "D", AT(call.dims),
	  "shapes: 8944x1024,1024x2816 or [[8944,1024],[1024,2816]]" },
	{ "dtype", 0, &cli_string, "T", AT(call.dtype),
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
	c.call.op = argv[0];
	if (!model_of(c.call.op))
		return no_model(command, c.call.op);
	if (!c.call.dims || !c.call.dtype)
		return cli_usage_error(command, "missing option --%s",
				       c.call.dims ? "dtype" : "dims");
	return model_call(command, &c);
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
