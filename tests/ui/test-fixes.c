/* Quick fixes: each is offered on a graph with the fault, previews its effect, fixes the fault, and is one undo step.
 */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-quick-fix.h"

typedef struct
{
  const char *name, *graph; /* what stands in it */
  const char *node;         /* the faulty one */
  const char *label, *preview;
} Case;

static const Case cases[] = {
  { "flatten",
    "<node id='x' op='input' shape='B,1,28,28'/><node id='fc' op='linear' out_features='10'/><wire from='x' to='fc'/>",
    "fc", "Insert flatten", "B × 1 × 28 × 28 → flatten → B × 784" },
  { "reshape",
    "<node id='x' op='input' shape='B,784'/><node id='conv' op='conv2d' out_channels='4' kernel_size='3'/>"
    "<wire from='x' to='conv'/>",
    "conv", "Insert reshape", "B × 784 → reshape → B × 1 × 28 × 28" },
  { "permute",
    "<node id='q' op='input' shape='B,T,8'/><node id='k' op='input' shape='B,T,8'/><node id='scores' op='matmul'/>"
    "<wire from='q' to='scores.input'/><wire from='k' to='scores.other'/>",
    "scores", "Insert permute", NULL },
  { "projection",
    "<node id='x' op='input' shape='B,64'/><node id='y' op='input' shape='B,32'/><node id='sum' op='add'/>"
    "<wire from='x' to='sum.input'/><wire from='y' to='sum.other'/>",
    "sum", "Insert linear", "B × 64 → linear → B × 32" },
  { "cast",
    "<node id='x' op='input' shape='B,T'/><node id='words' op='embedding' num_embeddings='9' embedding_dim='4'/>"
    "<wire from='x' to='words'/>",
    "words", "Insert cast", "f32 B × T → cast → i64 B × T" },
  { "kernel",
    "<node id='x' op='input' shape='B,1,3,3'/><node id='conv' op='conv2d' out_channels='4' kernel_size='5'/>"
    "<wire from='x' to='conv'/>",
    "conv", "Set kernel_size to 3", "kernel_size 5 → 3 results in B × 4 × 1 × 1" },
  { "padding",
    "<node id='x' op='input' shape='B,1,3,3'/><node id='conv' op='conv2d' out_channels='4' kernel_size='5'/>"
    "<wire from='x' to='conv'/>",
    "conv", "Set padding to 1", "padding 0 → 1 results in B × 4 × 1 × 1" },
  { "shortcut",
    "<node id='x' op='input' shape='B,16,28,28'/><node id='y' op='input' shape='B,32,14,14'/><node id='sum' op='add'/>"
    "<wire from='x' to='sum.input'/><wire from='y' to='sum.other'/>",
    "sum", "Insert conv2d", "B × 16 × 28 × 28 → conv2d → B × 32 × 14 × 14" },
  { "branch",
    "<node id='x' op='input' shape='B,16,28,28'/><node id='conv' op='conv2d' out_channels='16' kernel_size='3'/>"
    "<node id='sum' op='add'/><wire from='x' to='conv'/><wire from='conv' to='sum.input'/>"
    "<wire from='x' to='sum.other'/>",
    "sum", "Set padding of conv to 1", "padding 0 → 1: B × 16 × 26 × 26 → B × 16 × 28 × 28" },
  { "connect",
    "<node id='data' op='dataset' source='spirals'/><node id='fc' op='linear' out_features='2'/>"
    "<node id='loss' op='cross_entropy'/><wire from='data.x' to='fc'/><wire from='fc' to='loss.input'/>",
    "loss", "Connect to data.y", "data.y B → target" },
};

static StudioDocument *
load (const char *body)
{
  g_autofree char *text = g_strdup_printf ("<graph xmlns='urn:gradloom:graph' version='1'>%s</graph>", body);

  return document_load (text);
}

static const LoomFault *
fault_of (StudioDocument *document, const char *node)
{
  LoomFaults *faults = studio_document_get_faults (document);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (g_strcmp0 (loom_faults_get (faults, i)->node, node) == 0)
      return loom_faults_get (faults, i);
  return NULL;
}

static const LoomFix *
find (GPtrArray *fixes, const char *label)
{
  for (guint i = 0; i < fixes->len; i++)
    if (g_str_equal (((LoomFix *)fixes->pdata[i])->label, label))
      return fixes->pdata[i];
  return NULL;
}

static void
test_fixes (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (StudioDocument) document = load (c->graph);
  const LoomFault *fault = fault_of (document, c->node);
  g_autoptr (GPtrArray) fixes = NULL;
  g_autofree char *before = document_text (document), *after = NULL;
  const LoomFix *fix;

  g_assert_nonnull (fault);
  fixes = studio_document_find_fixes (document, fault, document_serial (document, c->node));
  for (guint i = 0; i < fixes->len; i++)
    g_test_message ("%s: %s", ((LoomFix *)fixes->pdata[i])->label, ((LoomFix *)fixes->pdata[i])->preview);
  fix = find (fixes, c->label);
  g_assert_nonnull (fix);
  if (c->preview != NULL)
    g_assert_cmpstr (fix->preview, ==, c->preview);
  g_assert_true (studio_document_apply_quick_fix (document, fix));
  g_assert_null (fault_of (document, c->node));
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (document)), ==, 0);
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
  g_assert_null (studio_document_undo_name (document));
}

/* The card's button is the first of them. */
static void
test_button (void)
{
  g_autoptr (StudioDocument) document = load (cases[0].graph);
  guint64 serial;
  g_autofree char *label = NULL;

  studio_document_get_net (document);
  serial = document_serial (document, "fc");
  label = studio_document_dup_fix_label (document, serial);
  g_assert_cmpstr (label, ==, "Insert flatten");
  g_assert_true (studio_document_apply_fix (document, serial));
  g_assert_null (fault_of (document, "fc"));
  g_assert_true (studio_document_is_selected (document, serial));
}

/* Asks for values that only the user can know. */
static void
test_ask (void)
{
  g_autoptr (StudioDocument) document = load ("<node id='data' op='dataset'/><node id='fc' op='linear'/>");
  static const struct
  {
    const char *node, *label, *param;
  } asked[] = { { "data", "Choose data", "source" }, { "fc", "Choose out features", "out_features" } };

  studio_document_get_net (document);
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      guint64 serial = document_serial (document, asked[i].node);
      LoomFaults *faults = studio_document_get_faults (document);
      const LoomFix *fix = NULL;
      g_autoptr (GPtrArray) fixes = NULL;

      for (guint f = 0; f < loom_faults_length (faults) && fix == NULL; f++)
        if (g_strcmp0 (loom_faults_get (faults, f)->node, asked[i].node) == 0)
          {
            g_clear_pointer (&fixes, g_ptr_array_unref);
            fixes = studio_document_find_fixes (document, loom_faults_get (faults, f), serial);
            fix = find (fixes, asked[i].label);
          }
      g_assert_nonnull (fix);
      g_assert_cmpint (fix->kind, ==, LOOM_FIX_ASK);
      g_assert_cmpstr (fix->port, ==, asked[i].param);
    }
}

static const char spirals[]
    = "<node id='data' op='dataset' source='spirals'/><node id='fc' op='linear' out_features='8'/>"
      "<node id='act' op='relu'/><node id='scores' op='linear' out_features='2'/><node id='loss' op='cross_entropy'/>"
      "<node id='probability' op='softmax' dim='1'/><wire from='data.x' to='fc'/><wire from='fc' to='act'/>"
      "<wire from='fc' to='scores'/><wire from='scores' to='loss.input'/><wire from='data.y' to='loss.target'/>"
      "<wire from='scores' to='probability'/><train loss='loss' optimizer='sgd' lr='0.1'/>";

/* A card without readers has a fault, and its button inserts it between its input and that input's other reader. The
 * card that answers needs no reader. */
static void
test_unread (void)
{
  g_autoptr (StudioDocument) document = load (spirals);
  g_autofree char *before = document_text (document), *after = NULL, *label = NULL;
  const LoomFault *fault = fault_of (document, "act");
  guint64 serial;

  g_assert_nonnull (fault);
  g_assert_cmpstr (fault->message, ==, "This card is not used.");
  g_assert_true (fault->is_warning);
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (document)), ==, 1);
  studio_document_get_net (document);
  serial = document_serial (document, "act");
  label = studio_document_dup_fix_label (document, serial);
  g_assert_cmpstr (label, ==, "Insert");
  g_assert_true (studio_document_apply_fix (document, serial));
  g_assert_null (fault_of (document, "act"));
  LoomNet *net = studio_document_get_net (document);
  g_assert_cmpint (loom_net_node (net, (guint)loom_net_find (net, "scores"))->input[0].node, ==,
                   loom_net_find (net, "act"));
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
  g_assert_null (studio_document_undo_name (document));
}

/* None of the graphs that come with the program has such a card. */
static void
test_shipped (void)
{
  static const char *const folders[] = { "lessons", "models" };

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", folders[i], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *path = g_build_filename (folder, name, NULL), *text = NULL;

          if (!g_str_has_suffix (name, ".xml"))
            continue;
          g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
          g_autoptr (StudioDocument) document = document_load (text);
          LoomFaults *faults = studio_document_get_faults (document);
          for (guint f = 0; f < loom_faults_length (faults); f++)
            if (strstr (loom_faults_get (faults, f)->message, "is not used") != NULL)
              {
                g_test_message ("%s: %s", name, loom_faults_get (faults, f)->node);
                g_test_fail ();
              }
        }
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/fixes/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_fixes);
    }
  g_test_add_func ("/fixes/button", test_button);
  g_test_add_func ("/fixes/ask", test_ask);
  g_test_add_func ("/fixes/unread", test_unread);
  g_test_add_func ("/fixes/shipped", test_shipped);
  return g_test_run ();
}
