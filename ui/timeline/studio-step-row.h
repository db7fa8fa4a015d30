/* The rows of the pane of what runs: a heading for each phase and a row for each instruction of the plan, from the
 * events of `gradloom plan --steps --json`. A list model without widgets. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "engine/train/loom-trace-times.h"

#define STUDIO_TYPE_STEP_ROW (studio_step_row_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepRow, studio_step_row, STUDIO, STEP_ROW, GObject)

struct _StudioStepRow
{
  GObject parent_instance;
  gboolean is_heading;
  guint phase;        /* 0 setup, 1 forward, 2 backward, 3 update */
  guint depth;        /* of an instruction in a loop's body: from 1 */
  char **nodes;       /* paths; none: it belongs to no layer */
  char *node, *label; /* node: the purpose of a step without one */
  char *title;        /* "12  conv1 + act", or of a heading "forward" */
  char *operations;   /* "conv2d+bias+relu · onednn brgconv · 3.4 MB · 0.31 ms", or the sums of a heading */
  char *buffers;      /* "x, conv1.weight → f32[64×16×28×28] @1024"; NULL: none */
  char *search;       /* case-folded */
  double bytes;
  double expected;             /* seconds of the plan; negative: unknown */
  const char *expected_source; /* as measured by bench, or estimated; static */
  char *kernel;
  guint number;
};

/* Whether the times of the rows are measured. */
typedef enum
{
  STUDIO_STEP_TIMES_NONE,
  STUDIO_STEP_TIMES_ESTIMATED, /* some are */
  STUDIO_STEP_TIMES_BENCH,
  STUDIO_STEP_TIMES_RUN
} StudioStepTimes;

/* events: JsonObject, or NULL. */
GListStore *studio_step_rows_new (GPtrArray *events);
/* Shows the times of a recorded step, or those of the plan again (NULL). Rows that differ are replaced by others, as a
 * list model's consumers expect. */
StudioStepTimes studio_step_rows_set_times (GListStore *rows, LoomTraceTimes *times);
/* One sentence for a screen reader. (transfer full) */
char *studio_step_row_describe (const StudioStepRow *row);
