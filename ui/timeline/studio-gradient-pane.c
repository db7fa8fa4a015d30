/* Implements studio-gradient-pane.h. `gradloom check --gradcheck` computes in a process of its own, in f64, with random
 * numbers in the batch's shape (ui/worker/studio-gradient-check.h). */
#include "ui/timeline/studio-gradient-pane.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/scene/studio-format.h"
#include "ui/timeline/gradient-text.h"
#include "ui/worker/studio-gradient-check.h"

struct _StudioGradientPane
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioGradientCheck *check;
  guint n_nodes, n_wrong, n_left; /* checked, of which differ; and those that cannot be checked */
  char *worst;                    /* the sentence about the first layer that differs */
  GtkWidget *sentence, *spinner, *cancel, *again, *list;
};

G_DEFINE_FINAL_TYPE (StudioGradientPane, studio_gradient_pane, ADW_TYPE_BIN)

/* ---- rows ------------------------------------------------------------------------------ */

static GtkWidget *
label_new (const char *text, gboolean is_detail)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 30);
  if (is_detail)
    {
      gtk_widget_add_css_class (label, "caption");
      gtk_widget_add_css_class (label, "numeric");
      gtk_widget_set_margin_start (label, 12);
    }
  return label;
}

static void
add_row (StudioGradientPane *self, const char *path, const char *text, gboolean is_detail, gboolean is_wrong)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = label_new (text, is_detail);

  gtk_widget_set_hexpand (label, TRUE);
  gtk_box_append (GTK_BOX (box), label);
  if (is_wrong)
    {
      GtkWidget *icon = gtk_image_new_from_icon_name ("dialog-warning-symbolic");

      gtk_widget_add_css_class (icon, "error");
      gtk_widget_set_valign (icon, GTK_ALIGN_START);
      gtk_box_append (GTK_BOX (box), icon);
    }
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (path), g_free);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

/* "3.1e-09". (transfer full) */
static char *
difference_text (double difference)
{
  g_autofree char *plain = difference > 1e300 ? g_strdup ("∞") : g_strdup_printf ("%.1e", MAX (difference, 0));

  return studio_format_local (plain);
}

static double
number_of (JsonObject *event, const char *name)
{
  return json_object_has_member (event, name) && !json_object_get_null_member (event, name)
             ? json_object_get_double_member (event, name)
             : 0;
}

/* "[2, 0]". (transfer full) */
static char *
numbers_text (JsonObject *event, const char *name, const char *separator)
{
  JsonArray *array = json_object_has_member (event, name) ? json_object_get_array_member (event, name) : NULL;
  g_autoptr (GString) s = g_string_new (NULL);

  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? separator : "", json_array_get_int_element (array, i));
  return g_strdup (s->str);
}

static char *
wrong_text (JsonObject *event)
{
  g_autofree char *place = numbers_text (event, "place", ", ");
  g_autofree char *gradient = studio_format_number (number_of (event, "gradient"));
  g_autofree char *numeric = studio_format_number (number_of (event, "numeric"));

  /* Translators: an input, an index, and two gradients. */
  return g_strdup_printf (_ ("%1$s at [%2$s] has the gradient %3$s, finite differences give %4$s"),
                          json_object_get_string_member_with_default (event, "input", ""), place, gradient, numeric);
}

static void
show_node (StudioGradientPane *self, JsonObject *event)
{
  const char *node = json_object_get_string_member_with_default (event, "node", "");
  const gboolean agrees = json_object_get_boolean_member_with_default (event, "agrees", TRUE);
  g_autofree char *difference = difference_text (number_of (event, "difference")), *text = NULL;

  if (json_object_get_null_member (event, "agrees"))
    {
      self->n_left++;
      text = g_strdup_printf (_ ("%1$s: not checked. %2$s"), node,
                              json_object_get_string_member_with_default (event, "why", ""));
      add_row (self, node, text, FALSE, FALSE);
      return;
    }
  self->n_nodes++;
  self->n_wrong += !agrees;
  text = agrees ? g_strdup_printf (_ ("%1$s agrees, to %2$s"), node, difference)
                : g_strdup_printf (_ ("%1$s differs by %2$s"), node, difference);
  add_row (self, node, text, FALSE, !agrees);
  if (!agrees && self->worst == NULL)
    {
      g_autofree char *where = wrong_text (event);

      self->worst = g_strdup_printf ("%s: %s.", node, where);
    }
}

static void
show_input (StudioGradientPane *self, JsonObject *event)
{
  const gboolean agrees = json_object_get_boolean_member_with_default (event, "agrees", TRUE);
  const int compared = (int)json_object_get_int_member_with_default (event, "compared", 0);
  g_autofree char *shape = numbers_text (event, "shape", " × ");
  g_autofree char *difference = difference_text (number_of (event, "difference")), *text = NULL;

  if (agrees)
    /* Translators: an input or weight, its shape, a difference, and a number of elements. */
    text = g_strdup_printf (
        ngettext ("%1$s [%2$s]: %3$s in %4$d element", "%1$s [%2$s]: %3$s in %4$d elements", compared),
        json_object_get_string_member_with_default (event, "input", ""), shape, difference, compared);
  else
    text = wrong_text (event);
  add_row (self, json_object_get_string_member_with_default (event, "node", ""), text, TRUE, !agrees);
}

static void
event_cb (StudioGradientCheck *check, JsonObject *event, StudioGradientPane *self)
{
  const char *name = json_object_get_string_member_with_default (event, "event", "");

  if (strcmp (name, "gradcheck") == 0)
    show_node (self, event);
  else if (strcmp (name, "gradcheck_input") == 0)
    show_input (self, event);
  else if (strcmp (name, "fault") == 0)
    add_row (self, json_object_get_string_member_with_default (event, "node", NULL),
             json_object_get_string_member_with_default (event, "message", ""), FALSE, TRUE);
}

/* ---- the check ----------------------------------------------------------------------------- */

static void
show_running (StudioGradientPane *self, gboolean running)
{
  gtk_spinner_set_spinning (GTK_SPINNER (self->spinner), running);
  gtk_widget_set_visible (self->spinner, running);
  gtk_widget_set_visible (self->cancel, running);
  gtk_widget_set_visible (self->again, !running);
}

static void
ended_cb (StudioGradientCheck *check, const char *message, StudioGradientPane *self)
{
  g_autofree char *text = NULL;

  show_running (self, FALSE);
  if (message != NULL)
    text = g_strdup (message);
  else
    text = gradient_text_result (self->n_nodes, self->n_wrong, self->n_left, self->worst);
  gtk_label_set_label (GTK_LABEL (self->sentence), text);
}

static void
cancel_cb (StudioGradientPane *self)
{
  studio_gradient_check_cancel (self->check);
  show_running (self, FALSE);
  gtk_label_set_label (GTK_LABEL (self->sentence), _ ("The check was cancelled."));
}

/* Of a collapsed frame and of notes there is no path. (transfer full) */
static char **
selected_paths (StudioGradientPane *self)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  for (guint i = 0; i < studio_document_n_selected (self->document); i++)
    {
      const guint64 serial = studio_document_get_selected (self->document, i);

      const LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self->document), serial);

      if (e != NULL && loom_element_tag (e) == LOOM_TAG_NODE)
        g_ptr_array_add (paths, studio_document_dup_node_path (self->document, serial));
    }
  g_ptr_array_add (paths, NULL);
  return (char **)g_ptr_array_steal (paths, NULL);
}

static gint64
batch_of (LoomGraph *graph)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *text = train != NULL ? loom_element_get (train, "batch_size") : NULL;

  return text != NULL ? CLAMP (g_ascii_strtoll (text, NULL, 10), 1, G_MAXINT32) : 1;
}

void
studio_gradient_pane_check (StudioGradientPane *self)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_auto (GStrv) paths = selected_paths (self);
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = studio_document_dup_text_for_process (self->document, &error), *text = NULL,
                  *count = studio_format_count ((double)batch_of (graph));
  GtkWidget *row;

  while ((row = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), row);
  self->n_nodes = self->n_wrong = self->n_left = 0;
  g_clear_pointer (&self->worst, g_free);
  studio_gradient_check_cancel (self->check);
  if (xml == NULL)
    {
      ended_cb (self->check, error->message, self);
      return;
    }
  text = paths[0] == NULL ? g_strdup_printf (_ ("Checking all layers with a batch of %s."), count)
         : paths[1] == NULL
             ? g_strdup_printf (_ ("Checking %1$s with a batch of %2$s."), paths[0], count)
             : g_strdup_printf (_ ("Checking %1$u layers with a batch of %2$s."), g_strv_length (paths), count);
  gtk_label_set_label (GTK_LABEL (self->sentence), text);
  show_running (self, TRUE);
  studio_gradient_check_start (self->check, xml, loom_graph_get_folder (graph), (const char *const *)paths,
                               batch_of (graph));
}

void
studio_gradient_pane_focus (StudioGradientPane *self)
{
  gtk_widget_grab_focus (gtk_widget_get_visible (self->cancel) ? self->cancel : self->again);
}

static void
activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioGradientPane *self)
{
  const char *path = g_object_get_data (G_OBJECT (row), "path");

  if (path != NULL)
    studio_document_reveal (self->document, path);
}

/* ---- widget ------------------------------------------------------------------------------------ */

static void
gradient_pane_dispose (GObject *object)
{
  StudioGradientPane *self = STUDIO_GRADIENT_PANE (object);

  if (self->check != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->check, self);
      studio_gradient_check_cancel (self->check);
    }
  g_clear_object (&self->check);
  g_clear_object (&self->document);
  g_clear_pointer (&self->worst, g_free);
  G_OBJECT_CLASS (studio_gradient_pane_parent_class)->dispose (object);
}

static void
studio_gradient_pane_class_init (StudioGradientPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gradient_pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "gradientpane");
  STUDIO_TEMPLATE (klass, "studio-gradient-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioGradientPane, sentence, spinner, cancel, again, list);
  STUDIO_TEMPLATE_CALLBACKS (klass, cancel_cb, studio_gradient_pane_check, activated_cb);
}

static void
studio_gradient_pane_init (StudioGradientPane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  show_running (self, FALSE);
}

StudioGradientPane *
studio_gradient_pane_new (StudioDocument *document)
{
  StudioGradientPane *self = g_object_new (STUDIO_TYPE_GRADIENT_PANE, NULL);

  self->document = g_object_ref (document);
  self->check = studio_gradient_check_new ();
  g_signal_connect (self->check, "event", G_CALLBACK (event_cb), self);
  g_signal_connect (self->check, "ended", G_CALLBACK (ended_cb), self);
  return self;
}
