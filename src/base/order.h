/* What comes first: for comparison functions. */
#ifndef TW_BASE_ORDER_H
#define TW_BASE_ORDER_H

/* -1, 0 or 1: a before b, equal, after it. */
#define TW_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Two structs by members, of which the first that differs decides:
 *
 *	return TW_ORDER_BY(x, y, process, tid, place);
 */
#define TW_ORDER_BY(x, y, ...)                                                         \
	TW_ORDER_BY_THESE(__VA_ARGS__, TW_ORDER_4, TW_ORDER_3, TW_ORDER_2, TW_ORDER_1) \
	(x, y, __VA_ARGS__)
#define TW_ORDER_BY_THESE(m1, m2, m3, m4, order, ...) order
#define TW_ORDER_1(x, y, m) TW_COMPARE((x)->m, (y)->m)
#define TW_ORDER_2(x, y, m, ...) (TW_ORDER_1(x, y, m) ?: TW_ORDER_1(x, y, __VA_ARGS__))
#define TW_ORDER_3(x, y, m, ...) (TW_ORDER_1(x, y, m) ?: TW_ORDER_2(x, y, __VA_ARGS__))
#define TW_ORDER_4(x, y, m, ...) (TW_ORDER_1(x, y, m) ?: TW_ORDER_3(x, y, __VA_ARGS__))

#endif
