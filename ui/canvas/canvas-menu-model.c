#include "ui/canvas/canvas-menu-model.h"

#include <glib/gi18n.h>


typedef struct
{
  StudioDocument *document;
  const StudioScene *scene;
  const CanvasMenuTarget *target;
} Menu;

const StudioItem *
canvas_menu_target_item (const CanvasMenuTarget *target, const StudioScene *scene)
{
  guint i = studio_scene_find (scene, target->serial);

  return i != STUDIO_NO_ITEM ? &scene->item[i] : NULL;
}

const StudioPort *
canvas_menu_target_port (const CanvasMenuTarget *target, const StudioScene *scene)
{
  const StudioItem *item = canvas_menu_target_item (target, scene);
  gboolean is_output = target->kind == STUDIO_HIT_OUTPUT;
  guint p
      = item != NULL && target->port != NULL ? studio_item_find_port (item, is_output, target->port) : STUDIO_NO_ITEM;

  return p == STUDIO_NO_ITEM ? NULL : is_output ? &item->output[p] : &item->input[p];
}

/* ---- when an entry is offered ---------------------------------------------- */

static const StudioItem *
menu_item (const Menu *self)
{
  return canvas_menu_target_item (self->target, self->scene);
}

static gboolean
is_module (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module;
}

static gboolean
is_plain_module (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module && item->op == NULL;
}

static gboolean
is_loop (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module && item->op != NULL;
}

static const LoomElement *
menu_node (const Menu *self)
{
  return menu_item (self) != NULL && !menu_item (self)->is_frame
             ? loom_graph_by_serial (studio_document_get_graph (self->document), self->target->serial)
             : NULL;
}

static gboolean
has_bodies (const Menu *self)
{
  const LoomElement *node = menu_node (self);

  return node != NULL && loom_node_n_modules (node) > 1;
}

/* The modules of which a switch runs one, with their numbers. */
static GMenuModel *
fill_bodies (const Menu *self)
{
  const LoomElement *node = menu_node (self);
  GMenu *menu = g_menu_new ();

  for (guint k = 0; k < loom_node_n_modules (node); k++)
    {
      g_autofree char *label = g_strdup_printf ("%u  %s", k, loom_node_nth_module (node, k));
      g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

      g_menu_item_set_action_and_target (item, "menu.enter-body", "u", k);
      g_menu_append_item (menu, item);
    }
  return G_MENU_MODEL (menu);
}

static gboolean
is_layer (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && !item->is_module && !item->is_frame;
}

static gboolean
is_frame (const Menu *self)
{
  const StudioScene *scene = self->scene;
  guint i = studio_scene_find_annotation (scene, self->target->serial);

  return i != STUDIO_NO_ITEM && !scene->annotation[i].is_note;
}

static gboolean
is_muted (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->muted;
}

static gboolean
is_heard (const Menu *self)
{
  return !is_muted (self);
}

static gboolean
is_folded (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->folded;
}

static gboolean
is_open (const Menu *self)
{
  return !is_folded (self);
}

static gboolean
has_output (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->n_outputs > 0;
}

static gboolean
has_fix (const Menu *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->fix != NULL;
}

static gboolean
is_wired (const Menu *self)
{
  const StudioPort *port = canvas_menu_target_port (self->target, self->scene);

  return port != NULL && port->n_links > 0;
}

static gboolean
is_output (const Menu *self)
{
  return self->target->kind == STUDIO_HIT_OUTPUT;
}

static gboolean
has_points (const Menu *self)
{
  const StudioScene *scene = self->scene;
  guint link = studio_scene_find_link (scene, self->target->serial);

  return link != STUDIO_NO_ITEM && scene->link[link].n_points > 0;
}

static gboolean
is_inside (const Menu *self)
{
  return studio_document_scope_depth (self->document) > 0;
}

static gboolean
are_several (const Menu *self)
{
  return studio_document_n_selected (self->document) > 1;
}

static gboolean
runs_down (const Menu *self)
{
  return self->scene->flow == STUDIO_FLOW_DOWN;
}

static gboolean
runs_right (const Menu *self)
{
  return !runs_down (self);
}

typedef struct _Entry Entry;
struct _Entry
{
  const char *label, *action, *accel;
  gboolean (*when) (const Menu *self);
  const Entry *inner;                     /* the entries of a submenu, which has no action */
  GMenuModel *(*fill) (const Menu *self); /* of a submenu with entries that depend on the card */
};

#define SECTION "" /* instead of a label: a line between sections */

static const Entry align_entries[] = {
  { N_ ("Left Edges"), "canvas.align-left" },
  { N_ ("Centres"), "canvas.align-centre" },
  { N_ ("Right Edges"), "canvas.align-right" },
  { SECTION },
  { N_ ("Top Edges"), "canvas.align-top" },
  { N_ ("Middles"), "canvas.align-middle" },
  { N_ ("Bottom Edges"), "canvas.align-bottom" },
  { SECTION },
  { N_ ("Distribute Horizontally"), "canvas.distribute-horizontally" },
  { N_ ("Distribute Vertically"), "canvas.distribute-vertically" },
  { NULL },
};

static const Entry card_entries[] = {
  { N_ ("Parameters"), "canvas.inspect", "Return" },
  { N_ ("Enter Module"), "canvas.enter", "Tab", is_module },
  { .label = N_ ("Enter One of Several"), .when = has_bodies, .fill = fill_bodies },
  { N_ ("Apply Quick Fix"), "canvas.fix", "<Control>period", has_fix },
  { SECTION },
  { N_ ("Add After…"), "menu.add-after", NULL, has_output },
  { N_ ("Connect…"), "canvas.connect", "<Control>l" },
  { N_ ("Watch Output"), "menu.watch", "<Control><Shift>w", has_output },
  { N_ ("Watch Gradient"), "menu.watch-gradient", "<Control><Alt>w", has_output },
  { N_ ("Run to Here"), "win.step-here", "<Control>F10" },
  { N_ ("Breakpoint…"), "win.breakpoint", "<Control>F8" },
  { N_ ("Check Gradients"), "win.check-gradients", "<Control><Shift>f" },
  { SECTION },
  { N_ ("Cut and Reconnect"), "canvas.cut", "<Control>x" },
  { N_ ("Copy"), "canvas.copy", "<Control>c" },
  { N_ ("Duplicate"), "canvas.duplicate", "<Control>d" },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { SECTION },
  { N_ ("Mute"), "canvas.mute", "<Control><Shift>m", is_heard },
  { N_ ("Unmute"), "canvas.mute", "<Control><Shift>m", is_muted },
  { N_ ("Collapse"), "canvas.fold", "<Alt>h", is_open },
  { N_ ("Expand"), "canvas.fold", "<Alt>h", is_folded },
  { N_ ("Swap For…"), "canvas.swap", "<Alt>s", is_layer },
  { SECTION },
  { N_ ("Group Into a Module"), "canvas.group", "<Control>g" },
  { N_ ("Ungroup"), "canvas.ungroup", "<Control><Shift>g", is_plain_module },
  { N_ ("Run Over a Sequence"), "canvas.loop", NULL, is_plain_module },
  { N_ ("Run Along Trees"), "canvas.trees", NULL, is_plain_module },
  { N_ ("Choose Among Modules"), "canvas.choose", NULL, is_plain_module },
  { N_ ("Run Once"), "canvas.loop", NULL, is_loop },
  { N_ ("Save to My Library"), "canvas.save-to-library", NULL, is_module },
  { N_ ("Arrange Selection"), "canvas.auto-layout", "<Control><Shift>l", are_several },
  { N_ ("Align"), NULL, NULL, are_several, align_entries },
  { N_ ("Frame"), "canvas.add-frame", "<Control>j" },
  { SECTION },
  { N_ ("Documentation"), "win.documentation", "<Shift>F1" },
  { NULL },
};

static const Entry port_entries[] = {
  { N_ ("Connect…"), "canvas.connect", "<Control>l" },
  { N_ ("Add After…"), "menu.add-after", NULL, is_output },
  { N_ ("Watch"), "menu.watch", "<Control><Shift>w", is_output },
  { SECTION },
  { N_ ("Disconnect"), "menu.disconnect", NULL, is_wired },
  { NULL },
};

static const Entry wire_entries[] = {
  { N_ ("Insert Layer…"), "menu.add", "Insert" },
  { N_ ("Watch"), "menu.watch", NULL },
  { N_ ("Watch Gradient"), "menu.watch-gradient", NULL },
  { SECTION },
  { N_ ("Add Reroute Point"), "menu.add-point", NULL },
  { N_ ("Remove Reroute Points"), "menu.remove-points", NULL, has_points },
  { SECTION },
  { N_ ("Cut Wire"), "canvas.delete", "Delete" },
  { NULL },
};

static const Entry annotation_entries[] = {
  { N_ ("Edit Text"), "canvas.inspect", "Return" },
  { N_ ("Collapse to a Card"), "canvas.fold", "<Alt>h", is_frame },
  { SECTION },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { NULL },
};

/* A frame that is collapsed. */
static const Entry frame_entries[] = {
  { N_ ("Title"), "canvas.inspect", "Return" },
  { N_ ("Expand"), "canvas.fold", "<Alt>h" },
  { SECTION },
  { N_ ("Cut and Reconnect"), "canvas.cut", "<Control>x" },
  { N_ ("Copy"), "canvas.copy", "<Control>c" },
  { N_ ("Duplicate"), "canvas.duplicate", "<Control>d" },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { SECTION },
  { N_ ("Mute or Unmute Its Layers"), "canvas.mute", "<Control><Shift>m" },
  { N_ ("Group Into a Module"), "canvas.group", "<Control>g" },
  { N_ ("Arrange Selection"), "canvas.auto-layout", "<Control><Shift>l", are_several },
  { N_ ("Align"), NULL, NULL, are_several, align_entries },
  { NULL },
};

static const Entry canvas_entries[] = {
  { N_ ("Add Layer…"), "menu.add", "Insert" },
  { N_ ("Add From Library…"), "canvas.add-from-library", NULL },
  { N_ ("Add Note"), "menu.add-note", "<Control>m" },
  { N_ ("Add Frame"), "canvas.add-frame", "<Control>j" },
  { SECTION },
  { N_ ("Paste"), "menu.paste", "<Control>v" },
  { N_ ("Select All"), "canvas.select-all", "<Control>a" },
  { SECTION },
  { N_ ("Arrange"), "canvas.auto-layout", "<Control><Shift>l" },
  { N_ ("Arrange Top to Bottom"), "canvas.arrange-down", NULL, runs_right },
  { N_ ("Arrange Left to Right"), "canvas.arrange-right", NULL, runs_down },
  { N_ ("Fit Everything"), "canvas.zoom-to-fit", "<Control>9" },
  { N_ ("Leave Module"), "canvas.leave", "<Control>Up", is_inside },
  { NULL },
};

static const Entry *
entries_for (const Menu *self)
{
  if (menu_item (self) != NULL && menu_item (self)->is_frame)
    return frame_entries;
  switch (self->target->kind)
    {
    case STUDIO_HIT_CARD:
    case STUDIO_HIT_FIX:
      return card_entries;
    case STUDIO_HIT_INPUT:
    case STUDIO_HIT_OUTPUT:
      return port_entries;
    case STUDIO_HIT_LINK:
      return wire_entries;
    case STUDIO_HIT_ANNOTATION:
      return annotation_entries;
    case STUDIO_HIT_NOTHING:
      break;
    }
  return canvas_entries;
}

static void
append_section (GMenu *menu, GMenu *section)
{
  if (g_menu_model_get_n_items (G_MENU_MODEL (section)) > 0)
    g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
  g_object_unref (section);
}

static GMenuModel *
new_model (const Menu *self, const Entry *entries)
{
  GMenu *menu = g_menu_new (), *section = g_menu_new ();

  for (const Entry *e = entries; e->label != NULL; e++)
    {
      g_autoptr (GMenuItem) item = NULL;

      if (e->action == NULL && e->inner == NULL && e->fill == NULL)
        {
          append_section (menu, section);
          section = g_menu_new ();
          continue;
        }
      if (e->when != NULL && !e->when (self))
        continue;
      item = g_menu_item_new (_ (e->label), e->action);
      if (e->inner != NULL || e->fill != NULL)
        {
          g_autoptr (GMenuModel) inner = e->fill != NULL ? e->fill (self) : new_model (self, e->inner);

          g_menu_item_set_submenu (item, inner);
        }
      if (e->accel != NULL)
        g_menu_item_set_attribute (item, "accel", "s", e->accel);
      g_menu_append_item (section, item);
    }
  append_section (menu, section);
  return G_MENU_MODEL (menu);
}

GMenuModel *
canvas_menu_model_new (StudioDocument *document, const StudioScene *scene, const CanvasMenuTarget *target)
{
  const Menu menu = { document, scene, target };

  return new_model (&menu, entries_for (&menu));
}
