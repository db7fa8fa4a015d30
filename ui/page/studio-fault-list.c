/* Implements studio-fault-list.h. */
#include "ui/page/studio-fault-list.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-icon.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/document/studio-trials.h"
#include "ui/shell/studio-toasts.h"

#define FAULTS_WIDTH 400

struct _StudioFaultList
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas;
  GtkWidget *toasts;
  GtkWidget *list;
  char *summary;
  guint n_errors;
  gboolean is_stale; /* the rows are of an earlier net */
};

G_DEFINE_FINAL_TYPE (StudioFaultList, studio_fault_list, ADW_TYPE_BIN)

enum
{
  CHANGED,
  LEFT,
  READ,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* The fault that a button was made for, by its words, because the faults may have been found again since, in another
 * number and order. NULL, after a sentence, if it is gone. */
static const LoomFault *
fault_of (GtkButton *button, StudioFaultList *self)
{
  const char *key = g_object_get_data (G_OBJECT (button), "fault");
  LoomFaults *faults = studio_document_get_faults (self->document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *words = loom_fault_to_string (loom_faults_get (faults, i));

      if (g_str_equal (words, key))
        return loom_faults_get (faults, i);
    }
  studio_toasts_say (self->toasts, _ ("The graph has changed since. Nothing was done."));
  return NULL;
}

static void
bind_fault (GtkWidget *button, const LoomFault *fault)
{
  g_object_set_data_full (G_OBJECT (button), "fault", loom_fault_to_string (fault), g_free);
}

static void
fix_cb (GtkButton *button, StudioFaultList *self)
{
  const LoomFault *fault = fault_of (button, self);

  if (fault != NULL)
    studio_document_apply_fault_fix (self->document, fault);
}

static void
read_clicked_cb (StudioFaultList *self)
{
  g_signal_emit (self, signals[LEFT], 0);
  g_signal_emit (self, signals[READ], 0);
}

static void
free_fix (gpointer fix)
{
  loom_fix_free (fix);
}

static void
quick_fix_cb (GtkButton *button, StudioFaultList *self)
{
  const LoomFix *fix = g_object_get_data (G_OBJECT (button), "fix");
  const char *path = g_object_get_data (G_OBJECT (button), "path");
  const LoomFault *fault = fault_of (button, self);

  if (fault == NULL)
    return;
  if (fix->kind == LOOM_FIX_OWN)
    {
      studio_document_apply_fault_fix (self->document, fault);
      return;
    }
  if (!studio_document_reveal (self->document, path))
    return;
  /* The field for a value opens on the card. */
  if (fix->kind == LOOM_FIX_ASK)
    g_signal_emit (self, signals[LEFT], 0);
  studio_canvas_apply_fix (self->canvas, fix);
}

static void
preview_fix (GtkWidget *button)
{
  StudioFaultList *self = STUDIO_FAULT_LIST (gtk_widget_get_ancestor (button, STUDIO_TYPE_FAULT_LIST));

  studio_canvas_preview_fix (self->canvas, g_object_get_data (G_OBJECT (button), "fix"));
}

static void
forget_fix (StudioFaultList *self)
{
  studio_canvas_preview_fix (self->canvas, NULL);
}

/* While the pointer or the focus is on the button, the canvas draws what the fix inserts. */
static void
follow_button (StudioFaultList *self, GtkWidget *button)
{
  GtkEventController *const controllers[] = { gtk_event_controller_motion_new (), gtk_event_controller_focus_new () };

  for (guint i = 0; i < G_N_ELEMENTS (controllers); i++)
    {
      g_signal_connect_swapped (controllers[i], "enter", G_CALLBACK (preview_fix), button);
      g_signal_connect_swapped (controllers[i], "leave", G_CALLBACK (forget_fix), self);
      gtk_widget_add_controller (button, controllers[i]);
    }
}

/* The remedies of a fault at a node: a button each, with a preview of its effect. */
static void
add_fixes (StudioFaultList *self, GtkWidget *box, const LoomFault *fault)
{
  LoomNet *net = studio_document_get_net (self->document);
  int node = loom_net_find (net, fault->node);
  g_autoptr (GPtrArray) fixes
      = node >= 0 ? studio_document_find_fixes (self->document, fault, loom_net_node (net, (guint)node)->serial) : NULL;

  for (guint m = 0; fixes != NULL && m < fixes->len; m++)
    {
      LoomFix *fix = g_ptr_array_index (fixes, m);
      const char *words = fix->preview != NULL ? fix->preview : "";
      GtkWidget *line = studio_template_new ("fault-fix.ui");
      struct
      {
        GtkWidget *button, *preview;
      } parts;

      STUDIO_TEMPLATE_FIELDS (line, &parts, button, preview);
      gtk_button_set_label (GTK_BUTTON (parts.button), fix->label);
      gtk_label_set_text (GTK_LABEL (parts.preview), words);
      gtk_accessible_update_property (GTK_ACCESSIBLE (parts.button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words, -1);
      bind_fault (parts.button, fault);
      g_object_set_data_full (G_OBJECT (parts.button), "path", g_strdup (fault->node), g_free);
      g_object_set_data_full (G_OBJECT (parts.button), "fix", fix, free_fix);
      g_signal_connect (parts.button, "clicked", G_CALLBACK (quick_fix_cb), self);
      follow_button (self, parts.button);
      gtk_box_append (GTK_BOX (box), line);
    }
  /* The buttons own them. */
  if (fixes != NULL)
    g_ptr_array_set_free_func (fixes, NULL);
}

/* In µs of processor time: remedies are tried on copies of the graph, and a graph may have many faults. */
#define FIXES_BUDGET (8 * 1000)

static GtkWidget *
fault_row (StudioFaultList *self, const LoomFault *fault, gboolean with_fixes)
{
  GtkWidget *row = studio_template_new ("fault-row.ui");
  struct
  {
    GtkWidget *icon, *words, *message, *read, *fix;
  } parts;
  g_autofree char *text
      = fault->node != NULL ? g_strdup_printf ("%s: %s", fault->node, fault->message) : g_strdup (fault->message);
  /* A fix that is no edit of a node or of <train> would be a button that does nothing. */
  const gboolean can_fix
      = fault->fix_attribute != NULL && (fault->node != NULL || g_str_has_prefix (fault->message, "<train>: "));

  STUDIO_TEMPLATE_FIELDS (row, &parts, icon, words, message, read, fix);
  studio_icon_show (GTK_IMAGE (parts.icon), self->list,
                    fault->is_warning ? "dialog-information-symbolic"
                    : fault->is_todo  ? "radio-symbolic"
                                      : "dialog-warning-symbolic");
  gtk_label_set_text (GTK_LABEL (parts.message), text);
  g_signal_connect_swapped (parts.read, "clicked", G_CALLBACK (read_clicked_cb), self);
  if (fault->code == LOOM_ERROR_OUTSIDE)
    gtk_widget_show (parts.read);
  else if (fault->node != NULL && with_fixes)
    add_fixes (self, parts.words, fault);
  else if (fault->fix != NULL && can_fix)
    {
      gtk_widget_show (parts.fix);
      gtk_widget_set_tooltip_text (parts.fix, fault->fix);
      bind_fault (parts.fix, fault);
      g_signal_connect (parts.fix, "clicked", G_CALLBACK (fix_cb), self);
    }
  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (fault->node), g_free);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  return row;
}

void
studio_fault_list_fill (StudioFaultList *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  const guint all = loom_faults_length (faults);
  const gint64 until = studio_trials_clock () + FIXES_BUDGET;
  GtkWidget *child;

  if (!self->is_stale)
    return;
  self->is_stale = FALSE;
  while ((child = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), child);
  /* Errors come first, then things to do, then advice. */
  for (guint round = 0; round < 3; round++)
    for (guint i = 0; i < all; i++)
      if (round == (loom_faults_get (faults, i)->is_warning ? 2 : loom_faults_get (faults, i)->is_todo ? 1 : 0))
        gtk_list_box_append (GTK_LIST_BOX (self->list),
                             fault_row (self, loom_faults_get (faults, i), studio_trials_clock () < until));
  if (all == 0)
    {
      GtkWidget *row = gtk_list_box_row_new ();
      GtkWidget *label = gtk_label_new (_ ("Nothing is wrong with the graph."));
      g_object_set (label, "margin-top", 12, "margin-bottom", 12, NULL);
      gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), label);
      gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
      gtk_list_box_append (GTK_LIST_BOX (self->list), row);
    }
}

static char *
summary_of (guint all, guint errors, guint todo)
{
  if (all == 0)
    return g_strdup (_ ("No faults"));
  if (errors == 0 && todo > 0)
    return g_strdup_printf (ngettext ("%u to do", "%u to do", todo), todo);
  if (errors == 0)
    return g_strdup_printf (ngettext ("%u hint", "%u hints", all), all);
  return g_strdup_printf (ngettext ("⚠ %u fault", "⚠ %u faults", errors), errors);
}

static void
update (StudioFaultList *self)
{
  LoomFaults *faults = studio_document_get_faults (self->document);
  const guint all = loom_faults_length (faults);
  guint errors = loom_faults_count (faults), todo = 0;

  for (guint i = 0; i < all; i++)
    todo += loom_faults_get (faults, i)->is_todo;
  errors -= todo;
  g_free (self->summary);
  self->summary = summary_of (all, errors, todo);
  self->n_errors = errors;
  self->is_stale = TRUE;
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    studio_fault_list_fill (self);
  g_signal_emit (self, signals[CHANGED], 0);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioFaultList *self)
{
  const char *path = g_object_get_data (G_OBJECT (row), "path");
  g_signal_emit (self, signals[LEFT], 0);
  /* The inspector shows the settings of training if nothing is selected. */
  if (path == NULL)
    studio_document_select_only (self->document, 0);
  else if (studio_document_reveal (self->document, path))
    studio_canvas_focus_path (self->canvas, path);
}

const char *
studio_fault_list_get_summary (StudioFaultList *self)
{
  return self->summary;
}

guint
studio_fault_list_n_errors (StudioFaultList *self)
{
  return self->n_errors;
}

/* ---- widget --------------------------------------------------------------------------------- */

static void
fault_list_dispose (GObject *object)
{
  StudioFaultList *self = STUDIO_FAULT_LIST (object);
  g_clear_object (&self->document);
  g_clear_object (&self->canvas);
  G_OBJECT_CLASS (studio_fault_list_parent_class)->dispose (object);
}

static void
fault_list_finalize (GObject *object)
{
  g_free (STUDIO_FAULT_LIST (object)->summary);
  G_OBJECT_CLASS (studio_fault_list_parent_class)->finalize (object);
}

static void
studio_fault_list_class_init (StudioFaultListClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = fault_list_dispose;
  G_OBJECT_CLASS (klass)->finalize = fault_list_finalize;
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "left", "read" })[i], STUDIO_TYPE_FAULT_LIST,
                               G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  STUDIO_TEMPLATE (klass, "studio-fault-list.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioFaultList, list);
  STUDIO_TEMPLATE_CALLBACKS (klass, row_activated_cb);
}

static void
studio_fault_list_init (StudioFaultList *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

StudioFaultList *
studio_fault_list_new (StudioDocument *document, StudioCanvas *canvas, GtkWidget *toasts)
{
  StudioFaultList *self = g_object_new (STUDIO_TYPE_FAULT_LIST, NULL);
  self->document = g_object_ref (document);
  self->canvas = g_object_ref (canvas);
  self->toasts = toasts;
  /* A popover is as narrow as its content permits, and a label that wraps may be one word wide. */
  gtk_widget_set_size_request (adw_bin_get_child (ADW_BIN (self)), (int)(FAULTS_WIDTH * studio_text_scale (toasts)),
                               -1);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  update (self);
  return self;
}
