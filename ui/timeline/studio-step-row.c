/* Implements studio-step-row.h. */
#include "ui/timeline/studio-step-row.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>

#include "ui/charts/studio-type.h"
#include "ui/drawing/step-memory.h"
#include "ui/timeline/timeline-text.h"

STUDIO_DEFINE_TYPE (StudioStepRow, studio_step_row, G_TYPE_OBJECT)

static void
step_row_finalize (GObject *object)
{
  StudioStepRow *self = STUDIO_STEP_ROW (object);

  g_strfreev (self->nodes);
  g_free (self->node);
  g_free (self->label);
  g_free (self->title);
  g_free (self->operations);
  g_free (self->buffers);
  g_free (self->search);
  g_free (self->kernel);
  G_OBJECT_CLASS (studio_step_row_parent_class)->finalize (object);
}

static void
studio_step_row_class_init (StudioStepRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = step_row_finalize;
}

/* ---- rows from events --------------------------------------------------------------- */

static const char *
text_of (JsonObject *event, const char *name)
{
  return json_object_get_string_member_with_default (event, name, NULL);
}

static char **
strings_of (JsonObject *event, const char *name)
{
  JsonArray *array = json_object_has_member (event, name) ? json_object_get_array_member (event, name) : NULL;
  const guint n = array != NULL ? json_array_get_length (array) : 0;
  char **strings = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    strings[i] = g_strdup (json_array_get_string_element (array, i));
  return strings;
}

static const char *
phase_title (guint phase)
{
  static const char *const titles[]
      = { N_ ("once, before the first step"), N_ ("forward"), N_ ("backward"), N_ ("update") };

  return _ (titles[MIN (phase, G_N_ELEMENTS (titles) - 1)]);
}

static StudioStepRow *
row_from_event (JsonObject *event)
{
  StudioStepRow *row = g_object_new (STUDIO_TYPE_STEP_ROW, NULL);
  g_auto (GStrv) reads = strings_of (event, "reads"), writes = strings_of (event, "writes");
  g_autofree char *from = g_strjoinv (", ", reads), *to = g_strjoinv (", ", writes), *all = NULL, *paths = NULL;
  const char *node = text_of (event, "node"), *purpose = text_of (event, "purpose");
  const gboolean known = json_object_has_member (event, "seconds") && !json_object_get_null_member (event, "seconds");

  row->phase = studio_step_memory_phase (text_of (event, "phase"));
  row->depth = (guint)json_object_get_int_member_with_default (event, "depth", 0);
  row->number = (guint)json_object_get_int_member_with_default (event, "index", 0);
  row->nodes = strings_of (event, "nodes");
  row->node = g_strdup (node != NULL ? node : purpose != NULL ? purpose : "");
  row->label = g_strdup (text_of (event, "label"));
  row->kernel = g_strdup (text_of (event, "kernel"));
  row->bytes = json_object_get_double_member_with_default (event, "bytes", 0);
  row->expected = known ? json_object_get_double_member (event, "seconds") : -1;
  row->expected_source = g_intern_string (text_of (event, "seconds_from"));
  row->buffers = *from != '\0' || *to != '\0' ? g_strdup_printf ("%s%s→ %s", from, *from != '\0' ? " " : "", to) : NULL;
  paths = g_strjoinv (" + ", row->nodes);
  row->title = g_strdup_printf ("%u  %s", row->number, *paths != '\0' ? paths : row->node);
  all = g_strdup_printf ("%s %s %s %s %s", row->title, row->label, row->kernel, phase_title (row->phase),
                         row->buffers != NULL ? row->buffers : "");
  row->search = g_utf8_casefold (all, -1);
  return row;
}

/* Estimates have a sign, so that they are not taken for measurements. (transfer full) */
static char *
time_text (double seconds, gboolean is_estimate)
{
  g_autofree char *text = seconds >= 0 ? timeline_duration (1e9 * seconds) : NULL;

  if (text == NULL)
    return g_strdup ("");
  /* Translators: a duration that is estimated and not measured. */
  return is_estimate ? g_strdup_printf (_ ("≈ %s"), text) : g_steal_pointer (&text);
}

static void
set_operations (StudioStepRow *row, double seconds, gboolean is_estimate)
{
  g_autofree char *bytes = loom_bytes_to_string (row->bytes), *time = time_text (seconds, is_estimate);

  g_free (row->operations);
  row->operations
      = g_strdup_printf ("%s · %s · %s%s%s", row->label, row->kernel, bytes, *time != '\0' ? " · " : "", time);
}

static StudioStepRow *
heading_new (guint phase)
{
  StudioStepRow *row = g_object_new (STUDIO_TYPE_STEP_ROW, NULL);

  row->is_heading = TRUE;
  row->phase = phase;
  row->nodes = g_new0 (char *, 1);
  row->node = g_strdup ("");
  row->title = g_strdup (phase_title (phase));
  row->operations = g_strdup ("");
  row->search = g_strdup ("");
  row->expected = -1;
  return row;
}

GListStore *
studio_step_rows_new (GPtrArray *events)
{
  GListStore *store = g_list_store_new (STUDIO_TYPE_STEP_ROW);
  guint phase = G_MAXUINT;

  for (guint i = 0; events != NULL && i < events->len; i++)
    {
      g_autoptr (StudioStepRow) row = NULL;

      if (g_strcmp0 (text_of (events->pdata[i], "event"), "step") != 0)
        continue;
      row = row_from_event (events->pdata[i]);
      if (row->phase != phase)
        {
          g_autoptr (StudioStepRow) heading = heading_new (row->phase);

          g_list_store_append (store, heading);
        }
      phase = row->phase;
      g_list_store_append (store, row);
    }
  return store;
}

/* ---- times ---------------------------------------------------------------------------- */

/* The sum of a phase, whose heading is at this position. */
typedef struct
{
  StudioStepRow *heading;
  guint n;
  double seconds;
  gboolean estimated;
} Phase;

static void
end_phase (const Phase *phase)
{
  g_autofree char *time = time_text (phase->seconds, phase->estimated);

  if (phase->heading == NULL)
    return;
  g_free (phase->heading->operations);
  phase->heading->operations
      = g_strdup_printf (ngettext ("%1$u step · %2$s", "%1$u steps · %2$s", phase->n), phase->n, time);
}

StudioStepTimes
studio_step_rows_set_times (GListStore *rows, LoomTraceTimes *times)
{
  static const LoomTracePhase phases[]
      = { LOOM_TRACE_NO_PHASE, LOOM_TRACE_FORWARD, LOOM_TRACE_BACKWARD, LOOM_TRACE_UPDATE };
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (rows));
  gboolean any[STUDIO_STEP_TIMES_RUN + 1] = { FALSE };
  Phase phase = { 0 };

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (StudioStepRow) row = g_list_model_get_item (G_LIST_MODEL (rows), i);
      double seconds;
      gboolean estimated;

      if (row->is_heading)
        {
          end_phase (&phase);
          phase = (Phase){ .heading = row };
          continue;
        }
      seconds = times != NULL && row->depth == 0 && row->phase > 0
                    ? loom_trace_times_take (times, phases[row->phase], row->label, row->node)
                    : -1;
      estimated = seconds < 0 && g_strcmp0 (row->expected_source, "bench") != 0;
      any[seconds >= 0        ? STUDIO_STEP_TIMES_RUN
          : row->expected < 0 ? STUDIO_STEP_TIMES_NONE
          : estimated         ? STUDIO_STEP_TIMES_ESTIMATED
                              : STUDIO_STEP_TIMES_BENCH]
          = TRUE;
      seconds = seconds >= 0 ? seconds : row->expected;
      set_operations (row, seconds, estimated);
      if (row->depth == 0)
        {
          phase.n++;
          phase.seconds += MAX (seconds, 0);
          phase.estimated |= estimated && seconds > 0 && row->phase > 0;
        }
    }
  end_phase (&phase);
  g_list_model_items_changed (G_LIST_MODEL (rows), 0, n, n);
  return any[STUDIO_STEP_TIMES_RUN]         ? STUDIO_STEP_TIMES_RUN
         : any[STUDIO_STEP_TIMES_ESTIMATED] ? STUDIO_STEP_TIMES_ESTIMATED
         : any[STUDIO_STEP_TIMES_BENCH]     ? STUDIO_STEP_TIMES_BENCH
                                            : STUDIO_STEP_TIMES_NONE;
}

char *
studio_step_row_describe (const StudioStepRow *row)
{
  /* Translators: an instruction's number and layer, its phase, and its operations with kernel, bytes and time. */
  return row->is_heading
             ? g_strdup_printf ("%s, %s", row->title, row->operations)
             : g_strdup_printf (_ ("%1$s, %2$s: %3$s"), row->title, phase_title (row->phase), row->operations);
}
