/* The beginning of the file is read in a thread, again after file, separator or header change. Roles that the user has
 * set are kept. */
#include "ui/start/studio-csv-page.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/data/loom-parquet.h"
#include "ui/charts/studio-template.h"
#include "ui/start/studio-data-job.h"
#include "ui/start/studio-start-rows.h"

#define WAIT_MS      300
#define MOST_COLUMNS 300 /* columns with a row each */

struct _StudioCsvPage
{
  AdwBin parent_instance;
  GtkWidget *box, *path, *delimiter, *header, *header_row, *columns, *prepare, *normalize, *missing, *verdict, *more;
  GPtrArray *rows; /* of columns */
  StudioKinds kinds;
  LoomCsvGuess *guess; /* NULL: no table yet */
  GCancellable *cancellable;
  guint timer;
  gboolean filling; /* the program sets widgets */
  gboolean is_parquet;
  char **options; /* NULL: the roles do not make a data set */
  char *name;
};

G_DEFINE_FINAL_TYPE (StudioCsvPage, studio_csv_page, ADW_TYPE_BIN)

static guint changed_signal;

static const char delimiters[] = ",;\t|";

/* ---- texts ------------------------------------------------------------------------ */

static char *
describe_column (const LoomCsvColumn *column)
{
  GString *s = g_string_new (NULL);

  if (column->example == NULL)
    g_string_append (s, _ ("empty"));
  else if (column->is_number)
    g_string_append_printf (s, column->is_integer ? _ ("whole numbers, %.4g to %.4g") : _ ("numbers, %.4g to %.4g"),
                            column->minimum, column->maximum);
  else if (column->n_distinct < LOOM_CSV_DISTINCT)
    g_string_append_printf (
        s, ngettext ("words, %u of them, such as “%s”", "words, %u different, such as “%s”", column->n_distinct),
        column->n_distinct, column->example);
  else
    g_string_append_printf (s, _ ("words, many different, such as “%s”"), column->example);
  if (column->n_missing > 0)
    g_string_append_printf (s, ngettext (" · %u gap", " · %u gaps", column->n_missing), column->n_missing);
  return g_string_free (s, FALSE);
}

/* The target's column; -1 for none, -2 for several. */
static int
find_target (const LoomCsvGuess *guess)
{
  int target = -1;

  for (guint i = 0; i < guess->columns->len; i++)
    if (((const LoomCsvColumn *)guess->columns->pdata[i])->role == LOOM_CSV_TARGET)
      target = target == -1 ? (int)i : -2;
  return target;
}

static guint
count_role (const LoomCsvGuess *guess, LoomCsvRole role)
{
  guint n = 0;

  for (guint i = 0; i < guess->columns->len; i++)
    n += ((const LoomCsvColumn *)guess->columns->pdata[i])->role == role;
  return n;
}

static char *
describe_task (const LoomCsvGuess *guess)
{
  const int target = find_target (guess);
  const guint n = count_role (guess, LOOM_CSV_FEATURE), n_targets = count_role (guess, LOOM_CSV_TARGET);
  const LoomCsvColumn *column = target >= 0 ? guess->columns->pdata[target] : NULL;
  g_autofree char *what = NULL;

  if (column == NULL)
    what = g_strdup_printf (ngettext ("Predicts %u number", "Predicts %u numbers", n_targets), n_targets);
  else if (loom_csv_column_is_classes (guess, (guint)target))
    what = g_strdup_printf (_ ("Predicts which of %u classes “%s” is"), column->n_distinct, column->name);
  else
    what = g_strdup_printf (_ ("Predicts the number “%s”"), column->name);
  return g_strdup_printf (ngettext ("%s from %u column.", "%s from %u columns.", n), what, n);
}

/* ---- the data set of the choices ------------------------------------------------------ */

/* The kinds of networks that suit rows of numbers, for any number of rows. */
static const LoomTemplateKind **
kinds_for_rows (void)
{
  LoomType row = { .dtype = LOOM_F32, .shape = { .rank = 2 } };
  LoomDatasetInfo info = { .n_ports = 2 };

  row.shape.dim[0] = loom_dim_symbol ('B');
  row.shape.dim[1] = loom_dim (1);
  info.port[0].type = info.port[1].type = row;
  return loom_template_kinds (&info);
}

/* The value of an option of the data set, by the index of the selected choice. */
static const char *
chosen_value (const char *option, GtkWidget *row)
{
  const LoomDatasetParam *p = loom_dataset_class_params (loom_dataset_class ("csv"));

  while (strcmp (p->name, option) != 0)
    p++;
  return p->choices[adw_combo_row_get_selected (ADW_COMBO_ROW (row))];
}

static void
update (StudioCsvPage *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  if (self->filling)
    return;
  g_clear_pointer (&self->options, g_strfreev);
  if (self->guess != NULL)
    {
      self->options = loom_csv_guess_options (self->guess, gtk_editable_get_text (GTK_EDITABLE (self->path)),
                                              chosen_value ("normalize", self->normalize),
                                              chosen_value ("missing", self->missing), &error);
      text = self->options != NULL ? describe_task (self->guess) : g_strdup (error->message);
      gtk_label_set_label (GTK_LABEL (self->verdict), text);
    }
  if (self->options != NULL || self->guess == NULL)
    gtk_widget_remove_css_class (self->verdict, "warning");
  else
    gtk_widget_add_css_class (self->verdict, "warning");
  gtk_widget_set_visible (self->kinds.group, self->options != NULL);
  g_signal_emit (self, changed_signal, 0);
}

static void
role_cb (AdwComboRow *row, GParamSpec *pspec, StudioCsvPage *self)
{
  LoomCsvColumn *column = g_object_get_data (G_OBJECT (row), "column");
  const LoomCsvRole role = adw_combo_row_get_selected (row);

  if (self->filling)
    return;
  column->role = role;
  /* Only one target by default: the former one becomes an input. */
  for (guint i = 0; role == LOOM_CSV_TARGET && i < self->rows->len; i++)
    {
      LoomCsvColumn *other = g_object_get_data (self->rows->pdata[i], "column");

      if (other == column || other->role != LOOM_CSV_TARGET
          || (other->is_number && column->is_number && !loom_csv_column_is_classes (self->guess, i)))
        continue;
      self->filling = TRUE;
      other->role = loom_csv_column_is_feature (other) ? LOOM_CSV_FEATURE : LOOM_CSV_IGNORED;
      adw_combo_row_set_selected (self->rows->pdata[i], other->role);
      self->filling = FALSE;
    }
  update (self);
}

static void
add_column (StudioCsvPage *self, LoomCsvColumn *column)
{
  GtkWidget *row = adw_combo_row_new ();
  g_autoptr (GtkStringList) roles = gtk_string_list_new (NULL);
  g_autofree char *text = describe_column (column);

  for (guint i = 0; i < LOOM_CSV_N_ROLES; i++)
    gtk_string_list_append (roles, loom_csv_role_title (i));
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), column->name[0] != '\0' ? column->name : _ ("(no name)"));
  g_autofree char *escaped = g_markup_escape_text (text, -1);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), escaped);
  adw_combo_row_set_model (ADW_COMBO_ROW (row), G_LIST_MODEL (roles));
  adw_combo_row_set_selected (ADW_COMBO_ROW (row), column->role);
  g_object_set_data (G_OBJECT (row), "column", column);
  g_signal_connect (row, "notify::selected", G_CALLBACK (role_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->columns), row);
  g_ptr_array_add (self->rows, row);
}

static void
remove_columns (StudioCsvPage *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    adw_preferences_group_remove (ADW_PREFERENCES_GROUP (self->columns), self->rows->pdata[i]);
  g_ptr_array_set_size (self->rows, 0);
}

/* The index of a choice among the values of an option. */
static guint
place_of (const char *option, const char *value)
{
  const LoomDatasetParam *p = loom_dataset_class_params (loom_dataset_class ("csv"));
  guint i = 0;

  while (strcmp (p->name, option) != 0)
    p++;
  while (strcmp (p->choices[i], value) != 0)
    i++;
  return i;
}

static void
suggest_preparation (StudioCsvPage *self)
{
  const char *normalize, *missing;

  loom_csv_guess_preparation (self->guess, &normalize, &missing);
  adw_combo_row_set_selected (ADW_COMBO_ROW (self->missing), place_of ("missing", missing));
  adw_combo_row_set_selected (ADW_COMBO_ROW (self->normalize), place_of ("normalize", normalize));
}

static void
show_guess (StudioCsvPage *self)
{
  const char *at = strchr (delimiters, self->guess->delimiter);
  g_autofree char *size = g_format_size (self->guess->size);
  g_autofree char *text = g_strdup_printf (
      self->guess->is_whole ? ngettext ("%u row, %s", "%u rows, %s", self->guess->n_rows)
                            : ngettext ("Based on the first %u row; the file has %s",
                                        "Based on the first %u rows; the file has %s", self->guess->n_rows),
      self->guess->n_rows, size);
  const guint n_more = self->guess->columns->len - MIN (self->guess->columns->len, MOST_COLUMNS);
  g_autofree char *rest = NULL;

  self->filling = TRUE;
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (self->columns), text);
  adw_combo_row_set_selected (ADW_COMBO_ROW (self->delimiter), at != NULL ? (guint)(at - delimiters) : 0);
  gtk_switch_set_active (GTK_SWITCH (self->header), self->guess->has_header);
  for (guint i = 0; i < MIN (self->guess->columns->len, MOST_COLUMNS); i++)
    add_column (self, self->guess->columns->pdata[i]);
  if (n_more > 0)
    rest = g_strdup_printf (
        ngettext ("and %u more column, used as detected", "and %u more columns, used as detected", n_more), n_more);
  gtk_label_set_label (GTK_LABEL (self->more), rest != NULL ? rest : "");
  gtk_widget_set_visible (self->more, rest != NULL);
  suggest_preparation (self);
  self->filling = FALSE;
}

static void
guessed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioCsvPage) self = data;
  g_autoptr (GError) error = NULL;
  LoomCsvGuess *guess = studio_csv_guess_finish (result, &error);

  if (g_cancellable_is_cancelled (g_task_get_cancellable (G_TASK (result))))
    {
      loom_csv_guess_free (guess);
      return;
    }
  remove_columns (self);
  loom_csv_guess_free (self->guess);
  self->guess = guess;
  if (guess != NULL)
    show_guess (self);
  gtk_widget_set_visible (self->columns, guess != NULL);
  gtk_widget_set_visible (self->prepare, guess != NULL);
  update (self);
  if (guess != NULL)
    return;
  gtk_label_set_label (GTK_LABEL (self->verdict), error->message);
  gtk_widget_add_css_class (self->verdict, "warning");
}

/* delimiter 0 and header -1: guessed from the file. */
static void
read_file (StudioCsvPage *self, char delimiter, int header)
{
  const char *path = gtk_editable_get_text (GTK_EDITABLE (self->path));

  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  g_free (self->name);
  self->name = g_path_get_basename (path);
  self->is_parquet = loom_parquet_is_file (path);
  gtk_widget_set_visible (self->delimiter, !self->is_parquet);
  gtk_widget_set_visible (self->header_row, !self->is_parquet);
  if (strrchr (self->name, '.') > self->name)
    *strrchr (self->name, '.') = 0;
  studio_csv_guess_async (path, delimiter, header, self->cancellable, guessed_cb, g_object_ref (self));
}

static gboolean
typed_cb (gpointer data)
{
  StudioCsvPage *self = data;

  self->timer = 0;
  if (gtk_editable_get_text (GTK_EDITABLE (self->path))[0] != '\0')
    read_file (self, 0, -1);
  return G_SOURCE_REMOVE;
}

static void
path_cb (StudioCsvPage *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  self->timer = g_timeout_add (WAIT_MS, typed_cb, self);
  g_clear_pointer (&self->options, g_strfreev);
  g_signal_emit (self, changed_signal, 0);
}

static void
form_cb (GObject *widget, GParamSpec *pspec, StudioCsvPage *self)
{
  if (self->filling || gtk_editable_get_text (GTK_EDITABLE (self->path))[0] == '\0')
    return;
  read_file (self, delimiters[adw_combo_row_get_selected (ADW_COMBO_ROW (self->delimiter))],
             gtk_switch_get_active (GTK_SWITCH (self->header)));
}

/* ---- widgets ------------------------------------------------------------------------ */

static void
studio_csv_page_dispose (GObject *object)
{
  StudioCsvPage *self = STUDIO_CSV_PAGE (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->rows, g_ptr_array_unref);
  g_clear_pointer (&self->guess, loom_csv_guess_free);
  g_clear_pointer (&self->options, g_strfreev);
  g_clear_pointer (&self->name, g_free);
  studio_kinds_clear (&self->kinds);
  G_OBJECT_CLASS (studio_csv_page_parent_class)->dispose (object);
}

static void
studio_csv_page_class_init (StudioCsvPageClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_csv_page_dispose;
  STUDIO_TEMPLATE (klass, "studio-csv-page.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioCsvPage, box, path, delimiter, header, header_row, columns, prepare, normalize,
                            missing, verdict, more);
  STUDIO_TEMPLATE_CALLBACKS (klass, path_cb, form_cb, update);
  changed_signal = studio_signal_new ("changed", G_TYPE_FROM_CLASS (klass), 0);
}

static void
studio_csv_page_init (StudioCsvPage *self)
{
  g_autofree const LoomTemplateKind **kinds = kinds_for_rows ();

  self->rows = g_ptr_array_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  studio_path_row_add_button (self->path);
  studio_kinds_init (&self->kinds);
  studio_kinds_set (&self->kinds, kinds);
  gtk_widget_set_visible (self->kinds.group, FALSE);
  gtk_box_append (GTK_BOX (self->box), self->kinds.group);
}

StudioCsvPage *
studio_csv_page_new (const char *path)
{
  StudioCsvPage *self = g_object_new (STUDIO_TYPE_CSV_PAGE, NULL);

  if (path != NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->path), path);
  return self;
}

const char *
studio_csv_page_get_title (StudioCsvPage *self)
{
  return self->is_parquet ? _ ("Parquet table") : loom_dataset_class_title (loom_dataset_class ("csv"));
}

gboolean
studio_csv_page_get_data (StudioCsvPage *self, LoomTemplateData *data)
{
  const int target = self->guess != NULL ? find_target (self->guess) : -1;

  *data = (LoomTemplateData){
    .source = "csv", .options = (const char *const *)self->options, .kind = self->kinds.chosen, .name = self->name
  };
  if (target >= 0 && !loom_csv_column_is_classes (self->guess, (guint)target))
    loom_csv_guess_units (self->guess, &data->scale, &data->shift);
  return self->options != NULL && self->timer == 0;
}
