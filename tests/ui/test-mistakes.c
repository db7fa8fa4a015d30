/* Typical mistakes, each in one of the example graphs: which cards are red, which wait, the sentence, and the effect of
 * the button. Only the root of a mistake may be red, and no sentence may cover a card. */
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-quick-fix.h"
#include "ui/scene/studio-geometry.h"

#include <string.h>

typedef struct
{
  const char *name, *file;
  const char *edit[4];             /* what is replaced, by what, twice at most */
  const char *red, *todo, *advice; /* cards, in the order of the file */
  const char *card, *says; /* one of them, and a part of its sentence; NULL: a sentence that belongs to no card */
  const char *button;      /* NULL: nothing is offered */
  gboolean fixes_all;      /* after which nothing is wrong */
} Mistake;

static const Mistake mistakes[] = {
  { "kernel",
    "models/fashion-lenet.xml",
    { "kernel_size=\"3\" padding=\"1\"", "kernel_size=\"40\" padding=\"1\"" },
    "block1",
    "",
    "",
    "block1",
    "conv: A window of 40 × 40 does not fit into B × 1 × 28 × 28",
    "Set kernel_size to 30",
    FALSE /* the second block has a smaller image */ },
  { "flatten",
    "models/fashion-mlp.xml",
    { "<wire from=\"data.x\" to=\"flat\"/>", "<wire from=\"data.x\" to=\"fc1\"/>", "<wire from=\"flat\" to=\"fc1\"/>",
      "" },
    "fc1",
    "flat",
    "",
    "fc1",
    "B × 1 × 28 × 28",
    "Insert flatten",
    FALSE /* the one that was cut loose is still to do */ },
  { "classes",
    "models/fashion-mlp.xml",
    { "id=\"fc3\" op=\"linear\" out_features=\"10\"", "id=\"fc3\" op=\"linear\" out_features=\"5\"" },
    "fc3",
    "",
    "",
    "fc3",
    "10 classes",
    "Set out_features to 10",
    TRUE },
  { "wire",
    "models/fashion-lenet.xml",
    { "  <wire from=\"block2\" to=\"flat\"/>\n", "" },
    "",
    "flat",
    "",
    "flat",
    "not wired",
    "Connect to block2",
    TRUE },
  { "swapped",
    "models/fashion-mlp.xml",
    { "<wire from=\"fc3\" to=\"loss.input\"/>", "<wire from=\"fc3\" to=\"loss.target\"/>",
      "<wire from=\"data.y\" to=\"loss.target\"/>", "<wire from=\"data.y\" to=\"loss.input\"/>" },
    "loss",
    "",
    "",
    "loss",
    "but got integers",
    "Swap the wires",
    TRUE },
  { "dtype",
    "models/fashion-mlp.xml",
    { "id=\"fc1\" op=\"linear\" out_features=\"256\"", "id=\"fc1\" op=\"embedding\" num_embeddings=\"9\" "
                                                       "embedding_dim=\"4\"" },
    "fc1",
    "",
    "",
    "fc1",
    "but got f32",
    "Insert cast",
    FALSE },
  { "data",
    "models/fashion-mlp.xml",
    { "source=\"fashion-mnist\"", "source=\"fashon-mnist\"" },
    "data",
    "",
    "",
    "data",
    "source is “fashon-mnist”",
    "Set source to fashion-mnist",
    TRUE },
  { "no-data",
    "models/fashion-mlp.xml",
    { " source=\"fashion-mnist\"", "" },
    "",
    "data",
    "",
    "data",
    "needs the parameter",
    "Choose data",
    FALSE },
  { "cycle",
    "models/fashion-mlp.xml",
    { "<wire from=\"relu1\" to=\"fc2\"/>", "<wire from=\"relu2\" to=\"fc2\"/>" },
    "fc2",
    "",
    "",
    "fc2",
    "form a cycle",
    "Remove the wire from relu2",
    FALSE },
  { "attribute",
    "models/fashion-mlp.xml",
    { "id=\"fc2\" op=\"linear\" out_features=\"128\"", "id=\"fc2\" op=\"linear\" out_feature=\"128\"" },
    "fc2",
    "",
    "",
    "fc2",
    "no parameter “out_feature”",
    "Rename out_feature to out_features",
    TRUE },
  { "operator",
    "models/fashion-mlp.xml",
    { "id=\"relu1\" op=\"relu\"", "id=\"relu1\" op=\"rellu\"" },
    "relu1",
    "",
    "",
    "relu1",
    "no operator “rellu”",
    "Change to relu",
    TRUE },
  { "argument",
    "models/fashion-lenet.xml",
    { "id=\"block2\" module=\"conv_block\" channels", "id=\"block2\" module=\"conv_block\" chanels" },
    "block2",
    "",
    "",
    "block2",
    "no argument “chanels”",
    "Rename chanels to channels",
    TRUE },
  { "repeat",
    "models/fashion-resnet.xml",
    { "id=\"stage1\" module=\"residual\" channels=\"16\"", "id=\"stage1\" module=\"residual\" channels=\"24\"" },
    "stage1",
    "",
    "",
    "stage1",
    "B × 24 × 14 × 14 and B × 16 × 14 × 14",
    "Open stage1",
    FALSE },
  { "within",
    "models/fashion-lenet.xml",
    { "    <wire from=\"act\" to=\"pool\"/>\n", "" },
    "",
    "block1",
    "",
    "block1",
    "pool: The input “input” is not wired",
    "Open block1",
    FALSE },
  { "expression",
    "models/fashion-lenet.xml",
    { "module=\"conv_block\" channels=\"16\"", "module=\"conv_block\" channels=\"0\"" },
    "block1",
    "",
    "",
    "block1",
    "at least 1",
    "Set channels to 1",
    TRUE },
  { "two",
    "models/fashion-lenet.xml",
    { "module=\"conv_block\" channels=\"16\"", "module=\"conv_block\" channels=\"0\"",
      "id=\"fc1\" op=\"linear\" out_features=\"128\"", "id=\"fc1\" op=\"linear\"" },
    "block1",
    "fc1",
    "",
    "fc1",
    "needs the parameter",
    "Choose out features",
    FALSE },
  { "double",
    "models/fashion-mlp.xml",
    { "<wire from=\"data.x\" to=\"flat\"/>", "<wire from=\"data.x\" to=\"flat\"/><wire from=\"data.y\" to=\"flat\"/>" },
    "flat",
    "",
    "",
    "flat",
    "Two wires end at the same input",
    "Remove the wire from data.y",
    TRUE },
  { "target",
    "lessons/spirals.xml",
    { "  <wire from=\"data.y\" to=\"loss.target\"/>\n", "" },
    "",
    "loss",
    "",
    "loss",
    "“target” is not wired",
    "Connect to data.y",
    TRUE },
  { "weights",
    "models/fashion-mlp.xml",
    { "<train ", "<train weights=\"nowhere.safetensors\" " },
    "",
    "",
    "",
    NULL,
    "The file “nowhere.safetensors”",
    NULL,
    FALSE },
};

static StudioDocument *
load_mistake (const Mistake *m)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", m->file, NULL);
  g_autofree char *folder = g_path_get_dirname (path), *text = NULL;
  g_autoptr (GError) error = NULL;
  StudioDocument *document = studio_document_new ();

  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  for (guint e = 0; e < G_N_ELEMENTS (m->edit) && m->edit[e] != NULL; e += 2)
    {
      g_auto (GStrv) part = g_strsplit (text, m->edit[e], 2);

      g_assert_nonnull (part[1]);
      g_free (text);
      text = g_strconcat (part[0], m->edit[e + 1], part[1], NULL);
    }
  g_assert_true (studio_document_open_text (document, text, -1, folder, &error));
  g_assert_no_error (error);
  studio_document_get_net (document);
  return document;
}

/* Cards of a tone: "block1 fc1". */
static char *
cards_of (const StudioScene *scene, StudioTone tone)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_item_tone (&scene->item[i]) == tone)
      g_string_append_printf (s, "%s%s", s->len > 0 ? " " : "", scene->item[i].id);
  return g_string_free (s, FALSE);
}

/* A card without a type has a reason: a fault of its own, or the card that it waits for. */
static void
check_quiet (const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];

      if (item->n_outputs > 0 && !item->output[0].typed && item->fault == NULL)
        g_assert_nonnull (item->waits_for);
      if (item->fault != NULL)
        g_assert_null (item->waits_for);
    }
}

static void
check_bubbles (const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect bubble = studio_geometry_fault (&scene->item[i]);

      if (bubble.height <= 0)
        continue;
      for (guint k = 0; k < scene->n_items; k++)
        {
          StudioRect card = studio_geometry_card (&scene->item[k]), other = studio_geometry_fault (&scene->item[k]);

          g_assert_false (studio_rect_intersects (&bubble, &card));
          if (k != i && other.height > 0)
            g_assert_false (studio_rect_intersects (&bubble, &other));
        }
    }
}

static gboolean
is_said (StudioDocument *document, const char *words)
{
  LoomFaults *faults = studio_document_get_faults (document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (strstr (loom_faults_get (faults, i)->message, words) != NULL)
      return TRUE;
  return FALSE;
}

/* The fault that a card's sentence is of. */
static const LoomFault *
shown_fault (StudioDocument *document, const StudioItem *item)
{
  LoomFaults *faults = studio_document_get_faults (document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (g_str_has_suffix (item->fault, loom_faults_get (faults, i)->message))
      return loom_faults_get (faults, i);
  g_assert_not_reached ();
}

static void
test_mistake (gconstpointer data)
{
  const Mistake *m = data;
  g_autoptr (StudioDocument) document = load_mistake (m);
  StudioScene *scene = studio_document_get_scene (document);
  g_autofree char *red = cards_of (scene, STUDIO_TONE_ERROR), *todo = cards_of (scene, STUDIO_TONE_TODO);
  g_autofree char *advice = cards_of (scene, STUDIO_TONE_ADVICE), *before = document_text (document), *after = NULL;
  g_autoptr (GPtrArray) fixes = NULL;
  const LoomFault *fault;
  const LoomFix *fix;
  guint64 serial;
  guint item;

  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].fault != NULL)
      g_test_message ("%s: %s [%s]", scene->item[i].id, scene->item[i].fault, scene->item[i].fix);
  g_assert_cmpstr (red, ==, m->red);
  g_assert_cmpstr (todo, ==, m->todo);
  g_assert_cmpstr (advice, ==, m->advice);
  check_quiet (scene);
  check_bubbles (scene);
  if (m->card == NULL)
    {
      g_assert_true (is_said (document, m->says));
      return;
    }
  item = studio_scene_find_id (scene, m->card);
  g_assert_nonnull (strstr (scene->item[item].fault, m->says));
  fault = shown_fault (document, &scene->item[item]);
  serial = scene->item[item].serial;
  fixes = studio_document_find_fixes (document, fault, serial);
  g_assert_cmpuint (fixes->len, >, 0);
  fix = fixes->pdata[0];
  g_assert_cmpstr (fix->label, ==, m->button);
  /* The card has a button for it, unless trying it out took longer than a frame may. */
  if (scene->item[item].fix != NULL)
    g_assert_cmpstr (scene->item[item].fix, ==, m->button);
  g_assert_nonnull (fix->preview);
  if (fix->kind != LOOM_FIX_ASK && fix->kind != LOOM_FIX_OPEN)
    {
      g_assert_true (fix->kind == LOOM_FIX_OWN ? studio_document_apply_fault_fix (document, fault)
                                               : studio_document_apply_quick_fix (document, fix));
      /* The fault itself is over, in one step that can be undone. */
      g_assert_false (is_said (document, m->says));
      if (m->fixes_all)
        g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
      while (studio_document_undo_name (document) != NULL)
        g_assert_true (studio_document_undo (document));
      after = document_text (document);
      g_assert_cmpstr (after, ==, before);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (mistakes); i++)
    {
      g_autofree char *path = g_strconcat ("/mistakes/", mistakes[i].name, NULL);

      g_test_add_data_func (path, &mistakes[i], test_mistake);
    }
  return g_test_run ();
}
