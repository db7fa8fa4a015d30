/* `gradloom check GRAPH --gradcheck [NODE]`: `gradloom` passes the options to this command. */
#include "app/lab/check-gradients.h"
#include "app/lab/commands.h"
#include "app/shared/checked-graph.h"

#define BATCH 3 /* samples, if no batch size is given */

static int
run_gradcheck (const Command *command, int argc, char **argv)
{
  gint64 batch_size = 0;
  gboolean json = FALSE;
  g_auto (GStrv) in = NULL;
  const GOptionEntry entries[] = {
    { "in", 0, 0, G_OPTION_ARG_STRING_ARRAY, &in, "The values of a port at which gradients are compared",
      "PORT=F.npy" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Batch size B (3)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc < 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");

  g_auto (CheckedGraph) checked = { 0 };
  if (!checked_graph_read (command, argv[1], json, &checked))
    return 1;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };
  binding.value['B' - 'A'] = batch_size > 0 ? batch_size : BATCH;
  g_autoptr (GPtrArray) points = check_points_read (checked.net, in, &binding, &error);
  if (points == NULL)
    {
      const int status = command_fail (command, g_steal_pointer (&error));

      return status == 5 ? 1 : status; /* an unreadable file counts as wrong data */
    }
  g_autoptr (LoomNet) bound = loom_net_bind (checked.net, checked.graph, &binding, faults);
  return check_gradients (command, bound, argv + 2, points, json);
}

const Command command_gradcheck = {
  .name = "check",
  .arguments = "GRAPH|RUN [NODE…]",
  .run = run_gradcheck,
};
