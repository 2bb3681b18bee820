/* Of the summary: the profiler's steps, and those of inference servers by phase. */
#include "cli/cli.h"
#include "cli/screen.h"

#include "render/escape.h"
#include "table/table.h"

#include <string.h>

static const struct trawl_column phases[] = {
	TW_TEXT("phase", 12, "what the steps do with their requests"),
	TW_INTEGER("steps", 8, "number of steps"),
	TW_INTEGER("tokens", 12, "new tokens"),
	TW_MS(TW_COL_BUSY_MS, 12, "GPU busy time of the work that they launched"),
	TW_PERCENT_1("of all busy (%)", 8, "share of the GPU busy time"),
	TW_MS(TW_COL_EXPOSED_COMMUNICATION_MS, 12, "communication less computing"),
	TW_MS(TW_COL_IDLE_MS, 12, "from first start to last end of each, less busy"),
	TW_REAL(TW_COL_MEDIAN_BUSY_MS, "ms", 3, 12, "busy time of a step, median"),
	TW_REAL(TW_COL_TOKENS_PER_S, "1/s", 1, 12, "tokens per second of busy time"),
};

static const struct tw_table_spec phases_spec = TW_SPEC(
	"phases", "inference steps by phase (work launched in them)", phases, .keep_empty = true);

static const char *const phase_sources[] = { "phase",
					     "steps",
					     "tokens",
					     TW_COL_BUSY_MS,
					     TW_COL_BUSY_PERCENT,
					     TW_COL_EXPOSED_COMMUNICATION_MS,
					     TW_COL_IDLE_MS,
					     TW_COL_MEDIAN_BUSY_MS,
					     TW_COL_TOKENS_PER_S };

void cli_add_steps(const struct trawl_report *report, struct cli_screen *s)
{
	const struct trawl_table *steps = trawl_report_find(report, "steps");
	const struct trawl_table *served = trawl_report_find(report, "phases_summary");
	/* The last note has the view. */
	size_t notes = steps ? trawl_table_notes(steps) - (trawl_report_view(report)[0] != 0) : 0;
	size_t i;

	if (notes)
		cli_add_heading(s, "profiler steps");
	for (i = 0; i < notes; i++) {
		const char *note = trawl_table_note(steps, i);
		struct tw_str line;

		tw_str_init(&line, trawl_allocator_default());
		tw_str_add_cstr(&line, "  ");
		tw_escape_terminal(&line, note, strlen(note));
		cli_add_line(s, &line, 4);
	}
	if (served)
		cli_add_table(s,
			      cli_first_rows(&phases_spec, served, phase_sources,
					     trawl_table_rows(served)),
			      phases_spec.meaning);
}
