/* The search that adds what one types: after the selected card, at a loose wire, in a selected wire, or at a point.
 *
 * After a layer with a parameter that has to be given, the same popover asks for that, with the likely value written
 * there already. Ctrl+Enter goes on after the new card, so that a chain of layers is typed in one go. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-param-check.h"
#include "ui/document/studio-typed-layer.h"
#include "ui/scene/studio-routes.h"

typedef struct
{
  StudioAddPlace place;
  guint64 made; /* the card that was added last, whose parameter is asked for */
  const LoomParamSpec *param;
  guint steps; /* to be undone before it */
} QuickAdd;

static void begin_search (StudioChooser *chooser, QuickAdd *self, const char *text, double x, double y);

/* ---- where ----------------------------------------------------------------- */

/* A point below the card, in pixels: what is added to its right stays in sight. */
static void
below_card (StudioCanvas *canvas, guint64 serial, double *x, double *y)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  guint item = studio_scene_find (scene, serial);
  StudioRect rect;

  if (item == STUDIO_NO_ITEM)
    return;
  rect = studio_geometry_extent (&scene->item[item]);
  if (canvas->view.width > 0 && studio_view_reveal (&canvas->view, &rect))
    studio_canvas_view_changed (canvas);
  studio_view_to_screen (&canvas->view, scene->item[item].x + scene->item[item].width / 2, rect.y + rect.height, x, y);
}

void
studio_canvas_add_place (StudioCanvas *self, double x, double y, StudioAddPlace *place)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint current = studio_canvas_current (self), link = STUDIO_NO_ITEM;

  *place = (StudioAddPlace){ .kind = STUDIO_ADD_AT, .x = x, .y = y };
  if (current == STUDIO_NO_ITEM && studio_document_n_selected (self->document) == 1)
    link = studio_scene_find_link (scene, studio_document_get_selected (self->document, 0));
  if (current != STUDIO_NO_ITEM)
    {
      place->kind = STUDIO_ADD_BEHIND;
      place->serial = scene->item[current].serial;
    }
  else if (link != STUDIO_NO_ITEM)
    {
      place->kind = STUDIO_ADD_ON_WIRE;
      place->serial = scene->link[link].serial;
      studio_route_at (&studio_scene_routes (scene)[link], 0.5, &place->x, &place->y);
    }
}

/* "Add after “fc”". */
static char *
title_of (StudioCanvas *canvas, const StudioAddPlace *place)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  guint item = studio_scene_find (scene, place->serial), link;

  switch (place->kind)
    {
    case STUDIO_ADD_AT:
      break;
    case STUDIO_ADD_BEHIND:
      return item != STUDIO_NO_ITEM ? g_strdup_printf (_ ("Add after “%s”"), scene->item[item].id) : NULL;
    case STUDIO_ADD_LOOSE:
      return item != STUDIO_NO_ITEM ? g_strdup_printf (
                 place->from_output ? _ ("Readers of “%s”") : _ ("Inputs of “%s”"), scene->item[item].id)
                                    : NULL;
    case STUDIO_ADD_ON_WIRE:
      link = studio_scene_find_link (scene, place->serial);
      return link != STUDIO_NO_ITEM
                 ? g_strdup_printf (_ ("Insert between “%s” and “%s”"), scene->item[scene->link[link].from].id,
                                    scene->item[scene->link[link].to].id)
                 : NULL;
    }
  return NULL;
}

/* ---- the first value ---------------------------------------------------------- */

/* The search for what comes after the card that was added last, with the words that are typed already. */
static void
go_on_after (StudioChooser *chooser, QuickAdd *self, const char *text)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  guint64 made = self->made;
  double x = canvas->view.width / 2, y = canvas->view.height / 2;

  self->made = 0;
  self->place = (StudioAddPlace){ .kind = STUDIO_ADD_BEHIND, .serial = made };
  below_card (canvas, made, &x, &y);
  begin_search (chooser, self, text, x, y);
}

static void
finish (StudioChooser *chooser, QuickAdd *self, gboolean go_on)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  guint64 made = self->made;

  if (go_on)
    {
      go_on_after (chooser, self, "");
      return;
    }
  self->made = 0;
  studio_chooser_close (chooser);
  studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), made), TRUE);
}

/* "out_features" as people say it. */
static char *
param_title (const char *name)
{
  char *title = g_strdelimit (g_strdup (name), "_", ' ');

  title[0] = g_ascii_toupper (title[0]);
  return title;
}

/* In a field for a number a letter begins the next layer; the value stays as it is. */
static gboolean
typed_cb (StudioChooser *chooser, const char *text, gpointer data)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  QuickAdd *self = data;
  g_autofree char *begun = NULL;

  if (!studio_typed_layer_begins_name (self->param, text))
    return FALSE;
  begun = g_strdup (text);
  studio_document_fold (canvas->document, self->steps);
  go_on_after (chooser, self, begun);
  return TRUE;
}

static void
ask_value (StudioChooser *chooser, QuickAdd *self)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  StudioScene *scene = studio_canvas_scene (canvas);
  guint item = studio_scene_find (scene, self->made);
  g_autofree char *title = NULL, *hint = param_title (self->param->name);
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (canvas->document), self->made);
  const char *set = node != NULL ? loom_element_get (node, self->param->name) : NULL;
  const char *now = set != NULL ? set : self->param->fresh != NULL ? self->param->fresh : "";
  double x = canvas->view.width / 2, y = canvas->view.height / 2;

  title = g_strdup_printf (_ ("%s of “%s”"), hint, item != STUDIO_NO_ITEM ? scene->item[item].id : "");
  studio_chooser_begin (chooser, title, hint,
                        studio_typed_layer_begins_name (self->param, "a")
                            ? _ ("Enter: done · Ctrl+Enter, or a layer’s name: add another after it")
                            : _ ("Enter: done · Ctrl+Enter: add another after it"));
  below_card (canvas, self->made, &x, &y);
  if (self->param->choices == NULL)
    {
      studio_chooser_set_free (chooser, self->param->doc);
      studio_chooser_set_typed (chooser, typed_cb);
      studio_chooser_show (chooser, now, TRUE, x, y);
      return;
    }
  for (const char *const *c = self->param->choices; *c != NULL; c++)
    {
      const LoomOp *op = item != STUDIO_NO_ITEM ? scene->item[item].op : NULL;
      const LoomOpVariant *variant = op != NULL && self->param == op->params ? loom_op_variant (op, *c) : NULL;
      StudioChoice *choice = studio_chooser_add (
          chooser, NULL, variant != NULL ? variant->title : *c, g_strcmp0 (*c, set) == 0 ? "Now" : "",
          studio_search_key_new_text (*c, variant != NULL ? variant->title : *c, variant != NULL ? variant->doc : ""));

      choice->name = g_strdup (*c);
      /* Enter leaves the value that is set already. */
      if (strcmp (*c, now) == 0)
        choice->order = 0;
      else
        choice->order++;
    }
  studio_chooser_show (chooser, "", FALSE, x, y);
}

static void
chose_value (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, QuickAdd *self)
{
  StudioDocument *document = studio_canvas_get_document (studio_chooser_get_canvas (chooser));
  const char *value = choice != NULL ? choice->name : text;
  g_autofree char *wrong = choice == NULL && text[0] != '\0' ? studio_param_check (self->param, text) : NULL;

  if (wrong != NULL)
    {
      /* Enter may have been meant for the next layer's name, but not Ctrl+Enter. */
      g_autofree char *why
          = go_on ? NULL
                  : g_strdup_printf (_ ("%s Press Ctrl+Enter after entering this value to add the next layer."), wrong);

      studio_chooser_refuse (chooser, why != NULL ? why : wrong);
      return;
    }
  if (value[0] != '\0')
    studio_document_set_attribute (document, self->made, self->param->name, value);
  /* To the one who types, layer and value are one thing. */
  studio_document_fold (document, self->steps);
  finish (chooser, self, go_on);
}

/* ---- layers -------------------------------------------------------------------- */

static gboolean
has_parameter (char *const *parameters, const char *name)
{
  for (guint i = 0; parameters != NULL && parameters[i] != NULL; i += 2)
    if (strcmp (parameters[i], name) == 0)
      return TRUE;
  return FALSE;
}

static void
add_layer (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, QuickAdd *self)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  const LoomOp *op = choice->is_module ? NULL : loom_op (choice->name);
  g_autofree char *words = NULL, *values = NULL, *said = NULL, *wrong = NULL;
  g_auto (GStrv) parameters = NULL;

  words = studio_typed_layer_split (text, &values);
  if (op != NULL && values != NULL)
    parameters = studio_typed_layer_parse (op, values, &wrong);
  if (wrong != NULL)
    {
      studio_chooser_refuse (chooser, wrong);
      return;
    }
  self->steps = studio_document_n_steps (canvas->document);
  self->param = op != NULL ? studio_fit_first_param (op) : NULL;
  self->place.branch = studio_chooser_is_shifted (chooser);
  self->made = studio_document_add (canvas->document, choice->name, choice->is_module, (const char *const *)parameters,
                                    &self->place, &said);
  if (said != NULL)
    studio_canvas_say (canvas, said);
  if (self->made == 0)
    studio_chooser_close (chooser);
  else if (self->param != NULL && !has_parameter (parameters, self->param->name))
    ask_value (chooser, self);
  else
    finish (chooser, self, go_on);
}

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  QuickAdd *self = data;
  double x = self->place.x, y = self->place.y;

  if (self->made != 0)
    chose_value (chooser, choice, text, go_on, self);
  else if (choice != NULL && !choice->is_note && !choice->is_frame)
    add_layer (chooser, choice, text, go_on, self);
  else if (choice != NULL)
    {
      gboolean is_note = choice->is_note;

      studio_chooser_close (chooser);
      if (is_note)
        studio_canvas_add_note (canvas, x, y);
      else
        studio_canvas_add_frame (canvas);
    }
}

/* name: by which studio_document_add() knows it. */
static void
add_module_row (StudioChooser *chooser, const char *name, const char *title, const char *side, gboolean is_second,
                StudioSearchKey *key)
{
  StudioChoice *choice
      = studio_chooser_add (chooser, "view-grid-symbolic", title, is_second ? _ ("new, connected") : side, key);

  choice->is_second = is_second;
  choice->fit = STUDIO_FIT_UNKNOWN;
  choice->name = g_strdup (name);
  choice->is_module = TRUE;
}

static void
add_library_rows (StudioChooser *chooser, gboolean is_second)
{
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);

  for (guint i = 0; i < entries->len; i++)
    {
      const StudioLibraryEntry *entry = entries->pdata[i];

      add_module_row (chooser, entry->reference, entry->title, entry->is_own ? _ ("Your library") : _ ("Library"),
                      is_second, studio_search_key_new_text (entry->name, entry->title, entry->doc));
    }
}

void
studio_quick_add_layers (StudioChooser *chooser, const StudioAddPlace *place, gboolean is_second)
{
  StudioDocument *document = studio_chooser_get_canvas (chooser)->document;
  LoomElement *root = loom_graph_root (studio_document_get_graph (document));

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      StudioFit fit = studio_document_fit (document, *op, place);
      StudioChoice *choice;

      if ((*op)->category == LOOM_CATEGORY_HIDDEN && studio_document_scope_depth (document) == 0)
        continue;
      /* A wire in the hand is to end somewhere; after a card other things may be begun too. */
      if (place->kind == STUDIO_ADD_LOOSE && fit == STUDIO_FIT_NOT)
        continue;
      choice = studio_chooser_add (chooser, (*op)->icon, (*op)->title,
                                   is_second               ? _ ("new, connected")
                                   : fit == STUDIO_FIT_NOT ? _ ("would not be connected")
                                                           : _ (loom_category_title ((*op)->category)),
                                   studio_search_key_new (*op));
      /* After a card there are data already. */
      if ((*op)->category == LOOM_CATEGORY_DATA && place->kind != STUDIO_ADD_AT)
        choice->order += G_MAXUINT16;
      choice->is_second = is_second;
      choice->fit = fit;
      choice->name = g_strdup ((*op)->name);
    }
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE && loom_element_get (e, "name") != NULL)
        {
          const char *name = loom_element_get (e, "name");

          add_module_row (chooser, name, name, _ ("Module"), is_second,
                          studio_search_key_new_text (name, name, "module"));
        }
    }
  add_library_rows (chooser, is_second);
}

/* Whether the card that is added to feeds others already. */
static gboolean
is_read (StudioCanvas *canvas, const StudioAddPlace *place)
{
  const StudioScene *scene = studio_canvas_scene (canvas);
  guint item = place->kind == STUDIO_ADD_BEHIND ? studio_scene_find (scene, place->serial) : STUDIO_NO_ITEM;

  for (guint o = 0; item != STUDIO_NO_ITEM && o < scene->item[item].n_outputs; o++)
    if (scene->item[item].output[o].n_links > 0)
      return TRUE;
  return FALSE;
}

static void
begin_search (StudioChooser *chooser, QuickAdd *self, const char *text, double x, double y)
{
  g_autofree char *title = title_of (studio_chooser_get_canvas (chooser), &self->place);

  studio_chooser_begin (chooser, title, _ ("Add a layer"),
                        is_read (studio_chooser_get_canvas (chooser), &self->place)
                            ? _ ("Enter: insert · Shift+Enter: branch · Ctrl+Enter: insert, and another after it")
                            : _ ("Enter: add · Ctrl+Enter: add, and another after it"));
  studio_quick_add_layers (chooser, &self->place, FALSE);
  if (self->place.kind == STUDIO_ADD_AT || self->place.kind == STUDIO_ADD_BEHIND)
    {
      studio_chooser_add (chooser, "document-edit-symbolic", _ ("Note"), _ ("Next to the layers"),
                          studio_search_key_new_text ("note", "Note", "comment text"))
          ->is_note
          = TRUE;
      studio_chooser_add (chooser, "view-fullscreen-symbolic", _ ("Frame"), _ ("Around the selection"),
                          studio_search_key_new_text ("frame", "Frame", "group box"))
          ->is_frame
          = TRUE;
    }
  studio_chooser_show (chooser, text, FALSE, x, y);
}

void
studio_quick_add_popup (StudioCanvas *canvas, const char *text, double at_x, double at_y, const StudioLoose *loose)
{
  QuickAdd *self = g_new0 (QuickAdd, 1);
  gboolean down = studio_canvas_scene (canvas)->flow == STUDIO_FLOW_DOWN;
  int ahead = loose != NULL && loose->from_output ? 1 : -1;
  double x, y;

  studio_view_to_canvas (&canvas->view, at_x, at_y, &x, &y);
  if (loose != NULL)
    self->place = (StudioAddPlace){ .kind = STUDIO_ADD_LOOSE,
                                    .x = x + (down ? 0 : ahead * STUDIO_CARD_WIDTH / 2),
                                    .y = y + (down ? ahead * STUDIO_CARD_HEIGHT / 2 : 0),
                                    .serial = loose->serial,
                                    .from_output = loose->from_output,
                                    .port = loose->port };
  else
    studio_canvas_add_place (canvas, x, y, &self->place);
  if (self->place.kind == STUDIO_ADD_BEHIND)
    below_card (canvas, self->place.serial, &at_x, &at_y);
  begin_search (studio_chooser_new (canvas, chose_cb, self, g_free), self, text, at_x, at_y);
}

gboolean
studio_quick_add_ask (StudioCanvas *canvas, guint64 serial, const char *param)
{
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (canvas->document), serial);
  const LoomOp *op = loom_op_of (node);
  QuickAdd *self;

  for (const LoomParamSpec *p = op != NULL ? loom_op_params (op, node) : NULL; p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, param) == 0)
      {
        self = g_new0 (QuickAdd, 1);
        self->made = serial;
        self->param = p;
        self->steps = studio_document_n_steps (canvas->document);
        ask_value (studio_chooser_new (canvas, chose_cb, self, g_free), self);
        return TRUE;
      }
  return FALSE;
}
