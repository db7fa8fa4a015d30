/* Finding and opening modules. */
#include "engine/core/loom-module.h"

#include "engine/core/loom-env.h"

char *
loom_module_find (const char *program, const char *name, const char *folder)
{
  g_autofree char *file = g_strdup_printf ("loom-%s.so", name);
  g_autofree char *exe = program != NULL ? g_strdup (program) : g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *exe_dir = exe != NULL ? g_path_get_dirname (exe) : g_strdup (".");
  g_autoptr (GPtrArray) tried = g_ptr_array_new_with_free_func (g_free);
  const char *modules = loom_env ("GRADLOOM_MODULES");

  if (modules != NULL)
    g_ptr_array_add (tried, g_build_filename (modules, file, NULL));
  g_ptr_array_add (tried, g_build_filename (exe_dir, "..", "kernels", folder, file, NULL));
  g_ptr_array_add (tried, g_build_filename (exe_dir, "..", "..", "kernels", folder, file, NULL));
  g_ptr_array_add (tried, g_build_filename (LOOM_MODULE_DIR, file, NULL));
  for (guint i = 0; i < tried->len; i++)
    if (g_file_test (tried->pdata[i], G_FILE_TEST_EXISTS))
      return g_strdup (tried->pdata[i]);
  return NULL;
}

GModule *
loom_module_open (const char *name, const char *folder, char **why)
{
  g_autofree char *path = loom_module_find (NULL, name, folder);
  GModule *module = path != NULL ? g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL) : NULL;

  if (module != NULL)
    g_module_make_resident (module);
  else if (path != NULL)
    *why = g_strdup_printf ("the %s module could not be loaded: %s", name, g_module_error ());
  else
    *why = g_strdup_printf ("this build has no %s module", name);
  return module;
}
