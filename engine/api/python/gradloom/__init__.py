"""Gradloom from Python: graphs are loaded, trained, evaluated and used for predictions, with NumPy's arrays.

    import gradloom
    graph = gradloom.Graph('spirals.xml')
    trainer = gradloom.Trainer(graph, seed=1, set=['hidden.out_features=32'])
    trainer.train(500)
    print(trainer.evaluate('test'), trainer.predict(points))

The functions are those of libgradloom's header, gradloom.h, which states shapes and errors. The library is the one that the system's
loader finds, or the one of use_library(). An object belongs to one thread at a time.
"""
import ctypes
import ctypes.util
import importlib

import numpy

__all__ = ['Error', 'Graph', 'Trainer', 'Predictor', 'use_library', 'version']

# In the order of GradloomType; numpy has no bfloat16.
_TYPES = [numpy.float64, numpy.float32, numpy.float16, None, numpy.int64, numpy.int32, numpy.uint8, numpy.bool_]
_BF16 = 3
_ERRORS = ['parse', 'schema', 'unknown-op', 'port', 'shape', 'dtype', 'cycle', 'no-kernel', 'out-of-memory', 'device', 'data', 'io',
           'dist', 'cancelled', 'nan', 'usage', 'outside']
_ANSWERS = ['probabilities', 'logits', 'yes', 'values']

_P, _S, _I, _L, _D = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int64, ctypes.c_double


def __getattr__(name):
    # gradloom.torch, without importing PyTorch for those who do not use it.
    if name == 'torch':
        return importlib.import_module('gradloom.torch')
    raise AttributeError(f"module 'gradloom' has no attribute '{name}'")


class Error(Exception):
    """A sentence of the library; kind is its code, such as 'shape' or 'io'."""

    def __init__(self, kind, sentence):
        super().__init__(sentence)
        self.kind = kind


class _GError(ctypes.Structure):
    _fields_ = [('domain', ctypes.c_uint32), ('code', _I), ('message', _S)]


class Step(ctypes.Structure):
    """What train() reports of each step."""
    _fields_ = [('step', _L), ('total_steps', _L), ('epoch', _L), ('steps_per_epoch', _L), ('loss', _D), ('learning_rate', _D)]


_EP = ctypes.POINTER(ctypes.POINTER(_GError))
_StepFunc = ctypes.CFUNCTYPE(_I, ctypes.POINTER(Step), _P)
_MetricFunc = ctypes.CFUNCTYPE(None, _S, _D, _P)

# Result and arguments of each function that is used here.
_FUNCTIONS = {
    'gradloom_version': (_S, []),
    'gradloom_tensor_new': (_P, [_I, _I, ctypes.POINTER(_L), _P, _EP]),
    'gradloom_tensor_unref': (None, [_P]),
    'gradloom_tensor_type': (_I, [_P]),
    'gradloom_tensor_rank': (_I, [_P]),
    'gradloom_tensor_dim': (_L, [_P, _I]),
    'gradloom_tensor_count': (_L, [_P]),
    'gradloom_tensor_data': (_P, [_P]),
    'gradloom_graph_load': (_P, [_S, _EP]),
    'gradloom_graph_parse': (_P, [_S, ctypes.c_ssize_t, _S, _EP]),
    'gradloom_graph_free': (None, [_P]),
    'gradloom_graph_check': (_I, [_P, _EP]),
    'gradloom_trainer_new': (_P, [_P, ctypes.POINTER(_S), _EP]),
    'gradloom_trainer_free': (None, [_P]),
    'gradloom_trainer_train': (_I, [_P, _L, _StepFunc, _P, _EP]),
    'gradloom_trainer_step': (_L, [_P]),
    'gradloom_trainer_is_over': (_I, [_P]),
    'gradloom_trainer_evaluate': (_I, [_P, _S, ctypes.POINTER(_D), _MetricFunc, _P, _EP]),
    'gradloom_trainer_predict': (_P, [_P, _P, _EP]),
    'gradloom_trainer_weights': (ctypes.POINTER(_S), [_P]),
    'gradloom_trainer_get_weight': (_P, [_P, _S, _EP]),
    'gradloom_trainer_set_weight': (_I, [_P, _S, _P, _EP]),
    'gradloom_trainer_read': (_P, [_P, _S, _EP]),
    'gradloom_trainer_save': (_I, [_P, _S, _EP]),
    'gradloom_predictor_new': (_P, [_P, _S, _S, _I, _EP]),
    'gradloom_predictor_free': (None, [_P]),
    'gradloom_predict': (_P, [_P, _P, ctypes.POINTER(_I), _EP]),
    'gradloom_predictor_class_name': (_S, [_P, _L, _L]),
    'g_error_free': (None, [_P]),
    'g_strfreev': (None, [_P]),
}
_library = None


def use_library(path):
    """Takes this libgradloom; to be called before anything else."""
    global _library
    library = ctypes.CDLL(path)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    _library = library


def _lib():
    if _library is None:
        try:
            use_library('libgradloom.so.0')
        except OSError:
            found = ctypes.util.find_library('gradloom')
            if found is None:
                raise ImportError('libgradloom.so.0 is not found. Install Debian\'s package libgradloom0, set LD_LIBRARY_PATH to the '
                                  'folder with it, or call gradloom.use_library().') from None
            use_library(found)
    return _library


def _call(name, *arguments):
    """Calls a function whose last argument is a GError, and raises it."""
    error = ctypes.POINTER(_GError)()
    result = getattr(_lib(), name)(*arguments, ctypes.byref(error))
    if error:
        kind, sentence = error.contents.code, error.contents.message.decode()
        _lib().g_error_free(error)
        raise Error(_ERRORS[kind] if kind < len(_ERRORS) else str(kind), sentence)
    return result


def version():
    """The library's, "0.1.0"."""
    return _lib().gradloom_version().decode()


def _path(path):
    return None if path is None else str(path).encode()


# ---- arrays -----------------------------------------------------------------------------------------------------------


class _Tensor:
    """A tensor of the library with the elements of an array."""

    def __init__(self, array):
        array = numpy.asarray(array)
        if array.dtype not in [t for t in _TYPES if t is not None]:
            array = array.astype(numpy.int64 if array.dtype.kind in 'iu' else numpy.float32)
        array = numpy.ascontiguousarray(array).reshape(array.shape)
        self.tensor = _call('gradloom_tensor_new', [t is not None and array.dtype == t for t in _TYPES].index(True), array.ndim,
                            (_L * max(array.ndim, 1))(*array.shape), array.ctypes.data)

    def __enter__(self):
        return self.tensor

    def __exit__(self, *ignored):
        _lib().gradloom_tensor_unref(self.tensor)


def _array(tensor):
    """A copy of a tensor, which is released."""
    lib = _lib()
    kind = lib.gradloom_tensor_type(tensor)
    shape = [lib.gradloom_tensor_dim(tensor, i) for i in range(lib.gradloom_tensor_rank(tensor))]
    dtype = numpy.dtype(numpy.uint16 if kind == _BF16 else _TYPES[kind])
    data = ctypes.string_at(lib.gradloom_tensor_data(tensor), lib.gradloom_tensor_count(tensor) * dtype.itemsize)
    lib.gradloom_tensor_unref(tensor)
    array = numpy.frombuffer(data, dtype).reshape(shape)
    if kind == _BF16:
        return (array.astype(numpy.uint32) << 16).view(numpy.float32)
    return array.copy()


# ---- objects ----------------------------------------------------------------------------------------------------------


class _Object:
    def __del__(self):
        if getattr(self, '_object', None):
            getattr(_lib(), self._free)(self._object)
            self._object = None


class Graph(_Object):
    """A graph file or the folder of a run; or a text, whose data are found in folder."""
    _free = 'gradloom_graph_free'

    def __init__(self, path=None, *, text=None, folder=None):
        self.path = path
        if text is not None:
            text = text.encode()
            self._object = _call('gradloom_graph_parse', text, len(text), _path(folder))
        else:
            self._object = _call('gradloom_graph_load', _path(path))

    def check(self):
        """Raises an Error with a line for each fault."""
        _call('gradloom_graph_check', self._object)


class Trainer(_Object):
    """The training of a graph. Options are those of gradloom_trainer_new(): device, threads, epochs, batch_size, seed, lr, precision,
    weights, out, and set, a list of "NODE.PARAM=VALUE"."""
    _free = 'gradloom_trainer_free'

    def __init__(self, graph, **options):
        words = []
        for name, value in options.items():
            for each in value if isinstance(value, (list, tuple)) else [value]:
                words.append(('%s=%s' % (name, each)).encode())
        self._graph = graph
        self._object = _call('gradloom_trainer_new', graph._object, (_S * (len(words) + 1))(*words, None))

    def train(self, steps=0, func=None):
        """Takes more steps, all remaining ones if steps is 0. func gets a Step after each, and ends training by returning False."""
        raised = []

        def report(step, _):
            try:
                return func(step.contents) is not False
            except BaseException as error:  # to be raised where train() was called
                raised.append(error)
                return False
        _call('gradloom_trainer_train', self._object, steps, _StepFunc(report) if func else _StepFunc(), None)
        if raised:
            raise raised[0]

    @property
    def step(self):
        return _lib().gradloom_trainer_step(self._object)

    @property
    def is_over(self):
        return bool(_lib().gradloom_trainer_is_over(self._object))

    def evaluate(self, split='test'):
        """{'loss': x, metric: x …} of the samples of "val" or "test"."""
        loss, found = _D(), {}
        metric = _MetricFunc(lambda name, value, _: found.__setitem__(name.decode(), value))
        _call('gradloom_trainer_evaluate', self._object, split.encode(), ctypes.byref(loss), metric, None)
        return {'loss': loss.value, **found}

    def predict(self, samples):
        """f64 [n, positions, classes]."""
        with _Tensor(samples) as tensor:
            return _array(_call('gradloom_trainer_predict', self._object, tensor))

    def weight_names(self):
        names = _lib().gradloom_trainer_weights(self._object)
        found, i = [], 0
        while names[i] is not None:
            found.append(names[i].decode())
            i += 1
        _lib().g_strfreev(names)
        return found

    def weight(self, name):
        return _array(_call('gradloom_trainer_get_weight', self._object, name.encode()))

    def set_weight(self, name, value):
        with _Tensor(value) as tensor:
            _call('gradloom_trainer_set_weight', self._object, name.encode(), tensor)

    def weights(self):
        """{name: array}, as a state_dict."""
        return {name: self.weight(name) for name in self.weight_names()}

    def read(self, port):
        """The value of a port "conv1", or of a gradient "grad:conv1", for a fixed batch of training samples."""
        return _array(_call('gradloom_trainer_read', self._object, port.encode()))

    def save(self, path):
        """Writes a safetensors file."""
        _call('gradloom_trainer_save', self._object, _path(path))


class Predictor(_Object):
    """A graph with trained weights."""
    _free = 'gradloom_predictor_free'

    def __init__(self, graph, weights=None, device=None, threads=0):
        self._graph = graph
        self._object = _call('gradloom_predictor_new', graph._object, _path(weights), _path(device), threads)
        self.kind = None

    def predict(self, samples):
        """f64 [n, positions, classes]; kind is then what the numbers are: "probabilities", "logits", "yes" or "values"."""
        kind = _I()
        with _Tensor(samples) as tensor:
            found = _array(_call('gradloom_predict', self._object, tensor, ctypes.byref(kind)))
        self.kind = _ANSWERS[kind.value]
        return found

    def class_name(self, n, index):
        name = _lib().gradloom_predictor_class_name(self._object, n, index)
        return None if name is None else name.decode()
