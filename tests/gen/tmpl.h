/*
 * Event templates: literal text with slots for the numbers that change. They
 * are written once in a canonical compact form and rendered at setup for the
 * chosen layout; emitting an event is then a few copies and numbers.
 *
 * In the canonical form '\n' is a line break of the native layout, '\t' six
 * blanks there (both vanish in the other layouts), '\v' is "no blank after
 * this comma" and bytes from 0x80 on are slots.
 */
#ifndef GEN_TMPL_H
#define GEN_TMPL_H

#include <stdint.h>

#include "out.h"

enum layout {
	LAYOUT_NATIVE,	/* line breaks and blanks as the profiler writes them */
	LAYOUT_COMPACT, /* no white space at all */
	LAYOUT_INDENT,	/* one value per line, two blanks a level */
};

enum slot {
	S_PID,
	S_TID,
	S_TS,	/* ns, printed as us with three decimals */
	S_DUR,	/* likewise */
	S_EXT,	/* external id */
	S_CORR, /* correlation */
	S_SEQ,	/* autograd sequence number */
	S_EV,	/* index of the event among the host events */
	S_DEV,
	S_STREAM,
	S_NUM, /* step number, module number */
	S_PYID,
	S_PYPAR, /* 0 is printed as null */
	S_BW,	 /* units of 1e-9, printed with nine decimals */
	S_ADDR,
	S_CSEQ, /* number of the collective in its group */
	S_FLOW,
	N_SLOTS,
};

/* The slots inside canonical text, in the order of enum slot. */
#define T_PID "\200"
#define T_TID "\201"
#define T_TS "\202"
#define T_DUR "\203"
#define T_EXT "\204"
#define T_CORR "\205"
#define T_SEQ "\206"
#define T_EV "\207"
#define T_DEV "\210"
#define T_STREAM "\211"
#define T_NUM "\212"
#define T_PYID "\213"
#define T_PYPAR "\214"
#define T_BW "\215"
#define T_ADDR "\216"
#define T_CSEQ "\217"
#define T_FLOW "\220"

struct piece {
	uint32_t off, len;
	int slot; /* follows the text; -1 for none */
};

struct tmpl {
	char *text;
	struct piece *pieces;
	uint32_t n;
	uint32_t max_len; /* of the emitted text */
};

/*
 * Renders canon into *t. depth is how many containers are open where the text
 * will stand; the text may open or close more than it closes or opens.
 */
void tmpl_compile(struct tmpl *t, const char *canon, enum layout layout, int depth);
void tmpl_free(struct tmpl *t);
void tmpl_emit(struct out *o, const struct tmpl *t, const int64_t v[N_SLOTS]);

#endif
