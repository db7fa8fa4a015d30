/* Two popovers of the canvas with a search entry: adding what one types, and wiring to what one names.
 *
 * Both are the same list with a filter; the rows differ in what choosing them does. */
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/document/studio-search.h"

typedef struct
{
  StudioCanvas *canvas; /* the popover's parent */
  GtkWidget *popover, *entry, *list;
  char *words; /* what is searched for */
  guint n_rows;
  StudioLoose loose;
  gboolean has_loose;
  double x, y; /* canvas coordinates for the new card */
  guint64 serial;
} Chooser;

/* The meaning of a row. */
typedef struct
{
  char *name;
  StudioSearchKey *key;
  guint order, rank;
  gboolean is_module;
  gboolean is_note, is_frame; /* no layer, but something beside them */
  gboolean is_second;         /* offered only where something was typed, and after the others */
  guint64 from, to;
  const char *output, *input;
} Choice;

static void
choice_free (Choice *choice)
{
  g_free (choice->name);
  studio_search_key_free (choice->key);
  g_free (choice);
}

static void
chooser_free (gpointer data)
{
  Chooser *self = data;

  g_free (self->words);
  g_free (self);
}

static Choice *
row_choice (GtkListBoxRow *row)
{
  return g_object_get_data (G_OBJECT (row), "choice");
}

static Choice *
add_row (Chooser *self, const char *icon, const char *title, const char *subtitle, StudioSearchKey *key)
{
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *image = gtk_image_new_from_icon_name (icon), *label = gtk_label_new (title),
            *side = gtk_label_new (subtitle);
  Choice *choice = g_new0 (Choice, 1);

  choice->key = key;
  choice->order = self->n_rows++;
  choice->rank = 1;
  gtk_widget_set_hexpand (label, TRUE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_ellipsize (GTK_LABEL (side), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (side, "dim-label");
  gtk_widget_add_css_class (side, "caption");
  gtk_widget_set_margin_top (box, 4);
  gtk_widget_set_margin_bottom (box, 4);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  gtk_box_append (GTK_BOX (box), image);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), side);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data_full (G_OBJECT (row), "choice", choice, (GDestroyNotify)choice_free);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
  return choice;
}

static gboolean
filter_cb (GtkListBoxRow *row, gpointer data)
{
  Chooser *self = data;

  if (row_choice (row)->is_second && (self->words == NULL || self->words[0] == '\0'))
    return FALSE;
  return row_choice (row)->rank > 0;
}

/* The best match first, and ports that are there before layers that would be new. */
static int
sort_cb (GtkListBoxRow *a, GtkListBoxRow *b, gpointer data)
{
  Choice *p = row_choice (a), *q = row_choice (b);

  if (p->is_second != q->is_second)
    return p->is_second - q->is_second;
  if (p->rank != q->rank)
    return p->rank < q->rank ? 1 : -1;
  return p->order < q->order ? -1 : p->order > q->order;
}

static void
search_cb (Chooser *self)
{
  GtkListBoxRow *row = NULL;

  g_free (self->words);
  self->words = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->entry))));
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    row_choice (row)->rank = studio_search_rank (row_choice (row)->key, self->words);
  gtk_list_box_invalidate_filter (GTK_LIST_BOX (self->list));
  gtk_list_box_invalidate_sort (GTK_LIST_BOX (self->list));
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (gtk_widget_get_child_visible (GTK_WIDGET (row)) && filter_cb (row, self))
      break;
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
}

/* Wires the new card to the loose end, at the first port that fits. */
static void
join_loose (StudioDocument *document, const StudioLoose *loose, guint64 serial)
{
  StudioScene *scene;
  guint fixed, made, n, port;
  g_autofree guint *first = NULL;
  g_autofree gboolean *lit = NULL;

  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  fixed = studio_scene_find (scene, loose->serial);
  made = studio_scene_find (scene, serial);

  if (fixed == STUDIO_NO_ITEM || made == STUDIO_NO_ITEM)
    return;
  port = studio_item_find_port (&scene->item[fixed], loose->from_output, loose->port);
  if (port == STUDIO_NO_ITEM)
    return;
  first = g_new (guint, scene->n_items + 1);
  n = 0;
  for (guint i = 0; i < scene->n_items; i++)
    {
      first[i] = n;
      n += loose->from_output ? scene->item[i].n_inputs : scene->item[i].n_outputs;
    }
  first[scene->n_items] = n;
  lit = g_new0 (gboolean, n + 1);
  studio_document_compatible_ports (document, loose->serial, loose->from_output, port, lit, first);
  scene = studio_document_get_scene (document);
  for (guint p = 0; p < first[made + 1] - first[made]; p++)
    {
      const StudioItem *item = &scene->item[made];

      if (!lit[first[made] + p])
        continue;
      if (loose->from_output)
        studio_document_connect (document, loose->serial, loose->port, serial, item->input[p].name, NULL);
      else
        studio_document_connect (document, serial, item->output[p].name, loose->serial, loose->port, NULL);
      return;
    }
}

static void
choose (Chooser *self, GtkListBoxRow *row)
{
  Choice *choice = row_choice (row);
  StudioCanvas *canvas = self->canvas;
  StudioDocument *document = studio_canvas_get_document (canvas);
  g_autoptr (GError) error = NULL;
  guint64 serial;

  if (choice->is_note || choice->is_frame)
    {
      gboolean is_note = choice->is_note;
      double x = self->x, y = self->y;

      gtk_popover_popdown (GTK_POPOVER (self->popover));
      if (is_note)
        studio_canvas_add_note (canvas, x, y);
      else
        studio_canvas_add_frame (canvas);
      return;
    }
  if (choice->name == NULL)
    {
      guint64 from = choice->from, to = choice->to, focus = self->serial;
      const char *output = choice->output, *input = choice->input;

      gtk_popover_popdown (GTK_POPOVER (self->popover));
      if (studio_document_connect (document, from, output, to, input, &error) == 0)
        studio_canvas_say (canvas, error->message);
      studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), focus), TRUE);
      return;
    }

  {
    g_autofree char *name = g_strdup (choice->name);
    gboolean is_module = choice->is_module, has_loose = self->has_loose;
    StudioLoose loose = self->loose;
    double x = self->x, y = self->y;
    guint steps = studio_document_n_steps (document);

    gtk_popover_popdown (GTK_POPOVER (self->popover));
    serial = is_module ? studio_document_add_module_instance (document, name, x, y)
                       : studio_document_add_node (document, name, x, y);
    if (serial == 0)
      return;
    /* Which port fits is known only when the card is there; to whoever drew the wire both are one thing. */
    if (has_loose)
      join_loose (document, &loose, serial);
    studio_document_fold (document, steps);
    studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), serial), TRUE);
  }
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, Chooser *self)
{
  choose (self, row);
}

static void
entry_activate_cb (GtkSearchEntry *entry, Chooser *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (row != NULL)
    choose (self, row);
}

static void
stop_cb (GtkSearchEntry *entry, Chooser *self)
{
  gtk_popover_popdown (GTK_POPOVER (self->popover));
}

/* The arrows walk through the list while the entry keeps the focus. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Chooser *self)
{
  int by = key == GDK_KEY_Down ? 1 : key == GDK_KEY_Up ? -1 : 0;
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (by == 0)
    return FALSE;
  for (int i = row != NULL ? gtk_list_box_row_get_index (row) + by : 0;
       (row = i >= 0 ? gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i) : NULL) != NULL; i += by)
    if (filter_cb (row, self))
      {
        gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
        break;
      }
  return TRUE;
}

static gboolean
unparent_idle (gpointer data)
{
  gtk_widget_unparent (data);
  g_object_unref (data);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GtkPopover *popover, Chooser *self)
{
  if (self->canvas->popover == GTK_WIDGET (popover))
    self->canvas->popover = NULL;
  if (gtk_widget_get_parent (GTK_WIDGET (popover)) != NULL)
    g_idle_add (unparent_idle, g_object_ref (popover));
}

static Chooser *
chooser_new (StudioCanvas *canvas, const char *hint)
{
  Chooser *self = g_new0 (Chooser, 1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller = gtk_scrolled_window_new ();
  GtkWidget *none = gtk_label_new ("No layer of this name");
  GtkEventController *key = gtk_event_controller_key_new ();

  if (canvas->popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (canvas->popover));
  self->canvas = canvas;
  self->popover = gtk_popover_new ();
  self->entry = gtk_search_entry_new ();
  self->list = gtk_list_box_new ();
  g_object_set_data_full (G_OBJECT (self->popover), "chooser", self, chooser_free);
  gtk_search_entry_set_key_capture_widget (GTK_SEARCH_ENTRY (self->entry), self->popover);
  g_object_set (self->entry, "placeholder-text", hint, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, hint, -1);
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (none, "dim-label");
  g_object_set (none, "margin-top", 24, "margin-bottom", 24, NULL);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->list), filter_cb, self, NULL);
  gtk_list_box_set_sort_func (GTK_LIST_BOX (self->list), sort_cb, self, NULL);
  gtk_list_box_set_placeholder (GTK_LIST_BOX (self->list), none);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_size_request (scroller, 300, 260);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_popover_set_child (GTK_POPOVER (self->popover), box);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->popover), FALSE);
  gtk_popover_set_position (GTK_POPOVER (self->popover), GTK_POS_BOTTOM);
  gtk_widget_set_parent (self->popover, GTK_WIDGET (canvas));
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (search_cb), self);
  g_signal_connect (self->entry, "activate", G_CALLBACK (entry_activate_cb), self);
  g_signal_connect (self->entry, "stop-search", G_CALLBACK (stop_cb), self);
  g_signal_connect (self->list, "row-activated", G_CALLBACK (row_activated_cb), self);
  g_signal_connect (self->popover, "closed", G_CALLBACK (closed_cb), self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->entry, key);
  canvas->popover = self->popover;
  return self;
}

static void
chooser_show (Chooser *self, const char *text, double at_x, double at_y)
{
  GdkRectangle at = { CLAMP (at_x, 0, self->canvas->view.width), CLAMP (at_y, 0, self->canvas->view.height), 1, 1 };

  gtk_popover_set_pointing_to (GTK_POPOVER (self->popover), &at);
  gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
  search_cb (self);
  gtk_popover_popup (GTK_POPOVER (self->popover));
  gtk_widget_grab_focus (self->entry);
  gtk_editable_set_position (GTK_EDITABLE (self->entry), -1);
}

/* TRUE when the loose end of a wire, if there is one, finds a port of the other kind at such a card. */
static gboolean
takes_wire (const Chooser *self, const LoomOp *op)
{
  const LoomPortSpec *port = self->loose.from_output ? op->inputs : op->outputs;

  if (!self->has_loose || (self->loose.from_output ? op->dynamic_inputs != NULL : op->dynamic_outputs != NULL))
    return TRUE;
  for (; port != NULL && port->name != NULL; port++)
    if ((port->flags & LOOM_PORT_WEIGHT) == 0)
      return TRUE;
  return FALSE;
}

/* Rows for everything that can be added. */
static void
add_layers (Chooser *self, gboolean is_second)
{
  StudioDocument *document = self->canvas->document;
  LoomElement *root = loom_graph_root (studio_document_get_graph (document));

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      Choice *choice;

      if ((*op)->category == LOOM_CATEGORY_HIDDEN && studio_document_scope_depth (document) == 0)
        continue;
      if (!takes_wire (self, *op))
        continue;
      choice
          = add_row (self, (*op)->icon, (*op)->title,
                     is_second ? "new, connected" : loom_category_title ((*op)->category), studio_search_key_new (*op));
      choice->is_second = is_second;
      choice->name = g_strdup ((*op)->name);
    }
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE && loom_element_get (e, "name") != NULL)
        {
          const char *name = loom_element_get (e, "name");
          Choice *choice = add_row (self, "view-grid-symbolic", name, is_second ? "new, connected" : "Module",
                                    studio_search_key_new_text (name, name, "module"));

          choice->is_second = is_second;
          choice->name = g_strdup (loom_element_get (e, "name"));
          choice->is_module = TRUE;
        }
    }
}

void
studio_quick_add_popup (StudioCanvas *canvas, const char *text, double at_x, double at_y, const StudioLoose *loose)
{
  Chooser *self = chooser_new (canvas, "Add a layer");
  StudioScene *scene = studio_canvas_scene (canvas);
  guint current = studio_canvas_current (canvas);

  if (loose != NULL)
    {
      self->loose = *loose;
      self->has_loose = TRUE;
    }
  studio_view_to_canvas (&canvas->view, at_x, at_y, &self->x, &self->y);
  if (loose != NULL)
    self->x += (loose->from_output ? 1 : -1) * STUDIO_CARD_WIDTH / 2;
  else if (text[0] != '\0' && current != STUDIO_NO_ITEM)
    {
      /* Typed beside a card, the new one comes to stand after it. */
      self->x = scene->item[current].x + STUDIO_CARD_WIDTH * 1.5 + 64;
      self->y = scene->item[current].y + STUDIO_CARD_HEIGHT / 2;
    }
  add_layers (self, FALSE);
  if (loose == NULL)
    {
      add_row (self, "document-edit-symbolic", "Note", "Beside the layers",
               studio_search_key_new_text ("note", "Note", "comment text"))
          ->is_note
          = TRUE;
      add_row (self, "view-fullscreen-symbolic", "Frame", "Around the selection",
               studio_search_key_new_text ("frame", "Frame", "group box"))
          ->is_frame
          = TRUE;
    }
  chooser_show (self, text, at_x, at_y);
}

/* Rows for one port of the card, each a wire that could be drawn from or to it. */
static void
add_wires (Chooser *self, StudioScene *scene, guint item, gboolean from_output, guint port)
{
  g_autofree guint *first = g_new (guint, scene->n_items + 1);
  g_autofree gboolean *lit = NULL;
  const StudioItem *mine = &scene->item[item];
  const char *own = from_output ? mine->output[port].name : mine->input[port].name;
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    {
      first[i] = n;
      n += from_output ? scene->item[i].n_offered : scene->item[i].n_outputs;
    }
  first[scene->n_items] = n;
  lit = g_new0 (gboolean, n + 1);
  studio_document_compatible_ports (self->canvas->document, mine->serial, from_output, port, lit, first);
  for (guint i = 0; i < scene->n_items; i++)
    for (guint p = 0; p < first[i + 1] - first[i]; p++)
      {
        const StudioItem *other = &scene->item[i];
        const StudioPort *theirs = from_output ? &other->input[p] : &other->output[p];
        g_autofree char *title = NULL;
        Choice *choice;

        if (!lit[first[i] + p])
          continue;
        title = g_strdup_printf ("%s.%s", other->id, theirs->name);
        choice = add_row (self, other->op != NULL ? other->op->icon : "view-grid-symbolic", title,
                          from_output ? (theirs->n_links > 0 ? "replaces a wire" : own) : own,
                          studio_search_key_new_text (title, studio_item_title (other), own));
        choice->from = from_output ? mine->serial : other->serial;
        choice->output = from_output ? own : theirs->name;
        choice->to = from_output ? other->serial : mine->serial;
        choice->input = from_output ? theirs->name : own;
      }
}

void
studio_connect_popup (StudioCanvas *canvas, guint item)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  const StudioItem *mine = &scene->item[item];
  g_autofree char *hint = g_strdup_printf ("Connect %s to", mine->id);
  Chooser *self;
  double x, y;

  studio_document_get_faults (canvas->document);
  scene = studio_canvas_scene (canvas);
  mine = &scene->item[item];
  self = chooser_new (canvas, hint);
  self->serial = mine->serial;
  for (guint p = 0; p < mine->n_outputs; p++)
    add_wires (self, scene, item, TRUE, p);
  /* A card without outputs, a loss, is wired from its inputs. */
  if (mine->n_outputs == 0)
    for (guint p = 0; p < mine->n_inputs; p++)
      add_wires (self, scene, item, FALSE, p);
  /* C also begins conv2d: text that names no port here names a new layer, which is wired at once. */
  self->x = mine->x + STUDIO_CARD_WIDTH * 1.5 + 64;
  self->y = mine->y + STUDIO_CARD_HEIGHT / 2;
  if (mine->n_outputs > 0)
    {
      self->has_loose = TRUE;
      self->loose = (StudioLoose){ mine->serial, TRUE, mine->output[0].name };
    }
  add_layers (self, TRUE);
  studio_view_to_screen (&canvas->view, mine->x + mine->width / 2, mine->y + mine->height, &x, &y);
  chooser_show (self, "", x, y);
}
