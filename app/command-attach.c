/* `gradloom attach`: shows and stops a run that goes on without a window or a terminal. */
#include "app/attach-view.h"
#include "app/commands.h"

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
  g_auto (WorkerLink) link = { NULL };

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one RUN.");
  if (!worker_link_attach (&link, argv[1], &error))
    return command_fail (command, g_steal_pointer (&error));
  return attach_view_follow (command, &link, argv[1], stop, json);
}

const Command command_attach = {
  .name = "attach",
  .arguments = "RUN",
  .summary = "show a run that goes on without a window, or stop it",
  .details
  = "RUN is the folder of a run that was started with gradloom train --detach, or whose window was closed with\n"
    "“Go On Without the Window”. Ctrl-C leaves the run, which goes on. One window or command at a time can\n"
    "attach. gradloom runs lists runs that go on.\n\n"
    "  gradloom train graphs/lessons/spirals.xml --epochs 2000 --out background --detach\n"
    "  gradloom attach background --stop\n",
  .run = run_attach,
};
