/* Computes the least number of ranks that a graph requires, and the next number that its <parallel> allows when the
 * user changes it.
 *
 * One rank is always valid: the engine then ignores <parallel> and emits a note. */
#include "ui/run/studio-rank-count.h"

#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/run/studio-run-messages.h"

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

void
studio_rank_count_set (StudioDocument *document, StudioRun *run, int chosen)
{
  g_autofree char *sentence = NULL;
  int n = studio_rank_count_choose (document, studio_run_get_ranks (run), chosen, STUDIO_RANK_COUNT_MAX, &sentence);

  if (n > 0)
    studio_run_set_ranks (run, n);
  else
    studio_run_take_problem (run, "REFUSED", "", "", sentence);
}

/* ---- the field ------------------------------------------------------------- */

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  GtkSpinButton *spin;
  gboolean filling;
} Field;

static void
show_ranks (Field *self)
{
  self->filling = TRUE;
  gtk_spin_button_set_value (self->spin, studio_run_get_ranks (self->run));
  self->filling = FALSE;
}

static void
changed_cb (GtkSpinButton *spin, Field *self)
{
  if (self->filling)
    return;
  studio_rank_count_set (self->document, self->run, gtk_spin_button_get_value_as_int (spin));
  show_ranks (self);
}

static void
field_free (gpointer data)
{
  Field *self = data;

  g_signal_handlers_disconnect_by_data (self->run, self);
  g_object_unref (self->run);
  g_object_unref (self->document);
  g_free (self);
}

GtkWidget *
studio_rank_count_spin_new (StudioDocument *document, StudioRun *run)
{
  GtkWidget *spin = gtk_spin_button_new_with_range (1, STUDIO_RANK_COUNT_MAX, 1);
  Field *self = g_new0 (Field, 1);

  *self = (Field){ g_object_ref (document), g_object_ref (run), GTK_SPIN_BUTTON (spin), FALSE };
  gtk_editable_set_width_chars (GTK_EDITABLE (spin), 2);
  gtk_spin_button_set_numeric (GTK_SPIN_BUTTON (spin), TRUE);
  gtk_widget_set_tooltip_text (spin,
                               _ ("The number of ranks of the next run, each with the graph’s batch size. The number "
                                  "is not part of the graph."));
  g_signal_connect (spin, "value-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (run, "ranks-changed", G_CALLBACK (show_ranks), self);
  g_object_set_data_full (G_OBJECT (spin), "field", self, field_free);
  show_ranks (self);
  return spin;
}
