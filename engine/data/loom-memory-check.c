/* Finds the available memory of the system and of the control group, and compares it with the needs of a data set. */
#include "engine/data/loom-memory-check.h"

#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

/* Bytes that are always there: reading the kernel's files takes longer than reading so small a table. */
#define SMALL (1 << 20)

/* The number after a word in a file of the kernel's; G_MAXUINT64 if there is none. */
static guint64
read_number (const char *path, const char *word)
{
  g_autofree char *text = NULL;
  const char *at;
  char *end;
  guint64 number;

  if (!loom_path_read (path, &text, NULL, NULL) || (at = strstr (text, word)) == NULL)
    return G_MAXUINT64;
  at += strlen (word);
  number = g_ascii_strtoull (at, &end, 10);
  return end == at ? G_MAXUINT64 : number;
}

guint64
loom_memory_available (void)
{
  guint64 available = read_number ("/proc/meminfo", "MemAvailable:");
  guint64 most = read_number ("/sys/fs/cgroup/memory.max", ""),
          taken = read_number ("/sys/fs/cgroup/memory.current", "");

  if (available != G_MAXUINT64)
    available *= 1024;
  if (most != G_MAXUINT64 && taken != G_MAXUINT64)
    {
      /* Pages of the file cache count as used, though the kernel frees them on demand. */
      guint64 unread = read_number ("/sys/fs/cgroup/memory.stat", "\ninactive_file ");
      guint64 read = read_number ("/sys/fs/cgroup/memory.stat", "\nactive_file ");
      guint64 cached = (unread != G_MAXUINT64 ? unread : 0) + (read != G_MAXUINT64 ? read : 0);

      taken -= MIN (taken, cached);
      available = MIN (available, most > taken ? most - taken : 0);
    }
  return available;
}

gboolean
loom_memory_check_bytes (const char *name, guint64 bytes, double factor, const char *remedy, GError **error)
{
  g_autofree char *has = NULL, *needs = NULL, *there = NULL;
  guint64 available;

  if ((double)bytes * factor <= SMALL)
    return TRUE;
  available = loom_memory_available ();
  if ((double)bytes * factor <= (double)available)
    return TRUE;
  has = g_format_size (bytes);
  needs = g_format_size ((guint64)((double)bytes * factor));
  there = g_format_size (available);
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has %s and needs about %s of memory, but %s are free; %s.", name,
                      has, needs, there, remedy);
}

gboolean
loom_memory_check (const char *path, double factor, const char *remedy, GError **error)
{
  struct stat info;

  return loom_os->stat (AT_FDCWD, path, &info, 0) != 0
         || loom_memory_check_bytes (path, (guint64)info.st_size, factor, remedy, error);
}
