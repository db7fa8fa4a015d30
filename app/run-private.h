/* Shared by the files of `gradloom run`: one request, from its arguments to its output files.
 *
 * command-run.c parses the arguments, run-inputs.c resolves ports and reads inputs, run-program.c builds the program,
 * and run-step.c runs it and writes the outputs. */
#pragma once

#include "app/shared/command.h"

/* One --in, --out, --print, --wrt or --grad: a port, with a file or without. */
typedef struct
{
  char *port, *file;
  LoomNetSource source;
  LoomTensor *tensor; /* an input's, in the port's type; or the output that was written */
  LoomValue value;
  gboolean given;
} PortFile;

typedef struct
{
  const Command *command;
  /* options */
  char *weights, *grad, *grad_output, *grads, *mode, *device, *dtype, *save_weights, *shard_size_text;
  char **in, **out, **print, **wrt;
  gint64 seed;
  int threads;
  double shard_size; /* bytes; 0: one file */
  gboolean partial, json;
  /* work */
  const char *path;
  LoomGraph *graph;
  LoomFaults *faults;
  LoomNet *symbolic, *net;
  LoomBinding binding;
  const char *bound_by[26]; /* the --in that set a symbol's size; NULL: none, or something else */
  LoomDType float_dtype;
  guint64 seed_value;
  gboolean direct;              /* <train> forbids Winograd's algorithm */
  gboolean tf32;                /* <train> allows TF32 */
  gint64 batch_size;            /* of <train> */
  GPtrArray *ins, *outs, *wrts; /* PortFile; an output without a file is printed */
  PortFile *grad_port;
  GPtrArray *gradients; /* LoomNamedTensor, to be printed; else NULL */
  LoomTensor *cotangent;
  GHashTable *datasets; /* node → Dataset: open, or the reason why it is not */
  GPtrArray *data;      /* LoomTensor of dataset ports, kept while the step runs */
  LoomDevices *devices;
  LoomState *state;
  LoomProgram *program;
  LoomExec *exec;
  GPtrArray *files; /* written files that have not been renamed yet */
} Run;

gboolean run_check_faults (Run *r, GError **error);
gboolean run_open_graph (Run *r, const char *path, GError **error);
gboolean run_read_inputs (Run *r, GError **error);
void run_bind_batch (Run *r);
gboolean run_rebind (Run *r, GError **error);
gboolean run_check_bound (Run *r, GError **error);
/* The data set of a node, opened once and kept. Errors, such as DATA, name the node. */
LoomDataset *run_open_dataset (Run *r, guint node, GError **error);
LoomTensor *run_read_dataset_port (Run *r, guint node, guint port, GError **error);
gboolean run_is_trainable (const LoomNetWeight *weight);
LoomDType run_weight_dtype (Run *r, const LoomNetWeight *weight);
gboolean run_build_program (Run *r, GError **error);
gboolean run_save_weights (Run *r, GError **error);
/* Makes the state of the program, with the weights of the graph. Later calls do nothing. */
gboolean run_open_state (Run *r, LoomProgram *program, GError **error);
const char *run_device (const Run *r);
/* Sets every input of a program by its name. data is the Run. */
gboolean run_feed (LoomProgram *program, LoomExec *exec, gpointer data, GError **error);
gboolean run_execute (Run *r, GError **error);
gboolean run_write_outputs (Run *r, GError **error);
void run_print_outputs (Run *r);
/* The path to write a file to, which run_commit() renames to path; run_free() before that removes it. */
const char *run_stage (Run *r, const char *path);
gboolean run_commit (Run *r, GError **error);
/* Replaces temporary names in an error message by those that the user typed. */
void run_name_files (Run *r, GError *error);
gboolean run_write_gradients (Run *r, GError **error);
