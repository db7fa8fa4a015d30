"""scikit-learn's pipelines as skl2onnx writes them, imported and run: `gradloom import` and `gradloom run` must give onnxruntime's
labels and numbers within 1e-5. A label that is text is compared as the index of its class, and a ZipMap as the tensor of its
probabilities. Options are those of onnx_layers.py: onnx_sklearn.py --store tests/onnx/exports."""

import warnings

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor,
                              RandomForestClassifier, RandomForestRegressor)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from onnx_layers import main

STORED = ("sklearn-logistic", "sklearn-logistic-binary", "sklearn-forest", "sklearn-boost", "sklearn-boost-binary", "sklearn-bins")
flowers, kinds = load_iris(return_X_y=True)
patients, progress = load_diabetes(return_X_y=True)
flowers, patients = flowers.astype(np.float32), patients.astype(np.float32)
names, binary = np.array(["setosa", "versicolor", "virginica"])[kinds], (kinds == 1).astype(np.int64)


class Fitted:
    def __init__(self, estimator, x, y):
        warnings.simplefilter("ignore")
        self.fitted, self.rows = estimator.fit(x, y), np.ascontiguousarray(x[::7])
        self.inputs, self.outputs = {"X": self.rows}, []

    def model(self):
        model = to_onnx(self.fitted, self.rows[:1])
        self.outputs = [(o.name, None) for o in model.graph.output]
        return model

    def expect(self, model):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        found = []
        for value in session.run(None, self.inputs):
            if isinstance(value, list):
                value = np.array([list(row.values()) for row in value], np.float32)
            elif value.dtype == object:
                value = np.array([list(self.fitted.classes_).index(label) for label in value])
            found.append(value)
        return found


def both(estimator):
    return make_pipeline(StandardScaler(), estimator)


ESTIMATORS = {
    "logistic": lambda: (both(LogisticRegression()), flowers, kinds),
    "logistic-binary": lambda: (both(LogisticRegression()), flowers, binary),
    "logistic-names": lambda: (both(LogisticRegression()), flowers, names),
    "logistic-labels": lambda: (LogisticRegression(), flowers, 10 * kinds + 5),
    "ridge-classes": lambda: (make_pipeline(MinMaxScaler(), RidgeClassifier()), flowers, kinds),
    "linear": lambda: (LinearRegression(), patients, progress),
    "ridge-targets": lambda: (Ridge(), patients, np.stack([progress, progress**2], 1)),
    "forest": lambda: (RandomForestClassifier(8, random_state=0, max_depth=5), flowers, kinds),
    "forest-binary": lambda: (RandomForestClassifier(10, random_state=0), flowers, binary),
    "forest-names": lambda: (RandomForestClassifier(5, random_state=0), flowers, names),
    "forest-numbers": lambda: (RandomForestRegressor(20, random_state=0), patients, progress),
    "extra-trees": lambda: (ExtraTreesRegressor(5, random_state=0), patients, progress),
    "boost": lambda: (GradientBoostingClassifier(n_estimators=5, random_state=0), flowers, kinds),
    "boost-binary": lambda: (GradientBoostingClassifier(n_estimators=5, random_state=0), flowers, binary),
    "boost-numbers": lambda: (GradientBoostingRegressor(random_state=0), patients, progress),
    "tree": lambda: (DecisionTreeClassifier(random_state=0), flowers, kinds),
    "tree-numbers": lambda: (DecisionTreeRegressor(random_state=0), patients, progress),
    "ada": lambda: (AdaBoostClassifier(n_estimators=5, random_state=0), flowers, kinds),
    "normalizer": lambda: (make_pipeline(Normalizer(), LogisticRegression()), flowers, kinds),
    "normalizer-l1": lambda: (make_pipeline(Normalizer("l1"), LinearRegression()), flowers, kinds),
    "normalizer-max": lambda: (make_pipeline(Normalizer("max"), LinearRegression()), flowers, kinds),
    "scale": lambda: (make_pipeline(MaxAbsScaler(), LinearRegression()), patients, progress),
    "imputer": lambda: (make_pipeline(SimpleImputer(), LinearRegression()), np.where(patients > 0.1, np.nan, patients), progress),
    "binarizer": lambda: (make_pipeline(Binarizer(threshold=1.5), LinearRegression()), flowers, kinds),
    "bins": lambda: (make_pipeline(KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), LogisticRegression()),
                     flowers, kinds),
    "columns": lambda: (make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", MinMaxScaler(), [1, 3])]),
                                      LogisticRegression()), flowers, kinds),
    "components": lambda: (make_pipeline(StandardScaler(), PCA(2), LogisticRegression()), flowers, kinds),
    "perceptron": lambda: (MLPClassifier((8,), max_iter=200, random_state=0), flowers, kinds),
    "bayes": lambda: (GaussianNB(), flowers, kinds),
    "vectors": lambda: (SVR(), patients, progress),
}
CASES = {f"sklearn-{name}": (lambda make: lambda: Fitted(*make()))(make) for name, make in ESTIMATORS.items()}

if __name__ == "__main__":
    main(CASES, STORED)
