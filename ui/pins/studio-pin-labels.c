/* Requests the labels of a pin's axes from the worker. */
#include "ui/pins/studio-pin-labels.h"

#include <string.h>

#include "ui/run/run-report.h"

enum
{
  ROWS,
  COLUMNS,
  N_AXES
};

typedef struct
{
  StudioPinLabels *owner;
  char *port;
  char **words;
} Axis;

struct _StudioPinLabels
{
  Axis axis[N_AXES];
  LoomBusWorker1 *requested; /* the worker of the last request, or NULL */
  gint64 sample;             /* and its sample */
  GCancellable *cancellable;
  char *problem;
  GFunc changed;
  gpointer data;
};

StudioPinLabels *
studio_pin_labels_new (const char *rows, const char *columns, GFunc changed, gpointer data)
{
  StudioPinLabels *self = g_new0 (StudioPinLabels, 1);
  self->axis[ROWS] = (Axis){ .owner = self, .port = g_strdup (rows) };
  self->axis[COLUMNS] = (Axis){ .owner = self, .port = g_strdup (columns) };
  self->changed = changed;
  self->data = data;
  return self;
}

gboolean
studio_pin_labels_are_of (const StudioPinLabels *self, const char *rows, const char *columns)
{
  return g_strcmp0 (self->axis[ROWS].port, rows) == 0 && g_strcmp0 (self->axis[COLUMNS].port, columns) == 0;
}

static void
forget (StudioPinLabels *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_object (&self->requested);
  g_clear_pointer (&self->problem, g_free);
  for (int i = 0; i < N_AXES; i++)
    g_clear_pointer (&self->axis[i].words, g_strfreev);
}

void
studio_pin_labels_free (StudioPinLabels *self)
{
  if (self == NULL)
    return;
  forget (self);
  for (int i = 0; i < N_AXES; i++)
    g_free (self->axis[i].port);
  g_free (self);
}

/* data: NUL-terminated strings, one after the other. */
static char **
read_words (GVariant *data)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  gsize length;
  const char *text = g_variant_get_fixed_array (data, &length, 1);

  for (gsize i = 0; i < length && memchr (text + i, 0, length - i) != NULL; i += strlen (text + i) + 1)
    g_strv_builder_add (words, g_utf8_validate (text + i, -1, NULL) ? text + i : "?");
  return g_strv_builder_end (words);
}

/* The axis may be freed when a cancelled request returns. */
static void
words_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) text = run_report_finish (source, result, NULL, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  Axis *axis = data;
  StudioPinLabels *self = axis->owner;
  if (text != NULL)
    axis->words = read_words (text);
  else
    {
      g_dbus_error_strip_remote_error (error);
      g_free (self->problem);
      self->problem = g_strdup (error->message);
    }
  self->changed (self, self->data);
}

void
studio_pin_labels_request (StudioPinLabels *self, LoomBusWorker1 *proxy, gint64 sample)
{
  if (self->requested == proxy && self->sample == sample)
    return;
  forget (self);
  self->sample = sample;
  self->requested = g_object_ref (proxy);
  self->cancellable = g_cancellable_new ();
  for (int i = 0; i < N_AXES; i++)
    if (self->axis[i].port != NULL)
      {
        g_autofree char *name = strchr (self->axis[i].port, '#') != NULL
                                    ? g_strconcat ("words:", self->axis[i].port, NULL)
                                    : g_strdup_printf ("words:%s#%" G_GINT64_FORMAT, self->axis[i].port, sample);
        run_report_async (proxy, name, 0, self->cancellable, words_cb, &self->axis[i]);
      }
}

const char *const *
studio_pin_labels_rows (const StudioPinLabels *self)
{
  return (const char *const *)self->axis[ROWS].words;
}

const char *const *
studio_pin_labels_columns (const StudioPinLabels *self)
{
  return (const char *const *)self->axis[COLUMNS].words;
}

const char *
studio_pin_labels_problem (const StudioPinLabels *self)
{
  return self->problem;
}
