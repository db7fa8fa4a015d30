/* Reads a graph and prints its faults; see the header. */
#include "app/shared/checked-graph.h"

#include <stdio.h>

void
checked_graph_clear (CheckedGraph *checked)
{
  g_clear_pointer (&checked->spec, loom_train_spec_free);
  g_clear_pointer (&checked->net, loom_net_free);
  g_clear_pointer (&checked->graph, loom_graph_unref);
  g_clear_pointer (&checked->faults, loom_faults_free);
}

void
checked_graph_print_faults (const LoomFaults *faults, const char *path, gboolean json)
{
  g_autoptr (GPtrArray) sentences = json ? NULL : loom_faults_sentences (faults, TRUE);

  g_autofree char *shown
      = command_printable (faults->file != NULL ? faults->file : path); /* of a folder, its graph.xml */

  for (guint i = 0; sentences != NULL && i < sentences->len; i++)
    fprintf (stderr, "%s: %s\n", shown, (char *)sentences->pdata[i]);
  for (guint i = 0; json && i < loom_faults_length (faults); i++)
    {
      const LoomFault *f = loom_faults_get (faults, i);
      LoomJson *line = command_event_new (f->is_warning ? "warning" : "fault");

      loom_json_string (line, "code", loom_error_code_name (f->code));
      loom_json_int (line, "line", f->line);
      loom_json_string (line, "node", f->node);
      loom_json_string (line, "port", f->port);
      loom_json_string (line, "message", f->message);
      loom_json_string (line, "fix", f->fix);
      command_event_print (line);
    }
}

/* Adds faults that only the samples show. Unreadable data is reported by other code. */
static void
check_data (const LoomGraph *graph, const LoomNet *net, const LoomTrainSpec *spec, LoomFaults *faults)
{
  g_autoptr (LoomDataset) dataset
      = spec->dataset_node < 0 ? NULL
                               : loom_net_open_dataset (net, spec->dataset_node, loom_graph_get_folder (graph), NULL);

  if (dataset != NULL)
    loom_net_check_classes (net, &spec->loss, spec->dataset_node, dataset, faults);
}

void
checked_graph_infer (CheckedGraph *checked)
{
  checked->net = loom_net_new (checked->graph, NULL, checked->faults);
  if (loom_element_find (loom_graph_root (checked->graph), LOOM_TAG_TRAIN) != NULL)
    checked->spec = loom_train_spec_new (checked->graph, checked->net, checked->faults);
  if (checked->spec != NULL && loom_faults_count (checked->faults) == 0)
    check_data (checked->graph, checked->net, checked->spec, checked->faults);
}

gboolean
checked_graph_read (const Command *command, const char *path, gboolean json, CheckedGraph *checked)
{
  g_autoptr (GError) error = NULL;
  LoomFaults *faults = checked->faults = loom_faults_new ();
  LoomGraph *graph = checked->graph = command_load_graph (path, faults, &error);

  if (graph == NULL)
    {
      command_fail (command, g_steal_pointer (&error));
      return FALSE;
    }
  checked_graph_infer (checked);
  loom_net_warn_of_outside_paths (checked->net, graph, loom_graph_get_file (graph), faults);
  g_ptr_array_unref (loom_lessons_new (graph, faults));
  g_ptr_array_unref (loom_slides_new (graph, faults));
  checked_graph_print_faults (faults, path, json);
  return loom_faults_count (faults) == 0;
}
