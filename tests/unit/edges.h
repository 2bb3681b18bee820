/*
 * EDGE_OF(TW_LIMIT_NAME) stands where a test tries that row of data/limits.tsv just below and just above;
 * tests/cli/test_limits.py finds rows that have none.  What is expected has its own numbers.
 */
#ifndef TRAWL_TEST_EDGES_H
#define TRAWL_TEST_EDGES_H

#include "data/limits.h"

#define EDGE_OF(limit) ((void)(limit))

#endif
