"""Writes reference.json: linkages by SciPy, silhouettes by scikit-learn, classical
scaling by NumPy's eigenvalues, and a rank correlation by SciPy."""
import json
import numpy as np
import scipy
import sklearn
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr
from sklearn.metrics import silhouette_samples

rng = np.random.default_rng(7)
n = 12
points = rng.normal(size=(n, 3)) + 3 * rng.integers(0, 2, size=(n, 1))
d = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
d = np.round((d + d.T) / 2, 12)
other = np.abs(rng.normal(size=(n, n)))
other = np.round(other + other.T, 12)
np.fill_diagonal(other, 0)
groups = [int(g) for g in rng.integers(0, 3, n)]
j = np.eye(n) - 1 / n
values, vectors = np.linalg.eigh(-0.5 * j @ (d ** 2) @ j)
plane = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2])
low = np.tril_indices(n, -1)
out = {
    "versions": [scipy.__version__, sklearn.__version__, np.__version__],
    "distances": d.tolist(), "other": other.tolist(), "groups": groups,
    "linkage": {m: linkage(squareform(d), m).tolist() for m in ["average", "complete", "single", "ward"]},
    "cut": {m: fcluster(linkage(squareform(d), m), 4, "maxclust").tolist() for m in ["average", "complete", "single", "ward"]},
    "silhouette": silhouette_samples(d, groups, metric="precomputed").tolist(),
    "plane": plane.tolist(), "share": float(values[::-1][:2].sum() / values[values > 0].sum()),
    "spearman": float(spearmanr(d[low], other[low])[0]),
}
json.dump(out, open("reference.json", "w"), indent=0)
