/* Prints which GPU a module of the CUDA back end finds, and which libraries of CUDA it has loaded:
 *
 *   card-info MODULE.so
 *   card-info MODULE.so --hold MIB    allocates the GPU's memory except MIB and holds it until standard input ends
 *
 * Several versions of a library can be installed on one machine (a toolkit's, PyTorch's), so the libraries are those of
 * this process after the device was opened. Exits with status 1 and a sentence if there is no GPU. */
#include <gmodule.h>
#include <stdio.h>
#include <string.h>

#include "kernels/backend.h"

/* CUDA's own numbers, so that its headers are not needed. */
enum
{
  MULTIPROCESSORS = 16,
  CAPABILITY_MAJOR = 75,
  CAPABILITY_MINOR = 76
};

/* A function of the module or of a library that it is linked with. */
static gpointer
function (GModule *module, const char *name)
{
  gpointer symbol = NULL;

  return g_module_symbol (module, name, &symbol) ? symbol : NULL;
}

static void
tell_card (GModule *module, const LoomBackend *backend, LoomDevice *device)
{
  int (*attribute) (int *, int, int) = function (module, "cudaDeviceGetAttribute");
  int major = 0, minor = 0, processors = 0;
  LoomDeviceInfo info;

  backend->device_info (device, &info);
  printf ("card: %s, %.1f GiB", info.name, (double)info.memory_total / (1 << 30));
  if (attribute != NULL && attribute (&major, CAPABILITY_MAJOR, 0) == 0 && attribute (&minor, CAPABILITY_MINOR, 0) == 0
      && attribute (&processors, MULTIPROCESSORS, 0) == 0)
    printf (", compute capability %d.%d, %d multiprocessors", major, minor, processors);
  printf ("\n");
}

static void
tell_versions (GModule *module)
{
  int (*driver) (int *) = function (module, "cudaDriverGetVersion"),
                     (*runtime) (int *) = function (module, "cudaRuntimeGetVersion"),
                     (*nvrtc) (int *, int *) = function (module, "nvrtcVersion");
  gsize (*blas) (void) = function (module, "cublasLtGetVersion"), (*dnn) (void) = function (module, "cudnnGetVersion");
  int a = 0, b = 0;

  if (driver != NULL && driver (&a) == 0)
    printf ("driver: takes CUDA up to %d.%d\n", a / 1000, a % 1000 / 10);
  if (runtime != NULL && runtime (&a) == 0)
    printf ("CUDA runtime: %d.%d\n", a / 1000, a % 1000 / 10);
  if (nvrtc != NULL && nvrtc (&a, &b) == 0)
    printf ("NVRTC: %d.%d\n", a, b);
  if (blas != NULL)
    printf ("cuBLASLt: %" G_GSIZE_FORMAT "\n", blas ());
  if (dnn != NULL)
    printf ("cuDNN: %" G_GSIZE_FORMAT "\n", dnn ());
}

/* The files of CUDA's libraries in this process. */
static void
tell_files (void)
{
  static const char *const names[] = { "/libcuda", "/libcublas", "/libcudnn", "/libnvrtc", "/libnvJitLink" };
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL))
    return;
  lines = g_strsplit (maps, "\n", -1);
  for (int i = 0; lines[i] != NULL; i++)
    {
      const char *path = strchr (lines[i], '/');

      for (gsize k = 0; path != NULL && k < G_N_ELEMENTS (names); k++)
        if (strstr (path, names[k]) != NULL && g_hash_table_add (seen, g_strdup (path)))
          printf ("loaded: %s\n", path);
    }
}

/* Allocates ever smaller pieces, since the largest possible allocation may be smaller than the free memory. */
static void
hold (const LoomBackend *backend, LoomDevice *device, gsize left)
{
  LoomMessage message = { "" };
  LoomDeviceInfo now;
  gsize piece, all = 0;
  void *at;

  backend->device_info (device, &now);
  for (piece = now.memory_free > left ? now.memory_free - left : 0; piece >= 1 << 20;)
    {
      if (backend->alloc (device, piece, &at, &message) == LOOM_STATUS_OK)
        all += piece;
      else
        piece /= 2;
      backend->device_info (device, &now);
      piece = MIN (piece, now.memory_free > left ? now.memory_free - left : 0);
    }
  printf ("holding %" G_GSIZE_FORMAT " MiB, %" G_GUINT64_FORMAT " MiB are left\n", all >> 20,
          (guint64)now.memory_free >> 20);
  fflush (stdout);
  while (getchar () != EOF)
    ;
}

int
main (int argc, char **argv)
{
  GModule *module;
  gpointer entry = NULL;
  const LoomBackend *backend;
  LoomDevice *device = NULL;
  LoomMessage message = { "" };

  if (argc != 2 && (argc != 4 || strcmp (argv[2], "--hold") != 0))
    {
      fprintf (stderr,
               "card-info MODULE.so: tells the card and the libraries that a module of the CUDA back end finds\n"
               "card-info MODULE.so --hold MIB: allocates and holds the card's memory except MIB\n");
      return 2;
    }
  module = g_module_open (argv[1], G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  if (module == NULL || !g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry))
    {
      printf ("The module cannot be opened: %s\n", g_module_error ());
      return 1;
    }
  backend = ((LoomBackendEntry)entry) ();
  if (backend->abi != LOOM_BACKEND_ABI)
    {
      printf ("The module has version %u of the back-end interface, but this program needs %u.\n", backend->abi,
              (guint)LOOM_BACKEND_ABI);
      return 1;
    }
  if (argc == 2)
    tell_versions (module);
  if (backend->device_open (0, 0, &device, &message) != LOOM_STATUS_OK)
    {
      printf ("%s\n", message.text);
      tell_files ();
      return 1;
    }
  if (argc == 4)
    hold (backend, device, (gsize)g_ascii_strtoull (argv[3], NULL, 10) << 20);
  else
    {
      tell_card (module, backend, device);
      tell_files ();
    }
  backend->device_close (device);
  /* CUDA's libraries keep threads and exit handlers, so the module stays open. */
  return 0;
}
