/* Samples as graphs; see op-sample.h. */
#include "tests/ops/op-sample.h"

#include <string.h>

const LoomBinding op_sample_binding = { .value = { ['B' - 'A'] = 4, ['T' - 'A'] = 5 } };

static void
append_node (GString *xml, const LoomOp *op, const LoomSample *sample)
{
  g_auto (GStrv) params = g_strsplit (sample->params != NULL ? sample->params : "", " ", -1);

  g_string_append_printf (xml, "  <node id=\"n\" op=\"%s\"", op->name);
  for (guint i = 0; params[i] != NULL; i++)
    {
      char *equals = strchr (params[i], '=');

      if (equals != NULL)
        {
          g_autofree char *value = g_markup_escape_text (equals + 1, -1);

          g_string_append_printf (xml, " %.*s=\"%s\"", (int)(equals - params[i]), params[i], value);
        }
    }
  g_string_append (xml, "/>\n");
}

/* The inputs of a node whose ports depend on its parameters. */
static const LoomPortSpec *
ports_of (const LoomOp *op, const LoomSample *sample)
{
  g_autoptr (GString) xml = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"sample\">\n");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;

  if (op->dynamic_inputs == NULL)
    return op->inputs;
  append_node (xml, op, sample);
  g_string_append (xml, "</graph>");
  graph = loom_graph_read_data (xml->str, xml->len, "sample", faults, NULL);
  return loom_op_inputs (op, loom_scope_find_node (loom_graph_root (graph), "n"));
}

char *
op_sample_graph (const LoomOp *op, const LoomSample *sample)
{
  GString *xml = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"sample\">\n");
  g_autoptr (GString) wires = g_string_new (NULL);
  const LoomPortSpec *ports = ports_of (op, sample);
  gboolean variadic = op->inputs != NULL && (op->inputs[0].flags & LOOM_PORT_VARIADIC);

  for (guint i = 0; i < G_N_ELEMENTS (sample->inputs) && sample->inputs[i] != NULL; i++)
    {
      g_auto (GStrv) type = g_strsplit (sample->inputs[i], ":", 2);

      if (type[0] == NULL)
        continue;
      g_string_append_printf (xml, "  <node id=\"i%u\" op=\"input\" shape=\"%s\" dtype=\"%s\"/>\n", i, type[1],
                              type[0]);
      if (variadic)
        g_string_append_printf (wires, "  <wire from=\"i%u\" to=\"n.%u\"/>\n", i, i);
      else
        g_string_append_printf (wires, "  <wire from=\"i%u\" to=\"n.%s\"/>\n", i, ports[i].name);
    }
  append_node (xml, op, sample);
  g_string_append_printf (xml, "%s</graph>\n", wires->str);
  return g_string_free (xml, FALSE);
}

void
op_sample_for_each (void (*visit) (const LoomOp *op, const LoomSample *sample, const char *what))
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      /* Ports of a module exist only inside one. */
      if ((*op)->category == LOOM_CATEGORY_HIDDEN)
        continue;
      for (const LoomSample *s = (*op)->samples; s != NULL && (s->params != NULL || s->inputs[0] != NULL); s++)
        {
          g_autofree char *what
              = g_strdup_printf ("%s %s (%s%s%s)", (*op)->name, s->params != NULL ? s->params : "",
                                 s->inputs[0] != NULL ? s->inputs[0] : "", s->inputs[1] != NULL ? " " : "",
                                 s->inputs[1] != NULL ? s->inputs[1] : "");

          visit (*op, s, what);
        }
    }
}
