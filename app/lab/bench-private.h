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
  int ranks;                /* comm: 0: two; of a graph: its strategies are compared */
  const char *over, *sizes; /* comm; NULL: both, the usual ones */
  LoomComm *comm;           /* the step is that of one of its ranks, batch_size that of a rank; NULL: undivided */
  LoomShards shards;        /* what such ranks divide */
  gboolean plan_only;       /* nothing is read and nothing run */
  int replicas;             /* the batch is batch_size times this, divided among devices; 0: it is not divided */
  gboolean whole_batch;     /* as large as for replicas, on one device */
} BenchOptions;

/* Of a collective: seconds are per_call + bytes × per_byte. */
typedef struct
{
  double per_call, per_byte;
} BenchLine;

typedef struct
{
  LoomNet *net;
  LoomTrainSpec *spec;
  LoomStep *step;
  LoomMesh mesh; /* if it is that of a rank */
  LoomDevices *devices;
  LoomState *state;
  LoomPlan *plan; /* if nothing is run */
  LoomExec *exec;
  LoomEager *eager;
  GPtrArray *batch; /* GPtrArray of LoomTensor, in the order of program inputs */
  guint next, loss;
  gboolean is_fed; /* the next batch is on its way to the device */
  double last_loss;
  double plan_ms, check_ms; /* of processor time: to make the plan, to check it without evaluations; 0: there is none */
} Bench;

void bench_clear (Bench *b);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

/* Median, least and most; sorts the numbers. */
BenchStats bench_stats (double *value, guint n);
/* Calls of work per second, in n windows of `seconds` after a warm-up. */
gboolean
bench_measure (BenchWork work, gpointer data, guint windows, double seconds, BenchStats *stats, GError **error);
/* The time of an emulated GPU has no meaning for any device, so it is not measured. */
gboolean bench_is_emulated (const LoomDeviceInfo *info);
/* A row of `bench devices`: median, least and most, in the unit. */
void bench_show_row (const char *device, const char *what, gint64 size, const char *unit, const double in_unit[3],
                     const BenchOptions *o);
/* bench-launch.c: what a kernel's launch costs, many in a row and one with waiting. */
gboolean bench_launches (LoomDevices *devices, const char *device, const BenchOptions *o, GError **error);
/* bench-layers.c: the ways in which a device computes the convolutions of well-known nets, and products. */
gboolean bench_layers (LoomDevices *devices, const char *device, const BenchOptions *o, GError **error);
/* An emulated device is refused. */
gboolean bench_may_be_timed (LoomDevices *devices, const char *device, GError **error);
/* The next batch to the plan. */
void bench_feed (Bench *b);
/* The memory of a plan's first device, summed over owners. */
double bench_planned_bytes (const LoomPlan *plan);
gboolean bench_prepare (Bench *b, const char *path, const BenchOptions *o, double *ready_ms, GError **error);

/* A row for each device (NULL: the graph's), executor and batch size (NULL: the graph's); one is written in full. */
int bench_graph (const Command *command, const char *path, const BenchOptions *options, const char *const *devices,
                 const char *const *executors, const GArray *sizes);
int bench_tune (const Command *command, const char *path, const BenchOptions *o);
int bench_replicas (const Command *command, const char *path, const BenchOptions *o);
/* Of strategies (NULL: all of data and ZeRO); memory: the limit for the largest batch, NULL: what data takes. */
int bench_ranks (const Command *command, const char *path, const BenchOptions *o, const char *strategies,
                 const char *memory);
int bench_devices (const Command *command, const BenchOptions *o);
int bench_comm (const Command *command, const BenchOptions *o);

/* Runs the work once in each of n threads, as ranks that can exchange values; an error of one ends all. */
typedef gboolean (*BenchRank) (LoomComm *comm, gpointer data, GError **error);
gboolean bench_run_ranks (int n, BenchRank work, gpointer data, GError **error);
/* What an all-reduce of these ranks costs, measured at sizes in bytes (gint64); called by all of them. */
gboolean bench_comm_line (LoomComm *comm, const GArray *sizes, int windows, BenchLine *line, GError **error);
