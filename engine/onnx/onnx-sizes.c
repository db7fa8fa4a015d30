/* The open sizes of a model's inputs: their names, and values that the caller gives them.
 *
 * Many models compute numbers from sizes (a table of positions is cut to the length of a sequence), which have to be
 * fixed in a graph. A value is written into the model before it is translated, so that every use of the size sees it.
 */
#include "engine/onnx/onnx-private.h"

#include "engine/core/loom-error.h"

#include <stdlib.h>
#include <string.h>

/* The shape of an input that is a tensor, or NULL. */
static const Onnx__TensorShapeProto *
shape_of (const Onnx__ValueInfoProto *input)
{
  const Onnx__TypeProto *type = input->type;

  return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type != NULL
             ? type->tensor_type->shape
             : NULL;
}

char *
onnx_size_name (const Onnx__ValueInfoProto *input, int dim)
{
  const Onnx__TensorShapeProto__Dimension *d = shape_of (input)->dim[dim];

  if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0)
    return NULL;
  if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *d->dim_param)
    return g_strdup (d->dim_param);
  return g_strdup_printf ("%s.%d", input->name, dim);
}

/* Inputs that are no weights, with the name and the place of each open size. FALSE from visit ends the walk. */
typedef gboolean (*Visit) (Onnx__ValueInfoProto *input, int dim, const char *name, gpointer data);

static void
walk (const Onnx__GraphProto *graph, Visit visit, gpointer data)
{
  for (gsize i = 0; i < graph->n_input; i++)
    {
      Onnx__ValueInfoProto *input = graph->input[i];
      const Onnx__TensorShapeProto *shape = input->name != NULL ? shape_of (input) : NULL;

      for (gsize k = 0; shape != NULL && k < shape->n_dim; k++)
        {
          g_autofree char *name = onnx_size_name (input, (int)k);

          if (name != NULL && !visit (input, (int)k, name, data))
            return;
        }
    }
}

static gboolean
list_name (Onnx__ValueInfoProto *input, int dim, const char *name, gpointer data)
{
  GPtrArray *names = data;

  if (!g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_ptr_array_add (names, g_strdup (name));
  return TRUE;
}

char **
onnx_sizes_list (const Onnx__GraphProto *graph)
{
  GPtrArray *names = g_ptr_array_new ();

  walk (graph, list_name, names);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

/* "batch, height", or NULL. (transfer full) */
static char *
join_names (const Onnx__GraphProto *graph)
{
  g_auto (GStrv) names = onnx_sizes_list (graph);

  return names[0] != NULL ? g_strjoinv (", ", names) : NULL;
}

typedef struct
{
  const char *name;
  gint64 value;
  guint n;
} Fixed;

static gboolean
fix_dim (Onnx__ValueInfoProto *input, int dim, const char *name, gpointer data)
{
  Onnx__TensorShapeProto__Dimension *d = shape_of (input)->dim[dim];
  Fixed *fixed = data;

  if (!g_str_equal (name, fixed->name))
    return TRUE;
  fixed->n++;
  /* The model was unpacked with malloc(), but for empty texts. */
  if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && d->dim_param != protobuf_c_empty_string)
    free (d->dim_param);
  d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
  d->dim_value = fixed->value;
  return TRUE;
}

static gboolean
read_size (const char *text, gint64 *value)
{
  return g_ascii_string_to_signed (text, 10, 1, G_MAXINT32, value, NULL);
}

/* "height=224" */
static gboolean
fix_size (const Onnx__GraphProto *graph, const char *word, GError **error)
{
  const char *equals = strrchr (word, '=');
  g_autofree char *name = equals != NULL ? g_strndup (word, (gsize)(equals - word)) : g_strdup (word), *names = NULL;
  Fixed fixed = { .name = name };

  if (equals == NULL || !read_size (equals + 1, &fixed.value))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--size takes NAME=N with a positive number, not “%s”.", word);
      return FALSE;
    }
  walk (graph, fix_dim, &fixed);
  if (fixed.n > 0)
    return TRUE;
  names = join_names (graph);
  if (names != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "--size: the model's inputs have no open size “%s”; they have %s.", name, names);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--size: all sizes of the model's inputs are fixed.");
  return FALSE;
}

static Onnx__ValueInfoProto *
find_input (const Onnx__GraphProto *graph, const char *name)
{
  for (gsize i = 0; i < graph->n_input; i++)
    if (g_strcmp0 (graph->input[i]->name, name) == 0 && shape_of (graph->input[i]) != NULL)
      return graph->input[i];
  return NULL;
}

/* One size of --input. The same open size of other inputs gets the same value. */
static gboolean
fix_input_dim (const Onnx__GraphProto *graph, Onnx__ValueInfoProto *input, int dim, const char *text, GError **error)
{
  g_autofree char *name = onnx_size_name (input, dim);
  Fixed fixed = { .name = name };

  if (name != NULL && g_ascii_isalpha (text[0]))
    return TRUE;
  if (!read_size (text, &fixed.value))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--input %s: “%s” is not a size; sizes are 1 or larger.",
                 input->name, text);
  else if (name == NULL && fixed.value != shape_of (input)->dim[dim]->dim_value)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "--input %s: dimension %d is fixed to %" G_GINT64_FORMAT
                 " in the model, so it cannot be %" G_GINT64_FORMAT ".",
                 input->name, dim, shape_of (input)->dim[dim]->dim_value, fixed.value);
  else
    {
      if (name != NULL)
        walk (graph, fix_dim, &fixed);
      return TRUE;
    }
  return FALSE;
}

/* "x=1,3,48,320" */
static gboolean
fix_shape (const Onnx__GraphProto *graph, const char *word, GError **error)
{
  const char *equals = strrchr (word, '=');
  g_autofree char *name = equals != NULL ? g_strndup (word, (gsize)(equals - word)) : NULL;
  Onnx__ValueInfoProto *input = name != NULL ? find_input (graph, name) : NULL;
  g_auto (GStrv) sizes = equals != NULL ? g_strsplit (equals + 1, ",", -1) : NULL;

  if (name == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--input takes NAME=SIZES, such as x=1,3,224,224, not “%s”.",
                 word);
  else if (input == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--input: the model has no input “%s” with a shape.", name);
  else if (g_strv_length (sizes) != shape_of (input)->n_dim)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--input: “%s” has %d dimensions, not %u.", name,
                 (int)shape_of (input)->n_dim, g_strv_length (sizes));
  else
    {
      for (int i = 0; sizes[i] != NULL; i++)
        if (!fix_input_dim (graph, input, i, g_strstrip (sizes[i]), error))
          return FALSE;
      return TRUE;
    }
  return FALSE;
}

gboolean
onnx_sizes_fix (Onnx__GraphProto *graph, const LoomOnnxInputs *inputs, GError **error)
{
  for (guint i = 0; inputs != NULL && inputs->shapes != NULL && inputs->shapes[i] != NULL; i++)
    if (!fix_shape (graph, inputs->shapes[i], error))
      return FALSE;
  for (guint i = 0; inputs != NULL && inputs->sizes != NULL && inputs->sizes[i] != NULL; i++)
    if (!fix_size (graph, inputs->sizes[i], error))
      return FALSE;
  return TRUE;
}

void
onnx_sizes_report (const Onnx__GraphProto *graph, LoomFaults *faults)
{
  g_autofree char *names = join_names (graph);

  if (names != NULL)
    loom_faults_add (
        faults, LOOM_ERROR_SHAPE, 0, NULL, NULL,
        "Its inputs have these open sizes: %s. If numbers are computed from a size, fix it: gradloom import "
        "--size NAME=N.",
        names);
}
