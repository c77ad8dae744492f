"""Write glob.json: what SQLite's GLOB says of random patterns and texts."""

import json
import random
import sqlite3

rng = random.Random(1)
db = sqlite3.connect(":memory:")
cases = []
for i in range(100000):
    pattern = "".join(rng.choices("aab*?[]^-é", k=rng.randrange(7)))
    text = "".join(rng.choices("aab[]-é^*", k=rng.randrange(6)))
    (match,) = db.execute("select ? glob ?", (text, pattern)).fetchone()
    cases.append([pattern, text, match])
matching = [c for c in cases if c[2]]
others = [c for c in cases if not c[2]]
cases = rng.sample(matching, 700) + rng.sample(others, 300)
with open("glob.json", "w") as f:
    f.write(json.dumps({"sqlite": sqlite3.sqlite_version}) + "\n")
    for c in cases:
        f.write(json.dumps(c) + "\n")
