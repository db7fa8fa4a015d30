/* Implements page-dump.h. */
#include "ui/page/page-dump.h"

#include <math.h>

#include "ui/page/selected-node.h"
#include "ui/page/studio-dump.h"
#include "ui/scene/studio-format.h"

/* The middle of a wire, and the points of its route. */
static void
dump_wire (const PageDump *self, const StudioScene *scene, guint link)
{
  const StudioLink *l = &scene->link[link];
  g_autofree char *name = g_strdup_printf ("%s → %s", scene->item[l->from].path, scene->item[l->to].path);
  graphene_point_t at;
  graphene_rect_t rect;
  studio_canvas_get_wire_point (self->views->canvas, link, STUDIO_NO_ITEM, &at);
  graphene_rect_init (&rect, at.x, at.y, 0, 0);
  studio_dump_rect ("middle", name, GTK_WIDGET (self->views->canvas), &rect);
  for (guint k = 0; k < l->n_points; k++)
    {
      studio_canvas_get_wire_point (self->views->canvas, link, k, &at);
      graphene_rect_init (&rect, at.x, at.y, 0, 0);
      studio_dump_rect ("point", name, GTK_WIDGET (self->views->canvas), &rect);
    }
}

void
page_dump_cards (const PageDump *self)
{
  StudioScene *scene = studio_document_get_scene (self->views->document);
  GtkWidget *canvas = GTK_WIDGET (self->views->canvas);
  graphene_rect_t rect;
  graphene_point_t point;
  graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (canvas), (float)gtk_widget_get_height (canvas));
  studio_dump_rect ("canvas", "canvas", canvas, &rect);
  for (guint i = 0; scene != NULL && i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      if (!studio_canvas_get_card_rect (self->views->canvas, item->path, &rect))
        continue;
      studio_dump_rect ("card", item->path, canvas, &rect);
      if (item->fault != NULL)
        studio_dump_print ("geometry fault\t%s\t%s\n", item->path, item->fault);
      for (guint k = 0; k < item->n_inputs + item->n_outputs; k++)
        {
          gboolean output = k >= item->n_inputs;
          const char *port = output ? item->output[k - item->n_inputs].name : item->input[k].name;
          g_autofree char *name = g_strdup_printf ("%s.%s", item->path, port);
          if (!studio_canvas_get_port_point (self->views->canvas, item->path, output, port, &point))
            continue;
          graphene_rect_init (&rect, point.x, point.y, 0, 0);
          studio_dump_rect (output ? "output" : "input", name, canvas, &rect);
        }
    }
  for (guint i = 0; scene != NULL && i < scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i];
      studio_dump_print ("geometry wire\t%s\t%s\t%s\n", scene->item[link->from].path, scene->item[link->to].path,
                         link->label);
      dump_wire (self, scene, i);
    }
  studio_step_layer_print (self->views->step_layer, studio_dump_rect);
}

/* Each pin: tensor, kind, step, and its caption. */
static void
dump_pins (const PageDump *self)
{
  for (guint i = 0; i < studio_pins_n (self->views->pins); i++)
    {
      const char *tensor;
      StudioPinView *view = studio_pins_get (self->views->pins, i, &tensor);
      const PinValue *value = studio_pin_view_get_value (view);
      const char *words = studio_pin_view_get_cell_words (view);
      graphene_rect_t rect;

      graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (GTK_WIDGET (view)),
                          (float)gtk_widget_get_height (GTK_WIDGET (view)));
      if (gtk_widget_get_mapped (GTK_WIDGET (view)) && gtk_widget_get_child_visible (GTK_WIDGET (view)))
        {
          g_autofree char *figure
              = value != NULL && value->n_values == 1 ? studio_format_number (value->values[0]) : NULL;
          studio_dump_rect ("pin", tensor, GTK_WIDGET (view), &rect);
          studio_dump_rect ("pinview", studio_pin_view_get_caption (view), GTK_WIDGET (view), &rect);
          if (figure != NULL)
            studio_dump_rect ("figure", figure, GTK_WIDGET (view), &rect);
        }
      studio_dump_print ("geometry pinned\t%s\tkind=%s\tstep=%" G_GINT64_FORMAT "\tfocus=%d\tcaption=%s\tcell=%s\n",
                         tensor, studio_pin_view_get_kind (view)->name, value != NULL ? value->step : -1,
                         gtk_widget_has_focus (GTK_WIDGET (view)), studio_pin_view_get_caption (view),
                         words != NULL ? words : "-");
    }
}

void
page_dump_state (const PageDump *self)
{
  g_autofree char *evaluated = studio_evaluate_tab_dump (self->evaluate_tab);
  g_autofree char *runs = studio_runs_tab_dump (self->runs_tab);
  if (evaluated != NULL)
    studio_dump_print ("geometry evaluate\t%s\n", evaluated);
  if (runs != NULL)
    studio_dump_print ("geometry runs\t%s\n", runs);
  studio_dump_print ("geometry present\trecording=%s\trecorded=%.3f\tcaption=%s\n",
                     studio_recording_bar_get_state (self->recording_bar),
                     studio_recording_bar_get_seconds (self->recording_bar),
                     studio_recording_bar_get_caption (self->recording_bar));
  StudioRun *run = self->views->run;
  const char *tensor, *pid = studio_run_get_worker_pid (run);
  StudioPinView *picture = studio_pins_get_picture (self->views->pins, NULL, &tensor);
  const PinValue *map = picture != NULL ? studio_pin_view_get_value (picture) : NULL;
  double low = NAN, high = NAN;
  gsize n_bad;
  if (map != NULL)
    pin_value_range (map, &low, &high, &n_bad);
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self->views->canvas)));
  g_autofree char *selected = selected_node_dup_path (self->views->document);
  g_autofree char *folder = g_strdup (studio_run_get_folder (run));
  dump_pins (self);
  const char *message = studio_run_get_message (run);
  g_autofree char *sentence = g_strdelimit (g_strdup (message != NULL ? message : "-"), "\t\n", ' ');
  studio_dump_print ("geometry present\tslide=%d\tslides=%u\tspotlight=%d\ttool=%d\tstrokes=%u\tzoom=%.4f\n",
                     studio_slides_get_current (self->slides), studio_slides_n (self->slides),
                     studio_present_layer_get_spotlight (self->layer), studio_present_layer_get_tool (self->layer),
                     studio_present_layer_n_strokes (self->layer), studio_canvas_get_zoom (self->views->canvas));
  const char *sick = studio_health_watch_get_sick (self->views->health),
             *complaint = studio_health_watch_get_sentence (self->views->health);
  studio_dump_print ("geometry health\treports=%u\tback=%" G_GINT64_FORMAT "\tsick=%s\tcomplaint=%s\n",
                     studio_health_watch_n_reports (self->views->health),
                     studio_health_watch_get_back (self->views->health), sick != NULL ? sick : "-",
                     complaint != NULL ? complaint : "-");
  studio_dump_print (
      "geometry state\trun=%s\tstep=%" G_GINT64_FORMAT "\tloss=%.17g\tpoints=%zu\tprevious=%zu\tmarks=%u\tpid=%s"
      "\tpause_ms=%.1f\tmap_step=%" G_GINT64_FORMAT
      "\tmap_low=%g\tmap_high=%g\tchanges=%u\tfaults=%u\tfocus=%s\tselected=%s"
      "\tcheckpoint=%" G_GINT64_FORMAT "\tfolder=%s\tpresenting=%d\tdevice=%s\trank_memory=%d"
      "\tshown=%" G_GINT64_FORMAT "\ttravel_ms=%.1f\tsentence=%s",
      studio_run_state_word (studio_run_get_state (run)), studio_run_get_step (run), studio_run_get_loss (run),
      loom_series_length (studio_run_get_train (run, -1)),
      studio_run_get_previous (run, -1) != NULL ? loom_series_length (studio_run_get_previous (run, -1)) : 0,
      studio_run_get_curves (run)->marks->len, pid != NULL ? pid : "-", studio_run_get_pause_ms (run),
      map != NULL ? map->step : -1, low, high, studio_document_run_changes (self->views->document),
      loom_faults_count (studio_document_get_faults (self->views->document)),
      focus != NULL ? G_OBJECT_TYPE_NAME (focus) : "-", selected != NULL ? selected : "-",
      studio_run_get_checkpoint_step (run), folder != NULL ? folder : "-", self->is_presenting,
      studio_run_get_memory (run)->device, studio_run_get_rank_memory (run) != NULL, studio_run_get_shown_step (run),
      1000 * studio_run_get_travel_seconds (run), sentence);
}
