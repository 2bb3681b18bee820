#include "job/transport/work_sharing.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A process that works says that it is alive as often; see tw_cluster_patience(). */
#define ALIVE_MS 1000
#define LOOK_AGAIN_NS 1000000

/* ---- who does what */

static uint64_t larger_first(const void *context, uint32_t file)
{
	const struct tw_rank_set *set = context;

	return ~tw_sort_key(set->files[file].bytes);
}

/* Each file of a list to the process that has the least so far. */
static void assign_files(uint32_t *owner, const struct tw_rank_set *set, const uint32_t *list,
			 int64_t *loads, size_t processes)
{
	size_t i, p, least;

	for (i = 0; i < set->count; i++) {
		int64_t bytes = set->files[list[i]].bytes;

		for (p = 1, least = 0; p < processes; p++)
			if (loads[p] < loads[least])
				least = p;
		owner[list[i]] = (uint32_t)least;
		/* A file without bytes is work too, so that many of them are spread. */
		if (__builtin_add_overflow(loads[least], bytes > 0 ? bytes : 1, &loads[least]))
			loads[least] = INT64_MAX;
	}
}

int tw_share_files(uint32_t *owner, const struct tw_rank_set *set, size_t processes,
		   const struct trawl_allocator *allocator)
{
	uint32_t *list = tw_alloc_array(allocator, set->count, sizeof(*list));
	int64_t *loads = tw_alloc_array(allocator, processes, sizeof(*loads));
	int status = TRAWL_ENOMEM;
	size_t i;

	for (i = 0; i < set->count && list; i++)
		list[i] = (uint32_t)i;
	if (list && loads && !tw_sort(list, set->count, larger_first, set, allocator)) {
		assign_files(owner, set, list, loads, processes);
		status = 0;
	}
	tw_free(allocator, list, set->count * sizeof(*list));
	tw_free(allocator, loads, processes * sizeof(*loads));
	return status;
}

/* ---- messages: both sides begin a task in the same way */

static void pass_front(struct tw_wire *wire, enum tw_task task)
{
	if (tw_wire_number(wire, task, task) != task)
		tw_wire_fail(wire, TRAWL_EFORMAT);
	tw_wire_same(wire, trawl_version());
}

void tw_pass_file(struct tw_wire *wire, struct tw_rank_file *file)
{
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct tw_rank_file, bytes),
		TW_WIRE_FIELD(struct tw_rank_file, name_rank),
		TW_WIRE_FIELD(struct tw_rank_file, named),
	};
	/* With its NUL, so that the path can stay where it is. */
	size_t len = wire->out ? strlen(file->path) + 1 : 0;

	TW_WIRE_FIELDS(wire, file, fields);
	file->path = tw_wire_text(wire, file->path, &len);
	if (!len || memchr(file->path, 0, len) != file->path + len - 1)
		tw_wire_fail(wire, TRAWL_EFORMAT);
}

/* ---- process 0 */

struct sharing {
	const struct tw_shared_work *work;
	bool *there; /* by item, also of those skipped */
	size_t next; /* the first item that others have and is not there */
	struct other {
		size_t pending; /* items that it has not sent */
		int64_t heard_ms;
	} * others; /* by process */
	int processes, listened_to;
	struct tw_str message;
};

static void find_next(struct sharing *s)
{
	while (s->next < s->work->items &&
	       (s->there[s->next] || s->work->owner[s->next] == TW_CLUSTER_ROOT))
		s->next++;
}

static void note_arrival(struct sharing *s, uint32_t item)
{
	s->there[item] = true;
	s->others[s->work->owner[item]].pending--;
	find_next(s);
}

/* Whether an item is one that the process has to send, now. */
static bool is_due(const struct sharing *s, int process, uint64_t item)
{
	return item < s->work->items && s->work->owner[item] == (uint32_t)process &&
	       !s->there[item] && (!s->work->in_order || item == s->next);
}

static void leave_out(struct sharing *s, int process, uint32_t item, const char *why)
{
	char message[80];

	snprintf(message, sizeof(message), "process %d of %d%s", process, s->work->cluster->size,
		 why);
	s->work->leave_out(s->work->context, item, message);
}

static void leave_out_lost(struct sharing *s, int process)
{
	uint32_t item;

	for (item = 0; item < s->work->items; item++) {
		if (!is_due(s, process, item))
			continue;
		leave_out(s, process, item, s->work->lost);
		note_arrival(s, item);
	}
}

/* A letter: the number of its item, whether memory was out, and if it was not, what came of it. */
static void take_letter(struct sharing *s, int process)
{
	const struct tw_shared_work *work = s->work;
	struct tw_wire in = tw_wire_from(s->message.ptr, s->message.len);
	uint32_t item = (uint32_t)tw_wire_number(&in, 0, UINT32_MAX);
	bool no_memory = tw_wire_number(&in, 0, true);
	int status;

	/* One that is not what it should be is as if its sender were lost. */
	if (in.status || !is_due(s, process, item)) {
		tw_cluster_lose(work->cluster, process);
		return;
	}
	status = no_memory ? TRAWL_ENOMEM : work->take(work->context, item, &in);
	if (status)
		leave_out(s, process, item,
			  status == TRAWL_ENOMEM ? ": out of memory" : ": damaged message");
	note_arrival(s, item);
}

/* What the process has sent, if anything; true when it had. */
static bool look_at(struct sharing *s, int process)
{
	struct tw_cluster *cluster = s->work->cluster;
	struct other *other = &s->others[process];
	int64_t now = tw_cluster_clock_ms();
	bool there = false;

	if (cluster->lost[process]) {
		leave_out_lost(s, process);
		return true;
	}
	/* In order, those that it is not the turn of are not listened to. */
	if (s->work->in_order && s->listened_to != process)
		other->heard_ms = now;
	s->listened_to = process;
	tw_str_clear(&s->message);
	if (tw_cluster_receive(cluster, &process, 0, &there, &s->message, NULL)) {
		tw_cluster_lose(cluster, process);
	} else if (there) {
		other->heard_ms = now;
		if (s->message.len)
			take_letter(s, process);
	} else if (now - other->heard_ms > tw_cluster_patience(cluster)) {
		tw_cluster_lose(cluster, process);
	}
	return there;
}

/*
 * Until all have sent what they have; also what nobody wants any more, for they wait to be rid
 * of it.
 */
static void receive_letters(struct sharing *s)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };

	while (s->next < s->work->items) {
		bool any = false;
		int p;

		for (p = 1; p < s->processes; p++)
			if (s->others[p].pending &&
			    (!s->work->in_order || s->work->owner[s->next] == (uint32_t)p))
				any |= look_at(s, p);
		if (!any)
			nanosleep(&pause, NULL);
	}
}

static void send_task(struct sharing *s, int process)
{
	const struct tw_shared_work *work = s->work;
	struct tw_wire wire = tw_wire_to(&s->message);
	uint32_t item;

	tw_str_clear(&s->message);
	pass_front(&wire, work->task);
	tw_wire_number(&wire, s->others[process].pending, SIZE_MAX);
	for (item = 0; item < work->items; item++) {
		if (work->owner[item] != (uint32_t)process)
			continue;
		tw_wire_number(&wire, item, UINT32_MAX);
		work->pass_item(work->context, item, &wire);
	}
	if (s->message.failed ||
	    tw_cluster_send(work->cluster, process, s->message.ptr, s->message.len, NULL))
		tw_cluster_lose(work->cluster, process);
}

static void send_tasks(struct sharing *s)
{
	int64_t now = tw_cluster_clock_ms();
	int p;

	for (p = 1; p < s->processes; p++) {
		s->others[p].heard_ms = now;
		if (s->others[p].pending && !s->work->cluster->lost[p])
			send_task(s, p);
	}
}

static bool share_work(struct sharing *s)
{
	pthread_t worker;
	size_t i;

	/* Without a thread beside this one, which alone may talk to others, it works alone. */
	if (pthread_create(&worker, NULL, s->work->do_own, s->work->context))
		return false;
	for (i = 0; i < s->work->items; i++)
		s->others[s->work->owner[i]].pending++;
	find_next(s);
	send_tasks(s);
	receive_letters(s);
	pthread_join(worker, NULL);
	return true;
}

bool tw_share_work(const struct tw_shared_work *work)
{
	const struct trawl_allocator *a = work->allocator;
	struct sharing s = { .work = work, .processes = work->cluster->size };
	size_t processes = (size_t)s.processes;
	bool begun;

	tw_str_init(&s.message, a);
	s.there = tw_alloc_array(a, work->items, sizeof(*s.there));
	s.others = tw_alloc_array(a, processes, sizeof(*s.others));
	begun = s.there && s.others && share_work(&s);
	tw_free(a, s.there, work->items * sizeof(*s.there));
	tw_free(a, s.others, processes * sizeof(*s.others));
	tw_str_release(&s.message);
	return begun;
}

/* ---- a process that is led */

struct tw_letter {
	uint32_t number;
	struct tw_str bytes;
};

static void pass_letter_front(struct tw_wire *wire, uint32_t number, bool no_memory)
{
	tw_wire_number(wire, number, UINT32_MAX);
	tw_wire_number(wire, no_memory, true);
}

struct tw_wire tw_letter_begin(const struct tw_led_work *work, size_t place, struct tw_str *letter)
{
	struct tw_wire wire = tw_wire_to(letter);

	tw_str_init(letter, work->allocator);
	pass_letter_front(&wire, work->numbers[place], false);
	return wire;
}

void tw_letter_post(struct tw_led_work *work, size_t place, struct tw_str *letter)
{
	pthread_mutex_lock(&work->lock);
	while (work->posted - work->sent >= work->most_waiting)
		pthread_cond_wait(&work->changed, &work->lock);
	work->letters[work->posted++] = (struct tw_letter){ work->numbers[place], *letter };
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->lock);
}

/* The next letter to send; false when there is none after ALIVE_MS. */
static bool next_letter(struct tw_led_work *work, struct tw_letter *letter)
{
	bool there;

	pthread_mutex_lock(&work->lock);
	if (work->posted == work->sent)
		tw_cond_wait_ms(&work->changed, &work->lock, ALIVE_MS);
	there = work->posted > work->sent;
	if (there)
		*letter = work->letters[work->sent++];
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->lock);
	return there;
}

static int send_letter(struct tw_cluster *cluster, struct tw_letter *letter,
		       struct trawl_error *err)
{
	char room[32];
	struct tw_str brief = { .ptr = room, .capacity = sizeof(room) };
	struct tw_wire wire = tw_wire_to(&brief);

	if (!letter->bytes.failed)
		return tw_cluster_send(cluster, TW_CLUSTER_ROOT, letter->bytes.ptr,
				       letter->bytes.len, err);
	/* That memory is out needs none to say. */
	pass_letter_front(&wire, letter->number, true);
	return tw_cluster_send(cluster, TW_CLUSTER_ROOT, brief.ptr, brief.len, err);
}

/* Sends what is ready while others work; when that fails the rest is done for nobody. */
static int send_letters(struct tw_led_work *work, struct trawl_error *err)
{
	struct tw_letter letter;
	int status = 0;

	while (work->sent < work->count) {
		if (next_letter(work, &letter)) {
			if (!status)
				status = send_letter(work->cluster, &letter, err);
			tw_str_release(&letter.bytes);
		} else if (!status) {
			status = tw_cluster_send(work->cluster, TW_CLUSTER_ROOT, "", 0, err);
		}
	}
	return status;
}

static int do_work(struct tw_led_work *work, struct trawl_error *err)
{
	pthread_t worker;
	bool beside;
	int status;

	pthread_mutex_init(&work->lock, NULL);
	tw_cond_init(&work->changed);
	beside = !pthread_create(&worker, NULL, work->do_items, work->context);
	if (!beside) {
		work->most_waiting = work->count;
		work->do_items(work->context);
	}
	status = send_letters(work, err);
	if (beside)
		pthread_join(worker, NULL);
	pthread_cond_destroy(&work->changed);
	pthread_mutex_destroy(&work->lock);
	return status;
}

static int unpack_task(struct tw_led_work *work, struct tw_wire *in, struct trawl_error *err)
{
	size_t place;

	pass_front(in, work->task);
	if (in->status)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "processes have different versions of trawl");
	tw_wire_list(in, &work->numbers, &work->count, sizeof(*work->numbers), 1, work->allocator);
	if (!work->count && !in->status)
		return 0;
	work->letters = tw_alloc_array(work->allocator, work->count, sizeof(*work->letters));
	if (in->status == TRAWL_ENOMEM || !work->letters ||
	    work->make_room(work->context, work->count))
		return tw_no_memory(err);
	for (place = 0; place < work->count && !in->status; place++) {
		work->numbers[place] = (uint32_t)tw_wire_number(in, 0, UINT32_MAX);
		work->pass_item(work->context, place, in);
	}
	return in->status ?
		       trawl_error_set(err, TRAWL_EFORMAT, "damaged list of files from process 0") :
		       0;
}

int tw_do_task(struct tw_led_work *work, const char *task, size_t len, struct trawl_error *err)
{
	struct tw_wire in = tw_wire_from(task, len);
	int status = unpack_task(work, &in, err);

	if (!status && work->count)
		status = do_work(work, err);
	tw_free(work->allocator, work->numbers, work->count * sizeof(*work->numbers));
	tw_free(work->allocator, work->letters, work->count * sizeof(*work->letters));
	return status;
}
