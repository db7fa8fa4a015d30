/* Run-time compilation: NVRTC and the driver's loading of modules, by the host's compiler.
 *
 * A text is compiled as C++ to a shared object, which is cached by a hash of its inputs (compiler, flags, text) in
 * GRADLOOM_EMULATOR_CACHE or the user's cache; the "image" is the hash. Starting the compiler takes longer than most
 * texts, so that a text waits until a kernel of this process is launched: then all waiting texts are compiled together,
 * for instance those of a whole plan. */
#include <cuda.h>
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <nvrtc.h>
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>

#include "tests/cuda/emulator/block.h"

#define MAX_ARGUMENTS 64
#define MOST_TEXTS    256 /* of one object, which bounds the compiler's memory */

struct _nvrtcProgram
{
  std::string source, image;
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
extern "C" __attribute__ ((no_sanitize ("thread")))
void emulated_loop (unsigned blocks, unsigned threads, bool backward, void (*run) (unsigned long long *), unsigned long long *a)
{
  for (unsigned i = 0; i < blocks; i++)
    for (unsigned j = 0; j < threads; j++)
      {
        blockIdx.x = backward ? blocks - 1 - i : i;
        threadIdx.x = backward ? threads - 1 - j : j;
        run (a);
      }
}
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

/* Marks a pointer among the sizes of a kernel's parameters. */
#define IS_POINTER 128

/* The entry point, which runs one thread, and the sizes of the kernel's parameters, ended by a 0. Arguments are copied
 * at the launch, 8 bytes each; the kernels have no barriers, so threads run one after the other. What is the same for
 * all texts is outside of them: with three more functions of each text, compiling took nearly twice as long. */
std::string
ways_in (const std::string &source)
{
  const std::string entry = "loom_elementwise (";
  const size_t name = source.rfind (entry), from = name + entry.size ();
  const size_t to = name != std::string::npos ? source.find (')', from) : name;
  std::string sizes, given;
  int n = 0;

  /* The compiler reports that there is no kernel. */
  if (to == std::string::npos)
    return "void *emulated_entry = (void *) loom_elementwise;\n";
  for (size_t at = from; at < to; n++)
    {
      const size_t end = std::min (source.find (',', at), to);
      const std::string parameter = source.substr (at, end - at);
      const std::string type = parameter.substr (0, parameter.find_last_of (" *") + 1);
      const bool is_pointer = type.find ('*') != std::string::npos;

      sizes += "sizeof (" + type + ")" + (is_pointer ? " + " + std::to_string (IS_POINTER) : "") + ", ";
      given += (n > 0 ? ", *(" : "*(") + type + "*) &a[" + std::to_string (n) + "]";
      at = end + 1;
    }
  return "extern \"C\" const unsigned char emulated_sizes[] = { " + sizes + "0 };\n"
         + "extern \"C\" __attribute__ ((no_sanitize (\"thread\"))) void emulated_run (unsigned long long *a)\n"
         + "{ loom_elementwise (" + given + "); }\n";
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

/* The compiler and its arguments, without files. */
std::vector<std::string>
compiler_words (void)
{
  std::vector<std::string> words;
  char **compiler = g_strsplit (EMULATOR_CXX, " ", -1);

  for (char **word = compiler; *word != NULL; word++)
    words.push_back (*word);
  g_strfreev (compiler);
  words.insert (words.end (), std::begin (flags), std::end (flags));
  if (emulated::checked)
    words.insert (words.end (), std::begin (checked_flags), std::end (checked_flags));
  return words;
}

std::string
hash_of (const std::string &source)
{
  std::string of = EMULATOR_CXX_VERSION;

  for (const std::string &word : compiler_words ())
    of += " " + word;
  of += std::string ("\n") + (emulated::checked ? touching : "") + before + source + ways_in (source);
  char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, of.c_str (), (gssize)of.size ());
  const std::string hash = sum;

  g_free (sum);
  return hash;
}

std::string
object_of (const std::string &hash)
{
  return cache_folder () + "/" + hash + ".so";
}

bool
is_compiled (const std::string &hash)
{
  return g_file_test (object_of (hash).c_str (), G_FILE_TEST_EXISTS);
}

/* Texts by their hash. */
typedef std::map<std::string, std::string> Texts;

std::mutex lock; /* of the waiting texts, and of opening objects */
Texts waiting;

/* The definitions at the beginning of a text, which many texts have in common. */
size_t
common_length (const std::string &source)
{
  const size_t program = source.find ("__device__ __forceinline__ void program (");

  return program != std::string::npos ? program : 0;
}

/* "#undef NAME" for each macro of a text. */
std::string
undefined (const std::string &text)
{
  const std::string define = "#define ";
  std::string lines;

  for (size_t at = 0; at < text.size (); at = text.find ('\n', at) + 1)
    {
      if (text.compare (at, define.size (), define) == 0)
        lines += "#undef "
                 + text.substr (at + define.size (),
                                text.find_first_of (" (\n", at + define.size ()) - at - define.size ())
                 + "\n";
      if (text.find ('\n', at) == std::string::npos)
        break;
    }
  return lines;
}

/* One C++ file of all texts, in a name space for each beginning and for each text. Kernel and entry points get the
 * text's hash. */
std::string
joined (const Texts &texts)
{
  static const char *const names[] = { "loom_elementwise", "emulated_sizes", "emulated_run" };
  std::map<std::string, std::string> by_beginning;
  std::string all = std::string (emulated::checked ? touching : "") + before;
  int n = 0;

  for (const auto &text : texts)
    {
      const size_t length = common_length (text.second);
      const std::string own = text.second.substr (length),
                        lines
                        = std::to_string (1 + std::count (text.second.begin (), text.second.begin () + length, '\n'));
      std::string &file = by_beginning[text.second.substr (0, length)];

      file += "namespace text_" + text.first + " {\n";
      for (const char *name : names)
        file += std::string ("#define ") + name + " " + name + "_" + text.first + "\n";
      file += "#line " + lines + " \"loom-elementwise.cu\"\n" + own + ways_in (text.second) + undefined (own);
      for (const char *name : names)
        file += std::string ("#undef ") + name + "\n";
      file += "}\n";
    }
  for (const auto &file : by_beginning)
    all += "namespace beginning_" + std::to_string (n++) + " {\n#line 1 \"loom-elementwise.cu\"\n" + file.first
           + file.second + undefined (file.first) + "}\n";
  return all;
}

/* Compiles texts to one object, with a name in the cache for each of them. FALSE, with the compiler's messages, if that
 * fails. */
bool
compile (const Texts &texts, std::string *log)
{
  const std::string own = object_of (texts.begin ()->first) + "." + std::to_string (g_random_int ()),
                    file = own + ".cc";
  const std::string source = joined (texts);
  std::vector<std::string> words = compiler_words ();
  std::vector<char *> argv;
  GError *error = NULL;
  char *messages = NULL;
  int status = 0;

  /* 16-bit floats are converted by functions of the compiler's own library. */
  for (const char *word : { file.c_str (), "-o", own.c_str (), "-lgcc" })
    words.push_back (word);
  for (std::string &word : words)
    argv.push_back (&word[0]);
  argv.push_back (NULL);
  /* If descriptors are left open, GLib spawns without copying the page tables of this program. */
  bool good
      = g_file_set_contents (file.c_str (), source.c_str (), (gssize)source.size (), &error)
        && g_spawn_sync (NULL, argv.data (), NULL, (GSpawnFlags)(G_SPAWN_SEARCH_PATH | G_SPAWN_LEAVE_DESCRIPTORS_OPEN),
                         NULL, NULL, NULL, &messages, &status, &error)
        && g_spawn_check_wait_status (status, &error);

  /* Another process may have compiled the same text meanwhile. */
  for (auto text = texts.begin (); good && text != texts.end (); ++text)
    if (link (own.c_str (), object_of (text->first).c_str ()) != 0 && !is_compiled (text->first))
      {
        *log = "the object cannot be kept";
        good = false;
      }
  if (!good && log->empty ())
    *log = messages != NULL && messages[0] != '\0' ? messages : error->message;
  g_unlink (file.c_str ());
  g_unlink (own.c_str ());
  g_clear_error (&error);
  g_free (messages);
  return good;
}

/* Called with the lock held. The messages about a fault are those of its own text. */
void
compile_waiting (void)
{
  while (!waiting.empty ())
    {
      std::string log;
      Texts texts;

      for (; !waiting.empty () && texts.size () < MOST_TEXTS; waiting.erase (waiting.begin ()))
        if (!is_compiled (waiting.begin ()->first))
          texts.insert (*waiting.begin ());
      if (texts.empty () || compile (texts, &log))
        continue;
      for (const auto &one : texts)
        if (log.clear (); !compile ({ one }, &log))
          emulated::found ("a text that is compiled at run time has a fault: %s", log.c_str ());
    }
}

struct Module
{
  std::string hash;
  void *library; /* NULL: no kernel was launched */
  const unsigned char *sizes; /* of parameters; the last is 0 */
  void (*run) (unsigned long long *);
  void (*loop) (unsigned, unsigned, bool, void (*) (unsigned long long *), unsigned long long *);
};

template <typename F>
void
find (const Module *module, const char *name, F *function)
{
  *function = (F)dlsym (module->library, (std::string (name) + "_" + module->hash).c_str ());
}

/* Compiles the module's text, if that is not done, and loads it. */
void
open (Module *module)
{
  std::lock_guard<std::mutex> hold (lock);

  if (module->library != NULL)
    return;
  compile_waiting ();
  module->library = dlopen (object_of (module->hash).c_str (), RTLD_NOW | RTLD_LOCAL);
  if (module->library == NULL)
    emulated::found ("%s", dlerror ());
  find (module, "emulated_sizes", &module->sizes);
  find (module, "emulated_run", &module->run);
  *(void **)&module->loop = dlsym (module->library, "emulated_loop");
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
}

CUresult
module_load (CUmodule *to, const void *image)
{
  const std::string hash = (const char *)image;

  if (emulated::standing () != cudaSuccess)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::lock_guard<std::mutex> hold (lock);

  if (waiting.count (hash) == 0 && !is_compiled (hash))
    return CUDA_ERROR_INVALID_IMAGE;
  *to = (CUmodule) new Module{ hash };
  return CUDA_SUCCESS;
}

CUresult
module_unload (CUmodule module)
{
  if (((Module *)module)->library != NULL)
    dlclose (((Module *)module)->library);
  delete (Module *)module;
  return CUDA_SUCCESS;
}

CUresult
module_function (CUfunction *to, CUmodule module, const char *name)
{
  if (strcmp (name, "loom_elementwise") != 0)
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

  open (module);
  const size_t count = strlen ((const char *)module->sizes);

  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra != NULL || count > MAX_ARGUMENTS)
    {
      emulated::lacks ("cuLaunchKernel with more than one dimension, extra or %d arguments", MAX_ARGUMENTS);
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  if (cudaError_t error = emulated::check ("loom_elementwise", shape))
    return driver_error (error);
  std::vector<const void *> uses;

  for (size_t i = 0; i < count; i++)
    {
      memcpy (&copied.value[i], arguments[i], module->sizes[i] & ~IS_POINTER);
      const void *value = (const void *)copied.value[i];

      if ((module->sizes[i] & IS_POINTER) != 0 && value != NULL && !emulated::device_sees (value))
        emulated::found ("a run-time compiled kernel was given a pointer of the host");
      uses.push_back (value);
    }
  return driver_error (emulated::enqueue (stream, { "loom_elementwise",
                                                    [=] {
                                                      Arguments again = copied;

                                                      if (emulated::fails ("sticky"))
                                                        return emulated::fault ();
                                                      if (emulated::checked)
                                                        emulated::touch_begin ("loom_elementwise", NULL, 0, &again + 1);
                                                      module->loop (gx, bx, emulated::order () == emulated::Order::BACKWARD,
                                                                    module->run, again.value);
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
  std::lock_guard<std::mutex> hold (lock);

  program->image = hash_of (program->source);
  if (!is_compiled (program->image))
    waiting[program->image] = program->source;
  return NVRTC_SUCCESS;
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
nvrtcGetProgramLogSize (nvrtcProgram, size_t *bytes)
{
  *bytes = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetProgramLog (nvrtcProgram, char *log)
{
  log[0] = '\0';
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
