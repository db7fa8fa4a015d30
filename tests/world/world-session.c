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

#include "engine/dist/loom-dist.h"
#include "engine/infer/loom-run-files.h"
#include "engine/loom-lab.h"
#include "tests/train/train-test.h"
#include "tests/world/world-journal.h"
#include "tests/world/world-machine.h"
#include "tests/world/world-queue.h"
#include "tests/world/world-run.h"

#define SECOND     WORLD_ROOT "/runs/second"
#define LIVES      4
#define CALLS      420 /* of a life, about; later faults have no effect */
#define EDITS      110 /* the same, of one that writes a journal */
#define RANKS      2
#define MOST_RANKS 4
#define HANGS      3  /* alarms, after which a life that waits is ended; it takes less than a second */
#define ALARM      40 /* seconds between them: of a process that is stopped for long, one is lost */

#define RUN_OF(TRAIN, INSIDE)                                                                                          \
  TRAIN_TEST_SPIRALS ("n=\"80\"", "6")                                                                                 \
  "<train loss=\"loss\" batch_size=\"16\" epochs=\"3\" seed=\"3\" " TRAIN ">" INSIDE "</train></graph>"

/* What a session has besides the run, or in place of always the same ranks. */
typedef enum
{
  ALONE,
  BRANCH,  /* a second run begins with a state of the first one */
  REPLAY,  /* a second run repeats the first one, with its changes */
  SWEEP,   /* a second run, with another learning rate */
  ELASTIC, /* a life may have another number of ranks than the one before, and another strategy of the same bits */
} Form;

#define MESH(AXES) "<parallel " AXES " split=\"hidden=column,scores=row\"/>"

static const struct
{
  const char *name, *graph, *strategy;
  int ranks;
  Form form;
  int replicas; /* among which a batch is divided; 0: all ranks */
} kinds[] = {
  { "adam", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), NULL, 1 },
  { "averages",
    RUN_OF ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" ema=\"0.9\" accumulate=\"2\"",
            "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>"),
    NULL, 1 },
  { "ranks", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "data", RANKS },
  { "zero1", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "zero1", RANKS },
  { "zero2", RUN_OF ("optimizer=\"adam\" lr=\"0.01\" ema=\"0.9\"", ""), "zero2", RANKS },
  { "zero3", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "zero3", RANKS },
  { "tensor", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", MESH ("tensor=\"2\"")), NULL, RANKS, ALONE, 1 },
  { "stages", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "pipeline", RANKS, ALONE, 1 },
  { "gpipe",
    RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", "<parallel pipeline=\"2\" microbatches=\"3\" schedule=\"gpipe\"/>"), NULL,
    RANKS, ALONE, 1 },
  { "hybrid", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", MESH ("pipeline=\"2\" tensor=\"2\" microbatches=\"2\"")), NULL,
    MOST_RANKS, ALONE, 1 },
  { "replicas",
    RUN_OF ("optimizer=\"adam\" lr=\"0.01\"",
            "<parallel data=\"2\" pipeline=\"2\" microbatches=\"2\" strategy=\"zero1\"/>"),
    NULL, MOST_RANKS, ALONE, 2 },
  { "server", RUN_OF ("optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\"", ""), "server", RANKS },
  { "branch", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), NULL, 1, BRANCH },
  { "replay", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), NULL, 1, REPLAY },
  { "sweep", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), NULL, 1, SWEEP },
  { "elastic", RUN_OF ("optimizer=\"adam\" lr=\"0.01\"", ""), "data", RANKS, ELASTIC },
};

#define CHANGED_STEP 5 /* after which a run that is replayed gets another learning rate */
#define CHANGED_LR   0.004
#define SECOND_LR    0.02

/* Those of the kinds, of the second run of a sweep, and of the run of this session. */
static WorldReport references[G_N_ELEMENTS (kinds)], swept, reference, earlier;
static gboolean has_earlier; /* reference was another one before this life: `earlier` */
static int reference_ranks, earlier_ranks;
static guint kind;
static const char first_run[] = WORLD_ROOT "/runs/first";
static double first_lr = NAN; /* of the first run; NaN: that of the graph */

/* In place of a run, Studio's journal or the queue of runs. */
#define KIND_JOURNAL G_N_ELEMENTS (kinds)
#define KIND_QUEUE   (KIND_JOURNAL + 1)
#define N_KINDS      (KIND_QUEUE + 1)

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

static void
alarm_cb (int number)
{
  static int n;

  if (++n < HANGS)
    alarm (ALARM);
  else
    crash_cb (number);
}

static gint64 *
acknowledged (void)
{
  return world_run_path == first_run ? &world_report ()->acknowledged : &world_report ()->second;
}

/* As the program does: ranks begin if all of them can, with the same state. */
static LoomTrainer *
make_trainer (LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  LoomTrainer *trainer = loom_trainer_new (graph, options, error);
  guint64 what[LOOM_TRAINER_N_PARTS];
  g_autoptr (GError) failure = NULL;
  gboolean speaks;

  if (options->comm == NULL)
    return trainer;
  loom_trainer_fingerprint (trainer, what);
  if (loom_dist_agree (options->comm, *error, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks, &failure))
    return trainer;
  if (*error == NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  loom_trainer_free (trainer);
  return NULL;
}

static void
must_not_begin (LoomComm *comm)
{
  const LoomTrainerOptions options = {
    .lr = NAN, .seed = -1, .device = "cpu", .threads = 1, .num_workers = -1, .resume = world_run_path, .comm = comm
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) second = make_trainer (NULL, &options, &error);

  if (second != NULL || error->domain != LOOM_ERROR)
    {
      g_strlcpy (world_report ()->error, "the run was resumed twice at the same time", sizeof world_report ()->error);
      _exit (3);
    }
  if (comm != NULL)
    comm->abort (comm, error->message);
}

static gpointer
twice_cb (gpointer data)
{
  LoomComm *comm = data;

  world_be_rank (MOST_RANKS + comm->rank, FALSE);
  must_not_begin (comm);
  return NULL;
}

/* A second process that resumes the run, which still trains, must not begin, nor may as many ranks as it has. */
static void
come_twice (void)
{
  const int ranks = kinds[kind].ranks;
  LoomComm *comm[MOST_RANKS] = { NULL };
  GThread *thread[MOST_RANKS];
  LoomMessage message;

  if (ranks > 1 && loom_comm_threads_new (ranks, comm, &message) != LOOM_STATUS_OK)
    {
      g_assert_cmpint (world_report ()->n_met, >, 0); /* there is no memory for them */
      return;
    }
  for (int k = 1; k < ranks; k++)
    thread[k] = g_thread_new ("twice", twice_cb, comm[k]);
  must_not_begin (comm[0]);
  for (int k = 1; k < ranks; k++)
    g_thread_join (thread[k]);
}

static void
change_rate (LoomTrainer *trainer, gint64 step)
{
  if (kinds[kind].form == REPLAY && world_run_path == first_run && step >= CHANGED_STEP
      && loom_trainer_base_lr (trainer) != CHANGED_LR)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "lr", CHANGED_LR);
}

/* Steps take 3 ms or a minute, after which a checkpoint is due. */
static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  WorldReport *report = world_report ();
  const guint64 drawn = world_hash (session_seed, (guint64)session_life, 1000 + (guint64)step->step) % 3;

  change_rate (trainer, step->step);
  if (session_life >= 0 && world_hash (session_seed, (guint64)session_life, 31) % 40 == (guint64)step->step)
    come_twice ();
  if (world_meet (WORLD_CALL_STEP) >= 0)
    loom_trainer_post (trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
  report->clock += drawn == 0 ? G_GINT64_CONSTANT (60000000000) : G_GINT64_CONSTANT (3000000);
}

static void
checkpoint_cb (LoomTrainer *trainer, gint64 step, const char *path, gpointer data)
{
  *acknowledged () = MAX (*acknowledged (), step);
  if (session_life < 0 && step < WORLD_MOST_STEPS)
    world_report ()->hash[step] = world_run_hash (step);
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
  g_autofree char *graph = g_build_filename (world_run_path, LOOM_RUN_GRAPH, NULL),
                  *settings = g_build_filename (world_run_path, LOOM_RUN_SETTINGS, NULL);

  return loom_path_exists (graph) && loom_path_exists (settings);
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

  for (gint64 step = loom_trainer_steps (trainer) + 1;
       end == LOOM_TRAINER_STOPPED && step < loom_trainer_total_steps (trainer); step++)
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
  int ranks;
  gint64 back, shown;
  const char *branch, *replay, *strategy;
  double lr;
  gboolean resumes;
  int status;       /* before the rank ends by itself, that of a killed one */
  gboolean unnamed; /* its error is not Gradloom's own */
} Rank;

/* The step of the first run that a branch begins with, the same in each life. */
static gint64
branch_step (void)
{
  return 1 + (gint64)(world_hash (session_seed, 9, 9) % (guint64)(reference.acknowledged - 1));
}

static gpointer
live_cb (gpointer data)
{
  static const LoomTrainerObserver observer = { .step = step_cb, .checkpoint = checkpoint_cb };
  Rank *self = data;
  const gboolean is_first = self->comm == NULL || self->comm->rank == 0,
                 begins = !self->resumes && self->branch == NULL;
  LoomTrainerOptions options
      = { .lr = self->resumes ? NAN : self->lr,
          .seed = -1,
          .device = "cpu",
          .threads = 1,
          .num_workers = -1,
          .comm = self->comm,
          .batch_size = begins ? 16 / (kinds[kind].replicas > 0 ? kinds[kind].replicas : self->ranks) : 0,
          .strategy = self->strategy,
          .resume = self->resumes ? world_run_path : NULL,
          .out = self->resumes ? NULL : world_run_path,
          .resume_step = self->back,
          .branch = self->resumes ? NULL : self->branch,
          .branch_step = branch_step (),
          .replay = self->replay,
          .costs_of = self->replay };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) read = NULL;
  g_autoptr (LoomTrainer) trainer = NULL;
  LoomTrainerEnd end;

  world_be_rank (self->comm != NULL ? self->comm->rank : 0, TRUE);
  world_machine_be (self->comm);
  if (begins)
    read = loom_graph_read_data (kinds[kind].graph, strlen (kinds[kind].graph), "world", faults, &error);
  trainer = make_trainer (read, &options, &error);
  if (g_getenv ("WORLD_TRACE") != NULL && trainer != NULL && is_first && loom_trainer_notes (trainer) != NULL)
    printf ("# %s\n", loom_trainer_notes (trainer));
  if (trainer != NULL && is_first)
    {
      world_report ()->steps = loom_trainer_steps (trainer);
      loom_trainer_set_observer (trainer, &observer, NULL);
      change_rate (trainer, loom_trainer_steps (trainer));
    }
  end = trainer == NULL     ? LOOM_TRAINER_FAILED
        : session_life >= 0 ? loom_trainer_run (trainer, &error)
                            : run_noting (trainer, is_first && self->comm == NULL, &error);
  self->status = 0;
  if (end == LOOM_TRAINER_DONE && self->shown > 0)
    self->status = travel (trainer, self->shown);
  else if (end != LOOM_TRAINER_DONE)
    {
      /* As the program does: the others wait for this rank. */
      if (self->comm != NULL)
        self->comm->abort (self->comm, error != NULL ? error->message : "(none)");
      self->status = is_first ? report_error (error) : 2;
      self->unnamed = error == NULL || error->domain != LOOM_ERROR;
    }
  return NULL;
}

/* All of data have the same bits. */
static const char *
strategy_of (int life)
{
  static const char *const same[] = { "data", "zero1", "zero2", "zero3" };

  return kinds[kind].form == ELASTIC && life >= 0
             ? same[world_hash (session_seed, (guint64)life, 13) % G_N_ELEMENTS (same)]
             : kinds[kind].strategy;
}

/* Begins or resumes the run that is looked at, with these ranks and options. */
static int
train (const Rank *like)
{
  const int ranks = like->ranks;
  LoomComm *comm[MOST_RANKS] = { NULL };
  GThread *thread[MOST_RANKS];
  Rank rank[MOST_RANKS];
  LoomMessage message;

  if (ranks > 1)
    g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; ranks > 1 && k < ranks; k++)
    comm[k] = world_comm_new (comm[k], g_str_equal (kinds[kind].name, "server"));
  for (int k = 0; k < ranks; k++)
    {
      rank[k] = *like;
      rank[k].comm = comm[k];
      rank[k].resumes = has_run ();
      rank[k].status = WORLD_EXIT_KILL;
      if (ranks > 1 && !(rank[k].resumes && kinds[kind].form != ELASTIC))
        rank[k].strategy = strategy_of (session_life);
    }
  /* One that is killed ends its thread. */
  for (int k = 0; ranks > 1 && k < ranks; k++)
    thread[k] = g_thread_new ("rank", live_cb, &rank[k]);
  if (ranks == 1)
    live_cb (&rank[0]);
  for (int k = 0; ranks > 1 && k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 1; k < ranks; k++)
    if (rank[k].unnamed)
      {
        g_snprintf (world_report ()->error, sizeof world_report ()->error, "the error of rank %d has no name", k);
        return 3;
      }
  /* The first one reports why another has failed. */
  return rank[0].status;
}

/* A replay is not resumed: each life has a folder for one. */
static const char *
second_path (int life)
{
  static char path[64];

  if (kinds[kind].form != REPLAY)
    return SECOND;
  g_snprintf (path, sizeof path, WORLD_ROOT "/runs/replay%d", life);
  return path;
}

static gboolean
has_second (void)
{
  return kind < KIND_JOURNAL && kinds[kind].form != ALONE && kinds[kind].form != ELASTIC;
}

static int
live (int ranks, gint64 back, gint64 shown)
{
  const Form form = kinds[kind].form;
  const Rank like = { .ranks = ranks, .back = back, .shown = shown, .lr = first_lr };
  gint64 wrong;
  int status, second;

  if (form == REPLAY)
    world_report ()->second = 0; /* that of this life */
  if (back > 0)
    world_report ()->acknowledged = MIN (world_report ()->acknowledged, back);
  status = train (&like);
  if ((status != 0 && status != 4) || !has_second () || session_life < 0)
    return status;
  world_run_look (second_path (session_life), form == SWEEP ? &swept : &reference);
  /* As the sentence of the error says. */
  if (form == BRANCH && has_run () && world_run_newest (&wrong) < 0)
    loom_path_remove_all (second_path (session_life));
  second = train (&(Rank){ .ranks = ranks,
                           .branch = form == BRANCH && !has_run () ? first_run : NULL,
                           .replay = form == REPLAY ? first_run : NULL,
                           .lr = form == SWEEP ? SECOND_LR : NAN });
  return second != 0 ? second : status;
}

/* The exit status of a life; -1: it was ended by *signal. */
static int
start_life (int life, const WorldFault *faults, int n, int ranks, gint64 back, gint64 shown, int *ended_by)
{
  int status;
  const pid_t child = fork ();

  if (child == 0)
    {
      session_life = life;
      signal (SIGSEGV, crash_cb);
      signal (SIGABRT, crash_cb);
      signal (SIGALRM, alarm_cb);
      alarm (ALARM);
      world_begin_life (life, faults, n);
      _exit (kind == KIND_JOURNAL ? world_journal_live (session_seed, life)
             : kind == KIND_QUEUE ? world_queue_live (session_seed, life)
                                  : live (ranks, back, shown));
    }
  waitpid (child, &status, 0);
  *ended_by = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

/* The rest of the run on the disk, undisturbed and with these ranks, is what follows its newest checkpoint. NULL, or
 * what is wrong. */
static char *
take_reference (int ranks, gint64 back)
{
  g_autofree char *events = NULL;
  const WorldReport *report = world_report ();
  int ended_by;

  memset (world_report ()->hash, 0, sizeof reference.hash);
  world_report ()->acknowledged = 0;
  if (start_life (-1, NULL, 0, ranks, back, 0, &ended_by) != 0)
    return g_strdup_printf ("The undisturbed run of %s fails: %s", kinds[kind].name, report->error);
  world_look ();
  events = world_run_events ();
  for (gint64 step = report->steps + 1; step <= report->acknowledged; step++)
    {
      reference.hash[step] = report->hash[step];
      reference.value[step] = report->value[step];
      if (reference.hash[step] == 0 || !world_run_line (events, step, reference.line[step]))
        return g_strdup_printf ("The undisturbed run of %s lacks step %d", kinds[kind].name, (int)step);
    }
  reference.acknowledged = report->acknowledged;
  return NULL;
}

void
world_session_init (void)
{
  world_init ();
  world_run_look (first_run, &reference);
  for (kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      g_autofree char *wrong = NULL;

      world_format (0);
      reference.acknowledged = 0;
      wrong = take_reference (kinds[kind].ranks, 0);
      if (wrong != NULL || reference.acknowledged == 0)
        g_error ("%s", wrong);
      references[kind] = reference;
      if (kinds[kind].form != SWEEP)
        continue;
      world_format (0);
      first_lr = SECOND_LR;
      wrong = take_reference (kinds[kind].ranks, 0);
      g_assert_null (wrong);
      swept = reference;
      first_lr = NAN;
    }
}

/* ---- sessions ----------------------------------------------------------- */

/* Four ranks, which take longest, half as often as the others, and queues instead. */
static guint
kind_of (guint64 seed)
{
  const guint drawn = (guint)(world_hash (seed, 8, 8) % (2 * N_KINDS)), of = drawn % N_KINDS;

  return drawn >= N_KINDS && of < KIND_JOURNAL && kinds[of].ranks == MOST_RANKS ? KIND_QUEUE : of;
}

const char *
world_session_kind (guint64 seed)
{
  const guint of = kind_of (seed);

  return of < KIND_JOURNAL ? kinds[of].name : of == KIND_JOURNAL ? "journal" : "queue";
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
  const guint of = kind_of (seed);
  const guint64 calls = of >= KIND_JOURNAL                                     ? EDITS
                        : kinds[of].form == ALONE || kinds[of].form == ELASTIC ? CALLS
                                                                               : 2 * CALLS;
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

/* NULL: what was acknowledged of the run, or of both, is there. */
static char *
check_runs (int life)
{
  const WorldReport *report = world_report ();
  char *lost = world_run_check (report->acknowledged);

  /* A life that ended before it had gone back has left what was there. */
  if (lost != NULL && has_earlier)
    {
      reference = earlier;
      reference_ranks = earlier_ranks;
      g_free (lost);
      lost = world_run_check (report->acknowledged);
    }
  if (lost != NULL || !has_second () || report->second == 0)
    return lost;
  world_run_look (second_path (life), kinds[kind].form == SWEEP ? &swept : &reference);
  lost = world_run_check (report->second);
  world_run_look (first_run, &reference);
  return lost;
}

/* NULL: the last life has ended its runs with the bits of the undisturbed ones. */
static char *
check_end (void)
{
  char *wrong = NULL;

  for (int i = 0; i <= has_second () && wrong == NULL; i++)
    {
      if (i == 1)
        world_run_look (second_path (LIVES), kinds[kind].form == SWEEP ? &swept : &reference);
      if (world_run_hash (world_run_expected->acknowledged)
          != world_run_expected->hash[world_run_expected->acknowledged])
        wrong = g_strdup_printf ("%s has ended with other bits", world_run_path);
    }
  world_run_look (first_run, &reference);
  return wrong;
}

/* The number of ranks of a life. */
static int
ranks_of (int life)
{
  return kind >= KIND_JOURNAL ? 1
         : kinds[kind].form == ELASTIC && life > 0
             ? 1 + (int)(world_hash (session_seed, (guint64)life, 12) % kinds[kind].ranks)
             : kinds[kind].ranks;
}

/* Before a life with another number of ranks, or one that goes back to where there was another: the run from here on
 * has other bits. */
static char *
change_ranks (int ranks, gint64 back)
{
  char *wrong;

  earlier = reference;
  earlier_ranks = reference_ranks;
  reference_ranks = ranks;
  has_earlier = TRUE;
  world_keep ();
  wrong = take_reference (ranks, back);
  world_put_back ();
  world_look ();
  return wrong;
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
  lost = kind == KIND_JOURNAL ? world_journal_check () : kind == KIND_QUEUE ? world_queue_check () : check_runs (life);
  return lost != NULL ? g_strdup_printf ("after life %d (exit %d%s%s): %s", life, status,
                                         report->error[0] != '\0' ? ", " : "", report->error, lost)
                      : NULL;
}

char *
world_session_run (guint64 seed, const WorldFault *faults, int n, int *n_met)
{
  char *wrong = NULL;
  gboolean lost_power = FALSE;

  world_format (seed);
  world_look ();
  session_seed = seed;
  kind = kind_of (seed);
  if (kind < KIND_JOURNAL)
    reference = references[kind];
  *n_met = 0;
  reference_ranks = ranks_of (0);
  for (int life = 0; life <= LIVES && wrong == NULL; life++)
    {
      const gboolean is_last = life == LIVES;
      const int ranks = ranks_of (life);
      const guint64 drawn = world_hash (seed, (guint64)life, 5);
      const gint64 back = kind < KIND_JOURNAL && !is_last && drawn % 6 == 0 ? world_run_draw (drawn >> 8) : 0;
      /* The newest state is that of the run. */
      const gint64 shown = kind < KIND_JOURNAL && kinds[kind].ranks == 1 && drawn % 3 == 1
                               ? 1 + (gint64)((drawn >> 8) % (guint64)(reference.acknowledged - 1))
                               : 0;
      int ended_by, status;

      has_earlier = FALSE;
      /* A reference may begin with a state that was not acknowledged, and that is lost with the power. */
      if (ranks != reference_ranks || (kind < KIND_JOURNAL && kinds[kind].form == ELASTIC && (back > 0 || lost_power)))
        wrong = change_ranks (ranks, back);
      if (wrong != NULL)
        break;
      status = start_life (life, faults, is_last ? 0 : n, ranks, back, shown, &ended_by);
      *n_met += world_report ()->n_met;
      lost_power = status == WORLD_EXIT_POWER;
      if (g_getenv ("WORLD_TRACE") != NULL)
        printf ("# life %d: exit %d, calls %d (files) %d (memory) %d (device) %d (exchange), from step %d, back %d, "
                "acknowledged %d: %s\n",
                life, status, world_report ()->calls[WORLD_CALL_FILE], world_report ()->calls[WORLD_CALL_MEMORY],
                world_report ()->calls[WORLD_CALL_DEVICE], world_report ()->calls[WORLD_CALL_EXCHANGE],
                (int)world_report ()->steps, (int)back, (int)world_report ()->acknowledged, world_report ()->error);
      wrong = after_life (life, status, ended_by, is_last, *n_met);
    }
  return wrong == NULL && kind < KIND_JOURNAL ? check_end () : wrong;
}
