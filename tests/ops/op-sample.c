/* Samples as graphs; see op-sample.h. */
#include "tests/ops/op-sample.h"

const LoomBinding op_sample_binding = { .value = { ['B' - 'A'] = 4, ['T' - 'A'] = 5 } };

char *
op_sample_graph (const LoomOp *op, const LoomSample *sample)
{
  g_autoptr (LoomGraph) graph = loom_op_sample_graph (op, sample, "n", "i");

  return loom_graph_write (graph, NULL);
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
