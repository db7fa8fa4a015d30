/* Graphs with a loop over a module. */
#pragma once

#include <string.h>

#include "engine/net/loom-net.h"
#include "tests/program/eval.h"

#define HEAD "<graph xmlns='urn:gradloom:graph' version='1' name='scan'>"
/* Elman's cell, as rnn has it. */
#define CELL                                                                                                           \
  "<module name='cell'><node id='x' op='module_input'/><node id='h' op='module_input' shape='B,3'/>"                   \
  "<node id='in' op='linear' out_features='3'/><node id='rec' op='linear' out_features='3'/>"                          \
  "<node id='sum' op='add'/><node id='act' op='tanh'/>"                                                                \
  "<node id='y' op='module_output'/><node id='h1' op='module_output' carry='h'/>"                                      \
  "<wire from='x' to='in'/><wire from='h' to='rec'/><wire from='in' to='sum.input'/>"                                  \
  "<wire from='rec' to='sum.other'/><wire from='sum' to='act'/><wire from='act' to='y'/>"                              \
  "<wire from='act' to='h1'/></module>"
#define SAMPLES 4
#define STEPS   5

/* A graph in f64, and the values of two of its ports. */
typedef struct
{
  LoomFaults *faults;
  LoomGraph *graph;
  LoomNet *net;
  LoomProgram *p;
  Eval *e;
  LoomValue value[2];
  guint n;
} Made;

static inline void
made_clear (Made *m)
{
  g_clear_pointer (&m->e, eval_free);
  g_clear_pointer (&m->p, loom_program_unref);
  g_clear_pointer (&m->net, loom_net_free);
  g_clear_pointer (&m->graph, loom_graph_unref);
  g_clear_pointer (&m->faults, loom_faults_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Made, made_clear)

static inline void
read_graph (Made *m, const char *body, gint64 steps)
{
  g_autofree char *xml = g_strconcat (HEAD, body, "</graph>", NULL);
  LoomBinding binding = { 0 };
  g_autoptr (GError) error = NULL;

  binding.value['B' - 'A'] = SAMPLES;
  binding.value['T' - 'A'] = steps;
  binding.value['S' - 'A'] = 2;
  m->faults = loom_faults_new ();
  m->graph = loom_graph_read_data (xml, strlen (xml), "scan", m->faults, &error);
  g_assert_no_error (error);
  m->net = loom_net_new (m->graph, &binding, m->faults);
}
