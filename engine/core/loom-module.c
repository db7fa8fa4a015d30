/* Finds and opens modules, and finds programs that belong to this one.
 *
 * A module's code runs with the user's rights, so it is loaded only from a folder that no other user can write: that of
 * the build to which this program belongs, or the installed one. The position of the program alone is not sufficient:
 * for a build in /tmp/build, any user can create /tmp/kernels. */
#include "engine/core/loom-module.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-env.h"
#include "engine/core/loom-os.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Trusts root and the user alone. */
static const struct stat of_root = { .st_uid = 0 };

/* TRUE if a file or folder can be changed only by root, the user, the owner of `trusted`, and, if the group of
 * `trusted` may write that, this group. Distributions give each user a group with the same number, whose write
 * permission admits no other user. */
static gboolean
is_own (const char *path, const struct stat *trusted)
{
  struct stat info;

  return loom_os->stat (AT_FDCWD, path, &info, 0) == 0 && (info.st_mode & S_IWOTH) == 0
         && (info.st_uid == 0 || info.st_uid == geteuid () || info.st_uid == trusted->st_uid)
         && ((info.st_mode & S_IWGRP) == 0 || info.st_gid == info.st_uid
             || ((trusted->st_mode & S_IWGRP) != 0 && info.st_gid == trusted->st_gid));
}

/* TRUE if no other user can change or replace a file of code. */
static gboolean
is_own_code (const char *file, const struct stat *trusted)
{
  g_autofree char *folder = g_path_get_dirname (file);

  return is_own (folder, trusted) && is_own (file, trusted);
}

/* TRUE if this program is part of the build, and not a copy elsewhere. Packages do not contain the build's path. */
static gboolean
is_of_build (void)
{
  if (LOOM_BUILD_DIR[0] == '\0')
    return FALSE;
  g_autofree char *exe = loom_path_link ("/proc/self/exe"), *build = loom_file_target (LOOM_BUILD_DIR);

  return exe != NULL && g_str_has_prefix (exe, build) && exe[strlen (build)] == G_DIR_SEPARATOR;
}

char *
loom_module_find (const char *name, const char *folder, char **why)
{
  g_autofree char *file = g_strdup_printf ("loom-%s.so", name);
  g_autoptr (GPtrArray) tried = g_ptr_array_new_with_free_func (g_free);
  const char *modules = loom_env ("GRADLOOM_MODULES");

  if (modules != NULL)
    g_ptr_array_add (tried, g_canonicalize_filename (modules, NULL));
  if (is_of_build ())
    g_ptr_array_add (tried, g_build_filename (LOOM_BUILD_DIR, "kernels", folder, NULL));
  g_ptr_array_add (tried, g_strdup (LOOM_MODULE_DIR));
  for (guint i = 0; i < tried->len; i++)
    {
      g_autofree char *path = g_build_filename (tried->pdata[i], file, NULL);

      if (!loom_path_exists (path))
        continue;
      if (is_own_code (path, &of_root))
        return g_steal_pointer (&path);
      *why = g_strdup_printf (
          "the %s module at %s is not loaded, because users other than you and root can change it or its folder (see "
          "chown and chmod go-w)",
          name, path);
      return NULL;
    }
  *why = g_strdup_printf ("this build has no %s module", name);
  return NULL;
}

GModule *
loom_module_open (const char *name, const char *folder, char **why)
{
  g_autofree char *path = loom_module_find (name, folder, why);
  GModule *module = path != NULL ? g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL) : NULL;

  if (module != NULL)
    g_module_make_resident (module);
  else if (path != NULL)
    *why = g_strdup_printf ("the %s module could not be loaded: %s", name, g_module_error ());
  return module;
}

char *
loom_module_find_program (const char *name, const char *const *folders, char **refused)
{
  g_autofree char *exe = loom_path_link ("/proc/self/exe");
  g_autofree char *own = exe != NULL ? g_path_get_dirname (exe) : NULL;
  struct stat trusted;

  *refused = NULL;
  if (own == NULL || loom_os->stat (AT_FDCWD, own, &trusted, 0) != 0)
    trusted = of_root;
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *folder = g_path_is_absolute (folders[i]) || own == NULL
                                    ? g_strdup (folders[i])
                                    : g_canonicalize_filename (folders[i], own);
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (!g_path_is_absolute (path) || !g_file_test (path, G_FILE_TEST_IS_EXECUTABLE) || loom_path_is_folder (path))
        continue;
      if (is_own_code (path, &trusted))
        return g_steal_pointer (&path);
      *refused = g_steal_pointer (&path);
      return NULL;
    }
  return NULL;
}
