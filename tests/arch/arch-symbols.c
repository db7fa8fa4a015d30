/* Symbols of the objects that were built, by nm: a declaration that evades the rules of includes shows there; and the
 * libraries that the command line needs. */
#include <string.h>

#include "tests/arch/arch-files.h"
#include "tests/arch/arch-rules.h"

/* The archives of the boxes; the box of each is the folder that it has in the source tree. */
static GPtrArray *
find_archives (const char *build)
{
  static const char *const suffixes[] = { ".a", NULL };
  GPtrArray *archives = g_ptr_array_new_with_free_func (g_free);

  arch_collect (build, archives, suffixes);
  for (guint i = archives->len; i-- > 0;)
    if (arch_rule_of ((char *)archives->pdata[i] + strlen (build) + 1) == NULL)
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
 * include. defined: symbol → ArchRule of the box that has it. */
static char *
check_symbol (const ArchRule *rule, const char *symbol, GHashTable *defined)
{
  const ArchRule *from = g_hash_table_lookup (defined, symbol);
  g_autofree char *folder = from != NULL ? g_strconcat (from->box, "/", NULL) : NULL;

  if (arch_has_prefix (symbol, rule->symbols, G_N_ELEMENTS (rule->symbols)))
    return g_strdup_printf ("%s must not know the symbol %s", rule->box, symbol);
  /* Who may include the vtable may open back ends. */
  if (from == NULL || from == rule || arch_may_include (rule, folder)
      || (g_str_has_prefix (from->box, "kernels/") && arch_may_include (rule, "kernels/backend.h"))
      || (g_str_has_prefix (from->box, "ui/") ? !g_str_has_prefix (rule->box, "ui/")
                                              : !g_str_has_prefix (rule->box, "engine/")))
    return NULL;
  return g_strdup_printf ("%s must not know the symbol %s, which is of %s", rule->box, symbol, from->box);
}

static void
test_symbols (void)
{
  g_autofree char *build = arch_root ("GRADLOOM_BUILD_ROOT");
  g_autoptr (GPtrArray) archives = find_archives (build);
  g_autoptr (GHashTable) defined = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint wrong = 0;

  for (guint i = 0; i < archives->len; i++)
    {
      g_autoptr (GPtrArray) names = list_symbols (archives->pdata[i], "--defined-only");
      const ArchRule *rule = arch_rule_of ((char *)archives->pdata[i] + strlen (build) + 1);

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
          g_autofree char *fault = check_symbol (arch_rule_of (relative), names->pdata[k], defined);

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
  g_autofree char *build = arch_root ("GRADLOOM_BUILD_ROOT");

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
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) call = g_regex_new ("(?<![A-Za-z_0-9>.])(exit|_exit|abort|quick_exit)\\s*\\(", 0, 0, NULL);

  for (guint i = 0; i < 3; i++)
    {
      static const char *const tops[] = { "kernels", "engine", "ui" };
      g_autofree char *folder = g_build_filename (root, tops[i], NULL);

      arch_collect (folder, files, suffixes);
    }
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;

      g_assert_true (g_file_get_contents (g_ptr_array_index (files, i), &text, NULL, NULL));
      if (g_regex_match (call, text, 0, NULL))
        g_error ("%s calls exit or abort", (char *)g_ptr_array_index (files, i));
    }
}

/* Calls for files and clocks, by their names as symbols; those of standard input and output are no matter. */
static const char *const raw_calls[] = {
  "access",
  "chmod",
  "clock_gettime",
  "close",
  "creat",
  "fchmod",
  "fdatasync",
  "fdopen",
  "fdopendir",
  "flock",
  "fopen",
  "freopen",
  "fstat",
  "fstatat",
  "fsync",
  "ftruncate",
  "g_access",
  "g_chmod",
  "g_creat",
  "g_date_time_new_now",
  "g_date_time_new_now_local",
  "g_date_time_new_now_utc",
  "g_dir_make_tmp",
  "g_dir_open",
  "g_file_get_contents",
  "g_file_new_for_path",
  "g_file_open_tmp",
  "g_file_read_link",
  "g_file_set_contents",
  "g_file_set_contents_full",
  "g_file_test",
  "g_fopen",
  "g_get_monotonic_time",
  "g_get_real_time",
  "g_lstat",
  "g_mapped_file_new",
  "g_mapped_file_new_from_fd",
  "g_mkdir",
  "g_mkdir_with_parents",
  "g_mkdtemp",
  "g_mkstemp",
  "g_mkstemp_full",
  "g_open",
  "g_remove",
  "g_rename",
  "g_rmdir",
  "g_stat",
  "g_timer_new",
  "g_unlink",
  "g_usleep",
  "gettimeofday",
  "link",
  "linkat",
  "lseek",
  "lstat",
  "mkdir",
  "mkdirat",
  "mkstemp",
  "mmap",
  "msync",
  "nanosleep",
  "open",
  "openat",
  "opendir",
  "pread",
  "pwrite",
  "read",
  "readdir",
  "readlink",
  "readlinkat",
  "realpath",
  "rename",
  "renameat",
  "renameat2",
  "rmdir",
  "sleep",
  "stat",
  "symlink",
  "time",
  "truncate",
  "unlink",
  "unlinkat",
  "usleep",
  "utimensat",
  "write",
};

/* Objects that call the operating system themselves, with the reason. */
static const char *const may_call[] = {
  "core_loom-os.c",
  "it is the interface",
  "loom-os.c",
  "it is the interface",
  "loom-module.c",
  "whether a program can be executed is no matter of its content",
  "loom-rehearsal.c",
  "processor time",
  "command-bench.c",
  "processor time",
  "loom-launch-log.c",
  "pipes of ranks",
  "remote-stream.c",
  "pipes of ssh",
  "worker_worker.c",
  "the worker's standard input and output",
  "worker-link.c",
  "the program's own name in /proc",
  "command-grade.c",
  "a process between fork() and execve(), and the program's own name in /proc",
  "command-predict.c",
  "a stream that may be standard input",
  "shared_command.c",
  "whether a folder can be written, before anything is computed",
  "command.c",
  "whether a folder can be written, before anything is computed",
  "truncated.c",
  "in a handler of a signal",
  "board-file.c",
  "a stream of events for TensorBoard, which nothing reads again",
  "run-files.c",
  "the permissions of a file that is replaced",
  "remote-content.c",
  "the cache of data on a host: a name that no other process has, and its time",
  "dataset-webdataset.c",
  "GIO's streams of compressed data",
  "loom-idx.c",
  "GIO's streams of compressed data",
  "loom-parquet.c",
  "GIO's streams of compressed data",
  "loom-tar.c",
  "GIO's streams of compressed data",
  "loom-text-file.c",
  "GIO's streams of compressed data",
  "loom-pictures.c",
  "GIO's streams of compressed data",
};

/* The call that a symbol is, without the endings of large files and checked lengths: "open64", "__read_chk"; NULL:
 * none. */
static const char *
raw_call_of (const char *symbol)
{
  static const char *const endings[] = { "", "64", "_chk", "64_chk", "_2", "64_2" };

  symbol += g_str_has_prefix (symbol, "__") ? 2 : 0;
  for (guint i = 0; i < G_N_ELEMENTS (raw_calls); i++)
    for (guint k = 0; k < G_N_ELEMENTS (endings); k++)
      {
        const gsize n = strlen (raw_calls[i]);

        if (strncmp (symbol, raw_calls[i], n) == 0 && g_str_equal (symbol + n, endings[k]))
          return raw_calls[i];
      }
  return NULL;
}

static gboolean
may_call_raw (const char *object)
{
  for (guint i = 0; i < G_N_ELEMENTS (may_call); i += 2)
    {
      g_autofree char *name = g_strconcat (may_call[i], ".o", NULL);

      if (g_str_equal (object, name))
        return TRUE;
    }
  return FALSE;
}

/* Files and clocks are those of engine/core/loom-os.h, so that a test can exchange them. */
static void
test_raw_calls (void)
{
  static const char *const suffixes[] = { ".c.o", NULL }, *const tops[] = { "engine", "app" };
  g_autofree char *build = arch_root ("GRADLOOM_BUILD_ROOT");
  g_autoptr (GPtrArray) objects = g_ptr_array_new_with_free_func (g_free);
  guint wrong = 0;

  for (guint i = 0; i < G_N_ELEMENTS (tops); i++)
    {
      g_autofree char *folder = g_build_filename (build, tops[i], NULL);

      arch_collect (folder, objects, suffixes);
    }
  g_assert_cmpuint (objects->len, >, 300);
  for (guint i = 0; i < objects->len; i++)
    {
      g_autofree char *object = g_path_get_basename (objects->pdata[i]);
      g_autoptr (GPtrArray) names = may_call_raw (object) ? NULL : list_symbols (objects->pdata[i], "--undefined-only");

      for (guint k = 0; names != NULL && k < names->len; k++)
        if (raw_call_of (names->pdata[k]) != NULL)
          {
            g_test_message ("%s calls %s; use engine/core/loom-os.h", object, raw_call_of (names->pdata[k]));
            wrong++;
          }
    }
  g_assert_cmpuint (wrong, ==, 0);
}

void
arch_add_symbols (void)
{
  g_test_add_func ("/arch/raw-calls", test_raw_calls);
  g_test_add_func ("/arch/symbols", test_symbols);
  g_test_add_func ("/arch/command-line-links", test_command_line_links);
  g_test_add_func ("/arch/no-exit", test_no_exit);
}
