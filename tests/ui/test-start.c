/* Starting a graph: the window “New from Data”, and files dropped on the window. */
#include <adwaita.h>
#include <glib/gstdio.h>
#include <string.h>

#include "ui/start/studio-new-dialog.h"
#include "ui/start/studio-task-thumbnail.h"
#include "ui/start/studio-weights-dialog.h"
#include "ui/start/studio-files.h"
#include "ui/start/studio-gallery.h"
#include "ui/shell/studio-toasts.h"
#include "tests/test-program.h"
#include "tests/ui/start-test.h"

static StudioNewDialog *
find_dialog (void)
{
  g_autoptr (GList) windows = gtk_window_list_toplevels ();

  for (GList *l = windows; l != NULL; l = l->next)
    if (STUDIO_IS_NEW_DIALOG (l->data))
      return l->data;
  return NULL;
}

static GtkWidget *
find_button (GtkWidget *dialog, const char *words)
{
  GtkWidget *label = find_words (dialog, words);

  return label != NULL ? gtk_widget_get_ancestor (label, GTK_TYPE_BUTTON) : NULL;
}

static GtkWidget *
find_weights (void)
{
  g_autoptr (GList) windows = gtk_window_list_toplevels ();

  for (GList *l = windows; l != NULL; l = l->next)
    if (STUDIO_IS_WEIGHTS_DIALOG (l->data))
      return l->data;
  return NULL;
}

/* The button of the row that offers this. */
static GtkWidget *
find_offer (const char *title)
{
  GtkWidget *label = find_words (find_weights (), title);

  g_assert_nonnull (label);
  return adw_action_row_get_activatable_widget (ADW_ACTION_ROW (gtk_widget_get_ancestor (label, ADW_TYPE_ACTION_ROW)));
}

/* Two linear layers, of which one fits the graph that is opened. */
static GFile *
write_weights (void)
{
  static const struct
  {
    const char *name;
    int rank;
    gint64 dims[2];
  } tensors[] = { { "a.weight", 2, { 3, 4 } },
                  { "a.bias", 1, { 3 } },
                  { "b.weight", 2, { 2, 9 } },
                  { "rnn.weight_ih_l0", 2, { 2, 2 } } };
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL);
  g_autoptr (GPtrArray) list = loom_named_tensors_new ();

  for (guint i = 0; i < G_N_ELEMENTS (tensors); i++)
    {
      g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, tensors[i].rank, tensors[i].dims, NULL);
      g_ptr_array_add (list, loom_named_tensor_new (tensors[i].name, t));
    }
  g_assert_true (loom_safetensors_save (path, list, NULL, NULL));
  return g_file_new_for_path (path);
}

/* Weights are shown; the open graph begins from them, as one step, or a graph is guessed. */
static void
test_weights (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) weights = write_weights ();
  g_autoptr (GFile) graph = write_file (
      "w.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,4\"/>"
               "<node id=\"a\" op=\"linear\" out_features=\"3\"/><node id=\"b\" op=\"linear\" out_features=\"2\"/>"
               "<wire from=\"x\" to=\"a\"/><wire from=\"a\" to=\"b\"/></graph>");
  StudioDocument *document;

  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, weights));
  WAIT_FOR (find_weights () != NULL);
  g_assert_nonnull (find_words (find_weights (), "4 tensors · 37 numbers · 148 bytes · f32"));
  g_assert_nonnull (find_words (find_weights (), "The open graph has no weights."));
  g_assert_false (gtk_widget_get_sensitive (find_offer ("Use as weights")));
  g_assert_nonnull (find_words (find_weights (), "2 layers guessed from names and shapes"));
  WAIT_FOR (find_words (find_weights (), "rnn.weight_ih_l0") != NULL);
  g_assert_nonnull (find_words (find_weights (), "3 × 4"));
  g_signal_emit_by_name (find_offer ("Create a graph"), "clicked");
  document = studio_window_get_document (window);
  WAIT_FOR (!studio_document_is_empty (document) && find_weights () == NULL);
  g_assert_cmpstr (train_attribute (window, "weights"), ==, g_file_peek_path (weights));
  g_assert_nonnull (loom_scope_find_node (loom_graph_root (studio_document_get_graph (document)), "b"));

  g_assert_true (drop (window, graph));
  WAIT_FOR (studio_window_n_pages (window) == 2);
  document = studio_window_get_document (window);
  g_assert_true (drop (window, weights));
  WAIT_FOR (find_weights () != NULL);
  g_assert_nonnull (find_words (find_weights (), "2 of the graph’s 4 weights match by name and shape · 1 has another "
                                                 "shape · 1 is not in the file · 1 in the file is not used"));
  g_signal_emit_by_name (find_offer ("Use as weights"), "clicked");
  WAIT_FOR (find_weights () == NULL);
  g_assert_cmpstr (train_attribute (window, "weights"), ==, "w.safetensors");
  studio_document_undo (document);
  g_assert_null (train_attribute (window, "weights"));
  g_assert_null (studio_document_undo_name (document));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* A file that holds no weights is named in one sentence, and nothing opens. */
static void
test_no_weights (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) bad = write_file ("bad.safetensors", "these are no weights");

  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, bad));
  WAIT_FOR (find_words (GTK_WIDGET (window), "cannot be opened") != NULL);
  g_assert_null (find_weights ());
  gtk_window_destroy (GTK_WINDOW (window));
}

/* The dialog to open shows every kind of file, each by itself, and any. */
static void
test_filters (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GtkFileChooserNative) chooser
      = studio_files_new_chooser (GTK_WINDOW (window), "", GTK_FILE_CHOOSER_ACTION_OPEN, "Open", TRUE, NULL);
  static const char *const names[]
      = { "All supported files", "Graphs",   "Tables", "ONNX models", "Weights", "Traces of a step", "Lectures",
          "Recorded sessions",   "All files" };

  g_autoptr (GListModel) filters = gtk_file_chooser_get_filters (GTK_FILE_CHOOSER (chooser));
  g_assert_cmpuint (g_list_model_get_n_items (filters), ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GtkFileFilter) filter = g_list_model_get_item (filters, i);
      g_autoptr (GFileInfo) info = g_file_info_new ();

      g_assert_cmpstr (gtk_file_filter_get_name (filter), ==, names[i]);
      g_file_info_set_display_name (info, "W.SafeTensors");
      g_assert_true (gtk_filter_match (GTK_FILTER (filter), info) == (i == 0 || i == 4 || i == 8));
    }
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
test_kinds_of_files (void)
{
  static const struct
  {
    const char *name, *text;
    StudioFileKind kind;
  } cases[] = {
    { "a.XML", "", STUDIO_FILE_GRAPH },           { "a.csv", "", STUDIO_FILE_TABLE },
    { "a.tsv", "", STUDIO_FILE_TABLE },           { "a.onnx", "", STUDIO_FILE_MODEL },
    { "a.safetensors", "", STUDIO_FILE_WEIGHTS }, { "a.safetensors.index.json", "", STUDIO_FILE_WEIGHTS },
    { "a.weights.h5", "", STUDIO_FILE_WEIGHTS },  { "a.json", "", STUDIO_FILE_TRACE },
    { "graph", "", STUDIO_FILE_GRAPH },           { "g.old", "\n <graph/>", STUDIO_FILE_GRAPH },
    { "cat.png", "PNG", STUDIO_FILE_OTHER },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GFile) file = write_file (cases[i].name, cases[i].text);

      g_assert_cmpint (studio_files_kind (file), ==, cases[i].kind);
    }
}

/* Recent graphs are those of this program: another one's XML has no thumbnail here. */
static void
test_recent (void)
{
  g_autoptr (GFile) ours = write_file ("ours.xml", "<graph/>"), theirs = write_file ("theirs.xml", "<page/>");
  g_autofree char *uri = g_file_get_uri (theirs), *path = g_file_get_path (ours), *our_uri = g_file_get_uri (ours);
  GtkRecentData data
      = { .mime_type = (char *)"text/xml", .app_name = (char *)"Another", .app_exec = (char *)"another %u" };
  GList *recent = NULL;
  gboolean found = FALSE;

  studio_files_remember (path);
  g_assert_true (gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri, &data));
  WAIT_FOR (gtk_recent_manager_has_item (gtk_recent_manager_get_default (), uri)
            && gtk_recent_manager_has_item (gtk_recent_manager_get_default (), our_uri));
  recent = studio_files_recent ();
  for (GList *l = recent; l != NULL; l = l->next)
    {
      found = found || g_str_has_suffix (gtk_recent_info_get_uri (l->data), "/ours.xml");
      g_assert_false (g_str_has_suffix (gtk_recent_info_get_uri (l->data), "/theirs.xml"));
    }
  g_list_free_full (recent, (GDestroyNotify)gtk_recent_info_unref);
  g_assert_true (found);
}

/* The start page shows a recent file as long as it is there. */
static void
test_recent_gone (void)
{
  g_autoptr (GFile) file = write_file ("soon-gone.xml", "<graph/>");
  g_autofree char *path = g_file_get_path (file);
  GtkWidget *window = gtk_window_new (), *gallery = GTK_WIDGET (g_object_new (STUDIO_TYPE_GALLERY, NULL));

  gtk_window_set_child (GTK_WINDOW (window), gallery);
  gtk_window_present (GTK_WINDOW (window));
  WAIT_FOR (find_words (gallery, "Build") != NULL);
  studio_files_remember (path);
  WAIT_FOR (find_words (gallery, "soon-gone.xml") != NULL);
  gtk_widget_set_visible (window, FALSE);
  g_unlink (path);
  gtk_widget_set_visible (window, TRUE);
  WAIT_FOR (gtk_widget_get_mapped (gallery) && find_words (gallery, "soon-gone.xml") == NULL);
  g_assert_nonnull (find_words (gallery, "Build"));
  gtk_window_destroy (GTK_WINDOW (window));
}

#define LEARNS                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>"  \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"                                     \
  "<wire from=\"data.y\" to=\"loss.target\"/>"                                                                         \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.03\" batch_size=\"32\" epochs=\"5\" seed=\"3\"/></graph>"

/* The picture of a task plays from the untrained net to the trained one; where animations are off, the last one stays.
 */
static void
test_moving (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (LEARNS, strlen (LEARNS), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  for (int moves = 0; moves < 2; moves++)
    {
      GtkWidget *window = gtk_window_new ();
      GtkPicture *picture = GTK_PICTURE (gtk_picture_new ());
      guint at, first = G_MAXUINT;

      g_object_set (gtk_settings_get_default (), "gtk-enable-animations", moves, NULL);
      gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (picture));
      gtk_window_present (GTK_WINDOW (window));
      WAIT_FOR (gtk_widget_get_mapped (GTK_WIDGET (picture)));
      studio_task_thumbnail_show (picture, graph, net, NULL, 200, 112, FALSE);
      WAIT_FOR (studio_task_thumbnail_n_frames (picture, &first) > 0);
      const guint last = studio_task_thumbnail_n_frames (picture, &at) - 1;
      g_assert_cmpuint (last, >, 0); /* how many fit into the time depends on the machine */
      g_assert_cmpuint (first, ==, moves ? 0 : last);
      g_autoptr (GdkPaintable) before = g_object_ref (gtk_picture_get_paintable (picture));
      WAIT_FOR ((studio_task_thumbnail_n_frames (picture, &at), at == last));
      g_assert_true ((before != gtk_picture_get_paintable (picture)) == moves);
      studio_task_thumbnail_play (picture);
      studio_task_thumbnail_n_frames (picture, &at);
      g_assert_cmpuint (at, ==, moves ? 0 : last);
      gtk_window_destroy (GTK_WINDOW (window));
    }
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
}

#define SHAPES                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"shapes\" "              \
  "target_type=\"class\" shapes=\"1\" size=\"16\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"2\" "                \
  "kernel_size=\"3\"/><node id=\"flat\" op=\"flatten\"/><node id=\"out\" op=\"linear\" out_features=\"12\"/>"          \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"conv\"/><wire from=\"conv\" to=\"flat\"/>"       \
  "<wire from=\"flat\" to=\"out\"/><wire from=\"out\" to=\"loss.input\"/><wire from=\"data.y\" "                       \
  "to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"8\" epochs=\"1\" "              \
  "seed=\"1\"/></graph>"

/* Images are shown and answered as well, and the map of a tensor in place of the answers. */
static void
test_moving_images (void)
{
  static const char *const maps[] = { NULL, "conv", "out" };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (SHAPES, strlen (SHAPES), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  for (guint i = 0; i < G_N_ELEMENTS (maps); i++)
    {
      GtkPicture *picture = g_object_ref_sink (GTK_PICTURE (gtk_picture_new ()));
      guint at;

      studio_task_thumbnail_show (picture, graph, net, maps[i], 200, 112, FALSE);
      WAIT_FOR (gtk_picture_get_paintable (picture) != NULL); /* the samples */
      g_autoptr (GdkPaintable) samples = g_object_ref (gtk_picture_get_paintable (picture));
      WAIT_FOR (studio_task_thumbnail_n_frames (picture, &at) > 0);
      g_assert_true (gtk_picture_get_paintable (picture) != samples);
      g_assert_cmpint (gdk_paintable_get_intrinsic_width (gtk_picture_get_paintable (picture)), ==, 200);
      g_object_unref (picture);
    }
}

/* What is read and trained for a picture does not keep it alive. */
static void
test_closed_while_training (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (LEARNS, strlen (LEARNS), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  GtkPicture *picture = g_object_ref_sink (GTK_PICTURE (gtk_picture_new ()));
  gpointer alive = picture;

  g_object_add_weak_pointer (G_OBJECT (picture), &alive);
  studio_task_thumbnail_show (picture, graph, net, NULL, 200, 112, FALSE);
  g_object_unref (picture);
  g_assert_null (alive);
}

/* A table that is dropped becomes a graph without a fault. */
static void
test_table (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) file = write_file ("t.csv", "a,b,price\n1,2,1500.5\n3,4,2800\n5,9,3100\n7,1,900\n2,2,1400\n");
  GtkWidget *create;

  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, file));
  g_assert_nonnull (find_dialog ());
  WAIT_FOR (find_words (GTK_WIDGET (find_dialog ()), "Predicts the number “price” from 2 columns.") != NULL);
  create = find_button (GTK_WIDGET (find_dialog ()), "Create");
  g_assert_true (gtk_widget_get_sensitive (create));
  g_signal_emit_by_name (create, "clicked");
  WAIT_FOR (!studio_document_is_empty (studio_window_get_document (window)));
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (studio_window_get_document (window))), ==, 0);
  /* Thousands are what the last layer's small numbers are scaled to. */
  g_assert_nonnull (loom_scope_find_node (
      loom_graph_root (studio_document_get_graph (studio_window_get_document (window))), "units"));
  WAIT_FOR (find_dialog () == NULL);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* A Parquet file has no separator and names its columns itself. */
static void
test_parquet (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) file = g_file_new_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "parquet",
                                                      "types.plain.parquet", NULL);
  GtkWidget *dialog;

  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, file));
  dialog = GTK_WIDGET (find_dialog ());
  g_assert_nonnull (dialog);
  WAIT_FOR (find_words (dialog, "Parquet table") != NULL);
  g_assert_null (find_words (dialog, "CSV table"));
  g_assert_null (find_words (dialog, "Between fields"));
  g_assert_null (find_words (dialog, "The first line names the columns"));
  gtk_window_close (GTK_WINDOW (dialog));
  WAIT_FOR (find_dialog () == NULL);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* A fault of the table is shown, and nothing can be created. */
static void
test_no_table (void)
{
  static const struct
  {
    const char *text, *words;
  } cases[] = {
    { "a\n1\n2\n", "a single column" },
    { "", "is empty" },
    { "a,b\n1,2\n3\n", "line 3 has 1 field" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      StudioWindow *window = studio_window_new (application);
      g_autoptr (GFile) file = write_file ("bad.csv", cases[i].text);

      gtk_window_present (GTK_WINDOW (window));
      g_assert_true (studio_window_take_file (window, file));
      WAIT_FOR (find_words (GTK_WIDGET (find_dialog ()), cases[i].words) != NULL);
      g_assert_false (gtk_widget_get_sensitive (find_button (GTK_WIDGET (find_dialog ()), "Create")));
      gtk_window_destroy (GTK_WINDOW (find_dialog ()));
      gtk_window_destroy (GTK_WINDOW (window));
    }
}

static void
test_other_files (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) graph
      = write_file ("g.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"r\" op=\"relu\"/></graph>");
  g_autoptr (GFile) picture = write_file ("cat.png", "");

  gtk_window_present (GTK_WINDOW (window));
  g_assert_false (drop (window, picture));
  g_assert_null (find_dialog ());
  g_assert_true (studio_document_is_empty (studio_window_get_document (window)));
  g_assert_true (drop (window, graph));
  g_assert_false (studio_document_is_empty (studio_window_get_document (window)));
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
is_recent (const char *uri)
{
  GList *recent = studio_files_recent ();
  gboolean found = FALSE;

  for (GList *l = recent; l != NULL; l = l->next)
    found = found || g_str_equal (gtk_recent_info_get_uri (l->data), uri);
  g_list_free_full (recent, (GDestroyNotify)gtk_recent_info_unref);
  return found;
}

/* A file that cannot be opened is no recent file, also if it was one or the dialog for files makes it one. */
static void
test_refused (void)
{
  g_autoptr (GFile) file = write_file ("refused.xml", "<graph xmlns='urn:gradloom:graph' version='1'/>");
  g_autofree char *uri = g_file_get_uri (file);
  const GtkRecentData chosen = { .mime_type = (char *)"text/xml",
                                 .app_name = (char *)g_get_application_name (),
                                 .app_exec = (char *)"gradloom-studio %u" };
  StudioWindow *window = studio_window_new (application);
  g_autoptr (GFile) broken = write_file ("broken.xml", "<graph");
  g_autofree char *broken_uri = g_file_get_uri (broken);

  studio_files_remember (g_file_peek_path (file));
  WAIT_FOR (is_recent (uri));
  studio_files_refuse (g_file_peek_path (file));
  g_assert_false (is_recent (uri));
  gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri, &chosen);
  g_assert_false (is_recent (uri));
  studio_files_remember (g_file_peek_path (file));
  WAIT_FOR (is_recent (uri));

  gtk_window_present (GTK_WINDOW (window));
  gtk_recent_manager_add_full (gtk_recent_manager_get_default (), broken_uri, &chosen);
  g_assert_true (is_recent (broken_uri));
  g_assert_true (drop (window, broken));
  WAIT_FOR (find_words (GTK_WIDGET (window), "“broken.xml” cannot be opened") != NULL);
  g_assert_false (is_recent (broken_uri));
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
wait_ms (guint ms)
{
  const gint64 end = g_get_monotonic_time () + ms * G_TIME_SPAN_MILLISECOND;

  while (g_get_monotonic_time () < end)
    g_main_context_iteration (NULL, FALSE);
}

/* A toast that follows another closely may be dismissed before it has appeared, which used to crash. Waiting toasts are
 * not lost, and one of high priority comes first. */
static void
test_toasts (void)
{
  GtkWidget *window = adw_window_new (), *overlay = adw_toast_overlay_new ();
  AdwToast *urgent = adw_toast_new ("urgent"), *toast[3];

  adw_toast_overlay_set_child (ADW_TOAST_OVERLAY (overlay), gtk_label_new ("below"));
  adw_window_set_content (ADW_WINDOW (window), overlay);
  gtk_window_present (GTK_WINDOW (window));
  WAIT_FOR (gtk_widget_get_mapped (overlay));
  adw_toast_set_priority (urgent, ADW_TOAST_PRIORITY_HIGH);
  for (guint i = 0; i < G_N_ELEMENTS (toast); i++)
    {
      g_autofree char *text = g_strdup_printf ("toast %u", i);

      toast[i] = g_object_ref (adw_toast_new (text));
      studio_toasts_add (overlay, g_object_ref (toast[i]));
    }
  studio_toast_dismiss (toast[0]);
  WAIT_FOR (find_words (overlay, "toast 1") != NULL);
  studio_toast_dismiss (toast[1]);
  studio_toasts_add (overlay, urgent);
  WAIT_FOR (find_words (overlay, "urgent") != NULL);
  g_assert_null (find_words (overlay, "toast 2"));
  studio_toast_dismiss (toast[2]);
  studio_toast_dismiss (urgent);
  wait_ms (900);
  g_assert_null (find_words (overlay, "toast 2"));
  gtk_window_destroy (GTK_WINDOW (window));
  for (guint i = 0; i < G_N_ELEMENTS (toast); i++)
    g_object_unref (toast[i]);
}

static void
count_cb (gpointer count)
{
  ++*(guint *)count;
}

/* A sentence that is shown, or waits, is not said again. */
static void
test_said_once (void)
{
  GtkWidget *window = adw_window_new (), *overlay = adw_toast_overlay_new ();
  guint n = 0;

  adw_window_set_content (ADW_WINDOW (window), overlay);
  gtk_window_present (GTK_WINDOW (window));
  WAIT_FOR (gtk_widget_get_mapped (overlay));
  studio_toasts_set_said_func (overlay, count_cb, &n);
  for (guint i = 0; i < 2; i++)
    {
      studio_toasts_say (overlay, "Wait.");
      studio_toasts_say (overlay, "Wait longer.");
    }
  g_assert_cmpuint (n, ==, 2);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* TRUE if a row of the list with this text is visible. */
static gboolean
row_is_seen (const char *words)
{
  GtkWidget *label = find_words (GTK_WIDGET (find_dialog ()), words);

  return label != NULL && gtk_widget_get_child_visible (gtk_widget_get_ancestor (label, GTK_TYPE_LIST_BOX_ROW))
         && gtk_widget_get_visible (gtk_widget_get_parent (gtk_widget_get_ancestor (label, GTK_TYPE_LIST_BOX)));
}

static GtkWidget *
find_entry (GtkWidget *widget)
{
  GtkWidget *found = GTK_IS_SEARCH_ENTRY (widget) ? widget : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_entry (child);
  return found;
}

/* Every data set has a row and can be searched for; closing the window during the requests is safe. */
static void
test_list (void)
{
  StudioWindow *window = studio_window_new (application);

  gtk_window_present (GTK_WINDOW (window));
  for (guint round = 0; round < 2; round++)
    {
      gtk_widget_activate_action (GTK_WIDGET (window), "win.new-from-data", NULL);
      for (const LoomDatasetClass *const *c = loom_dataset_classes (); *c != NULL; c++)
        g_assert_nonnull (find_words (GTK_WIDGET (find_dialog ()), loom_dataset_class_title (*c)));
      if (round == 1)
        {
          WAIT_FOR (find_words (GTK_WIDGET (find_dialog ()), "1,000 to train on") != NULL);
          g_assert_true (row_is_seen ("Fashion-MNIST") && row_is_seen ("Two spirals") && row_is_seen ("CSV table"));
          gtk_editable_set_text (GTK_EDITABLE (find_entry (GTK_WIDGET (find_dialog ()))), "spir");
          WAIT_FOR (!row_is_seen ("Fashion-MNIST"));
          g_assert_true (row_is_seen ("Two spirals") && !row_is_seen ("CSV table"));
        }
      gtk_window_destroy (GTK_WINDOW (find_dialog ()));
    }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* The search field takes Escape: the first one empties it, the next one closes the window. */
static void
test_escape (void)
{
  StudioWindow *window = studio_window_new (application);
  GtkWidget *entry;

  gtk_window_present (GTK_WINDOW (window));
  gtk_widget_activate_action (GTK_WIDGET (window), "win.new-from-data", NULL);
  entry = find_entry (GTK_WIDGET (find_dialog ()));
  gtk_editable_set_text (GTK_EDITABLE (entry), "spir");
  g_signal_emit_by_name (entry, "stop-search");
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "");
  g_assert_nonnull (find_dialog ());
  g_signal_emit_by_name (entry, "stop-search");
  WAIT_FOR (find_dialog () == NULL);
  gtk_window_destroy (GTK_WINDOW (window));
}

TEST_FILE (argc, argv)
{
  start_test_init (&argc, &argv, "org.gradloom.TestStart");
  g_test_add_func ("/start/table", test_table);
  g_test_add_func ("/start/parquet", test_parquet);
  g_test_add_func ("/start/escape", test_escape);
  g_test_add_func ("/start/no-table", test_no_table);
  g_test_add_func ("/start/other-files", test_other_files);
  g_test_add_func ("/start/weights", test_weights);
  g_test_add_func ("/start/no-weights", test_no_weights);
  g_test_add_func ("/start/filters", test_filters);
  g_test_add_func ("/start/kinds-of-files", test_kinds_of_files);
  g_test_add_func ("/start/recent", test_recent);
  g_test_add_func ("/start/recent-gone", test_recent_gone);
  g_test_add_func ("/start/moving", test_moving);
  g_test_add_func ("/start/moving-images", test_moving_images);
  g_test_add_func ("/start/closed-while-training", test_closed_while_training);
  g_test_add_func ("/start/refused", test_refused);
  g_test_add_func ("/start/list", test_list);
  g_test_add_func ("/start/toasts", test_toasts);
  g_test_add_func ("/start/said-once", test_said_once);
  return g_test_run ();
}
