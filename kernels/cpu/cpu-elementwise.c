/* elementwise: the program of scalars as vectorised loops over tiles that stay in the first-level cache.
 *
 * The output is processed in tiles of TILE elements in the order of its bytes. An operand with the same layout is used
 * in place; any other is loaded into a tile, with its strides over the merged axes. Each step is then one loop, from
 * tiles to a tile or straight to the output. So one body handles every broadcast and layout, and a tiny tensor costs
 * one indirect call for each step. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-math.h"
#include "kernels/integer.h"

#include <stdlib.h>
#include <string.h>

#define TILE 512

/* ---- the loops -------------------------------------------------------- */

#define LOOM_M_FABS(x)         fabsf (x)
#define LOOM_M_FLOOR(x)        floorf (x)
#define LOOM_M_SQRT(x)         sqrtf (x)
#define LOOM_M_EXP(x)          cpu_exp (x)
#define LOOM_M_LOG(x)          cpu_log (x)
#define LOOM_M_TANH(x)         cpu_tanh (x)
#define LOOM_M_ERF(x)          cpu_erf (x)
#define LOOM_M_SIN(x)          cpu_sin (x)
#define LOOM_M_COS(x)          cpu_cos (x)
#define LOOM_M_POW(x, y)       cpu_pow (x, y)
#define LOOM_M_CEIL(x)         ceilf (x)
#define LOOM_M_RINT(x)         rintf (x)
#define LOOM_M_TRUNC(x)        truncf (x)
#define LOOM_M_EXP2(x)         cpu_exp2 (x)
#define LOOM_M_EXPM1(x)        cpu_expm1 (x)
#define LOOM_M_LOG2(x)         cpu_log2 (x)
#define LOOM_M_LOG10(x)        cpu_log10 (x)
#define LOOM_M_LOG1P(x)        cpu_log1p (x)
#define LOOM_M_TAN(x)          cpu_tan (x)
#define LOOM_M_ASIN(x)         cpu_asin (x)
#define LOOM_M_ACOS(x)         cpu_acos (x)
#define LOOM_M_ATAN(x)         cpu_atan (x)
#define LOOM_M_SINH(x)         cpu_sinh (x)
#define LOOM_M_COSH(x)         cpu_cosh (x)
#define LOOM_M_ASINH(x)        cpu_asinh (x)
#define LOOM_M_ACOSH(x)        cpu_acosh (x)
#define LOOM_M_ATANH(x)        cpu_atanh (x)
#define LOOM_M_FMOD(x, y)      fmodf (x, y)
#define LOOM_M_ATAN2(x, y)     cpu_atan2 (x, y)
#define LOOM_M_DIV_TRUNC(x, y) truncf ((x) / (y))
#define LOOM_M_DIV_FLOOR(x, y) LOOM_FLOAT_DIV_FLOOR (x, y)

/* y may be a, b or c itself; never a shifted view, hence ivdep. */
#define LOOP(suffix, type, E, expr)                                                                                    \
  static void loop_##E##_##suffix (type *y, const type *pa, const type *pb, const type *pc, type imm, int64_t n)       \
  {                                                                                                                    \
    typedef type T;                                                                                                    \
    _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++)                                                              \
    {                                                                                                                  \
      T a = pa[i], b = pb[i], c = pc[i];                                                                               \
      (void)a, (void)b, (void)c;                                                                                       \
      y[i] = expr;                                                                                                     \
    }                                                                                                                  \
  }

#define LOOP_F32(E, name, arity, expr) LOOP (f32, float, E, expr)
LOOM_SCALAR_OPS (LOOP_F32)

typedef void (*LoopF32) (float *y, const float *a, const float *b, const float *c, float imm, int64_t n);
#define LOOP_F32_ROW(E, name, arity, expr) [LOOM_SCALAR_##E] = loop_##E##_f32,
static const LoopF32 loops_f32[LOOM_N_SCALARS] = { LOOM_SCALAR_OPS (LOOP_F32_ROW) };

/* Tiles whose arguments are all ordinary use a shorter loop; an element's bits do not depend on its neighbours. */
#define LOOP_ANY(E, is_odd, ordinary, other)                                                                           \
  static void loop_any_##E##_f32 (float *y, const float *pa, const float *pb, const float *pc, float imm, int64_t n)   \
  {                                                                                                                    \
    int odd = 0;                                                                                                       \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      {                                                                                                                \
        float a = pa[i], b = pb[i];                                                                                    \
        (void)b;                                                                                                       \
        odd |= is_odd;                                                                                                 \
      }                                                                                                                \
    if (odd != 0)                                                                                                      \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        {                                                                                                              \
          float a = pa[i], b = pb[i];                                                                                  \
          (void)b;                                                                                                     \
          y[i] = is_odd ? other : ordinary;                                                                            \
        }                                                                                                              \
    else                                                                                                               \
      _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++)                                                            \
      {                                                                                                                \
        float a = pa[i], b = pb[i];                                                                                    \
        (void)b;                                                                                                       \
        y[i] = ordinary;                                                                                               \
      }                                                                                                                \
  }

/* Large arguments of sines are reduced by libm. */
LOOP_ANY (SIN, fabsf (a) > CPU_TRIG_MAX, cpu_sin (a), sinf (a))
LOOP_ANY (COS, fabsf (a) > CPU_TRIG_MAX, cpu_cos (a), cosf (a))
LOOP_ANY (TAN, fabsf (a) > CPU_TRIG_MAX, cpu_tan (a), tanf (a))
/* Zeros, negative and denormal numbers, infinities and NaN. */
LOOP_ANY (POW, !((a >= CPU_MIN_NORMAL) & (a < INFINITY) & (fabsf (b) < INFINITY)), cpu_pow_normal (a, b, 0),
          cpu_pow (a, b))

static LoopF32
loop_f32 (LoomScalarOp op)
{
  switch (op)
    {
    case LOOM_SCALAR_SIN:
      return loop_any_SIN_f32;
    case LOOM_SCALAR_COS:
      return loop_any_COS_f32;
    case LOOM_SCALAR_TAN:
      return loop_any_TAN_f32;
    case LOOM_SCALAR_POW:
      return loop_any_POW_f32;
    default:
      return loops_f32[op];
    }
}

/* Only operations whose results are integers for integers. */
#define INTEGER_OPS(X)                                                                                                 \
  X (ID, a)                                                                                                            \
  X (CONST, imm)                                                                                                       \
  X (NEG, -a)                                                                                                          \
  X (ABS, a < 0 ? -a : a)                                                                                              \
  X (SIGN, (T)(a > 0) - (T)(a < 0))                                                                                    \
  X (FLOOR, a)                                                                                                         \
  X (CEIL, a)                                                                                                          \
  X (ROUND, a)                                                                                                         \
  X (TRUNC, a)                                                                                                         \
  X (ISNAN, 0)                                                                                                         \
  X (ISINF, 0)                                                                                                         \
  X (NOT, (T)(a == 0))                                                                                                 \
  X (AND, (T)((a != 0) & (b != 0)))                                                                                    \
  X (OR, (T)((a != 0) | (b != 0)))                                                                                     \
  X (XOR, (T)((a != 0) != (b != 0)))                                                                                   \
  X (DIV_TRUNC, loom_int_div_trunc (a, b))                                                                             \
  X (DIV_FLOOR, loom_int_div_floor (a, b))                                                                             \
  X (FMOD, loom_int_fmod (a, b))                                                                                       \
  X (MOD, loom_int_mod (a, b))                                                                                         \
  X (POW, loom_int_pow (a, b))                                                                                         \
  X (SQUARE, a *a)                                                                                                     \
  X (RELU, a > 0 ? a : 0)                                                                                              \
  X (ADD, a + b)                                                                                                       \
  X (SUB, a - b)                                                                                                       \
  X (MUL, a *b)                                                                                                        \
  X (MAX, a > b ? a : b)                                                                                               \
  X (MIN, a < b ? a : b)                                                                                               \
  X (EQ, (T)(a == b))                                                                                                  \
  X (NE, (T)(a != b))                                                                                                  \
  X (LT, (T)(a < b))                                                                                                   \
  X (LE, (T)(a <= b))                                                                                                  \
  X (GT, (T)(a > b))                                                                                                   \
  X (GE, (T)(a >= b))                                                                                                  \
  X (RELU_GRAD, b > 0 ? a : 0)                                                                                         \
  X (SELECT, a != 0 ? b : c)                                                                                           \
  X (FMA, a *b + c)

#define LOOP_I64(E, expr) LOOP (i64, int64_t, E, expr)
INTEGER_OPS (LOOP_I64)

typedef void (*LoopI64) (int64_t *y, const int64_t *a, const int64_t *b, const int64_t *c, int64_t imm, int64_t n);
#define LOOP_I64_ROW(E, expr) [LOOM_SCALAR_##E] = loop_##E##_i64,
static const LoopI64 loops_i64[LOOM_N_SCALARS] = { INTEGER_OPS (LOOP_I64_ROW) };

void
ISA (cpu_apply) (LoomScalarOp act, float *y, int64_t n)
{
  if (act != LOOM_SCALAR_ID)
    loop_f32 (act) (y, y, y, y, 0, n);
}

/* ---- the plan --------------------------------------------------------- */

typedef enum
{
  OPERAND_DIRECT, /* used in place */
  OPERAND_SCALAR, /* one value, spread over a tile once */
  OPERAND_STRIDED /* loaded into a tile, with its strides */
} OperandKind;

typedef struct
{
  OperandKind kind;
  CpuLoadF32 load; /* f32 only */
  int64_t stride[LOOM_MAX_RANK];
} Operand;

typedef struct
{
  union
  {
    LoopF32 f32;
    LoopI64 i64;
  } loop;
  uint8_t arg[3];
  int8_t direct;                       /* the output to which the result is written directly, or -1 */
  bool is_filled;                      /* f32: a constant, which fills its tile before the first one */
  void (*round) (float *y, int64_t n); /* or NULL */
  double imm;
} Step;

typedef struct
{
  CpuKernel k;
  int rank; /* of the merged axes, in the order of the output's bytes */
  int64_t dim[LOOM_MAX_RANK], count;
  Operand operand[LOOM_EW_MAX_IN];
  int n_steps;
  Step step[LOOM_EW_MAX_STEPS];
  uint8_t out[LOOM_EW_MAX_OUT];
  bool stored[LOOM_EW_MAX_OUT]; /* needs a store after the steps */
  CpuStoreF32 store[LOOM_EW_MAX_OUT];
  double ns; /* estimate of one run on one thread */
} Elementwise;

/* Operand i over elements from … from+n-1 of the output, as runs along the innermost axis. load gets (position in the
 * tile, element of the operand, stride, n). */
#define FOR_RUNS(self, o, from, n, BODY)                                                                               \
  do                                                                                                                   \
    {                                                                                                                  \
      int64_t index[LOOM_MAX_RANK], rest = (from), at = 0, done = 0, inner = (self)->dim[(self)->rank - 1];            \
      for (int d = (self)->rank - 1; d >= 0; d--)                                                                      \
        {                                                                                                              \
          index[d] = rest % (self)->dim[d];                                                                            \
          rest /= (self)->dim[d];                                                                                      \
          at += index[d] * (o)->stride[d];                                                                             \
        }                                                                                                              \
      while (done < (n))                                                                                               \
        {                                                                                                              \
          int64_t run = inner - index[(self)->rank - 1], step = (o)->stride[(self)->rank - 1];                         \
          if (run > (n)-done)                                                                                          \
            run = (n)-done;                                                                                            \
          BODY;                                                                                                        \
          done += run;                                                                                                 \
          index[(self)->rank - 1] += run;                                                                              \
          at += run * step;                                                                                            \
          for (int d = (self)->rank - 1; d > 0 && index[d] == (self)->dim[d]; d--)                                     \
            {                                                                                                          \
              at += (o)->stride[d - 1] - index[d] * (o)->stride[d];                                                    \
              index[d] = 0;                                                                                            \
              index[d - 1]++;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
  while (0)

typedef struct
{
  const Elementwise *self;
  void *const *b;
} Call;

/* y [n]. */
#define ROUND(name, to, from)                                                                                          \
  static void name (float *y, int64_t n)                                                                               \
  {                                                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                                    \
      y[i] = from (to (y[i]));                                                                                         \
  }

ROUND (round_bf16, loom_bf16_from_float, loom_bf16_to_float)
ROUND (round_f16, loom_f16_from_float, loom_f16_to_float)

static void
run_step (const Step *step, float *const *reg, float *y, int64_t n)
{
  step->loop.f32 (y, reg[step->arg[0]], reg[step->arg[1]], reg[step->arg[2]], (float)step->imm, n);
  if (step->round != NULL)
    step->round (y, n);
}

/* Tiles of TILE elements of the outputs, which have self->count each; tile [n_in + n_steps][TILE], reg [n_in +
 * n_steps]. */
static void
part_f32 (void *context, int64_t first_tile, int64_t end_tile)
{
  const Call *call = context;
  const Elementwise *self = call->self;
  void *const *b = call->b;
  int n_in = self->k.n_in;
  float tile[LOOM_EW_MAX_IN + LOOM_EW_MAX_STEPS][TILE] __attribute__ ((aligned (64)));
  float *reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_STEPS];

  for (int i = 0; i < n_in; i++)
    if (self->operand[i].kind == OPERAND_SCALAR)
      {
        self->operand[i].load (tile[i], b[i], 0, 0, self->count < TILE ? self->count : TILE);
        reg[i] = tile[i];
      }
  for (int s = 0; s < self->n_steps; s++)
    if (self->step[s].is_filled)
      {
        reg[n_in + s] = tile[n_in + s];
        run_step (&self->step[s], reg, reg[n_in + s], self->count < TILE ? self->count : TILE);
      }
  for (int64_t t = first_tile; t < end_tile; t++)
    {
      int64_t from = t * TILE, n = self->count - from < TILE ? self->count - from : TILE;

      for (int i = 0; i < n_in; i++)
        {
          const Operand *o = &self->operand[i];

          if (o->kind == OPERAND_DIRECT)
            reg[i] = (float *)b[i] + from;
          else if (o->kind == OPERAND_STRIDED)
            {
              reg[i] = tile[i];
              FOR_RUNS (self, o, from, n, o->load (tile[i] + done, b[i], at, step, run));
            }
        }
      for (int s = 0; s < self->n_steps; s++)
        {
          const Step *step = &self->step[s];

          if (step->is_filled)
            continue;
          reg[n_in + s] = step->direct >= 0 ? (float *)b[n_in + step->direct] + from : tile[n_in + s];
          run_step (step, reg, reg[n_in + s], n);
        }
      for (int o = 0; o < self->k.n_out; o++)
        if (self->stored[o])
          self->store[o](b[n_in + o], from, reg[self->out[o]], n);
    }
}

/* The same in tiles of TILE/4 elements; reg [n_in + n_steps][TILE/4]. */
static void
part_i64 (void *context, int64_t first_tile, int64_t end_tile)
{
  const Call *call = context;
  const Elementwise *self = call->self;
  void *const *b = call->b;
  int n_in = self->k.n_in;
  int64_t reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_STEPS][TILE / 4];

  for (int64_t from = first_tile * TILE; from < end_tile * TILE && from < self->count; from += TILE / 4)
    {
      int64_t n = self->count - from < TILE / 4 ? self->count - from : TILE / 4;

      for (int i = 0; i < n_in; i++)
        {
          const Operand *o = &self->operand[i];

          FOR_RUNS (self, o, from, n,
                    for (int64_t j = 0; j < run; j++) reg[i][done + j]
                    = loom_load_int (b[i], at + j * step, self->k.in[i].dtype));
        }
      for (int s = 0; s < self->n_steps; s++)
        {
          const Step *step = &self->step[s];

          step->loop.i64 (reg[n_in + s], reg[step->arg[0]], reg[step->arg[1]], reg[step->arg[2]], (int64_t)step->imm,
                          n);
        }
      for (int o = 0; o < self->k.n_out; o++)
        for (int64_t j = 0; j < n; j++)
          loom_store_int (b[n_in + o], from + j, self->k.out[o].dtype, reg[self->out[o]][j]);
    }
}

static LoomStatus
work_f32 (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Elementwise *self = (Elementwise *)k;
  Call call = { self, b };

  cpu_share (k, self->ns, (self->count + TILE - 1) / TILE, part_f32, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_i64 (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Elementwise *self = (Elementwise *)k;
  Call call = { self, b };

  cpu_share (k, self->ns, (self->count + TILE - 1) / TILE, part_i64, &call);
  return LOOM_STATUS_OK;
}

/* Computes the strides of every operand along the output's axes in the order of its bytes. Axes of one element are
 * dropped, and neighbours are merged if all operands allow it. False if an operand does not broadcast. */
static bool
merge_axes (Elementwise *self)
{
  static const int nhwc[4] = { 0, 2, 3, 1 };
  const LoomTensorDesc *y = &self->k.out[0];
  bool swap = y->layout == LOOM_LAYOUT_NHWC && y->rank == 4;
  int64_t stride[LOOM_EW_MAX_IN][LOOM_MAX_RANK];

  for (int i = 0; i < self->k.n_in; i++)
    if (!loom_broadcast_strides (&self->k.in[i], y, stride[i]))
      return false;
  self->rank = 0;
  for (int d = 0; d < y->rank; d++)
    {
      int axis = swap ? nhwc[d] : d, last = self->rank - 1;
      bool merge = last >= 0;

      if (y->dim[axis] == 1)
        continue;
      for (int i = 0; i < self->k.n_in; i++)
        merge = merge && self->operand[i].stride[last] == stride[i][axis] * y->dim[axis];
      if (!merge)
        {
          self->rank++;
          last++;
          self->dim[last] = 1;
        }
      self->dim[last] *= y->dim[axis];
      for (int i = 0; i < self->k.n_in; i++)
        self->operand[i].stride[last] = stride[i][axis];
    }
  if (self->rank == 0)
    {
      self->rank = 1;
      self->dim[0] = 1;
    }
  return true;
}

/* Other operands may prevent merging; this operand still has the output's order. */
static bool
lies_as_output (const Elementwise *self, const Operand *o)
{
  int64_t expected = 1;

  for (int d = self->rank - 1; d >= 0; d--)
    {
      if (o->stride[d] != expected)
        return false;
      expected *= self->dim[d];
    }
  return true;
}

/* A step may write its output directly unless a later step still reads an operand at the output's address. */
static void
plan_stores (Elementwise *self, const LoomElementwiseAttrs *a)
{
  int n_in = self->k.n_in;

  for (int s = 0; s < self->n_steps; s++)
    self->step[s].direct = -1;
  for (int o = 0; o < self->k.n_out; o++)
    {
      int s = a->out[o] - n_in;
      bool direct = s >= 0 && self->k.out[o].dtype == LOOM_F32 && self->step[s].direct < 0;

      for (int later = s + 1; direct && later < self->n_steps; later++)
        for (int j = 0; j < loom_scalar_arity (a->step[later].op); j++)
          direct = direct
                   && !(a->step[later].arg[j] < n_in && self->operand[a->step[later].arg[j]].kind == OPERAND_DIRECT);
      /* Also, every other output must have been computed by then, because it may read the same operand. */
      for (int other = 0; direct && other < self->k.n_out; other++)
        direct = a->out[other] >= n_in;
      self->stored[o] = !direct;
      if (direct)
        self->step[s].direct = (int8_t)o;
    }
}

/* Nanoseconds an element on one thread, roughly: tests/kernels/bench-kernels 1 1000,1000. */
static double
step_ns (LoomScalarOp op)
{
  switch (op)
    {
    case LOOM_SCALAR_DIV_FLOOR: /* remainders are libm's */
    case LOOM_SCALAR_FMOD:
    case LOOM_SCALAR_MOD:
      return 5;
    case LOOM_SCALAR_POW:
      return 1;
    case LOOM_SCALAR_ATAN2:
    case LOOM_SCALAR_GELU_TANH_GRAD:
      return 0.5;
    default:
      return op >= LOOM_SCALAR_EXP && op <= LOOM_SCALAR_SILU && op != LOOM_SCALAR_RELU ? 0.5 : 0.05;
    }
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomElementwiseAttrs *a = spec->attrs;
  bool f32 = a->compute == LOOM_F32;
  Elementwise *self;
  double bytes = 0, cost = 0;

  if (spec->n_in > LOOM_EW_MAX_IN || spec->n_out < 1 || spec->n_out > LOOM_EW_MAX_OUT || a->n_steps > LOOM_EW_MAX_STEPS
      || (!f32 && a->compute != LOOM_I64) || a->n_in_parts + a->n_out_parts > 0)
    return LOOM_STATUS_UNSUPPORTED;
  for (int s = 0; s < a->n_steps; s++)
    if (!f32 && loops_i64[a->step[s].op] == NULL)
      return LOOM_STATUS_UNSUPPORTED;
  for (int o = 1; o < spec->n_out; o++)
    if (spec->out[o].layout != spec->out[0].layout)
      return LOOM_STATUS_UNSUPPORTED;

  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, f32 ? work_f32 : work_i64, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  if (!merge_axes (self))
    {
      self->k.base.free (&self->k.base);
      return LOOM_STATUS_UNSUPPORTED;
    }
  self->count = loom_desc_count (&spec->out[0]);
  for (int i = 0; i < spec->n_in; i++)
    {
      Operand *o = &self->operand[i];
      bool alike = lies_as_output (self, o) && loom_desc_count (&spec->in[i]) == self->count;

      o->load = ISA (cpu_load_f32) (spec->in[i].dtype);
      bytes += (double)loom_desc_bytes (&spec->in[i]);
      o->kind = OPERAND_STRIDED;
      if (loom_desc_count (&spec->in[i]) == 1)
        o->kind = OPERAND_SCALAR;
      else if (alike && spec->in[i].dtype == LOOM_F32)
        o->kind = OPERAND_DIRECT;
      /* A tile is loaded before any of it is stored. */
      for (int k = 0; k < spec->n_out; k++)
        if ((o->kind == OPERAND_DIRECT || alike || !f32) && loom_desc_count (&spec->in[i]) == self->count
            && spec->in[i].dtype == spec->out[k].dtype && spec->in[i].layout == spec->out[k].layout
            && loom_desc_same_shape (&spec->in[i], &spec->out[k]))
          self->k.base.inplace[k] |= 1u << i;
    }
  self->n_steps = a->n_steps;
  for (int s = 0; s < a->n_steps; s++)
    {
      LoomScalarOp op = a->step[s].op;
      int arity = loom_scalar_arity (op);

      if (f32)
        self->step[s].loop.f32 = loop_f32 (op);
      else
        self->step[s].loop.i64 = loops_i64[op];
      /* The loops do not read operands beyond their arity, but need a register. */
      for (int j = 0; j < 3; j++)
        self->step[s].arg[j] = j < arity   ? a->step[s].arg[j]
                               : arity > 0 ? a->step[s].arg[0]
                                           : (uint8_t)(spec->n_in + s);
      self->step[s].imm = a->step[s].imm;
      self->step[s].round = a->step[s].round == LOOM_BF16  ? round_bf16
                            : a->step[s].round == LOOM_F16 ? round_f16
                                                           : NULL;
      cost += step_ns (op);
    }
  for (int o = 0; o < spec->n_out; o++)
    {
      self->out[o] = a->out[o];
      self->store[o] = ISA (cpu_store_f32) (spec->out[o].dtype);
      bytes += (double)loom_desc_bytes (&spec->out[o]);
    }
  for (int o = 0; o < spec->n_out; o++)
    if (a->out[o] < spec->n_in) /* a plain copy must not find its operand overwritten by another output */
      memset (self->k.base.inplace, 0, sizeof self->k.base.inplace);
  plan_stores (self, a);
  for (int s = 0; s < a->n_steps; s++)
    self->step[s].is_filled = f32 && a->step[s].op == LOOM_SCALAR_CONST && self->step[s].direct < 0;
  self->ns = bytes / 30 + cost * (double)self->count;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_elementwise) = { "elementwise", sizeof (LoomElementwiseAttrs), create };
