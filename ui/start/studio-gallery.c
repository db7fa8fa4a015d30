/* Implements studio-gallery.h.
 *
 * Examples are found by listing the resources below examples/, so a new graph needs only a line in
 * gradloom.gresource.xml. */
#include "ui/start/studio-gallery.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

#include "engine/lesson/loom-lecture.h"
#include "ui/layout/studio-layout.h"
#include "ui/start/studio-files.h"
#include "ui/start/studio-graph-picture.h"
#include "ui/start/studio-task-thumbnail.h"
#include "ui/scene/studio-allowed-paths.h"
#include "ui/scene/studio-partitions.h"

#define EXAMPLES "/org/gradloom/Studio/examples/"
#define WIDTH    200
#define HEIGHT   112
#define MAX_FILE (4 * 1024 * 1024) /* a larger file gets no thumbnail */

typedef struct
{
  GtkWidget *picture;
  GBytes *text; /* of an example */
  char *path;   /* of a recent file */
  gboolean shows_task;
} Entry;

struct _StudioGallery
{
  GtkWidget parent_instance;
  GtkWidget *box;
  GPtrArray *entries;
  char *recent;     /* the recent files that are shown, one a line; NULL: nothing is shown yet */
  guint next, idle; /* the entry to draw next */
};

G_DEFINE_FINAL_TYPE (StudioGallery, studio_gallery, GTK_TYPE_WIDGET)

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  g_clear_object (&entry->picture);
  g_clear_pointer (&entry->text, g_bytes_unref);
  g_free (entry->path);
  g_free (entry);
}

/* ---- thumbnails -------------------------------------------------------------------- */

static LoomGraph *
read_graph (const Entry *entry)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  gsize length = 0;
  const char *text = entry->text != NULL ? g_bytes_get_data (entry->text, &length) : NULL;

  return text != NULL ? loom_graph_read_data (text, length, "example", faults, NULL)
                      : loom_graph_read_file (entry->path, faults, NULL);
}

/* The first tensor that is watched as more than a number; NULL: none. */
static const char *
find_map (const LoomElement *root)
{
  const LoomElement *view = loom_element_find (root, LOOM_TAG_VIEW);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *e = loom_element_child (view, i);

      if (loom_element_tag (e) == LOOM_TAG_PIN && g_strcmp0 (loom_element_get (e, "kind"), "scalar") != 0)
        return loom_element_get (e, "tensor");
    }
  return NULL;
}

static void
draw_entry (StudioGallery *self, const Entry *entry)
{
  g_autoptr (LoomGraph) graph = read_graph (entry);
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  const int scale = gtk_widget_get_scale_factor (GTK_WIDGET (self));

  if (graph == NULL)
    return;
  g_autofree char *own = entry->path != NULL ? g_path_get_dirname (entry->path) : NULL;
  if (own != NULL)
    loom_graph_set_guard (graph, own, studio_agreed_has);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  StudioScene *scene = studio_scene_new (graph, loom_graph_root (graph), "", net, NULL, NULL, NULL);
  studio_scene_add_shards (scene, graph, net);
  studio_layout_fill (scene);
  g_autoptr (GdkTexture) texture = studio_graph_picture_new (scene, WIDTH * scale, HEIGHT * scale, dark);
  if (texture != NULL)
    gtk_picture_set_paintable (GTK_PICTURE (entry->picture), GDK_PAINTABLE (texture));
  studio_scene_free (scene);
  if (entry->shows_task)
    studio_task_thumbnail_show (GTK_PICTURE (entry->picture), graph, net, find_map (loom_graph_root (graph)),
                                WIDTH * scale, HEIGHT * scale, dark);
}

static gboolean
draw_cb (gpointer data)
{
  StudioGallery *self = data;

  if (self->next < self->entries->len)
    draw_entry (self, self->entries->pdata[self->next++]);
  if (self->next < self->entries->len)
    return G_SOURCE_CONTINUE;
  self->idle = 0;
  return G_SOURCE_REMOVE;
}

static void
redraw (StudioGallery *self)
{
  self->next = 0;
  if (self->idle == 0 && gtk_widget_get_mapped (GTK_WIDGET (self)))
    self->idle = g_idle_add_full (G_PRIORITY_LOW, draw_cb, self, NULL);
}

/* ---- entries ----------------------------------------------------------------------- */

static GtkWidget *
append_section (StudioGallery *self, const char *title)
{
  GtkWidget *label = gtk_label_new (title), *flow = gtk_flow_box_new ();

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (flow), 8);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (flow), 6);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (flow), 6);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (flow), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (flow), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_box_append (GTK_BOX (self->box), label);
  gtk_box_append (GTK_BOX (self->box), flow);
  return flow;
}

/* The pointer or the focus has come. */
static void
enter_cb (Entry *entry)
{
  studio_task_thumbnail_play (GTK_PICTURE (entry->picture));
}

static void
append_card (StudioGallery *self, GtkWidget *flow, const char *title, const char *tip, const char *action,
             const char *target, Entry *entry)
{
  GtkWidget *button = gtk_button_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6),
            *label = gtk_label_new (title);

  entry->picture = g_object_ref_sink (gtk_picture_new ());
  gtk_widget_set_size_request (entry->picture, WIDTH, HEIGHT);
  gtk_accessible_update_state (GTK_ACCESSIBLE (entry->picture), GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_justify (GTK_LABEL (label), GTK_JUSTIFY_CENTER);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 22);
  gtk_box_append (GTK_BOX (box), entry->picture);
  gtk_box_append (GTK_BOX (box), label);
  gtk_button_set_child (GTK_BUTTON (button), box);
  gtk_widget_add_css_class (button, "gallery-card");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", target);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  GtkEventController *motion = gtk_event_controller_motion_new (), *focus = gtk_event_controller_focus_new ();
  g_signal_connect_swapped (motion, "enter", G_CALLBACK (enter_cb), entry);
  g_signal_connect_swapped (focus, "enter", G_CALLBACK (enter_cb), entry);
  gtk_widget_add_controller (button, motion);
  gtk_widget_add_controller (button, focus);
  gtk_flow_box_insert (GTK_FLOW_BOX (flow), button, -1);
  gtk_widget_set_focusable (gtk_widget_get_parent (button), FALSE);
  g_ptr_array_add (self->entries, entry);
}

/* The first sentence of a graph's description, without marks of emphasis. (transfer full) */
static char *
first_sentence (const LoomGraph *graph)
{
  LoomElement *doc = loom_element_find (loom_graph_root (graph), LOOM_TAG_DOC);
  const char *text = doc != NULL && loom_element_text (doc) != NULL ? loom_element_text (doc) : "";
  gsize length = 0;

  while (text[length] != '\0' && !(text[length] == '.' && g_ascii_isspace (text[length + 1])))
    length++;
  char *sentence = g_strndup (text, length + (text[length] == '.' ? 1 : 0)), *to = sentence;
  for (const char *from = sentence; *from != '\0'; from++)
    if (*from != '*' && *from != '`')
      *to++ = *from == '\n' ? ' ' : *from;
  *to = '\0';
  return sentence;
}

/* What one goes to an example for. */
typedef enum
{
  GROUP_LEARN,    /* data from which it learns */
  GROUP_BUILD,    /* numbers that a graph computes, without data */
  GROUP_INSIDE,   /* maps of tensors under their cards */
  GROUP_MACHINES, /* several ranks or devices */
  GROUP_MODELS,
  N_GROUPS
} Group;

typedef struct
{
  char *name; /* "lessons/spirals" */
  char *title, *tip;
  Group group;
  gboolean teaches; /* has a lesson */
  guint order;      /* the number of a lesson, else the number of nodes, so that small graphs come first */
  GBytes *text;
} Example;

static void
example_free (gpointer data)
{
  Example *example = data;

  g_free (example->name);
  g_free (example->title);
  g_free (example->tip);
  g_bytes_unref (example->text);
  g_free (example);
}

/* Whether an element or one below it is of this tag and, if name is not NULL, has that attribute. */
static gboolean
has_element (const LoomElement *element, LoomTag tag, const char *name)
{
  if (loom_element_tag (element) == tag && (name == NULL || loom_element_get (element, name) != NULL))
    return TRUE;
  for (guint i = 0; i < loom_element_n_children (element); i++)
    if (has_element (loom_element_child (element, i), tag, name))
      return TRUE;
  return FALSE;
}

static gboolean
has_data (const LoomElement *root)
{
  for (guint i = 0; i < loom_element_n_children (root); i++)
    if (loom_op_has_role (loom_element_child (root, i), LOOM_ROLE_DATASET))
      return TRUE;
  return FALSE;
}

static Group
group_of (const char *folder, const LoomElement *root)
{
  return !g_str_equal (folder, "lessons/")                                                            ? GROUP_MODELS
         : has_element (root, LOOM_TAG_PARALLEL, NULL) || has_element (root, LOOM_TAG_NODE, "device") ? GROUP_MACHINES
         : find_map (root) != NULL                                                                    ? GROUP_INSIDE
         : has_data (root)                                                                            ? GROUP_LEARN
                                                                                                      : GROUP_BUILD;
}

static void
find_examples (const char *folder, GPtrArray *to)
{
  g_autofree char *path = g_strconcat (EXAMPLES, folder, NULL);
  g_auto (GStrv) names = g_resources_enumerate_children (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *whole = g_strconcat (path, names[i], NULL);
      g_autoptr (GBytes) bytes = g_resources_lookup_data (whole, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
      const Entry entry = { .text = bytes };
      g_autoptr (LoomGraph) graph = bytes != NULL ? read_graph (&entry) : NULL;

      if (graph == NULL || !g_str_has_suffix (names[i], ".xml"))
        continue;
      LoomElement *lesson = loom_element_find (loom_graph_root (graph), LOOM_TAG_LESSON);
      const char *title
          = loom_element_get (lesson != NULL ? lesson : loom_graph_root (graph), lesson != NULL ? "title" : "name");
      Example *example = g_new0 (Example, 1);
      g_autofree char *bare = g_strndup (names[i], strlen (names[i]) - strlen (".xml"));
      example->name = g_strconcat (folder, bare, NULL);
      example->title = g_strdup (title != NULL ? title : bare);
      example->tip = first_sentence (graph);
      const char *number = lesson != NULL ? loom_element_get (lesson, "number") : NULL;
      example->group = group_of (folder, loom_graph_root (graph));
      example->teaches = lesson != NULL;
      example->order = number != NULL ? (guint)g_ascii_strtoull (number, NULL, 10)
                                      : loom_element_n_children (loom_graph_root (graph));
      example->text = g_steal_pointer (&bytes);
      g_ptr_array_add (to, example);
    }
}

static int
by_order (gconstpointer a, gconstpointer b)
{
  const Example *p = *(Example *const *)a, *q = *(Example *const *)b;

  /* Lessons come before the other graphs of their group. */
  if (p->teaches != q->teaches)
    return q->teaches - p->teaches;
  return p->order != q->order ? (p->order < q->order ? -1 : 1) : strcmp (p->name, q->name);
}

static void
append_examples (StudioGallery *self, const char *title, const GPtrArray *examples, Group group)
{
  GtkWidget *flow = NULL;

  for (guint i = 0; i < examples->len; i++)
    {
      const Example *example = examples->pdata[i];

      if (example->group != group)
        continue;
      Entry *entry = g_new0 (Entry, 1);
      entry->text = g_bytes_ref (example->text);
      entry->shows_task = TRUE;
      if (flow == NULL)
        flow = append_section (self, title);
      append_card (self, flow, example->title, example->tip, "win.example", example->name, entry);
    }
}

/* A lecture has the picture of its first graph. */
static void
append_lectures (StudioGallery *self)
{
  g_auto (GStrv) names = g_resources_enumerate_children (EXAMPLES, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  GtkWidget *flow = NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *path = g_strconcat (EXAMPLES, names[i], NULL);
      g_autoptr (GBytes) bytes = g_str_has_suffix (names[i], LOOM_LECTURE_SUFFIX)
                                     ? g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL)
                                     : NULL;
      g_autoptr (LoomLecture) lecture = bytes != NULL ? loom_lecture_read_data (g_bytes_get_data (bytes, NULL),
                                                                                g_bytes_get_size (bytes), path, NULL)
                                                      : NULL;

      if (lecture == NULL)
        continue;
      const LoomLectureStop *first = lecture->stops->pdata[0];
      g_autofree char *graph = g_strconcat (EXAMPLES, first->path, NULL);
      g_autofree char *bare = g_strndup (names[i], strlen (names[i]) - strlen (LOOM_LECTURE_SUFFIX));
      g_autofree char *tip = g_strdup_printf (
          ngettext ("%u stop: a graph", "%u stops, each a graph in a tab", lecture->stops->len), lecture->stops->len);
      Entry *entry = g_new0 (Entry, 1);
      entry->text = g_resources_lookup_data (graph, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
      if (flow == NULL)
        flow = append_section (self, _ ("Lectures"));
      append_card (self, flow, lecture->title, tip, "win.lecture", bare, entry);
    }
}

/* The path of a recent file that can be shown; NULL: it is gone, or too large. (transfer full) */
static char *
path_of (GtkRecentInfo *info)
{
  g_autoptr (GFile) file = g_file_new_for_uri (gtk_recent_info_get_uri (info));
  g_autofree char *path = g_file_get_path (file);
  GStatBuf status;

  return path != NULL && g_stat (path, &status) == 0 && status.st_size <= MAX_FILE ? g_steal_pointer (&path) : NULL;
}

/* (transfer full) */
static char *
list_recent (void)
{
  GList *items = studio_files_recent ();
  GString *paths = g_string_new (NULL);

  for (GList *l = items; l != NULL; l = l->next)
    {
      g_autofree char *path = path_of (l->data);

      if (path != NULL)
        g_string_append_printf (paths, "%s\n", path);
    }
  g_list_free_full (items, (GDestroyNotify)gtk_recent_info_unref);
  return g_string_free (paths, FALSE);
}

static void
append_recent (StudioGallery *self)
{
  GList *items = studio_files_recent ();
  GtkWidget *flow = NULL;

  for (GList *l = items; l != NULL; l = l->next)
    {
      g_autofree char *path = path_of (l->data);

      if (path == NULL)
        continue;
      Entry *entry = g_new0 (Entry, 1);
      entry->path = g_steal_pointer (&path);
      if (flow == NULL)
        flow = append_section (self, _ ("Recent"));
      append_card (self, flow, gtk_recent_info_get_display_name (l->data), entry->path, "win.open-recent",
                   gtk_recent_info_get_uri (l->data), entry);
    }
  g_list_free_full (items, (GDestroyNotify)gtk_recent_info_unref);
}

static void
fill (StudioGallery *self)
{
  static const char *const titles[N_GROUPS] = { [GROUP_LEARN] = N_ ("See it learn"),
                                                [GROUP_BUILD] = N_ ("Build"),
                                                [GROUP_INSIDE] = N_ ("Inside"),
                                                [GROUP_MACHINES] = N_ ("Many machines"),
                                                [GROUP_MODELS] = N_ ("Ready to train") };
  g_autoptr (GPtrArray) examples = g_ptr_array_new_with_free_func (example_free);

  find_examples ("lessons/", examples);
  find_examples ("models/", examples);
  g_ptr_array_sort (examples, by_order);
  append_recent (self);
  for (Group group = 0; group < N_GROUPS; group++)
    {
      if (group == GROUP_MODELS)
        append_lectures (self);
      append_examples (self, _ (titles[group]), examples, group);
    }
}

/* Fills the gallery, again if a recent file has come or gone. */
static void
refresh (StudioGallery *self)
{
  g_autofree char *recent = NULL;
  GtkWidget *child;

  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    return;
  recent = list_recent ();
  if (g_strcmp0 (recent, self->recent) != 0)
    {
      while ((child = gtk_widget_get_first_child (self->box)) != NULL)
        gtk_box_remove (GTK_BOX (self->box), child);
      g_ptr_array_set_size (self->entries, 0);
      self->next = 0;
      g_free (self->recent);
      self->recent = g_steal_pointer (&recent);
      fill (self);
    }
  if (self->next < self->entries->len)
    redraw (self);
}

/* ---- class ------------------------------------------------------------------------- */

/* Files are read only when the page is first shown. */
static void
studio_gallery_map (GtkWidget *widget)
{
  StudioGallery *self = STUDIO_GALLERY (widget);

  GTK_WIDGET_CLASS (studio_gallery_parent_class)->map (widget);
  refresh (self);
}

static void
studio_gallery_unmap (GtkWidget *widget)
{
  g_clear_handle_id (&STUDIO_GALLERY (widget)->idle, g_source_remove);
  GTK_WIDGET_CLASS (studio_gallery_parent_class)->unmap (widget);
}

static void
studio_gallery_dispose (GObject *object)
{
  StudioGallery *self = STUDIO_GALLERY (object);

  g_clear_handle_id (&self->idle, g_source_remove);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_pointer (&self->entries, g_ptr_array_unref);
  g_clear_pointer (&self->recent, g_free);
  G_OBJECT_CLASS (studio_gallery_parent_class)->dispose (object);
}

static void
studio_gallery_class_init (StudioGalleryClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_gallery_dispose;
  widget_class->map = studio_gallery_map;
  widget_class->unmap = studio_gallery_unmap;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "gallery");
}

static void
studio_gallery_init (StudioGallery *self)
{
  self->entries = g_ptr_array_new_with_free_func (entry_free);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (redraw), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (gtk_recent_manager_get_default (), "changed", G_CALLBACK (refresh), self, G_CONNECT_SWAPPED);
}
