/* `gradloom attach`: shows and stops a run that goes on without a window or a terminal. */
#include "app/attach-view.h"
#include "app/commands.h"
#include "app/remote-host.h"
#include "app/train-remote.h"

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
  g_autofree char *host = NULL, *id = NULL;
  g_auto (WorkerLink) link = { NULL };
  int status;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one RUN.");
  if (remote_run_find (argv[1], &host, &id))
    return train_remote_attach (command, argv[1], host, id, stop, json);
  if (!worker_link_attach (&link, argv[1], &error))
    return command_fail (command, g_steal_pointer (&error));
  status = attach_view_follow (command, &link, argv[1], stop, json);
  if (status != ATTACH_VIEW_LOST)
    return MAX (status, 0);
  g_autofree char *word = loom_text_shell_word (argv[1]);
  return command_fail (command, g_error_new (LOOM_ERROR, LOOM_ERROR_IO,
                                             "The process that trains in %s has ended. Its last messages are in "
                                             "worker.log there. Continue with: gradloom train --resume %s",
                                             argv[1], word));
}

const Command command_attach = {
  .name = "attach",
  .arguments = "RUN",
  .summary = "show a run that goes on without a window, or stop it",
  .details
  = "RUN is the folder of a run that was started with gradloom train --detach, or whose window was closed with\n"
    "“Go On Without the Window”. Ctrl-C leaves the run, which goes on. One window or command at a time can\n"
    "attach. gradloom runs lists runs that go on. A run that gradloom train --host has begun is shown by ssh;\n"
    "new parts of it come into RUN, at its end also the weights.\n\n"
    "  gradloom train graphs/lessons/spirals.xml --epochs 2000 --out background --detach\n"
    "  gradloom attach background --stop\n",
  .run = run_attach,
};
