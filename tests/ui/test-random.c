/* Random edits of every kind that the document has, undone to the start byte for byte; the scene on the way is that of
 * a document that was just opened. No display. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "tests/ui/scene-same.h"
#include "ui/canvas/studio-node-words.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/document/studio-document-history.h"
#include "ui/present/studio-slides.h"

#define N_EDITS 10000
#define ROUND   200 /* edits until all is undone: a graph that only grows would be another test */
#define MOST    24  /* nodes, frames and notes of a scope: more say nothing new, and take longer */

typedef struct
{
  StudioDocument *document;
  StudioSlides *slides;
  GRand *rand;
} Hand;

static guint
below (Hand *h, guint n)
{
  return (guint)g_rand_int_range (h->rand, 0, (gint32)n);
}

static double
somewhere (Hand *h)
{
  return g_rand_int_range (h->rand, -500, 500);
}

static gboolean
has_room (Hand *h)
{
  return studio_document_get_scene (h->document)->n_items < MOST;
}

/* 0: the scope is empty. */
static guint64
some_item (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  return scene->n_items > 0 ? scene->item[below (h, scene->n_items)].serial : 0;
}

static guint64
some_wire (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  return scene->n_links > 0 ? scene->link[below (h, scene->n_links)].serial : 0;
}

static guint64
some_annotation (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  return scene->n_annotations > 0 ? scene->annotation[below (h, scene->n_annotations)].serial : 0;
}

static void
select_some (Hand *h, guint most)
{
  const guint n = 1 + below (h, most);
  studio_document_select_only (h->document, 0);
  for (guint i = 0; i < n; i++)
    {
      const guint64 serial = below (h, 6) == 0 ? some_annotation (h) : some_item (h);
      if (serial != 0)
        studio_document_set_selected (h->document, serial, TRUE);
    }
}

/* ---- layers and wires ----------------------------------------------------------------------- */

static const char *const ops[] = { "linear", "relu", "add", "concat", "flatten", "input" };

static void
add_node (Hand *h)
{
  if (has_room (h))
    studio_document_add_node (h->document, ops[below (h, G_N_ELEMENTS (ops))], somewhere (h), somewhere (h));
}

static void
add_after (Hand *h)
{
  const StudioAddPlace place = { .kind = STUDIO_ADD_AFTER, .serial = some_item (h) };
  g_autofree char *said = NULL;
  if (has_room (h) && place.serial != 0)
    studio_document_add (h->document, ops[below (h, G_N_ELEMENTS (ops))], FALSE, NULL, &place, &said);
}

static void
insert_in_wire (Hand *h)
{
  const guint64 node = some_item (h), wire = some_wire (h);
  if (node != 0 && wire != 0 && studio_document_can_insert (h->document, node, wire))
    studio_document_insert_in_wire (h->document, node, wire, 12, -24);
}

static void
connect (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  const guint a = studio_scene_find (scene, some_item (h)), b = studio_scene_find (scene, some_item (h));
  if (a == STUDIO_NO_ITEM || scene->item[a].n_outputs == 0 || scene->item[b].n_inputs == 0)
    return;
  studio_document_connect (h->document, scene->item[a].serial, scene->item[a].output[0].name, scene->item[b].serial,
                           scene->item[b].input[below (h, scene->item[b].n_inputs)].name, NULL);
}

static void
cut_wire (Hand *h)
{
  const guint64 wire = some_wire (h);
  if (wire != 0)
    studio_document_cut_wires (h->document, &wire, 1);
}

static void
move_wires (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  const guint a = studio_scene_find (scene, some_item (h)), b = studio_scene_find (scene, some_item (h));
  if (a == STUDIO_NO_ITEM || scene->item[a].n_outputs == 0 || scene->item[b].n_outputs == 0)
    return;
  studio_document_move_wires (h->document, scene->item[a].serial, scene->item[a].output[0].name, scene->item[b].serial,
                              scene->item[b].output[0].name, NULL);
}

static void
dissolve (Hand *h)
{
  select_some (h, 3);
  studio_document_dissolve_selection (h->document);
}

static void
mute (Hand *h)
{
  select_some (h, 3);
  studio_document_mute_selection (h->document);
}

static void
swap (Hand *h)
{
  static const char *const others[] = { "tanh", "gelu", "linear", "add", "concat", "layer_norm", "dropout" };
  const char *op = others[below (h, G_N_ELEMENTS (others))];
  const guint64 serial = some_item (h);
  if (serial != 0 && studio_document_can_swap (h->document, serial, loom_op (op)))
    studio_document_swap (h->document, serial, op);
}

static void
rename_node (Hand *h)
{
  g_autofree char *id = g_strdup_printf ("n%u", below (h, 1000));
  const guint64 serial = some_item (h);
  if (serial != 0)
    studio_document_rename (h->document, serial, id, NULL);
}

static void
duplicate (Hand *h)
{
  select_some (h, 3);
  if (has_room (h))
    studio_document_duplicate (h->document);
}

static void
paste (Hand *h)
{
  select_some (h, 3);
  g_autofree char *text = studio_clipboard_copy (h->document);
  if (text != NULL && has_room (h))
    studio_clipboard_paste (h->document, text, somewhere (h), somewhere (h), NULL);
}

static void delete (Hand *h)
{
  select_some (h, 2);
  studio_document_delete_selection (h->document);
}

static void
quick_fix (Hand *h)
{
  const guint64 serial = some_item (h);
  if (serial != 0)
    studio_document_apply_fix (h->document, serial);
}

/* ---- modules -------------------------------------------------------------------------------- */

static void
group (Hand *h)
{
  select_some (h, 4);
  studio_document_group_selection (h->document, NULL, NULL);
}

static void
ungroup (Hand *h)
{
  studio_document_select_all (h->document);
  studio_document_ungroup_selection (h->document, NULL);
}

static void
walk_scopes (Hand *h)
{
  const guint64 serial = some_item (h);
  if (studio_document_scope_depth (h->document) > 0 && below (h, 2) == 0)
    studio_document_leave (h->document);
  else if (serial != 0)
    studio_document_enter (h->document, serial);
}

/* Of a second instance of the module that some card is one of. */
static void
make_unique (Hand *h)
{
  const guint64 serial = some_item (h);
  if (serial == 0 || !has_room (h))
    return;
  studio_document_select_only (h->document, serial);
  studio_document_duplicate (h->document);
  if (studio_document_enter (h->document, serial))
    studio_document_make_unique (h->document);
}

/* ---- values --------------------------------------------------------------------------------- */

static void
set_value (Hand *h)
{
  g_autofree char *value = g_strdup_printf ("%u", 1 + below (h, 8));
  const guint64 serial = some_item (h);
  if (serial != 0)
    studio_document_set_attribute (h->document, serial, below (h, 4) == 0 ? "repeat" : "out_features", value);
}

static void
set_formula (Hand *h)
{
  static const char *const formulas[] = { "{2 * 8}", "{width * 2}", "{max(3, 7) // 2}", "{width + 1}", NULL };
  const guint64 serial = some_item (h);
  if (serial != 0)
    studio_document_set_attribute (h->document, serial, "out_features", formulas[below (h, G_N_ELEMENTS (formulas))]);
}

/* A field of several selected layers. */
static void
set_several (Hand *h)
{
  const guint64 serials[] = { some_item (h), some_item (h) };
  if (serials[0] != 0 && serials[0] != serials[1])
    studio_document_set_attributes (h->document, serials, 2, "title", below (h, 2) == 0 ? "A title" : NULL);
}

static void
set_training (Hand *h)
{
  g_autofree char *value = g_strdup_printf ("0.%u", 1 + below (h, 9));
  studio_document_begin (h->document, "Set lr");
  LoomElement *train = studio_document_ensure (h->document, LOOM_TAG_TRAIN);
  studio_document_edit (h->document, loom_edit_set (train, below (h, 2) == 0 ? "lr" : "momentum", value));
  studio_document_end (h->document);
}

static void
put (Hand *h, LoomElement *e, const char *name, const char *value)
{
  studio_document_begin (h->document, "Set");
  studio_document_edit (h->document, loom_edit_set (e, name, value));
  studio_document_end (h->document);
}

/* What a node or the whole graph says of where and how nodes are computed. */
static void
place_nodes (Hand *h)
{
  static const char *const values[][2]
      = { { "device", "cpu:1" }, { "device", NULL }, { "stage", "1" },     { "stage", NULL },
          { "split", "column" }, { "split", NULL },  { "frozen", "true" }, { "frozen", NULL } };
  const guint i = below (h, G_N_ELEMENTS (values));
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (h->document), some_item (h));
  if (node != NULL && loom_element_tag (node) == LOOM_TAG_NODE)
    put (h, node, values[i][0], values[i][1]);
}

static void
set_batch (Hand *h)
{
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (h->document)), LOOM_TAG_TRAIN);
  if (train != NULL)
    put (h, train, below (h, 3) == 0 ? "device" : "batch_size", below (h, 2) == 0 ? NULL : "7");
}

/* A layer that reads another's weight. */
static void
tie (Hand *h)
{
  const LoomElement *scope = studio_document_get_scope (h->document);
  const LoomElement *a = loom_graph_by_serial (studio_document_get_graph (h->document), some_item (h));
  const LoomElement *b = loom_graph_by_serial (studio_document_get_graph (h->document), some_item (h));
  if (a == NULL || b == NULL || loom_element_tag (a) != LOOM_TAG_NODE || loom_element_tag (b) != LOOM_TAG_NODE)
    return;
  g_autofree char *from = g_strdup_printf ("%s.weight", loom_element_get (a, "id"));
  g_autofree char *to = g_strdup_printf ("%s.weight", loom_element_get (b, "id"));
  studio_document_begin (h->document, "Tie");
  studio_document_edit (h->document, loom_edit_insert ((LoomElement *)scope, loom_element_n_children (scope),
                                                       loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL)));
  studio_document_end (h->document);
}

/* ---- positions ------------------------------------------------------------------------------ */

static void
move (Hand *h)
{
  const guint64 serial = below (h, 3) == 0 ? some_annotation (h) : some_item (h);
  if (serial != 0)
    studio_document_move (h->document, &serial, 1, somewhere (h), somewhere (h));
}

static void
align (Hand *h)
{
  select_some (h, 4);
  studio_document_align (h->document, (StudioAlign)below (h, STUDIO_DISTRIBUTE_VERTICALLY + 1));
}

static void
arrange (Hand *h)
{
  static const StudioLayoutDirection directions[] = { STUDIO_LAYOUT_KEEP, STUDIO_LAYOUT_RIGHT, STUDIO_LAYOUT_DOWN };
  studio_document_arrange (h->document, 900, 600, directions[below (h, G_N_ELEMENTS (directions))]);
}

static void
fold (Hand *h)
{
  select_some (h, 3);
  studio_document_fold_selection (h->document);
}

static void
add_frame (Hand *h)
{
  if (studio_document_get_scene (h->document)->n_annotations >= MOST)
    return;
  select_some (h, 3);
  studio_document_add_frame (h->document, "Encoder", somewhere (h), somewhere (h));
}

static void
add_note (Hand *h)
{
  if (studio_document_get_scene (h->document)->n_annotations < MOST)
    studio_document_add_note (h->document, "Look & *see* <here>", somewhere (h), somewhere (h));
}

static void
write_annotation (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  const guint i = studio_scene_find_annotation (scene, some_annotation (h));
  if (i != STUDIO_NO_ITEM)
    studio_document_set_attribute (h->document, scene->annotation[i].serial,
                                   scene->annotation[i].is_note ? "text" : "title", below (h, 2) == 0 ? "a" : "b\nc");
}

static void
delete_annotation (Hand *h)
{
  const guint64 serial = some_annotation (h);
  studio_document_select_only (h->document, serial);
  if (serial != 0)
    studio_document_delete_selection (h->document);
}

static void
add_point (Hand *h)
{
  const guint64 wire = some_wire (h);
  if (wire != 0)
    studio_document_add_point (h->document, wire, somewhere (h), somewhere (h));
}

static void
change_points (Hand *h)
{
  StudioScene *scene = studio_document_get_scene (h->document);
  guint l = 0;
  while (l < scene->n_links && scene->link[l].n_points == 0)
    l++;
  if (l == scene->n_links)
    return;
  const guint64 wire = scene->link[l].serial;
  const guint at = below (h, scene->link[l].n_points), what = below (h, 3);
  if (what == 0)
    studio_document_move_point (h->document, wire, at, somewhere (h), somewhere (h));
  else if (what == 1)
    studio_document_remove_point (h->document, wire, at);
  else
    studio_document_remove_points (h->document, wire);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* As "Watch" does, with space for the pin. */
static void
pin (Hand *h)
{
  const guint64 serial = some_item (h);
  g_autofree char *path = serial != 0 ? studio_document_dup_node_path (h->document, serial) : NULL;
  if (path == NULL)
    return;
  studio_document_begin (h->document, "Watch");
  studio_document_make_space_for_pin (h->document, path, 240, 0, 150);
  LoomElement *view = studio_document_ensure (h->document, LOOM_TAG_VIEW);
  LoomElement *element = loom_element_new (LOOM_TAG_PIN, "tensor", path, "kind", "heat", "width", "240", NULL);
  studio_document_edit (h->document, loom_edit_insert (view, loom_element_n_children (view), element));
  studio_document_end (h->document);
}

static void
add_slide (Hand *h)
{
  LoomSlide slide = { .title = (char *)"A view",
                      .text = (char *)"It *shows*\n\n- this",
                      .scope = (char *)"",
                      .x = 1.5,
                      .y = -20,
                      .width = 300,
                      .height = 200,
                      .whole = below (h, 2) == 0 };
  if (studio_slides_n (h->slides) < 8)
    studio_slides_add (h->slides, &slide);
}

static void
change_slide (Hand *h)
{
  static const char *const texts[] = { "", "A note", "Two\n\nparagraphs" };
  const guint n = studio_slides_n (h->slides);
  const char *text = texts[below (h, G_N_ELEMENTS (texts))];
  const guint i = n > 0 ? below (h, n) : 0, what = below (h, 4);
  if (n == 0)
    return;
  if (what == 0)
    studio_slides_remove (h->slides, i);
  else if (what == 1)
    studio_slides_move (h->slides, i, below (h, n));
  else if (what == 2)
    studio_slides_set (h->slides, i, below (h, 2) == 0 ? "title" : "spotlight", below (h, 3) == 0 ? NULL : "fc");
  else
    studio_slides_set_text (h->slides, i, text);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Back, and mostly there again: what is done next would end what was undone. */
static void
go_back (Hand *h)
{
  const guint at = studio_document_history_position (h->document);
  if (at == 0)
    return;
  studio_document_jump (h->document, below (h, at));
  if (below (h, 4) != 0)
    studio_document_jump (h->document, at);
}

static const struct
{
  const char *name;
  void (*edit) (Hand *h);
  guint often;
} edits[] = {
  { "add", add_node, 4 },
  { "add after", add_after, 3 },
  { "insert in a wire", insert_in_wire, 2 },
  { "connect", connect, 4 },
  { "cut", cut_wire, 1 },
  { "move wires", move_wires, 1 },
  { "dissolve", dissolve, 1 },
  { "mute", mute, 1 },
  { "swap", swap, 1 },
  { "rename", rename_node, 1 },
  { "duplicate", duplicate, 1 },
  { "paste", paste, 1 },
  { "delete", delete, 1 },
  { "quick_fix", quick_fix, 1 },
  { "group", group, 2 },
  { "ungroup", ungroup, 1 },
  { "walk", walk_scopes, 1 },
  { "make unique", make_unique, 2 },
  { "value", set_value, 2 },
  { "formula", set_formula, 1 },
  { "several", set_several, 1 },
  { "training", set_training, 1 },
  { "place nodes", place_nodes, 2 },
  { "batch", set_batch, 1 },
  { "tie", tie, 1 },
  { "move", move, 1 },
  { "align", align, 1 },
  { "arrange", arrange, 1 },
  { "fold", fold, 1 },
  { "frame", add_frame, 1 },
  { "note", add_note, 1 },
  { "write", write_annotation, 1 },
  { "delete annotation", delete_annotation, 1 },
  { "add point", add_point, 2 },
  { "points", change_points, 1 },
  { "pin", pin, 1 },
  { "add slide", add_slide, 1 },
  { "slides", change_slide, 1 },
  { "history", go_back, 1 },
};

static guint done[G_N_ELEMENTS (edits)]; /* edits that changed the graph */

static void
random_edit (Hand *h)
{
  guint all = 0, i = 0;
  for (guint e = 0; e < G_N_ELEMENTS (edits); e++)
    all += edits[e].often;
  guint at = below (h, all);
  for (; at >= edits[i].often; i++)
    at -= edits[i].often;
  const guint steps = studio_document_n_steps (h->document);
  const char *before = studio_document_undo_name (h->document);
  edits[i].edit (h);
  if (studio_document_n_steps (h->document) != steps || studio_document_undo_name (h->document) != before)
    done[i]++;
}

/* Wires that lead from or to a node that there is not. */
static guint
count_torn (const LoomElement *scope)
{
  guint torn = 0;

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        torn += count_torn (e);
      if (loom_element_tag (e) != LOOM_TAG_WIRE)
        continue;
      for (guint end = 0; end < 2; end++)
        {
          g_autofree char *id = NULL, *port = NULL;

          torn += !loom_end_split (loom_element_get (e, end == 0 ? "from" : "to"), &id, &port)
                  || loom_scope_find_node (scope, id) == NULL;
        }
    }
  return torn;
}

/* ---- what cards show ------------------------------------------------------------------------ */

/* The cards of a scene that was looked at. */
typedef struct
{
  guint scene;       /* its id; 0: none */
  GHashTable *shown; /* serial → what the card showed and said */
} Shown;

static guint
digest_of (const StudioScene *scene, guint i)
{
  const StudioItem *item = &scene->item[i];
  g_autofree char *words = studio_node_words (scene, i, NULL);
  guint h = studio_node_names_digest (item) * 31 + g_str_hash (words);

  for (guint p = 0; p < item->n_outputs; p++)
    for (guint l = item->output[p].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
      h = h * 31 + (guint)scene->item[scene->link[l].to].serial;
  h = h * 31 + g_str_hash (item->title) + (item->summary != NULL ? g_str_hash (item->summary) : 0);
  h = h * 31 + (item->repeat != NULL ? g_str_hash (item->repeat) : 0) + (guint)(item->cost * 1000) * 8;
  h = h * 31 + (guint)item->width + (guint)item->height * 1000;
  for (guint out = 0; out < 2; out++)
    for (guint p = 0; p < (out ? item->n_outputs : item->n_offered); p++)
      {
        const StudioPort *port = out ? &item->output[p] : &item->input[p];

        h = h * 31 + g_str_hash (port->name) + (port->n_links > 0) * 2 + (guint)port->typed;
        h = port->typed ? h * 31 + (guint)port->type.dtype : h;
      }
  return h;
}

/* A card that is said to be as it was shows and says what it did. */
static void
assert_shown (Shown *self, StudioDocument *document)
{
  const StudioScene *scene = (studio_document_get_net (document), studio_document_get_scene (document));

  for (guint i = 0; i < scene->n_items; i++)
    {
      gpointer key = GSIZE_TO_POINTER (scene->item[i].serial), was;

      if (self->scene != 0 && studio_item_is_as_in (&scene->item[i], self->scene)
          && g_hash_table_lookup_extended (self->shown, key, NULL, &was))
        g_assert_cmpuint (GPOINTER_TO_UINT (was), ==, digest_of (scene, i));
    }
  g_hash_table_remove_all (self->shown);
  for (guint i = 0; i < scene->n_items; i++)
    g_hash_table_insert (self->shown, GSIZE_TO_POINTER (scene->item[i].serial),
                         GUINT_TO_POINTER (digest_of (scene, i)));
  self->scene = scene->id;
}

/* Random edits leave a graph without torn wires, undo to the start byte for byte, and redo to the end. */
static void
test_random (void)
{
  const gint64 start = g_get_monotonic_time ();
  for (guint seed = 1; seed <= N_EDITS / ROUND; seed++)
    {
      g_autoptr (StudioDocument) document = document_load (seed % 2 == 0 ? net : modular);
      g_autoptr (StudioSlides) slides = studio_slides_new (document);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree char *before = document_text (document);
      Hand hand = { document, slides, rand };
      g_autoptr (GHashTable) table = g_hash_table_new (NULL, NULL);
      Shown shown = { .shown = table };
      studio_document_set_trials_unlimited (document, TRUE);
      for (guint i = 0; i < ROUND; i++)
        {
          random_edit (&hand);
          if (below (&hand, 2) == 0)
            assert_shown (&shown, document);
          if (i % 3 == 0)
            assert_scene_is_new (document);
        }
      g_autofree char *edited = document_text (document);
      g_assert_cmpuint (count_torn (loom_graph_root (studio_document_get_graph (document))), ==, 0);
      for (guint i = 0; studio_document_undo (document); i++)
        if (i % 16 == 0)
          assert_scene_is_new (document);
      g_autofree char *undone = document_text (document);
      g_assert_cmpstr (undone, ==, before);
      for (guint i = 0; studio_document_redo (document); i++)
        if (i % 16 == 0)
          assert_scene_is_new (document);
      g_autofree char *redone = document_text (document);
      g_assert_cmpstr (redone, ==, edited);
      g_autoptr (GError) error = NULL;
      g_autoptr (StudioDocument) again = studio_document_new ();
      g_assert_true (studio_document_open_text (again, edited, -1, NULL, &error));
      g_assert_no_error (error);
    }
  g_test_message ("%d edits in %.1f s", N_EDITS, (double)(g_get_monotonic_time () - start) / 1e6);
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      g_test_message ("%-18s %u", edits[i].name, done[i]);
      g_assert_true (done[i] > 0 || edits[i].edit == walk_scopes || edits[i].edit == go_back);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/random/edits", test_random);
  return g_test_run ();
}
