/* Readers of what an agent, a lecturer and a lecturer's students hand over, and of Studio's settings: messages of
 * `gradloom mcp`, proposals, recordings, files that are handed in, and window.ini with an administrator's studio.ini.
 */
#include "tests/fuzz/readers.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/mcp.h"
#include "engine/runs/loom-runs.h"
#include "ui/page/recording-file.h"
#include "ui/settings/studio-settings.h"

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,3\"/>"                      \
  "<node id=\"y\" op=\"output\"/><wire from=\"x\" to=\"y\"/></graph>"

static char *
path_of (const char *name)
{
  return g_build_filename (fuzz_folder (), name, NULL);
}

static void
write_text (const char *name, const char *text)
{
  fuzz_write (name, text, strlen (text));
}

/* ---- gradloom mcp -------------------------------------------------------- */

/* Commands with an option of each type; none is started. */
static const GOptionEntry options[] = { { "json", 0, 0, G_OPTION_ARG_NONE, NULL, "", NULL },
                                        { "batch-size", 0, 0, G_OPTION_ARG_STRING, NULL, "", "N" },
                                        { "steps", 0, 0, G_OPTION_ARG_INT64, NULL, "", "N" },
                                        { "epochs", 0, 0, G_OPTION_ARG_INT, NULL, "", "N" },
                                        { "lr", 0, 0, G_OPTION_ARG_DOUBLE, NULL, "", "X" },
                                        { "passes", 0, 0, G_OPTION_ARG_STRING_ARRAY, NULL, "", "NAME" },
                                        { NULL } };
const Command *const *
commands_described (guint *n)
{
  static const char *const names[] = { "check", "ops", "plan", "program", "simulate", "train", "eval", "diff" };
  static Command command[G_N_ELEMENTS (names)];
  static const Command *table[G_N_ELEMENTS (names)];

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      command[i] = (Command){ .name = names[i], .summary = names[i], .options = options };
      table[i] = &command[i];
    }
  *n = G_N_ELEMENTS (names);
  return table;
}

/* In place of GIO's. */
GSubprocess *g_subprocess_launcher_spawnv (GSubprocessLauncher *self, const char *const *argv, GError **error);

GSubprocess *
g_subprocess_launcher_spawnv (GSubprocessLauncher *self, const char *const *argv, GError **error)
{
  g_assert_nonnull (argv[1]);
  g_set_error_literal (error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "No command is started here.");
  return NULL;
}

/* Messages, a line each, of one session. An answer is a line of JSON with the id of a request. */
static void
run_mcp (const FuzzReader *self, const guint8 *data, gsize size)
{
  const guint8 *end = data + size;
  McpServer server = { 0 };
  g_autoptr (Mcp) tools = NULL;

  write_text ("agent/small.xml", GRAPH);
  g_autofree char *root = path_of ("agent");
  tools = mcp_new (root, NULL);
  g_assert_nonnull (tools);
  server.tools = tools;
  for (int i = 0; data < end && i < 8; i++)
    {
      const guint8 *line_end = memchr (data, '\n', (gsize)(end - data));
      const gsize n = (gsize)((line_end != NULL ? line_end : end) - data);
      g_autofree char *line = g_strndup ((const char *)data, n);
      g_autoptr (JsonParser) parser = json_parser_new ();
      char *answer = NULL;
      size_t length = 0;

      server.out = open_memstream (&answer, &length);
      mcp_server_read (&server, line, n);
      fclose (server.out);
      if (length > 0)
        {
          g_assert_true (answer[length - 1] == '\n' && memchr (answer, '\n', length) == answer + length - 1);
          g_assert_true (json_parser_load_from_data (parser, answer, (gssize)length, NULL));
          g_assert_true (json_object_has_member (json_node_get_object (json_parser_get_root (parser)), "id"));
        }
      free (answer);
      data += n + 1;
    }
}

/* ---- proposals, and files that are handed in ----------------------------- */

static void
run_proposal (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *graph = path_of ("proposed.xml");
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProposal) proposal = NULL;

  fuzz_write ("proposed.xml" LOOM_PROPOSAL_SUFFIX, data, size);
  proposal = loom_proposal_read (graph, &error);
  if (proposal == NULL)
    fuzz_check_error (error);
  else
    {
      g_autoptr (LoomProposal) again = NULL;

      /* What was read can be written, and is the same. */
      g_assert_true (loom_proposal_write (proposal, graph, &error));
      again = loom_proposal_read (graph, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (again->title, ==, proposal->title);
      g_assert_cmpstr (again->graph, ==, proposal->graph);
    }
}

#define CHECKSUM ",\"checksum\":\""

/* The bytes are what comes before the checksum. */
static void
run_hand_in (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *path = path_of ("student.gradloom"),
                  *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
  g_autoptr (GString) text = g_string_new_len ((const char *)data, (gssize)size);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomHandIn) hand_in = NULL;

  g_string_append_printf (text, CHECKSUM "%s\"}\n", sum);
  fuzz_write ("student.gradloom", text->str, text->len);
  hand_in = loom_hand_in_read (path, &error);
  if (hand_in == NULL)
    fuzz_check_error (error);
  else
    g_free (loom_hand_in_to_text (hand_in));
}

static void
add_hand_ins (const FuzzReader *self, GPtrArray *seeds)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomHandIn) trained = loom_hand_in_new (fuzz_run (), "Ada", &error);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (GRAPH, strlen (GRAPH), "small", faults, NULL);
  g_autoptr (LoomHandIn) plain = loom_hand_in_new_untrained (graph, "Grace");

  g_assert_no_error (error);
  loom_hand_in_add_answer (plain, 2, "A page", "0.25");
  for (int i = 0; i < 2; i++)
    {
      g_autofree char *text = loom_hand_in_to_text (i == 0 ? trained : plain);

      g_ptr_array_add (seeds, g_bytes_new (text, (gsize)(g_strrstr (text, CHECKSUM) - text)));
    }
}

/* ---- recordings ---------------------------------------------------------- */

static void
run_recording (const FuzzReader *self, const guint8 *data, gsize size)
{
  g_autofree char *path = path_of ("a" RECORDING_SUFFIX);
  g_autoptr (GError) error = NULL;
  g_autoptr (Recording) recording = NULL;

  fuzz_write ("a" RECORDING_SUFFIX, data, size);
  recording = recording_read (path, &error);
  if (recording == NULL)
    fuzz_check_error (error);
  else
    g_assert_true (recording->graph != NULL && recording_get_length (recording) >= 0);
}

/* ---- settings ------------------------------------------------------------ */

static char *state;

static void
remove_folders (void)
{
  g_autofree char *folder = g_build_filename (state, "gradloom", NULL);
  g_autofree char *user = g_build_filename (folder, "window.ini", NULL),
                  *presets = g_build_filename (folder, "studio.ini", NULL);

  g_remove (user);
  g_remove (presets);
  g_rmdir (folder);
  g_rmdir (state);
}

/* GLib asks for these folders once. Each process has its own. */
__attribute__ ((constructor)) static void
set_folders (void)
{
  state = g_dir_make_tmp ("gradloom-fuzz-settings-XXXXXX", NULL);
  g_assert_nonnull (state);
  atexit (remove_folders);
  g_setenv ("XDG_STATE_HOME", state, TRUE);
  g_setenv ("XDG_CONFIG_DIRS", state, TRUE);
}

/* The first half is the user's file, the second the administrator's. */
static void
run_settings (const FuzzReader *self, const guint8 *data, gsize size)
{
  static const char *const keys[] = { "width", "welcome", "sound", "history-megabytes", "a" };
  g_autofree char *folder = g_build_filename (state, "gradloom", NULL);
  g_autofree char *user = g_build_filename (folder, "window.ini", NULL),
                  *presets = g_build_filename (folder, "studio.ini", NULL);
  g_autofree char *kept = NULL;

  g_assert_no_errno (g_mkdir_with_parents (folder, 0700));
  g_assert_true (
      g_file_set_contents_full (user, (const char *)data, (gssize)(size / 2), G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  g_assert_true (g_file_set_contents_full (presets, (const char *)data + size / 2, (gssize)(size - size / 2),
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_autofree char *text = studio_settings_dup_string (keys[i]);

      studio_settings_get_boolean (keys[i], TRUE);
    }
  g_assert_cmpint (studio_settings_get_history (), >=, 0);
  g_assert_cmpint (studio_settings_get_history (), <=, STUDIO_SETTINGS_HISTORY_MOST);
  studio_settings_set_string ("a", "kept");
  kept = studio_settings_dup_string ("a");
  g_assert_cmpstr (kept, ==, "kept");
}

static const char *const mcp_words[] = { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"",
                                         "tools/call",
                                         "tools/list",
                                         "initialize",
                                         "server/discover",
                                         "ping",
                                         "\"params\":{",
                                         "\"name\":\"propose\"",
                                         "\"name\":\"check\"",
                                         "\"name\":\"train\"",
                                         "\"name\":\"withdraw\"",
                                         "\"name\":\"plan\"",
                                         "\"arguments\":{",
                                         "\"graph\":\"small.xml\"",
                                         "\"graph\":\"../small.xml\"",
                                         "\"graph\":\"/etc/passwd\"",
                                         "\"xml\":\"<graph/>\"",
                                         "\"title\":\"t\"",
                                         "\"run\":\"run-1\"",
                                         "\"steps\":99999999999",
                                         "\"lr\":1e309",
                                         "\"passes\":[\"a\"]",
                                         "\"json\":true",
                                         "\\u0000",
                                         "null",
                                         "{",
                                         "}",
                                         "[",
                                         "\n",
                                         "\xff",
                                         NULL };
static const char *const ini_words[]
    = { "[window]\n", "a=b\n", "history-megabytes=", "9223372036854775808", "true", "\\", "\n", "[", "]", "=",
        "\xff",       NULL };

#define CALL(NAME, ARGUMENTS)                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" NAME                               \
  "\",\"arguments\":{" ARGUMENTS "},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}\n"
#define OTHER                                                                                                          \
  "<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,3'/><node id='r' op='relu'/>"        \
  "<node id='y' op='output'/><wire from='x' to='r'/><wire from='r' to='y'/></graph>"

const FuzzReader fuzz_agent_readers[] = {
  { "mcp", run_mcp, FUZZ_WORDS,
    .text
    = { CALL ("read", "\"graph\":\"small.xml\"") CALL ("check", "\"xml\":\"<graph/>\",\"json\":true,\"batch-size\":3")
            CALL ("train", "\"graph\":\"small.xml\",\"lr\":0.5"),
        CALL ("propose", "\"graph\":\"small.xml\",\"xml\":\"" OTHER "\",\"title\":\"t\",\"reason\":\"r\"")
            CALL ("withdraw", "\"graph\":\"small.xml\""),
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n" },
    .words = mcp_words },
  { "proposal", run_proposal, FUZZ_WORDS,
    .text = { "{\"format\":\"gradloom proposal\",\"version\":1,\"title\":\"t\",\"reason\":\"r\",\"base\":\"0\","
              "\"graph\":\"<graph/>\"}" } },
  { "recording", run_recording, FUZZ_WORDS,
    .text
    = { "{\"recording\":1,\"title\":\"t\",\"graph\":\"<graph/>\"}\n{\"at\":0,\"selection\":\"x\"}\n"
        "{\"at\":1.5,\"run\":{\"event\":\"step\",\"step\":1,\"metrics\":{\"m\":0.5}}}\n{\"at\":2,\"note\":\"\"}\n",
        "{\"recording\":[1],\"title\":{},\"graph\":\"\"}\n" } },
  { "hand-in", run_hand_in, FUZZ_WORDS, .add = add_hand_ins },
  { "settings", run_settings, FUZZ_WORDS,
    .text = { "[window]\nwidth=3\nhistory-megabytes=7\na=b\n[window]\nwelcome=false\nhistory-megabytes=999999\n" },
    .words = ini_words },
  { NULL },
};
