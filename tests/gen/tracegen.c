/*
 * tracegen: writes plausible profiler traces of any size, from a seed, and the
 * facts it built into them. See README.md.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#define MAX_RANKS 512

static const char usage[] =
	"usage: tracegen [OPTIONS] -o OUT.json\n"
	"\n"
	"Writes a made-up PyTorch profiler trace (Kineto JSON), the same for the same options.\n"
	"\n"
	"  -o FILE                 the trace, - for standard output; a directory with --ranks\n"
	"  --kind KIND             train (default), infer, decode or compile\n"
	"  --vendor VENDOR         nvidia (default) or amd\n"
	"  --steps N               profiler steps (default 3)\n"
	"  --size SIZE             steps until the file is that large: bytes, or with K, M, G, T\n"
	"  --ranks R               a job of R ranks, OUT/rank<i>_trace.json (1 to 512)\n"
	"  --equal-ids             ranks count correlation ids from the same number\n"
	"  --seed S                seed of all that is random (default 1)\n"
	"  --stacks                record python frames\n"
	"  --checkpoint HOW        layers of train compute again: recompute or reentrant\n"
	"  --pipeline              the ranks of train are stages of a pipeline\n"
	"  --capture FILE          of decode: the run that captures the graphs; with --ranks a directory\n"
	"  --epoch                 times since the epoch, no baseTimeNanoseconds\n"
	"  --layout LAYOUT         native (default), compact or indent\n"
	"  --straggler R:FACTOR    computation of rank R takes FACTOR times as long; repeatable\n"
	"  --clock-skew-us S       each rank's clock is off by up to S microseconds\n"
	"  --run-ahead-us S        the GPU runs S microseconds later, and the host does not wait\n"
	"  --truth FILE            the facts as JSON; with --ranks a directory of them\n"
	"  -h, --help              this text\n"
	"\n"
	"example: tracegen --vendor amd --steps 2 --seed 7 --truth truth.json -o trace.json\n"
	"writes two training steps to trace.json and what is in them to truth.json.\n";

static const char *const kind_names[] = { "train", "infer", "decode", "compile", NULL };
static const char *const vendor_names[] = { "nvidia", "amd", NULL };
static const char *const checkpoint_names[] = { "none", "recompute", "reentrant", NULL };
static const char *const layout_names[] = { "native", "compact", "indent", NULL };

static int parse_choice(const char *opt, const char *s, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(s, names[i]))
			return i;
	die(2, "unknown %s '%s', see --help", opt, s);
}

static int64_t parse_int(const char *opt, const char *s, int64_t min, int64_t max)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end || errno || v < min || v > max)
		die(2, "%s needs a number from %lld to %lld, not '%s'", opt, (long long)min,
		    (long long)max, s);
	return v;
}

static uint64_t parse_seed(const char *s)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (end == s || *end || errno || *s == '-')
		die(2, "--seed needs a number from 0 to %llu, not '%s'", ~0ull, s);
	return v;
}

static int64_t parse_size(const char *s)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || errno || v <= 0)
		die(2, "--size needs a size like 500M or 1G, not '%s'", s);
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1] || v > INT64_MAX >> 10 * (unit - units + 1))
			die(2, "--size needs a size like 500M or 1G, not '%s'", s);
		v <<= 10 * (unit - units + 1);
	}
	return v;
}

static void parse_straggler(struct job_options *opt, const char *s)
{
	struct straggler *st = &opt->stragglers[opt->n_stragglers];
	char *end;
	long rank;

	if (opt->n_stragglers == (int)ARRAY_LEN(opt->stragglers))
		die(2, "too many --straggler options");
	errno = 0;
	rank = strtol(s, &end, 10);
	if (end == s || *end != ':' || errno || rank < 0 || rank >= MAX_RANKS)
		die(2, "--straggler needs RANK:FACTOR, not '%s'", s);
	st->rank = (int)rank;
	s = end + 1;
	st->factor = strtod(s, &end);
	if (end == s || *end || !(st->factor >= 0.01 && st->factor <= 100))
		die(2, "--straggler needs a factor from 0.01 to 100, not '%s'", s);
	opt->n_stragglers++;
}

/* One option that takes a value. */
static void parse_valued(struct model *m, struct job_options *opt, const char *name, const char *v)
{
	if (!strcmp(name, "-o"))
		opt->out = v;
	else if (!strcmp(name, "--kind"))
		m->kind = (enum kind)parse_choice(name, v, kind_names);
	else if (!strcmp(name, "--vendor"))
		m->vendor = (enum vendor)parse_choice(name, v, vendor_names);
	else if (!strcmp(name, "--layout"))
		m->layout = (enum layout)parse_choice(name, v, layout_names);
	else if (!strcmp(name, "--steps"))
		opt->steps = parse_int(name, v, 1, 1000000000);
	else if (!strcmp(name, "--size"))
		opt->size = parse_size(v);
	else if (!strcmp(name, "--ranks"))
		opt->ranks = (int)parse_int(name, v, 1, MAX_RANKS);
	else if (!strcmp(name, "--seed"))
		opt->seed = parse_seed(v);
	else if (!strcmp(name, "--straggler"))
		parse_straggler(opt, v);
	else if (!strcmp(name, "--clock-skew-us"))
		opt->clock_skew_us = parse_int(name, v, 0, 1000000);
	else if (!strcmp(name, "--run-ahead-us"))
		opt->run_ahead_us = parse_int(name, v, 0, 1000000000);
	else if (!strcmp(name, "--truth"))
		opt->truth = v;
	else if (!strcmp(name, "--capture"))
		opt->capture = v;
	else if (!strcmp(name, "--checkpoint"))
		m->checkpoint = (enum checkpoint)parse_choice(name, v, checkpoint_names);
	else
		die(2, "unknown option '%s', see --help", name);
}

static bool is_valued(const char *name)
{
	static const char *const names[] = { "-o",	     "--kind",		"--vendor",
					     "--layout",     "--steps",		"--size",
					     "--ranks",	     "--seed",		"--truth",
					     "--straggler",  "--clock-skew-us", "--run-ahead-us",
					     "--checkpoint", "--capture" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void parse_option(struct model *m, struct job_options *opt, char **argv, int argc, int *i)
{
	const char *arg = argv[*i], *eq = strchr(arg, '=');
	char name[32];

	if (!strcmp(arg, "--stacks")) {
		m->stacks = true;
	} else if (!strcmp(arg, "--equal-ids")) {
		opt->equal_ids = true;
	} else if (!strcmp(arg, "--pipeline")) {
		m->pipeline = true;
	} else if (!strcmp(arg, "--epoch")) {
		m->epoch = true;
	} else if (!strncmp(arg, "--", 2) && eq && (size_t)(eq - arg) < sizeof(name)) {
		memcpy(name, arg, (size_t)(eq - arg));
		name[eq - arg] = '\0';
		parse_valued(m, opt, name, eq + 1);
	} else if (arg[0] != '-' || !is_valued(arg)) {
		die(2, "unknown argument '%s', see --help", arg);
	} else if (*i + 1 == argc) {
		die(2, "%s needs a value, see --help", arg);
	} else {
		parse_valued(m, opt, arg, argv[++*i]);
	}
}

static void check_options(const struct model *m, const struct job_options *opt)
{
	if ((m->checkpoint || m->pipeline) && m->kind != KIND_TRAIN)
		die(2, "--checkpoint and --pipeline are for --kind train");
	if (m->pipeline && opt->ranks < 2)
		die(2, "--pipeline needs --ranks");
	if (opt->capture && m->kind != KIND_DECODE)
		die(2, "--capture is for --kind decode");
	if (!opt->out)
		die(2, "no output given: -o FILE, see --help");
	if (opt->ranks > 1 && !strcmp(opt->out, "-"))
		die(2, "--ranks writes a directory, not standard output");
	if (opt->truth && opt->ranks == 1 && !strcmp(opt->truth, "-") && !strcmp(opt->out, "-"))
		die(2, "the trace and its facts cannot both go to standard output");
	for (int i = 0; i < opt->n_stragglers; i++)
		if (opt->stragglers[i].rank >= opt->ranks)
			die(2, "--straggler names rank %d of %d", opt->stragglers[i].rank,
			    opt->ranks);
}

/* The run that captured what the trace replays. */
static void write_capture(const struct model *of, const struct job_options *options)
{
	struct model m = { .kind = of->kind,
			   .vendor = of->vendor,
			   .layout = of->layout,
			   .epoch = of->epoch,
			   .world = of->world,
			   .ranks = of->ranks,
			   .stacks = true,
			   .capture = true };
	struct job_options opt = { .seed = options->seed,
				   .steps = 1,
				   .ranks = options->ranks,
				   .out = options->capture,
				   .suffix = "_capture.json" };

	model_init(&m);
	job_run(&m, &opt);
	model_free(&m);
}

int main(int argc, char **argv)
{
	struct model model = { 0 };
	struct job_options opt = { .seed = 1, .steps = 3, .ranks = 1, .suffix = "_trace.json" };

	/* A reader that goes away is a write error like any other. */
	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			if (fputs(usage, stdout) < 0 || fflush(stdout))
				die(1, "cannot write standard output: %s", strerror(errno));
			return 0;
		}
		parse_option(&model, &opt, argv, argc, &i);
	}
	check_options(&model, &opt);
	/* A lone training trace is one of a job of eight. */
	model.world = opt.ranks > 1 ? opt.ranks : model.kind == KIND_TRAIN ? 8 : 1;
	model.ranks = opt.ranks;
	model_init(&model);
	job_run(&model, &opt);
	if (opt.capture)
		write_capture(&model, &opt);
	model_free(&model);
	return 0;
}
