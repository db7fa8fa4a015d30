/* Handles SIGBUS of mapped files. The handler finds the file that is mapped at the address in /proc/self/maps, so that
 * no list of mappings has to be kept, and calls only functions that are safe in a handler (signal-safety(7)). */
#include "app/shared/truncated.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LINE 8192 /* of /proc/self/maps, including a path of 4096 bytes */

static const char *program_name;
static int exit_status;

static guintptr
read_hex (const char **at)
{
  guintptr value = 0;

  for (; g_ascii_isxdigit (**at); (*at)++)
    value = value << 4 | (guintptr)g_ascii_xdigit_value (**at);
  return value;
}

/* Parses "55d0-55e0 r--p 00000000 fd:01 1234  /a/path": returns the path if the line's range contains the address, else
 * NULL. */
static const char *
path_of (const char *line, guintptr address)
{
  guintptr first = read_hex (&line), end;

  if (*line++ != '-')
    return NULL;
  end = read_hex (&line);
  return address >= first && address < end ? strchr (line, '/') : NULL;
}

static gboolean
find_path (guintptr address, char path[LINE])
{
  char line[LINE];
  gsize n = 0;
  gboolean found = FALSE;
  int fd = open ("/proc/self/maps", O_RDONLY | O_CLOEXEC);

  while (!found && n < sizeof line - 1 && read (fd, line + n, 1) == 1)
    {
      if (line[n] != '\n')
        {
          n++;
          continue;
        }
      line[n] = 0;
      n = 0;
      const char *name = path_of (line, address);
      found = name != NULL;
      if (found)
        strcpy (path, name);
    }
  if (fd >= 0)
    close (fd);
  return found;
}

static void
print_text (const char *text)
{
  gsize n = strlen (text);

  while (n > 0)
    {
      ssize_t written = write (STDERR_FILENO, text, n);

      if (written <= 0)
        return;
      text += written;
      n -= (gsize)written;
    }
}

static void
bus_error (int number, siginfo_t *info, void *context)
{
  char path[LINE];

  if (info->si_code == BUS_ADRERR && find_path ((guintptr)info->si_addr, path))
    {
      print_text (program_name);
      print_text (": “");
      print_text (path);
      print_text ("” was truncated by another program while it was read. Restore the file and start again.\n");
      _exit (exit_status);
    }
  signal (number, SIG_DFL);
  raise (number); /* delivered after this handler has returned */
}

void
truncated_exit_with (const char *program, int status)
{
  struct sigaction action = { .sa_sigaction = bus_error, .sa_flags = SA_SIGINFO };

  program_name = program;
  exit_status = status;
  sigemptyset (&action.sa_mask);
  sigaction (SIGBUS, &action, NULL);
}
