/* Shared by the tests of this folder. */
#include "tests/graph/graph-test.h"

#include <string.h>

const char *const example_graph
    = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<!-- Licensed to everybody. -->\n"
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"Blocks &amp; &quot;quotes&quot;\">\n"
      "  <doc>Two lines,\nwith &lt;angles&gt; and ümlauts.</doc>\n"
      "  <module name=\"conv_block\">\n"
      "    <arg name=\"channels\" type=\"int\" default=\"16\"/>\n"
      "    <node id=\"x\" op=\"module_input\"/>\n"
      "    <node id=\"conv\" op=\"conv2d\" out_channels=\"{channels}\" kernel_size=\"3\" padding=\"1\"/>\n"
      "    <node id=\"act\" op=\"relu\"/>\n"
      "    <node id=\"y\" op=\"module_output\"/>\n"
      "    <wire from=\"x\" to=\"conv\"/>\n"
      "    <wire from=\"conv\" to=\"act\"/>\n"
      "    <wire from=\"act\" to=\"y\"/>\n"
      "    <layout>\n"
      "      <place node=\"conv\" x=\"40\" y=\"120.5\"/>\n"
      "    </layout>\n"
      "  </module>\n"
      "  <!-- The network itself. -->\n"
      "  <node id=\"data\" op=\"input\" shape=\"B,1,28,28\"/>\n"
      "  <node id=\"block\" module=\"conv_block\" channels=\"32\" repeat=\"2\"/>\n"
      "  <node id=\"flat\" op=\"flatten\"/>\n"
      "  <node id=\"fc\" op=\"linear\" out_features=\"10\" title=\"a&#10;b&#9;c\"/>\n"
      "  <wire from=\"data\" to=\"block\"/>\n"
      "  <wire from=\"block\" to=\"flat\"/>\n"
      "  <wire from=\"flat\" to=\"fc\"/>\n"
      "  <train loss=\"fc\" optimizer=\"adam\" lr=\"0.001\">\n"
      "    <schedule type=\"cosine\" warmup_steps=\"100\"/>\n"
      "  </train>\n"
      "  <layout>\n"
      "    <place node=\"data\" x=\"40\" y=\"120\"/>\n"
      "    <place node=\"fc\" x=\"400\" y=\"120\" collapsed=\"true\"/>\n"
      "  </layout>\n"
      "  <x:extra xmlns:x=\"urn:other\" x:a=\"1\"><x:b> t &amp; u </x:b><plain xmlns=\"\">v</plain></x:extra>\n"
      "</graph>\n";

LoomGraph *
graph_from_text (const char *text, LoomFaults **faults)
{
  g_autoptr (LoomFaults) list = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (text, strlen (text), "test", list, &error);

  g_assert_no_error (error);
  g_assert_nonnull (graph);
  if (faults != NULL)
    *faults = g_steal_pointer (&list);
  else
    {
      g_autofree char *sentences = faults_as_text (list);

      g_assert_cmpstr (sentences, ==, "");
    }
  return graph;
}

char *
faults_as_text (const LoomFaults *faults)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *sentence = loom_fault_to_string (loom_faults_get (faults, i));

      g_string_append_printf (text, "%s\n", sentence);
    }
  return g_string_free (text, FALSE);
}

void
assert_golden (const char *file, const char *text)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), file, NULL);
  g_autofree char *expected = NULL;
  g_autoptr (GError) error = NULL;

  if (g_strcmp0 (g_getenv ("GRADLOOM_UPDATE"), "1") == 0)
    {
      g_file_set_contents (path, text, -1, &error);
      g_assert_no_error (error);
      return;
    }
  if (!g_file_get_contents (path, &expected, NULL, NULL))
    g_error ("%s is missing; run this test once with GRADLOOM_UPDATE=1 and review what it writes", path);
  if (strcmp (expected, text) != 0)
    g_test_message ("%s differs from what the program says now; if that is meant, run with GRADLOOM_UPDATE=1", path);
  g_assert_cmpstr (text, ==, expected);
}
