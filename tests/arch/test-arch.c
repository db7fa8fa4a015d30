/* The architecture as a test: who may include whom, and which symbols a box may ask for.
 *
 * Includes are read from the sources, by path from the root. Symbols come from the objects that were built, through nm:
 * a declaration smuggled past the include rule shows there. The rules stand in one table; a new box is a new row. */
#include <string.h>

#include "tests/arch/arch-files.h"
#include "tests/arch/arch-rules.h"

/* Pictures are decoded in engine/data and nowhere else: gdk-pixbuf is no part of GTK. */
#define NO_GUI_HEADERS "gtk/", "gdk/", "gdk-pixbuf/", "adwaita", "cairo", "pango/"
#define NO_GUI         "gtk_", "gdk_", "adw_", "cairo_"
/* Studio reads graphs and results; a worker plans and computes. */
#define NO_STEPS "loom_plan", "loom_devices", "loom_state", "loom_eager", "loom_exec", "loom_trainer", "loom_predictor"

/* The box's README says the same: see test_readmes(). */
static const ArchRule rules[] = {
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
    { "ui/scene/", "ui/layout/", "engine/fix/", "engine/core/loom-file.h", "engine/loom.h" },
    { NO_GUI_HEADERS, "cuda", "libxml/" },
    { NULL } },
  { "ui/charts", { "ui/scene/", "ui/drawing/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/canvas",
    { "ui/scene/", "ui/layout/", "ui/drawing/", "ui/document/", "ui/charts/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/palette",
    { "ui/scene/", "ui/document/", "ui/canvas/", "ui/charts/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/history", { "ui/drawing/", "ui/document/", "ui/charts/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
  { "ui/listing",
    { "ui/document/", "ui/charts/", "engine/pytorch/loom-pytorch.h", "engine/loom.h" },
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
    { "ui/scene/", "ui/charts/", "engine/loom.h", "engine/runs/loom-runs.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/evaluate",
    { "ui/scene/", "ui/drawing/", "ui/document/", "ui/charts/", "ui/task/", "ui/run/", "engine/loom.h" },
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
    { "ui/drawing/", "ui/document/", "ui/charts/", "ui/run/", "engine/loom.h" },
    { "cuda", "libxml/" },
    { NULL } },
  { "ui/present", { "ui/document/", "ui/canvas/", "ui/charts/", "engine/loom.h" }, { "cuda", "libxml/" }, { NULL } },
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
    { "ui/scene/",    "ui/layout/",    "ui/drawing/",
      "ui/document/", "ui/charts/",    "ui/canvas/",
      "ui/palette/",  "ui/export/",    "ui/history/",
      "ui/listing/",  "ui/inspector/", "ui/training/",
      "ui/task/",     "ui/run/",       "ui/runs/",
      "ui/evaluate/", "ui/pins/",      "ui/stepper/",
      "ui/timeline/", "ui/worker/",    "ui/lesson/",
      "ui/present/",  "ui/settings/",  "ui/shell/",
      "ui/start/",    "engine/loom.h", "engine/runs/loom-hand-in.h",
      "engine/runs/loom-proposal.h" },
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

const ArchRule *
arch_rule_of (const char *relative)
{
  const ArchRule *best = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_has_prefix (relative, rules[i].box) && relative[strlen (rules[i].box)] == '/'
        && (best == NULL || strlen (rules[i].box) > strlen (best->box)))
      best = &rules[i];
  return best;
}

gboolean
arch_may_include (const ArchRule *rule, const char *target)
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

/* Headers that a few files of Studio need: these include them, and engine/loom.h does not (test-facade.py). */
static const char *const for_few[] = {
  "engine/core/loom-env.h",
  "engine/core/loom-folder.h",
  "engine/core/loom-hash.h",
  "engine/core/loom-module.h",
  "engine/core/loom-rate.h",
  "engine/data/loom-csv-guess.h",
  "engine/data/loom-samples.h",
  "engine/dist/loom-dist.h",
  "engine/graph/loom-digest.h",
  "engine/graph/loom-edit.h",
  "engine/infer/loom-curve.h",
  "engine/infer/loom-evaluation-history.h",
  "engine/infer/loom-run-event.h",
  "engine/infer/loom-run-socket.h",
  "engine/interop/loom-safetensors.h",
  "engine/lesson/loom-lecture.h",
  "engine/net/loom-axes.h",
  "engine/net/loom-copies.h",
  "engine/onnx/loom-onnx.h",
  "engine/recipe/loom-live-number.h",
  "engine/template/loom-skeleton.h",
  "engine/template/loom-weights-match.h",
};

static gboolean
is_for_few (const ArchRule *rule, const char *header)
{
  for (guint i = 0; i < G_N_ELEMENTS (for_few); i++)
    if (strcmp (for_few[i], header) == 0)
      return g_str_has_prefix (rule->box, "ui/");
  return FALSE;
}

static gboolean
is_generated (const ArchRule *rule, const char *header)
{
  for (guint i = 0; i < G_N_ELEMENTS (generated); i++)
    for (guint k = 0; k < G_N_ELEMENTS (generated[i].boxes) && generated[i].boxes[k] != NULL; k++)
      if (strcmp (generated[i].header, header) == 0 && strcmp (generated[i].boxes[k], rule->box) == 0)
        return TRUE;
  return FALSE;
}

/* One #include line; a sentence when it breaks the rule. */
static char *
check_include (const ArchRule *rule, const char *target, gboolean quoted)
{
  if (!quoted)
    return arch_has_prefix (target, rule->system, G_N_ELEMENTS (rule->system))
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
  if (arch_rule_of (target) == rule || arch_may_include (rule, target) || is_for_few (rule, target))
    return NULL;
  return g_strdup_printf ("%s must not know \"%s\"", rule->box, target);
}

/* Calls func for each #include of the program's own sources. */
typedef void (*IncludeFunc) (const char *file, const ArchRule *rule, const char *target, gboolean quoted,
                             gpointer data);

static void
foreach_include (IncludeFunc func, gpointer data)
{
  static const char *const suffixes[] = { ".c", ".h", ".cu", ".cuh", NULL };
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) include = g_regex_new ("^\\s*#\\s*include\\s+([<\"])([^>\"]+)[>\"]", G_REGEX_MULTILINE, 0, NULL);

  for (guint i = 0; i < 4; i++)
    {
      static const char *const tops[] = { "kernels", "engine", "ui", "app" };
      g_autofree char *folder = g_build_filename (root, tops[i], NULL);

      arch_collect (folder, files, suffixes);
    }
  g_assert_cmpuint (files->len, >, 50);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i), *relative = path + strlen (root) + 1;
      const ArchRule *rule = arch_rule_of (relative);
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
count_fault (const char *file, const ArchRule *rule, const char *target, gboolean quoted, gpointer data)
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
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  guint wrong = 0, n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    {
      const ArchRule *rule = &rules[i];
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

/* Which boxes a box includes from: GPtrArray of ArchRule by ArchRule. */
static void
note_arrow (const char *file, const ArchRule *rule, const char *target, gboolean quoted, gpointer data)
{
  const ArchRule *to = quoted && strchr (target, '/') != NULL ? arch_rule_of (target) : NULL;
  GPtrArray *arrows = g_hash_table_lookup (data, rule);

  if (arrows == NULL)
    g_hash_table_insert (data, (gpointer)rule, arrows = g_ptr_array_new ());
  if (to != NULL && to != rule && !g_ptr_array_find (arrows, to, NULL))
    g_ptr_array_add (arrows, (gpointer)to);
}

/* TRUE when a way leads from a box back to one that is on the way already. */
static gboolean
leads_back (GHashTable *arrows, const ArchRule *from, GPtrArray *way)
{
  GPtrArray *next = g_hash_table_lookup (arrows, from);

  if (g_ptr_array_find (way, from, NULL))
    {
      g_autoptr (GString) text = g_string_new (NULL);

      for (guint i = 0; i < way->len; i++)
        g_string_append_printf (text, "%s -> ", ((const ArchRule *)way->pdata[i])->box);
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
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  guint missing = 0;

  for (guint f = 0; f < G_N_ELEMENTS (rows); f++)
    {
      g_autofree char *folder = g_build_filename (root, rows[f].folder, NULL),
                      *list = g_build_filename (root, rows[f].list, NULL), *text = NULL;
      g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);

      g_assert_true (g_file_get_contents (list, &text, NULL, NULL));
      arch_collect (folder, files, suffixes);
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
  g_test_add_func ("/arch/resources", test_resources);
  arch_add_symbols ();
  arch_add_names ();
  arch_add_environment ();
  return g_test_run ();
}
