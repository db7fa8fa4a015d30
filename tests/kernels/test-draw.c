/* Normal and exponential random numbers: the polynomials of kernels/draw.h against f64, the distributions, and the same
 * bits on the reference, on the CPU with each of its instruction sets and with two threads, and on a back end that is a
 * module:
 *
 *   test-kernels-draw [MODULE.so] */
#include "tests/kernels/kernel-harness.h"
#include "kernels/draw.h"

#include <math.h>

static const char *module;

/* ---- accuracy ----------------------------------------------------------------------- */

/* The distance of y from the true value in units of that value's last place in f32. */
static double
ulps (float y, double is)
{
  int exponent;

  frexp (is, &exponent);
  return fabs ((double)y - is) / ldexp (1, exponent - 24);
}

typedef struct
{
  double radius, cosine, sine, normal, exponential;
} Errors;

/* Words of 24 bits that count: k, and another one for the turn. */
static void
measure (Errors *most, guint32 k, guint32 turn)
{
  double u = k / 16777216.0, v = turn / 16777216.0, radius = sqrt (-2 * log1p (-u));
  /* Exact at multiples of a quarter turn, as libm is not. */
  double cosine = turn % 0x400000 == 0 && turn / 0x400000 % 2 == 1 ? 0 : cos (2 * G_PI * v);
  double sine = turn % 0x800000 == 0 ? 0 : sin (2 * G_PI * v);
  float c, s, even, odd;

  loom_draw_sincos (turn << 8, &c, &s);
  loom_draw_normals (k << 8 | 255, turn << 8 | 255, &even, &odd);
  most->radius = MAX (most->radius, ulps (loom_draw_radius (k << 8), radius));
  most->cosine = MAX (most->cosine, ulps (c, cosine));
  most->sine = MAX (most->sine, ulps (s, sine));
  most->normal = MAX (most->normal, MAX (ulps (even, radius * cosine), ulps (odd, radius * sine)));
}

static void
measure_exponential (Errors *most, guint32 word)
{
  /* Near 1 the logarithm of 1 - x, because rounding 1 - x would affect the comparison. */
  double left = ((double)(guint32)~word + 0.5) / 4294967296.0;
  double is = left < 0.5 ? -log1p (-left) : -log (loom_philox_open (word));

  most->exponential = MAX (most->exponential, ulps (loom_draw_exponential (word), is));
}

/* Both ends, the surroundings of the octants' borders, and every 61st number. */
static void
test_accuracy (void)
{
  Errors most = { 0 };

  for (guint32 k = 0; k < 1u << 24; k += 61)
    {
      measure (&most, k, (k * 2654435761u) >> 8);
      measure_exponential (&most, k * 256u + k % 256u);
      measure_exponential (&most, ~(k * 3u));
    }
  for (guint32 k = 0; k < 64; k++)
    for (guint32 octant = 0; octant < 8; octant++)
      measure (&most, k < 32 ? k : (1u << 24) - 64 + k, (octant * 0x200000 + k - 32) & 0xffffff);
  for (guint32 k = 0; k < 1000; k++)
    {
      measure_exponential (&most, k);
      measure_exponential (&most, ~k);
      measure_exponential (&most, 0xb504f334u - 500 + k);
    }
  g_test_message ("units in the last place: radius %.2f, cosine %.2f, sine %.2f, normal %.2f, exponential %.2f",
                  most.radius, most.cosine, most.sine, most.normal, most.exponential);
  g_assert_cmpfloat (most.radius, <, 1.0);
  g_assert_cmpfloat (most.cosine, <, 1.25);
  g_assert_cmpfloat (most.sine, <, 1.25);
  g_assert_cmpfloat (most.normal, <, 3.0);
  g_assert_cmpfloat (most.exponential, <, 2.5);
}

/* ---- numbers of a back end ------------------------------------------------------------ */

#define COUNT 1000003 /* a remainder in each loop */

static Sample
sample_of (LoomRandomKind kind, gint64 count)
{
  Sample s = { .name = "random", .primitive = "random" };

  sample_in (&s, desc (LOOM_I64, ""), FILL_VALUE, 12345678901.0);
  sample_in (&s, desc (LOOM_I64, ""), FILL_VALUE, 7);
  sample_out (&s, desc (LOOM_F32, ""));
  s.out[0].rank = 1;
  s.out[0].dim[0] = count;
  SAMPLE_ATTRS (&s, LoomRandomAttrs) = (LoomRandomAttrs){ kind, G_GUINT64_CONSTANT (0x123456789abcdef0) };
  return s;
}

static Result
drawn (Machine machine, LoomRandomKind kind, gint64 count)
{
  Sample s = sample_of (kind, count);
  float **inputs = sample_inputs (&s);
  Result result = sample_run (&machine, &s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);

  g_assert_cmpint (result.status, ==, LOOM_STATUS_OK);
  inputs_free (&s, inputs);
  machine_close (&machine);
  return result;
}

/* Five deviations of a count around its expectation. */
static void
assert_count (gint64 count, double probability)
{
  double deviation = sqrt (COUNT * probability * (1 - probability));

  g_assert_cmpfloat (fabs ((double)count - COUNT * probability), <, 5 * deviation + 1);
}

/* Mean, variance, skewness and kurtosis, tail counts beyond 1 to 4 on either side, and neighbours, which come from one
 * radius and must not be correlated, nor may their squares. */
static void
test_normal (void)
{
  Result r = drawn (machine_open (loom_backend_cpu (), 2), LOOM_RANDOM_NORMAL, COUNT);
  const double *y = r.out[0];
  double sum[5] = { 0 }, together = 0, squares = 0;
  gint64 above[5] = { 0 }, below[5] = { 0 };

  for (int i = 0; i < COUNT; i++)
    {
      double power = y[i];

      for (int k = 1; k <= 4; k++, power *= y[i])
        {
          sum[k] += power;
          above[k] += y[i] > k;
          below[k] += y[i] < -k;
        }
    }
  for (int i = 0; i + 1 < COUNT; i += 2)
    {
      together += y[i] * y[i + 1];
      squares += (y[i] * y[i] - 1) * (y[i + 1] * y[i + 1] - 1);
    }
  /* Variances of x, x², x³ and x⁴: 1, 2, 15 and 96; of xy and (x² - 1)(y² - 1): 1 and 4. */
  g_assert_cmpfloat (fabs (sum[1]), <, 5 * sqrt (1.0 * COUNT));
  g_assert_cmpfloat (fabs (sum[2] - COUNT), <, 5 * sqrt (2.0 * COUNT));
  g_assert_cmpfloat (fabs (sum[3]), <, 5 * sqrt (15.0 * COUNT));
  g_assert_cmpfloat (fabs (sum[4] - 3.0 * COUNT), <, 5 * sqrt (96.0 * COUNT));
  g_assert_cmpfloat (fabs (together), <, 5 * sqrt (0.5 * COUNT));
  g_assert_cmpfloat (fabs (squares), <, 5 * sqrt (2.0 * COUNT));
  for (int k = 1; k <= 4; k++)
    {
      assert_count (above[k], 0.5 * erfc (k / G_SQRT2));
      assert_count (below[k], 0.5 * erfc (k / G_SQRT2));
    }
  result_clear (&r);
}

/* Mean, variance, and the tail. */
static void
test_exponential (void)
{
  Result r = drawn (machine_open (loom_backend_cpu (), 2), LOOM_RANDOM_EXPONENTIAL, COUNT);
  const double *y = r.out[0];
  double sum = 0, squares = 0;
  gint64 beyond[11] = { 0 };

  for (int i = 0; i < COUNT; i++)
    {
      g_assert_cmpfloat (y[i], >, 0);
      sum += y[i];
      squares += y[i] * y[i];
      for (int k = 1; k <= 10; k++)
        beyond[k] += y[i] > k;
    }
  g_assert_cmpfloat (fabs (sum - COUNT), <, 5 * sqrt (1.0 * COUNT));
  g_assert_cmpfloat (fabs (squares - 2.0 * COUNT), <, 5 * sqrt (20.0 * COUNT));
  for (int k = 1; k <= 10; k++)
    assert_count (beyond[k], exp (-k));
  result_clear (&r);
}

/* ---- bits ------------------------------------------------------------------------------- */

static const char *const kind_names[] = { "uniform", "normal", "exponential" };

static void
assert_bits (const Result *got, const Result *want, gint64 count, LoomRandomKind kind, const char *where)
{
  for (gint64 i = 0; i < count; i++)
    if (memcmp (&got->out[0][i], &want->out[0][i], sizeof (double)) != 0)
      g_error ("%s number %" G_GINT64_FORMAT " is %a on %s and %a on ref", kind_names[kind], i, got->out[0][i], where,
               want->out[0][i]);
}

/* Kernels that compare bits drop the same elements as a comparison of floats, even where p is rounded to one. */
static void
test_below (void)
{
  static const double p[] = { 0, 0.1, 0.25, 0.3, 0.7, 0.9, 0.999999 };

  for (guint i = 0; i < G_N_ELEMENTS (p); i++)
    {
      const guint32 least = loom_philox_below ((float)p[i]);

      g_assert_true (loom_philox_uniform (least << 8) >= (float)p[i]);
      g_assert_true (least == 0 || loom_philox_uniform ((least - 1) << 8) < (float)p[i]);
    }
}

static void
test_bits (void)
{
  static const struct
  {
    const char *isa;
    int threads;
  } cpu[] = { { "base", 1 }, { "v3", 1 }, { "native", 1 }, { "native", 2 } };
  /* FNV-1a over the numbers in order, which would change if a compiler contracted or rounded otherwise. */
  static const guint64 known[] = { G_GUINT64_CONSTANT (0xd60f447d094357f6), G_GUINT64_CONSTANT (0x48278727c9a380aa),
                                   G_GUINT64_CONSTANT (0x8e606c00975dd030) };

  for (int kind = LOOM_RANDOM_UNIFORM; kind <= LOOM_RANDOM_EXPONENTIAL; kind++)
    {
      Result want = drawn (machine_open (loom_backend_ref (), 1), (LoomRandomKind)kind, COUNT);
      guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);

      for (int i = 0; i < COUNT; i++)
        hash = (hash ^ loom_float_bits ((float)want.out[0][i])) * G_GUINT64_CONSTANT (0x100000001b3);
      g_assert_cmphex (hash, ==, known[kind]);
      for (gsize i = 0; i < G_N_ELEMENTS (cpu); i++)
        {
          Result got;

          g_setenv ("GRADLOOM_CPU_ISA", cpu[i].isa, TRUE);
          got = drawn (machine_open (loom_backend_cpu (), cpu[i].threads), (LoomRandomKind)kind, COUNT);
          g_unsetenv ("GRADLOOM_CPU_ISA");
          assert_bits (&got, &want, COUNT, (LoomRandomKind)kind, cpu[i].isa);
          result_clear (&got);
        }
      result_clear (&want);
    }
}

static void
test_module (void)
{
  const gint64 count = 200003; /* the emulated GPU is slow */
  LoomMessage message = { "" };

  if (module_backend (module)->device_count (&message) == 0)
    {
      g_test_skip (message.text);
      return;
    }

  for (int kind = LOOM_RANDOM_UNIFORM; kind <= LOOM_RANDOM_EXPONENTIAL; kind++)
    {
      Result want = drawn (machine_open (loom_backend_ref (), 1), (LoomRandomKind)kind, count);
      Result got = drawn (machine_open (module_backend (module), 0), (LoomRandomKind)kind, count);

      assert_bits (&got, &want, count, (LoomRandomKind)kind, module);
      result_clear (&got);
      result_clear (&want);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (argc > 1)
    {
      module = argv[1];
      g_test_add_func ("/kernels/draw/module", test_module);
      return g_test_run ();
    }
  g_test_add_func ("/kernels/draw/accuracy", test_accuracy);
  g_test_add_func ("/kernels/draw/normal", test_normal);
  g_test_add_func ("/kernels/draw/exponential", test_exponential);
  g_test_add_func ("/kernels/draw/below", test_below);
  g_test_add_func ("/kernels/draw/bits", test_bits);
  return g_test_run ();
}
