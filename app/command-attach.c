/* `gradloom attach`: shows and stops a run that goes on without a window or a terminal. */
#include "app/attach-view.h"
#include "app/commands.h"
#include "app/train-remote.h"
#include "engine/runs/loom-runs.h"

/* How the run has ended, as the second part of a sentence; NULL: it goes on, or is no run. (transfer full) */
static char *
describe_end (const char *folder)
{
  g_autoptr (LoomRunSummary) run = loom_run_summary_new (folder, 2);
  const char *end = loom_run_summary_end (run);
  const LoomRunLog *log = &run->log;
  g_autofree char *word = loom_text_shell_word (folder);
  g_autofree char *steps = g_strdup_printf ("%" G_GINT64_FORMAT " step%s", log->step, log->step == 1 ? "" : "s");
  const gboolean needs_stop = log->sentence != NULL && !g_str_has_suffix (log->sentence, ".");

  if (log->is_training)
    return NULL;
  if (run->error != NULL)
    return g_strdup (run->error);
  if (end == NULL)
    return g_strdup_printf (log->step > 0 ? "It ended after %s." : "It has no step yet.", steps);
  if (g_str_equal (end, "done"))
    return g_strdup_printf ("It is done, after %s.", steps);
  if (g_str_equal (end, "killed"))
    return g_strdup_printf ("Its process was killed after %s. Continue with: gradloom train --resume %s", steps, word);
  if (g_str_equal (end, "stopped"))
    return g_strdup_printf ("It was stopped after %s. Continue with: gradloom train --resume %s", steps, word);
  return g_strdup_printf ("It failed after %s: %s%s Continue with: gradloom train --resume %s", steps,
                          log->sentence != NULL ? log->sentence : "", needs_stop ? "." : "", word);
}

/* Adds how the run has ended to the error that none goes on in its folder. */
static int
fail (const Command *command, const char *folder, GError *error)
{
  g_autofree char *end = g_error_matches (error, LOOM_ERROR, LOOM_ERROR_DATA) ? describe_end (folder) : NULL;

  if (end == NULL)
    return command_fail (command, error);
  g_error_free (error);
  return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_DATA, "No run goes on in %s. %s", folder, end));
}

static int
run_attach (const Command *command, int argc, char **argv)
{
  gboolean stop = FALSE, json = FALSE;
  const GOptionEntry entries[] = {
    { "stop", 0, 0, G_OPTION_ARG_NONE, &stop, "Stop the run after its step, with a checkpoint", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print events as JSON, one object per line", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_auto (LoomRunHost) host = { NULL };
  g_auto (WorkerLink) link = { NULL };
  int status;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one RUN.");
  if (loom_run_host_read (argv[1], &host))
    return train_remote_attach (command, argv[1], host.name, host.id, stop, json);
  if (!worker_link_attach (&link, argv[1], &error))
    return fail (command, argv[1], g_steal_pointer (&error));
  status = attach_view_follow (command, &link, argv[1], stop, json);
  if (status != ATTACH_VIEW_LOST)
    return MAX (status, 0);
  g_autofree char *end = describe_end (argv[1]);
  return command_fail (command,
                       g_error_new (LOOM_ERROR, LOOM_ERROR_IO, "The process that trains in %s has ended. %s", argv[1],
                                    end != NULL ? end : "Its last messages are in worker.log there."));
}

const Command command_attach = {
  .name = "attach",
  .arguments = "RUN",
  .summary = "show a run that goes on without a window, or stop it",
  .details
  = "RUN is the folder of a run that was started with gradloom train --detach, or whose window was closed with\n"
    "“Go On Without the Window”. Ctrl-C leaves the run, which goes on. One window or command at a time can\n"
    "attach. gradloom runs lists runs that go on. Of a run that has ended, attach says how. Without a terminal it\n"
    "prints a line for each evaluation. A run that gradloom train --host has begun is shown by ssh;\n"
    "new parts of it come into RUN, at its end also the weights.\n\n"
    "  gradloom train graphs/lessons/spirals.xml --epochs 2000 --out background --detach\n"
    "  gradloom attach background --stop\n",
  .run = run_attach,
};
