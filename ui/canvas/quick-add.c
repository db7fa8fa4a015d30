#include "ui/canvas/quick-add.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/annotation-edit.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-param-check.h"
#include "ui/document/studio-typed-layer.h"

typedef struct
{
  CanvasBoard *board;
  StudioAddPlace place;
  guint64 made;               /* the card that was added last */
  const LoomParamSpec *param; /* of that card, which is prompted for */
  guint steps;                /* of the document before the card */
} QuickAdd;

static void begin_search (StudioChooser *chooser, QuickAdd *self, const char *text, double x, double y);

/* ---- where ----------------------------------------------------------------- */

/* A point below the card, in pixels: a new card at its right stays visible. */
static void
below_card (CanvasBoard *board, guint64 serial, double *x, double *y)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = studio_scene_find (scene, serial);
  StudioRect rect;

  if (item == STUDIO_NO_ITEM)
    return;
  rect = studio_geometry_extent (&scene->item[item]);
  canvas_view_reveal (board->view, &rect);
  studio_view_to_screen (canvas_board_view (board), scene->item[item].x + scene->item[item].width / 2,
                         rect.y + rect.height, x, y);
}

/* "Add after “fc”". */
static char *
title_of (CanvasBoard *board, const StudioAddPlace *place)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = studio_scene_find (scene, place->serial), link;

  switch (place->kind)
    {
    case STUDIO_ADD_AT:
      break;
    case STUDIO_ADD_AFTER:
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
  CanvasBoard *board = self->board;
  guint64 made = self->made;
  double x = canvas_board_view (board)->width / 2, y = canvas_board_view (board)->height / 2;

  self->made = 0;
  self->place = (StudioAddPlace){ .kind = STUDIO_ADD_AFTER, .serial = made };
  below_card (board, made, &x, &y);
  begin_search (chooser, self, text, x, y);
}

static void
finish (StudioChooser *chooser, QuickAdd *self, gboolean go_on)
{
  CanvasBoard *board = self->board;
  guint64 made = self->made;

  if (go_on)
    {
      go_on_after (chooser, self, "");
      return;
    }
  self->made = 0;
  studio_chooser_close (chooser);
  canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), made), TRUE);
}

/* "out_features" → "Out features". */
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
  QuickAdd *self = data;
  g_autofree char *begun = NULL;

  if (!studio_typed_layer_begins_name (self->param, text))
    return FALSE;
  begun = g_strdup (text);
  studio_document_fold (self->board->document, self->steps);
  go_on_after (chooser, self, begun);
  return TRUE;
}

static void
prompt_for_value (StudioChooser *chooser, QuickAdd *self)
{
  CanvasBoard *board = self->board;
  StudioScene *scene = canvas_board_scene (board);
  guint item = studio_scene_find (scene, self->made);
  g_autofree char *title = NULL, *hint = param_title (self->param->name);
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (board->document), self->made);
  const char *set = node != NULL ? loom_element_get (node, self->param->name) : NULL;
  const char *now = set != NULL ? set : self->param->fresh != NULL ? self->param->fresh : "";
  double x = canvas_board_view (board)->width / 2, y = canvas_board_view (board)->height / 2;

  title = g_strdup_printf (_ ("%s of “%s”"), hint, item != STUDIO_NO_ITEM ? scene->item[item].id : "");
  studio_chooser_begin (chooser, title, hint,
                        studio_typed_layer_begins_name (self->param, "a")
                            ? _ ("Enter: done · Ctrl+Enter, or a layer’s name: add another after it")
                            : _ ("Enter: done · Ctrl+Enter: add another after it"));
  below_card (board, self->made, &x, &y);
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
      /* Enter keeps the present value. */
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
  StudioDocument *document = self->board->document;
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
  /* For the user, layer and value are one step. */
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
  CanvasBoard *board = self->board;
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
  self->steps = studio_document_n_steps (board->document);
  self->param = op != NULL ? loom_fit_first_param (op) : NULL;
  self->place.branch = studio_chooser_is_shifted (chooser);
  self->made = studio_document_add (board->document, choice->name, choice->is_module, (const char *const *)parameters,
                                    &self->place, &said);
  if (said != NULL)
    canvas_board_say (board, said);
  if (self->made == 0)
    studio_chooser_close (chooser);
  else if (self->param != NULL && !has_parameter (parameters, self->param->name))
    prompt_for_value (chooser, self);
  else
    finish (chooser, self, go_on);
}

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  QuickAdd *self = data;
  CanvasBoard *board = self->board;
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
        annotation_edit_add_note (board, x, y);
      else
        annotation_edit_add_frame (board);
    }
}

/* name: as studio_document_add() takes it. */
static void
add_module_row (StudioChooser *chooser, const char *name, const char *title, const char *side, gboolean is_second,
                StudioSearchKey *key)
{
  StudioChoice *choice
      = studio_chooser_add (chooser, "view-grid-symbolic", title, is_second ? _ ("new, connected") : side, key);

  choice->is_second = is_second;
  choice->fit = LOOM_FIT_UNKNOWN;
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
quick_add_list (StudioChooser *chooser, StudioDocument *document, const StudioAddPlace *place, gboolean is_second)
{
  LoomElement *root = loom_graph_root (studio_document_get_graph (document));

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      LoomFit fit = studio_document_fit (document, *op, place);
      StudioChoice *choice;

      if ((*op)->category == LOOM_CATEGORY_HIDDEN && studio_document_scope_depth (document) == 0)
        continue;
      /* A loose wire needs an end; after a card, something unconnected may also be started. */
      if (place->kind == STUDIO_ADD_LOOSE && fit == LOOM_FIT_NOT)
        continue;
      choice = studio_chooser_add (chooser, (*op)->icon, (*op)->title,
                                   is_second             ? _ ("new, connected")
                                   : fit == LOOM_FIT_NOT ? _ ("would not be connected")
                                                         : _ (loom_category_title ((*op)->category)),
                                   studio_search_key_new (*op));
      /* After a card the graph has data already. */
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

/* Whether the card before the new one has readers. */
static gboolean
is_read (CanvasBoard *board, const StudioAddPlace *place)
{
  const StudioScene *scene = canvas_board_scene (board);
  guint item = place->kind == STUDIO_ADD_AFTER ? studio_scene_find (scene, place->serial) : STUDIO_NO_ITEM;

  for (guint o = 0; item != STUDIO_NO_ITEM && o < scene->item[item].n_outputs; o++)
    if (scene->item[item].output[o].n_links > 0)
      return TRUE;
  return FALSE;
}

static void
begin_search (StudioChooser *chooser, QuickAdd *self, const char *text, double x, double y)
{
  g_autofree char *title = title_of (self->board, &self->place);

  studio_chooser_begin (chooser, title, _ ("Add a layer"),
                        is_read (self->board, &self->place)
                            ? _ ("Enter: insert · Shift+Enter: branch · Ctrl+Enter: insert, and another after it")
                            : _ ("Enter: add · Ctrl+Enter: add, and another after it"));
  quick_add_list (chooser, self->board->document, &self->place, FALSE);
  if (self->place.kind == STUDIO_ADD_AT || self->place.kind == STUDIO_ADD_AFTER)
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
quick_add_open (CanvasBoard *board, const char *text, double at_x, double at_y, const StudioLoose *loose)
{
  QuickAdd *self = g_new0 (QuickAdd, 1);
  gboolean down = canvas_board_scene (board)->flow == STUDIO_FLOW_DOWN;
  int ahead = loose != NULL && loose->from_output ? 1 : -1;
  double x, y;

  self->board = board;
  studio_view_to_canvas (canvas_board_view (board), at_x, at_y, &x, &y);
  if (loose != NULL)
    self->place = (StudioAddPlace){ .kind = STUDIO_ADD_LOOSE,
                                    .x = x + (down ? 0 : ahead * STUDIO_CARD_WIDTH / 2),
                                    .y = y + (down ? ahead * STUDIO_CARD_HEIGHT / 2 : 0),
                                    .serial = loose->serial,
                                    .from_output = loose->from_output,
                                    .port = loose->port };
  else
    canvas_board_add_place (board, x, y, &self->place);
  if (self->place.kind == STUDIO_ADD_AFTER)
    below_card (board, self->place.serial, &at_x, &at_y);
  begin_search (studio_chooser_new (board->popover, chose_cb, self, g_free), self, text, at_x, at_y);
}

gboolean
quick_add_prompt (CanvasBoard *board, guint64 serial, const char *param)
{
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (board->document), serial);
  const LoomOp *op = loom_op_of (node);
  QuickAdd *self;

  for (const LoomParamSpec *p = op != NULL ? loom_op_params (op, node) : NULL; p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, param) == 0)
      {
        self = g_new0 (QuickAdd, 1);
        self->board = board;
        self->made = serial;
        self->param = p;
        self->steps = studio_document_n_steps (board->document);
        prompt_for_value (studio_chooser_new (board->popover, chose_cb, self, g_free), self);
        return TRUE;
      }
  return FALSE;
}
