/* Implements studio-proposal-bar.h. */
#include "ui/page/studio-proposal-bar.h"

#include <glib/gi18n.h>

#include "engine/runs/loom-proposal.h"
#include "ui/charts/studio-template.h"
#include "ui/document/studio-document-history.h"

struct _StudioProposalBar
{
  AdwBin parent_instance;
  GtkWidget *revealer, *notice, *label, *reason, *show, *gradients, *accept;
  StudioDocument *document;
  StudioComparing *comparing;
  char *path;            /* of the graph's file; NULL: none */
  GFileMonitor *monitor; /* of the proposal's */
  LoomProposal *proposal;
  gboolean is_on;
  guint position; /* in the history, before the proposal was shown */
};

G_DEFINE_FINAL_TYPE (StudioProposalBar, studio_proposal_bar, ADW_TYPE_BIN)

enum
{
  PROP_SHOWN = 1,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];
static guint say_signal;

void
studio_proposal_bar_set_narrow (StudioProposalBar *self, gboolean narrow)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->notice),
                                  narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
}

gboolean
studio_proposal_bar_is_shown (StudioProposalBar *self)
{
  return self->proposal != NULL;
}

gboolean
studio_proposal_bar_is_on (StudioProposalBar *self)
{
  return self->is_on;
}

static void
update (StudioProposalBar *self)
{
  if (self->proposal != NULL)
    {
      g_autofree char *text
          = g_strdup_printf (self->is_on ? _ ("The canvas shows the proposal “%s”.") : _ ("An agent proposes: “%s”."),
                             self->proposal->title);

      gtk_label_set_text (GTK_LABEL (self->label), text);
      gtk_label_set_text (GTK_LABEL (self->reason), self->proposal->reason);
      gtk_widget_set_visible (self->reason, *self->proposal->reason != '\0');
      gtk_widget_set_visible (self->show, !self->is_on);
      gtk_widget_set_visible (self->gradients, self->is_on);
      gtk_widget_set_visible (self->accept, self->is_on);
    }
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->revealer), self->proposal != NULL);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SHOWN]);
}

/* A proposal that is on the canvas stays as it was shown; a later one follows when it is accepted or refused. */
static void
read_cb (StudioProposalBar *self)
{
  if (self->is_on)
    return;
  g_clear_pointer (&self->proposal, loom_proposal_free);
  if (self->path != NULL)
    self->proposal = loom_proposal_read (self->path, NULL);
  update (self);
}

static void
watch (StudioProposalBar *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *name = path != NULL ? g_strconcat (path, LOOM_PROPOSAL_SUFFIX, NULL) : NULL;
  g_autoptr (GFile) file = name != NULL ? g_file_new_for_path (name) : NULL;

  if (g_strcmp0 (path, self->path) == 0)
    return;
  g_free (self->path);
  self->path = g_strdup (path);
  self->is_on = FALSE;
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  if (file != NULL)
    self->monitor = g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
  if (self->monitor != NULL)
    g_signal_connect_swapped (self->monitor, "changed", G_CALLBACK (read_cb), self);
  read_cb (self);
}

/* If the user has undone the step, the proposal is as it was before it was shown. */
static void
changed_cb (StudioProposalBar *self)
{
  watch (self);
  if (!self->is_on || studio_document_history_position (self->document) > self->position)
    return;
  self->is_on = FALSE;
  studio_comparing_end (self->comparing);
  read_cb (self);
}

/* ---- what the user decides ---------------------------------------------------------------------- */

void
studio_proposal_bar_show (StudioProposalBar *self)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *hash = loom_graph_hash (graph);
  g_autoptr (LoomGraph) before = NULL;
  g_autoptr (GError) error = NULL;

  if (self->proposal == NULL || self->is_on)
    return;
  if (!g_str_equal (hash, self->proposal->base))
    {
      g_signal_emit (self, say_signal, 0,
                     _ ("The graph is not the one for which this was proposed. Save it, and ask the agent again."));
      return;
    }
  before = loom_graph_copy (graph);
  self->position = studio_document_history_position (self->document);
  self->is_on = TRUE;
  if (!studio_document_replace (self->document, self->proposal->graph, self->proposal->title, &error))
    {
      self->is_on = FALSE;
      g_signal_emit (self, say_signal, 0, error->message);
      return;
    }
  studio_comparing_with_graph (self->comparing, g_steal_pointer (&before), _ ("the graph before the proposal"));
  update (self);
}

static void
end (StudioProposalBar *self)
{
  self->is_on = FALSE;
  studio_comparing_end (self->comparing);
  if (self->path != NULL)
    loom_proposal_remove (self->path);
  read_cb (self);
}

void
studio_proposal_bar_accept (StudioProposalBar *self)
{
  if (self->is_on)
    end (self);
}

/* Later edits were made on the proposed graph, and are undone with it. */
void
studio_proposal_bar_refuse (StudioProposalBar *self)
{
  const gboolean was_on = self->is_on;

  if (self->proposal == NULL)
    return;
  self->is_on = FALSE;
  while (was_on && studio_document_history_position (self->document) > self->position
         && studio_document_undo (self->document))
    ;
  end (self);
}

/* ---- object ------------------------------------------------------------------------------------- */

/* A monitor may miss changes (a network's folder). */
static void
map_cb (StudioProposalBar *self)
{
  if (self->document != NULL)
    read_cb (self);
}

void
studio_proposal_bar_set (StudioProposalBar *self, StudioDocument *document, StudioComparing *comparing)
{
  g_return_if_fail (self->document == NULL);
  self->document = g_object_ref (document);
  self->comparing = g_object_ref (comparing);
  g_signal_connect_object (document, "file-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  watch (self);
}

static void
proposal_bar_get_property (GObject *object, guint property, GValue *value, GParamSpec *spec)
{
  g_value_set_boolean (value, studio_proposal_bar_is_shown (STUDIO_PROPOSAL_BAR (object)));
}

static void
proposal_bar_dispose (GObject *object)
{
  StudioProposalBar *self = STUDIO_PROPOSAL_BAR (object);

  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  g_clear_object (&self->document);
  g_clear_object (&self->comparing);
  g_clear_pointer (&self->proposal, loom_proposal_free);
  g_clear_pointer (&self->path, g_free);
  G_OBJECT_CLASS (studio_proposal_bar_parent_class)->dispose (object);
}

static void
studio_proposal_bar_class_init (StudioProposalBarClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = proposal_bar_dispose;
  G_OBJECT_CLASS (klass)->get_property = proposal_bar_get_property;
  properties[PROP_SHOWN] = g_param_spec_boolean ("shown", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (klass), N_PROPERTIES, properties);
  say_signal = studio_signal_new ("say", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
  STUDIO_TEMPLATE (klass, "studio-proposal-bar.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioProposalBar, revealer, notice, label, reason, show, gradients, accept);
}

static void
studio_proposal_bar_init (StudioProposalBar *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect (self, "map", G_CALLBACK (map_cb), NULL);
}
