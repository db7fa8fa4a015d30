/* Computes the least number of ranks that a graph requires, and the next number that its <parallel> allows when the
 * user changes it.
 *
 * One rank is always valid: the engine then ignores <parallel> and emits a note. */
#include "ui/run/studio-rank-count.h"

#include "engine/loom.h"
#include "ui/run/studio-run-private.h"

static LoomTrainSpec *
new_spec (StudioDocument *document)
{
  LoomNet *net = studio_document_get_net (document);
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  return net != NULL ? loom_train_spec_new (studio_document_get_graph (document), net, faults) : NULL;
}

int
studio_rank_count_required (StudioDocument *document)
{
  LoomTrainSpec *spec = new_spec (document);
  gint64 n = spec != NULL ? loom_parallel_least (&spec->parallel) : 1;

  g_clear_pointer (&spec, loom_train_spec_free);
  return (int)CLAMP (n, 1, G_MAXINT16);
}

int
studio_rank_count_choose (StudioDocument *document, int had, int chosen, int most, char **sentence)
{
  LoomTrainSpec *spec = new_spec (document);
  g_autoptr (GError) first = NULL;
  int by = chosen - had, size[LOOM_MESH_AXES], n = chosen;

  *sentence = NULL;
  while (spec != NULL && n > 1)
    {
      g_autoptr (GError) error = NULL;

      if (loom_train_spec_mesh (spec, n, size, &error))
        break;
      if (first == NULL)
        first = g_steal_pointer (&error);
      n += ABS (by) == 1 ? by : 0;
      if (ABS (by) != 1 || n > most)
        {
          *sentence = studio_run_rewrite_message (first->message);
          n = 0;
        }
    }
  g_clear_pointer (&spec, loom_train_spec_free);
  return n;
}
