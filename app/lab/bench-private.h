/* Shared by the files of `gradloom bench`: options, a prepared graph, windows of measured time. */
#pragma once

#include "app/shared/command.h"
#include "engine/loom-lab.h"

typedef struct
{
  double median, min, max;
} BenchStats;

typedef gboolean (*BenchWork) (gpointer data, GError **error);

typedef struct
{
  const char *device, *executor, *precision;
  gint64 batch_size;
  int threads, windows;
  double seconds;
  gboolean tf32;
  gboolean json, tune;
  int ranks;                /* comm: 0: two; graph: the strategies of this number of ranks are compared */
  const char *over, *sizes; /* comm; NULL: both, the default sizes */
  LoomComm *comm;           /* the step is that of one of its ranks, batch_size that of a rank; NULL: not partitioned */
  LoomShards shards;        /* the sharding strategy of these ranks */
  gboolean plan_only;       /* reads no data and runs nothing */
  int replicas;             /* the batch is batch_size times this, divided among devices; 0: not divided */
  gboolean whole_batch;     /* the batch of that many replicas, on one device */
} BenchOptions;

/* The fit of a collective: seconds are per_call + bytes × per_byte. */
typedef struct
{
  double per_call, per_byte;
} BenchLine;

typedef struct
{
  LoomNet *net;
  LoomTrainSpec *spec;
  LoomStep *step;
  LoomMesh mesh; /* if the step is that of a rank */
  LoomDevices *devices;
  LoomState *state;
  LoomPlan *plan; /* if nothing is run */
  LoomExec *exec;
  LoomEager *eager;
  GPtrArray *batch; /* GPtrArray of LoomTensor, in the order of program inputs */
  guint next, loss;
  gboolean forward; /* a prediction is timed, not a training step; spec is NULL, and there is no loss */
  gboolean is_fed;  /* the next batch is being copied to the device */
  double last_loss;
  double plan_ms, check_ms; /* processor time to make the plan, and to check it without evaluation; 0: not measured */
} Bench;

void bench_clear (Bench *b);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

/* Median, minimum and maximum; sorts the numbers. */
BenchStats bench_stats (double *value, guint n);
/* Calls per second of a function, in n windows of `seconds` after a warm-up. */
gboolean
bench_measure (BenchWork work, gpointer data, guint windows, double seconds, BenchStats *stats, GError **error);
/* TRUE for an emulated GPU, whose times have no meaning for any device. */
gboolean bench_is_emulated (const LoomDeviceInfo *info);
/* Prints a row of `bench devices`: median, minimum and maximum, in the unit. */
void bench_show_row (const char *device, const char *what, gint64 size, const char *unit, const double in_unit[3],
                     const BenchOptions *o);
/* bench-launch.c: the cost of a kernel launch, for many consecutive launches and for one with synchronisation. */
gboolean bench_launches (LoomDevices *devices, const char *device, const BenchOptions *o, GError **error);
/* bench-layers.c: the algorithms of a device for the convolutions of well-known nets, and for matrix products. */
gboolean bench_layers (LoomDevices *devices, const char *device, const BenchOptions *o, GError **error);
/* Returns FALSE with USAGE for an emulated device. */
gboolean bench_may_be_timed (LoomDevices *devices, const char *device, GError **error);
/* Copies the next batch to the plan's inputs. */
void bench_feed (Bench *b);
/* The memory of a plan's first device, summed over owners. */
double bench_planned_bytes (const LoomPlan *plan);
gboolean bench_prepare (Bench *b, const char *path, const BenchOptions *o, double *ready_ms, GError **error);
/* Plans, or opens, the step's program on a device. bench_note_ready(): notes the time since start, and that of a check.
 */
gboolean bench_make_executor (Bench *b, const LoomGraph *graph, const char *device, guint64 seed, const BenchOptions *o,
                              GError **error);
void bench_note_ready (Bench *b, gint64 start, double *ready_ms);
/* bench-forward.c: TRUE if a graph names a loss; the prediction of one that does not. */
gboolean bench_has_loss (const LoomGraph *graph);
gboolean
bench_prepare_forward (Bench *b, const LoomGraph *graph, const BenchOptions *o, double *ready_ms, GError **error);

/* A row for each device (NULL: the graph's), executor and batch size (NULL: the graph's); a single combination is
 * printed in full. */
int bench_graph (const Command *command, const char *path, const BenchOptions *options, const char *const *devices,
                 const char *const *executors, const GArray *sizes);
int bench_tune (const Command *command, const char *path, const BenchOptions *o);
int bench_replicas (const Command *command, const char *path, const BenchOptions *o);
/* Compares strategies (NULL: data and all of ZeRO); memory: the limit for the largest batch, NULL: the memory of data
 * parallel training. */
int bench_ranks (const Command *command, const char *path, const BenchOptions *o, const char *strategies,
                 const char *memory);
int bench_devices (const Command *command, const BenchOptions *o);
int bench_machine (const Command *command, const BenchOptions *o);
/* Measures one row of `bench devices` by its name: the median in the row's unit. */
gboolean bench_devices_probe (const char *what, gint64 size, LoomDevices *devices, const char *device,
                              const BenchOptions *o, double *median, GError **error);
int bench_comm (const Command *command, const BenchOptions *o);

/* Runs the function once in each of n threads, as ranks that can communicate; an error of one ends all. */
typedef gboolean (*BenchRank) (LoomComm *comm, gpointer data, GError **error);
gboolean bench_run_ranks (int n, BenchRank work, gpointer data, GError **error);
/* Measures the cost of an all-reduce of these ranks at sizes in bytes (gint64); all ranks call it. */
gboolean bench_comm_line (LoomComm *comm, const GArray *sizes, int windows, BenchLine *line, GError **error);
