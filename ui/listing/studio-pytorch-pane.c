/* Implements studio-pytorch-pane.h. The text is written again when the graph has changed and the pane is visible; rows
 * exist only for visible lines. */
#include "ui/listing/studio-pytorch-pane.h"

#include <string.h>

#include "engine/pytorch/loom-pytorch.h"
#include "ui/charts/studio-template.h"

#define SAMPLES "samples.safetensors"

struct _StudioPytorchPane
{
  GtkBox parent_instance;

  StudioDocument *document;
  LoomPytorch *text; /* NULL: the graph cannot be written */
  char *hash;        /* of the graph that was written last */
  GtkStringList *lines;
  GPtrArray *rows; /* GtkListItem with a child, not owned: their marks follow the selection */
  GtkWidget *stack, *view, *reason, *copy;
  guint update;        /* idle source */
  guint scroll;        /* idle source */
  gboolean is_fresh;   /* another graph was written than before */
  gboolean activating; /* the selection comes from a line, which stays where it is */
};

G_DEFINE_FINAL_TYPE (StudioPytorchPane, studio_pytorch_pane, GTK_TYPE_BOX)

/* ---- lines and nodes ---------------------------------------------------------- */

gboolean
studio_pytorch_pane_is_marked (StudioPytorchPane *self, guint line)
{
  guint64 serial = self->text != NULL ? loom_pytorch_line_serial (self->text, line) : 0;

  return serial != 0 && studio_document_is_selected (self->document, serial);
}

/* A path of the node, for the scope that shows it: of a node in a module, that of its first instance. */
static char *
find_path (StudioPytorchPane *self, const LoomElement *element)
{
  const LoomElement *scope = loom_element_parent (element);
  LoomNet *net = studio_document_get_net (self->document);

  if (loom_element_tag (scope) == LOOM_TAG_GRAPH)
    return loom_node_path ("", element);
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const char *dot = strrchr (node->path, '.');

      if (node->element != NULL && loom_element_parent (node->element) == scope && dot != NULL)
        {
          g_autofree char *around = g_strndup (node->path, (gsize)(dot - node->path));
          /* A repeated operator has its number last. */
          if (loom_node_is_copy (node->element, dot + 1))
            {
              char *before = strrchr (around, '.');
              if (before == NULL)
                continue;
              *before = 0;
            }
          return loom_node_path (around, element);
        }
    }
  return NULL;
}

void
studio_pytorch_pane_activate (StudioPytorchPane *self, guint line)
{
  guint64 serial = self->text != NULL && line < loom_pytorch_n_lines (self->text)
                       ? loom_pytorch_line_serial (self->text, line)
                       : 0;
  const LoomElement *element = loom_graph_by_serial (studio_document_get_graph (self->document), serial);
  g_autofree char *path = NULL;

  if (element == NULL)
    return;
  self->activating = TRUE;
  if (loom_element_tag (element) != LOOM_TAG_NODE)
    studio_document_select_only (self->document, 0);
  else if (loom_element_parent (element) == studio_document_get_scope (self->document))
    studio_document_select_only (self->document, serial);
  else if ((path = find_path (self, element)) != NULL)
    studio_document_reveal (self->document, path);
  self->activating = FALSE;
}

guint
studio_pytorch_pane_n_lines (StudioPytorchPane *self)
{
  return self->text != NULL ? loom_pytorch_n_lines (self->text) : 0;
}

guint
studio_pytorch_pane_find (StudioPytorchPane *self, const char *text)
{
  for (guint i = 0; i < studio_pytorch_pane_n_lines (self); i++)
    if (strstr (gtk_string_list_get_string (self->lines, i), text) != NULL)
      return i;
  return G_MAXUINT;
}

/* ---- rows ---------------------------------------------------------------------- */

static void
mark_row (StudioPytorchPane *self, GtkListItem *item)
{
  GtkWidget *label = gtk_list_item_get_child (item);
  guint line = gtk_list_item_get_position (item);

  if (line < studio_pytorch_pane_n_lines (self) && studio_pytorch_pane_is_marked (self, line))
    gtk_widget_add_css_class (label, "listed-node");
  else
    gtk_widget_remove_css_class (label, "listed-node");
}

static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioPytorchPane *self)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "monospace");
  gtk_list_item_set_child (item, label);
  g_ptr_array_add (self->rows, item);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioPytorchPane *self)
{
  GtkStringObject *line = gtk_list_item_get_item (item);

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)), gtk_string_object_get_string (line));
  mark_row (self, item);
}

static void
teardown_cb (GtkSignalListItemFactory *factory, GtkListItem *item, StudioPytorchPane *self)
{
  if (self->rows != NULL)
    g_ptr_array_remove_fast (self->rows, item);
}

static void
activate_cb (GtkListView *view, guint position, StudioPytorchPane *self)
{
  studio_pytorch_pane_activate (self, position);
}

/* ---- following the document ------------------------------------------------------ */

/* The line that is to be seen: the first of the selected nodes, or else, in a file that was just written, the model. */
static guint
find_goal (StudioPytorchPane *self)
{
  for (guint i = 0; i < studio_pytorch_pane_n_lines (self); i++)
    if (studio_pytorch_pane_is_marked (self, i))
      return i;
  return self->is_fresh ? studio_pytorch_pane_find (self, "class Model(") : G_MAXUINT;
}

/* Once per frame: the list cannot scroll before its rows have been laid out. */
static gboolean
scroll_cb (gpointer data)
{
  StudioPytorchPane *self = data;
  guint goal = find_goal (self);

  self->scroll = 0;
  self->is_fresh = FALSE;
  if (goal != G_MAXUINT && gtk_widget_get_mapped (self->view))
    gtk_widget_activate_action (self->view, "list.scroll-to-item", "u", goal);
  return G_SOURCE_REMOVE;
}

static void
follow_selection (StudioPytorchPane *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    mark_row (self, self->rows->pdata[i]);
  if (self->scroll == 0 && !self->activating)
    self->scroll = g_idle_add (scroll_cb, self);
}

static void
show_reason (StudioPytorchPane *self, const LoomFaults *faults)
{
  g_autoptr (GPtrArray) sentences = loom_faults_sentences (faults, FALSE);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < sentences->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "\n" : "", (char *)sentences->pdata[i]);
  gtk_label_set_text (GTK_LABEL (self->reason), text->str);
  g_string_free (text, TRUE);
}

static void
write_again (StudioPytorchPane *self)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  const char *hash = studio_document_hash (self->document);
  g_auto (GStrv) lines = NULL;

  if (g_strcmp0 (hash, self->hash) == 0)
    return;
  self->is_fresh = self->hash == NULL;
  g_free (self->hash);
  self->hash = g_strdup (hash);
  g_clear_pointer (&self->text, loom_pytorch_free);
  self->text = loom_pytorch_new (studio_document_get_graph (self->document), SAMPLES, faults);
  lines = g_strsplit (self->text != NULL ? loom_pytorch_text (self->text) : "", "\n", -1);
  /* The text ends with a line break, after which no line follows. */
  if (self->text != NULL)
    g_clear_pointer (&lines[loom_pytorch_n_lines (self->text)], g_free);
  gtk_string_list_splice (self->lines, 0, g_list_model_get_n_items (G_LIST_MODEL (self->lines)),
                          (const char *const *)lines);
  if (self->text == NULL)
    show_reason (self, faults);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), self->text != NULL ? "text" : "reason");
  gtk_widget_set_sensitive (self->copy, self->text != NULL);
  follow_selection (self);
}

static gboolean
update_cb (gpointer data)
{
  StudioPytorchPane *self = data;

  self->update = 0;
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    write_again (self);
  return G_SOURCE_REMOVE;
}

static void
update_soon (StudioPytorchPane *self)
{
  if (self->update == 0)
    self->update = g_idle_add (update_cb, self);
}

static void
copy_cb (StudioPytorchPane *self)
{
  if (self->text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), loom_pytorch_text (self->text));
}

void
studio_pytorch_pane_focus (StudioPytorchPane *self)
{
  write_again (self);
  gtk_widget_grab_focus (self->text != NULL ? self->view : self->copy);
}

/* ---- object ---------------------------------------------------------------------- */

static void
studio_pytorch_pane_dispose (GObject *object)
{
  StudioPytorchPane *self = STUDIO_PYTORCH_PANE (object);

  g_clear_handle_id (&self->update, g_source_remove);
  g_clear_handle_id (&self->scroll, g_source_remove);
  g_clear_pointer (&self->rows, g_ptr_array_unref);
  g_clear_pointer (&self->text, loom_pytorch_free);
  g_clear_pointer (&self->hash, g_free);
  g_clear_object (&self->lines);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_pytorch_pane_parent_class)->dispose (object);
}

static void
studio_pytorch_pane_class_init (StudioPytorchPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_pytorch_pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "pytorchpane");
  STUDIO_TEMPLATE (klass, "studio-pytorch-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioPytorchPane, stack, view, reason, copy);
  STUDIO_TEMPLATE_CALLBACKS (klass, activate_cb, setup_cb, bind_cb, teardown_cb, copy_cb);
}

static void
studio_pytorch_pane_init (StudioPytorchPane *self)
{
  g_autoptr (GtkNoSelection) model = NULL;

  self->rows = g_ptr_array_new ();
  self->lines = gtk_string_list_new (NULL);
  model = gtk_no_selection_new (g_object_ref (G_LIST_MODEL (self->lines)));
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_list_view_set_model (GTK_LIST_VIEW (self->view), GTK_SELECTION_MODEL (model));
}

StudioPytorchPane *
studio_pytorch_pane_new (StudioDocument *document)
{
  StudioPytorchPane *self = g_object_new (STUDIO_TYPE_PYTORCH_PANE, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (update_soon), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "selection-changed", G_CALLBACK (follow_selection), self, G_CONNECT_SWAPPED);
  g_signal_connect (self, "map", G_CALLBACK (update_soon), NULL);
  return self;
}
