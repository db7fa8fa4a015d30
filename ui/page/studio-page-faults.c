/* The list of faults behind the button of the status line: what is wrong, what is to do, advice, and their remedies. */
#include "ui/charts/studio-text-scale.h"

#include <glib/gi18n.h>

#include "ui/document/studio-trials.h"
#include "ui/page/studio-page-private.h"

#define FAULTS_WIDTH 400

/* The fault that a button was made for, by its words: faults may have been found anew since, in another number and
 * order. NULL, and a sentence, where it is over. */
static const LoomFault *
fault_of (GtkButton *button, StudioPage *self)
{
  const char *key = g_object_get_data (G_OBJECT (button), "fault");
  LoomFaults *faults = studio_document_get_faults (self->document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *words = loom_fault_to_string (loom_faults_get (faults, i));

      if (g_str_equal (words, key))
        return loom_faults_get (faults, i);
    }
  studio_page_toast (self, _ ("The graph has changed since. Nothing was done."));
  return NULL;
}

static void
bind_fault (GtkWidget *button, const LoomFault *fault)
{
  g_object_set_data_full (G_OBJECT (button), "fault", loom_fault_to_string (fault), g_free);
}

static void
fix_cb (GtkButton *button, StudioPage *self)
{
  const LoomFault *fault = fault_of (button, self);

  if (fault != NULL)
    studio_document_apply_fault_fix (self->document, fault);
}

static void
read_clicked_cb (StudioPage *self)
{
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->faults_button));
  studio_page_ask_to_read (self);
}

static void
free_mend (gpointer mend)
{
  studio_mend_free (mend);
}

static void
mend_cb (GtkButton *button, StudioPage *self)
{
  const StudioMend *mend = g_object_get_data (G_OBJECT (button), "mend");
  const char *path = g_object_get_data (G_OBJECT (button), "path");
  const LoomFault *fault = fault_of (button, self);

  if (fault == NULL)
    return;
  if (mend->kind == STUDIO_MEND_FIX)
    {
      studio_document_apply_fault_fix (self->document, fault);
      return;
    }
  if (!studio_document_reveal (self->document, path))
    return;
  /* A value is asked for where the card is seen. */
  if (mend->kind == STUDIO_MEND_ASK)
    gtk_menu_button_popdown (GTK_MENU_BUTTON (self->faults_button));
  studio_canvas_apply_mend (self->canvas, mend);
}

/* The remedies of a fault at a node: a button each, with what would come of it. */
static void
add_mends (StudioPage *self, GtkWidget *box, const LoomFault *fault)
{
  LoomNet *net = studio_document_get_net (self->document);
  int node = loom_net_find (net, fault->node);
  g_autoptr (GPtrArray) mends
      = node >= 0 ? studio_document_mends (self->document, fault, loom_net_node (net, (guint)node)->serial) : NULL;

  for (guint m = 0; mends != NULL && m < mends->len; m++)
    {
      StudioMend *mend = g_ptr_array_index (mends, m);
      GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
      GtkWidget *button = gtk_button_new_with_label (mend->label), *preview = gtk_label_new (mend->preview);

      gtk_label_set_wrap (GTK_LABEL (preview), TRUE);
      gtk_label_set_xalign (GTK_LABEL (preview), 0);
      gtk_label_set_max_width_chars (GTK_LABEL (preview), 32);
      gtk_widget_set_hexpand (preview, TRUE);
      gtk_widget_add_css_class (preview, "dim-label");
      gtk_widget_add_css_class (preview, "caption");
      gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                      mend->preview != NULL ? mend->preview : "", -1);
      bind_fault (button, fault);
      g_object_set_data_full (G_OBJECT (button), "path", g_strdup (fault->node), g_free);
      g_object_set_data_full (G_OBJECT (button), "mend", mend, free_mend);
      g_signal_connect (button, "clicked", G_CALLBACK (mend_cb), self);
      gtk_box_append (GTK_BOX (line), button);
      gtk_box_append (GTK_BOX (line), preview);
      gtk_box_append (GTK_BOX (box), line);
    }
  /* The buttons own them now. */
  if (mends != NULL)
    g_ptr_array_set_free_func (mends, NULL);
}

/* Trying remedies out must not keep a graph of nothing but faults waiting. */
#define MENDS_BUDGET (8 * 1000)

static GtkWidget *
fault_row (StudioPage *self, const LoomFault *fault, gboolean with_mends)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_widget_set_margin_top (box, 6);
  gtk_widget_set_margin_bottom (box, 6);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  GtkWidget *icon = gtk_image_new_from_icon_name (fault->is_warning ? "dialog-information-symbolic"
                                                  : fault->is_todo  ? "radio-symbolic"
                                                                    : "dialog-warning-symbolic");
  gtk_widget_set_valign (icon, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), icon);
  g_autofree char *text
      = fault->node != NULL ? g_strdup_printf ("%s: %s", fault->node, fault->message) : g_strdup (fault->message);
  /* A fix that is no edit of a node or of <train> would be a button that does nothing. */
  gboolean can_fix
      = fault->fix_attribute != NULL && (fault->node != NULL || g_str_has_prefix (fault->message, "<train>: "));
  GtkWidget *label = gtk_label_new (text);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 48);
  gtk_widget_set_hexpand (label, TRUE);
  GtkWidget *words = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append (GTK_BOX (words), label);
  gtk_box_append (GTK_BOX (box), words);
  if (fault->code == LOOM_ERROR_OUTSIDE)
    {
      GtkWidget *read = gtk_button_new_with_mnemonic (_ ("_Read…"));
      gtk_widget_set_valign (read, GTK_ALIGN_CENTER);
      g_signal_connect_swapped (read, "clicked", G_CALLBACK (read_clicked_cb), self);
      gtk_box_append (GTK_BOX (box), read);
    }
  else if (fault->node != NULL && with_mends)
    add_mends (self, words, fault);
  else if (fault->fix != NULL && can_fix)
    {
      GtkWidget *fix = gtk_button_new_with_label (_ ("Fix"));
      gtk_widget_set_tooltip_text (fix, fault->fix);
      gtk_widget_set_valign (fix, GTK_ALIGN_CENTER);
      bind_fault (fix, fault);
      g_signal_connect (fix, "clicked", G_CALLBACK (fix_cb), self);
      gtk_box_append (GTK_BOX (box), fix);
    }
  GtkWidget *row = gtk_list_box_row_new ();
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (fault->node), g_free);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  return row;
}

static void
update_faults (StudioPage *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  guint errors = loom_faults_count (faults), all = loom_faults_length (faults), todo = 0;
  for (guint i = 0; i < all; i++)
    todo += loom_faults_get (faults, i)->is_todo;
  errors -= todo;
  const gint64 until = studio_trials_clock () + MENDS_BUDGET;
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child (self->faults_list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->faults_list), child);
  /* Errors come first, then things to do, then advice. */
  for (guint round = 0; round < 3; round++)
    for (guint i = 0; i < all; i++)
      if (round == (loom_faults_get (faults, i)->is_warning ? 2 : loom_faults_get (faults, i)->is_todo ? 1 : 0))
        gtk_list_box_append (GTK_LIST_BOX (self->faults_list),
                             fault_row (self, loom_faults_get (faults, i), studio_trials_clock () < until));
  g_autofree char *text = NULL;
  if (all == 0)
    text = g_strdup (_ ("No faults"));
  else if (errors == 0 && todo > 0)
    text = g_strdup_printf (ngettext ("%u to do", "%u to do", todo), todo);
  else if (errors == 0)
    text = g_strdup_printf (ngettext ("%u hint", "%u hints", all), all);
  else
    text = g_strdup_printf (ngettext ("⚠ %u fault", "⚠ %u faults", errors), errors);
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->faults_button), text);
  if (all == 0)
    {
      GtkWidget *row = gtk_list_box_row_new ();
      GtkWidget *label = gtk_label_new (_ ("Nothing is wrong with the graph."));
      g_object_set (label, "margin-top", 12, "margin-bottom", 12, NULL);
      gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), label);
      gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
      gtk_list_box_append (GTK_LIST_BOX (self->faults_list), row);
    }
  if (errors > 0)
    gtk_widget_add_css_class (self->faults_button, "has-faults");
  else
    gtk_widget_remove_css_class (self->faults_button, "has-faults");
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioPage *self)
{
  const char *path = g_object_get_data (G_OBJECT (row), "path");
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->faults_button));
  /* The settings of training stand where nothing is selected. */
  if (path == NULL)
    studio_document_select_only (self->document, 0);
  else if (studio_document_reveal (self->document, path))
    studio_canvas_focus_path (self->canvas, path);
}

void
studio_page_show_faults (StudioPage *self)
{
  if (gtk_widget_get_mapped (self->faults_button))
    gtk_menu_button_popup (GTK_MENU_BUTTON (self->faults_button));
}

void
studio_page_setup_faults (StudioPage *self)
{
  self->faults_list = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->faults_list), GTK_SELECTION_NONE);
  g_signal_connect (self->faults_list, "row-activated", G_CALLBACK (row_activated_cb), self);
  GtkWidget *scroll = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (scroll), TRUE);
  /* A popover is as narrow as it may be, and a wrapping label may be a word wide: sentences are given their room. */
  gtk_widget_set_size_request (scroll, (int)(FAULTS_WIDTH * studio_text_scale (GTK_WIDGET (self))), -1);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (scroll), 400);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroll), self->faults_list);
  GtkWidget *popover = gtk_popover_new ();
  gtk_popover_set_child (GTK_POPOVER (popover), scroll);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->faults_button), popover);
  g_signal_connect_swapped (self->document, "net-changed", G_CALLBACK (update_faults), self);
  update_faults (self);
}
