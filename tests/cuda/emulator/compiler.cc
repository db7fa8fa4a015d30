/* Run-time compilation: NVRTC and the driver's loading of modules, by the host's compiler.
 *
 * The text is compiled as C++ to a shared object, which is cached by a hash of its inputs (compiler, flags, text) in
 * GRADLOOM_EMULATOR_CACHE or the user's cache; the "image" is its path. */
#include <cuda.h>
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <nvrtc.h>
#include <algorithm>
#include <string>

#include "tests/cuda/emulator/block.h"

#define MAX_ARGUMENTS 64

struct _nvrtcProgram
{
  std::string source, image, log;
};

namespace
{
/* Functions of CUDA that the texts use. The C library's functions are declared instead of included, which makes
 * compiling several times faster. */
const char *const before = R"(
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__ ((aligned (n)))
struct Place { unsigned x, y, z; };
static Place threadIdx, blockIdx;
#define F(name) extern "C" float name##f (float); extern "C" double name (double);
F (fabs) F (floor) F (sqrt) F (exp) F (log) F (tanh) F (erf) F (sin) F (cos) F (ceil) F (rint) F (trunc) F (exp2)
F (expm1) F (log2) F (log10) F (log1p) F (tan) F (asin) F (acos) F (atan) F (sinh) F (cosh) F (asinh) F (acosh) F (atanh)
#undef F
#define F(name) extern "C" float name##f (float, float); extern "C" double name (double, double);
F (fmod) F (atan2) F (pow)
#undef F
static inline float __uint_as_float (unsigned x) { float y; __builtin_memcpy (&y, &x, 4); return y; }
static inline unsigned __float_as_uint (float x) { unsigned y; __builtin_memcpy (&y, &x, 4); return y; }
static inline double __longlong_as_double (long long x) { double y; __builtin_memcpy (&y, &x, 8); return y; }
static inline float loom_from_half (unsigned short x) { _Float16 y; __builtin_memcpy (&y, &x, 2); return (float) y; }
static inline unsigned short loom_to_half (float x)
{ _Float16 y = (_Float16) x; unsigned short z; __builtin_memcpy (&z, &y, 2); return z; }
#line 1 "loom-elementwise.cu"
)";

/* If loads and stores are checked, the compiler's calls go to the functions of touch.cc. */
const char *const touching = R"(
extern "C" {
void (*emulated_touch) (void *, unsigned, bool, const void *);
void (*emulated_misaligned) (const void *, const void *, unsigned long);
void (*emulated_outside) (const void *, long long);
#define OWN __attribute__ ((no_sanitize ("thread"), used))
#define TOUCHES(n) \
  OWN void __tsan_read##n (void *p) { emulated_touch (p, n, false, __builtin_return_address (0)); } \
  OWN void __tsan_write##n (void *p) { emulated_touch (p, n, true, __builtin_return_address (0)); } \
  OWN void __tsan_unaligned_read##n (void *p) { emulated_touch (p, n, false, __builtin_return_address (0)); } \
  OWN void __tsan_unaligned_write##n (void *p) { emulated_touch (p, n, true, __builtin_return_address (0)); }
TOUCHES (1) TOUCHES (2) TOUCHES (4) TOUCHES (8) TOUCHES (16)
OWN void __tsan_read_range (void *p, unsigned long n) { emulated_touch (p, (unsigned) n, false, __builtin_return_address (0)); }
OWN void __tsan_write_range (void *p, unsigned long n) { emulated_touch (p, (unsigned) n, true, __builtin_return_address (0)); }
OWN void __tsan_func_entry (void *) {}
OWN void __tsan_func_exit () {}
OWN void __tsan_init () {}
struct EmulatedMismatch { char position[16]; const void *type; unsigned char alignment; };
OWN void __ubsan_handle_type_mismatch_v1 (EmulatedMismatch *what, void *p)
{ emulated_misaligned (what, p, 1ul << what->alignment); }
OWN void __ubsan_handle_out_of_bounds (void *what, void *index) { emulated_outside (what, (long long) index); }
}
)";

/* Entry points. Arguments are copied at the launch, 8 bytes each; the kernels have no barriers, so threads run one
 * after the other. The code is written out for the kernel's parameters: templates took a third of the compiler's time.
 */
std::string
ways_in (const std::string &source)
{
  const std::string entry = "loom_elementwise (";
  const size_t name = source.rfind (entry), from = name + entry.size ();
  const size_t to = name != std::string::npos ? source.find (')', from) : name;
  std::string copied, sees, given;
  int n = 0;

  /* The compiler reports that there is no kernel. */
  if (to == std::string::npos)
    return "void *emulated_entry = (void *) loom_elementwise;\n";
  for (size_t at = from; at < to; n++)
    {
      const size_t end = std::min (source.find (',', at), to);
      const std::string parameter = source.substr (at, end - at), i = std::to_string (n);
      const std::string type = parameter.substr (0, parameter.find_last_of (" *") + 1), slot = "(" + type + "*) &to[" + i + "]";

      copied += "  *" + slot + " = *(" + type + "*) from[" + i + "];\n";
      if (type.find ('*') != std::string::npos)
        sees += " && (to[" + i + "] == 0 || sees ((const void *) to[" + i + "]))";
      given += (n > 0 ? ", *(" : "*(") + type + "*) &a[" + i + "]";
      at = end + 1;
    }
  return "extern \"C\" int emulated_count (void) { return " + std::to_string (n) + R"(; }
extern "C" bool emulated_copy (void **from, unsigned long long *to, bool (*sees) (const void *))
{
)" + copied + "  return true"
         + sees + R"(;
}
extern "C" __attribute__ ((no_sanitize ("thread"))) void emulated_run (unsigned blocks, unsigned threads, bool backward, unsigned long long *a)
{
  for (unsigned long long i = 0, n = (unsigned long long) blocks * threads; i < n; i++)
    {
      unsigned long long at = backward ? n - 1 - i : i;
      blockIdx.x = at / threads;
      threadIdx.x = at % threads;
      loom_elementwise ()" + given + R"();
    }
}
)";
}

/* For a module whose kernels are checked, without the sanitizers' runtimes. Under the address sanitizer texts are
 * compiled without it, and cached with the others: it checks the host's code. Optimised, since otherwise variables in
 * registers would be checked, too. */
const char *const checked_flags[] = { "-O1", "-g1", "-fsanitize=thread,alignment,bounds", "--param=tsan-instrument-func-entry-exit=0" };

/* A text is compiled once and run a few times, so compiling takes most of the time: it is a third faster without
 * optimisation and without libraries, whose functions the program has, and a fifth faster without the linker's plugin for
 * link-time optimisation. */
const char *const flags[]
    = { "-std=c++17",           "-w",    "-x",      "c++",         "-ffp-contract=off", "-fno-math-errno",
        "-fno-strict-aliasing", "-fPIC", "-shared", "-nostdinc++", "-nostdlib",         "-fno-asynchronous-unwind-tables",
        "-fno-use-linker-plugin" };

std::string
cache_folder (void)
{
  const char *configured = g_getenv ("GRADLOOM_EMULATOR_CACHE");
  char *own = configured != NULL ? g_strdup (configured) : g_build_filename (g_get_user_cache_dir (), "gradloom-emulator", NULL);
  std::string folder = own;

  g_free (own);
  g_mkdir_with_parents (folder.c_str (), 0755);
  return folder;
}

/* The shared object of a text; empty, with the compiler's messages, if compiling fails. */
std::string
compiled (const std::string &source, std::string *log)
{
  std::string text = std::string (emulated::checked ? touching : "") + before + source + ways_in (source);
  std::string of = EMULATOR_CXX " " EMULATOR_CXX_VERSION;
  GPtrArray *argv = g_ptr_array_new (), *chosen = g_ptr_array_new ();
  GError *error = NULL;
  char *words = NULL, *sum;
  int status = 0;

  for (const char *flag : flags)
    g_ptr_array_add (chosen, (gpointer)flag);
  for (const char *flag : checked_flags)
    if (emulated::checked)
      g_ptr_array_add (chosen, (gpointer)flag);
  for (guint i = 0; i < chosen->len; i++)
    of += std::string (" ") + (const char *)chosen->pdata[i];
  of += " -lgcc\n" + text;
  sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, of.c_str (), (gssize)of.size ());
  std::string object = cache_folder () + "/" + sum + ".so";
  std::string own = object + "." + std::to_string (g_random_int ());
  std::string file = own + ".cc";

  g_free (sum);
  if (g_file_test (object.c_str (), G_FILE_TEST_EXISTS))
    {
      g_ptr_array_unref (argv);
      g_ptr_array_unref (chosen);
      return object;
    }
  char **words_of_compiler = g_strsplit (EMULATOR_CXX, " ", -1);

  for (char **word = words_of_compiler; *word != NULL; word++)
    g_ptr_array_add (argv, *word);
  for (guint i = 0; i < chosen->len; i++)
    g_ptr_array_add (argv, chosen->pdata[i]);
  /* 16-bit floats are converted by functions of the compiler's own library. */
  for (const char *word : { file.c_str (), "-o", own.c_str (), "-lgcc" })
    g_ptr_array_add (argv, (gpointer)word);
  g_ptr_array_add (argv, NULL);
  /* If descriptors are left open, GLib spawns without copying the page tables of this program. */
  bool good = g_file_set_contents (file.c_str (), text.c_str (), (gssize)text.size (), &error)
              && g_spawn_sync (NULL, (char **)argv->pdata, NULL, (GSpawnFlags)(G_SPAWN_SEARCH_PATH | G_SPAWN_LEAVE_DESCRIPTORS_OPEN), NULL, NULL, NULL,
                               &words, &status, &error)
              && g_spawn_check_wait_status (status, &error) && rename (own.c_str (), object.c_str ()) == 0;

  if (!good)
    *log = words != NULL && words[0] != '\0' ? words : error != NULL ? error->message : "the object cannot be kept";
  g_unlink (file.c_str ());
  g_clear_error (&error);
  g_free (words);
  g_strfreev (words_of_compiler);
  g_ptr_array_unref (argv);
  g_ptr_array_unref (chosen);
  return good ? object : "";
}

struct Module
{
  void *library;
  int (*count) (void);
  bool (*copy) (void **, unsigned long long *, bool (*) (const void *));
  void (*run) (unsigned, unsigned, bool, unsigned long long *);
};

CUresult
module_load (CUmodule *to, const void *image)
{
  Module *module;

  if (emulated::standing () != cudaSuccess)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  module = new Module ();
  module->library = dlopen ((const char *)image, RTLD_NOW | RTLD_LOCAL);
  if (module->library == NULL)
    {
      delete module;
      return CUDA_ERROR_INVALID_IMAGE;
    }
  module->count = (decltype (module->count))dlsym (module->library, "emulated_count");
  module->copy = (decltype (module->copy))dlsym (module->library, "emulated_copy");
  module->run = (decltype (module->run))dlsym (module->library, "emulated_run");
  if (emulated::checked)
    {
      void **touch = (void **)dlsym (module->library, "emulated_touch");
      void **misaligned = (void **)dlsym (module->library, "emulated_misaligned");
      void **outside = (void **)dlsym (module->library, "emulated_outside");

      *touch = (void *)emulated::touch;
      *misaligned = (void *)+[] (const emulated::Position *position, const void *at, unsigned long alignment) {
        emulated::misaligned (*position, at, alignment);
      };
      *outside = (void *)+[] (const emulated::Position *position, long long index) { emulated::outside_array (*position, index); };
      emulated::touch_code ((const void *)module->run);
    }
  *to = (CUmodule)module;
  return CUDA_SUCCESS;
}

CUresult
module_unload (CUmodule module)
{
  dlclose (((Module *)module)->library);
  delete (Module *)module;
  return CUDA_SUCCESS;
}

CUresult
module_function (CUfunction *to, CUmodule module, const char *name)
{
  if (dlsym (((Module *)module)->library, name) == NULL)
    return CUDA_ERROR_NOT_FOUND;
  *to = (CUfunction)module;
  return CUDA_SUCCESS;
}

/* The runtime's errors and the driver's have the same numbers. */
CUresult
driver_error (cudaError_t error)
{
  return (CUresult)error;
}

CUresult
launch_kernel (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned bytes, CUstream stream, void **arguments, void **extra)
{
  struct Arguments
  {
    unsigned long long value[MAX_ARGUMENTS];
  } copied = {};
  Module *module = (Module *)function;
  emulated::Shape shape (dim3 (gx, gy, gz), dim3 (bx, by, bz), bytes, stream);

  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra != NULL || module->count () > MAX_ARGUMENTS)
    {
      emulated::lacks ("cuLaunchKernel with more than one dimension, extra or %d arguments", MAX_ARGUMENTS);
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  if (cudaError_t error = emulated::check ("loom_elementwise", shape))
    return driver_error (error);
  if (!module->copy (arguments, copied.value, emulated::device_sees))
    emulated::found ("a run-time compiled kernel was given a pointer of the host");
  std::vector<const void *> uses;

  for (unsigned long long value : copied.value)
    uses.push_back ((const void *)value);
  return driver_error (emulated::enqueue (stream, { "loom_elementwise",
                                                    [=] {
                                                      Arguments again = copied;

                                                      if (emulated::fails ("sticky"))
                                                        return emulated::fault ();
                                                      if (emulated::checked)
                                                        emulated::touch_begin ("loom_elementwise", NULL, 0, &again + 1);
                                                      module->run (gx, bx, emulated::order () == emulated::Order::BACKWARD,
                                                                   again.value);
                                                      if (emulated::checked)
                                                        emulated::touch_end ();
                                                    },
                                                    uses }));
}

CUresult
error_string (CUresult result, const char **text)
{
  *text = result == CUDA_ERROR_INVALID_IMAGE ? "device kernel image is invalid"
          : result == CUDA_ERROR_NOT_FOUND   ? "named symbol not found"
                                             : cudaGetErrorString ((cudaError_t)result);
  return CUDA_SUCCESS;
}

cudaError_t
entry_point (const char *symbol, void **function, enum cudaDriverEntryPointQueryResult *found)
{
  static const struct
  {
    const char *name;
    void *function;
  } known[] = { { "cuModuleLoadData", (void *)module_load },
                { "cuModuleUnload", (void *)module_unload },
                { "cuModuleGetFunction", (void *)module_function },
                { "cuLaunchKernel", (void *)launch_kernel },
                { "cuGetErrorString", (void *)error_string } };

  *function = NULL;
  *found = cudaDriverEntryPointSymbolNotFound;
  for (const auto &one : known)
    if (strcmp (one.name, symbol) == 0)
      {
        *function = one.function;
        *found = cudaDriverEntryPointSuccess;
      }
  if (*function == NULL)
    emulated::lacks ("the driver's %s", symbol);
  return cudaSuccess;
}
}

extern "C"
{
#if CUDART_VERSION >= 12050
cudaError_t
cudaGetDriverEntryPointByVersion (const char *symbol, void **function, unsigned int, unsigned long long,
                                  enum cudaDriverEntryPointQueryResult *found)
{
  return entry_point (symbol, function, found);
}
#else
cudaError_t
cudaGetDriverEntryPoint (const char *symbol, void **function, unsigned long long,
                         enum cudaDriverEntryPointQueryResult *found)
{
  return entry_point (symbol, function, found);
}
#endif

nvrtcResult
nvrtcCreateProgram (nvrtcProgram *program, const char *source, const char *, int headers, const char *const *,
                    const char *const *)
{
  if (headers != 0)
    return NVRTC_ERROR_INVALID_INPUT;
  *program = new _nvrtcProgram ();
  (*program)->source = source;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcCompileProgram (nvrtcProgram program, int, const char *const *)
{
  program->image = compiled (program->source, &program->log);
  return program->image.empty () ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

nvrtcResult
nvrtcDestroyProgram (nvrtcProgram *program)
{
  delete *program;
  *program = NULL;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetCUBINSize (nvrtcProgram program, size_t *bytes)
{
  *bytes = program->image.size () + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetCUBIN (nvrtcProgram program, char *image)
{
  memcpy (image, program->image.c_str (), program->image.size () + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetPTXSize (nvrtcProgram program, size_t *bytes)
{
  return nvrtcGetCUBINSize (program, bytes);
}

nvrtcResult
nvrtcGetPTX (nvrtcProgram program, char *image)
{
  return nvrtcGetCUBIN (program, image);
}

nvrtcResult
nvrtcGetProgramLogSize (nvrtcProgram program, size_t *bytes)
{
  *bytes = program->log.size () + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetProgramLog (nvrtcProgram program, char *log)
{
  memcpy (log, program->log.c_str (), program->log.size () + 1);
  return NVRTC_SUCCESS;
}

const char *
nvrtcGetErrorString (nvrtcResult result)
{
  return result == NVRTC_SUCCESS             ? "NVRTC_SUCCESS"
         : result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION"
                                             : "NVRTC_ERROR_INVALID_INPUT";
}

nvrtcResult
nvrtcGetNumSupportedArchs (int *n)
{
  *n = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetSupportedArchs (int *list)
{
  *list = 90;
  return NVRTC_SUCCESS;
}
}
