#include "tests/cli/cli-runs.h"

#include "tests/cli/cli.h"

guint
count_events (const char *text, const char *event)
{
  g_auto (GStrv) line = g_strsplit (text, "\n", -1);
  guint n = 0;

  for (guint i = 0; line[i] != NULL; i++)
    {
      if (!line[i][0])
        continue;
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (line[i], &error);
      g_assert_no_error (error);
      g_assert_true (JSON_NODE_HOLDS_OBJECT (node));
      n += g_strcmp0 (json_object_get_string_member (json_node_get_object (node), "event"), event) == 0;
    }
  return n;
}

#define COURSE                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>\n"                                                  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"8\"/><node id=\"act\" op=\"tanh\"/>\n"                             \
  "<node id=\"%s\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>\n"                       \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"%s\"/>\n"            \
  "<wire from=\"%s\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>\n"                                  \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1\" momentum=\"0.9\" batch_size=\"16\" accumulate=\"2\" "               \
  "epochs=\"%d\" seed=\"1\" ema=\"0.9\" patience=\"2\">%s\n"                                                           \
  "<metric type=\"confusion_matrix\" input=\"%s\" target=\"data.y\"/>"                                                 \
  "<metric type=\"f1\" average=\"binary\" input=\"%s\" target=\"data.y\"/></train>\n</graph>\n"

void
write_course (const char *name, const char *head, int epochs, const char *inner)
{
  g_autofree char *text = g_strdup_printf (COURSE, head, head, head, epochs, inner, head, head);

  cli_write (name, text);
}

GPtrArray *
events_of (const char *text, const char *event)
{
  g_auto (GStrv) line = g_strsplit (text, "\n", -1);
  GPtrArray *found = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);

  for (guint i = 0; line[i] != NULL; i++)
    {
      g_autoptr (JsonNode) node = line[i][0] ? json_from_string (line[i], NULL) : NULL;
      if (node && g_strcmp0 (json_object_get_string_member (json_node_get_object (node), "event"), event) == 0)
        g_ptr_array_add (found, json_object_ref (json_node_get_object (node)));
    }
  return found;
}

char *
read_events (const char *run)
{
  g_autofree char *path = g_build_filename (run, "events.jsonl", NULL);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}
