/* Sessions on seeds: 1,000 in each run of the tests, or by hand with the words
 *
 *   --seeds FIRST:LAST [--jobs N] [--state FILE]  of these seeds; the file has the count, so that a long run continues
 *   --kind NAME                                   those of the seeds that run this
 *   --replay SEED [--faults LIST]                 one session, with the list of its faults, or another one
 *
 * A list is "LIFE.CALL:KIND,…". Of a session that fails, faults are left out as long as it still fails. */
#include "tests/world/world-session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_CI 1000

static char *
list_of (const WorldFault *faults, int n)
{
  GString *list = g_string_new (NULL);

  for (int i = 0; i < n; i++)
    g_string_append_printf (list, "%s%d.%d:%s", i > 0 ? "," : "", faults[i].life, faults[i].call,
                            world_fault_name (faults[i].kind));
  return g_string_free (list, FALSE);
}

static int
read_list (const char *list, WorldFault faults[WORLD_MOST_FAULTS])
{
  g_auto (GStrv) word = g_strsplit (list, ",", WORLD_MOST_FAULTS);
  int n = 0;

  for (guint i = 0; word[i] != NULL && *word[i] != '\0'; i++)
    {
      char kind[16];

      g_assert_cmpint (sscanf (word[i], "%d.%d:%15s", &faults[n].life, &faults[n].call, kind), ==, 3);
      for (faults[n].kind = 0; !g_str_equal (world_fault_name (faults[n].kind), kind); faults[n].kind++)
        g_assert_cmpint (faults[n].kind, <, WORLD_N_FAULTS - 1);
      n++;
    }
  return n;
}

/* Leaves out faults as long as the session fails without them. */
static int
shrink (guint64 seed, WorldFault *faults, int n)
{
  for (int i = 0; i < n;)
    {
      WorldFault fewer[WORLD_MOST_FAULTS];
      g_autofree char *wrong = NULL;
      int met;

      memcpy (fewer, faults, (gsize)n * sizeof *faults);
      memmove (fewer + i, fewer + i + 1, (gsize)(n - i - 1) * sizeof *faults);
      wrong = world_session_run (seed, fewer, n - 1, &met);
      if (wrong == NULL)
        i++;
      else
        memcpy (faults, fewer, (gsize)--n * sizeof *faults);
    }
  return n;
}

/* FALSE: the session of a seed fails; a line says how to replay it. */
static gboolean
run_seed (guint64 seed, const char *list, int *n_met)
{
  WorldFault faults[WORLD_MOST_FAULTS];
  int n = list != NULL ? read_list (list, faults) : world_session_faults (seed, faults), met;
  g_autofree char *all = list_of (faults, n), *shrunk = NULL, *of = NULL, *wrong = NULL;

  if (g_getenv ("WORLD_TRACE") != NULL)
    printf ("# %s, faults %s\n", world_session_kind (seed), all);
  wrong = world_session_run (seed, faults, n, n_met);
  if (wrong == NULL)
    return TRUE;
  n = shrink (seed, faults, n);
  of = list_of (faults, n);
  shrunk = world_session_run (seed, faults, n, &met);
  printf ("# seed %" G_GUINT64_FORMAT ": %s\n# replay: test-world --replay %" G_GUINT64_FORMAT " --faults '%s'\n", seed,
          shrunk != NULL ? shrunk : wrong, seed, of);
  fflush (stdout);
  return FALSE;
}

typedef struct
{
  guint64 next, sessions, faults, failed;
} Count;

static Count
read_count (const char *file, guint64 first)
{
  g_autofree char *text = NULL;
  Count count = { first, 0, 0, 0 };

  if (file != NULL && g_file_get_contents (file, &text, NULL, NULL))
    sscanf (text,
            "next %" G_GUINT64_FORMAT "\nsessions %" G_GUINT64_FORMAT "\nfaults %" G_GUINT64_FORMAT
            "\nfailed %" G_GUINT64_FORMAT,
            &count.next, &count.sessions, &count.faults, &count.failed);
  return count;
}

static void
write_count (const char *file, const Count *count)
{
  g_autofree char *text = g_strdup_printf ("next %" G_GUINT64_FORMAT "\nsessions %" G_GUINT64_FORMAT
                                           "\nfaults %" G_GUINT64_FORMAT "\nfailed %" G_GUINT64_FORMAT "\n",
                                           count->next, count->sessions, count->faults, count->failed);

  if (file != NULL)
    g_file_set_contents (file, text, -1, NULL);
}

static char *only_kind; /* NULL: all */

/* Every nth seed from `first`; each of n processes has a world of its own. */
static Count
run_seeds (guint64 first, guint64 last, guint64 every, const char *state)
{
  Count count = read_count (state, first);

  world_session_init ();
  for (; count.next < last; count.next += every)
    {
      int met;

      if (only_kind != NULL && !g_str_equal (only_kind, world_session_kind (count.next)))
        continue;
      count.failed += !run_seed (count.next, NULL, &met);
      count.sessions++;
      count.faults += (guint64)met;
      if (count.sessions % 100 == 0)
        write_count (state, &count);
    }
  write_count (state, &count);
  return count;
}

static Count
run_jobs (guint64 first, guint64 last, guint n, const char *state)
{
  Count all = { last, 0, 0, 0 };
  g_autofree int *from = g_new (int, n);

  for (guint i = 0; i < n; i++)
    {
      int ends[2];

      g_assert_cmpint (pipe (ends), ==, 0);
      if (fork () == 0)
        {
          g_autofree char *file = state != NULL ? g_strdup_printf ("%s.%u", state, i) : NULL;
          const Count count = run_seeds (first + i, last, n, file);

          _exit (write (ends[1], &count, sizeof count) != sizeof count);
        }
      close (ends[1]);
      from[i] = ends[0];
    }
  for (guint i = 0; i < n; i++)
    {
      Count one = { 0, 0, 0, 1 }; /* of a process that died */

      if (read (from[i], &one, sizeof one) != sizeof one)
        one = (Count){ 0, 0, 0, 1 };
      close (from[i]);
      all.sessions += one.sessions;
      all.faults += one.faults;
      all.failed += one.failed;
    }
  while (wait (NULL) > 0)
    ;
  return all;
}

/* Faults of one kind in every nth call of the first life: those after which state could be half of a step's, or a plan
 * another one. FALSE as well if less than half of these calls are met: then the run has fewer calls than it had. */
static gboolean
run_calls (void)
{
  static const struct
  {
    const char *of;
    WorldFaultKind kind;
    int last, every;
  } swept[] = {
    { "averages", WORLD_DEVICE, 260, 13 }, { "averages", WORLD_LOST, 260, 17 }, { "adam", WORLD_MEMORY, 270, 11 },
    { "server", WORLD_DEVICE, 150, 7 },    { "server", WORLD_REPEAT, 180, 17 }, { "stages", WORLD_LOSE, 180, 17 },
    { "hybrid", WORLD_DIE, 120, 29 },      { "ranks", WORLD_HANG, 260, 37 },
  };
  gboolean ok = TRUE;

  world_session_init ();
  for (guint i = 0; i < G_N_ELEMENTS (swept); i++)
    {
      int calls = 0, all_met = 0;
      guint64 seed = 0;

      while (!g_str_equal (world_session_kind (seed), swept[i].of))
        seed++;
      for (int call = 0; call < swept[i].last; call += swept[i].every)
        {
          const WorldFault fault = { 0, call, swept[i].kind };
          g_autofree char *list = list_of (&fault, 1);
          int met;

          ok = run_seed (seed, list, &met) && ok;
          calls++;
          all_met += met;
        }
      printf ("# %s, %s in %d calls: %d met\n", swept[i].of, world_fault_name (swept[i].kind), calls, all_met);
      ok = ok && 2 * all_met >= calls;
    }
  return ok;
}

int
main (int argc, char **argv)
{
  g_autofree char *seeds = NULL, *state = NULL, *replay = NULL, *faults = NULL;
  int jobs = 2;
  const GOptionEntry entries[] = { { "seeds", 0, 0, G_OPTION_ARG_STRING, &seeds, NULL, "FIRST:LAST" },
                                   { "state", 0, 0, G_OPTION_ARG_STRING, &state, NULL, "FILE" },
                                   { "jobs", 0, 0, G_OPTION_ARG_INT, &jobs, NULL, "N" },
                                   { "kind", 0, 0, G_OPTION_ARG_STRING, &only_kind, NULL, "NAME" },
                                   { "replay", 0, 0, G_OPTION_ARG_STRING, &replay, NULL, "SEED" },
                                   { "faults", 0, 0, G_OPTION_ARG_STRING, &faults, NULL, "LIST" },
                                   { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  guint64 first = 0, last = IN_CI;
  gboolean all;
  Count count;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, NULL)
      || (seeds != NULL && sscanf (seeds, "%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, &first, &last) != 2))
    return 2;
  if (replay != NULL)
    {
      int met;

      world_session_init ();
      return !run_seed (g_ascii_strtoull (replay, NULL, 10), faults, &met);
    }
  all = seeds != NULL || run_calls ();
  count = run_jobs (first, last, (guint)CLAMP (jobs, 1, 64), state);
  printf ("# %" G_GUINT64_FORMAT " sessions, %" G_GUINT64_FORMAT " faults met, %" G_GUINT64_FORMAT " sessions failed\n",
          count.sessions, count.faults, count.failed);
  printf ("1..2\n%s 1 /world/sessions\n%s 2 /world/calls\n", count.failed == 0 ? "ok" : "not ok",
          all ? "ok" : "not ok");
  return count.failed != 0 || !all;
}
