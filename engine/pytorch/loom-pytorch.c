/* Makes the file: head, helpers, classes, training. */
#include "engine/pytorch/pytorch-private.h"

struct _LoomPytorch
{
  GString *text;
  GArray *serials; /* guint64, by line */
  GPtrArray *notes;
};

void
loom_pytorch_free (LoomPytorch *self)
{
  if (self == NULL)
    return;
  g_string_free (self->text, TRUE);
  g_array_unref (self->serials);
  g_ptr_array_unref (self->notes);
  g_free (self);
}

const char *
loom_pytorch_text (const LoomPytorch *self)
{
  return self->text->str;
}

guint
loom_pytorch_n_lines (const LoomPytorch *self)
{
  return self->serials->len;
}

guint64
loom_pytorch_line_serial (const LoomPytorch *self, guint line)
{
  g_return_val_if_fail (line < self->serials->len, 0);

  return g_array_index (self->serials, guint64, line);
}

guint
loom_pytorch_n_notes (const LoomPytorch *self)
{
  return self->notes->len;
}

const char *
loom_pytorch_note (const LoomPytorch *self, guint i)
{
  g_return_val_if_fail (i < self->notes->len, NULL);

  return self->notes->pdata[i];
}

static void
append (LoomPytorch *self, guint indent, guint64 serial, const char *text)
{
  if (*text != 0)
    g_string_append_printf (self->text, "%*s%s", (int)(4 * indent), "", text);
  g_string_append_c (self->text, '\n');
  g_array_append_val (self->serials, serial);
}

/* A text that has its own indentation. */
static void
append_lines (LoomPytorch *self, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL && (*lines[i] != 0 || lines[i + 1] != NULL); i++)
    append (self, 0, 0, lines[i]);
}

static void
append_head (LoomPytorch *self, const PyWriter *w)
{
  const char *name = loom_element_get (loom_graph_root (w->graph), "name");
  g_autofree char *title = loom_pytorch_comment (name != NULL ? name : "A graph");
  g_autofree char *head = g_strdup_printf ("# %s", title);

  /* Python takes an encoding from a comment in the first two lines (PEP 263), which must not be text of the graph. */
  append (self, 0, 0, "# -*- coding: utf-8 -*-");
  append (self, 0, 0, "# Written by `gradloom export --to pytorch`, for PyTorch 2.4 and later.");
  append (self, 0, 0, head);
  if (self->notes->len > 0)
    append (self, 0, 0, "# Not exported:");
  for (guint i = 0; i < self->notes->len; i++)
    {
      g_autofree char *line = g_strdup_printf ("# - %s", loom_pytorch_note (self, i));
      append (self, 0, 0, line);
    }
  append_lines (
      self, "import argparse\nimport math\nimport os\nimport re\n\nimport torch\nimport torch.nn.functional as F\n"
            "import torch.utils.checkpoint\nfrom safetensors.torch import load_file, save_file\nfrom torch import nn\n"
            "\n\n");
}

static LoomPytorch *
assemble (const PyWriter *w)
{
  LoomPytorch *self = g_new0 (LoomPytorch, 1);

  self->text = g_string_new (NULL);
  self->serials = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->notes = g_ptr_array_ref (w->notes);
  append_head (self, w);
  for (guint i = 0; i < w->helpers->len; i++)
    {
      append_lines (self, loom_pytorch_helper (w->helpers->pdata[i]));
      append_lines (self, "\n\n");
    }
  for (guint i = 0; i < w->functions->len; i++)
    {
      const PyLine *line = w->functions->pdata[i];
      append (self, line->indent, line->serial, line->text);
    }
  for (guint i = 0; i < w->lines->len; i++)
    {
      const PyLine *line = w->lines->pdata[i];
      append (self, line->indent, line->serial, line->text);
    }
  return self;
}

LoomPytorch *
loom_pytorch_new (const LoomGraph *graph, const char *samples, LoomFaults *faults)
{
  guint before = loom_faults_count (faults);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = NULL;
  PyWriter w = { .graph = graph, .net = net, .faults = faults, .samples = samples };
  LoomPytorch *self = NULL;

  if (loom_faults_count (faults) == before)
    w.spec = spec = loom_train_spec_new (graph, net, faults);
  if (loom_faults_count (faults) > before)
    return NULL;
  w.class_of = g_hash_table_new (NULL, NULL);
  w.classes = g_ptr_array_new ();
  w.names = g_ptr_array_new_with_free_func (g_free);
  w.helpers = g_ptr_array_new ();
  w.functions = loom_pytorch_lines_new ();
  w.ports = g_ptr_array_new_with_free_func (g_free);
  w.scheduled = g_ptr_array_new_with_free_func (g_free);
  w.metric_keys = g_ptr_array_new_with_free_func (g_free);
  w.notes = g_ptr_array_new_with_free_func (g_free);
  w.lines = loom_pytorch_lines_new ();
  loom_pytorch_write_classes (&w);
  if (loom_faults_count (faults) == before)
    {
      loom_pytorch_collect_notes (&w);
      loom_pytorch_write_training (&w);
    }
  if (loom_faults_count (faults) == before)
    self = assemble (&w);
  g_hash_table_unref (w.class_of);
  g_ptr_array_unref (w.classes);
  g_ptr_array_unref (w.names);
  g_ptr_array_unref (w.helpers);
  g_ptr_array_unref (w.functions);
  g_ptr_array_unref (w.ports);
  g_ptr_array_unref (w.scheduled);
  g_ptr_array_unref (w.metric_keys);
  g_ptr_array_unref (w.notes);
  g_ptr_array_unref (w.lines);
  g_free (w.count);
  g_free (w.loss_key);
  return self;
}
