/* `gradloom check --fix`: makes the quick fixes of Studio, one fault after the other.
 *
 * A fix counts only if the fault is gone from the whole graph after it: other nodes may read the same output, and a
 * module has several instances. */
#include "app/check-fix.h"
#include "app/shared/checked-graph.h"
#include "engine/fix/loom-fix.h"

#include <stdio.h>

/* A graph whose faults are removed one by one. */
typedef struct
{
  const Command *command;
  LoomGraph *graph;
  LoomFaults *grammar; /* faults of the reader, which a net does not find again */
  guint choice;
  gboolean json;
} Repair;

static void
apply_cb (LoomEdit *edit, gpointer graph)
{
  loom_edit_free (loom_graph_apply (graph, edit));
}

static void
infer (LoomGraph *graph, CheckedGraph *checked)
{
  checked->graph = loom_graph_ref (graph);
  checked->faults = loom_faults_new ();
  checked_graph_infer (checked);
}

static gboolean
has_fault (const LoomFaults *faults, const LoomFault *wanted)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);

      if (!fault->is_warning && fault->code == wanted->code && g_strcmp0 (fault->node, wanted->node) == 0
          && g_strcmp0 (fault->port, wanted->port) == 0)
        return TRUE;
    }
  return FALSE;
}

static gboolean
removes (LoomGraph *graph, const LoomFix *fix, const LoomFault *fault)
{
  g_autoptr (LoomGraph) copy = loom_graph_copy (graph);
  g_auto (CheckedGraph) after = { 0 };

  if (!loom_fix_edit (copy, fix, apply_cb, copy))
    return FALSE;
  infer (copy, &after);
  return !has_fault (after.faults, fault);
}

static GPtrArray *
find_fixes (const Repair *repair, const CheckedGraph *checked, const LoomFault *fault)
{
  const LoomElement *element = fault->node != NULL ? loom_graph_find_path (repair->graph, fault->node, NULL) : NULL;
  const guint64 serial = element != NULL ? loom_element_serial (element) : 0;
  LoomFix *own = loom_fix_own (repair->graph, checked->net, fault, serial, NULL);
  GPtrArray *fixes = loom_fixes_find (repair->graph, checked->net, fault, serial, own, NULL);

  for (guint i = fixes->len; i-- > 0;)
    if (!removes (repair->graph, fixes->pdata[i], fault))
      g_ptr_array_remove_index (fixes, i);
  return fixes;
}

static char *
text_of (const LoomFix *fix)
{
  return fix->kind == LOOM_FIX_OWN || fix->preview == NULL ? g_strdup (fix->label)
                                                           : g_strdup_printf ("%s (%s)", fix->label, fix->preview);
}

static void
print_fix (const Repair *repair, const LoomFault *fault, const LoomFix *fix)
{
  g_autofree char *text = text_of (fix);
  LoomJson *line;

  if (!repair->json)
    {
      printf ("%s: %s\n", fault->node != NULL ? fault->node : "<train>", text);
      return;
    }
  line = command_event_new ("fix");
  loom_json_string (line, "node", fault->node);
  loom_json_string (line, "port", fault->port);
  loom_json_string (line, "text", text);
  command_event_print (line);
}

/* The fix to make; NULL if there are several and none is chosen. */
static const LoomFix *
choose (const Repair *repair, const LoomFault *fault, const GPtrArray *fixes)
{
  g_autoptr (GString) list = g_string_new (NULL);
  g_autofree char *sentence = loom_fault_to_string (fault);

  if (fixes->len == 1)
    return fixes->pdata[0];
  if (repair->choice > 0 && repair->choice <= fixes->len)
    return fixes->pdata[repair->choice - 1];
  for (guint i = 0; i < fixes->len; i++)
    {
      g_autofree char *text = text_of (fixes->pdata[i]);

      g_string_append_printf (list, "\n  %u  %s", i + 1, text);
    }
  command_fail (repair->command,
                g_error_new (LOOM_ERROR, LOOM_ERROR_PARSE, "%s\nIt has %u fixes; choose with --fix=N:%s", sentence,
                             fixes->len, list->str));
  return NULL;
}

typedef enum
{
  FIXED,
  NONE_LEFT,
  REFUSED
} Round;

/* Makes the first fix that there is. */
static Round
fix_one (Repair *repair)
{
  g_auto (CheckedGraph) checked = { 0 };
  const guint n_grammar = loom_faults_length (repair->grammar);

  infer (repair->graph, &checked);
  for (guint i = 0; i < n_grammar + loom_faults_length (checked.faults); i++)
    {
      const LoomFault *fault
          = i < n_grammar ? loom_faults_get (repair->grammar, i) : loom_faults_get (checked.faults, i - n_grammar);
      g_autoptr (GPtrArray) fixes = fault->is_warning ? NULL : find_fixes (repair, &checked, fault);
      const LoomFix *fix;

      if (fixes == NULL || fixes->len == 0)
        continue;
      fix = choose (repair, fault, fixes);
      if (fix == NULL)
        return REFUSED;
      print_fix (repair, fault, fix);
      loom_fix_edit (repair->graph, fix, apply_cb, repair->graph);
      if (i < n_grammar)
        g_ptr_array_remove_index (repair->grammar->items, i);
      return FIXED;
    }
  return NONE_LEFT;
}

/* A graph has few faults; the limit ends two fixes that undo each other. */
#define MOST_FIXES 1000

int
check_fix (const Command *command, const char *path, const char *output, guint choice, gboolean json)
{
  GError *error = NULL;
  g_autoptr (LoomFaults) grammar = loom_faults_new ();
  g_autoptr (LoomGraph) graph = command_load_graph (path, grammar, &error);
  Repair repair = { command, graph, grammar, choice, json };
  g_auto (CheckedGraph) checked = { 0 };
  Round round = FIXED;

  if (graph == NULL)
    return command_fail (command, error);
  if (loom_graph_n_dropped (graph) > 0)
    {
      checked_graph_print_faults (grammar, path, json);
      return 1;
    }
  for (guint i = 0; i < MOST_FIXES && round == FIXED; i++)
    round = fix_one (&repair);
  if (round == REFUSED)
    return 1;
  infer (graph, &checked);
  checked_graph_print_faults (grammar, path, json);
  checked_graph_print_faults (checked.faults, path, json);
  if (output != NULL && !loom_graph_write_file (graph, output, &error))
    return command_fail (command, error);
  return loom_faults_count (grammar) + loom_faults_count (checked.faults) > 0;
}
