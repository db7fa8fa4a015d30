/* Implements grade-class.h. */
#include "tests/cli/grade-class.h"
#include "tests/scratch.h"

#include <math.h>
#include <string.h>

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  const Way way = *(const Way *)data;

  if (step->step != CLASS_CHANGE)
    return;
  if (way == RATE)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "lr", 0.01);
  else if (way == BATCH)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 32);
  else if (way == PAUSED)
    {
      loom_trainer_post (trainer, LOOM_COMMAND_PAUSE, NULL, 0);
      loom_trainer_post (trainer, LOOM_COMMAND_RESUME, NULL, 0);
    }
  else if (way == STOPPED)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
}

LoomHandIn *
class_train (gint64 seed, Way way, int epochs, const char *name)
{
  static const LoomTrainerObserver observer = { .step = step_cb };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (CLASS_KEY, faults, &error);
  const LoomTrainerOptions options = { .out = "run",
                                       .lr = NAN,
                                       .seed = seed,
                                       .epochs = epochs,
                                       .batch_size = way == OTHER_BATCH ? 50 : 0,
                                       .threads = 1,
                                       .history = -1 };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  LoomHandIn *hand_in;

  g_assert_no_error (error);
  loom_trainer_set_observer (trainer, &observer, &way);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  hand_in = loom_hand_in_new ("run", name, &error);
  g_assert_no_error (error);
  loom_hand_in_add_answer (hand_in, 2, "How many?", "32");
  remove_tree ("run");
  return hand_in;
}

void
class_write_key (void)
{
  cli_write (CLASS_KEY,
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"Two spirals\">\n"
             "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"
             "<node id=\"hidden\" op=\"linear\" out_features=\"32\"/>\n<node id=\"act\" op=\"relu\"/>\n"
             "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"
             "<wire from=\"data.x\" to=\"hidden\"/>\n<wire from=\"hidden\" to=\"act\"/>\n"
             "<wire from=\"act\" to=\"scores\"/>\n<wire from=\"scores\" to=\"loss.input\"/>\n"
             "<wire from=\"data.y\" to=\"loss.target\"/>\n"
             "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.03\" batch_size=\"64\" epochs=\"3\">\n"
             "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/>\n</train>\n"
             "<lesson title=\"Spirals\"><page title=\"Train\" goal=\"step above 20, val_accuracy above 0.5\"/>\n"
             "<page title=\"How many?\" goal=\"answer 32\"/><page title=\"Why?\" goal=\"answer\"/>\n"
             "<page title=\"Look\" goal=\"selected hidden\"/></lesson>\n</graph>\n");
}

void
class_substitute (char **text, const char *pattern, const char *with, guint which)
{
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  GString *changed;
  int start, end;

  g_regex_match (regex, *text, 0, &match);
  for (guint i = 0; i < which; i++)
    g_assert_true (g_match_info_next (match, NULL));
  g_assert_true (g_match_info_fetch_pos (match, 0, &start, &end));
  changed = g_string_new_len (*text, start);
  g_string_append (changed, with);
  g_string_append (changed, *text + end);
  g_free (*text);
  *text = g_string_free (changed, FALSE);
}

void
graded_clear (Graded *self)
{
  cli_clear (&self->result);
  g_ptr_array_unref (self->parsers);
  g_hash_table_unref (self->row);
}

Graded
class_grade (const char *what, const char *option)
{
  Graded self = { .parsers = g_ptr_array_new_with_free_func (g_object_unref),
                  .row = g_hash_table_new (g_str_hash, g_str_equal) };
  g_auto (GStrv) line = NULL;

  self.result = cli ("grade", what, "--key", CLASS_KEY, "-o", "grades.csv", "--json", option, NULL);
  if (self.result.status != 0)
    g_error ("status %d: %s", self.result.status, self.result.err);
  line = g_strsplit (g_strchomp (self.result.out), "\n", -1);
  for (guint i = 0; line[i] != NULL; i++)
    {
      JsonParser *parser = json_parser_new ();

      g_assert_true (json_parser_load_from_data (parser, line[i], -1, NULL));
      g_ptr_array_add (self.parsers, parser);
      JsonObject *row = json_node_get_object (json_parser_get_root (parser));
      g_hash_table_insert (self.row, (gpointer)json_object_get_string_member (row, "file"), row);
    }
  return self;
}

char *
class_expect (const Graded *graded, const char *file, const char *verdict)
{
  JsonObject *row = g_hash_table_lookup (graded->row, file);
  GString *all = g_string_new (NULL);

  g_assert_nonnull (row);
  JsonArray *list = json_object_get_array_member (row, "findings");
  for (guint i = 0; i < json_array_get_length (list); i++)
    g_string_append_printf (all, "%s\n", json_array_get_string_element (list, i));
  if (!g_str_equal (json_object_get_string_member (row, "verdict"), verdict))
    g_error ("%s: %s, not %s: %s", file, json_object_get_string_member (row, "verdict"), verdict, all->str);
  return g_string_free (all, FALSE);
}
