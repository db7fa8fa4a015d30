/* Reads what torch.save writes: state dicts, checkpoints that contain one, and pickled modules, whose class is never
 * looked up.
 *
 * A tensor is a call of torch._utils._rebuild_tensor_v2 (storage, offset, size, stride, …). A storage is an object with
 * an id ("storage", type, key, location, length); its bytes are the member data/KEY of the zip archive, or, before
 * PyTorch 1.6, follow the pickles. The formats: torch/serialization.py, torch/_utils.py. */
#include "engine/interop/pickle.h"
#include "engine/interop/tensor-file-private.h"

#include <string.h>

#define MAX_DEPTH  64
#define MAX_VISITS 10000000
/* Bytes of names that dictionaries in dictionaries make; more than a model's by far. */
#define MAX_NAMES     ((gsize)256 << 20)
#define LEGACY_MAGIC  ((gint64)G_GUINT64_CONSTANT (0xa86a20f9469cfc6c)) /* its lowest bytes */
#define LEGACY_HEADER 3                                                 /* pickles before that of the object */

typedef struct
{
  LoomTensorFile *file;
  char *folder;        /* in the archive, with a slash; NULL: legacy */
  GHashTable *sources; /* key → source + 1 */
  gsize visits;        /* of items of dictionaries, which may contain each other */
  gsize names;         /* bytes of their joined names */
  GError **error;
} Reader;

/* ---- storages --------------------------------------------------------------------- */

#define REFUSE(r, ...) loom_file_refuse ((r)->file->path, (r)->error, __VA_ARGS__)

/* The id of a storage, or NULL. */
static const PickleValue *
storage_id (const PickleValue *value)
{
  const PickleValue *id
      = value != NULL && value->kind == PICKLE_PERSISTENT ? pickle_item (value, 0, PICKLE_TUPLE) : NULL;
  const PickleValue *word = pickle_item (id, 0, PICKLE_TEXT);

  return word != NULL && g_str_equal (word->text, "storage") && pickle_item (id, 1, PICKLE_NAME) != NULL
                 && pickle_item (id, 2, PICKLE_TEXT) != NULL && pickle_item (id, 4, PICKLE_INT) != NULL
             ? id
             : NULL;
}

/* "torch FloatStorage" → F32; "torch float8_e4m3fn" → F8_E4M3. */
static const TensorEncoding *
find_encoding (const char *name)
{
  const char *word = strrchr (name, ' ') != NULL ? strrchr (name, ' ') + 1 : name;

  for (guint i = 0; i < tensor_n_encodings; i++)
    {
      const TensorEncoding *e = &tensor_encodings[i];
      const gsize n = e->torch != NULL ? strlen (e->torch) : 0;

      if ((n > 0 && strncmp (word, e->torch, n) == 0 && g_str_equal (word + n, "Storage"))
          || (e->other != NULL && g_str_equal (word, e->other)))
        return e;
    }
  return NULL;
}

/* Elements that no encoding has, and those of storages without a type, whose tensors have one. */
static const struct
{
  const char *name;
  guint bytes;
  LoomDType part; /* of complex numbers: of the real and of the imaginary part */
} other_storages[] = {
  { "UntypedStorage", 1, LOOM_U8 },       { "ComplexHalfStorage", 4, LOOM_F16 },    { "complex32", 4, LOOM_F16 },
  { "ComplexFloatStorage", 8, LOOM_F32 }, { "ComplexDoubleStorage", 16, LOOM_F64 }, { "QInt8Storage", 1, LOOM_U8 },
  { "QUInt8Storage", 1, LOOM_U8 },        { "QInt32Storage", 4, LOOM_U8 },          { "QUInt4x2Storage", 1, LOOM_U8 },
  { "QUInt2x4Storage", 1, LOOM_U8 },
};

static int
find_other (const char *name)
{
  const char *word = strrchr (name, ' ') != NULL ? strrchr (name, ' ') + 1 : name;

  for (guint i = 0; i < G_N_ELEMENTS (other_storages); i++)
    if (g_str_equal (other_storages[i].name, word))
      return (int)i;
  return -1;
}

/* Complex numbers have their two parts along a further axis, as in torch.view_as_real(). FALSE: there are none. */
static gboolean
set_complex (TensorEntry *entry, const char *name, gint64 *offset)
{
  const int other = find_other (name);

  if (other < 0 || other_storages[other].part == LOOM_U8 || entry->rank >= LOOM_SHAPE_MAX_RANK
      || __builtin_mul_overflow (*offset, 2, offset))
    return FALSE;
  for (int d = 0; d < entry->rank; d++)
    if (__builtin_mul_overflow (entry->stride[d], 2, &entry->stride[d]))
      return FALSE;
  entry->dim[entry->rank] = 2;
  entry->stride[entry->rank++] = 1;
  entry->encoding = tensor_encoding_of (other_storages[other].part);
  return TRUE;
}

static gboolean
find_source (Reader *r, const char *key, guint *source)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (r->sources, key));
  g_autofree char *path = NULL;
  gint64 member;

  if (known == 0)
    {
      path = g_strconcat (r->folder != NULL ? r->folder : "", "data/", key, NULL);
      member = r->folder != NULL ? zip_archive_locate (r->file->zip, path) : -1;
      if (member < 0)
        return REFUSE (r, "is truncated or damaged: it lacks the storage “%s”", key);
      known = tensor_file_add_source (r->file, NULL, (guint64)member) + 1;
      g_hash_table_insert (r->sources, g_strdup (key), GUINT_TO_POINTER (known));
    }
  *source = known - 1;
  return TRUE;
}

/* ---- tensors ---------------------------------------------------------------------- */

/* The call that rebuilds a tensor and its arguments, through parameters and subclasses; FALSE: it is none. */
static gboolean
is_tensor (const PickleValue *value, const char **how, const PickleValue **arguments)
{
  for (int depth = 0; depth < 4; depth++)
    {
      const char *name = pickle_callee (value);

      *arguments = pickle_arguments (value);
      if (name == NULL || *arguments == NULL)
        return FALSE;
      if (g_str_has_prefix (name, "torch._tensor _rebuild_from_type"))
        {
          const PickleValue *callee = pickle_item (*arguments, 0, PICKLE_NAME);

          *arguments = pickle_item (*arguments, 2, PICKLE_TUPLE);
          name = callee != NULL ? callee->text : NULL;
          if (name == NULL || *arguments == NULL)
            return FALSE;
        }
      if (!g_str_has_prefix (name, "torch._utils _rebuild_"))
        return FALSE;
      *how = name + strlen ("torch._utils _rebuild_");
      if (!g_str_has_prefix (*how, "parameter"))
        return TRUE;
      value = pickle_item (*arguments, 0, PICKLE_CALL);
    }
  return FALSE;
}

static gboolean
read_sizes (const PickleValue *tuple, gint64 *size, int *n)
{
  *n = tuple != NULL && tuple->items != NULL ? (int)tuple->items->len : 0;
  if (tuple == NULL || *n > LOOM_SHAPE_MAX_RANK)
    return FALSE;
  for (int i = 0; i < *n; i++)
    {
      const PickleValue *item = pickle_item (tuple, (guint)i, PICKLE_INT);

      if (item == NULL || item->integer < 0)
        return FALSE;
      size[i] = item->integer;
    }
  return TRUE;
}

/* Fills an entry from the arguments (storage, offset, size, stride, requires_grad, hooks, and of version 3 dtype). */
static gboolean
read_dense (Reader *r, TensorEntry *entry, const char *how, const PickleValue *arguments)
{
  const PickleValue *id = storage_id (pickle_item (arguments, 0, PICKLE_PERSISTENT));
  const PickleValue *offset = pickle_item (arguments, 1, PICKLE_INT);
  const PickleValue *type
      = g_str_equal (how, "tensor_v3") ? pickle_item (arguments, 6, PICKLE_NAME) : pickle_item (id, 1, PICKLE_NAME);
  const PickleValue *view = pickle_item (id, 5, PICKLE_TUPLE), *start = pickle_item (view, 1, PICKLE_INT);
  int n;
  gint64 first;

  if (id == NULL || offset == NULL || type == NULL
      || !read_sizes (pickle_item (arguments, 2, PICKLE_TUPLE), entry->dim, &entry->rank)
      || !read_sizes (pickle_item (arguments, 3, PICKLE_TUPLE), entry->stride, &n) || n != entry->rank)
    return REFUSE (r, "is damaged, or has a tensor of more than 8 dimensions: “%s”", entry->name);
  entry->encoding = find_encoding (type->text);
  if (__builtin_add_overflow (offset->integer, start != NULL ? start->integer : 0, &first) || first < 0)
    return REFUSE (r, "is damaged: “%s” begins outside its storage", entry->name);
  if (entry->encoding == NULL && !set_complex (entry, type->text, &first))
    {
      entry->unread = g_strdup (type->text);
      return TRUE;
    }
  entry->is_strided = !tensor_entry_is_dense (entry);
  if (__builtin_mul_overflow (first, entry->encoding->bytes, &first))
    return REFUSE (r, "is damaged: “%s” begins outside its storage", entry->name);
  entry->offset = (gsize)first;
  return find_source (r, pickle_item (id, 2, PICKLE_TEXT)->text, &entry->source);
}

/* Whether a tensor has its numbers with another sign, or conjugated, by the metadata after its arguments. */
static gboolean
is_lazy (const PickleValue *arguments)
{
  for (guint i = 6; i < 8; i++)
    {
      const PickleValue *metadata = pickle_item (arguments, i, PICKLE_DICT);

      if (pickle_get (metadata, "neg") != NULL || pickle_get (metadata, "conj") != NULL)
        return TRUE;
    }
  return FALSE;
}

static gboolean
add_tensor (Reader *r, const char *name, const char *how, const PickleValue *arguments)
{
  g_autofree char *kind = NULL;
  TensorEntry *entry = tensor_entry_new (name);

  if (is_lazy (arguments))
    entry->unread = g_strdup ("view with another sign");
  else if (!g_str_equal (how, "tensor") && !g_str_equal (how, "tensor_v2") && !g_str_equal (how, "tensor_v3"))
    {
      kind = g_strdelimit (g_strdup (how), "_", ' ');
      entry->unread = g_steal_pointer (&kind);
    }
  else if (!read_dense (r, entry, how, arguments))
    {
      tensor_entry_free (entry);
      return FALSE;
    }
  return tensor_file_add (r->file, entry, r->error);
}

/* ---- state dicts ------------------------------------------------------------------- */

/* NULL: there are too many names. */
static char *
join (Reader *r, const char *before, const char *name)
{
  r->names += strlen (before) + strlen (name) + sizeof (TensorEntry);
  if (r->names > MAX_NAMES)
    {
      REFUSE (r, "is damaged: its dictionaries contain each other");
      return NULL;
    }
  return before[0] != '\0' ? g_strconcat (before, ".", name, NULL) : g_strdup (name);
}

/* FALSE if the dictionaries that contain each other have too many items, each counted whenever it is reached. */
static gboolean
visit (Reader *r, const PickleValue *dict)
{
  r->visits += 1 + (dict != NULL && dict->items != NULL ? dict->items->len : 0);
  return r->visits <= MAX_VISITS || REFUSE (r, "is damaged: its dictionaries contain each other");
}

/* The tensors of a dictionary whose keys are texts, and of dictionaries in it. */
static gboolean
add_dict (Reader *r, const PickleValue *dict, const char *before, int depth)
{
  const PickleValue *value = pickle_dict (dict);

  if (!visit (r, value))
    return FALSE;
  for (guint i = 0; value != NULL && value->items != NULL && i + 1 < value->items->len; i += 2)
    {
      const PickleValue *key = pickle_item (value, i, PICKLE_TEXT), *item = value->items->pdata[i + 1], *arguments;
      g_autofree char *name = key != NULL ? join (r, before, key->text) : NULL;
      const char *how;

      if (key == NULL && pickle_item (value, i, PICKLE_BYTES) != NULL && is_tensor (item, &how, &arguments))
        return REFUSE (r, "is damaged: a tensor below “%s” has a name that is not text", before);
      if (key == NULL)
        continue;
      if (name == NULL)
        return FALSE;
      if (is_tensor (item, &how, &arguments) ? !add_tensor (r, name, how, arguments)
                                             : depth < MAX_DEPTH && !add_dict (r, item, name, depth + 1))
        return FALSE;
    }
  return TRUE;
}

/* The parameters and buffers of a pickled module, named as in its state_dict(); buffers that are not persistent, too.
 */
static gboolean
add_module (Reader *r, const PickleValue *module, const char *before, int depth)
{
  const PickleValue *state = pickle_state (module);
  const PickleValue *modules = pickle_dict (pickle_get (state, "_modules"));

  if (!visit (r, pickle_dict (state)) || !visit (r, modules))
    return FALSE;
  if (depth > MAX_DEPTH)
    return REFUSE (r, "is damaged: the modules of “%s” are in themselves", before);
  if (!add_dict (r, pickle_get (state, "_parameters"), before, MAX_DEPTH)
      || !add_dict (r, pickle_get (state, "_buffers"), before, MAX_DEPTH))
    return FALSE;
  for (guint i = 0; modules != NULL && modules->items != NULL && i + 1 < modules->items->len; i += 2)
    {
      const PickleValue *key = pickle_item (modules, i, PICKLE_TEXT), *item = modules->items->pdata[i + 1];
      g_autofree char *name = NULL;

      if (!visit (r, pickle_dict (pickle_state (item))))
        return FALSE;
      if (key == NULL || pickle_get (pickle_state (item), "_parameters") == NULL)
        continue;
      name = join (r, before, key->text);
      if (name == NULL || !add_module (r, item, name, depth + 1))
        return FALSE;
    }
  return TRUE;
}

static gboolean
has_tensors (Reader *r, const PickleValue *dict)
{
  const PickleValue *value = pickle_dict (dict), *arguments;
  const char *how;

  r->visits += value != NULL && value->items != NULL ? value->items->len : 0;
  if (r->visits > MAX_VISITS)
    return FALSE;
  for (guint i = 0; value != NULL && value->items != NULL && i + 1 < value->items->len; i += 2)
    if (pickle_item (value, i, PICKLE_TEXT) != NULL && is_tensor (value->items->pdata[i + 1], &how, &arguments))
      return TRUE;
  return FALSE;
}

/* The usual names of a state dict in a checkpoint, the likeliest first. */
static const char *const members[]
    = { "state_dict", "model_state_dict", "model", "module", "net", "network", "model_state", "params", "weights" };

/* Lists the dictionaries of tensors and the modules of a checkpoint. */
static void
list_members (Reader *r, const PickleValue *root)
{
  const PickleValue *dict = pickle_dict (root);

  for (guint i = 0; dict != NULL && dict->items != NULL && i + 1 < dict->items->len; i += 2)
    {
      const PickleValue *key = pickle_item (dict, i, PICKLE_TEXT), *value = dict->items->pdata[i + 1];

      if (key != NULL && (has_tensors (r, value) || pickle_get (pickle_state (value), "_parameters") != NULL))
        g_ptr_array_add (r->file->members, g_strdup (key->text));
    }
}

/* The name of the member with the weights: the wanted one, or the likeliest; NULL: there is none. */
static const char *
choose_member (const LoomTensorFile *file)
{
  for (guint i = 0; file->wanted == NULL && i < G_N_ELEMENTS (members); i++)
    if (g_ptr_array_find_with_equal_func (file->members, members[i], g_str_equal, NULL))
      return members[i];
  for (guint i = 0; i < file->members->len; i++)
    if (file->wanted == NULL || g_str_equal (file->members->pdata[i], file->wanted))
      return file->members->pdata[i];
  return NULL;
}

static gboolean
add_root (Reader *r, const PickleValue *root)
{
  const PickleValue *dict = root;
  const char *member = NULL;

  if (r->file->wanted != NULL || (!has_tensors (r, root) && pickle_state (root) == NULL))
    {
      list_members (r, root);
      member = choose_member (r->file);
    }
  if (r->file->wanted != NULL && member == NULL)
    return tensor_file_refuse_member (r->file, r->error);
  r->file->member = g_strdup (member);
  if (member != NULL)
    dict = pickle_get (root, member);
  if (pickle_get (pickle_state (dict), "_parameters") != NULL ? !add_module (r, dict, "", 0)
                                                              : !add_dict (r, dict, "", 0))
    return FALSE;
  return r->file->entries->len > 0
         || loom_file_refuse (r->file->path, r->error,
                              "is a file of torch.save without a dictionary of tensors; save model.state_dict()");
}

/* ---- zip archives -------------------------------------------------------------------- */

/* FALSE for archives of other machines. */
static gboolean
check_order (const Reader *r)
{
  g_autofree char *path = g_strconcat (r->folder, "byteorder", NULL);
  const gint64 member = zip_archive_locate (r->file->zip, path);
  g_autoptr (GBytes) order = member >= 0 ? zip_archive_read (r->file->zip, (guint64)member, 16, NULL) : NULL;

  return order == NULL || g_bytes_get_size (order) != 3 || memcmp (g_bytes_get_data (order, NULL), "big", 3) != 0
         || loom_file_refuse (r->file->path, r->error, "is big endian; save it again on another machine");
}

gboolean
read_torch_zip (LoomTensorFile *self, GError **error)
{
  const guint64 member = (guint64)zip_archive_find (self->zip, "data.pkl");
  const char *path = zip_archive_name (self->zip, member);
  g_autofree char *folder = g_strndup (path, strlen (path) - strlen ("data.pkl"));
  g_autofree char *constants = g_strconcat (folder, "constants.pkl", NULL);
  g_autoptr (GHashTable) sources = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (Pickle) pickle = NULL;
  Reader r = { .file = self, .folder = folder, .sources = sources, .error = error };

  if (zip_archive_locate (self->zip, constants) >= 0)
    return loom_file_refuse (self->path, error,
                             "is a TorchScript program; in Python: torch.save(torch.jit.load(FILE).state_dict(), "
                             "\"weights.pth\")");
  if (zip_archive_size (self->zip, member) > PICKLE_MAX_LENGTH)
    return loom_file_refuse (self->path, error, "has a pickle that is too long for a file of weights");
  if (!check_order (&r))
    return FALSE;
  bytes = zip_archive_read (self->zip, member, G_MAXSIZE, error);
  if (bytes == NULL)
    return FALSE;
  pickle = pickle_read (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), zip_archive_bytes (self->zip), NULL,
                        self->path, error);
  return pickle != NULL && add_root (&r, pickle_root (pickle));
}

/* ---- before PyTorch 1.6 ---------------------------------------------------------------- */

/* The bytes of an element of each storage that the pickle names. */
static void
list_storages (const Pickle *pickle, GHashTable *size)
{
  for (guint i = 0; i < pickle_count (pickle); i++)
    {
      const PickleValue *id = storage_id (pickle_value (pickle, i));
      const char *type = id != NULL ? pickle_item (id, 1, PICKLE_NAME)->text : NULL;
      const TensorEncoding *encoding = type != NULL ? find_encoding (type) : NULL;
      const int other = type != NULL ? find_other (type) : -1;

      if (encoding != NULL || other >= 0)
        g_hash_table_insert (size, (gpointer)pickle_item (id, 2, PICKLE_TEXT)->text,
                             GUINT_TO_POINTER (encoding != NULL ? encoding->bytes : other_storages[other].bytes));
    }
}

/* Finds the storages after the pickles: for each key, in this order, the number of elements in 8 bytes, and these. */
static gboolean
place_storages (Reader *r, const PickleValue *keys, GHashTable *size, GBytes *bytes, gsize at)
{
  const guint8 *data = g_bytes_get_data (bytes, NULL);
  const gsize length = g_bytes_get_size (bytes);

  for (guint i = 0; keys->items != NULL && i < keys->items->len; i++)
    {
      const PickleValue *key = pickle_item (keys, i, PICKLE_TEXT);
      const guint one = key != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (size, key->text)) : 0;
      guint64 n = 0, n_bytes;

      if (one == 0)
        return REFUSE (r, "is damaged, or has a storage of an unknown type");
      for (int k = 0; k < 8 && at + 8 <= length; k++)
        n |= (guint64)data[at + (gsize)k] << (8 * k);
      if (at + 8 > length || __builtin_mul_overflow (n, one, &n_bytes) || n_bytes > length - at - 8)
        return REFUSE (r, "is truncated: the storage “%s” is not all there", key->text);
      g_autoptr (GBytes) part = g_bytes_new_from_bytes (bytes, at + 8, (gsize)n_bytes);
      g_hash_table_insert (r->sources, g_strdup (key->text),
                           GUINT_TO_POINTER (tensor_file_add_source (r->file, part, 0) + 1));
      at += 8 + (gsize)n_bytes;
    }
  return TRUE;
}

gboolean
read_torch_legacy (LoomTensorFile *self, GBytes *bytes, GError **error)
{
  const guint8 *data = g_bytes_get_data (bytes, NULL);
  const gsize length = g_bytes_get_size (bytes);
  g_autoptr (GHashTable) sources = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) size = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (Pickle) object = NULL, keys = NULL;
  Reader r = { .file = self, .sources = sources, .error = error };
  gsize at = 0, used = 0;

  for (int i = 0; i < LEGACY_HEADER; i++)
    {
      g_autoptr (Pickle) head = pickle_read (data + at, length - at, length, &used, self->path, error);

      if (head == NULL)
        return FALSE;
      if (i == 0 && (pickle_root (head)->kind != PICKLE_INT || pickle_root (head)->integer != LEGACY_MAGIC))
        return loom_file_refuse (
            self->path, error, "is a pickle of Python, not a file of torch.save; save a state_dict() with torch.save");
      at += used;
    }
  object = pickle_read (data + at, length - at, length, &used, self->path, error);
  at += used;
  keys = object != NULL ? pickle_read (data + at, length - at, length, &used, self->path, error) : NULL;
  if (keys == NULL)
    return FALSE;
  if (pickle_root (keys)->kind != PICKLE_LIST)
    return loom_file_refuse (self->path, error, "is truncated or damaged: it has no list of storages");
  list_storages (object, size);
  return place_storages (&r, pickle_root (keys), size, bytes, at + used) && add_root (&r, pickle_root (object));
}
