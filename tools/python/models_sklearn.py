"""scikit-learn models and pipelines through skl2onnx, with scikit-learn's answers.

Classifiers come in both forms: with ZipMap (the default: probabilities as a sequence of maps, a SequenceProto of MapProto)
and without. Data is scikit-learn's bundled sets or seeded tables; floats are rounded to float32 before training, so that
thresholds of trees fall between representable values on both sides.
"""

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common import _container
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    cluster,
    compose,
    datasets,
    decomposition,
    ensemble,
    feature_extraction,
    impute,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

OPSETS = {"": 17, "ai.onnx.ml": 3}
TREES_V5 = {"": 21, "ai.onnx.ml": 5}
SAMPLES = 12


def _plain_integers(make_node):
    """skl2onnx hands booleans to onnx.helper for the missing-value sides of a tree, and newer onnx refuses them."""

    def make(op_type, inputs, outputs, **attributes):
        for name, value in attributes.items():
            if isinstance(value, list) and any(isinstance(item, (bool, np.bool_)) for item in value):
                attributes[name] = [int(item) for item in value]
        return make_node(op_type, inputs, outputs, **attributes)

    return make


_container.make_node = _plain_integers(_container.make_node)


def _iris(names=False):
    """Iris as float32 and its classes, as integers or as names."""
    data = datasets.load_iris()
    return data.data.astype(np.float32), data.target_names[data.target] if names else data.target.astype(np.int64)


def _diabetes():
    data = datasets.load_diabetes()
    return data.data.astype(np.float32), data.target


def _rows(x):
    """A few rows spread over the data."""
    return x[:: max(1, len(x) // SAMPLES)][:SAMPLES]


def _convert(model, types, options=None, opsets=None):
    return to_onnx(model, initial_types=types, options=options, target_opset=opsets or OPSETS)


def _labels(values):
    return values.astype(object) if values.dtype.kind in "OUS" else values.astype(np.int64)


def _classifier(model, x, y, zipmap=False, raw=None, opsets=None):
    """Fit, convert; label and probabilities for twelve rows and for one."""
    model.fit(x, y)
    options = {"zipmap": zipmap}
    if raw:
        options["raw_scores"] = True
    proto = _convert(model, [("X", FloatTensorType([None, x.shape[1]]))], {id(model): options}, opsets)
    sets = []
    for rows in (_rows(x), x[7:8]):
        scores = (model.decision_function(rows) if raw else model.predict_proba(rows)).astype(np.float32)
        if zipmap:
            scores = [dict(zip(model.classes_.tolist(), row)) for row in scores]
        sets.append(([rows], [_labels(model.predict(rows)), scores]))
    return proto, sets


def _regressor(model, x, y, opsets=None):
    """Fit, convert; predictions as a column."""
    model.fit(x, y)
    proto = _convert(model, [("X", FloatTensorType([None, x.shape[1]]))], None, opsets)
    return proto, [([rows], [model.predict(rows).reshape(len(rows), -1).astype(np.float32)]) for rows in (_rows(x), x[7:8])]


def _transformer(model, x, types=None, inputs=None, opsets=None):
    """Fit, convert; what transform gives."""
    model.fit(x)
    proto = _convert(model, types or [("X", FloatTensorType([None, x.shape[1]]))], None, opsets)
    sets = []
    for rows in (_rows(x), x[7:8]):
        values = model.transform(rows)
        values = np.asarray(values.todense() if hasattr(values, "todense") else values)
        sets.append(((inputs or (lambda r: [r]))(rows), [values.astype(np.float32)]))
    return proto, sets


def decision_tree():
    return _classifier(tree.DecisionTreeClassifier(max_depth=4, random_state=0), *_iris())


def decision_tree_zipmap_names():
    return _classifier(tree.DecisionTreeClassifier(max_depth=3, random_state=0), *_iris(names=True), zipmap=True)


def decision_tree_v5():
    """TreeEnsemble of ai.onnx.ml 5."""
    return _regressor(tree.DecisionTreeRegressor(max_depth=4, random_state=0), *_diabetes(), opsets=TREES_V5)


def random_forest():
    return _classifier(ensemble.RandomForestClassifier(6, max_depth=4, random_state=0), *_iris(names=True))


def random_forest_regressor():
    return _regressor(ensemble.RandomForestRegressor(6, max_depth=4, random_state=0), *_diabetes())


def extra_trees_multioutput():
    x, y = _diabetes()
    y = np.stack([y, x[:, 2] * 100, x[:, 0] - x[:, 1]], 1)
    return _regressor(ensemble.ExtraTreesRegressor(4, max_depth=3, random_state=0), x, y)


def gradient_boosting():
    """Three classes, so three trees per round and a softmax."""
    return _classifier(ensemble.GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0), *_iris())


def gradient_boosting_binary():
    """One tree per round and a logistic function; one score for two classes."""
    x, y = _iris()
    return _classifier(ensemble.GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0), x, (y == 1).astype(np.int64))


def gradient_boosting_regressor():
    return _regressor(ensemble.GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0), *_diabetes())


def hist_gradient_boosting():
    """Trees that send missing values to a side they learned."""
    x, y = _diabetes()
    x = x.copy()
    x[::5, 2] = np.nan
    x[3::7, 8] = np.nan
    return _regressor(ensemble.HistGradientBoostingRegressor(max_iter=6, max_leaf_nodes=6, random_state=0), x, y)


def isolation_forest():
    x, _ = _iris()
    model = ensemble.IsolationForest(n_estimators=4, max_samples=32, random_state=0).fit(x)
    proto = _convert(model, [("X", FloatTensorType([None, 4]))], None, OPSETS)
    return proto, [
        ([rows], [model.predict(rows).reshape(-1, 1).astype(np.int64), model.decision_function(rows).reshape(-1, 1).astype(np.float32)])
        for rows in (_rows(x), x[7:8])
    ]


def ada_boost():
    return _classifier(ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=4, random_state=0), *_iris())


def voting():
    return _classifier(
        ensemble.VotingClassifier(
            [("lr", linear_model.LogisticRegression(max_iter=500)), ("dt", tree.DecisionTreeClassifier(max_depth=3, random_state=0))],
            voting="soft",
            flatten_transform=False,
        ),
        *_iris(),
    )


def svc_probabilities():
    return _classifier(svm.SVC(probability=True, random_state=0, C=0.5), *_iris())


def svc_linear_names_zipmap():
    x, y = _iris(names=True)
    return _classifier(svm.SVC(kernel="linear", probability=True, random_state=0, C=0.1), x, y, zipmap=True)


def svc_scores():
    """Raw scores of a polynomial kernel, one against one."""
    return _classifier(svm.SVC(kernel="poly", degree=2, coef0=0.5, decision_function_shape="ovo", C=0.5), *_iris(), raw=True)


def svc_binary_sigmoid():
    x, y = _iris()
    x = (x - x.mean(0)).astype(np.float32)
    return _classifier(svm.SVC(kernel="sigmoid", probability=True, random_state=0, gamma=0.1, C=0.1), x[50:], (y[50:] == 1).astype(np.int64))


def svr():
    x, y = _diabetes()
    return _regressor(svm.SVR(C=50, kernel="rbf"), x[:150], y[:150])


def nu_svr_poly():
    x, y = _diabetes()
    return _regressor(svm.NuSVR(nu=0.2, kernel="poly", degree=3, coef0=1.0), x[:120], y[:120])


def one_class_svm():
    x, _ = _iris()
    model = svm.OneClassSVM(nu=0.2, gamma=0.3).fit(x)
    proto = _convert(model, [("X", FloatTensorType([None, 4]))], None, OPSETS)
    rows = _rows(x)
    return proto, [([rows], [model.predict(rows).reshape(-1, 1).astype(np.int64), model.decision_function(rows).reshape(-1, 1).astype(np.float32)])]


def linear_regression():
    x, y = _diabetes()
    return _regressor(linear_model.LinearRegression(), x, np.stack([y, -2 * y + x[:, 0]], 1))


def logistic_regression():
    return _classifier(linear_model.LogisticRegression(max_iter=500), *_iris())


def logistic_regression_zipmap():
    return _classifier(linear_model.LogisticRegression(max_iter=500), *_iris(), zipmap=True)


def logistic_regression_zipmap_names():
    return _classifier(linear_model.LogisticRegression(max_iter=500), *_iris(names=True), zipmap=True)


def logistic_regression_binary():
    x, y = _iris()
    return _classifier(linear_model.LogisticRegression(max_iter=500), x, (y > 0).astype(np.int64))


def one_vs_rest():
    return _classifier(multiclass.OneVsRestClassifier(linear_model.LogisticRegression(max_iter=500)), *_iris())


def sgd_hinge():
    return _classifier(linear_model.SGDClassifier(random_state=0, loss="hinge"), *_iris(), raw=True)


def mlp():
    return _classifier(neural_network.MLPClassifier((12, 8), max_iter=600, random_state=0), *_iris())


def gaussian_naive_bayes():
    return _classifier(naive_bayes.GaussianNB(), *_iris())


def knn_classifier():
    """The rows are moved a little, each by its own amount, so that no two neighbours are at the same distance."""
    x, y = _iris()
    return _classifier(neighbors.KNeighborsClassifier(5), x[::2] + np.linspace(0, 0.01, 75, dtype=np.float32)[:, None], y[::2])


def knn_regressor():
    x, y = _diabetes()
    return _regressor(neighbors.KNeighborsRegressor(4), x[:80], y[:80])


def kmeans():
    x, _ = _iris()
    model = cluster.KMeans(4, n_init=2, random_state=0).fit(x)
    proto = _convert(model, [("X", FloatTensorType([None, 4]))])
    rows = _rows(x)
    return proto, [([rows], [model.predict(rows).astype(np.int64), model.transform(rows).astype(np.float32)])]


def gaussian_mixture():
    x, _ = _iris()
    model = mixture.GaussianMixture(3, random_state=0, covariance_type="diag").fit(x)
    proto = _convert(model, [("X", FloatTensorType([None, 4]))])
    rows = _rows(x)
    return proto, [([rows], [model.predict(rows).reshape(-1, 1).astype(np.int64), model.predict_proba(rows).astype(np.float32)])]


def preprocessing_chain():
    """Imputer, scaler, polynomial features, normaliser, PCA."""
    x, _ = _iris()
    x = x.copy()
    x[::6, 1] = np.nan
    return _transformer(
        pipeline.make_pipeline(
            impute.SimpleImputer(strategy="median"),
            preprocessing.StandardScaler(),
            preprocessing.PolynomialFeatures(2, include_bias=False),
            preprocessing.Normalizer("l2"),
            decomposition.PCA(5, random_state=0),
        ),
        x,
    )


def scalers():
    """Three scalers side by side, each on its columns, and a binariser."""
    x, _ = _iris()
    return _transformer(
        compose.ColumnTransformer(
            [
                ("minmax", preprocessing.MinMaxScaler((-1, 1), clip=True), [0, 1]),
                ("max", preprocessing.MaxAbsScaler(), [1, 2]),
                ("robust", preprocessing.RobustScaler(), [3]),
                ("binary", preprocessing.Binarizer(threshold=1.5), [2, 3]),
                ("l1", preprocessing.Normalizer("l1"), [0, 3]),
                ("same", "passthrough", [0]),
            ]
        ),
        x,
    )


COLOURS = np.array(["red", "green", "blue", "grün"], dtype=object)
SIZES = np.array(["small", "large", "huge"], dtype=object)


def _table(count, seed):
    """Two text columns, an integer column and two float columns."""
    rng = np.random.default_rng(seed)
    return (
        COLOURS[rng.integers(0, 4, count)].reshape(-1, 1),
        SIZES[rng.integers(0, 3, count)].reshape(-1, 1),
        rng.integers(0, 5, (count, 1)),
        rng.standard_normal((count, 2)).astype(np.float32),
    )


def one_hot_strings():
    """An unknown category gives zeros."""
    colour, size, _, _ = _table(40, 0)
    model = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(np.hstack([colour, size]))
    proto = _convert(model, [("X", StringTensorType([None, 2]))])
    rows = np.array([["red", "huge"], ["blue", "tiny"], ["grün", "small"], ["", "large"]], dtype=object)
    return proto, [([rows], [model.transform(rows).astype(np.float32)]), ([rows[:1]], [model.transform(rows[:1]).astype(np.float32)])]


def one_hot_integers():
    _, _, number, _ = _table(40, 1)
    model = preprocessing.OneHotEncoder(sparse_output=False, drop="first").fit(number)
    proto = _convert(model, [("X", Int64TensorType([None, 1]))])
    return proto, [([number[:9]], [model.transform(number[:9]).astype(np.float32)])]


def ordinal_strings():
    colour, size, _, _ = _table(40, 2)
    both = np.hstack([colour, size])
    model = preprocessing.OrdinalEncoder(dtype=np.int64).fit(both)
    proto = _convert(model, [("X", StringTensorType([None, 2]))])
    return proto, [([both[:10]], [model.transform(both[:10]).astype(np.int64)])]


def label_encoder_strings():
    colour, _, _, _ = _table(40, 3)
    model = preprocessing.LabelEncoder().fit(colour.ravel())
    proto = _convert(model, [("X", StringTensorType([None]))])
    return proto, [([colour[:8].ravel()], [model.transform(colour[:8].ravel()).astype(np.int64)])]


def mixed_columns():
    """The usual table pipeline: text columns one-hot, numbers imputed and scaled, a classifier with ZipMap at the end."""
    import pandas

    colour, size, _, numbers = _table(120, 4)
    frame = pandas.DataFrame({"colour": colour.ravel(), "size": size.ravel(), "a": numbers[:, 0], "b": numbers[:, 1]})
    target = np.where((frame.a > 0) ^ (frame.colour == "red"), "yes", "no")
    model = pipeline.Pipeline(
        [
            (
                "columns",
                compose.ColumnTransformer(
                    [
                        ("text", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
                        ("number", pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ["a", "b"]),
                    ]
                ),
            ),
            ("classifier", ensemble.RandomForestClassifier(5, max_depth=4, random_state=0)),
        ]
    ).fit(frame, target)
    proto = _convert(
        model,
        [("colour", StringTensorType([None, 1])), ("size", StringTensorType([None, 1])), ("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1]))],
    )
    rows = frame[:10]
    inputs = [colour[:10], size[:10], numbers[:10, :1], numbers[:10, 1:]]
    maps = [dict(zip(model.classes_.tolist(), row)) for row in model.predict_proba(rows).astype(np.float32)]
    return proto, [(inputs, [_labels(model.predict(rows)), maps])]


TEXTS = np.array(
    [
        "The quick brown fox jumps over the lazy dog.",
        "A lazy dog sleeps; the fox is quick!",
        "Ships sail over deep seas",
        "deep seas hide old ships and older maps",
        "Maps of the old town, maps of the sea",
        "the fox, the dog and the ship",
        "Quick ships and lazy maps",
        "No dog sails the sea",
        "Old foxes sleep",
        "town and sea and town again",
    ],
    dtype=object,
)


def _text(model, opsets=None, types=None):
    model.fit(TEXTS)
    proto = _convert(model, [("X", StringTensorType([None]))], None, opsets)
    sets = []
    for rows in (TEXTS[:6], np.array(["the old sea dog", "unknown words only here", "fox"], dtype=object)):
        sets.append(([rows], [np.asarray(model.transform(rows).todense()).astype(np.float32)]))
    return proto, sets


def count_vectorizer():
    return _text(feature_extraction.text.CountVectorizer(token_pattern="[a-zA-Z]+"))


def tfidf_bigrams():
    return _text(feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), token_pattern="[a-zA-Z]+"))


def tfidf_characters():
    return _text(feature_extraction.text.TfidfVectorizer(analyzer="char", ngram_range=(2, 3), max_features=60, norm="l1"))


def text_classifier():
    """Tf-idf and logistic regression with ZipMap: the usual spam filter."""
    labels = np.array(["land", "land", "sea", "sea", "sea", "land", "sea", "sea", "land", "land"])
    model = pipeline.make_pipeline(
        feature_extraction.text.TfidfVectorizer(token_pattern="[a-zA-Z]+", stop_words=["the", "a", "of", "and"]), linear_model.LogisticRegression()
    ).fit(TEXTS, labels)
    proto = _convert(model, [("X", StringTensorType([None]))])
    sets = []
    for rows in (TEXTS[:5], np.array(["a fox at sea"], dtype=object)):
        maps = [dict(zip(model.classes_.tolist(), row)) for row in model.predict_proba(rows).astype(np.float32)]
        sets.append(([rows], [_labels(model.predict(rows)), maps]))
    return proto, sets


def scaler_double():
    """float64 in and out."""
    x, _ = _iris()
    x = x.astype(np.float64)
    model = preprocessing.StandardScaler().fit(x)
    proto = _convert(model, [("X", DoubleTensorType([None, 4]))])
    return proto, [([_rows(x)], [model.transform(_rows(x))])]


FUNCTIONS = [
    decision_tree,
    decision_tree_zipmap_names,
    decision_tree_v5,
    random_forest,
    random_forest_regressor,
    extra_trees_multioutput,
    gradient_boosting,
    gradient_boosting_binary,
    gradient_boosting_regressor,
    hist_gradient_boosting,
    isolation_forest,
    ada_boost,
    voting,
    svc_probabilities,
    svc_linear_names_zipmap,
    svc_scores,
    svc_binary_sigmoid,
    svr,
    nu_svr_poly,
    one_class_svm,
    linear_regression,
    logistic_regression,
    logistic_regression_zipmap,
    logistic_regression_zipmap_names,
    logistic_regression_binary,
    one_vs_rest,
    sgd_hinge,
    mlp,
    gaussian_naive_bayes,
    knn_classifier,
    knn_regressor,
    kmeans,
    gaussian_mixture,
    preprocessing_chain,
    scalers,
    one_hot_strings,
    one_hot_integers,
    ordinal_strings,
    label_encoder_strings,
    mixed_columns,
    count_vectorizer,
    tfidf_bigrams,
    tfidf_characters,
    text_classifier,
    scaler_double,
]
MODELS = {"sklearn-" + function.__name__.replace("_", "-"): function for function in FUNCTIONS}
