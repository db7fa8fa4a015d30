/* One random graph as the tests run it: read from its text, made into programs, walked node by node or planned, and
 * what comes out compared. What is wrong is collected as lines, so that a failing seed says everything at once. */
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
  GString *wrong; /* what was found, a line each */
} Case;

/* Clears the case. What is wrong is told, with the file that the graph is left in: as it was drawn by lot or, where
 * there is one, as it came to be. TRUE where nothing is. */
gboolean case_end (Case *c, const char *name, guint seed, gboolean as_it_is);
void case_complain (Case *c, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Reads, writes and reads again; the graph that goes on is the one that was written and read. */
void case_read (Case *c, const char *text);
LoomNet *case_net (Case *c);
/* Forward, backward with respect to weights and float inputs, and a step of sgd with momentum where there is one.
 * Outputs are what is wanted, the loss, and every gradient. NULL, and a complaint, where it cannot be built. */
LoomProgram *case_program (Case *c, LoomDType dtype, gboolean recompute);
/* Counts what only the data sizes, and binds it. */
gboolean case_bind_sizes (Case *c);

/* The data of a program's inputs. */
GPtrArray *case_tensors (Case *c, const LoomProgram *p);
/* Adds every slot of the state to the outputs, which it returns. */
GPtrArray *case_collect_state (LoomState *state, const LoomProgram *p, GPtrArray *results);
/* Outputs after two steps, then every slot of the state. NULL, and a complaint, where it does not run. */
GPtrArray *case_run_eager (Case *c, LoomProgram *p, const char *device);
GPtrArray *case_run_plan (Case *c, LoomProgram *p, const LoomPlanOptions *options);
GPtrArray *case_run_poisoned (Case *c, LoomProgram *p, const LoomPlanOptions *options);

/* got against truth, within `factor` times what `like` (the same in f32, node by node) is away, and `least` of the
 * size. Where `like` has no number any other value is right. */
void case_compare (Case *c, const LoomProgram *p, const char *what, GPtrArray *truth, GPtrArray *like, GPtrArray *got,
                   double factor, double least);
void case_compare_bits (Case *c, const LoomProgram *p, const char *what, GPtrArray *a, GPtrArray *b);
/* Largest absolute value of what is finite, and largest distance from another tensor there. */
void case_measure (const LoomTensor *x, const LoomTensor *y, double *scale, double *far);
