/* Reads the folder of a run: its graph, settings, weights, data preparation, cost table and checkpoints.
 *
 * A run's folder has graph.xml, run.json, data.ini, events.jsonl, weights and checkpoints/STEP. engine/train writes it
 * (run-folder.h); resuming, predicting and the commands read it through these functions. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/data/loom-dataset.h"
#include "engine/graph/loom-graph.h"
#include "engine/plan/loom-cost-table.h"

G_BEGIN_DECLS

#define LOOM_RUN_GRAPH       "graph.xml"
#define LOOM_RUN_SETTINGS    "run.json"
#define LOOM_RUN_EVENTS      "events.jsonl" /* a line for each event, locked while the run trains */
#define LOOM_RUN_DATA        "data.ini"     /* the text of loom_dataset_save() */
#define LOOM_RUN_CHECKPOINTS "checkpoints"
/* Files of a checkpoint. */
#define LOOM_RUN_WEIGHTS   "weights.safetensors"
#define LOOM_RUN_OPTIMIZER "optimizer.safetensors"
#define LOOM_RUN_STATE     "state.json"
#define LOOM_RUN_COSTS     "costs.ini" /* the cost table that the run chooses kernels by, and the kernels it chose */

/* The folder that data paths of this graph file are relative to: its own, but for a run's graph.xml the folder of the
 * graph that was trained, which run.json keeps. (transfer full) */
char *loom_run_data_folder (const char *graph_path);
/* loom_graph_read_file() for a file or a run's folder, with that data folder. */
LoomGraph *loom_run_read_graph (const char *path, LoomFaults *faults, GError **error);
/* The settings of run.json: device (transfer full), threads, and the number of ranks that the run began with. */
typedef struct
{
  char *device;
  int threads, ranks;
} LoomRunSettings;
/* The graph of the run in a folder, and its settings. Errors: DATA if there is no run, or a file is damaged. */
LoomGraph *loom_run_read (const char *folder, LoomRunSettings *settings, GError **error);
/* The weights that validation was computed from: the moving averages if the run keeps them, else the newest ones.
 * DATA if the run has no checkpoint yet. (transfer full) */
char *loom_run_newest_weights (const char *folder, GError **error);
/* The data set's vocabulary, names and normalisation become those of the run in a folder. A run that kept none changes
 * nothing. */
gboolean loom_run_restore_dataset (const char *folder, LoomDataset *dataset, GError **error);
/* The cost table of the newest checkpoint; NULL if there is none. *note: a sentence about a table that cannot be used,
 * or NULL. */
LoomCostTable *loom_run_costs (const char *folder, char **note);
/* The steps of the checkpoints in that folder, gint64, the newest first; of NULL none. (transfer full) */
GArray *loom_run_checkpoint_steps (LoomFolder *checkpoints);
/* The folder of one of them. (transfer full) */
LoomFolder *loom_run_checkpoint_enter (LoomFolder *checkpoints, gint64 step, GError **error);

G_END_DECLS
