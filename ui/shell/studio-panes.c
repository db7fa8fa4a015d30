/* The widget with content and two side panes: folding, drawers, tabs, focus and layout. */
#include "ui/shell/studio-panes.h"

#include <adwaita.h>

#include "ui/charts/studio-text-scale.h"

#define EM_PIXELS   (40.0 / 3) /* of the default 10 pt */
#define DURATION_MS 200

typedef struct
{
  GtkWidget *owner, *box, *switcher, *stack;
  GtkWidget *tabs; /* the scrolled window of the switcher */
  guint n_kept;    /* permanent pages, whose tabs always fit */
  gboolean open;   /* in a wide window */
  gboolean drawn;  /* as a drawer */
  double shown;
  AdwAnimation *animation;
} Pane;

struct _StudioPanes
{
  GtkWidget parent_instance;
  GtkWidget *content, *scrim;
  Pane pane[N_PANES];
  StudioSizeClass room;
  gboolean narrow;
  guint changed_idle;        /* the idle source that emits "changed" */
  gulong focus_id;           /* on the window */
  GtkWidget *previous_focus; /* weak: had the focus before a drawer opened */
};

static void buildable_init (GtkBuildableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (StudioPanes, studio_panes, GTK_TYPE_WIDGET,
                               G_IMPLEMENT_INTERFACE (GTK_TYPE_BUILDABLE, buildable_init))

enum
{
  CHANGED,
  WANTED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static double
em_of (StudioPanes *self)
{
  return EM_PIXELS * studio_text_scale (GTK_WIDGET (self));
}

static gboolean
is_wanted (StudioPanes *self, int side)
{
  Pane *pane = &self->pane[side];
  return gtk_widget_get_visible (pane->box) && (self->narrow ? pane->drawn : pane->open);
}

static gboolean
has_focus_in (StudioPanes *self, GtkWidget *widget)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  return focus != NULL && (focus == widget || gtk_widget_is_ancestor (focus, widget));
}

/* ---- folding ---------------------------------------------------------------------------- */

static void
shown_cb (double value, gpointer data)
{
  Pane *pane = data;
  pane->shown = value;
  gtk_widget_queue_allocate (pane->owner);
}

static void
start_animation (StudioPanes *self, int side)
{
  Pane *pane = &self->pane[side];
  double target = is_wanted (self, side) ? 1 : 0, from = pane->shown;
  adw_animation_reset (pane->animation);
  adw_timed_animation_set_value_from (ADW_TIMED_ANIMATION (pane->animation), from);
  adw_timed_animation_set_value_to (ADW_TIMED_ANIMATION (pane->animation), target);
  adw_animation_play (pane->animation);
}

/* Folds or unfolds without animation, during an allocation or if the pane is unavailable. */
static void
jump (StudioPanes *self, int side)
{
  adw_animation_pause (self->pane[side].animation);
  self->pane[side].shown = is_wanted (self, side) ? 1 : 0;
}

static gboolean
changed_idle_cb (gpointer data)
{
  StudioPanes *self = data;
  self->changed_idle = 0;
  g_signal_emit (self, signals[CHANGED], 0);
  return G_SOURCE_REMOVE;
}

/* Emits "changed" from an idle, because handlers may request another layout, which is not allowed during an allocation.
 */
static void
queue_changed (StudioPanes *self)
{
  if (self->changed_idle == 0)
    self->changed_idle = g_idle_add (changed_idle_cb, self);
}

/* A pane that is being folded must not keep the focus. */
static void
give_focus_back (StudioPanes *self, int side)
{
  GtkWidget *previous_focus = self->previous_focus;
  if (!has_focus_in (self, self->pane[side].box))
    return;
  g_clear_weak_pointer (&self->previous_focus);
  if ((previous_focus == NULL || !gtk_widget_get_mapped (previous_focus) || !gtk_widget_grab_focus (previous_focus))
      && self->content != NULL)
    gtk_widget_child_focus (self->content, GTK_DIR_TAB_FORWARD);
}

static void
update (StudioPanes *self, int side)
{
  Pane *pane = &self->pane[side];
  if (is_wanted (self, side))
    gtk_widget_set_child_visible (pane->box, TRUE);
  else
    give_focus_back (self, side);
  start_animation (self, side);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

/* Moves the focus into a drawer, which covers everything else. */
static void
enter_drawer (StudioPanes *self, int side)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  if (root == NULL || has_focus_in (self, self->pane[side].box))
    return;
  if (has_focus_in (self, self->content))
    g_set_weak_pointer (&self->previous_focus, gtk_root_get_focus (root));
  gtk_widget_child_focus (self->pane[side].stack, GTK_DIR_TAB_FORWARD);
}

void
studio_panes_set_open (StudioPanes *self, StudioPaneSide side, gboolean open)
{
  Pane *pane = &self->pane[side], *other = &self->pane[side == STUDIO_PANE_START ? STUDIO_PANE_END : STUDIO_PANE_START];
  gboolean *state = self->narrow ? &pane->drawn : &pane->open;
  if (*state == open)
    return;
  *state = open;
  if (self->narrow && open && other->drawn)
    {
      other->drawn = FALSE;
      start_animation (self, side == STUDIO_PANE_START ? STUDIO_PANE_END : STUDIO_PANE_START);
    }
  update (self, side);
  if (self->narrow && open)
    enter_drawer (self, side);
  queue_changed (self);
}

gboolean
studio_panes_get_open (StudioPanes *self, StudioPaneSide side)
{
  return self->narrow ? self->pane[side].drawn : self->pane[side].open;
}

gboolean
studio_panes_get_kept_open (StudioPanes *self, StudioPaneSide side)
{
  return self->pane[side].open;
}

static void
close_drawers (StudioPanes *self)
{
  for (int i = 0; i < N_PANES && self->narrow; i++)
    studio_panes_set_open (self, i, FALSE);
}

void
studio_panes_set_available (StudioPanes *self, StudioPaneSide side, gboolean available)
{
  if (gtk_widget_get_visible (self->pane[side].box) == available)
    return;
  if (!available)
    give_focus_back (self, side);
  gtk_widget_set_visible (self->pane[side].box, available);
  jump (self, side);
  queue_changed (self);
}

gboolean
studio_panes_get_available (StudioPanes *self, StudioPaneSide side)
{
  return gtk_widget_get_visible (self->pane[side].box);
}

void
studio_panes_want (StudioPanes *self)
{
  if (!studio_panes_get_available (self, STUDIO_PANE_START))
    g_signal_emit (self, signals[WANTED], 0);
}

StudioSizeClass
studio_panes_get_size_class (StudioPanes *self)
{
  return self->room;
}

/* ---- drawers ------------------------------------------------------------------------------ */

static void
focus_cb (StudioPanes *self)
{
  if (self->narrow && self->content != NULL && has_focus_in (self, self->content))
    close_drawers (self);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioPanes *self)
{
  if (key != GDK_KEY_Escape || !self->narrow || (!self->pane[0].drawn && !self->pane[1].drawn))
    return GDK_EVENT_PROPAGATE;
  close_drawers (self);
  return GDK_EVENT_STOP;
}

static void
scrim_pressed_cb (GtkGestureClick *click, int n, double x, double y, StudioPanes *self)
{
  close_drawers (self);
}

static void
add_scrim (StudioPanes *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *drag = gtk_drop_controller_motion_new ();
  self->scrim = adw_bin_new ();
  gtk_widget_add_css_class (self->scrim, "scrim");
  g_signal_connect (click, "pressed", G_CALLBACK (scrim_pressed_cb), self);
  gtk_widget_add_controller (self->scrim, GTK_EVENT_CONTROLLER (click));
  /* A layer dragged out of a drawer must reach the canvas below it. */
  g_signal_connect_swapped (drag, "enter", G_CALLBACK (close_drawers), self);
  gtk_widget_add_controller (self->scrim, drag);
  gtk_widget_set_parent (self->scrim, GTK_WIDGET (self));
  gtk_widget_set_child_visible (self->scrim, FALSE);
}

/* ---- pages -------------------------------------------------------------------------------- */

static void
update_switcher (Pane *pane)
{
  g_autoptr (GtkSelectionModel) pages = gtk_stack_get_pages (GTK_STACK (pane->stack));
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (pages));
  gtk_widget_set_visible (pane->tabs, n > 1);
  /* Temporary pages are added to these; with large text the tabs of all pages are wider than a small window. */
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (pane->tabs),
                                  n > pane->n_kept ? GTK_POLICY_EXTERNAL : GTK_POLICY_NEVER, GTK_POLICY_NEVER);
}

void
studio_panes_add_page (StudioPanes *self, StudioPaneSide side, GtkWidget *page, const char *name, const char *title)
{
  gtk_stack_add_titled (GTK_STACK (self->pane[side].stack), page, name, title);
  update_switcher (&self->pane[side]);
}

static Pane *
pane_of_page (StudioPanes *self, const char *name, GtkWidget **page)
{
  for (int i = 0; i < N_PANES; i++)
    if ((*page = gtk_stack_get_child_by_name (GTK_STACK (self->pane[i].stack), name)) != NULL)
      return &self->pane[i];
  return NULL;
}

void
studio_panes_remove_page (StudioPanes *self, const char *name)
{
  GtkWidget *page;
  Pane *pane = pane_of_page (self, name, &page);
  if (pane == NULL)
    return;
  if (has_focus_in (self, page))
    give_focus_back (self, (int)(pane - self->pane));
  const gboolean was_seen = gtk_stack_get_visible_child (GTK_STACK (pane->stack)) == page;
  gtk_stack_remove (GTK_STACK (pane->stack), page);
  /* A GtkStack whose visible page is removed shows none. */
  GtkWidget *first = gtk_widget_get_first_child (pane->stack);
  if (was_seen && first != NULL)
    gtk_stack_set_visible_child (GTK_STACK (pane->stack), first);
  update_switcher (pane);
}

void
studio_panes_show_page (StudioPanes *self, const char *name)
{
  GtkWidget *page;
  Pane *pane = pane_of_page (self, name, &page);
  g_return_if_fail (pane != NULL);
  gtk_stack_set_visible_child (GTK_STACK (pane->stack), page);
  studio_panes_set_open (self, (StudioPaneSide)(pane - self->pane), TRUE);
}

const char *
studio_panes_get_page (StudioPanes *self, StudioPaneSide side)
{
  return gtk_stack_get_visible_child_name (GTK_STACK (self->pane[side].stack));
}

gboolean
studio_panes_is_page_visible (StudioPanes *self, const char *name)
{
  GtkWidget *page;
  Pane *pane = pane_of_page (self, name, &page);
  return pane != NULL && studio_panes_get_open (self, (StudioPaneSide)(pane - self->pane))
         && gtk_stack_get_visible_child (GTK_STACK (pane->stack)) == page;
}

GtkWidget *
studio_panes_get_pane (StudioPanes *self, StudioPaneSide side)
{
  return self->pane[side].box;
}

static void
set_content (StudioPanes *self, GtkWidget *content)
{
  g_clear_pointer (&self->content, gtk_widget_unparent);
  self->content = content;
  /* Below the shade and the drawers. */
  gtk_widget_insert_after (content, GTK_WIDGET (self), NULL);
}

/* ---- layout ------------------------------------------------------------------------------- */

static void
panes_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
               int *minimum_baseline, int *natural_baseline)
{
  StudioPanes *self = STUDIO_PANES (widget);
  gboolean across = orientation == GTK_ORIENTATION_HORIZONTAL;
  gtk_widget_measure (self->content, orientation, -1, minimum, natural, NULL, NULL);
  for (int i = 0; i < N_PANES; i++)
    {
      int least, wanted;
      gtk_widget_measure (self->pane[i].box, orientation, -1, &least, &wanted, NULL, NULL);
      /* A drawer higher than the window is clipped, so that it does not enlarge the window. */
      if (across || !self->narrow)
        *minimum = MAX (*minimum, least);
      *natural = across ? *natural + wanted : MAX (*natural, wanted);
    }
}

static void
allocate (StudioPanes *self, GtkWidget *child, PanesSpan span, int width, int height)
{
  gboolean mirrored = gtk_widget_get_direction (GTK_WIDGET (self)) == GTK_TEXT_DIR_RTL;
  int least;
  gtk_widget_measure (child, GTK_ORIENTATION_VERTICAL, span.width, &least, NULL, NULL, NULL);
  GtkAllocation area = { mirrored ? width - span.at - span.width : span.at, 0, span.width, MAX (height, least) };
  gtk_widget_size_allocate (child, &area, -1);
}

static void
panes_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  StudioPanes *self = STUDIO_PANES (widget);
  PanesPlaces places;
  PanesRequest request;
  double em = em_of (self);
  StudioSizeClass room = panes_size_class (width, em);
  if (room != self->room)
    {
      self->room = room;
      queue_changed (self);
    }
  if ((room != STUDIO_SIZE_CLASS_WIDE) != self->narrow)
    {
      self->narrow = !self->narrow;
      for (int i = 0; i < N_PANES; i++)
        {
          self->pane[i].drawn = FALSE;
          jump (self, i);
        }
    }
  for (int i = 0; i < N_PANES; i++)
    {
      gtk_widget_measure (self->pane[i].box, GTK_ORIENTATION_HORIZONTAL, -1, &request.least[i], &request.natural[i],
                          NULL, NULL);
      request.shown[i] = self->pane[i].shown;
    }
  panes_place (&places, &request, width, em);
  allocate (self, self->content, places.content, width, height);
  gtk_widget_set_child_visible (self->scrim, places.scrim > 0);
  gtk_widget_set_opacity (self->scrim, places.scrim);
  allocate (self, self->scrim, (PanesSpan){ 0, width }, width, height);
  for (int i = 0; i < N_PANES; i++)
    {
      GtkWidget *box = self->pane[i].box;
      if (places.narrow)
        gtk_widget_add_css_class (box, "drawer");
      else
        gtk_widget_remove_css_class (box, "drawer");
      gtk_widget_set_child_visible (box, request.shown[i] > 0);
      allocate (self, box, places.pane[i], width, height);
    }
}

/* ---- object ------------------------------------------------------------------------------- */

static void
panes_root (GtkWidget *widget)
{
  StudioPanes *self = STUDIO_PANES (widget);
  GTK_WIDGET_CLASS (studio_panes_parent_class)->root (widget);
  self->focus_id
      = g_signal_connect_swapped (gtk_widget_get_root (widget), "notify::focus-widget", G_CALLBACK (focus_cb), self);
}

static void
panes_unroot (GtkWidget *widget)
{
  StudioPanes *self = STUDIO_PANES (widget);
  g_clear_signal_handler (&self->focus_id, gtk_widget_get_root (widget));
  GTK_WIDGET_CLASS (studio_panes_parent_class)->unroot (widget);
}

static void
panes_dispose (GObject *object)
{
  StudioPanes *self = STUDIO_PANES (object);
  g_clear_handle_id (&self->changed_idle, g_source_remove);
  g_clear_weak_pointer (&self->previous_focus);
  g_clear_pointer (&self->content, gtk_widget_unparent);
  g_clear_pointer (&self->scrim, gtk_widget_unparent);
  for (int i = 0; i < N_PANES; i++)
    {
      g_clear_object (&self->pane[i].animation);
      g_clear_pointer (&self->pane[i].box, gtk_widget_unparent);
    }
  G_OBJECT_CLASS (studio_panes_parent_class)->dispose (object);
}

/* Adds the child of a template as the content. */
static void
add_child (GtkBuildable *buildable, GtkBuilder *builder, GObject *child, const char *type)
{
  set_content (STUDIO_PANES (buildable), GTK_WIDGET (child));
}

static void
buildable_init (GtkBuildableIface *iface)
{
  iface->add_child = add_child;
}

static void
studio_panes_class_init (StudioPanesClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = panes_dispose;
  widget_class->measure = panes_measure;
  widget_class->size_allocate = panes_size_allocate;
  widget_class->root = panes_root;
  widget_class->unroot = panes_unroot;
  gtk_widget_class_set_css_name (widget_class, "studiopanes");
  for (guint i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (((const char *const[]){ "changed", "wanted" })[i], STUDIO_TYPE_PANES, G_SIGNAL_RUN_LAST,
                               0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
add_pane (StudioPanes *self, int side)
{
  Pane *pane = &self->pane[side];
  pane->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  pane->stack = gtk_stack_new ();
  pane->switcher = gtk_stack_switcher_new ();
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (pane->switcher), GTK_STACK (pane->stack));
  gtk_stack_set_hhomogeneous (GTK_STACK (pane->stack), FALSE);
  gtk_stack_set_vhomogeneous (GTK_STACK (pane->stack), FALSE);
  gtk_widget_set_vexpand (pane->stack, TRUE);
  pane->tabs = gtk_scrolled_window_new ();
  pane->n_kept = side == STUDIO_PANE_START ? 3 : 2;
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (pane->tabs), pane->switcher);
  gtk_scrolled_window_set_propagate_natural_width (GTK_SCROLLED_WINDOW (pane->tabs), TRUE);
  update_switcher (pane);
  gtk_widget_add_css_class (pane->box, "pane");
  gtk_widget_add_css_class (pane->box, side == STUDIO_PANE_START ? "pane-left" : "pane-right");
  gtk_box_append (GTK_BOX (pane->box), pane->tabs);
  gtk_box_append (GTK_BOX (pane->box), pane->stack);
  gtk_widget_set_parent (pane->box, GTK_WIDGET (self));
  pane->owner = GTK_WIDGET (self);
  pane->open = TRUE;
  pane->shown = 1;
  pane->animation = adw_timed_animation_new (pane->owner, 0, 1, DURATION_MS,
                                             adw_callback_animation_target_new (shown_cb, pane, NULL));
}

static void
studio_panes_init (StudioPanes *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  add_scrim (self);
  for (int i = 0; i < N_PANES; i++)
    add_pane (self, i);
  /* In the capture phase, because the canvas under a drawer also handles Escape. */
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
