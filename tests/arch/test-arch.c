/* The architecture as a test: who may include whom, and which symbols a box may ask for.
 *
 * Includes are read from the sources, by path from the root. Symbols come from the objects that were built, through nm:
 * a declaration smuggled past the include rule shows there. The rules stand in one table; a new box is a new row. */
#include <gio/gio.h>
#include <string.h>

typedef struct
{
  const char *box;         /* folder; the longest match owns a file */
  const char *may[28];     /* project includes besides its own folder: prefixes, or "FOLDER/" and an asterisk for the
                            * headers    that lie in it, not below */
  const char *system[10];  /* prefixes of system includes that are refused */
  const char *symbols[12]; /* prefixes of undefined symbols that are refused */
} Rule;

/* Pictures are decoded in engine/data and nowhere else: gdk-pixbuf is no part of GTK. */
#define NO_GUI_HEADERS "gtk/", "gdk/", "gdk-pixbuf/", "adwaita", "cairo", "pango/"
#define NO_GUI         "gtk_", "gdk_", "adw_", "cairo_"
/* Studio reads graphs and results; a worker plans and computes. */
#define NO_STEPS "loom_plan", "loom_devices", "loom_state", "loom_eager", "loom_exec", "loom_trainer", "loom_predictor"

/* The box's README says the same: see test_readmes(). */
static const Rule rules[] = {
  { "kernels/ref",
    { "kernels/*" },
    { "glib", "gio/", "gtk/", "omp", "oneapi", "dnnl", "cuda" },
    { "g_", "omp_", "dnnl_", "loom_graph", "loom_program" } },
  { "kernels/cpu",
    { "kernels/*" },
    { "glib", "gio/", "gtk/", "cuda" },
    { "g_", "cuda", "loom_graph", "loom_program" } },
  { "kernels/cuda", { "kernels/*" }, { "glib", "gio/", "gtk/", "dnnl" }, { "g_", "dnnl_" } },
  { "kernels/comm", { "kernels/*" }, { "glib", "gio/", "gtk/", "omp", "dnnl", "cuda" }, { "g_", "cuda", "dnnl_" } },
  { "kernels", { "kernels/*" }, { "glib", "gio/", "gtk/" }, { NULL } },
  { "engine/core",
    { "kernels/dtype.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/graph", { "engine/core/" }, { NO_GUI_HEADERS, "json-glib/", "cuda" }, { NO_GUI, "dnnl_", "cuda" } },
  { "engine/program",
    { "engine/core/", "kernels/attention.h", "kernels/backend.h", "kernels/comm.h", "kernels/move.h",
      "kernels/optim.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/ops",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/net",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/fix",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/", "engine/net/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/recipe",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/", "engine/net/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/lesson",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/", "engine/net/",
      "engine/recipe/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/template",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/interop/", "engine/ops/",
      "engine/net/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/diff",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/", "engine/recipe/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/plan",
    { "engine/core/", "engine/program/", "kernels/attention.h", "kernels/backend.h", "kernels/comm.h", "kernels/move.h",
      "kernels/norm.h", "kernels/options.h", "kernels/product.h", "kernels/shape.h", "kernels/tools.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  /* Types and accessors of engine/plan only: a checker that called a pass would repeat its mistakes. */
  { "engine/check",
    { "engine/core/", "engine/program/", "engine/plan/", "kernels/backend.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda", "graph_", "node_", "pass_", "plan_" } },
  { "engine/run",
    { "engine/core/", "engine/program/", "engine/plan/", "engine/interop/", "kernels/comm.h", "kernels/philox.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/onnx",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/interop/", "engine/ops/",
      "engine/net/", "engine/recipe/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/pytorch",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/ops/", "engine/net/",
      "engine/recipe/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/interop", { "engine/core/" }, { NO_GUI_HEADERS, "libxml/", "cuda" }, { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/data",
    { "engine/core/", "engine/interop/", "kernels/comm.h", "kernels/philox.h" },
    { "gtk/", "gdk/", "adwaita", "cairo", "pango/", "libxml/", "cuda" },
    { "gtk_", "gdk_display", "adw_", "cairo_", "xml", "dnnl_", "cuda" } },
  { "engine/infer",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/interop/", "engine/ops/",
      "engine/net/", "engine/recipe/", "engine/plan/", "engine/run/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/runs",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/interop/", "engine/ops/",
      "engine/net/", "engine/recipe/", "engine/plan/", "engine/run/", "engine/infer/", "engine/diff/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/train",
    { "engine/core/", "engine/graph/", "engine/program/", "engine/data/", "engine/interop/", "engine/ops/",
      "engine/net/", "engine/recipe/", "engine/plan/", "engine/run/", "engine/infer/" },
    { NO_GUI_HEADERS, "libxml/", "cuda" },
    { NO_GUI, "xml", "dnnl_", "cuda" } },
  { "engine/dist",
    { "engine/core/", "kernels/comm.h" },
    { NO_GUI_HEADERS, "libxml/", "cuda", "mpi" },
    { NO_GUI, "xml", "dnnl_", "cuda", "MPI_" } },
  { "engine/api",
    { "engine/loom-run.h" },
    { NO_GUI_HEADERS, "libxml/", "json-glib/", "cuda" },
    { NO_GUI, "dnnl_", "cuda" } },
  { "engine", { "engine/" }, { NO_GUI_HEADERS, "cuda" }, { NULL } },
  { "ui/scene", { "engine/loom.h" }, { NO_GUI_HEADERS, "cuda", "libxml/" }, { NULL } },
  { "ui/layout", { "ui/scene/", "engine/loom.h" }, { NO_GUI_HEADERS, "cuda", "libxml/" }, { NO_STEPS } },
  { "ui/drawing",
    { "ui/scene/", "ui/layout/", "engine/loom.h" },
    { "gtk/", "gdk/", "adwaita", "cuda", "libxml/" },
    { "gtk_", "gdk_", "adw_", "gsk_", "cuda", NO_STEPS } },
  { "ui/document",
    { "ui/scene/", "ui/layout/", "engine/fix/", "engine/loom.h" },
    { NO_GUI_HEADERS, "cuda", "libxml/" },
    { NULL } },
  { "ui/charts", { "ui/scene/", "ui/drawing/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/canvas",
    { "ui/scene/", "ui/layout/", "ui/drawing/", "ui/document/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/palette", { "ui/scene/", "ui/document/", "ui/canvas/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/history", { "ui/scene/", "ui/drawing/", "ui/document/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/listing",
    { "ui/scene/", "ui/document/", "engine/pytorch/loom-pytorch.h", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/inspector",
    { "ui/scene/", "ui/document/", "ui/drawing/", "ui/charts/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/training",
    { "ui/document/", "ui/charts/", "ui/inspector/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/task", { "ui/scene/", "ui/drawing/", "ui/charts/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/worker", { "engine/loom.h", "engine/runs/loom-run-host.h", "data/" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/run",
    { "ui/scene/", "ui/task/", "ui/document/", "ui/charts/", "ui/settings/", "ui/training/", "ui/worker/",
      "engine/runs/loom-run-host.h", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/runs",
    { "ui/scene/", "ui/document/", "ui/charts/", "ui/run/", "engine/loom.h", "engine/runs/loom-runs.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/evaluate",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/charts/", "ui/task/", "ui/run/", "ui/worker/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/pins",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/canvas/", "ui/charts/", "ui/task/", "ui/training/", "ui/run/",
      "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/stepper",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/charts/", "ui/canvas/", "ui/run/", "ui/worker/",
      "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/timeline",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/canvas/", "ui/charts/", "ui/run/", "ui/worker/",
      "engine/train/loom-trace-times.h", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/lesson",
    { "ui/document/", "ui/charts/", "ui/canvas/", "ui/palette/", "ui/run/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/present", { "ui/document/", "ui/canvas/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/settings", { "ui/scene/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/shell", { "ui/charts/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/start",
    { "ui/scene/", "ui/layout/", "ui/drawing/", "ui/charts/", "ui/task/", "ui/shell/", "engine/loom.h",
      "engine/train/loom-rehearsal.h", "engine/data/loom-parquet.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/export",
    { "ui/scene/", "ui/drawing/", "ui/charts/", "ui/worker/", "ui/shell/", "engine/interop/loom-export-format.h",
      "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/help",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/charts/", "ui/lesson/", "ui/shell/", "ui/start/",
      "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/page",
    { "ui/scene/",   "ui/layout/",   "ui/drawing/", "ui/document/",  "ui/charts/",   "ui/canvas/", "ui/palette/",
      "ui/export/",  "ui/history/",  "ui/listing/", "ui/inspector/", "ui/training/", "ui/task/",   "ui/run/",
      "ui/runs/",    "ui/evaluate/", "ui/pins/",    "ui/stepper/",   "ui/timeline/", "ui/worker/", "ui/lesson/",
      "ui/present/", "ui/settings/", "ui/shell/",   "ui/start/",     "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/window", { "ui/" }, { "cuda", "libxml/" }, { NULL } },
  { "ui", { "engine/loom.h" }, { NULL }, { "dnnl_", "cuda", NO_STEPS } },
  { "app/shared", { "engine/loom-run.h" }, { NO_GUI_HEADERS, "cuda" }, { NO_GUI, "dnnl_", "cuda" } },
  /* The laboratory knows no header of the product, nor the product one of the laboratory. */
  { "app/lab", { "app/shared/", "engine/loom-lab.h" }, { NO_GUI_HEADERS, "cuda" }, { NO_GUI, "dnnl_", "cuda" } },
  { "app/report",
    { "app/shared/", "engine/loom-run.h", "engine/runs/loom-runs.h", "ui/scene/", "ui/drawing/", "ui/charts/" },
    { "gtk/", "gdk/", "adwaita", "cuda" },
    { "gtk_", "gdk_", "adw_", "dnnl_", "cuda" } },
  { "app/gradloom-studio", { "ui/", "app/shared/truncated.h", "engine/loom.h" }, { "cuda" }, { "dnnl_" } },
  { "app",
    { "app/shared/", "engine/fix/loom-fix.h", "engine/loom-run.h", "engine/runs/loom-runs.h", "data/",
      "app/report/report.h", "engine/interop/loom-export-format.h", "ui/drawing/draw-step-memory.h",
      "ui/drawing/studio-picture.h", "ui/layout/studio-layout.h", "ui/scene/studio-scene-part.h" },
    { NO_GUI_HEADERS, "cuda" },
    { NO_GUI, "dnnl_", "cuda" } },
};

/* Headers that the build makes: they have no folder in the tree, and stand in quotes without one. */
static const struct
{
  const char *header, *boxes[3];
} generated[] = {
  { "gradloom-icons.h", { "ui/drawing", "ui/window" } },
  { "gradloom-code.h", { "ui/help" } },
  { "gradloom-library.h", { "app", "ui/document" } },
  { "gradloom-resources.h", { "ui/window" } },
  { "loom-costs-shipped.inc", { "engine/plan" } },
  { "loom-worker-bus.h", { "ui/worker", "ui/pins", "app" } },
  { "onnx.pb-c.h", { "engine/onnx" } },
};

static char *
root_of (const char *variable)
{
  const char *root = g_getenv (variable);

  g_assert_nonnull (root);
  return g_strdup (root);
}

static void
collect (const char *folder, GPtrArray *files, const char *const *suffixes)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        collect (path, files, suffixes);
      else
        for (guint i = 0; suffixes[i] != NULL; i++)
          if (g_str_has_suffix (name, suffixes[i]))
            g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

static const Rule *
rule_of (const char *relative)
{
  const Rule *best = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_has_prefix (relative, rules[i].box) && relative[strlen (rules[i].box)] == '/'
        && (best == NULL || strlen (rules[i].box) > strlen (best->box)))
      best = &rules[i];
  return best;
}

static gboolean
has_prefix_of (const char *text, const char *const *prefixes, guint n)
{
  for (guint i = 0; i < n && prefixes[i] != NULL; i++)
    if (g_str_has_prefix (text, prefixes[i]))
      return TRUE;
  return FALSE;
}

/* Whether a rule lets its box include this path. */
static gboolean
may_include (const Rule *rule, const char *target)
{
  for (guint i = 0; i < G_N_ELEMENTS (rule->may) && rule->may[i] != NULL; i++)
    {
      gsize n = strlen (rule->may[i]);

      if (rule->may[i][n - 1] != '*'
              ? g_str_has_prefix (target, rule->may[i])
              : strncmp (target, rule->may[i], n - 1) == 0 && strchr (target + n - 1, '/') == NULL)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_generated (const Rule *rule, const char *header)
{
  for (guint i = 0; i < G_N_ELEMENTS (generated); i++)
    for (guint k = 0; k < G_N_ELEMENTS (generated[i].boxes) && generated[i].boxes[k] != NULL; k++)
      if (strcmp (generated[i].header, header) == 0 && strcmp (generated[i].boxes[k], rule->box) == 0)
        return TRUE;
  return FALSE;
}

/* One #include line; a sentence when it breaks the rule. */
static char *
check_include (const Rule *rule, const char *target, gboolean quoted)
{
  if (!quoted)
    return has_prefix_of (target, rule->system, G_N_ELEMENTS (rule->system))
               ? g_strdup_printf ("%s must not know <%s>", rule->box, target)
               : NULL;
  if (g_str_has_suffix (target, "-private.h"))
    {
      g_autofree char *folder = g_path_get_dirname (target);

      return g_str_equal (folder, rule->box) ? NULL : g_strdup_printf ("\"%s\" is private to %s", target, folder);
    }
  /* The checker knows the forms of a program and a plan, not how they are made. */
  if (strcmp (rule->box, "engine/check") == 0
      && g_regex_match_simple ("^engine/(plan|program)/(?!loom-)", target, 0, 0))
    return g_strdup_printf ("%s must not know \"%s\", which is no form of a program or a plan", rule->box, target);
  if (strchr (target, '/') == NULL)
    return is_generated (rule, target) ? NULL
                                       : g_strdup_printf ("\"%s\" has no folder: write its path from the root", target);
  if (rule_of (target) == rule || may_include (rule, target))
    return NULL;
  return g_strdup_printf ("%s must not know \"%s\"", rule->box, target);
}

/* Calls func for each #include of the program's own sources. */
typedef void (*IncludeFunc) (const char *file, const Rule *rule, const char *target, gboolean quoted, gpointer data);

static void
foreach_include (IncludeFunc func, gpointer data)
{
  static const char *const suffixes[] = { ".c", ".h", ".cu", ".cuh", NULL };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) include = g_regex_new ("^\\s*#\\s*include\\s+([<\"])([^>\"]+)[>\"]", G_REGEX_MULTILINE, 0, NULL);

  for (guint i = 0; i < 4; i++)
    {
      static const char *const tops[] = { "kernels", "engine", "ui", "app" };
      g_autofree char *folder = g_build_filename (root, tops[i], NULL);

      collect (folder, files, suffixes);
    }
  g_assert_cmpuint (files->len, >, 50);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i), *relative = path + strlen (root) + 1;
      const Rule *rule = rule_of (relative);
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_nonnull (rule);
      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      for (g_regex_match (include, text, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
        {
          g_autofree char *bracket = g_match_info_fetch (match, 1), *target = g_match_info_fetch (match, 2);

          func (relative, rule, target, bracket[0] == '"', data);
        }
    }
}

static void
count_fault (const char *file, const Rule *rule, const char *target, gboolean quoted, gpointer data)
{
  guint *wrong = data;
  g_autofree char *fault = check_include (rule, target, quoted);

  if (fault == NULL)
    return;
  g_test_message ("%s: %s", file, fault);
  ++*wrong;
}

static void
test_includes (void)
{
  guint wrong = 0;

  foreach_include (count_fault, &wrong);
  g_assert_cmpuint (wrong, ==, 0);
}

static int
compare_words (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* "ui/{scene, charts}" as "ui/scene ui/charts". */
static gboolean
expand_braces_cb (const GMatchInfo *match, GString *result, gpointer data)
{
  g_autofree char *before = g_match_info_fetch (match, 1), *inside = g_match_info_fetch (match, 2);
  g_autofree char *after = g_match_info_fetch (match, 3);
  g_auto (GStrv) names = g_strsplit (inside, ",", -1);

  for (guint i = 0; names[i] != NULL; i++)
    g_string_append_printf (result, "%s%s%s ", before, g_strstrip (names[i]), after);
  return FALSE;
}

/* Folders and headers of a README's sentence "may include …" or "may depend on …", sorted and without what else a
 * sentence contains: `engine/core`, engine/core, `engine/{core, graph}` or, in ui/, "the document". NULL: it has no
 * such sentence. */
static GPtrArray *
read_readme (const char *root, const char *box)
{
  g_autofree char *file = g_build_filename (root, box, "README.md", NULL), *text = NULL;
  g_autoptr (GRegex) sentence
      = g_regex_new ("[Mm]ay\\s+(?:include|depend\\s+on)\\b(.*?)[.:;](?=\\s|$)", G_REGEX_DOTALL, 0, NULL);
  g_autoptr (GRegex) name = g_regex_new (
      "\\b((?:kernels|engine|ui|app|data)/[\\w./*-]*)|\\bthe (scene|document|canvas|inspector|palette|run)\\b", 0, 0,
      NULL);
  g_autoptr (GRegex) braces = g_regex_new ("([a-z]+/)\\{([^}]*)\\}([\\w.]*)", 0, 0, NULL);
  g_autoptr (GMatchInfo) found = NULL;
  GPtrArray *names;

  if (!g_file_get_contents (file, &text, NULL, NULL) || !g_regex_match (sentence, text, 0, &found))
    return NULL;
  names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *sentence_text = g_match_info_fetch (found, 1);
  g_autofree char *said = g_regex_replace_eval (braces, sentence_text, -1, 0, 0, expand_braces_cb, NULL, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  for (g_regex_match (name, said, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      g_autofree char *path = g_match_info_fetch (match, 1), *word = g_match_info_fetch (match, 2);

      if (g_str_has_suffix (path, "/"))
        path[strlen (path) - 1] = 0;
      if (strcmp (path, "engine/loom.h") != 0
          || !g_str_has_prefix (box, "ui/")) /* for all of ui/ its own README says it */
        g_ptr_array_add (names, path[0] != 0 ? g_steal_pointer (&path) : g_strconcat ("ui/", word, NULL));
    }
  g_ptr_array_sort (names, compare_words);
  return names;
}

/* A box's README says what its row in the table says. ui/window may include all of ui/, and engine/ and ui/ themselves
 * are no boxes. */
static void
test_readmes (void)
{
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  guint wrong = 0, n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      const Rule *rule = &rules[i];
      g_autoptr (GPtrArray) said = read_readme (root, rule->box), may = g_ptr_array_new_with_free_func (g_free);
      g_autofree char *is = NULL, *should = NULL;

      if (g_str_has_prefix (rule->box, "kernels/") || strcmp (rule->box, "ui/window") == 0
          || strcmp (rule->box, "app/gradloom-studio") == 0
          || (strchr (rule->box, '/') == NULL && strcmp (rule->box, "app") != 0))
        continue;
      for (guint k = 0; k < G_N_ELEMENTS (rule->may) && rule->may[k] != NULL; k++)
        if (strcmp (rule->may[k], "engine/loom.h") != 0 || !g_str_has_prefix (rule->box, "ui/"))
          g_ptr_array_add (may, g_strndup (rule->may[k], strlen (rule->may[k]) - g_str_has_suffix (rule->may[k], "/")));
      g_ptr_array_sort (may, compare_words);
      g_ptr_array_add (may, NULL);
      should = g_strjoinv (", ", (char **)may->pdata);
      if (said != NULL)
        g_ptr_array_add (said, NULL);
      is = said != NULL ? g_strjoinv (", ", (char **)said->pdata) : g_strdup ("nothing");
      n++;
      if (strcmp (is, should) == 0)
        continue;
      g_test_message ("%s/README.md says that it may include %s; its rule is %s", rule->box, is, should);
      wrong++;
    }
  g_assert_cmpuint (n, >, 20);
  g_assert_cmpuint (wrong, ==, 0);
}

/* Which boxes a box includes from: GPtrArray of Rule by Rule. */
static void
note_arrow (const char *file, const Rule *rule, const char *target, gboolean quoted, gpointer data)
{
  const Rule *to = quoted && strchr (target, '/') != NULL ? rule_of (target) : NULL;
  GPtrArray *arrows = g_hash_table_lookup (data, rule);

  if (arrows == NULL)
    g_hash_table_insert (data, (gpointer)rule, arrows = g_ptr_array_new ());
  if (to != NULL && to != rule && !g_ptr_array_find (arrows, to, NULL))
    g_ptr_array_add (arrows, (gpointer)to);
}

/* TRUE when a way leads from a box back to one that is on the way already. */
static gboolean
leads_back (GHashTable *arrows, const Rule *from, GPtrArray *way)
{
  GPtrArray *next = g_hash_table_lookup (arrows, from);

  if (g_ptr_array_find (way, from, NULL))
    {
      g_autoptr (GString) text = g_string_new (NULL);

      for (guint i = 0; i < way->len; i++)
        g_string_append_printf (text, "%s -> ", ((const Rule *)way->pdata[i])->box);
      g_test_message ("%s%s", text->str, from->box);
      return TRUE;
    }
  g_ptr_array_add (way, (gpointer)from);
  for (guint i = 0; next != NULL && i < next->len; i++)
    if (leads_back (arrows, next->pdata[i], way))
      return TRUE;
  g_ptr_array_set_size (way, (int)way->len - 1);
  return FALSE;
}

/* Boxes form no circle, whatever the table above would allow. engine/ itself is left out: its one header names what is
 * for others, and stands above all it names. */
static void
test_no_circle (void)
{
  g_autoptr (GHashTable) arrows = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);

  foreach_include (note_arrow, arrows);
  g_assert_cmpuint (g_hash_table_size (arrows), >, 15);
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      g_autoptr (GPtrArray) way = g_ptr_array_new ();

      g_assert_false (leads_back (arrows, &rules[i], way));
    }
}

/* The archives of the boxes; the box of each is the folder that it has in the source tree. */
static GPtrArray *
find_archives (const char *build)
{
  static const char *const suffixes[] = { ".a", NULL };
  GPtrArray *archives = g_ptr_array_new_with_free_func (g_free);

  collect (build, archives, suffixes);
  for (guint i = archives->len; i-- > 0;)
    if (rule_of ((char *)archives->pdata[i] + strlen (build) + 1) == NULL)
      g_ptr_array_remove_index (archives, i);
  g_assert_cmpuint (archives->len, >=, 12);
  return archives;
}

/* Names that nm lists for an archive, "U name" or "0000 T name". */
static GPtrArray *
list_symbols (const char *archive, const char *option)
{
  const char *argv[] = { "nm", "-g", option, archive, NULL };
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *output = NULL;
  g_auto (GStrv) lines = NULL;

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                               &output, NULL, NULL, NULL));
  lines = g_strsplit (output, "\n", -1);
  for (guint l = 0; lines[l] != NULL; l++)
    {
      const char *space = strrchr (lines[l], ' ');

      if (space != NULL && space > lines[l] && strchr ("UTDRBVW", space[-1]) != NULL)
        g_ptr_array_add (names, g_strdup (space + 1));
    }
  return names;
}

/* The rule that a symbol breaks, as a sentence: a foreign library's, or that of a box which the asking one may not
 * include. defined: symbol → Rule of the box that has it. */
static char *
check_symbol (const Rule *rule, const char *symbol, GHashTable *defined)
{
  const Rule *from = g_hash_table_lookup (defined, symbol);
  g_autofree char *folder = from != NULL ? g_strconcat (from->box, "/", NULL) : NULL;

  if (has_prefix_of (symbol, rule->symbols, G_N_ELEMENTS (rule->symbols)))
    return g_strdup_printf ("%s must not know the symbol %s", rule->box, symbol);
  /* Who may include the vtable may open back ends. */
  if (from == NULL || from == rule || !g_str_has_prefix (rule->box, "engine/") || may_include (rule, folder)
      || (g_str_has_prefix (from->box, "kernels/") && may_include (rule, "kernels/backend.h")))
    return NULL;
  return g_strdup_printf ("%s must not know the symbol %s, which is of %s", rule->box, symbol, from->box);
}

static void
test_symbols (void)
{
  g_autofree char *build = root_of ("GRADLOOM_BUILD_ROOT");
  g_autoptr (GPtrArray) archives = find_archives (build);
  g_autoptr (GHashTable) defined = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint wrong = 0;

  for (guint i = 0; i < archives->len; i++)
    {
      g_autoptr (GPtrArray) names = list_symbols (archives->pdata[i], "--defined-only");
      const Rule *rule = rule_of ((char *)archives->pdata[i] + strlen (build) + 1);

      for (guint k = 0; k < names->len; k++)
        g_hash_table_insert (defined, g_strdup (names->pdata[k]), (gpointer)rule);
    }
  g_assert_cmpuint (g_hash_table_size (defined), >, 1000);
  for (guint i = 0; i < archives->len; i++)
    {
      const char *relative = (char *)archives->pdata[i] + strlen (build) + 1;
      g_autoptr (GPtrArray) names = list_symbols (archives->pdata[i], "--undefined-only");

      for (guint k = 0; k < names->len; k++)
        {
          g_autofree char *fault = check_symbol (rule_of (relative), names->pdata[k], defined);

          if (fault != NULL)
            g_test_message ("%s: %s", relative, fault);
          wrong += fault != NULL;
        }
    }
  g_assert_cmpuint (wrong, ==, 0);
}

static char *
needed_libraries (const char *program)
{
  const char *argv[] = { "objdump", "-p", program, NULL };
  char *output = NULL;

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL, NULL, NULL));
  return output;
}

/* The command line and the laboratory start where there is no GTK and no CUDA. */
static void
test_command_line_links (void)
{
  static const char *const programs[] = { "gradloom", "lab/gradloom-lab" };
  static const char *const refused[] = { "libgtk", "libadwaita", "libcuda", "libcublas", "libmpi" };
  g_autofree char *build = root_of ("GRADLOOM_BUILD_ROOT");

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autofree char *program = g_build_filename (build, "app", programs[i], NULL), *needed = NULL;

      g_assert_true (g_file_test (program, G_FILE_TEST_IS_EXECUTABLE));
      needed = needed_libraries (program);
      g_assert_nonnull (strstr (needed, "NEEDED"));
      for (guint k = 0; k < G_N_ELEMENTS (refused); k++)
        if (strstr (needed, refused[k]) != NULL)
          g_error ("%s is linked with %s", programs[i], refused[k]);
    }
}

/* Only the programs end a process: below app/ and tests/ nothing calls exit or abort. */
static void
test_no_exit (void)
{
  static const char *const suffixes[] = { ".c", ".cu", NULL };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) call = g_regex_new ("(?<![A-Za-z_0-9>.])(exit|_exit|abort|quick_exit)\\s*\\(", 0, 0, NULL);

  for (guint i = 0; i < 3; i++)
    {
      static const char *const tops[] = { "kernels", "engine", "ui" };
      g_autofree char *folder = g_build_filename (root, tops[i], NULL);

      collect (folder, files, suffixes);
    }
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;

      g_assert_true (g_file_get_contents (g_ptr_array_index (files, i), &text, NULL, NULL));
      if (g_regex_match (call, text, 0, NULL))
        g_error ("%s calls exit or abort", (char *)g_ptr_array_index (files, i));
    }
}

/* The names of all operators, by the rows of engine/ops/op-*.c: a set of char *. (transfer full) */
static GHashTable *
find_operators (const char *root)
{
  static const char *const suffixes[] = { ".c", NULL };
  g_autofree char *folder = g_build_filename (root, "engine", "ops", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) row = g_regex_new ("^const LoomOp loom_op_(\\w+) =", G_REGEX_MULTILINE, 0, NULL);
  GHashTable *operators = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  collect (folder, files, suffixes);
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (files->pdata[i], &text, NULL, NULL));
      for (g_regex_match (row, text, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
        g_hash_table_add (operators, g_match_info_fetch (match, 1));
    }
  g_assert_cmpuint (g_hash_table_size (operators), >, 200);
  return operators;
}

/* An operator is loom_op_NAME, a const LoomOp. A function of that name in a shared file would link only until somebody
 * adds the operator, so the names of operators and of functions must not meet. */
static void
test_operator_names (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT"), *folder = g_build_filename (root, "engine", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) operators = find_operators (root);
  g_autoptr (GRegex) function = g_regex_new ("\\bloom_op_([a-z0-9_]+) \\(", 0, 0, NULL);
  guint wrong = 0, functions = 0;

  collect (folder, files, suffixes);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i);
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      for (g_regex_match (function, text, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
        {
          g_autofree char *name = g_match_info_fetch (match, 1);

          functions++;
          if (g_hash_table_contains (operators, name))
            {
              g_test_message ("%s has a function loom_op_%s; that is the name of an operator", path + strlen (root) + 1,
                              name);
              wrong++;
            }
        }
    }
  g_assert_cmpuint (functions, >, 50);
  g_assert_cmpuint (wrong, ==, 0);
}

/* Studio and the programs learn from LoomOp what an operator is: they name none. The words that are listed here name
 * ports, schedules, settings, parts of a data set, functions of typed values and signals too. */
static void
test_operators_by_name (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  static const char *const folders[] = { "ui", "app" };
  static const char *const words[]
      = { "input", "output",    "constant",  "shape", "norm",    "all",  "any",    "dot",      "full",
          "sum",   "threshold", "parameter", "split", "min",     "max",  "sqrt",   "floor",    "ceil",
          "round", "mean",      "linear",    "log",   "scatter", "fold", "unbind", "gradient", NULL };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) operators = find_operators (root);
  guint wrong = 0;

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (root, folders[i], NULL);

      collect (folder, files, suffixes);
    }
  g_assert_cmpuint (files->len, >, 100);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i);
      g_autofree char *text = NULL;
      GHashTableIter iter;
      const char *name;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      g_hash_table_iter_init (&iter, operators);
      while (g_hash_table_iter_next (&iter, (gpointer *)&name, NULL))
        {
          g_autofree char *literal = g_strdup_printf ("\"%s\"", name), *pattern = NULL;

          if (g_strv_contains (words, name) || strstr (text, literal) == NULL)
            continue;
          /* Members of --json may be called as operators are; a comparison means one. */
          pattern = g_strdup_printf ("(cmp0?|str_equal|loom_op|contains) \\([^;]*%s", literal);
          if (g_str_has_prefix (path + strlen (root) + 1, "app/") && !g_regex_match_simple (pattern, text, 0, 0))
            continue;
          g_test_message ("%s names the operator %s: ask its LoomOp (role, category, flags)", path + strlen (root) + 1,
                          name);
          wrong++;
        }
    }
  g_assert_cmpuint (wrong, ==, 0);
}

/* ---- the environment ---------------------------------------------------------- */

/* What texts say of the environment. */
typedef struct
{
  GHashTable *literals; /* names of variables in quotes that are known by their beginning, or the argument of a call */
  GHashTable *macros;   /* names that are macros in the calls */
  GHashTable *others;   /* calls with another expression, and other ways to reach the environment */
} Environment;

static void
environment_init (Environment *e)
{
  e->literals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  e->macros = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  e->others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
environment_clear (Environment *e)
{
  g_hash_table_unref (e->literals);
  g_hash_table_unref (e->macros);
  g_hash_table_unref (e->others);
}

static void
add_call (Environment *e, const char *arguments)
{
  const char *comma = strrchr (arguments, ',');
  g_autofree char *last = g_strstrip (g_strdup (comma != NULL ? comma + 1 : arguments));

  if (last[0] == '\0' || g_regex_match_simple ("^(const )?(char \\*|void)", last, 0, 0))
    return; /* a comment, or a declaration */
  if (g_regex_match_simple ("^\"\\w+\"$", last, 0, 0))
    g_hash_table_add (e->literals, g_strndup (last + 1, strlen (last) - 2));
  else if (g_regex_match_simple ("^[A-Z][A-Z0-9_]*$", last, 0, 0))
    g_hash_table_add (e->macros, g_steal_pointer (&last));
  else
    g_hash_table_add (e->others, g_steal_pointer (&last));
}

/* Any function whose name ends with getenv, with or without a blank; loom_env(); names of variables that stand in
 * tables; and the environment as a whole. */
static void
environment_read (Environment *e, const char *text)
{
  g_autoptr (GRegex) call = g_regex_new ("\\b(?:\\w*getenv|loom_env)\\s*\\(([^()]*)\\)", 0, 0, NULL);
  g_autoptr (GRegex) name = g_regex_new (
      "\"((?:GRADLOOM|OMPI|PRTE|I_MPI|PMIX?|PALS|SLURM|PBS|LSB|PE|LOADL|WORLD)_\\w+|RANK)\"", 0, 0, NULL);
  g_autoptr (GRegex) whole = g_regex_new (
      "\\bg_listenv\\b|\\bg_get_environ\\b|\\benvp\\b|\\benviron\\s*\\[|\\*\\*environ\\b|/environ\"", 0, 0, NULL);
  g_autoptr (GMatchInfo) a = NULL, b = NULL, c = NULL;

  for (g_regex_match (call, text, 0, &a); g_match_info_matches (a); g_match_info_next (a, NULL))
    {
      g_autofree char *arguments = g_match_info_fetch (a, 1);

      add_call (e, arguments);
    }
  for (g_regex_match (name, text, 0, &b); g_match_info_matches (b); g_match_info_next (b, NULL))
    g_hash_table_add (e->literals, g_match_info_fetch (b, 1));
  for (g_regex_match (whole, text, 0, &c); g_match_info_matches (c); g_match_info_next (c, NULL))
    g_hash_table_add (e->others, g_match_info_fetch (c, 0));
}

/* Every spelling is seen. */
static void
test_environment_spellings (void)
{
  static const char *const text
      = "getenv(\"A\") g_getenv (\"B\"), secure_getenv ( \"C\" ), g_environ_getenv (e, \"D\"),\n"
        "loom_env (\"E\"), std::getenv (\"F\"), table = { \"GRADLOOM_G\" }; g_getenv (LOOM_NAME);\n"
        "getenv (names[i]); g_listenv (); environ[0]; “/proc/self/environ\"; by getenv()";
  static const char *const literals[] = { "A", "B", "C", "D", "E", "F", "GRADLOOM_G" };
  static const char *const others[] = { "names[i]", "g_listenv", "environ[", "/environ\"" };
  Environment e;

  environment_init (&e);
  environment_read (&e, text);
  for (guint i = 0; i < G_N_ELEMENTS (literals); i++)
    g_assert_true (g_hash_table_contains (e.literals, literals[i]));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_true (g_hash_table_contains (e.others, others[i]));
  g_assert_true (g_hash_table_contains (e.macros, "LOOM_NAME"));
  g_assert_cmpuint (g_hash_table_size (e.literals) + g_hash_table_size (e.macros) + g_hash_table_size (e.others), ==,
                    G_N_ELEMENTS (literals) + 1 + G_N_ELEMENTS (others));
  environment_clear (&e);
}

/* The variable that a macro of these files stands for. (transfer full) */
static char *
find_macro (GPtrArray *files, const char *macro)
{
  g_autofree char *pattern = g_strdup_printf ("#\\s*define\\s+%s\\s+\"(\\w+)\"", macro);
  g_autoptr (GRegex) define = g_regex_new (pattern, 0, 0, NULL);

  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (files->pdata[i], &text, NULL, NULL));
      if (g_regex_match (define, text, 0, &match))
        return g_match_info_fetch (match, 1);
    }
  return NULL;
}

/* Every variable that a source names, however it reads it, is in docs/environment.md; Gradloom's own are in the table
 * of engine/core/loom-env.c as well, and each entry of the table is read. */
static void
test_environment (void)
{
  static const char *const suffixes[] = { ".c", ".h", ".cu", ".cuh", NULL };
  static const char *const folders[] = { "kernels", "engine", "ui", "app" };
  /* Calls in functions that are handed the name, from tables whose names are found by their beginning. */
  static const struct
  {
    const char *file, *expression;
  } known[] = {
    { "engine/core/loom-env.c", "name" },        { "engine/dist/loom-launcher.c", "name" },
    { "engine/dist/loom-dist.c", "jobs[i]" },    { "engine/dist/loom-dist.c", "list" },
    { "engine/dist/loom-dist.c", "/environ\"" }, { "engine/dist/loom-dist.c", "g_get_environ" },
  };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT"), *table = NULL, *page = NULL;
  g_autofree char *table_file = g_build_filename (root, "engine", "core", "loom-env.c", NULL);
  g_autofree char *page_file = g_build_filename (root, "docs", "environment.md", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GRegex) entry = g_regex_new ("\\.name = \"(\\w+)\"", 0, 0, NULL);
  g_autoptr (GMatchInfo) row = NULL;
  guint wrong = 0, n_known = 0;

  g_assert_true (g_file_get_contents (table_file, &table, NULL, NULL));
  g_assert_true (g_file_get_contents (page_file, &page, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (root, folders[i], NULL);

      collect (folder, files, suffixes);
    }
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = files->pdata[i], *relative = path + strlen (root) + 1;
      g_autofree char *text = NULL;
      Environment e;
      GHashTableIter iter;
      gpointer key;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      environment_init (&e);
      environment_read (&e, text);
      for (g_hash_table_iter_init (&iter, e.macros); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          char *variable = find_macro (files, key);

          if (variable == NULL)
            g_error ("%s reads the variable %s, which is no macro with a text", relative, (char *)key);
          g_hash_table_add (e.literals, variable);
        }
      for (g_hash_table_iter_init (&iter, e.others); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          gboolean is_known = FALSE;

          for (guint k = 0; k < G_N_ELEMENTS (known); k++)
            is_known |= g_str_equal (known[k].file, relative) && g_str_equal (known[k].expression, key);
          n_known += is_known;
          if (is_known)
            continue;
          g_test_message ("%s reads the environment by “%s”: name the variable in the call", relative, (char *)key);
          wrong++;
        }
      for (g_hash_table_iter_init (&iter, e.literals); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          g_autofree char *words = g_strdup_printf ("`%s`", (char *)key),
                          *literal = g_strdup_printf ("\"%s\"", (char *)key);

          if (!g_str_equal (path, table_file))
            g_hash_table_add (found, g_strdup (key));
          if (strstr (page, words) != NULL && (!g_str_has_prefix (key, "GRADLOOM_") || strstr (table, literal) != NULL))
            continue;
          g_test_message ("%s names %s, which is missing in docs/environment.md or engine/core/loom-env.c", relative,
                          (char *)key);
          wrong++;
        }
      environment_clear (&e);
    }
  for (g_regex_match (entry, table, 0, &row); g_match_info_matches (row); g_match_info_next (row, NULL))
    {
      g_autofree char *variable = g_match_info_fetch (row, 1);

      if (g_hash_table_contains (found, variable))
        continue;
      g_test_message ("Nothing reads %s of engine/core/loom-env.c", variable);
      wrong++;
    }
  g_assert_cmpuint (g_hash_table_size (found), >=, 30);
  g_assert_cmpuint (n_known, ==, G_N_ELEMENTS (known));
  g_assert_cmpuint (wrong, ==, 0);
}

/* A primitive says itself what passes need to know of it (LoomPrim). So no code between a program and the kernels
 * compares a primitive's name or address, or compares the bytes of attributes; a planner's pass whose pattern is a
 * certain primitive names it through node_is() or PATTERN_CALL(), and only those that are listed here do. */
static void
test_primitives_by_name (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  static const char *const folders[]
      = { "engine/plan", "engine/program", "engine/run", "engine/infer", "engine/train" };
  static const char *const pattern_passes[] = { "plan-transpose.c",
                                                "plan-class-axis.c",
                                                "plan-concat.c",
                                                "plan-epilogue.c",
                                                "plan-norm.c",
                                                "plan-sink-relu.c",
                                                "plan-cast.c",
                                                "plan-rematerialise.c",
                                                "plan-sgd-undo.c",
                                                "plan-graph.c",
                                                "plan-private.h",
                                                "plan-bias-gradient.c",
                                                "plan-head-chunks.c",
                                                "plan-pad-logits.c",
                                                "plan-view-slices.c",
                                                "plan-bundle.c",
                                                "plan-mask.c",
                                                "plan-attention.c",
                                                "plan-copies.c",
                                                "plan-linear-cross-entropy.c",
                                                "plan-derivative-epilogue.c",
                                                NULL };
  static const char *const by_name
      = "(str\\w*cmp0?|g_str_\\w+|strstr) \\([^;]*\\b(prim(itive)?(\\)|,)|prim->name|->primitive\\b|node_kernel)";
  static const char *const by_address = "[!=]= loom_prim \\(|loom_prim \\([^()]*\\) [!=]=|->prim [!=]= &";
  static const char *const by_bytes = "memcmp \\([^;]*attrs";
  /* The factory of the kernels of collectives. */
  static const char *const by_table[] = { "plan-collective.c", NULL };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GRegex) names = g_regex_new (by_name, 0, 0, NULL);
  g_autoptr (GRegex) addresses = g_regex_new (by_address, 0, 0, NULL);
  g_autoptr (GRegex) bytes = g_regex_new (by_bytes, 0, 0, NULL);
  guint wrong = 0, patterns = 0;

  g_assert_true (g_regex_match (names, "if (strcmp (instr->primitive, \"fill\") == 0)", 0, NULL));
  g_assert_true (g_regex_match (names, "g_str_equal (policies[i].prim, prim->name)", 0, NULL));
  g_assert_true (g_regex_match (addresses, "instr->prim == loom_prim (\"fill\")", 0, NULL));
  g_assert_true (g_regex_match (bytes, "memcmp (a->attrs, b->attrs, a->attrs_size) == 0", 0, NULL));
  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (root, folders[f], NULL);
      g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);

      collect (folder, files, suffixes);
      g_assert_cmpuint (files->len, >, 4);
      for (guint i = 0; i < files->len; i++)
        {
          const char *path = g_ptr_array_index (files, i);
          g_autofree char *text = NULL, *name = g_path_get_basename (path);
          gboolean names_primitive, by_pattern = g_strv_contains (pattern_passes, name);

          g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
          names_primitive = strstr (text, "node_is (") != NULL || strstr (text, "PATTERN_CALL (") != NULL;
          patterns += names_primitive && by_pattern;
          /* node_is() itself compares the name. */
          if (g_strv_contains (by_table, name))
            continue;
          if ((names_primitive && !by_pattern) || g_regex_match (addresses, text, 0, NULL)
              || g_regex_match (bytes, text, 0, NULL)
              || (!g_str_equal (name, "plan-graph.c") && g_regex_match (names, text, 0, NULL)))
            {
              g_test_message ("%s tells a primitive by its name, address or bytes: ask what it says itself (LoomPrim)",
                              path + strlen (root) + 1);
              wrong++;
            }
        }
    }
  g_assert_cmpuint (patterns, ==, g_strv_length ((char **)pattern_passes));
  g_assert_cmpuint (wrong, ==, 0);
}

/* The programs have examples and the library inside themselves, and a list names each file: a file that is missing
 * there is offered neither on the start page nor in the palette. */
static void
test_resources (void)
{
  static const char *const suffixes[] = { ".xml", NULL };
  static const struct
  {
    const char *folder, *list;
    gsize skipped; /* letters of a path that the list leaves out */
  } rows[] = { { "graphs/lessons", "ui/gradloom.gresource.xml", 0 },
               { "graphs/models", "ui/gradloom.gresource.xml", 0 },
               { "graphs/library", "data/library.gresource.xml", strlen ("graphs/library/") } };
  g_autofree char *root = root_of ("GRADLOOM_SOURCE_ROOT");
  guint missing = 0;

  for (guint f = 0; f < G_N_ELEMENTS (rows); f++)
    {
      g_autofree char *folder = g_build_filename (root, rows[f].folder, NULL),
                      *list = g_build_filename (root, rows[f].list, NULL), *text = NULL;
      g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);

      g_assert_true (g_file_get_contents (list, &text, NULL, NULL));
      collect (folder, files, suffixes);
      g_assert_cmpuint (files->len, >, 4);
      for (guint i = 0; i < files->len; i++)
        {
          const char *path = (const char *)files->pdata[i] + strlen (root) + 1;
          g_autofree char *entry = g_strdup_printf (">%s</file>", path + rows[f].skipped);

          if (strstr (text, entry) == NULL)
            {
              g_test_message ("%s is not in %s: add it", path, rows[f].list);
              missing++;
            }
        }
    }
  g_assert_cmpuint (missing, ==, 0);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arch/includes", test_includes);
  g_test_add_func ("/arch/readmes", test_readmes);
  g_test_add_func ("/arch/no-circle", test_no_circle);
  g_test_add_func ("/arch/symbols", test_symbols);
  g_test_add_func ("/arch/command-line-links", test_command_line_links);
  g_test_add_func ("/arch/no-exit", test_no_exit);
  g_test_add_func ("/arch/operator-names", test_operator_names);
  g_test_add_func ("/arch/operators-by-name", test_operators_by_name);
  g_test_add_func ("/arch/environment", test_environment);
  g_test_add_func ("/arch/environment-spellings", test_environment_spellings);
  g_test_add_func ("/arch/primitives-by-name", test_primitives_by_name);
  g_test_add_func ("/arch/resources", test_resources);
  return g_test_run ();
}
