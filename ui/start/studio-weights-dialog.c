#include "ui/start/studio-weights-dialog.h"

#include <glib/gi18n.h>

#include "engine/template/loom-weights-match.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/scene/studio-format.h"

#define WIDTH      680
#define HEIGHT     600
#define MARGIN     18
#define MOST_SHOWN 50 /* sentences in an expander */

struct _StudioWeightsDialog
{
  AdwWindow parent_instance;
  GtkWidget *title, *use_row, *use, *misfits, *make_row, *make, *left_out, *table;
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

static void
fill_table (StudioWeightsDialog *self)
{
  g_autoptr (GtkNoSelection) model = gtk_no_selection_new (new_model (self->look));

  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      g_object_set_data (G_OBJECT (factory), "column", GUINT_TO_POINTER (i));
      g_signal_connect_object (factory, "setup", G_CALLBACK (setup_cb), self, 0);
      g_signal_connect_object (factory, "bind", G_CALLBACK (bind_cb), self, 0);
      g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new (_ (columns[i].title), factory);
      gtk_column_view_column_set_expand (column, i == 0);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (self->table), column);
    }
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->table), GTK_SELECTION_MODEL (model));
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

/* What an action would do, and its button if it is possible. */
static void
fill_offer (GtkWidget *row, GtkWidget *button, char *subtitle /* taken */, gboolean is_possible)
{
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle);
  gtk_widget_set_sensitive (button, is_possible);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, subtitle, -1);
  g_free (subtitle);
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

/* One sentence per line; without one the row is hidden. */
static void
fill_fold (GtkWidget *row, GString *text /* taken */)
{
  GtkWidget *label = gtk_label_new (text->str);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  g_object_set (label, "margin-start", MARGIN, "margin-end", MARGIN, "margin-top", MARGIN / 2, "margin-bottom",
                MARGIN / 2, NULL);
  adw_expander_row_add_row (ADW_EXPANDER_ROW (row), label);
  gtk_widget_set_visible (row, text->len > 0);
  g_string_free (text, TRUE);
}

static void
fill_offers (StudioWeightsDialog *self)
{
  const StudioWeightsInfo *look = self->look;
  const LoomWeightsMatch *match = look->match;
  const gboolean fits = match != NULL && match->n_fit > 0;
  GString *misfits = g_string_new (NULL), *left_out = g_string_new (NULL);

  fill_offer (self->use_row, self->use, fit_text (look), fits);
  fill_offer (self->make_row, self->make, skeleton_text (look), look->skeleton != NULL);
  gtk_widget_add_css_class (fits ? self->use : self->make, "suggested-action");
  if (match != NULL)
    {
      append_lines (misfits, (char **)match->differs->pdata, match->differs->len);
      append_lines (misfits, (char **)match->missing->pdata, match->missing->len);
    }
  if (look->skeleton != NULL)
    append_lines (left_out, look->left_out, g_strv_length (look->left_out));
  fill_fold (self->misfits, misfits);
  fill_fold (self->left_out, left_out);
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
  STUDIO_TEMPLATE (klass, "studio-weights-dialog.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioWeightsDialog, title, use_row, use, misfits, make_row, make, left_out, table);
  STUDIO_TEMPLATE_CALLBACKS (klass, use_cb, make_cb);
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (klass), GDK_KEY_Escape, 0, "window.close", NULL);
  used_signal = studio_signal_new ("used", G_TYPE_FROM_CLASS (klass), 0);
  made_signal = studio_signal_new ("made", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_STRING);
}

static void
studio_weights_dialog_init (StudioWeightsDialog *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

static void
fill (StudioWeightsDialog *self)
{
  g_autofree char *name = g_path_get_basename (self->look->path), *subtitle = totals (self->look);

  gtk_window_set_title (GTK_WINDOW (self), name);
  adw_window_title_set_title (ADW_WINDOW_TITLE (self->title), name);
  adw_window_title_set_subtitle (ADW_WINDOW_TITLE (self->title), subtitle);
  fill_offers (self);
  fill_table (self);
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
