/* The tables of parameters and of nodes, and what cards show of stages, devices and sharded weights. No display. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/scene-test.h"
#include "ui/worker/studio-planner.h"
#include "ui/timeline/studio-inventory.h"
#include "ui/timeline/studio-pipeline-stages.h"
#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-partitions.h"

#define PARAMETER "{\"event\":\"parameter\",\"dtype\":\"f32\",\"trainable\":true,"
#define FC        PARAMETER "\"name\":\"fc.weight\",\"whole\":[8,4],"
#define FROZEN    "{\"event\":\"parameter\",\"dtype\":\"f32\",\"trainable\":false,\"name\":\"old.bias\","

static StudioInventoryRow *
row_at (GListStore *store, guint i)
{
  g_autoptr (StudioInventoryRow) row = g_list_model_get_item (G_LIST_MODEL (store), i);

  g_assert_nonnull (row);
  return row; /* the store has it */
}

static GPtrArray *
events_of (const char *text)
{
  return studio_planner_parse_events (text, strlen (text));
}

/* The last column for one parameter of 8 × 4 elements. */
static void
check_after (const char *text, const char *expected)
{
  g_autoptr (GPtrArray) events = events_of (text);
  g_autofree char *summary = NULL;
  g_autoptr (GListStore) store = studio_inventory_parameters (events, &summary);

  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (store)), ==, 1);
  g_assert_cmpstr (row_at (store, 0)->text[1], ==, "8×4");
  g_assert_cmpstr (row_at (store, 0)->text[3], ==, "128 B");
  g_assert_cmpstr (row_at (store, 0)->text[4], ==, "cpu");
  g_assert_cmpstr (row_at (store, 0)->text[5], ==, expected);
}

static void
test_parameters (void)
{
  g_autoptr (GPtrArray) events
      = events_of (PARAMETER "\"name\":\"fc.weight\",\"shape\":[8,4],\"device\":\"cuda:0\",\"bytes\":128}\n"
                             "no json\n" FROZEN "\"shape\":[],\"device\":\"cpu\",\"bytes\":64}\n");
  g_autofree char *summary = NULL;
  g_autoptr (GListStore) store = studio_inventory_parameters (events, &summary);

  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (store)), ==, 2);
  g_assert_cmpstr (row_at (store, 0)->text[5], ==, "cuda:0");
  g_assert_cmpstr (row_at (store, 1)->text[1], ==, "1");
  g_assert_cmpstr (row_at (store, 1)->text[2], ==, "f32 · frozen");
  g_assert_cmpstr (row_at (store, 1)->text[3], ==, "4 B"); /* of the whole tensor, not of a shard */
  g_assert_true (g_str_has_prefix (summary, "2 parameter tensors, 132 B. 1 is moved.\n"));
  /* Numbers are sorted by value, text alphabetically. */
  g_assert_cmpint (studio_inventory_compare (row_at (store, 0), row_at (store, 1), 3, TRUE), >, 0);
  g_assert_cmpint (studio_inventory_compare (row_at (store, 0), row_at (store, 1), 0, FALSE), <, 0);
}

/* A worker on another machine may send what overflows the stack of JSON-GLib's parser. */
static void
test_nesting (void)
{
  g_autofree char *levels = g_strnfill (1000000, '['), *text = g_strconcat ("{\"ranks\":", levels, "\n{}", NULL);
  g_autoptr (GPtrArray) events = events_of (text);

  g_assert_cmpuint (events->len, ==, 1);
}

static void
test_ranks (void)
{
#define ON(rank, shape) FC "\"rank\":" #rank ",\"device\":\"cpu\",\"shape\":" shape "}\n"
  check_after (ON (0, "[8,4]") ON (1, "[8,4]") ON (2, "[8,4]"), "cpu · whole on ranks 0–2");
  check_after (ON (0, "[4,4]") ON (1, "[4,4]"), "cpu · 4×4 on each of ranks 0–1");
  check_after (ON (0, "[0]") ON (1, "[8,4]") ON (2, "[0]"), "cpu · rank 1");
  check_after (ON (0, "[11]") ON (1, "[11]") ON (2, "[10]"), "cpu · 3 shards of at most 11 on ranks 0–2");
#undef ON
}

static void
test_nodes (void)
{
  g_autoptr (GPtrArray) planned = events_of (
      "{\"event\":\"node\",\"node\":\"fc\",\"device\":\"cpu\",\"parameters\":100,\"data\":20,\"bytes\":120}\n"
      "{\"event\":\"node\",\"node\":null,\"device\":\"cpu\",\"workspace\":7,\"bytes\":7}\n");
  g_autoptr (GPtrArray) taken = events_of ("{\"node\":\"fc\",\"device\":\"cpu\",\"parameters\":100,\"bytes\":130}\n"
                                           "{\"node\":\"new\",\"device\":\"cpu\",\"bytes\":1}\n");
  StudioInventorySum sum;
  g_autoptr (GListStore) store = studio_inventory_nodes (planned, taken, &sum);

  g_assert_cmpuint (sum.total, ==, 127);
  g_assert_cmpuint (sum.owner[LOOM_OWNER_PARAMETERS], ==, 100);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (store)), ==, 3);
  g_assert_cmpstr (row_at (store, 0)->path, ==, "fc");
  g_assert_cmpfloat (row_at (store, 0)->key[2], ==, 120);
  g_assert_cmpfloat (row_at (store, 0)->key[3], ==, 130);
  g_assert_null (row_at (store, 1)->path);
  g_assert_cmpstr (row_at (store, 1)->text[3], ==, "–");
  g_assert_cmpstr (row_at (store, 2)->text[0], ==, "new");
  g_assert_cmpfloat (row_at (store, 2)->key[2], ==, 0);
}

/* ---- cards ----------------------------------------------------------------------- */

#define NET(a, b, train)                                                                                               \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"        \
  "<node id=\"a\" op=\"linear\" out_features=\"4\"" a "/>\n<node id=\"act\" op=\"relu\"/>\n"                           \
  "<node id=\"b\" op=\"linear\" out_features=\"2\"" b "/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"                 \
  "<wire from=\"data.x\" to=\"a\"/>\n<wire from=\"a\" to=\"act\"/>\n<wire from=\"act\" to=\"b\"/>\n"                   \
  "<wire from=\"b\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"                                 \
  "<train loss=\"loss\">" train "</train>\n</graph>\n"

static const StudioItem *
item_of (const StudioScene *scene, const char *id)
{
  guint i = studio_scene_find_id (scene, id);

  g_assert_cmpuint (i, !=, STUDIO_NO_ITEM);
  return &scene->item[i];
}

static void
test_stages (void)
{
  g_autoptr (StudioScene) scene
      = scene_from_text (NET (" stage=\"0\"", " stage=\"1\"", "<parallel pipeline=\"2\"/>"), "stages");
  g_autofree char *words = studio_item_stage_text (item_of (scene, "act"));

  g_assert_cmpstr (words, ==, "Stage 0 of the pipeline");
  g_assert_cmpuint (item_of (scene, "a")->tint, ==, 1);
  g_assert_cmpuint (item_of (scene, "loss")->tint, ==, 2);
  g_assert_cmpstr (item_of (scene, "loss")->mark, ==, "1");
}

static void
test_chosen_stages (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (NET ("", "", "<parallel pipeline=\"2\"/>"), "chosen");
  g_autoptr (GPtrArray) events = events_of ("{\"event\":\"stage\",\"stage\":0,\"paths\":[\"a\"]}\n"
                                            "{\"event\":\"stage\",\"stage\":1,\"paths\":[\"act\",\"b\"]}\n");
  g_autoptr (GHashTable) stages = studio_pipeline_stages_parse (events);

  g_assert_cmpuint (item_of (scene, "a")->tint, ==, 0);
  studio_scene_set_stages (scene, stages);
  g_assert_cmpuint (item_of (scene, "a")->tint, ==, 1);
  g_assert_cmpuint (item_of (scene, "b")->tint, ==, 2);
  g_assert_cmpuint (item_of (scene, "data")->tint, ==, 0);
}

static void
test_devices (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (NET ("", " device=\"cpu:2\"", ""), "devices");

  g_assert_cmpuint (item_of (scene, "a")->tint, ==, 0);
  g_assert_cmpuint (item_of (scene, "b")->tint, ==, 3);
  g_assert_cmpstr (item_of (scene, "b")->mark, ==, "2");
  g_assert_null (studio_item_stage_text (item_of (scene, "b")));
  /* A run gets the CPU devices that its graph names. */
  studio_scene_mark_missing_devices (scene, (const char *const[]){ "cpu", NULL });
  g_assert_false (item_of (scene, "b")->is_device_missing);
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  studio_scene_mark_missing_devices (scene, (const char *const[]){ "cpu", "cpu:1", NULL });
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  g_assert_true (item_of (scene, "b")->is_device_missing);
}

/* The label of the wire from one card to another. */
static const char *
label_between (const StudioScene *scene, const char *from, const char *to)
{
  for (guint l = 0; l < scene->n_links; l++)
    if (scene->link[l].from == studio_scene_find_id (scene, from)
        && scene->link[l].to == studio_scene_find_id (scene, to))
      return scene->link[l].label;
  return NULL;
}

/* Wires show bytes, also of chunks, whose size is known only for a number of samples. */
static void
test_bytes (void)
{
#define CHUNKS(train)                                                                                                  \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"        \
  "<node id=\"halves\" op=\"chunk\" chunks=\"2\"/>\n<node id=\"far\" op=\"tanh\" device=\"cpu:1\"/>\n"                 \
  "<wire from=\"data.x\" to=\"halves\"/>\n<wire from=\"halves.1\" to=\"far\"/>\n" train "</graph>\n"
  g_autoptr (StudioScene) stages
      = scene_from_text (NET (" stage=\"0\"", " stage=\"1\"", "<parallel pipeline=\"2\"/>"), "stages");
  g_autoptr (StudioScene) halves = scene_from_text (CHUNKS ("<train loss=\"data.x\" batch_size=\"72\"/>\n"), "halves");

  g_assert_cmpstr (label_between (stages, "act", "b"), ==, "B × 4\tstage 0 → 1\t16 B");
  g_assert_cmpstr (label_between (stages, "a", "act"), ==, "B × 4");
  g_assert_cmpstr (label_between (halves, "halves", "far"), ==, "? × 2\tcpu → cpu:1\t288 B");
#undef CHUNKS
}

static void
test_splits (void)
{
  g_autoptr (StudioScene) by_node = scene_from_text (NET (" split=\"column\"", "", ""), "node");
  g_autoptr (StudioScene) by_pattern
      = scene_from_text (NET ("", "", "<parallel tensor=\"2\" split=\"b=row\"/>"), "pattern");

  g_assert_cmpstr (item_of (by_node, "a")->split, ==, "column");
  g_assert_null (item_of (by_node, "b")->split);
  g_assert_null (item_of (by_pattern, "a")->split);
  g_assert_cmpstr (item_of (by_pattern, "b")->split, ==, "row");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/inventory/parameters", test_parameters);
  g_test_add_func ("/inventory/nesting", test_nesting);
  g_test_add_func ("/inventory/ranks", test_ranks);
  g_test_add_func ("/inventory/nodes", test_nodes);
  g_test_add_func ("/parts/stages", test_stages);
  g_test_add_func ("/parts/chosen-stages", test_chosen_stages);
  g_test_add_func ("/parts/devices", test_devices);
  g_test_add_func ("/parts/splits", test_splits);
  g_test_add_func ("/parts/bytes", test_bytes);
  return g_test_run ();
}
