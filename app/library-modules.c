/* The modules that ship with the program: files of graphs/library, compiled into it. */
#include "app/library-modules.h"

#include <string.h>

#include "gradloom-library.h"

char *
library_module_text (const char *name)
{
  g_autofree char *path = g_strdup_printf ("/org/gradloom/Studio/library/%s.xml", name);
  g_autoptr (GBytes) bytes = NULL;

  if (gradloom_library_get_resource () == NULL)
    gradloom_library_register_resource ();
  bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  return bytes != NULL ? g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)) : NULL;
}

static void
add_ports (GString *text, const char *title, LoomElement *module, const char *op)
{
  g_string_append_printf (text, "\n%s\n", title);
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      LoomElement *e = loom_element_child (module, i);

      if (g_strcmp0 (loom_element_get (e, "op"), op) == 0)
        g_string_append_printf (text, "  %s\n", loom_element_get (e, "id"));
    }
}

static void
add_arguments (GString *text, LoomElement *module)
{
  g_string_append (text, "\nArguments\n");
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      LoomElement *e = loom_element_child (module, i);
      const char *type, *value;

      if (loom_element_tag (e) != LOOM_TAG_ARG)
        continue;
      type = loom_element_get (e, "type");
      value = loom_element_get (e, "default");
      g_string_append_printf (text, "  %-14s %s, %s%s\n", loom_element_get (e, "name"), type != NULL ? type : "string",
                              value != NULL ? "default " : "required", value != NULL ? value : "");
    }
}

char *
library_module_help (const char *name)
{
  g_autofree char *file = library_module_text (name);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph
      = file != NULL ? loom_graph_read_data (file, strlen (file), "the library", faults, NULL) : NULL;
  LoomElement *module = graph != NULL ? loom_graph_find_module (graph, name) : NULL, *doc;
  g_autoptr (GString) text = g_string_new (NULL);

  if (module == NULL)
    return NULL;
  doc = loom_element_find (loom_graph_root (graph), LOOM_TAG_DOC);
  g_string_append_printf (text, "%s (%s, a module of the library)\n", name,
                          loom_element_get (loom_graph_root (graph), "name"));
  if (doc != NULL)
    g_string_append_printf (text, "%s\n", loom_element_text (doc));
  add_ports (text, "Inputs", module, "module_input");
  add_ports (text, "Outputs", module, "module_output");
  add_arguments (text, module);
  g_string_append_printf (text,
                          "\nStudio's palette inserts it. In a file, copy its <module> elements from\n"
                          "  gradloom ops %s --example\nand use it as\n  <node id=\"%s1\" module=\"%s\"/>\n",
                          name, name, name);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
