/* A worker for tests: spawned, with calls over its pipes, and the signals that it sent. */
#pragma once

#include <gio/gio.h>

#include "data/loom-worker-magic.h"
#include "loom-worker-bus.h"

#define WAIT_MS 300000

typedef struct
{
  GPid pid;
  int in, out; /* the worker's standard input and output, at our end */
  GDBusConnection *connection;
  LoomBusWorker1 *bus;
  char *folder;
  /* recorded from signals */
  GString *states;
  char *state, *message, *problem, *failed_node;
  gint64 points, last_step, evals, checkpoints;
  double last_loss, last_lr, base_lr;
  double at_least; /* the requested duration; 0: not used */
  gboolean memory, closed;
  gboolean without_metrics; /* the graph has none */
} Fixture;

/* A perceptron on spirals, 1,024 samples in batches of 64. */
extern const char *const worker_graph;

gboolean worker_timeout_cb (gpointer data);
/* Turns the main loop until the condition holds. */
#define WAIT_UNTIL(condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gboolean late_ = FALSE;                                                                                            \
    guint id_ = g_timeout_add (WAIT_MS, worker_timeout_cb, &late_);                                                    \
    while (!(condition) && !late_)                                                                                     \
      g_main_context_iteration (NULL, TRUE);                                                                           \
    g_source_remove (id_);                                                                                             \
    if (!(condition))                                                                                                  \
      g_error ("waited without success for %s", #condition);                                                           \
  }                                                                                                                    \
  G_STMT_END

#define CALL(f, method, ...)                                                                                           \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autoptr (GError) error_ = NULL;                                                                                  \
    loom_bus_worker1_call_##method##_sync ((f)->bus, ##__VA_ARGS__, NULL, &error_);                                    \
    g_assert_no_error (error_);                                                                                        \
  }                                                                                                                    \
  G_STMT_END

/* The program that is tested. (transfer full) */
char *worker_program (void);
/* Starts one, without waiting for it, and makes its folder. */
void worker_spawn (Fixture *f, const char *const *argv);
/* Reads up to the magic line and returns the text before it. */
char *worker_read_magic (int fd);
/* After the magic line. */
void worker_connect (Fixture *f);
/* Waits for its end and frees everything. */
void worker_set_up (Fixture *f, gconstpointer data);
void worker_tear_down (Fixture *f, gconstpointer data);
/* Waits for the process to end: its status. */
int worker_reap (Fixture *f);

void worker_load (Fixture *f, const char *xml, guint n_faults);
/* Into, or from, the folder "run" of f->folder; epochs 0: the graph's. */
void worker_start (Fixture *f, gint64 epochs, gboolean paused, gboolean resume, GError **error);
void worker_start_ok (Fixture *f, gint64 epochs, gboolean paused);
gboolean worker_state_is (Fixture *f, const char *state);
