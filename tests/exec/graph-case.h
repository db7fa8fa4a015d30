/* One random graph as the tests run it: read from its text, compiled, run node by node or planned, and its results
 * compared. Differences are collected as lines, so that a failing seed reports all of them. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"
#include "tests/exec/random-graph.h"

#include "engine/net/loom-net.h"

typedef struct
{
  guint32 seed;
  RandomGraph *source;
  LoomGraph *graph;
  LoomBinding binding;
  gboolean training, update;
  LoomDevices *devices;
  GString *wrong; /* the differences, one per line */
} Case;

/* Clears the case. Prints the differences, with the path of the file to which the graph is written: as drawn or, if
 * there is one, as reduced. TRUE if there are none. */
gboolean case_end (Case *c, const char *name, guint seed, gboolean as_it_is);
void case_complain (Case *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Reads, writes and reads again; the test continues with the graph that was written and read. */
void case_read (Case *c, const char *text);
LoomNet *case_net (Case *c);
/* Forward, backward with respect to weights and float inputs, and a step of sgd with momentum if there are weights.
 * Outputs are the requested ports, the loss, and every gradient. NULL with a message if it cannot be built. */
LoomProgram *case_program (Case *c, LoomDType dtype, gboolean recompute);
/* Counts data-dependent sizes, and binds them. */
gboolean case_bind_sizes (Case *c);

/* The data of a program's inputs. */
GPtrArray *case_tensors (Case *c, const LoomProgram *p);
/* Adds every slot of the state to the outputs, which it returns. */
GPtrArray *case_collect_state (LoomState *state, const LoomProgram *p, GPtrArray *results);
/* Outputs after two steps, then every slot of the state. NULL with a message if it does not run. */
GPtrArray *case_run_eager (Case *c, LoomProgram *p, const char *device);
GPtrArray *case_run_plan (Case *c, LoomProgram *p, const LoomPlanOptions *options);
GPtrArray *case_run_poisoned (Case *c, LoomProgram *p, const LoomPlanOptions *options);

/* Compares got with truth: the distance may be `factor` times that of `like` (the same in f32, node by node), plus
 * `least` of the size. If `like` is not finite, any value is right. */
void case_compare (Case *c, const LoomProgram *p, const char *what, GPtrArray *truth, GPtrArray *like, GPtrArray *got,
                   double factor, double least);
void case_compare_bits (Case *c, const LoomProgram *p, const char *what, GPtrArray *a, GPtrArray *b);
/* The largest finite absolute value, and the largest distance from another tensor at finite elements. */
void case_measure (const LoomTensor *x, const LoomTensor *y, double *scale, double *far);
