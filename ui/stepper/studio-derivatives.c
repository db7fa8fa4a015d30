/* Shows the chain rule for one number; see the header. Each term is a row of words, so that it is read aloud as it is
 * written; activated, its number becomes the first one. */
#include "ui/stepper/studio-derivatives.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-template.h"
#include "ui/scene/studio-format.h"
#include "ui/scene/studio-tensors.h"

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioStepper *stepper;
  StudioInstant *instant;
  char *port;
  char **tensors; /* the outputs and weights of its node */
  GtkWidget *window, *tensor, *element, *list, *back;
  gboolean is_filling; /* the choice of tensors */
  GQueue before;       /* Place: the numbers before this one */
  int asked;           /* the element of the request in flight */
  gboolean in_flight, must_ask;
} Pane;

typedef struct
{
  char *port;
  int element;
} Place;

static void ask (Pane *pane);

static void
place_free (gpointer data)
{
  g_free (((Place *)data)->port);
  g_free (data);
}

static void
pane_free (gpointer data, GClosure *closure)
{
  Pane *pane = data;

  g_object_unref (pane->document);
  g_object_unref (pane->run);
  studio_stepper_mark (pane->stepper, NULL);
  g_object_unref (pane->stepper);
  g_object_unref (pane->instant);
  g_queue_clear_full (&pane->before, place_free);
  g_strfreev (pane->tensors);
  g_free (pane->port);
  g_free (pane);
}

static GtkWidget *
add_row (Pane *pane, char *text)
{
  GtkWidget *label = gtk_label_new (text), *row = gtk_list_box_row_new ();

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), label);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
  gtk_list_box_append (GTK_LIST_BOX (pane->list), row);
  g_free (text);
  return row;
}

static void
clear_rows (Pane *pane)
{
  for (GtkWidget *row = gtk_widget_get_first_child (pane->list); row != NULL;
       row = gtk_widget_get_first_child (pane->list))
    gtk_list_box_remove (GTK_LIST_BOX (pane->list), row);
}

/* "    loss[0]: local derivative 0.5 × gradient 1 = 0.5 (60 %)". Returns the product. */
static double
add_term (Pane *pane, GVariant *term, double size)
{
  const char *port;
  gint64 element;
  double local, gradient;

  g_variant_get (term, "(&sxdd)", &port, &element, &local, &gradient);
  const double product = local * gradient;
  g_autofree char *d = studio_format_number (local), *g = studio_format_number (gradient),
                  *p = studio_format_number (product);
  /* Translators: a term of a derivative and its share: "act[3]: local derivative 0.5 × gradient 2 = 1 (60 %)". */
  GtkWidget *row
      = add_row (pane, g_strdup_printf (_ ("%1$s[%2$d]: local derivative %3$s × gradient %4$s = %5$s "
                                           "(%6$.0f %%)"),
                                        port, (int)element, d, g, p, size > 0 ? 100 * fabs (product) / size : 100));
  Place *place = g_new (Place, 1);
  *place = (Place){ g_strdup (port), (int)element };
  g_object_set_data_full (G_OBJECT (row), "place", place, place_free);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  gtk_widget_set_margin_start (gtk_list_box_row_get_child (GTK_LIST_BOX_ROW (row)), 18);
  return product;
}

/* A link: its largest terms, the rest of them, and their sum, which is the gradient of `of`. */
static void
add_link (Pane *pane, const char *of, GVariant *link, double *product)
{
  g_autoptr (GVariant) terms = NULL;
  gint64 n_terms;
  double sum, size, listed = 0;
  guint32 n_readers;

  g_variant_get (link, "(@a(sxdd)xudd)", &terms, &n_terms, &n_readers, &sum, &size);
  const gsize n = g_variant_n_children (terms);
  g_autofree char *s = studio_format_number (sum);
  g_autofree char *count = g_strdup_printf (ngettext ("%d path", "%d paths", (gulong)n_terms), (int)n_terms);
  /* Translators: "The gradient of act[3] is 0.5, the sum over 4 paths:" */
  add_row (pane, g_strdup_printf (_ ("The gradient of %1$s is %2$s, the sum over %3$s:"), of, s, count));
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) term = g_variant_get_child_value (terms, i);
      double local;

      g_variant_get_child (term, 2, "d", &local);
      if (i == 0)
        *product *= local;
      listed += add_term (pane, term, size);
    }
  if (n_terms > (gint64)n)
    {
      g_autofree char *rest = studio_format_number (sum - listed);
      const int more = (int)(n_terms - (gint64)n);
      GtkWidget *row
          = add_row (pane, g_strdup_printf (ngettext ("%1$d more: %2$s", "%1$d more: %2$s", (gulong)more), more, rest));
      gtk_widget_set_margin_start (gtk_list_box_row_get_child (GTK_LIST_BOX_ROW (row)), 18);
    }
}

/* The port of the largest term. */
static char *
first_of (GVariant *link, gint64 *element)
{
  g_autoptr (GVariant) terms = g_variant_get_child_value (link, 0);
  char *port;

  g_variant_get_child (terms, 0, "(sxdd)", &port, element, NULL, NULL);
  return port;
}

/* The computation whose chips are shown: a step of the run, else that of a graph without data. */
static LoomBusWorker1 *
proxy_of (Pane *pane, gboolean *is_instant)
{
  LoomBusWorker1 *instant = studio_stepper_is_on (pane->stepper) ? NULL : studio_instant_get_proxy (pane->instant);

  *is_instant = instant != NULL;
  return instant != NULL ? instant : studio_run_get_proxy (pane->run);
}

static void
chain_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkWidget) window = data;
  Pane *pane = g_object_get_data (G_OBJECT (window), "pane");
  g_autoptr (GVariant) chain = NULL, reply = NULL;
  g_autoptr (GPtrArray) ports = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  double value, gradient, product = 1;
  gboolean is_instant;

  reply = g_dbus_proxy_call_finish (G_DBUS_PROXY (source), result, &error);
  pane->in_flight = FALSE;
  if (!gtk_widget_get_visible (window))
    return;
  if (pane->must_ask || source != (GObject *)proxy_of (pane, &is_instant))
    {
      ask (pane);
      return;
    }
  clear_rows (pane);
  if (reply == NULL)
    {
      studio_stepper_mark (pane->stepper, NULL);
      g_dbus_error_strip_remote_error (error);
      add_row (pane, g_strdup (error->message));
      return;
    }
  g_variant_get (reply, "(dd@a(a(sxdd)xudd))", &value, &gradient, &chain);
  g_ptr_array_add (ports, g_strdup (pane->port));
  g_autofree char *v = studio_format_number (value);
  g_autofree char *of = g_strdup_printf ("%s[%d]", pane->port, pane->asked);
  add_row (pane, g_strdup_printf ("%s = %s", of, v));
  for (gsize i = 0; i < g_variant_n_children (chain); i++)
    {
      g_autoptr (GVariant) link = g_variant_get_child_value (chain, i);
      gint64 element;

      add_link (pane, of, link, &product);
      g_free (of);
      g_ptr_array_add (ports, first_of (link, &element));
      of = g_strdup_printf ("%s[%d]", (const char *)ports->pdata[ports->len - 1], (int)element);
    }
  studio_stepper_mark (pane->stepper, g_steal_pointer (&ports));
  g_autofree char *p = studio_format_number (product), *g = studio_format_number (gradient);
  add_row (pane,
           g_strdup_printf (_ ("Product of the local derivatives along the largest terms: %1$s. The gradient, over "
                               "all paths: %2$s"),
                            p, g));
}

/* One request is in flight; a change meanwhile is requested after it. */
static void
ask (Pane *pane)
{
  gboolean is_instant;
  LoomBusWorker1 *proxy = proxy_of (pane, &is_instant);
  g_autofree char *xml = NULL;

  pane->must_ask = pane->in_flight;
  if (pane->in_flight)
    return;
  if (proxy == NULL)
    {
      clear_rows (pane);
      add_row (pane, g_strdup (_ ("Nothing has been trained yet. Train the graph first.")));
      return;
    }
  pane->in_flight = TRUE;
  pane->asked = gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (pane->element));
  if (is_instant)
    xml = loom_graph_write (studio_document_get_graph (pane->document), NULL);
  g_dbus_proxy_call (G_DBUS_PROXY (proxy), is_instant ? "GetGraphDerivatives" : "GetDerivatives",
                     is_instant ? g_variant_new ("(ssx)", xml, pane->port, (gint64)pane->asked)
                                : g_variant_new ("(sx)", pane->port, (gint64)pane->asked),
                     G_DBUS_CALL_FLAGS_NONE, G_MAXINT, NULL, chain_cb, g_object_ref (pane->window));
}

/* The step has gone on, or chips have arrived. */
static void
step_cb (GtkWidget *window)
{
  if (gtk_widget_get_visible (window))
    ask (g_object_get_data (G_OBJECT (window), "pane"));
}

/* The path of the node of an output or a weight; NULL: the net has none. */
static const char *
node_of (const LoomNet *net, const char *port)
{
  guint output;
  const int node = loom_net_find_port (net, port, &output, NULL);
  const LoomNetWeight *weight = node < 0 ? loom_net_weight_named (net, port) : NULL;

  if (weight != NULL)
    return loom_net_node (net, weight->node)->path;
  return node >= 0 ? loom_net_node (net, (guint)node)->path : NULL;
}

/* Offers all tensors of the node. */
static void
list_tensors (Pane *pane)
{
  const LoomNet *net = studio_document_get_net (pane->document);
  const char *node = node_of (net, pane->port);
  g_auto (GStrv) tensors = node != NULL ? studio_tensors_of_node (net, node) : g_new0 (char *, 1);

  pane->is_filling = TRUE;
  /* The same list stays: a row of it may be the one that was just chosen. */
  if (pane->tensors == NULL || !g_strv_equal ((const char *const *)pane->tensors, (const char *const *)tensors))
    {
      g_autoptr (GtkStringList) names = gtk_string_list_new ((const char *const *)tensors);

      g_strfreev (pane->tensors);
      pane->tensors = g_steal_pointer (&tensors);
      gtk_drop_down_set_model (GTK_DROP_DOWN (pane->tensor), G_LIST_MODEL (names));
    }
  for (guint i = 0; pane->tensors[i] != NULL; i++)
    if (g_str_equal (pane->tensors[i], pane->port))
      gtk_drop_down_set_selected (GTK_DROP_DOWN (pane->tensor), i);
  pane->is_filling = FALSE;
}

/* Shows another number. */
static void
go_to (Pane *pane, const char *port, int element)
{
  g_autofree char *title = g_strdup_printf (_ ("Derivatives of %s"), port), *old = pane->port;

  pane->port = g_strdup (port);
  list_tensors (pane);
  gtk_window_set_title (GTK_WINDOW (pane->window), title);
  gtk_widget_set_sensitive (pane->back, !g_queue_is_empty (&pane->before));
  if (gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (pane->element)) == element)
    ask (pane);
  else
    gtk_spin_button_set_value (GTK_SPIN_BUTTON (pane->element), element);
}

/* Back returns to the number that is shown now. */
static void
leave (Pane *pane)
{
  Place *from = g_new (Place, 1);

  *from = (Place){ g_strdup (pane->port), gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (pane->element)) };
  g_queue_push_tail (&pane->before, from);
}

static void
row_cb (GtkListBox *list, GtkListBoxRow *row, Pane *pane)
{
  const Place *to = g_object_get_data (G_OBJECT (row), "place");

  leave (pane);
  go_to (pane, to->port, to->element);
}

static void
tensor_cb (Pane *pane)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (pane->tensor));
  g_autofree char *port = NULL;

  if (pane->is_filling || i >= g_strv_length (pane->tensors) || g_str_equal (pane->tensors[i], pane->port))
    return;
  port = g_strdup (pane->tensors[i]);
  leave (pane);
  go_to (pane, port, 0);
}

static void
back_cb (Pane *pane)
{
  Place *place = g_queue_pop_tail (&pane->before);

  go_to (pane, place->port, place->element);
  place_free (place);
}

static GtkWidget *
new_content (Pane *pane)
{
  GtkWidget *box = studio_template_new ("studio-derivatives.ui");

  STUDIO_TEMPLATE_FIELDS (box, pane, tensor, element, list, back);
  studio_choice_set_name (GTK_DROP_DOWN (pane->tensor), _ ("Tensor"));
  g_signal_connect_swapped (pane->tensor, "notify::selected", G_CALLBACK (tensor_cb), pane);
  g_signal_connect_swapped (pane->back, "clicked", G_CALLBACK (back_cb), pane);
  g_signal_connect (pane->list, "row-activated", G_CALLBACK (row_cb), pane);
  return box;
}

static void
close_on_escape (GtkWidget *window)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys),
      gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0), gtk_named_action_new ("window.close")));
  gtk_widget_add_controller (window, keys);
}

void
studio_derivatives_show (StudioDocument *document, StudioRun *run, StudioStepper *stepper, StudioInstant *instant,
                         const char *port, gint64 element, GtkWidget *over)
{
  Pane *pane = g_new0 (Pane, 1);
  g_autofree char *title = g_strdup_printf (_ ("Derivatives of %s"), port);

  pane->document = g_object_ref (document);
  pane->run = g_object_ref (run);
  pane->stepper = g_object_ref (stepper);
  pane->instant = g_object_ref (instant);
  pane->port = g_strdup (port);
  pane->window = gtk_window_new ();
  gtk_window_set_title (GTK_WINDOW (pane->window), title);
  gtk_window_set_default_size (GTK_WINDOW (pane->window), 560, 420);
  gtk_window_set_transient_for (GTK_WINDOW (pane->window), GTK_WINDOW (gtk_widget_get_root (over)));
  gtk_window_set_child (GTK_WINDOW (pane->window), new_content (pane));
  g_object_set_data (G_OBJECT (pane->window), "pane", pane);
  list_tensors (pane);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (pane->element), (double)element);
  close_on_escape (pane->window);
  g_signal_connect_data (pane->element, "value-changed", G_CALLBACK (ask), pane, pane_free, G_CONNECT_SWAPPED);
  g_signal_connect_object (stepper, "changed", G_CALLBACK (step_cb), pane->window, G_CONNECT_SWAPPED);
  g_signal_connect_object (instant, "changed", G_CALLBACK (step_cb), pane->window, G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (pane->window));
  ask (pane);
}
