#include "ui/start/studio-weights-dialog.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/scene/studio-format.h"

#define WIDTH      680
#define HEIGHT     600
#define MARGIN     18
#define MOST_SHOWN 50 /* sentences in an expander */

struct _StudioWeightsDialog
{
  AdwWindow parent_instance;
  StudioWeightsInfo *look;
};

G_DEFINE_FINAL_TYPE (StudioWeightsDialog, studio_weights_dialog, ADW_TYPE_WINDOW)

static guint used_signal, made_signal;

/* ---- the table --------------------------------------------------------------- */

static char *
name_of (const StudioWeightsInfo *look, guint i)
{
  return g_strdup (loom_tensor_file_name (look->file, i));
}

static char *
shape_of (const StudioWeightsInfo *look, guint i)
{
  const LoomType type = loom_tensor_file_type (look->file, i);

  return loom_shape_to_string (&type.shape);
}

static char *
dtype_of (const StudioWeightsInfo *look, guint i)
{
  const char *unread = loom_tensor_file_unread (look->file, i);

  return g_strdup (unread != NULL ? unread : loom_dtype_name (loom_tensor_file_type (look->file, i).dtype));
}

static char *
count_of (const StudioWeightsInfo *look, guint i)
{
  const LoomType type = loom_tensor_file_type (look->file, i);

  return studio_format_count ((double)loom_dim_value (loom_shape_count (&type.shape), NULL));
}

static const struct
{
  const char *title;
  char *(*text) (const StudioWeightsInfo *look, guint i);
  float xalign;
} columns[] = {
  { N_ ("Name"), name_of, 0 },
  { N_ ("Shape"), shape_of, 0 },
  { N_ ("Type"), dtype_of, 0 },
  { N_ ("Numbers"), count_of, 1 },
};

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const guint column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (factory), "column"));
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), columns[column].xalign);
  if (column == 0)
    gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  else
    gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioWeightsDialog *self)
{
  const guint column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (factory), "column"));
  GtkLabel *label = GTK_LABEL (gtk_list_item_get_child (item));
  g_autofree char *text = columns[column].text (self->look, gtk_list_item_get_position (item));

  gtk_label_set_label (label, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (label), column == 0 ? text : NULL);
}

/* Rows have the order of the file's tensors, so the model needs only their number. */
static GListModel *
new_model (const StudioWeightsInfo *look)
{
  GtkStringList *list = gtk_string_list_new (NULL);

  for (guint i = 0; i < loom_tensor_file_count (look->file); i++)
    gtk_string_list_append (list, loom_tensor_file_name (look->file, i));
  return G_LIST_MODEL (list);
}

static GtkWidget *
new_table (StudioWeightsDialog *self)
{
  GtkSelectionModel *model = GTK_SELECTION_MODEL (gtk_no_selection_new (new_model (self->look)));
  GtkWidget *view = gtk_column_view_new (model), *scroller = gtk_scrolled_window_new ();

  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      g_object_set_data (G_OBJECT (factory), "column", GUINT_TO_POINTER (i));
      g_signal_connect_object (factory, "setup", G_CALLBACK (setup_cb), self, 0);
      g_signal_connect_object (factory, "bind", G_CALLBACK (bind_cb), self, 0);
      g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new (_ (columns[i].title), factory);
      gtk_column_view_column_set_expand (column, i == 0);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (view), column);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Tensors of the file"), -1);
  gtk_widget_add_css_class (view, "data-table");
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), view);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_AUTOMATIC, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (scroller), 160);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

/* ---- actions -------------------------------------------------------------------- */

static char *
fit_text (const StudioWeightsInfo *look)
{
  const LoomWeightsMatch *match = look->match;
  g_autoptr (GString) s = g_string_new (NULL);

  if (match == NULL)
    return g_strdup (_ ("The open graph has no weights."));
  g_string_append_printf (s, _ ("%1$u of the graph’s %2$u weights match by name and shape"), match->n_fit,
                          look->n_wanted);
  if (match->differs->len > 0)
    g_string_append_printf (s, ngettext (" · %u has another shape", " · %u have another shape", match->differs->len),
                            match->differs->len);
  if (match->missing->len > 0)
    g_string_append_printf (s, ngettext (" · %u is not in the file", " · %u are not in the file", match->missing->len),
                            match->missing->len);
  if (match->unused->len > 0)
    g_string_append_printf (
        s, ngettext (" · %u in the file is not used", " · %u in the file are not used", match->unused->len),
        match->unused->len);
  return g_strdup (s->str);
}

static char *
skeleton_text (const StudioWeightsInfo *look)
{
  const guint n_left = g_strv_length (look->left_out);
  g_autofree char *layers = NULL, *left = NULL;

  if (look->skeleton == NULL)
    return g_strdup (look->left_out[0]);
  layers
      = g_strdup_printf (ngettext ("%u layer guessed from names and shapes, chained if sizes match",
                                   "%u layers guessed from names and shapes, chained if sizes match", look->n_layers),
                         look->n_layers);
  if (n_left == 0)
    return g_steal_pointer (&layers);
  left = g_strdup_printf (ngettext (" · %u left out", " · %u left out", n_left), n_left);
  return g_strconcat (layers, left, NULL);
}

static void
use_cb (StudioWeightsDialog *self)
{
  g_signal_emit (self, used_signal, 0);
  gtk_window_close (GTK_WINDOW (self));
}

static void
make_cb (StudioWeightsDialog *self)
{
  g_signal_emit (self, made_signal, 0, self->look->skeleton);
  gtk_window_close (GTK_WINDOW (self));
}

/* A row with a button for an action, if it is possible, and a description of its effect. */
static GtkWidget *
new_offer (StudioWeightsDialog *self, const char *title, char *subtitle /* taken */, const char *verb,
           gboolean is_possible, GCallback callback)
{
  GtkWidget *row = adw_action_row_new (), *button = gtk_button_new_with_mnemonic (verb);

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 0);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), button);
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_sensitive (button, is_possible);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, subtitle, -1);
  g_signal_connect_object (button, "clicked", callback, self, G_CONNECT_SWAPPED);
  g_object_set_data (G_OBJECT (row), "button", button);
  g_free (subtitle);
  return row;
}

static void
append_lines (GString *s, char **lines, guint n)
{
  for (guint i = 0; i < MIN (n, MOST_SHOWN); i++)
    g_string_append_printf (s, "%s%s", s->len > 0 ? "\n" : "", lines[i]);
  if (n > MOST_SHOWN)
    {
      g_string_append_c (s, '\n');
      g_string_append_printf (s, ngettext ("and %u more", "and %u more", n - MOST_SHOWN), n - MOST_SHOWN);
    }
}

/* An expander with one sentence per line; NULL if there are none. */
static GtkWidget *
new_fold (const char *title, GString *text /* taken */)
{
  GtkWidget *row, *label;

  if (text->len == 0)
    {
      g_string_free (text, TRUE);
      return NULL;
    }
  row = adw_expander_row_new ();
  label = gtk_label_new (text->str);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  g_object_set (label, "margin-start", MARGIN, "margin-end", MARGIN, "margin-top", MARGIN / 2, "margin-bottom",
                MARGIN / 2, NULL);
  adw_expander_row_add_row (ADW_EXPANDER_ROW (row), label);
  g_string_free (text, TRUE);
  return row;
}

static GtkWidget *
new_offers (StudioWeightsDialog *self)
{
  const StudioWeightsInfo *look = self->look;
  const LoomWeightsMatch *match = look->match;
  const gboolean fits = match != NULL && match->n_fit > 0;
  GtkWidget *group = adw_preferences_group_new ();
  GtkWidget *use = new_offer (self, _ ("Use as weights of the open graph"), fit_text (look), _ ("_Use"), fits,
                              G_CALLBACK (use_cb));
  GtkWidget *make = new_offer (self, _ ("Create a graph from it"), skeleton_text (look), _ ("_Create"),
                               look->skeleton != NULL, G_CALLBACK (make_cb));
  GString *misfits = g_string_new (NULL), *left_out = g_string_new (NULL);
  GtkWidget *fold;

  gtk_widget_add_css_class (g_object_get_data (G_OBJECT (fits ? use : make), "button"), "suggested-action");
  if (match != NULL)
    {
      append_lines (misfits, (char **)match->differs->pdata, match->differs->len);
      append_lines (misfits, (char **)match->missing->pdata, match->missing->len);
    }
  if (look->skeleton != NULL)
    append_lines (left_out, look->left_out, g_strv_length (look->left_out));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), use);
  if ((fold = new_fold (_ ("Does not fit"), misfits)) != NULL)
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), fold);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), make);
  if ((fold = new_fold (_ ("Left out"), left_out)) != NULL)
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), fold);
  return group;
}

/* ---- class ------------------------------------------------------------------------ */

static char *
totals (const StudioWeightsInfo *look)
{
  const guint n = loom_tensor_file_count (look->file);
  g_autofree char *count = studio_format_count (n), *numbers = studio_format_count (look->n_numbers);
  g_autofree char *bytes = g_format_size ((guint64)look->n_bytes);
  g_autofree char *tensors = g_strdup_printf (ngettext ("%s tensor", "%s tensors", n), count);

  /* Translators: "10 tensors · 61,706 numbers · 246.8 kB · f32" */
  return g_strdup_printf (_ ("%1$s · %2$s numbers · %3$s · %4$s"), tensors, numbers, bytes, look->dtypes);
}

static void
studio_weights_dialog_finalize (GObject *object)
{
  studio_weights_info_free (STUDIO_WEIGHTS_DIALOG (object)->look);
  G_OBJECT_CLASS (studio_weights_dialog_parent_class)->finalize (object);
}

static void
studio_weights_dialog_class_init (StudioWeightsDialogClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = studio_weights_dialog_finalize;
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Escape, 0, "window.close", NULL);
  used_signal
      = g_signal_new ("used", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  made_signal = g_signal_new ("made", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                              G_TYPE_STRING);
}

static void
studio_weights_dialog_init (StudioWeightsDialog *self)
{
}

static void
fill (StudioWeightsDialog *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, MARGIN), *outer = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *header = adw_header_bar_new (), *scroller = gtk_scrolled_window_new ();
  g_autofree char *name = g_path_get_basename (self->look->path), *subtitle = totals (self->look);

  adw_header_bar_set_title_widget (ADW_HEADER_BAR (header), adw_window_title_new (name, subtitle));
  g_object_set (box, "margin-start", MARGIN, "margin-end", MARGIN, "margin-top", MARGIN, "margin-bottom", MARGIN, NULL);
  gtk_box_append (GTK_BOX (box), new_offers (self));
  gtk_box_append (GTK_BOX (box), new_table (self));
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), box);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (outer), header);
  gtk_box_append (GTK_BOX (outer), scroller);
  adw_window_set_content (ADW_WINDOW (self), outer);
  gtk_window_set_title (GTK_WINDOW (self), name);
  gtk_window_set_modal (GTK_WINDOW (self), TRUE);
}

StudioWeightsDialog *
studio_weights_dialog_new (GtkWindow *parent, StudioWeightsInfo *look)
{
  StudioWeightsDialog *self = g_object_new (STUDIO_TYPE_WEIGHTS_DIALOG, "transient-for", parent, NULL);

  self->look = look;
  fill (self);
  studio_text_scale_window (GTK_WINDOW (self), parent, WIDTH, HEIGHT);
  return self;
}

const StudioWeightsInfo *
studio_weights_dialog_get_info (StudioWeightsDialog *self)
{
  return self->look;
}
