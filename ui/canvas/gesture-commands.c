#include "ui/canvas/gesture-commands.h"

#include <glib/gi18n.h>

#include "ui/canvas/canvas-fix.h"
#include "ui/canvas/quick-add.h"

static void
select_box (CanvasBoard *board, const StudioCommand *command)
{
  StudioScene *scene = canvas_board_scene (board);
  g_autoptr (GArray) serials = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; command->extend && i < studio_document_n_selected (board->document); i++)
    {
      guint64 serial = studio_document_get_selected (board->document, i);

      g_array_append_val (serials, serial);
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]);

      if (studio_rect_intersects (&card, &command->box)
          && !(command->extend && studio_document_is_selected (board->document, scene->item[i].serial)))
        g_array_append_val (serials, scene->item[i].serial);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *m = &scene->annotation[i];
      StudioAnnotation box
          = { .x = command->box.x, .y = command->box.y, .width = command->box.width, .height = command->box.height };

      /* Frames are large: only a box around all of one selects it. */
      if (studio_geometry_is_within (&box, m->x, m->y, m->width, m->height)
          && !(command->extend && studio_document_is_selected (board->document, m->serial)))
        g_array_append_val (serials, m->serial);
    }
  studio_document_select (board->document, (const guint64 *)(gpointer)serials->data, serials->len);
}

static void
connect_ports (CanvasBoard *board, const StudioCommand *command)
{
  StudioScene *scene = canvas_board_scene (board);
  g_autoptr (GError) error = NULL;
  guint64 from = scene->item[command->from].serial, to = scene->item[command->to].serial, made;
  const char *output = scene->item[command->from].output[command->output].name;
  const char *input = scene->item[command->to].input[command->input].name;

  made = command->link != 0 ? studio_document_reconnect (board->document, command->link, to, input, &error)
                            : studio_document_connect (board->document, from, output, to, input, &error);
  if (made == 0)
    canvas_board_say (board, error->message);
}

static void
cut_wires (CanvasBoard *board, const StudioCommand *command)
{
  StudioScene *scene = canvas_board_scene (board);
  g_autoptr (GArray) wires = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint l = 0; l < scene->n_links; l++)
    if (studio_geometry_crosses (scene, l, command->x, command->y, command->x + command->dx, command->y + command->dy))
      g_array_append_val (wires, scene->link[l].serial);
  if (wires->len > 0)
    studio_document_cut_wires (board->document, (const guint64 *)(gpointer)wires->data, wires->len);
}

static void
move_wires (CanvasBoard *board, const StudioCommand *command)
{
  const StudioItem *from = &canvas_board_scene (board)->item[command->to];
  const StudioItem *to = &canvas_board_scene (board)->item[command->from];
  g_autoptr (GError) error = NULL;

  if (!studio_document_move_wires (board->document, from->serial, from->output[command->input].name, to->serial,
                                   to->output[command->output].name, &error))
    canvas_board_say (board, error->message);
}

static void
redraw (CanvasBoard *board, const StudioCommand *command)
{
  if (board->gesture.state == STUDIO_GESTURE_MOVING)
    {
      canvas_board_shift (board, board->gesture.dx, board->gesture.dy);
      canvas_landing_aim (board->landing, canvas_board_scene (board));
    }
  if (board->gesture.state == STUDIO_GESTURE_BENDING)
    canvas_board_bend (board, board->gesture.dx, board->gesture.dy);
  if (board->gesture.state == STUDIO_GESTURE_WIRING)
    canvas_ports_explain (board->ports, canvas_board_scene (board), &board->gesture);
  gtk_widget_queue_draw (board->widget);
}

static void
select_one (CanvasBoard *board, const StudioCommand *command)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = command->serial != 0 ? studio_scene_find (scene, command->serial) : STUDIO_NO_ITEM;

  studio_document_select_only (board->document, command->serial);
  if (item != STUDIO_NO_ITEM)
    {
      canvas_cards_set_last_focus (board->cards, command->serial);
      gtk_widget_grab_focus (GTK_WIDGET (canvas_cards_find (board->cards, command->serial)));
    }
  else
    {
      StudioAnnotationView *annotation = canvas_cards_find_annotation (board->cards, command->serial);

      canvas_cards_set_last_focus (board->cards, 0);
      gtk_widget_grab_focus (annotation != NULL ? GTK_WIDGET (annotation) : board->widget);
    }
}

static void
toggle (CanvasBoard *board, const StudioCommand *command)
{
  studio_document_set_selected (board->document, command->serial,
                                !studio_document_is_selected (board->document, command->serial));
}

static void
pan (CanvasBoard *board, const StudioCommand *command)
{
  canvas_view_pan (board->view, -command->dx, -command->dy);
}

static void
move_cards (CanvasBoard *board, const StudioCommand *command)
{
  guint n = studio_document_n_selected (board->document);
  g_autofree guint64 *serials = g_new (guint64, n + 1);

  if (canvas_landing_land (board->landing, command->dx, command->dy))
    return;
  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (board->document, i);
  studio_document_move (board->document, serials, n, command->dx, command->dy);
}

static void
move_point (CanvasBoard *board, const StudioCommand *command)
{
  studio_document_move_point (board->document, command->link, command->input, command->x, command->y);
}

static void
disconnect_wire (CanvasBoard *board, const StudioCommand *command)
{
  studio_document_disconnect (board->document, command->link);
}

static void
refuse (CanvasBoard *board, const StudioCommand *command)
{
  const char *refusal = canvas_ports_get_refusal (board->ports);

  if (refusal != NULL)
    canvas_board_say (board, refusal);
}

static void
wire_dropped (CanvasBoard *board, const StudioCommand *command)
{
  StudioScene *scene = canvas_board_scene (board);
  guint fixed = command->from != STUDIO_NO_ITEM ? command->from : command->to;
  gboolean from_output = command->from != STUDIO_NO_ITEM;
  StudioLoose loose = { scene->item[fixed].serial, from_output,
                        from_output ? scene->item[fixed].output[command->output].name
                                    : scene->item[fixed].input[command->input].name };
  const StudioView *view = canvas_board_view (board);
  StudioHit hit;
  double sx, sy;

  studio_view_to_screen (view, command->x, command->y, &sx, &sy);
  hit = studio_geometry_hit (scene, view, sx, sy);
  if (hit.kind == (from_output ? STUDIO_HIT_OUTPUT : STUDIO_HIT_INPUT))
    {
      if (hit.item != fixed)
        canvas_board_say (
            board, from_output
                       ? _ ("That is also an output. Wires go from an output to an input, at the left of a card.")
                       : _ ("That is also an input. Wires go from an output, at the right of a card, to an input."));
      return;
    }
  /* The popover of a wire that was dropped outside the canvas opens at the edge, so that the new card is visible. */
  quick_add_open (board, "", CLAMP (sx, 0, view->width), CLAMP (sy, 0, view->height), &loose);
}

static void
apply_fix (CanvasBoard *board, const StudioCommand *command)
{
  canvas_fix_apply_first (board, command->serial);
}

static void
fold (CanvasBoard *board, const StudioCommand *command)
{
  studio_document_select_only (board->document, command->serial);
  gtk_widget_activate_action (board->widget, "canvas.fold", NULL);
}

/* The effect of each result of a gesture. */
static void (*const actions[]) (CanvasBoard *board, const StudioCommand *command) = {
  [STUDIO_DO_NOTHING] = NULL,
  [STUDIO_DO_REDRAW] = redraw,
  [STUDIO_DO_SELECT] = select_one,
  [STUDIO_DO_TOGGLE] = toggle,
  [STUDIO_DO_PAN] = pan,
  [STUDIO_DO_MOVE] = move_cards,
  [STUDIO_DO_MOVE_POINT] = move_point,
  [STUDIO_DO_SELECT_BOX] = select_box,
  [STUDIO_DO_CONNECT] = connect_ports,
  [STUDIO_DO_DISCONNECT] = disconnect_wire,
  [STUDIO_DO_MOVE_WIRES] = move_wires,
  [STUDIO_DO_CUT] = cut_wires,
  [STUDIO_DO_REFUSE] = refuse,
  [STUDIO_DO_WIRE_DROPPED] = wire_dropped,
  [STUDIO_DO_FIX] = apply_fix,
  [STUDIO_DO_FOLD] = fold,
};

void
gesture_commands_run (CanvasBoard *board, const StudioCommand *command)
{
  g_assert (command->what < G_N_ELEMENTS (actions));
  if (actions[command->what] != NULL)
    actions[command->what](board, command);
}
