#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

struct trawl_defect *cli_trace_defects(const struct trawl_trace *trace, size_t *count)
{
	struct trawl_defect *list;
	size_t i;

	*count = trawl_trace_defects(trace);
	list = cli_alloc(*count + 1, sizeof(*list));
	for (i = 0; i < *count; i++)
		list[i] = trawl_trace_defect(trace, i);
	return list;
}

struct trawl_defect *cli_report_defects(const struct trawl_report *report, size_t *count)
{
	struct trawl_defect *list;
	size_t i;

	*count = trawl_report_defects(report);
	list = cli_alloc(*count + 1, sizeof(*list));
	for (i = 0; i < *count; i++)
		list[i] = trawl_report_defect(report, i);
	return list;
}

static void tell_defect(const char *path, const struct trawl_defect *defect)
{
	char place[192] = "", row[128];

	if (defect->table)
		snprintf(place, sizeof(place), ", first in %s",
			 trawl_defect_place(defect, row, sizeof(row)));
	else if (defect->offset >= 0)
		snprintf(place, sizeof(place), ", first at byte %lld", (long long)defect->offset);
	else if (defect->event >= 0)
		snprintf(place, sizeof(place), ", first at event %lld", (long long)defect->event);
	cli_message("%s: %s %s (%lld%s): %s", path, trawl_severity_name(defect->severity),
		    defect->kind, (long long)defect->count, place, defect->meaning);
}

void cli_tell_defects(const char *path, const struct trawl_defect *defects, size_t count,
		      const struct cli_common *common)
{
	size_t i;

	/* The summary on the terminal has the same lines. */
	if (common->quiet ||
	    (isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) && common->format == TW_FORMAT_TABLE))
		return;
	for (i = 0; i < count; i++)
		if (defects[i].severity != TRAWL_NOTE)
			tell_defect(path, &defects[i]);
}

int cli_defects_status(const struct trawl_defect *defects, size_t count)
{
	return count && defects[0].severity == TRAWL_LOST ? CLI_INCOMPLETE : CLI_DONE;
}

int cli_strict_status(const char *path, const struct trawl_defect *defects, size_t count)
{
	if (!count || defects[0].severity == TRAWL_NOTE)
		return CLI_DONE;
	tell_defect(path, &defects[0]);
	cli_message("%s: not accepted with --strict ('trawl check' lists all defects)", path);
	return CLI_FAILED;
}
