/* Generates the CUDA source of an element-wise program and compiles it.
 *
 * The formulas are those of scalar.h, turned into text by the preprocessor, so that no formula is written twice. Shapes
 * and strides of broadcast operands are constants in the source: the compiler then turns divisions by them into
 * multiplications. */
#include <inttypes.h>
#include <nvrtc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-source.h"
#include "kernels/cuda/integer-text.h"
#include "kernels/shape.h"

#define TEXT2(x) #x
#define TEXT(x)  TEXT2 (x)

#define FORMULA(E, name, arity, expression) [LOOM_SCALAR_##E] = TEXT (expression),
static const char *const formulas[LOOM_N_SCALARS] = { LOOM_SCALAR_OPS (FORMULA) };
#undef FORMULA

static const char *const type_names[LOOM_N_DTYPES] = {
  [LOOM_F64] = "double",    [LOOM_F32] = "float", [LOOM_F16] = "loom_f16",     [LOOM_BF16] = "loom_bf16",
  [LOOM_I64] = "long long", [LOOM_I32] = "int",   [LOOM_U8] = "unsigned char", [LOOM_BOOL] = "loom_bool",
};

/* Functions of the register type whose names differ between floats and doubles. */
#define UNARY(X)                                                                                                       \
  X (FABS, fabs)                                                                                                       \
  X (FLOOR, floor)                                                                                                     \
  X (SQRT, sqrt)                                                                                                       \
  X (EXP, exp)                                                                                                         \
  X (LOG, log)                                                                                                         \
  X (TANH, tanh)                                                                                                       \
  X (ERF, erf)                                                                                                         \
  X (SIN, sin)                                                                                                         \
  X (COS, cos)                                                                                                         \
  X (CEIL, ceil)                                                                                                       \
  X (RINT, rint)                                                                                                       \
  X (TRUNC, trunc)                                                                                                     \
  X (EXP2, exp2)                                                                                                       \
  X (EXPM1, expm1)                                                                                                     \
  X (LOG2, log2)                                                                                                       \
  X (LOG10, log10)                                                                                                     \
  X (LOG1P, log1p)                                                                                                     \
  X (TAN, tan)                                                                                                         \
  X (ASIN, asin)                                                                                                       \
  X (ACOS, acos)                                                                                                       \
  X (ATAN, atan)                                                                                                       \
  X (SINH, sinh)                                                                                                       \
  X (COSH, cosh)                                                                                                       \
  X (ASINH, asinh)                                                                                                     \
  X (ACOSH, acosh)                                                                                                     \
  X (ATANH, atanh)

/* Functions of both types; remainders are those of the type. A float becomes an integer as in convert.h. */
#define FLOATS                                                                                                         \
  "#define LOOM_M_DIV_FLOOR(x, y) " TEXT (                                                                             \
      LOOM_FLOAT_DIV_FLOOR (x, y)) "\n"                                                                                \
                                   "__device__ __forceinline__ long long whole (T x)\n"                                \
                                   "{ return x >= (T) -9223372036854775808.0 && x < (T) 9223372036854775808.0\n"       \
                                   "         ? (long long) x : (long long) 0x8000000000000000ULL; }\n"

#define FLOAT_FUNCTION(E, name)  "#define LOOM_M_" #E "(x) " #name "f (x)\n"
#define DOUBLE_FUNCTION(E, name) "#define LOOM_M_" #E "(x) " #name " (x)\n"

static const char *const float_functions
    = "typedef float T;\n" UNARY (FLOAT_FUNCTION) "#define LOOM_M_FMOD(x, y) fmodf (x, y)\n"
                                                  "#define LOOM_M_ATAN2(x, y) atan2f (x, y)\n"
                                                  "#define LOOM_M_POW(x, y) powf (x, y)\n"
                                                  "#define LOOM_M_DIV_TRUNC(x, y) truncf ((x) / (y))\n" FLOATS;

static const char *const double_functions
    = "typedef double T;\n" UNARY (DOUBLE_FUNCTION) "#define LOOM_M_FMOD(x, y) fmod (x, y)\n"
                                                    "#define LOOM_M_ATAN2(x, y) atan2 (x, y)\n"
                                                    "#define LOOM_M_POW(x, y) pow (x, y)\n"
                                                    "#define LOOM_M_DIV_TRUNC(x, y) trunc ((x) / (y))\n" FLOATS;

/* Integers use kernels/integer.h; the plan refuses operations of floats only. */
static const char *const integer_functions = "typedef long long T;\n"
                                             "typedef long long int64_t;\n"
                                             "typedef unsigned long long uint64_t;\n"
                                             "#define LOOM_INTEGER_FN __device__ static inline\n" LOOM_INTEGER_TEXT
                                             "#define LOOM_M_FABS(x) ((x) < 0 ? loom_int_neg (x) : (x))\n"
                                             "#define LOOM_M_FLOOR(x) (x)\n"
                                             "#define LOOM_M_CEIL(x) (x)\n"
                                             "#define LOOM_M_RINT(x) (x)\n"
                                             "#define LOOM_M_TRUNC(x) (x)\n"
                                             "#define LOOM_M_FMOD(x, y) loom_int_fmod (x, y)\n"
                                             "#define LOOM_M_DIV_TRUNC(x, y) loom_int_div_trunc (x, y)\n"
                                             "#define LOOM_M_DIV_FLOOR(x, y) loom_int_div_floor (x, y)\n"
                                             "#define LOOM_M_POW(x, y) loom_int_pow (x, y)\n"
                                             "__device__ __forceinline__ long long whole (T x) { return x; }\n";

/* 16-bit floats are converted by instructions and bit operations, which spares the run-time compiler the toolkit's
 * headers. If there is no such instruction (tests/cuda/emulator), the two functions are defined before the text. bf16
 * rounds to nearest even and keeps NaN. */
static const char *const conversions
    = "#ifdef __CUDA_ARCH__\n"
      "__device__ __forceinline__ float loom_from_half (unsigned short x)\n"
      "{ float y; asm (\"cvt.f32.f16 %0, %1;\" : \"=f\" (y) : \"h\" (x)); return y; }\n"
      "__device__ __forceinline__ unsigned short loom_to_half (float x)\n"
      "{ unsigned short y; asm (\"cvt.rn.f16.f32 %0, %1;\" : \"=h\" (y) : \"f\" (x)); return y; }\n"
      "#endif\n"
      "struct loom_f16 { unsigned short bits; };\n"
      "struct loom_bf16 { unsigned short bits; };\n"
      "struct loom_bool { unsigned char bits; };\n"
      "template <typename D> __device__ __forceinline__ T load (D x) { return (T) x; }\n"
      "template <> __device__ __forceinline__ T load (loom_bool x) { return (T) (x.bits != 0); }\n"
      "template <> __device__ __forceinline__ T load (loom_bf16 x)\n"
      "{ return (T) __uint_as_float ((unsigned) x.bits << 16); }\n"
      "template <> __device__ __forceinline__ T load (loom_f16 x)\n"
      "{ return (T) loom_from_half (x.bits); }\n"
      "template <typename D> __device__ __forceinline__ void store (D &y, T x) { y = (D) x; }\n"
      "template <> __device__ __forceinline__ void store (long long &y, T x) { y = whole (x); }\n"
      "template <> __device__ __forceinline__ void store (int &y, T x) { y = (int) whole (x); }\n"
      "template <> __device__ __forceinline__ void store (unsigned char &y, T x) { y = (unsigned char) whole (x); }\n"
      "template <> __device__ __forceinline__ void store (loom_bool &y, T x) { y.bits = x != 0; }\n"
      "template <> __device__ __forceinline__ void store (loom_f16 &y, T x)\n"
      "{ y.bits = loom_to_half ((float) x); }\n"
      "template <> __device__ __forceinline__ void store (loom_bf16 &y, T x)\n"
      "{\n"
      "  unsigned u = __float_as_uint ((float) x);\n"
      "  y.bits = x != x ? 0x7fc0 : (unsigned short) ((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
      "}\n"
      "template <typename D> struct __align__ (sizeof (D) * 4 < 16 ? sizeof (D) * 4 : 16) Four { D v[4]; };\n";

/* ---- the source ------------------------------------------------------------ */

typedef struct
{
  char *text;
  size_t length, room;
  bool failed;
} Text;

static void __attribute__ ((format (printf, 2, 3))) add (Text *text, const char *format, ...)
{
  va_list args, again;
  int n;

  va_start (args, format);
  va_copy (again, args);
  n = vsnprintf (NULL, 0, format, args);
  va_end (args);
  if (n >= 0 && !text->failed && text->length + n + 1 > text->room)
    {
      size_t room = (text->length + n + 1) * 2;
      char *grown = realloc (text->text, room);

      text->failed = grown == NULL;
      if (grown != NULL)
        {
          text->text = grown;
          text->room = room;
        }
    }
  if (n >= 0 && !text->failed)
    {
      vsnprintf (text->text + text->length, n + 1, format, again);
      text->length += n;
    }
  va_end (again);
}

/* The bits represent the number exactly, in every locale, infinities included. */
static void
add_constant (Text *text, LoomDType compute, double value)
{
  uint64_t bits;

  memcpy (&bits, &value, sizeof bits);
  if (compute == LOOM_I64)
    add (text, "%" PRId64 "LL", (int64_t)value);
  else
    add (text, "(T) __longlong_as_double (0x%" PRIx64 "LL)", bits);
}

static void
add_program (Text *text, const CudaElementwisePlan *plan)
{
  const LoomElementwiseAttrs *program = &plan->program;
  const int first = plan->n_in + program->n_in_parts;

  add (text, "__device__ __forceinline__ void program (");
  for (int k = 0; k < plan->n_loads; k++)
    add (text, "T r%d, ", plan->load[k].reg);
  for (int k = 0; k < plan->n_stores; k++)
    add (text, "%sT &o%d", k != 0 ? ", " : "", k);
  add (text, ")\n{\n");
  for (int s = 0; s < program->n_steps; s++)
    {
      const LoomElementwiseStep *step = &program->step[s];

      add (text, "  T r%d;\n  {", first + s);
      for (int k = 0; k < loom_scalar_arity (step->op); k++)
        add (text, " const T %c = r%d;", 'a' + k, step->arg[k]);
      if (step->op == LOOM_SCALAR_CONST)
        {
          add (text, " const T imm = ");
          add_constant (text, program->compute, step->imm);
          add (text, ";");
        }
      add (text, " r%d = %s; }\n", first + s, formulas[step->op]);
      if (step->round == LOOM_F16 || step->round == LOOM_BF16)
        add (text, "  { loom_%s rounded; store (rounded, r%d); r%d = load (rounded); }\n",
             loom_dtype_name (step->round), first + s, first + s);
    }
  for (int k = 0; k < plan->n_stores; k++)
    add (text, "  o%d = r%d;\n", k, plan->store[k].reg);
  add (text, "}\n");
}

/* Whether a load reads neighbours; otherwise it reads one element, once for all results of a thread. */
static bool
reads_neighbours (const CudaElementwisePlan *plan, const CudaWalk *walk)
{
  return plan->rank > 0 && walk->stride[plan->rank - 1] != 0;
}

/* Whether a result has no parts and is indexed by the thread's own number. */
static bool
has_no_parts (const CudaElementwisePlan *plan, const CudaWalk *store)
{
  return !loom_has_parts (plan->program.out_part, plan->program.n_out_parts, store->tensor);
}

/* "a3", or "b3": the index of a thread's first element in load, or store, 3. */
static void
add_index (Text *text, const CudaElementwisePlan *plan, const CudaWalk *walk, char name, int number)
{
  if (plan->flat)
    {
      add (text, "  const Index %c%d = %s;\n", name, number, reads_neighbours (plan, walk) ? "i" : "0");
      return;
    }
  add (text, "  const Index %c%d = %" PRId64, name, number, walk->offset);
  for (int d = 0; d < plan->rank; d++)
    if (walk->stride[d] != 0)
      add (text, " + c%d * %" PRId64, d, walk->stride[d]);
  add (text, ";\n");
}

/* Calls the program for element k of the thread; loaded four at a time or one by one. */
static void
add_call (Text *text, const CudaElementwisePlan *plan, bool four)
{
  int last = plan->rank - 1;

  add (text, "      {\n        T");
  for (int k = 0; k < plan->n_stores; k++)
    add (text, "%s o%d", k != 0 ? "," : "", k);
  add (text, ";\n        program (");
  for (int k = 0; k < plan->n_loads; k++)
    {
      const CudaWalk *walk = &plan->load[k];

      if (four && reads_neighbours (plan, walk))
        add (text, "load (v%d.v[k]), ", k);
      else if (four)
        add (text, "s%d, ", k);
      else
        add (text, "load (p%d[a%d + k * %" PRId64 "]), ", walk->tensor, k, plan->rank > 0 ? walk->stride[last] : 0);
    }
  for (int k = 0; k < plan->n_stores; k++)
    add (text, "%so%d", k != 0 ? ", " : "", k);
  add (text, ");\n");
  for (int k = 0; k < plan->n_stores; k++)
    {
      const CudaWalk *walk = &plan->store[k];

      if (four)
        add (text, "        store (w%d.v[k], o%d);\n", k, k);
      else if (has_no_parts (plan, walk))
        add (text, "        store (q%d[i + k], o%d);\n", walk->tensor, k);
      else
        add (text, "        store (q%d[b%d + k * %" PRId64 "], o%d);\n", walk->tensor, k,
             plan->rank > 0 ? walk->stride[last] : 0, k);
    }
  add (text, "      }\n");
}

static void
add_four (Text *text, const CudaElementwisePlan *plan)
{
  add (text, "  if (aligned && i + 4 <= n)\n    {\n");
  for (int k = 0; k < plan->n_loads; k++)
    {
      const CudaWalk *walk = &plan->load[k];
      const char *type = type_names[plan->in_dtype[walk->tensor]];

      if (reads_neighbours (plan, walk))
        add (text, "      const Four<%s> v%d = *(const Four<%s> *) (p%d + a%d);\n", type, k, type, walk->tensor, k);
      else
        add (text, "      const T s%d = load (p%d[a%d]);\n", k, walk->tensor, k);
    }
  for (int k = 0; k < plan->n_stores; k++)
    add (text, "      Four<%s> w%d;\n", type_names[plan->out_dtype[plan->store[k].tensor]], k);
  add (text, "#pragma unroll\n      for (int k = 0; k < 4; k++)\n");
  add_call (text, plan, true);
  for (int k = 0; k < plan->n_stores; k++)
    {
      const CudaWalk *walk = &plan->store[k];
      const char *type = type_names[plan->out_dtype[walk->tensor]];

      if (has_no_parts (plan, walk))
        add (text, "      *(Four<%s> *) (q%d + i) = w%d;\n", type, walk->tensor, k);
      else
        add (text, "      *(Four<%s> *) (q%d + b%d) = w%d;\n", type, walk->tensor, k, k);
    }
  add (text, "      return;\n    }\n");
}

static void
add_kernel (Text *text, const CudaElementwisePlan *plan)
{
  bool narrow = !plan->flat && plan->largest < INT64_C (0x7fffffff) - CUDA_ELEMENTWISE_THREADS * 4;

  add (text, "extern \"C\" __global__ void __launch_bounds__ (%d)\n" CUDA_ELEMENTWISE_ENTRY " (",
       CUDA_ELEMENTWISE_THREADS);
  for (int k = 0; k < plan->n_in; k++)
    add (text, "const %s *p%d, ", type_names[plan->in_dtype[k]], k);
  for (int k = 0; k < plan->n_out; k++)
    add (text, "%s *q%d, ", type_names[plan->out_dtype[k]], k);
  add (text, "long long n, int aligned)\n{\n");
  add (text, "  typedef %s Index;\n", narrow ? "unsigned" : "long long");
  add (text, "  const Index i = ((Index) blockIdx.x * %d + threadIdx.x) * %d;\n  if (i >= n)\n    return;\n",
       CUDA_ELEMENTWISE_THREADS, plan->vector);
  if (!plan->flat)
    {
      add (text, "  Index rest = i;\n");
      for (int d = plan->rank - 1; d > 0; d--)
        add (text, "  const Index c%d = rest %% %" PRId64 "; rest /= %" PRId64 ";\n", d, plan->dim[d], plan->dim[d]);
      add (text, "  const Index c0 = rest;\n");
    }
  for (int k = 0; k < plan->n_loads; k++)
    add_index (text, plan, &plan->load[k], 'a', k);
  for (int k = 0; k < plan->n_stores; k++)
    if (!has_no_parts (plan, &plan->store[k]))
      add_index (text, plan, &plan->store[k], 'b', k);
  if (plan->vector == 4)
    add_four (text, plan);
  add (text, "  for (int k = 0; k < %d && i + k < n; k++)\n", plan->vector);
  add_call (text, plan, false);
  add (text, "}\n");
}

char *
cuda_elementwise_source (const CudaElementwisePlan *plan)
{
  Text text = { NULL };

  add (&text, "%s%s",
       plan->program.compute == LOOM_I64   ? integer_functions
       : plan->program.compute == LOOM_F64 ? double_functions
                                           : float_functions,
       conversions);
  add_program (&text, plan);
  add_kernel (&text, plan);
  if (text.failed)
    {
      free (text.text);
      return NULL;
    }
  return text.text;
}

/* ---- compilation ------------------------------------------------------------ */

/* The architecture itself if the compiler knows it, else the newest one before it. */
static int
known_architecture (int architecture, bool *exact)
{
  int n = 0, best = 0, *list;

  *exact = true;
  if (nvrtcGetNumSupportedArchs (&n) != NVRTC_SUCCESS || n <= 0 || (list = malloc (n * sizeof *list)) == NULL)
    return architecture;
  if (nvrtcGetSupportedArchs (list) == NVRTC_SUCCESS)
    for (int i = 0; i < n; i++)
      if (list[i] <= architecture && list[i] > best)
        best = list[i];
  free (list);
  *exact = best == architecture;
  return best != 0 ? best : architecture;
}

static void
set_log_message (nvrtcProgram program, nvrtcResult result, LoomMessage *message)
{
  size_t length = 0;
  char *log = NULL;

  if (message == NULL)
    return;
  if (nvrtcGetProgramLogSize (program, &length) == NVRTC_SUCCESS && length > 1)
    log = calloc (1, length + 1);
  if (log != NULL && nvrtcGetProgramLog (program, log) == NVRTC_SUCCESS)
    log[strcspn (log, "\n")] = '\0';
  snprintf (message->text, sizeof message->text, "compiling an element-wise kernel failed: %s: %s",
            nvrtcGetErrorString (result), log != NULL ? log : "no log");
  free (log);
}

LoomStatus
cuda_compile (const char *source, int architecture, char **image, size_t *bytes, LoomMessage *message)
{
  nvrtcProgram program = NULL;
  nvrtcResult result;
  char target[48];
  bool exact;
  int known = known_architecture (architecture, &exact);
  const char *options[] = { target, "--std=c++17" };

  *image = NULL;
  *bytes = 0;
  snprintf (target, sizeof target, "--gpu-architecture=%s_%d", exact ? "sm" : "compute", known);
  result = nvrtcCreateProgram (&program, source, "loom-elementwise.cu", 0, NULL, NULL);
  if (result == NVRTC_SUCCESS)
    result = nvrtcCompileProgram (program, 2, options);
  if (result == NVRTC_SUCCESS)
    result = exact ? nvrtcGetCUBINSize (program, bytes) : nvrtcGetPTXSize (program, bytes);
  if (result == NVRTC_SUCCESS && (*image = malloc (*bytes + 1)) == NULL)
    result = NVRTC_ERROR_OUT_OF_MEMORY;
  if (result == NVRTC_SUCCESS)
    result = exact ? nvrtcGetCUBIN (program, *image) : nvrtcGetPTX (program, *image);
  if (result != NVRTC_SUCCESS)
    {
      set_log_message (program, result, message);
      free (*image);
      *image = NULL;
    }
  if (program != NULL)
    nvrtcDestroyProgram (&program);
  return result == NVRTC_SUCCESS               ? LOOM_STATUS_OK
         : result == NVRTC_ERROR_OUT_OF_MEMORY ? LOOM_STATUS_OUT_OF_MEMORY
                                               : LOOM_STATUS_DEVICE;
}
