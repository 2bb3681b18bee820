#include "job/merge/ordered_output.h"

#include "base/alloc.h"

#define PAGE_BYTES ((size_t)1 << 20)

struct tw_page {
	struct tw_page *next;
	size_t size, used; /* of `text` */
	char text[];
};

void tw_turns_init(struct tw_turns *turns, struct tw_deflate *out, size_t most_waiting)
{
	*turns = (struct tw_turns){ .out = out, .most_waiting = most_waiting };
	pthread_mutex_init(&turns->lock, NULL);
	pthread_cond_init(&turns->changed, NULL);
}

void tw_turns_destroy(struct tw_turns *turns)
{
	pthread_cond_destroy(&turns->changed);
	pthread_mutex_destroy(&turns->lock);
}

void tw_lines_init(struct tw_lines *lines, struct tw_turns *turns, size_t number,
		   const struct trawl_allocator *allocator)
{
	*lines = (struct tw_lines){ .allocator = allocator, .turns = turns, .number = number };
}

static void free_page(struct tw_lines *lines, struct tw_page *page)
{
	tw_free(lines->allocator, page, sizeof(*page) + page->size);
}

/* Whether it is this turn; `wait`: it is, in the end. */
static bool is_turn(struct tw_turns *turns, size_t number, bool wait)
{
	bool mine;

	pthread_mutex_lock(&turns->lock);
	while (wait && turns->turn != number)
		pthread_cond_wait(&turns->changed, &turns->lock);
	mine = turns->turn == number;
	pthread_mutex_unlock(&turns->lock);
	return mine;
}

static void end_turn(struct tw_turns *turns)
{
	pthread_mutex_lock(&turns->lock);
	turns->turn++;
	pthread_cond_broadcast(&turns->changed);
	pthread_mutex_unlock(&turns->lock);
}

/* Nobody else writes while it is our turn. */
static void write_events(struct tw_turns *turns, const char *text, size_t len, bool *begun)
{
	if (!len)
		return;
	if (!*begun && turns->any)
		tw_deflate_write(turns->out, ",\n", 2);
	*begun = turns->any = true;
	tw_deflate_write(turns->out, text, len);
}

void tw_turns_write(struct tw_turns *turns, size_t number, const char *text, size_t len)
{
	bool begun = false;

	is_turn(turns, number, true);
	write_events(turns, text, len, &begun);
	end_turn(turns);
}

/* Writes the pages that wait. */
static void write_pages(struct tw_lines *lines)
{
	struct tw_page *page = lines->first, *next;

	for (; page; page = next) {
		next = page->next;
		write_events(lines->turns, page->text, page->used, &lines->begun);
		free_page(lines, page);
	}
	lines->first = lines->last = NULL;
	lines->waiting = 0;
}

static void close_page(struct tw_lines *lines)
{
	if (!lines->last)
		return;
	lines->last->used = (size_t)(lines->p - lines->last->text);
	lines->waiting += lines->last->used;
}

bool tw_lines_more(struct tw_lines *lines, size_t need)
{
	size_t size = need > PAGE_BYTES ? need : PAGE_BYTES;
	struct tw_page *page;

	if (lines->failed)
		return false;
	close_page(lines);
	if (is_turn(lines->turns, lines->number, lines->waiting >= lines->turns->most_waiting))
		write_pages(lines);
	page = tw_alloc(lines->allocator, sizeof(*page) + size);
	if (!page) {
		/* What follows is dropped: there is never room again. */
		lines->p = lines->end = NULL;
		lines->failed = true;
		return false;
	}
	page->next = NULL;
	page->size = size;
	page->used = 0;
	if (lines->last)
		lines->last->next = page;
	else
		lines->first = page;
	lines->last = page;
	lines->p = page->text;
	lines->end = page->text + size;
	return true;
}

void tw_lines_end(struct tw_lines *lines)
{
	if (!lines->failed)
		close_page(lines);
	is_turn(lines->turns, lines->number, true);
	write_pages(lines);
	end_turn(lines->turns);
}

void tw_lines_take(struct tw_lines *lines, struct tw_str *out)
{
	struct tw_page *page, *next;

	if (!lines->failed)
		close_page(lines);
	out->failed |= lines->failed;
	tw_str_reserve(out, lines->waiting);
	for (page = lines->first; page; page = next) {
		next = page->next;
		tw_str_add(out, page->text, page->used);
		free_page(lines, page);
	}
}
