/* Files in a zip archive, made in memory: fixed date, fixed order, nothing of this machine. */
#include "standalone/replay/replay.h"

#include "base/alloc.h"
#include "os/child.h"
#include "os/creation.h"

#include <zip.h>

/* The most that a zip archive can name. */
#define LATEST_YEAR 2107

/* Z_MEM_ERROR of zlib.h. */
#define ZLIB_NO_MEMORY (-4)

static bool is_memory_out(const zip_error_t *error)
{
	return zip_error_code_zip(error) == ZIP_ER_MEMORY ||
	       (zip_error_code_zip(error) == ZIP_ER_ZLIB &&
		zip_error_code_system(error) == ZLIB_NO_MEMORY);
}

static int zip_failed(zip_error_t *error, struct trawl_error *err)
{
	int status = is_memory_out(error) ?
			     tw_no_memory(err) :
			     trawl_error_set(err, TRAWL_EIO, "cannot make a zip archive: %s",
					     zip_error_strerror(error));

	zip_error_fini(error);
	return status;
}

/* As MS-DOS has it, in UTC: the archive must not depend on where it is made. */
static void dos_date(zip_uint16_t *date, zip_uint16_t *time)
{
	time_t now = tw_creation_time();
	struct tm tm;

	if (!gmtime_r(&now, &tm) || tm.tm_year + 1900 > LATEST_YEAR)
		tm = (struct tm){ .tm_year = LATEST_YEAR - 1900, .tm_mon = 11, .tm_mday = 31 };
	*date = (zip_uint16_t)((tm.tm_year - 80) << 9 | (tm.tm_mon + 1) << 5 | tm.tm_mday);
	*time = (zip_uint16_t)(tm.tm_hour << 11 | tm.tm_min << 5 | tm.tm_sec / 2);
}

static bool add_part(zip_t *archive, const struct tw_replay_part *part)
{
	zip_source_t *source = zip_source_buffer(archive, part->text->ptr, part->text->len, 0);
	zip_uint16_t date, time;
	zip_int64_t added;
	zip_uint64_t at;

	if (!source)
		return false;
	added = zip_file_add(archive, part->name, source, ZIP_FL_ENC_UTF_8);
	if (added < 0) {
		zip_source_free(source);
		return false;
	}
	at = (zip_uint64_t)added;
	dos_date(&date, &time);
	return !zip_set_file_compression(archive, at, ZIP_CM_DEFLATE, 9) &&
	       !zip_file_set_dostime(archive, at, time, date, 0) &&
	       !zip_file_set_external_attributes(archive, at, 0, ZIP_OPSYS_UNIX,
						 (zip_uint32_t)0100644 << 16);
}

/* The bytes of the finished archive. */
static bool take_bytes(zip_source_t *memory, struct tw_str *out)
{
	zip_stat_t stat;
	zip_int64_t got = -1;

	if (zip_source_stat(memory, &stat) || !(stat.valid & ZIP_STAT_SIZE) ||
	    zip_source_open(memory))
		return false;
	if (tw_str_reserve(out, stat.size))
		got = zip_source_read(memory, out->ptr + out->len, stat.size);
	zip_source_close(memory);
	if (got < 0 || (zip_uint64_t)got != stat.size)
		return out->failed;
	out->len += stat.size;
	out->ptr[out->len] = '\0';
	return true;
}

static int make_archive(const struct tw_replay_part *parts, size_t count, struct tw_str *out,
			struct trawl_error *err)
{
	zip_source_t *memory;
	zip_error_t error;
	zip_t *archive;
	size_t i;

	zip_error_init(&error);
	memory = zip_source_buffer_create(NULL, 0, 0, &error);
	if (!memory)
		return zip_failed(&error, err);
	archive = zip_open_from_source(memory, ZIP_TRUNCATE, &error);
	if (!archive) {
		zip_source_free(memory);
		return zip_failed(&error, err);
	}
	/* Ours too: closing the archive gives it back once. */
	zip_source_keep(memory);
	for (i = 0; i < count && add_part(archive, &parts[i]); i++)
		;
	if (i < count || zip_close(archive)) {
		zip_error_t *why = zip_get_error(archive);

		zip_error_set(&error, zip_error_code_zip(why), zip_error_code_system(why));
		zip_discard(archive);
	} else if (!take_bytes(memory, out)) {
		zip_error_t *why = zip_source_error(memory);

		zip_error_set(&error, zip_error_code_zip(why), zip_error_code_system(why));
	}
	zip_source_free(memory);
	if (zip_error_code_zip(&error) != ZIP_ER_OK)
		return zip_failed(&error, err);
	zip_error_fini(&error);
	return out->failed ? tw_no_memory(err) : 0;
}

int tw_replay_zip(const struct tw_replay_part *parts, size_t count, struct tw_str *out,
		  struct trawl_error *err)
{
	int status;

	tw_hold_forks();
	status = make_archive(parts, count, out, err);
	tw_allow_forks();
	return status;
}
