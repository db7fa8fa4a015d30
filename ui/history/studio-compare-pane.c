/* The list of a comparison. It is filled again when the comparison changes, so the user may edit while it is open. */
#include "ui/history/studio-compare-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/drawing/draw-mark.h"

struct _StudioComparePane
{
  AdwBin parent_instance;

  StudioComparison *comparison;
  GtkWidget *head, *totals, *open, *list;
  char *shown; /* the text of all lines */
  guint fill;
};

G_DEFINE_FINAL_TYPE (StudioComparePane, studio_compare_pane, ADW_TYPE_BIN)

enum
{
  FOLLOW,
  CLOSE,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* A limit, because a list of widgets grows with the lines. */
#define MAX_LINES 400
/* In letters: sentences wrap, so that the canvas keeps its width. */
#define WIDEST 26

/* Style classes of style.css. Each kind also has a sign and a word, so that colour is not needed. */
static const char *const classes[] = {
  [LOOM_DIFFERENCE_ADDED] = "difference-added",
  [LOOM_DIFFERENCE_REMOVED] = "difference-removed",
  [LOOM_DIFFERENCE_CHANGED] = "difference-changed",
  [LOOM_DIFFERENCE_RENAMED] = "difference-changed",
};

static GtkWidget *
new_line (const LoomDifference *d)
{
  const StudioMarkKind kind = (StudioMarkKind)d->kind;
  g_autofree char *words = loom_difference_to_string (d, NULL), *section = loom_difference_section (d, NULL);
  g_autofree char *label = g_strdup_printf ("%s, %s: %s", studio_mark_word (kind), section, words);
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *sign = gtk_label_new (studio_mark_sign (kind)), *text = gtk_label_new (words);

  gtk_widget_add_css_class (sign, "difference-sign");
  gtk_widget_add_css_class (sign, classes[d->kind]);
  gtk_widget_set_valign (sign, GTK_ALIGN_START);
  gtk_widget_set_tooltip_text (sign, studio_mark_word (kind));
  gtk_label_set_wrap (GTK_LABEL (text), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (text), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (text), 0);
  gtk_label_set_max_width_chars (GTK_LABEL (text), WIDEST);
  gtk_widget_set_valign (box, GTK_ALIGN_CENTER);
  gtk_widget_set_hexpand (text, TRUE);
  gtk_box_append (GTK_BOX (box), sign);
  gtk_box_append (GTK_BOX (box), text);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "section", g_steal_pointer (&section), g_free);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return row;
}

static void
header_cb (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  const char *section = g_object_get_data (G_OBJECT (row), "section");
  GtkWidget *label;

  if (before != NULL && g_strcmp0 (section, g_object_get_data (G_OBJECT (before), "section")) == 0)
    {
      gtk_list_box_row_set_header (row, NULL);
      return;
    }
  label = gtk_label_new (section);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  gtk_widget_add_css_class (label, "difference-section");
  gtk_list_box_row_set_header (row, label);
}

static char *
count_kinds (const GPtrArray *list)
{
  guint n[STUDIO_N_MARKS] = { 0 };

  for (guint i = 0; i < list->len; i++)
    n[((const LoomDifference *)list->pdata[i])->kind]++;
  return list->len > 0 ? studio_mark_totals (n) : g_strdup (_ ("Both graphs compute the same."));
}

static char *
all_words (const GPtrArray *list)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < list->len; i++)
    {
      const LoomDifference *d = list->pdata[i];
      g_autofree char *words = loom_difference_to_string (d, NULL), *section = loom_difference_section (d, NULL);

      g_string_append_printf (s, "%d %s %s\n", d->kind, section, words);
    }
  return g_string_free (s, FALSE);
}

static gboolean
fill_cb (gpointer data)
{
  StudioComparePane *self = data;
  const GPtrArray *list = studio_comparison_get_differences (self->comparison);
  g_autofree char *totals = count_kinds (list), *words = all_words (list);
  GtkWidget *child;

  self->fill = 0;
  if (g_strcmp0 (words, self->shown) == 0)
    return G_SOURCE_REMOVE;
  g_free (self->shown);
  self->shown = g_steal_pointer (&words);
  gtk_label_set_text (GTK_LABEL (self->totals), totals);
  while ((child = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), child);
  for (guint i = 0; i < MIN (list->len, MAX_LINES); i++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), new_line (list->pdata[i]));
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioComparePane *self)
{
  if (self->fill == 0)
    self->fill = g_idle_add (fill_cb, self);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioComparePane *self)
{
  const GPtrArray *differences = studio_comparison_get_differences (self->comparison);
  guint i = (guint)gtk_list_box_row_get_index (row);

  /* The lines that the idle callback would add belong to an old list. */
  if (self->fill == 0 && i < differences->len)
    g_signal_emit (self, signals[FOLLOW], 0, differences->pdata[i]);
}

static void
close_cb (StudioComparePane *self)
{
  g_signal_emit (self, signals[CLOSE], 0);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioComparePane *self)
{
  if (key != GDK_KEY_Escape)
    return FALSE;
  close_cb (self);
  return TRUE;
}

static void
studio_compare_pane_dispose (GObject *object)
{
  StudioComparePane *self = STUDIO_COMPARE_PANE (object);

  g_clear_handle_id (&self->fill, g_source_remove);
  g_clear_object (&self->comparison);
  g_clear_pointer (&self->shown, g_free);
  G_OBJECT_CLASS (studio_compare_pane_parent_class)->dispose (object);
}

static void
studio_compare_pane_class_init (StudioComparePaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_compare_pane_dispose;
  signals[FOLLOW] = studio_signal_new ("follow", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_POINTER);
  signals[CLOSE] = studio_signal_new ("close", G_TYPE_FROM_CLASS (klass), 0);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "comparepane");
  STUDIO_TEMPLATE (klass, "studio-compare-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioComparePane, head, totals, open, list);
  STUDIO_TEMPLATE_CALLBACKS (klass, key_cb, close_cb, row_activated_cb);
}

static void
studio_compare_pane_init (StudioComparePane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), header_cb, NULL, NULL);
}

StudioComparePane *
studio_compare_pane_new (StudioComparison *comparison, const char *action, const char *label)
{
  StudioComparePane *self = g_object_new (STUDIO_TYPE_COMPARE_PANE, NULL);
  g_autofree char *text = g_strdup_printf (_ ("Compared with %s"), studio_comparison_get_title (comparison));

  self->comparison = g_object_ref (comparison);
  gtk_label_set_text (GTK_LABEL (self->head), text);
  gtk_button_set_label (GTK_BUTTON (self->open), label);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->open), action);
  gtk_widget_set_visible (self->open, action != NULL);
  g_signal_connect_object (comparison, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  fill_cb (self);
  return self;
}

void
studio_compare_pane_focus (StudioComparePane *self)
{
  GtkWidget *first = gtk_widget_get_first_child (self->list);

  gtk_widget_grab_focus (first != NULL ? first : self->list);
}
