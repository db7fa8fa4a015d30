/* Runs seeds in child processes; see the header.
 *
 * A child checks a batch of seeds and writes a line before and after each. If it ends early, the seed that it was at is
 * wrong, with the last line that it wrote to standard error, and another child continues after it. Batches are added to
 * the state in the order of seeds, so a state is always that of all seeds before `next`. */
#include "tests/check/seed-runner.h"

#include "engine/check/loom-check.h"
#include "tests/check/random-model.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 50

#define SEED_SECONDS 120 /* of processor time, after which a seed hangs */

/* ---- one seed ------------------------------------------------------------- */

char *
seed_check (guint32 seed, const CheckOptions *options, CheckResult *result)
{
  CheckOptions own = *options;
  g_autofree char *refusal = NULL;

  own.seed = seed;
  for (guint attempt = 0; attempt < SEED_TRIES; attempt++)
    {
      g_autofree char *text = random_model_text (seed, attempt);

      check_result_clear (result);
      check_text (text, &own, result);
      if (result->outcome == CHECK_SOUND)
        result->text = g_steal_pointer (&refusal);
      if (result->outcome != CHECK_REFUSED)
        return g_steal_pointer (&text);
      g_free (refusal);
      refusal = g_strdup (result->text);
    }
  return NULL;
}

/* Ends this process by SIGXCPU if it computes much longer from here on. */
static void
limit_time (void)
{
  struct rlimit limit = { .rlim_max = RLIM_INFINITY };
  struct rusage used;

  getrusage (RUSAGE_SELF, &used);
  limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + SEED_SECONDS);
  setrlimit (RLIMIT_CPU, &limit);
}

static void
begin_child (void)
{
  const struct rlimit none = { 0, 0 };

  setrlimit (RLIMIT_CORE, &none);
  signal (SIGINT, SIG_IGN); /* the parent handles it */
}

/* ---- what a child writes --------------------------------------------------- */

static void
write_names (FILE *out, const char *text)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer name;

  for (const char *at = text; (at = strstr (at, " op=\"")) != NULL;)
    {
      const char *end;

      at += strlen (" op=\"");
      end = strchr (at, '"');
      g_hash_table_add (names, g_strndup (at, (gsize)(end - at)));
    }
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    fprintf (out, "%s ", (char *)name);
}

/* "begin SEED", then "sound|wrong|refused SEED PLANS PIECES …" with the names of operators, rule and text after tabs.
 */
static void
check_batch (FILE *out, guint64 first, guint64 end, const SeedOptions *options)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  CheckOptions check = options->check;

  check.devices = devices;
  for (guint64 seed = first; seed < end; seed++)
    {
      CheckResult result = { 0 };
      g_autofree char *text = NULL, *sentence = NULL;

      fprintf (out, "begin %" G_GUINT64_FORMAT "\n", seed);
      fflush (out);
      limit_time ();
      if (seed == options->crash)
        g_error ("The child was told to crash.");
      text = seed_check ((guint32)seed, &check, &result);
      fprintf (out, "%s %" G_GUINT64_FORMAT " %u " PIECES "\t",
               text == NULL                    ? "refused"
               : result.outcome == CHECK_WRONG ? "wrong"
                                               : "sound",
               seed, result.n_plans, PIECES_OF (result.pieces));
      if (text != NULL)
        write_names (out, text);
      sentence = g_strescape (result.text != NULL ? result.text : "", NULL);
      fprintf (out, "\t%s\t%s\n", result.rule != NULL ? result.rule : "", sentence);
      fflush (out);
      check_result_clear (&result);
    }
}

/* ---- children --------------------------------------------------------------- */

typedef struct
{
  pid_t pid; /* 0: none */
  int fd;
  FILE *errors;
  GString *rest; /* an unfinished line */
  SeedState done;
  guint64 end;     /* of the batch */
  gboolean inside; /* the seed done.next was begun */
} Child;

static void
start (Child *self, const SeedOptions *options)
{
  int fd[2];

  g_assert_cmpint (pipe (fd), ==, 0);
  self->errors = tmpfile ();
  fflush (NULL);
  self->pid = fork ();
  g_assert_cmpint (self->pid, >=, 0);
  if (self->pid == 0)
    {
      FILE *out = fdopen (fd[1], "w");

      close (fd[0]);
      begin_child ();
      if (self->errors != NULL)
        dup2 (fileno (self->errors), STDERR_FILENO);
      check_batch (out, self->done.next, self->end, options);
      fclose (out);
      _exit (0);
    }
  close (fd[1]);
  self->fd = fd[0];
  self->rest = g_string_new (NULL);
  self->inside = FALSE;
}

static void
take_line (Child *self, const char *line, const SeedOptions *options)
{
  g_auto (GStrv) part = g_strsplit (line, "\t", 4);
  g_auto (GStrv) head = g_strsplit (part[0] != NULL ? part[0] : "", " ", -1);

  if (g_strv_length (head) < 2)
    return;
  if (strcmp (head[0], "begin") == 0)
    {
      self->inside = TRUE;
      return;
    }
  g_assert_cmpuint (g_strv_length (part), ==, 4);
  self->inside = FALSE;
  self->done.next = g_ascii_strtoull (head[1], NULL, 10) + 1;
  self->done.n_plans += g_ascii_strtoull (head[2], NULL, 10);
  check_pieces_read (head + 3, &self->done.pieces);
  if (strcmp (head[0], "refused") == 0)
    {
      self->done.n_refused++;
      if (options->verbose)
        printf ("seed %s is refused: %s\n", head[1], part[3]);
      return;
    }
  self->done.n_graphs++;
  {
    g_auto (GStrv) names = g_strsplit (g_strstrip (part[1]), " ", -1);

    for (guint i = 0; names[i] != NULL; i++)
      if (names[i][0] != '\0')
        seed_state_count_operator (&self->done, names[i], 1);
  }
  if (options->verbose && part[3][0] != '\0' && strcmp (head[0], "sound") == 0)
    printf ("seed %s had a try that was refused: %s\n", head[1], part[3]);
  if (strcmp (head[0], "wrong") == 0)
    {
      seed_state_add_wrong (&self->done, self->done.next - 1, part[2], part[3]);
      if (options->verbose)
        printf ("seed %s is wrong: %s: %s\n", head[1], part[2], part[3]);
    }
}

/* The last line that the child wrote to standard error, on one line. */
static char *
last_words (FILE *errors)
{
  char buffer[4096];
  gsize n;
  char *line;

  if (errors == NULL || fseek (errors, 0, SEEK_END) != 0)
    return g_strdup ("");
  fseek (errors, MAX (0, ftell (errors) - (long)sizeof buffer + 1), SEEK_SET);
  n = fread (buffer, 1, sizeof buffer - 1, errors);
  buffer[n] = '\0';
  g_strchomp (buffer);
  line = strrchr (buffer, '\n');
  return g_strescape (line != NULL ? line + 1 : buffer, NULL);
}

static char *
end_sentence (int status, FILE *errors)
{
  g_autofree char *words = last_words (errors);

  if (WIFSIGNALED (status))
    return g_strdup_printf ("signal %d: %s", WTERMSIG (status), words);
  return g_strdup_printf ("status %d: %s", WEXITSTATUS (status), words);
}

/* The child has closed its pipe. FALSE: its batch is not finished, and another one continues. */
static gboolean
finish (Child *self, const SeedOptions *options)
{
  int status = 0;

  close (self->fd);
  while (waitpid (self->pid, &status, 0) < 0 && errno == EINTR)
    ;
  self->pid = 0;
  if (self->done.next < self->end)
    {
      g_autofree char *sentence = end_sentence (status, self->errors);

      self->done.n_graphs++;
      seed_state_add_wrong (&self->done, self->done.next, self->inside ? "crash" : "start", sentence);
      if (options->verbose)
        printf ("seed %" G_GUINT64_FORMAT " is wrong: crash: %s\n", self->done.next, sentence);
      self->done.next++;
    }
  g_clear_pointer (&self->errors, fclose);
  g_string_free (self->rest, TRUE);
  self->rest = NULL;
  return self->done.next >= self->end;
}

/* Reads what there is. FALSE: the pipe is closed. */
static gboolean
take (Child *self, const SeedOptions *options)
{
  char buffer[4096];
  ssize_t n = read (self->fd, buffer, sizeof buffer);
  char *newline;

  if (n < 0)
    return errno == EINTR;
  g_string_append_len (self->rest, buffer, n);
  while ((newline = strchr (self->rest->str, '\n')) != NULL)
    {
      *newline = '\0';
      take_line (self, self->rest->str, options);
      g_string_erase (self->rest, 0, newline + 1 - self->rest->str);
    }
  return n > 0;
}

static volatile sig_atomic_t interrupted;

static void
interrupt_cb (int number)
{
  interrupted = number;
}

/* Adds finished batches that follow the state, and writes it. */
static gboolean
commit (SeedState *state, GHashTable *finished, const SeedOptions *options, GError **error)
{
  SeedState *next;

  while ((next = g_hash_table_lookup (finished, &state->next)) != NULL)
    {
      guint64 first = state->next;

      seed_state_add (state, next);
      seed_state_clear (next);
      g_hash_table_remove (finished, &first);
    }
  return options->state_file == NULL || seed_state_write (state, options->state_file, error);
}

gboolean
seeds_run (SeedState *state, guint64 end, const SeedOptions *options, GError **error)
{
  const guint n = MAX (options->n_jobs, 1);
  g_autofree Child *child = g_new0 (Child, n);
  g_autofree struct pollfd *polls = g_new0 (struct pollfd, n);
  g_autoptr (GHashTable) finished = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
  guint64 next = state->next;
  guint running = 0;
  gboolean ok = TRUE;

  signal (SIGINT, interrupt_cb);
  signal (SIGTERM, interrupt_cb);
  for (;;)
    {
      running = 0;
      for (guint i = 0; i < n; i++)
        {
          if (child[i].pid == 0 && next < end && !interrupted && ok)
            {
              seed_state_init (&child[i].done, next);
              child[i].end = next = MIN (next + BATCH, end);
              start (&child[i], options);
            }
          polls[i] = (struct pollfd){ .fd = child[i].pid != 0 ? child[i].fd : -1, .events = POLLIN };
          running += child[i].pid != 0;
        }
      if (running == 0)
        break;
      if (poll (polls, n, -1) < 0)
        continue;
      for (guint i = 0; i < n; i++)
        {
          if (polls[i].revents == 0 || take (&child[i], options))
            continue;
          if (!finish (&child[i], options))
            {
              start (&child[i], options);
              continue;
            }
          {
            SeedState *done = g_memdup2 (&child[i].done, sizeof *done);

            g_hash_table_insert (finished, &done->first, done);
          }
          ok = ok && commit (state, finished, options, error);
        }
    }
  signal (SIGINT, SIG_DFL);
  signal (SIGTERM, SIG_DFL);
  return ok;
}

/* ---- one graph in a process of its own --------------------------------------- */

void
seed_check_apart (const LoomGraph *graph, const CheckOptions *options, CheckResult *result)
{
  int fd[2], status = 0;
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (GStrv) part = NULL;
  FILE *errors = tmpfile ();
  char buffer[4096];
  ssize_t n;
  pid_t pid;

  g_assert_cmpint (pipe (fd), ==, 0);
  fflush (NULL);
  pid = fork ();
  g_assert_cmpint (pid, >=, 0);
  if (pid == 0)
    {
      FILE *out = fdopen (fd[1], "w");
      CheckOptions own = *options;
      CheckResult found = { 0 };

      close (fd[0]);
      begin_child ();
      limit_time ();
      if (errors != NULL)
        dup2 (fileno (errors), STDERR_FILENO);
      own.devices = loom_devices_new (1);
      check_graph (graph, &own, &found);
      fprintf (out, "%d\t%u\t%s\t%s", (int)found.outcome, found.n_plans, found.rule != NULL ? found.rule : "",
               found.text != NULL ? found.text : "");
      fclose (out);
      _exit (0);
    }
  close (fd[1]);
  while ((n = read (fd[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0)
      g_string_append_len (text, buffer, n);
  close (fd[0]);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  check_result_clear (result);
  part = g_strsplit (text->str, "\t", 4);
  if (status == 0 && g_strv_length (part) == 4)
    {
      result->outcome = (CheckOutcome)g_ascii_strtoull (part[0], NULL, 10);
      result->n_plans = (guint)g_ascii_strtoull (part[1], NULL, 10);
      result->rule = g_strdup (part[2]);
      result->text = g_strdup (part[3]);
    }
  else
    {
      result->outcome = CHECK_WRONG;
      result->rule = g_strdup ("crash");
      result->text = end_sentence (status, errors);
    }
  if (errors != NULL)
    fclose (errors);
}
