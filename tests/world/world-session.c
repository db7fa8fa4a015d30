/* Runs sessions; see the header.
 *
 * Each life of the program is a child process, so that one that is killed leaves only what is on the disk. Between two
 * lives the parent reads the disk and compares it with what was acknowledged: a checkpoint that was reported, or a
 * later one, has the bits of the undisturbed run at its step, and the events up to it are those of that run. The last
 * life has no faults, and ends the run with its bits. */
#include "tests/world/world-session.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/core/loom-folder.h"
#include "engine/infer/loom-run-files.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/loom-lab.h"
#include "tests/train/train-test.h"
#include "tests/world/world-journal.h"
#include "tests/world/world-machine.h"
#include "tests/world/world-queue.h"

#define RUN           WORLD_ROOT "/runs/first"
#define LIVES         4
#define CALLS         420 /* of a life, about; later faults have no effect */
#define EDITS         110 /* the same, of one that writes a journal */
#define MOST_FILE     (1 << 20)
#define RANKS         2
#define BATCH_NUMBERS "accumulate_"
#define HANGS         120 /* seconds, after which a life that waits is ended; each takes less than one */

#define RUN_OF(TRAIN, INSIDE)                                                                                          \
  TRAIN_TEST_SPIRALS ("n=\"80\"", "6")                                                                                 \
  "<train loss=\"loss\" batch_size=\"16\" epochs=\"3\" seed=\"3\" " TRAIN ">" INSIDE "</train></graph>"

static const struct
{
  const char *name, *graph, *strategy;
  int ranks;
} kinds[] = {
  { "adam", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), NULL, 1 },
  { "averages",
    RUN_OF ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" ema=\"0.9\" accumulate=\"2\"",
            "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>"),
    NULL, 1 },
  { "ranks", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "data", RANKS },
  { "shards", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "zero3", RANKS },
  { "stages", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "pipeline", RANKS },
  { "server", RUN_OF ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\"", ""), "server", RANKS },
};

static WorldReport references[G_N_ELEMENTS (kinds)], reference; /* that of the kind of this session */
static guint kind;

/* In place of a run, Studio's journal or the queue of runs. */
#define KIND_JOURNAL G_N_ELEMENTS (kinds)
#define KIND_QUEUE   (KIND_JOURNAL + 1)
#define N_KINDS      (KIND_QUEUE + 1)

/* ---- what is on the disk ------------------------------------------------ */

static guint64
hash_file (LoomFolder *folder, const char *name, guint64 hash)
{
  g_autofree char *text = NULL;
  gsize length;

  if (!loom_folder_read (folder, name, MOST_FILE, &text, &length, NULL))
    return 0;
  for (gsize i = 0; i < length; i++)
    hash = (hash ^ (guint8)text[i]) * G_GUINT64_CONSTANT (1099511628211);
  return hash | 1;
}

/* Of the optimizer's state, without the numbers of a step's batches: a step that failed has set them, and the next one
 * sets them again. */
static guint64
hash_optimizer (LoomFolder *folder, guint64 hash)
{
  g_autoptr (LoomTensorFile) file = loom_safetensors_open_in (folder, LOOM_RUN_OPTIMIZER, NULL);

  for (guint i = 0; file != NULL && i < loom_tensor_file_count (file); i++)
    {
      g_autoptr (LoomTensor) value = loom_tensor_file_tensor (file, i, NULL);

      if (value == NULL)
        return 0;
      for (gsize k = 0; k < value->bytes && !g_str_has_prefix (loom_tensor_file_name (file, i), BATCH_NUMBERS); k++)
        hash = (hash ^ ((const guint8 *)value->data)[k]) * G_GUINT64_CONSTANT (1099511628211);
    }
  return file != NULL ? hash | 1 : 0;
}

/* 0: it is not complete. */
static guint64
hash_checkpoint (LoomFolder *folder)
{
  guint64 hash = hash_file (folder, LOOM_RUN_WEIGHTS, 1);

  hash = hash != 0 ? hash_optimizer (folder, hash) : 0;
  return hash != 0 && hash_file (folder, LOOM_RUN_STATE, 1) != 0 ? hash : 0;
}

static guint64
hash_step (gint64 step)
{
  g_autoptr (LoomFolder) run = loom_folder_open (RUN, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (LoomFolder) folder = all != NULL ? loom_run_checkpoint_enter (all, step, NULL) : NULL;

  return folder != NULL ? hash_checkpoint (folder) : 0;
}

/* The newest checkpoint that has the bits of its step; -1: none. A complete one with other bits is *wrong. */
static gint64
newest_checkpoint (gint64 *wrong)
{
  g_autoptr (LoomFolder) run = loom_folder_open (RUN, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (all, NULL);
  gint64 newest = -1;

  *wrong = -1;
  for (guint i = 0; i < steps->len; i++)
    {
      const gint64 step = g_array_index (steps, gint64, i);
      const guint64 hash = hash_step (step);

      if (hash != 0 && (step >= WORLD_MOST_STEPS || hash != reference.hash[step]))
        *wrong = step;
      else if (hash != 0)
        newest = MAX (newest, step);
    }
  return newest;
}

/* The step of one of the checkpoints; 0: there is none. */
static gint64
draw_checkpoint (guint64 drawn)
{
  g_autoptr (LoomFolder) run = loom_folder_open (RUN, NULL);
  g_autoptr (LoomFolder) all = run != NULL ? loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (all, NULL);
  const gint64 step = steps->len > 0 ? g_array_index (steps, gint64, drawn % steps->len) : 0;

  return step > 0 && hash_step (step) != 0 ? step : 0;
}

/* The line of a step in the events, up to its rate; NULL: it has none. */
static gboolean
has_line (const char *events, gint64 step, char line[160])
{
  g_autofree char *start = g_strdup_printf ("{\"event\":\"step\",\"step\":%" G_GINT64_FORMAT ",", step);
  const char *found = events != NULL ? strstr (events, start) : NULL,
             *end = found != NULL ? strchr (found, '\n') : NULL;

  if (end == NULL || end - found >= 160)
    return FALSE;
  memcpy (line, found, (gsize)(end - found));
  line[end - found] = '\0';
  return TRUE;
}

static char *
read_events (void)
{
  g_autoptr (LoomFolder) run = loom_folder_open (RUN, NULL);
  char *text = NULL;

  if (run != NULL)
    loom_folder_read (run, LOOM_RUN_EVENTS, MOST_FILE, &text, NULL, NULL);
  return text;
}

/* NULL: all that was acknowledged is there. */
static char *
check_disk (gint64 acknowledged)
{
  g_autofree char *events = read_events ();
  gint64 wrong;
  const gint64 newest = newest_checkpoint (&wrong);
  g_autoptr (LoomFolder) run = loom_folder_open (RUN, NULL);
  guint64 weights;

  if (wrong >= 0)
    return g_strdup_printf ("the checkpoint of step %" G_GINT64_FORMAT " has other bits", wrong);
  if (acknowledged > 0 && newest < acknowledged)
    return g_strdup_printf ("the checkpoint of step %" G_GINT64_FORMAT
                            " was reported, the newest is that of %" G_GINT64_FORMAT,
                            acknowledged, newest);
  for (gint64 step = 1; step <= newest; step++)
    {
      char line[160];

      if (!has_line (events, step, line) || !g_str_equal (line, reference.line[step]))
        return g_strdup_printf ("the events lack step %" G_GINT64_FORMAT
                                ", the newest checkpoint is that of %" G_GINT64_FORMAT,
                                step, newest);
    }
  weights = acknowledged > 0 ? hash_file (run, LOOM_RUN_WEIGHTS, 1) : 1;
  if (weights == 0)
    return g_strdup ("weights.safetensors is missing, but a checkpoint was reported");
  return NULL;
}

/* ---- lives -------------------------------------------------------------- */

static guint64 session_seed;
static int session_life;

static void
crash_cb (int number)
{
  void *frame[40];

  backtrace_symbols_fd (frame, backtrace (frame, G_N_ELEMENTS (frame)), STDOUT_FILENO);
  signal (number, SIG_DFL);
  raise (number);
}

/* Steps take 3 ms or a minute, after which a checkpoint is due. */
static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  WorldReport *report = world_report ();
  const guint64 drawn = world_hash (session_seed, (guint64)session_life, 1000 + (guint64)step->step) % 3;

  if (world_meet (WORLD_CALL_STEP) >= 0)
    loom_trainer_post (trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
  report->clock += drawn == 0 ? G_GINT64_CONSTANT (60000000000) : G_GINT64_CONSTANT (3000000);
}

static void
checkpoint_cb (LoomTrainer *trainer, gint64 step, const char *path, gpointer data)
{
  world_report ()->acknowledged = MAX (world_report ()->acknowledged, step);
  if (session_life < 0 && step < WORLD_MOST_STEPS)
    world_report ()->hash[step] = hash_step (step);
}

static int
report_error (const GError *error)
{
  WorldReport *report = world_report ();

  report->error_code = error != NULL && error->domain == LOOM_ERROR ? (int)error->code : -1;
  g_strlcpy (report->error, error != NULL ? error->message : "(none)", sizeof report->error);
  return 2;
}

/* Whether a life resumes the run: what the command line asks, too. */
static gboolean
has_run (void)
{
  return loom_path_exists (RUN "/" LOOM_RUN_GRAPH) && loom_path_exists (RUN "/" LOOM_RUN_SETTINGS);
}

/* Of weights and buffers, as they are computed with. */
static guint64
hash_weights (LoomTrainer *trainer, GError **error)
{
  g_autoptr (GPtrArray) weights = loom_trainer_weights (trainer, NULL, error);
  guint64 hash = 1;

  for (guint i = 0; weights != NULL && i < weights->len; i++)
    {
      const LoomTensor *value = ((LoomNamedTensor *)weights->pdata[i])->tensor;

      for (gsize k = 0; k < value->bytes; k++)
        hash = (hash ^ ((const guint8 *)value->data)[k]) * G_GUINT64_CONSTANT (1099511628211);
    }
  return weights != NULL ? hash : 0;
}

/* The undisturbed run stops after each step, with a checkpoint. */
static LoomTrainerEnd
run_noting (LoomTrainer *trainer, gboolean notes, GError **error)
{
  LoomTrainerEnd end = LOOM_TRAINER_STOPPED;

  for (gint64 step = 1; end == LOOM_TRAINER_STOPPED && step < loom_trainer_total_steps (trainer); step++)
    {
      loom_trainer_set_last_step (trainer, step);
      end = loom_trainer_run (trainer, error);
      if (end == LOOM_TRAINER_STOPPED && notes)
        world_report ()->value[step] = hash_weights (trainer, error);
    }
  loom_trainer_set_last_step (trainer, 0);
  return end == LOOM_TRAINER_STOPPED ? loom_trainer_run (trainer, error) : end;
}

/* Goes back to a step, whose weights must be those of the run then, or cannot be had. */
static int
travel (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;
  guint64 hash;

  if (!loom_trainer_travel (trainer, step, NULL, &error))
    return report_error (error) + 2;
  hash = hash_weights (trainer, &error);
  if (error != NULL)
    return report_error (error) + 2;
  if (hash == reference.value[step])
    return 0;
  g_snprintf (world_report ()->error, sizeof world_report ()->error, "the weights of step %d are others", (int)step);
  return 3;
}

typedef struct
{
  LoomComm *comm; /* NULL: a single rank */
  gint64 back, shown;
  gboolean resumes;
  int status;
} Rank;

static gpointer
live_cb (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = step_cb, .checkpoint = checkpoint_cb };
  Rank *self = data;
  const gboolean is_first = self->comm == NULL || self->comm->rank == 0;
  LoomTrainerOptions options = { .lr = NAN,
                                 .seed = -1,
                                 .device = "cpu",
                                 .threads = 1,
                                 .num_workers = -1,
                                 .comm = self->comm,
                                 .batch_size = self->resumes ? 0 : 16 / kinds[kind].ranks,
                                 .strategy = self->resumes ? NULL : kinds[kind].strategy,
                                 .resume = self->resumes ? RUN : NULL,
                                 .out = self->resumes ? NULL : RUN,
                                 .resume_step = self->back };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) read = NULL;
  g_autoptr (LoomTrainer) trainer = NULL;
  LoomTrainerEnd end;

  world_be_rank (self->comm != NULL ? self->comm->rank : 0);
  if (!self->resumes)
    read = loom_graph_read_data (kinds[kind].graph, strlen (kinds[kind].graph), "world", faults, &error);
  trainer = loom_trainer_new (read, &options, &error);
  if (g_getenv ("WORLD_TRACE") != NULL && trainer != NULL && is_first && loom_trainer_notes (trainer) != NULL)
    printf ("# %s\n", loom_trainer_notes (trainer));
  if (trainer != NULL && is_first)
    {
      world_report ()->steps = loom_trainer_steps (trainer);
      loom_trainer_set_observer (trainer, &observer, NULL);
    }
  end = trainer == NULL     ? LOOM_TRAINER_FAILED
        : session_life >= 0 ? loom_trainer_run (trainer, &error)
                            : run_noting (trainer, is_first && self->comm == NULL, &error);
  if (end == LOOM_TRAINER_DONE && self->shown > 0)
    self->status = travel (trainer, self->shown);
  else if (end != LOOM_TRAINER_DONE)
    {
      /* As the program does: the others wait for this rank. */
      if (self->comm != NULL)
        self->comm->abort (self->comm, error != NULL ? error->message : "(none)");
      self->status = is_first ? report_error (error) : 2;
    }
  return NULL;
}

static int
live (gint64 back, gint64 shown)
{
  const int ranks = kinds[kind].ranks;
  const gboolean resumes = has_run ();
  LoomComm *comm[RANKS] = { NULL };
  GThread *thread[RANKS];
  Rank rank[RANKS];
  LoomMessage message;

  if (back > 0)
    world_report ()->acknowledged = MIN (world_report ()->acknowledged, back);
  if (ranks > 1)
    g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; ranks > 1 && k < ranks; k++)
    comm[k] = world_comm_new (comm[k]);
  for (int k = 0; k < ranks; k++)
    rank[k] = (Rank){ comm[k], back, shown, resumes, 0 };
  for (int k = 1; k < ranks; k++)
    thread[k] = g_thread_new ("rank", live_cb, &rank[k]);
  live_cb (&rank[0]);
  for (int k = 1; k < ranks; k++)
    g_thread_join (thread[k]);
  /* The first one reports why another has failed. */
  return rank[0].status;
}

/* The exit status of a life; -1: it was ended by *signal. */
static int
start_life (int life, const WorldFault *faults, int n, gint64 back, gint64 shown, int *ended_by)
{
  int status;
  const pid_t child = fork ();

  if (child == 0)
    {
      session_life = life;
      signal (SIGSEGV, crash_cb);
      signal (SIGABRT, crash_cb);
      alarm (HANGS);
      world_begin_life (life, faults, n);
      _exit (kind == KIND_JOURNAL ? world_journal_live (session_seed, life)
             : kind == KIND_QUEUE ? world_queue_live (session_seed, life)
                                  : live (back, shown));
    }
  waitpid (child, &status, 0);
  *ended_by = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

void
world_session_init (void)
{
  world_init ();
  for (kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      g_autofree char *events = NULL;
      int ended_by;

      world_format (0);
      memset (world_report ()->hash, 0, sizeof reference.hash);
      if (start_life (-1, NULL, 0, 0, 0, &ended_by) != 0)
        g_error ("The undisturbed run of %s fails: %s", kinds[kind].name, world_report ()->error);
      world_look ();
      reference = *world_report ();
      events = read_events ();
      for (gint64 step = 1; step <= reference.acknowledged; step++)
        g_assert_true (has_line (events, step, reference.line[step]) && reference.hash[step] != 0);
      g_assert_cmpint (reference.acknowledged, >, 0);
      references[kind] = reference;
    }
}

/* ---- sessions ----------------------------------------------------------- */

static guint
kind_of (guint64 seed)
{
  return (guint)(world_hash (seed, 8, 8) % N_KINDS);
}

/* Of memory, the device, the exchange, or a signal, on one of the ranks. */
static WorldFault
machine_fault (int life, int ranks, guint64 drawn)
{
  static const int most[WORLD_N_CALLS] = { 0, 500, 1200, 300, 15 };
  const WorldFaultKind of = (WorldFaultKind)(WORLD_MEMORY + (int)(drawn % (WORLD_N_FAULTS - WORLD_MEMORY)));
  const int call = (int)((drawn >> 16) % (guint64)most[world_fault_call (of)]);
  const int rank = of == WORLD_STOP ? 0 : (int)((drawn >> 8) % (guint64)ranks);

  return (WorldFault){ life, rank * WORLD_RANK_CALLS + call, of };
}

int
world_session_faults (guint64 seed, WorldFault faults[WORLD_MOST_FAULTS])
{
  const guint64 calls = kind_of (seed) >= KIND_JOURNAL ? EDITS : CALLS;
  int n = 0;

  for (int life = 0; life < LIVES; life++)
    {
      const guint64 drawn = world_hash (seed, (guint64)life, 77);
      const int more = (int)(drawn >> 8) % 4;

      if (drawn % 8 != 0)
        faults[n++] = (WorldFault){ life, (int)((drawn >> 16) % calls), drawn & 32 ? WORLD_POWER : WORLD_KILL };
      for (int i = 0; i < more; i++)
        {
          const guint64 one = world_hash (seed, (guint64)life, 100 + (guint64)i);

          faults[n++] = (WorldFault){ life, (int)((one >> 16) % calls),
                                      (WorldFaultKind)(WORLD_EIO + (int)(one % (WORLD_MEMORY - WORLD_EIO))) };
        }
      if (kind_of (seed) < KIND_JOURNAL && (drawn & 64) != 0)
        faults[n++] = machine_fault (life, kinds[kind_of (seed)].ranks, world_hash (seed, (guint64)life, 200));
    }
  return n;
}

/* Status 4: it could not go back. A history ends, with a note, if its disk fails, so that any fault so far is a reason.
 */
static char *
after_life (int life, int status, int ended_by, gboolean is_last, int met)
{
  const WorldReport *report = world_report ();
  g_autofree char *lost = NULL;

  if (status == -1)
    return g_strdup_printf ("life %d: it was ended by signal %d", life, ended_by);
  if (status == 3)
    return g_strdup_printf ("life %d: %s", life, report->error);
  if ((status == 2 && (is_last || report->n_met == 0)) || (status == 4 && met == 0))
    return g_strdup_printf ("life %d: it failed without a fault: %s", life, report->error);
  if ((status == 2 || status == 4) && (report->error_code == -1 || report->error[0] == '\0'))
    return g_strdup_printf ("life %d: the error has no name: %s", life, report->error);
  world_reboot (status == WORLD_EXIT_POWER);
  world_look ();
  lost = kind == KIND_JOURNAL ? world_journal_check ()
         : kind == KIND_QUEUE ? world_queue_check ()
                              : check_disk (report->acknowledged);
  return lost != NULL ? g_strdup_printf ("after life %d (exit %d%s%s): %s", life, status,
                                         report->error[0] != '\0' ? ", " : "", report->error, lost)
                      : NULL;
}

char *
world_session_run (guint64 seed, const WorldFault *faults, int n, int *n_met)
{
  char *wrong = NULL;

  world_format (seed);
  world_look ();
  session_seed = seed;
  kind = kind_of (seed);
  if (kind < KIND_JOURNAL)
    reference = references[kind];
  *n_met = 0;
  for (int life = 0; life <= LIVES && wrong == NULL; life++)
    {
      const gboolean is_last = life == LIVES;
      const guint64 drawn = world_hash (seed, (guint64)life, 5);
      const gint64 back = kind < KIND_JOURNAL && !is_last && drawn % 6 == 0 ? draw_checkpoint (drawn >> 8) : 0;
      /* The newest state is that of the run. */
      const gint64 shown = kind < KIND_JOURNAL && kinds[kind].ranks == 1 && drawn % 3 == 1
                               ? 1 + (gint64)((drawn >> 8) % (guint64)(reference.acknowledged - 1))
                               : 0;
      int ended_by, status = start_life (life, faults, is_last ? 0 : n, back, shown, &ended_by);

      *n_met += world_report ()->n_met;
      if (g_getenv ("WORLD_TRACE") != NULL)
        printf ("# life %d: exit %d, calls %d (files) %d (memory) %d (device) %d (exchange), from step %d, back %d, "
                "acknowledged %d: %s\n",
                life, status, world_report ()->calls[WORLD_CALL_FILE], world_report ()->calls[WORLD_CALL_MEMORY],
                world_report ()->calls[WORLD_CALL_DEVICE], world_report ()->calls[WORLD_CALL_EXCHANGE],
                (int)world_report ()->steps, (int)back, (int)world_report ()->acknowledged, world_report ()->error);
      wrong = after_life (life, status, ended_by, is_last, *n_met);
    }
  if (wrong == NULL && kind < KIND_JOURNAL
      && hash_step (reference.acknowledged) != reference.hash[reference.acknowledged])
    wrong = g_strdup ("the run has ended with other bits");
  return wrong;
}
