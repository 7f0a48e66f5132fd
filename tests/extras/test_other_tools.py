"""Tools that take any estimator of scikit-learn, by the first example of their documentation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.model_selection import train_test_split

from naively import (
    NBSVM,
    AutoBayes,
    BernoulliNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultilabelNB,
    MultinomialNB,
    NaiveBayes,
    TextNB,
)

MAILS = ["win a prize", "at noon", "free prize", "see you at noon", "win, win", "noon, lunch"] * 8
KINDS = ["spam", "ham", "spam", "ham", "spam", "ham"] * 8


@pytest.fixture(scope="module")
def people():
    """A mixed table of 400 people, whose income has to do with age and job."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 65, 400).astype(float)
    job = rng.choice(["clerk", "nurse", "cook"], 400)
    rich = age / 20 + (job == "nurse") + rng.normal(size=400) > 2.5
    table = pd.DataFrame({"age": age, "job": job, "hours": rng.integers(10, 60, 400) * 1.0})
    table.loc[::17, "age"] = np.nan
    return table, np.where(rich, "rich", "poor")


def fitted(people):
    table, income = people
    numbers, counts = table[["hours"]], table[["hours"]] // 10
    sets = [[kind] for kind in KINDS]
    return [
        (AutoBayes().fit(table, income), table),
        (NaiveBayes().fit(table, income), table),
        (JointBayes().fit(table, income), table),
        (GaussianNB().fit(numbers, income), numbers),
        (GaussianBayes().fit(numbers, income), numbers),
        (MultinomialNB().fit(counts, income), counts),
        (BernoulliNB().fit(counts, income), counts),
        (TextNB().fit(MAILS, KINDS), MAILS),
        (NBSVM().fit(MAILS, KINDS), MAILS),
        (MultilabelNB().fit(MAILS, sets), MAILS),
    ]


def test_skops_dumps_and_loads_every_model(people):
    """It names the types that a file needs; those of naively are the estimators alone."""
    skops = pytest.importorskip("skops.io")
    for model, rows in fitted(people):
        content = skops.dumps(model)
        unknown = skops.get_untrusted_types(data=content)
        assert {name.rpartition(".")[2] for name in unknown} <= {type(model).__name__, "TextNB"}
        loaded = skops.loads(content, trusted=unknown)
        assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()


def test_a_skops_file_of_a_search(people):
    skops = pytest.importorskip("skops.io")
    from sklearn.model_selection import GridSearchCV

    table, income = people
    search = GridSearchCV(NaiveBayes(), {"alpha": [0.1, 1.0]}, cv=3).fit(table, income)
    content = skops.dumps(search)
    loaded = skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    assert loaded.predict(table).tolist() == search.predict(table).tolist()


@pytest.mark.parametrize("saved_as", ["skops", "cloudpickle"])
def test_mlflow_logs_and_loads_a_model(people, saved_as, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    if saved_as == "skops":
        pytest.importorskip("skops")
    table, income = people
    model = AutoBayes().fit(table, income)
    signature = mlflow.models.infer_signature(table, model.predict(table))
    trusted = {"skops_trusted_types": ["naively.estimators.auto_bayes.AutoBayes"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of MLflow, about versions of packages
        mlflow.sklearn.save_model(
            model, tmp_path / "m", signature=signature, serialization_format=saved_as,
            pip_requirements=[], **(trusted if saved_as == "skops" else {}),
        )  # fmt: skip
        loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
        assert loaded.predict(table).tolist() == model.predict(table).tolist()


def test_mlflow_takes_a_frame_of_one_column_of_text(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    frame = pd.DataFrame({"text": MAILS})
    model = TextNB().fit(frame, KINDS)
    signature = mlflow.models.infer_signature(frame, model.predict(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.sklearn.save_model(
            model, tmp_path / "m", signature=signature, pip_requirements=[],
            serialization_format="cloudpickle",
        )  # fmt: skip
        loaded = mlflow.pyfunc.load_model(str(tmp_path / "m"))
        assert loaded.predict(frame).tolist() == KINDS


def test_imbalanced_learn_samples_before_a_model(people):
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import SMOTE, RandomOverSampler
    from imblearn.pipeline import make_pipeline

    X, y = make_classification(
        n_classes=2, class_sep=2, weights=[0.1, 0.9], n_informative=3, n_redundant=1, flip_y=0,
        n_features=20, n_clusters_per_class=1, n_samples=1000, random_state=10,
    )  # fmt: skip
    pipeline = make_pipeline(SMOTE(random_state=42), GaussianNB())
    assert pipeline.fit(X, y).score(X, y) > 0.9
    table, income = people
    assert make_pipeline(RandomOverSampler(), AutoBayes()).fit(table, income).predict(table).size
    texts = np.array(MAILS, object)[:, np.newaxis]
    sampled = make_pipeline(RandomOverSampler(random_state=0), TextNB()).fit(texts, KINDS)
    assert sampled.predict(texts).tolist() == KINDS


def test_class_weight_does_what_oversampling_does():
    """The classes are as frequent; and the rows of each class are the same, but for chance."""
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import RandomOverSampler

    X, y = make_classification(weights=[0.9, 0.1], n_samples=2000, random_state=0)
    sampled = GaussianNB().fit(*RandomOverSampler(random_state=0).fit_resample(X, y))
    weighed = NaiveBayes(family="gaussian", class_weight="balanced").fit(X, y)
    assert np.abs(sampled.predict_proba(X) - weighed.predict_proba(X)).mean() < 0.02


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # MAPIE asks for zeros
@pytest.mark.parametrize("text", [False, True], ids=["table", "texts"])
def test_mapie_conformalizes_a_fitted_model(text, people):
    pytest.importorskip("mapie")
    from mapie.classification import SplitConformalClassifier

    table, income = people
    X, y = (np.array(MAILS * 4), np.array(KINDS * 4)) if text else (table, income)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
    model = (TextNB() if text else AutoBayes()).fit(X_train, y_train)
    mapie = SplitConformalClassifier(model, confidence_level=0.9, prefit=True)
    mapie.conformalize(X_rest, y_rest)
    _, sets = mapie.predict_set(X_rest)
    right = sets[np.arange(len(y_rest)), np.searchsorted(model.classes_, y_rest), 0]
    assert right.mean() >= 0.9 - 1e-9


def test_shap_explains_as_naively_does():
    """Of independent features, SHAP values of log-odds are contributions less their mean."""
    shap = pytest.importorskip("shap")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y > 0], y[y > 0]
    model = GaussianNB().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = shap.KernelExplainer(model.decision_function, X).shap_values(X[:3])
    added = model.explain(X).contributions
    odds = added[:, 1] - added[:, 0]
    np.testing.assert_allclose(found, (odds - odds.mean(axis=0))[:3], atol=1e-6)


def test_shap_explains_a_mixed_table(people):
    shap = pytest.importorskip("shap")
    table, income = people
    numbers = table[["age", "hours"]].fillna(40.0)
    model = AutoBayes().fit(numbers, income)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = shap.Explainer(model.predict_proba, numbers)(numbers[:5])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(numbers[:5]), atol=1e-6)


def test_skrub_cleans_a_table_before_a_model(people):
    skrub = pytest.importorskip("skrub")
    from sklearn.pipeline import make_pipeline

    table, income = people
    pipeline = make_pipeline(skrub.TableVectorizer(), GaussianNB()).fit(table, income)
    assert pipeline.score(table, income) > 0.6
    pipeline = make_pipeline(skrub.Cleaner(), AutoBayes()).fit(table, income)
    assert pipeline.score(table, income) > 0.7


def test_features_are_eliminated():
    wine = load_wine(as_frame=True)
    for kind in (AutoBayes(interactions=0), NaiveBayes(), GaussianNB()):
        chosen = RFE(kind, n_features_to_select=4, step=3).fit(wine.data, wine.target)
        assert chosen.score(wine.data, wine.target) > 0.9
        assert SelectFromModel(kind).fit(wine.data, wine.target).get_support().any()
    found = RFECV(GaussianNB(), cv=3).fit(wine.data, wine.target)
    assert 1 <= found.n_features_ <= 13
