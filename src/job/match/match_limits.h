/*
 * Thresholds of matching by order and of measuring clocks, each with its reason.
 *
 * Times of ends come from traces of one host: ends of a collective differ by 1 to 13 us over the
 * ranks of DLRM and ResNet jobs, by up to 35 us in made ones.
 */
#ifndef TW_JOB_MATCH_MATCH_LIMITS_H
#define TW_JOB_MATCH_MATCH_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum tw_match_limits {
	/* Ends this far apart, less the clocks' offset, agree: above all that was seen. */
	TW_MATCH_END_NOISE_NS = 50000,
	/* Where ends agree better than that, closer neighbours are distinct; never below it. */
	TW_MATCH_LEAST_NOISE_NS = 5000,
	/* So many times the median of what ends differ are taken for agreement. */
	TW_MATCH_NOISE_WIDTH = 6,
	/* So many times the noise ends of one collective are off at the very most, of kinds where
	 * none can end before all have come: among calls that are not as many on all ranks, and
	 * where each call is like the one in its place. */
	TW_MATCH_OFF = 2,
	TW_MATCH_OFF_IN_PLACE = 20,
	/* One in so many calls may seem out of its place where ends scatter. */
	TW_MATCH_MOVED = 20,
	/* Ends of one lane that tell a clock's offset before anything is matched by order. */
	TW_MATCH_CLOCK_SAMPLES = 1024,
	/* One end fits any offset, two fit by chance. */
	TW_MATCH_FEWEST_SAMPLES = 3,
	/* Calls of a rank that are tried at other places, and how far from where they stand: a
	 * recording that began later by more is found by its base time alone. */
	TW_MATCH_STRETCH = 256,
	TW_MATCH_SAMPLES = 32,
	TW_MATCH_FARTHEST = 4096,
	/* Offsets that are looked at over the whole lane. */
	TW_MATCH_OFFSETS = 8,
	/* How far from where it is looked for a call's partner may stand: where ends tell where
	 * to look, and where only order does. */
	TW_MATCH_NEAR = 8,
	TW_MATCH_FAR = 32,
};

#endif
