/* `gradloom bench comm`: measures collectives by size, between threads of this process and between processes over MPI.
 *
 * The time of a call is that of the slowest rank, averaged over the calls of a window. Each collective is summarised by
 * two numbers of the alpha-beta model (Hockney, 1994): seconds per call, and bytes per second. */
#include "app/lab/bench-private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>


#define WINDOW    0.02 /* seconds, at most */
#define MAX_CALLS 100000

/* Memory of one rank: whole values, and the bytes of each rank's shard. */
typedef struct
{
  char *from, *to;
  int64_t *part; /* bytes, by rank */
} Room;

typedef LoomStatus (*CollectiveCall) (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message);

static LoomStatus
call_barrier (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message)
{
  return comm->barrier (comm, message);
}

static LoomStatus
call_broadcast (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message)
{
  return comm->broadcast (comm, room->to, bytes, 0, message);
}

/* bytes is the size of the result: each rank sends its shard of it. */
static LoomStatus
call_all_gather (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message)
{
  for (int k = 0; k < comm->size; k++)
    room->part[k] = loom_comm_shard (bytes, k, comm->size).count;
  return comm->all_gather (comm, room->from, room->to, room->part, message);
}

static LoomStatus
call_all_reduce (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message)
{
  return comm->all_reduce (comm, room->from, room->to, bytes / 4, LOOM_F32, LOOM_REDUCE_SUM, message);
}

/* Sends as the stages of a pipeline do: each rank to the next one, and receives from the previous one. */
static LoomStatus
call_send (LoomComm *comm, Room *room, gint64 bytes, LoomMessage *message)
{
  LoomStatus status = comm->send (comm, room->from, bytes, (comm->rank + 1) % comm->size, 0, message);

  return status == LOOM_STATUS_OK
             ? comm->receive (comm, room->to, bytes, (comm->rank + comm->size - 1) % comm->size, 0, message)
             : status;
}

/* The bus factor: for n ranks and any algorithm, the slowest link carries at least this many times the value's bytes.
 */
static double
bus_once (int n)
{
  return 1;
}

static double
bus_gather (int n)
{
  return (n - 1.0) / n;
}

static double
bus_reduce (int n)
{
  return 2 * (n - 1.0) / n;
}

static const struct
{
  const char *name;
  CollectiveCall call;
  double (*bus) (int n); /* NULL: the collective transfers no values */
} collectives[] = {
  { "barrier", call_barrier, NULL },
  { "send", call_send, bus_once },
  { "broadcast", call_broadcast, bus_once },
  { "all_gather", call_all_gather, bus_gather },
  { "all_reduce", call_all_reduce, bus_reduce },
};

static gboolean
ok (LoomStatus status, const LoomMessage *message, GError **error)
{
  return status == LOOM_STATUS_OK || loom_error_of_ranks (message->text, error);
}

/* ---- measuring ------------------------------------------------------------- */

/* Returns the seconds of `calls` calls on the slowest rank; all ranks return the same number. */
static gboolean
time_calls (LoomComm *comm, guint c, Room *room, gint64 bytes, gint64 calls, double *seconds, GError **error)
{
  LoomMessage message = { "" };
  LoomStatus status = comm->barrier (comm, &message);
  gint64 start = loom_monotonic ();

  for (gint64 i = 0; i < calls && status == LOOM_STATUS_OK; i++)
    status = collectives[c].call (comm, room, bytes, &message);
  double own = (double)(loom_monotonic () - start) / G_USEC_PER_SEC;

  if (status == LOOM_STATUS_OK)
    status = comm->all_reduce (comm, &own, seconds, 1, LOOM_F64, LOOM_REDUCE_MAX, &message);
  return ok (status, &message, error);
}

/* The clock has a resolution of microseconds, so the number of calls per window is first doubled until they take 1000
 * µs. */
static gboolean
measure_one (LoomComm *comm, guint c, Room *room, gint64 bytes, const BenchOptions *o, BenchStats *stats,
             GError **error)
{
  g_autofree double *seconds = g_new (double, o->windows);
  const double window = MIN (o->seconds, WINDOW);
  gint64 calls = 1;
  double all;

  for (;; calls *= 2)
    {
      if (!time_calls (comm, c, room, bytes, calls, &all, error))
        return FALSE;
      if (all >= MIN (window, 1e-3) || calls >= MAX_CALLS)
        break;
    }
  calls = CLAMP ((gint64)((double)calls * window / MAX (all, 1e-6)), 1, MAX_CALLS);
  for (int w = 0; w < o->windows; w++)
    {
      if (!time_calls (comm, c, room, bytes, calls, &seconds[w], error))
        return FALSE;
      seconds[w] /= (double)calls;
    }
  *stats = bench_stats (seconds, o->windows);
  return TRUE;
}

/* Fits the seconds per call and per byte of a line with the smallest squared relative errors. */
static BenchLine
fit_line (const BenchStats *stats, const GArray *sizes)
{
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, det;
  BenchLine line;

  for (guint i = 0; i < sizes->len; i++)
    {
      double x = (double)g_array_index (sizes, gint64, i), y = stats[i].median, weight = 1 / MAX (y * y, 1e-18);

      w += weight;
      wx += weight * x;
      wxx += weight * x * x;
      wy += weight * y;
      wxy += weight * x * y;
    }
  det = w * wxx - wx * wx;
  line.per_byte = det > 1e-9 * w * wxx ? MAX ((w * wxy - wx * wy) / det, 0) : 0;
  line.per_call = MAX ((wy - line.per_byte * wx) / w, 0);
  return line;
}

static gboolean
room_init (Room *room, LoomComm *comm, gint64 most, GError **error)
{
  int lacking = 0, any = 0;
  LoomMessage message = { "" };

  room->from = g_try_malloc0 (most);
  room->to = g_try_malloc0 (most);
  room->part = g_new0 (int64_t, comm->size);
  lacking = room->from == NULL || room->to == NULL;
  /* All end together. */
  if (!ok (comm->all_reduce (comm, &lacking, &any, 1, LOOM_I32, LOOM_REDUCE_MAX, &message), &message, error))
    return FALSE;
  if (any)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
                 "Out of memory for two values of %" G_GINT64_FORMAT " bytes in each rank. Choose smaller --sizes.",
                 most);
  return !any;
}

static void
room_clear (Room *room)
{
  g_free (room->from);
  g_free (room->to);
  g_free (room->part);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Room, room_clear)

/* ---- output --------------------------------------------------------- */

static void
print_row (LoomComm *comm, guint c, gint64 bytes, const BenchStats *s, gboolean as_json)
{
  const double bus = collectives[c].bus != NULL ? collectives[c].bus (comm->size) : 0;
  const double rate = collectives[c].bus != NULL ? (double)bytes / s->median : 0;
  g_autofree char *size = collectives[c].bus != NULL ? loom_bytes_to_string ((double)bytes) : g_strdup ("");

  if (as_json)
    {
      LoomJson *json = command_event_new ("collective");

      loom_json_string (json, "over", comm->name);
      loom_json_int (json, "ranks", comm->size);
      loom_json_string (json, "collective", collectives[c].name);
      loom_json_int (json, "bytes", collectives[c].bus != NULL ? bytes : 0);
      loom_json_number (json, "seconds", s->median);
      loom_json_number (json, "min", s->min);
      loom_json_number (json, "max", s->max);
      loom_json_number (json, "bytes_per_second", rate);
      loom_json_number (json, "bus_bytes_per_second", rate * bus);
      command_event_print (json);
    }
  else if (collectives[c].bus == NULL)
    printf ("%-11s %9s %10.1f %10.1f %10.1f\n", collectives[c].name, size, s->median * 1e6, s->min * 1e6, s->max * 1e6);
  else
    printf ("%-11s %9s %10.1f %10.1f %10.1f %8.3f %8.3f\n", collectives[c].name, size, s->median * 1e6, s->min * 1e6,
            s->max * 1e6, rate * 1e-9, rate * bus * 1e-9);
  command_flush ();
}

static void
print_line (LoomComm *comm, guint c, const BenchLine *line, gboolean as_json)
{
  if (as_json)
    {
      LoomJson *json = command_event_new ("line");

      loom_json_string (json, "over", comm->name);
      loom_json_int (json, "ranks", comm->size);
      loom_json_string (json, "collective", collectives[c].name);
      loom_json_number (json, "seconds_per_call", line->per_call);
      loom_json_number (json, "seconds_per_byte", line->per_byte);
      command_event_print (json);
    }
  else if (line->per_byte > 0)
    printf ("%-11s about %.1f µs + bytes / %.2f GB/s\n", collectives[c].name, line->per_call * 1e6,
            1e-9 / line->per_byte);
  command_flush ();
}

/* Runs on every rank; rank 0 prints. */
static gboolean
measure_all (LoomComm *comm, const BenchOptions *o, const GArray *sizes, GError **error)
{
  g_auto (Room) room = { 0 };
  g_autofree BenchStats *stats = g_new0 (BenchStats, sizes->len);
  BenchLine line[G_N_ELEMENTS (collectives)] = { 0 };
  gint64 most = 0;

  for (guint i = 0; i < sizes->len; i++)
    most = MAX (most, g_array_index (sizes, gint64, i));
  if (!room_init (&room, comm, most, error))
    return FALSE;
  if (comm->rank == 0 && !o->json)
    printf ("%d ranks, %s; medians of %d windows\n%-11s %9s %10s %10s %10s %8s %8s\n", comm->size,
            g_str_equal (comm->name, "threads") ? "threads of one process" : "processes over MPI", o->windows,
            "collective", "bytes", "µs", "min", "max", "GB/s", "bus GB/s");
  for (guint c = 0; c < G_N_ELEMENTS (collectives); c++)
    {
      for (guint i = 0; i < (collectives[c].bus != NULL ? sizes->len : 1); i++)
        {
          gint64 bytes = g_array_index (sizes, gint64, i);

          if (!measure_one (comm, c, &room, bytes, o, &stats[i], error))
            return FALSE;
          if (comm->rank == 0)
            print_row (comm, c, bytes, &stats[i], o->json);
        }
      if (collectives[c].bus != NULL)
        line[c] = fit_line (stats, sizes);
    }
  for (guint c = 0; c < G_N_ELEMENTS (collectives) && comm->rank == 0; c++)
    if (collectives[c].bus != NULL)
      print_line (comm, c, &line[c], o->json);
  return TRUE;
}

gboolean
bench_comm_line (LoomComm *comm, const GArray *sizes, int windows, BenchLine *line, GError **error)
{
  const BenchOptions o = { .windows = windows, .seconds = WINDOW / 4 };
  const guint c = G_N_ELEMENTS (collectives) - 1; /* all_reduce */
  g_auto (Room) room = { 0 };
  g_autofree BenchStats *stats = g_new0 (BenchStats, sizes->len);
  gint64 most = 0;

  for (guint i = 0; i < sizes->len; i++)
    most = MAX (most, g_array_index (sizes, gint64, i));
  if (!room_init (&room, comm, most, error))
    return FALSE;
  for (guint i = 0; i < sizes->len; i++)
    if (!measure_one (comm, c, &room, g_array_index (sizes, gint64, i), &o, &stats[i], error))
      return FALSE;
  *line = fit_line (stats, sizes);
  return TRUE;
}

/* ---- ranks ------------------------------------------------------------------ */

typedef struct
{
  LoomComm *comm;
  BenchRank work;
  gpointer data;
  GError *error;
} ThreadRank;

static gpointer
run_rank (gpointer data)
{
  ThreadRank *rank = data;

  if (!rank->work (rank->comm, rank->data, &rank->error))
    rank->comm->abort (rank->comm, rank->error->message);
  return NULL;
}

gboolean
bench_run_ranks (int n, BenchRank work, gpointer data, GError **error)
{
  g_autofree LoomComm **comm = g_new0 (LoomComm *, n);
  g_autofree ThreadRank *rank = g_new0 (ThreadRank, n);
  g_autofree GThread **thread = g_new0 (GThread *, n);
  LoomMessage message = { "" };
  gboolean fine = TRUE;

  if (!ok (loom_comm_threads_new (n, comm, &message), &message, error))
    return FALSE;
  for (int k = 0; k < n; k++)
    {
      rank[k] = (ThreadRank){ .comm = comm[k], .work = work, .data = data };
      thread[k] = k > 0 ? g_thread_new ("rank", run_rank, &rank[k]) : NULL;
    }
  run_rank (&rank[0]);
  for (int k = 1; k < n; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < n; k++)
    {
      comm[k]->free (comm[k]);
      if (rank[k].error != NULL && fine)
        g_propagate_error (error, rank[k].error);
      else
        g_clear_error (&rank[k].error);
      fine = fine && (error == NULL || *error == NULL);
    }
  return fine;
}

typedef struct
{
  const BenchOptions *options;
  const GArray *sizes;
} CommWork;

static gboolean
work_of_rank (LoomComm *comm, gpointer data, GError **error)
{
  const CommWork *work = data;

  return measure_all (comm, work->options, work->sizes, error);
}

/* Runs one process of MPI. */
static int
be_rank (const Command *command, const BenchOptions *o, const GArray *sizes)
{
  g_autoptr (GError) error = NULL;
  LoomComm *comm = loom_dist_join (&error);
  int status = 0;

  if (comm == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (o->ranks > 0 && o->ranks != comm->size)
    status = comm->rank == 0 ? command_usage (command, "--ranks is %d, but the launcher has started %d ranks.",
                                              o->ranks, comm->size)
                             : 2;
  else if (!measure_all (comm, o, sizes, &error))
    {
      gboolean lost = g_error_matches (error, LOOM_ERROR, LOOM_ERROR_DIST);

      status = comm->rank == 0 || lost ? command_fail (command, g_steal_pointer (&error)) : 3;
      if (lost)
        comm->abort (comm, "");
    }
  comm->free (comm);
  return status;
}

static int
launch_mpi (const Command *command, const BenchOptions *o, int ranks)
{
  g_autofree char *windows = g_strdup_printf ("%d", o->windows), *seconds = g_strdup_printf ("%g", o->seconds);
  const char *argv[] = { "gradloom", "bench",     "comm",  "--over",  "mpi",    "--windows",
                         windows,    "--seconds", seconds, "--sizes", o->sizes, o->json ? "--json" : NULL,
                         NULL };
  g_autoptr (GError) error = NULL;
  LoomDistEnd end;
  int status;

  if (!command_flush ())
    return 5;
  status = loom_dist_launch (&(LoomDistLaunch){ .ranks = ranks }, (char *const *)argv, &end, &error);
  if (error == NULL && end.lost)
    {
      g_autofree char *what = loom_dist_lost_text (&end);

      fprintf (stderr, "gradloom %s: %s, and the other ranks with it.\n", command->name, what);
    }
  return error != NULL ? command_fail (command, g_steal_pointer (&error)) : status;
}

/* Parses the sizes "8,4k,1M", each a multiple of 4 bytes; NULL if the text is not valid. */
static GArray *
read_bytes (const char *text)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_auto (GStrv) word = g_strsplit (text, ",", -1);

  for (guint i = 0; word[i] != NULL; i++)
    {
      double bytes;
      gint64 n;

      if (!loom_bytes_parse (g_strstrip (word[i]), &bytes) || bytes > G_MAXINT32 || fmod (bytes, 4) != 0)
        return NULL;
      n = (gint64)bytes;
      g_array_append_val (sizes, n);
    }
  return sizes->len > 0 ? g_steal_pointer (&sizes) : NULL;
}

int
bench_comm (const Command *command, const BenchOptions *options)
{
  BenchOptions o = *options;
  const int ranks = o.ranks > 0 ? o.ranks : 2;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) sizes = NULL;

  if (o.sizes == NULL)
    o.sizes = "8,80,800,8k,80k,800k,8M,80M";
  sizes = read_bytes (o.sizes);
  if (sizes == NULL)
    return command_usage (command,
                          "--sizes takes numbers of bytes that are multiples of 4 and less than 2 GB, such as "
                          "8,4k,1M, not “%s”.",
                          o.sizes);
  if (o.over != NULL && !g_str_equal (o.over, "threads") && !g_str_equal (o.over, "mpi"))
    return command_usage (command, "--over takes threads or mpi (default: both), not “%s”.", o.over);
  if (loom_dist_is_rank ())
    return o.over != NULL && g_str_equal (o.over, "threads")
               ? command_usage (command, "mpirun has started this process as a rank of MPI. Leave out --over threads, "
                                         "or start without mpirun.")
               : be_rank (command, &o, sizes);
  if (loom_dist_lacks_mpi (&error))
    return command_fail (command, g_steal_pointer (&error));
  if (ranks < 2 || ranks > 1024)
    return command_usage (command, "--ranks takes a number from 2 to 1024.");
  if (o.over == NULL || g_str_equal (o.over, "threads"))
    {
      CommWork work = { &o, sizes };

      if (!bench_run_ranks (ranks, work_of_rank, &work, &error))
        return command_fail (command, g_steal_pointer (&error));
    }
  if (o.over != NULL && g_str_equal (o.over, "threads"))
    return 0;
  if (o.over == NULL && !o.json)
    putchar ('\n');
  return launch_mpi (command, &o, ranks);
}
