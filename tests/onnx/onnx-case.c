/* A case is imported with its inputs' values at hand, so that what ONNX passes as a tensor and we as an attribute
 * (axes, shapes, sizes) can become one; what carries data stays an input of the graph. It is then run on `ref`, in
 * double where the model computes in double, and on `cpu` in single precision, and every output is compared. */
#include "tests/onnx/onnx-case.h"

#include "engine/net/loom-net.h"
#include "engine/infer/loom-sizes.h"

#include <math.h>
#include <string.h>

/* ONNX's own runner allows 1e-3 and 1e-7. */
#define RELATIVE 1e-5
#define ABSOLUTE 1e-6

/* Cases that need ONNX's own tolerance, and why. */
static const struct
{
  const char *pattern;
  double tolerance;
  const char *why;
} loose[] = {
  { "*window*", 1e-3, "ONNX computes its windows with 3.1415 for π" },
  { "*gridsample_bicubic", 1e-3, "the expected numbers have four decimals" },
  { "*roialign_aligned*", 1e-3, "the expected numbers have four decimals" },
  { "*FLOAT_to_BFLOAT16*", 1.0 / 128, "the package cut digits off where ONNX now rounds to nearest even" },
};

typedef struct
{
  GHashTable *inputs; /* name → LoomTensor */
  GPtrArray *outputs; /* LoomTensor, in the model's order */
  gboolean has_double;
} CaseData;

static void
case_data_free (CaseData *data)
{
  g_hash_table_unref (data->inputs);
  g_ptr_array_unref (data->outputs);
  g_free (data);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CaseData, case_data_free)

static CaseData *
read_data (const char *folder, GError **error)
{
  g_autoptr (CaseData) data = g_new0 (CaseData, 1);

  data->inputs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);
  data->outputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint kind = 0; kind < 2; kind++)
    for (guint i = 0;; i++)
      {
        g_autofree char *path = g_strdup_printf ("%s/%s_%u.pb", folder, kind ? "output" : "input", i), *name = NULL;
        if (!g_file_test (path, G_FILE_TEST_EXISTS))
          break;
        LoomTensor *t = loom_onnx_read_tensor (path, &name, error);
        if (t == NULL)
          return NULL;
        data->has_double = data->has_double || t->dtype == LOOM_F64;
        if (kind)
          g_ptr_array_add (data->outputs, t);
        else
          g_hash_table_replace (data->inputs, name != NULL && *name ? g_strdup (name) : g_strdup_printf ("#%u", i), t);
      }
  return g_steal_pointer (&data);
}

/* ---- comparing -------------------------------------------------------- */

/* Outputs of 16 bits are rounded in the package, as are the steps to them; graphs carry f32. */
static double
tolerance_of (LoomDType dtype, double least)
{
  return MAX (least, dtype == LOOM_F16 ? 1.0 / 512 : dtype == LOOM_BF16 ? 1.0 / 64 : 0);
}

static gboolean
close_enough (double is, double should, double tolerance)
{
  if (isnan (should) || isinf (should))
    return isnan (should) ? isnan (is) : is == should;
  return fabs (is - should) <= ABSOLUTE + tolerance * fabs (should);
}

/* The package keeps bf16 as its bits, in uint16, because NumPy has no such type. */
static LoomTensor *
from_bits (const LoomTensor *t)
{
  LoomTensor *y = loom_tensor_new (LOOM_BF16, t->rank, t->dim, NULL);

  for (gint64 i = 0; i < t->count; i++)
    ((guint16 *)y->data)[i] = (guint16)((const gint64 *)t->data)[i];
  return y;
}

/* Whether the model's input or output of this name is BFLOAT16, in the bytes of its description: field 1 is the name,
 * field 2 the type, in which field 1 is a tensor's and begins with field 1, the element type. */
static gboolean
is_bfloat (GBytes *model, const char *name)
{
  gsize length, n = strlen (name);
  const guint8 *p = g_bytes_get_data (model, &length);

  for (gsize i = 0; i + n + 8 <= length; i++)
    {
      const guint8 *type = p + i + 2 + n;

      if (p[i] == 0x0a && p[i + 1] == n && memcmp (p + i + 2, name, n) == 0 && type[0] == 0x12 && type[2] == 0x0a
          && type[4] == 0x08)
        return type[5] == 16;
    }
  return FALSE;
}

static char *
compare (const LoomTensor *is, const LoomTensor *given, const char *name, GBytes *model, const char *device,
         double tolerance)
{
  g_autoptr (LoomTensor) bits = given->dtype == LOOM_I64 && is_bfloat (model, name) ? from_bits (given) : NULL;
  const LoomTensor *should = bits ? bits : given;
  LoomShape a = loom_tensor_shape (is), b = loom_tensor_shape (should);
  gboolean is_float = loom_dtype_is_float (should->dtype);

  tolerance = tolerance_of (should->dtype, tolerance);
  if (!loom_shape_equal (&a, &b))
    {
      g_autofree char *sa = loom_shape_to_string (&a), *sb = loom_shape_to_string (&b);
      return g_strdup_printf ("%s on %s is %s, not %s", name, device, sa, sb);
    }
  if (loom_dtype_is_float (is->dtype) ? !is_float : is->dtype != should->dtype)
    return g_strdup_printf ("%s on %s is %s, not %s", name, device, loom_dtype_name (is->dtype),
                            loom_dtype_name (should->dtype));
  for (gint64 i = 0; i < is->count; i++)
    {
      double x = loom_tensor_get (is, i), y = loom_tensor_get (should, i);
      if (is_float ? !close_enough (x, y, tolerance) : x != y)
        return g_strdup_printf ("%s on %s: element %" G_GINT64_FORMAT " is %.9g, not %.9g", name, device, i, x, y);
    }
  return NULL;
}

/* ---- running ---------------------------------------------------------- */

typedef struct
{
  const LoomOnnx *model;
  GBytes *bytes; /* of the model */
  const CaseData *data;
  LoomDevices *devices;
  const char *device;
  LoomDType dtype;
  double tolerance;
  GPtrArray *kept; /* inputs in the program's types, while the step runs */
} Job;

static const LoomTensor *
given (const Job *job, guint i)
{
  g_autofree char *place = g_strdup_printf ("#%u", i);
  const LoomTensor *t = g_hash_table_lookup (job->data->inputs, ((LoomOnnxPort *)job->model->inputs->pdata[i])->name);

  return t != NULL ? t : g_hash_table_lookup (job->data->inputs, place);
}

/* Dynamic sizes of the model are those of the data. */
static LoomBinding
bind_sizes (const Job *job)
{
  LoomBinding binding = { 0 };

  for (guint i = 0; i < job->model->inputs->len; i++)
    {
      const LoomShape *shape = &((LoomOnnxPort *)job->model->inputs->pdata[i])->type.shape;
      const LoomTensor *t = given (job, i);
      for (int k = 0; t != NULL && k < shape->rank && k < t->rank; k++)
        if (shape->dim[k].symbol[0] != 0 && loom_dim_equal (shape->dim[k], loom_dim_symbol (shape->dim[k].symbol[0])))
          binding.value[shape->dim[k].symbol[0] - 'A'] = t->dim[k];
    }
  return binding;
}

static gboolean
feed (LoomProgram *program, LoomExec *exec, gpointer data, GError **error)
{
  Job *job = data;

  for (guint i = 0; i < job->model->inputs->len; i++)
    {
      const LoomOnnxPort *port = job->model->inputs->pdata[i];
      int at = port->node != NULL ? loom_exec_find_input (exec, port->node) : -1;
      const LoomTensor *t = given (job, i);
      if (at < 0)
        continue;
      if (t == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "the case gives no “%s”", port->name);
          return FALSE;
        }
      LoomDType dtype = port->type.dtype == LOOM_F32 ? job->dtype : port->type.dtype;
      g_autoptr (LoomTensor) bits = t->dtype == LOOM_I64 && is_bfloat (job->bytes, port->name) ? from_bits (t) : NULL;
      LoomTensor *converted = loom_tensor_convert (bits != NULL ? bits : t, dtype, FALSE, error);
      if (converted == NULL)
        return FALSE;
      g_ptr_array_add (job->kept, converted);
      loom_exec_feed (exec, (guint)at, converted->data);
    }
  return TRUE;
}

static gboolean
load_weights (const Job *job, LoomState *state, GError **error)
{
  for (guint i = 0; i < job->model->weights->len; i++)
    {
      const LoomNamedTensor *weight = job->model->weights->pdata[i];
      if (loom_state_find (state, weight->name) >= 0 && !loom_state_set (state, weight->name, weight->tensor, error))
        return FALSE;
    }
  return TRUE;
}

/* Sizes that only the data tell (nonzero, unique) are counted before. */
static LoomProgram *
build (Job *job, LoomFaults *faults, LoomState *state, GError **error)
{
  guint n = job->model->outputs->len;
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, n + 1);
  LoomBinding binding = bind_sizes (job);
  g_autoptr (LoomNet) net = loom_net_new (job->model->graph, &binding, faults);

  if (!loom_faults_to_error (faults, NULL, error))
    return NULL;
  for (guint i = 0; i < n; i++)
    wanted[i].node = (guint)loom_net_find (net, ((LoomOnnxPort *)job->model->outputs->pdata[i])->node);
  LoomLowerOptions options = { .float_dtype = job->dtype, .n_wanted = n, .wanted = wanted };
  if (loom_net_dynamic_size (net, &options) >= 0)
    {
      LoomPlanOptions plan = { .device = job->device };
      g_autoptr (LoomSizes) sizes = loom_sizes_new (job->model->graph, &options, &plan, job->devices, state);
      if (!loom_sizes_resolve (sizes, &binding, feed, job, error))
        return NULL;
      g_clear_pointer (&net, loom_net_free);
      net = loom_net_new (job->model->graph, &binding, faults);
    }
  LoomProgram *program = loom_lower (net, &options, value, error);
  for (guint i = 0; program != NULL && i < n; i++)
    loom_program_output (program, ((LoomOnnxPort *)job->model->outputs->pdata[i])->node, value[i]);
  return program;
}

/* NULL where every output is right. */
static char *
run_on (Job *job)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlanOptions options = { .device = job->device };

  job->kept = kept;
  g_autoptr (LoomState) state = loom_state_new (job->devices, job->device, 0);
  g_autoptr (LoomProgram) program = build (job, faults, state, &error);
  LoomPlan *plan = program ? loom_plan_new (program, job->devices, &options, &error) : NULL;
  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  if (exec == NULL || !load_weights (job, state, &error) || !feed (program, exec, job, &error)
      || !loom_exec_step (exec, &error))
    return g_strdup_printf ("%s: %s", job->device, error->message);
  for (guint i = 0; i < job->model->outputs->len && i < job->data->outputs->len; i++)
    {
      const LoomOnnxPort *port = job->model->outputs->pdata[i];
      g_autoptr (LoomTensor) is = loom_exec_output (exec, (guint)loom_exec_find_output (exec, port->node), &error);
      if (is == NULL)
        return g_strdup_printf ("%s: %s", job->device, error->message);
      char *why = compare (is, job->data->outputs->pdata[i], port->name, job->bytes, job->device, job->tolerance);
      if (why != NULL)
        return why;
    }
  return NULL;
}

static CaseVerdict
run_data (LoomDevices *devices, const char *folder, const char *data_folder, char **why)
{
  g_autofree char *path = g_build_filename (folder, "model.onnx", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (CaseData) data = read_data (data_folder, &error);
  g_autoptr (LoomOnnx) model = NULL;

  if (data)
    model = loom_onnx_read_file (path, &(LoomOnnxInputs){ .values = data->inputs }, faults, &error);
  if (model == NULL && error == NULL)
    loom_faults_to_error (faults, NULL, &error);
  if (model == NULL)
    {
      *why = g_strdup (error->message);
      g_strdelimit (*why, "\n", ' ');
      return CASE_UNSUPPORTED;
    }
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, &error);
  g_assert_no_error (error);
  g_autoptr (GBytes) bytes = g_mapped_file_get_bytes (file);
  Job job = { .model = model,
              .bytes = bytes,
              .data = data,
              .devices = devices,
              .device = "ref",
              .dtype = data->has_double ? LOOM_F64 : LOOM_F32,
              .tolerance = RELATIVE };
  for (guint i = 0; i < G_N_ELEMENTS (loose); i++)
    if (g_pattern_match_simple (loose[i].pattern, folder))
      job.tolerance = loose[i].tolerance;
  *why = run_on (&job);
  if (*why != NULL)
    return CASE_FAILED;
  /* Only `ref` computes in double, and such a model may count on its range. */
  if (data->has_double)
    return CASE_PASSED;
  job.device = "cpu";
  *why = run_on (&job);
  return *why != NULL ? CASE_FAILED : CASE_PASSED;
}

CaseVerdict
case_run (LoomDevices *devices, const char *folder, char **why)
{
  CaseVerdict verdict = CASE_UNSUPPORTED;

  *why = g_strdup ("it has no data");
  for (guint i = 0;; i++)
    {
      g_autofree char *name = g_strdup_printf ("test_data_set_%u", i);
      g_autofree char *data = g_build_filename (folder, name, NULL);
      if (!g_file_test (data, G_FILE_TEST_IS_DIR))
        return verdict;
      g_clear_pointer (why, g_free);
      verdict = run_data (devices, folder, data, why);
      if (verdict != CASE_PASSED)
        return verdict;
    }
}
