/* Reads the folder of a run: its graph, settings, weights, data preparation, cost table and checkpoints.
 *
 * A run's folder has graph.xml, run.json, data.ini, events.jsonl, weights and checkpoints/STEP. engine/train writes it
 * (run-folder.h); resuming, predicting and the commands read it through these functions. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/data/loom-dataset.h"
#include "engine/graph/loom-graph.h"
#include "engine/plan/loom-cost-table.h"

#define LOOM_RUN_GRAPH       "graph.xml"
#define LOOM_RUN_SETTINGS    "run.json"
#define LOOM_RUN_EVENTS      "events.jsonl" /* one line per event, locked while the run trains */
#define LOOM_RUN_DATA        "data.ini"     /* the text of loom_dataset_save() */
#define LOOM_RUN_CHECKPOINTS "checkpoints"
#define LOOM_RUN_HISTORY     "history" /* checkpoints by which a run can go back to any step */
/* Files of a checkpoint. */
#define LOOM_RUN_WEIGHTS   "weights.safetensors"
#define LOOM_RUN_OPTIMIZER "optimizer.safetensors"
#define LOOM_RUN_STATE     "state.json"
#define LOOM_RUN_COSTS     "costs.ini" /* the cost table that the run chooses kernels by, and its choices */

/* The folder that relative data paths of this graph file refer to: its own, or for a run's graph.xml that of the
 * trained graph, which is stored in run.json. (transfer full) */
char *loom_run_data_folder (const char *graph_path);
/* loom_graph_read_file() for a file or a run's folder, with that data folder. */
LoomGraph *loom_run_read_graph (const char *path, LoomFaults *faults, GError **error);
/* The settings of run.json: device (transfer full), threads, and the original number of ranks. */
typedef struct
{
  char *device;
  int threads, ranks;
} LoomRunSettings;
/* Reads the graph of the run in a folder, and its settings. Errors: DATA if there is no run, or a file is damaged. */
LoomGraph *loom_run_read (const char *folder, LoomRunSettings *settings, GError **error);
/* The weights that validation used: the moving averages if the run has them, else the newest ones. DATA if the run has
 * no checkpoint yet. (transfer full) */
char *loom_run_newest_weights (const char *folder, GError **error);
/* Sets the data set's vocabulary, names and normalisation to those of the run in a folder, if it has stored any. */
gboolean loom_run_restore_dataset (const char *folder, LoomDataset *dataset, GError **error);
/* Reads the cost table of the newest checkpoint, at or before step `last` (0: any) (transfer full); NULL if there is
 * none. *note: a sentence about tables that cannot be used, or NULL. IO if one cannot be read. */
gboolean loom_run_costs (const char *folder, gint64 last, LoomCostTable **costs, char **note, GError **error);
/* The steps of the checkpoints in that folder, gint64, the newest first. (transfer full) */
GArray *loom_run_checkpoint_steps (LoomFolder *checkpoints, GError **error);
/* The folder of one of them. (transfer full) */
LoomFolder *loom_run_checkpoint_enter (LoomFolder *checkpoints, gint64 step, GError **error);
