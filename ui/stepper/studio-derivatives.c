/* Shows the chain rule for one number; see the header. Each link is a row of words, so that it is read aloud as it is
 * written. */
#include "ui/stepper/studio-derivatives.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/scene/studio-format.h"

typedef struct
{
  StudioRun *run;
  StudioStepper *stepper;
  char *port;
  GtkWidget *window, *element, *list;
  int asked; /* the element of the request in flight */
  gboolean in_flight, must_ask;
} Pane;

static void ask (Pane *pane);

static void
pane_free (gpointer data, GClosure *closure)
{
  Pane *pane = data;

  g_object_unref (pane->run);
  g_object_unref (pane->stepper);
  g_free (pane->port);
  g_free (pane);
}

static void
add_row (Pane *pane, char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_list_box_append (GTK_LIST_BOX (pane->list), label);
  g_free (text);
}

static void
clear_rows (Pane *pane)
{
  for (GtkWidget *row = gtk_widget_get_first_child (pane->list); row != NULL;
       row = gtk_widget_get_first_child (pane->list))
    gtk_list_box_remove (GTK_LIST_BOX (pane->list), row);
}

static void
add_link (Pane *pane, GVariant *link, double *product)
{
  const char *port;
  gint64 element, n_terms;
  double local, gradient, sum;
  guint32 n_readers;

  g_variant_get (link, "(&sxddxud)", &port, &element, &local, &gradient, &n_terms, &n_readers, &sum);
  *product *= local;
  g_autofree char *d = studio_format_number (local), *g = studio_format_number (gradient);
  g_autofree char *s = studio_format_number (sum);
  if (n_terms == 1)
    add_row (pane, g_strdup_printf (_ ("%1$s[%2$d]: local derivative %3$s × gradient %4$s = %5$s"), port, (int)element,
                                    d, g, s));
  else
    add_row (pane, g_strdup_printf (_ ("%1$s[%2$d]: local derivative %3$s × gradient %4$s, the largest of %5$d terms "
                                       "over %6$u paths; their sum is %7$s"),
                                    port, (int)element, d, g, (int)n_terms, n_readers, s));
}

static void
chain_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkWidget) window = data;
  Pane *pane = g_object_get_data (G_OBJECT (window), "pane");
  g_autoptr (GVariant) chain = NULL;
  g_autoptr (GError) error = NULL;
  double value, gradient, product = 1;
  gboolean done = loom_bus_worker1_call_get_derivatives_finish (LOOM_BUS_WORKER1 (source), &value, &gradient, &chain,
                                                                result, &error);

  pane->in_flight = FALSE;
  if (!gtk_widget_get_visible (window))
    return;
  if (pane->must_ask || source != (GObject *)studio_run_get_proxy (pane->run))
    {
      ask (pane);
      return;
    }
  clear_rows (pane);
  if (!done)
    {
      g_dbus_error_strip_remote_error (error);
      add_row (pane, g_strdup (error->message));
      return;
    }
  g_autofree char *v = studio_format_number (value), *g = studio_format_number (gradient);
  add_row (pane, g_strdup_printf (_ ("%1$s[%2$d] = %3$s, gradient %4$s"), pane->port, pane->asked, v, g));
  for (gsize i = 0; i < g_variant_n_children (chain); i++)
    {
      g_autoptr (GVariant) link = g_variant_get_child_value (chain, i);

      add_link (pane, link, &product);
    }
  g_autofree char *p = studio_format_number (product);
  add_row (pane,
           g_strdup_printf (_ ("Product of the local derivatives of this path: %1$s. The gradient, over all paths: "
                               "%2$s"),
                            p, g));
}

/* One request is in flight; a change meanwhile is requested after it. */
static void
ask (Pane *pane)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (pane->run);

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
  loom_bus_worker1_call_get_derivatives (proxy, pane->port, pane->asked, NULL, chain_cb, g_object_ref (pane->window));
}

/* The step has gone on, or chips have arrived. */
static void
step_cb (GtkWidget *window)
{
  if (gtk_widget_get_visible (window))
    ask (g_object_get_data (G_OBJECT (window), "pane"));
}

static GtkWidget *
new_content (Pane *pane)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12), *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new_with_mnemonic (_ ("_Element")), *scroll = gtk_scrolled_window_new ();

  pane->element = gtk_spin_button_new_with_range (0, G_MAXINT, 1);
  pane->list = gtk_list_box_new ();
  gtk_label_set_mnemonic_widget (GTK_LABEL (label), pane->element);
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (pane->list), GTK_SELECTION_NONE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (pane->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _ ("Chain of derivatives"), -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroll), pane->list);
  gtk_widget_set_vexpand (scroll, TRUE);
  gtk_box_append (GTK_BOX (row), label);
  gtk_box_append (GTK_BOX (row), pane->element);
  gtk_box_append (GTK_BOX (box), row);
  gtk_box_append (GTK_BOX (box), scroll);
  gtk_widget_set_margin_start (box, 12);
  gtk_widget_set_margin_end (box, 12);
  gtk_widget_set_margin_top (box, 12);
  gtk_widget_set_margin_bottom (box, 12);
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
studio_derivatives_show (StudioRun *run, StudioStepper *stepper, const char *port, GtkWidget *over)
{
  Pane *pane = g_new0 (Pane, 1);
  g_autofree char *title = g_strdup_printf (_ ("Derivatives of %s"), port);

  pane->run = g_object_ref (run);
  pane->stepper = g_object_ref (stepper);
  pane->port = g_strdup (port);
  pane->window = gtk_window_new ();
  gtk_window_set_title (GTK_WINDOW (pane->window), title);
  gtk_window_set_default_size (GTK_WINDOW (pane->window), 560, 420);
  gtk_window_set_transient_for (GTK_WINDOW (pane->window), GTK_WINDOW (gtk_widget_get_root (over)));
  gtk_window_set_child (GTK_WINDOW (pane->window), new_content (pane));
  g_object_set_data (G_OBJECT (pane->window), "pane", pane);
  close_on_escape (pane->window);
  g_signal_connect_data (pane->element, "value-changed", G_CALLBACK (ask), pane, pane_free, G_CONNECT_SWAPPED);
  g_signal_connect_object (stepper, "changed", G_CALLBACK (step_cb), pane->window, G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (pane->window));
  ask (pane);
}
