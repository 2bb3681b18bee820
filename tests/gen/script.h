/* Shorthands in which the scripts are written. d is the depth of the line. */
#ifndef GEN_SCRIPT_H
#define GEN_SCRIPT_H

#include "model.h"

/* clang-format off: laid out by hand as the scripts are read */

#define OP(d, name, in)                    \
	{                                  \
		d, L_OP, 0, name, in, 0, 0 \
	}
#define SEQ(d, name, in)                       \
	{                                      \
		d, L_OP, F_SEQ, name, in, 0, 0 \
	}
#define GRAD(d, name, in)                               \
	{                                               \
		d, L_OP, F_SEQ | F_GRAD, name, in, 0, 0 \
	}
#define KERN(d, key)                          \
	{                                     \
		d, L_KERN, 0, key, NULL, 0, 0 \
	}
#define GKERN(d, key)                          \
	{                                      \
		d, L_GKERN, 0, key, NULL, 0, 0 \
	}
#define CALL(d, api)                             \
	{                                        \
		d, L_CALL, 0, NULL, NULL, 0, api \
	}
#define PY(d, name)                          \
	{                                    \
		d, L_PY, 0, name, NULL, 0, 0 \
	}
/* A frame of the program itself, not of a library. */
#define PROG(d, name)                                \
	{                                            \
		d, L_PY, F_PROGRAM, name, NULL, 0, 0 \
	}
#define MOD(d, name, mul, off)                                                  \
	{                                                                       \
		d, L_PY, F_MODULE, "nn.Module: " name "_" T_NUM, NULL, mul, off \
	}
#define ANN(d, name)                          \
	{                                     \
		d, L_ANN, 0, name, NULL, 0, 0 \
	}
#define WAIT(st, on)                             \
	{                                        \
		0, L_WAIT, 0, NULL, NULL, st, on \
	}
#define IDLE(us)                                \
	{                                       \
		0, L_IDLE, 0, NULL, NULL, 0, us \
	}
#define HOLD_ANN(name)                             \
	{                                          \
		0, L_ANN, F_HOLD, name, NULL, 0, 0 \
	}
#define HOLD_PY(name)                             \
	{                                         \
		0, L_PY, F_HOLD, name, NULL, 0, 0 \
	}
#define HOLD_PROG(name)                                       \
	{                                                     \
		0, L_PY, F_HOLD | F_PROGRAM, name, NULL, 0, 0 \
	}
#define HOLD_MOD(name, mul, off)                                                         \
	{                                                                                \
		0, L_PY, F_HOLD | F_MODULE, "nn.Module: " name "_" T_NUM, NULL, mul, off \
	}
#define HOLD_OP(name, in)                       \
	{                                       \
		0, L_OP, F_HOLD, name, in, 0, 0 \
	}
#define CLOSE                                   \
	{                                       \
		0, L_CLOSE, 0, NULL, NULL, 0, 0 \
	}

/* Engine event and node of one backward step; what is below stands at d + 2. */
#define BWD(d, node, in)                                                              \
	{ d, L_OP, F_BWD, "autograd::engine::evaluate_function: " node, NULL, 0, 0 }, \
	{                                                                             \
		(d) + 1, L_OP, F_BWD | F_NODE, node, in, 0, 0                         \
	}

#define EMPTY(d, dims) OP(d, "aten::empty", "L=[" dims "] s=15 - s=0 - -")
#define EMPTY_LIKE(d, dims) \
	OP(d, "aten::empty_like", "b[" dims "] - - - - s=0"), EMPTY((d) + 1, dims)

/* aten::t of a two-dimensional tensor and what it calls. */
#define TRANSPOSE2(d, flags, rows, cols)                                        \
	{ d, L_OP, flags, "aten::t", "b[" rows "," cols "]", 0, 0 },            \
		OP((d) + 1, "aten::transpose", "b[" rows "," cols "] s=0 s=1"), \
		OP((d) + 2, "aten::as_strided",                                 \
		   "b[" rows "," cols "] L=[" cols "," rows "] L=[1," cols "] s=0")

/* A collective from the main thread. */
#define COLLECTIVE(d, key)                                                                    \
	{ d, L_OP, F_COMM, "record_param_comms", key, 0, 0 },                                 \
		{ (d) + 1, L_ANN, F_COMM, NULL, key, 0, 0 }, CALL((d) + 2, API_IS_CAPTURING), \
		CALL((d) + 2, API_EVENT_RECORD), CALL((d) + 2, API_STREAM_WAIT),              \
		{ (d) + 2, L_COLL, 0, key, NULL, 0, 0 }, CALL((d) + 2, API_EVENT_RECORD)

/* clang-format on */

#endif
