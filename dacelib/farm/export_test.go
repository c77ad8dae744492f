package farm

import "encoding/json"

// ForgeResult writes a result into a folder, as a worker would.
func ForgeResult(dir string, r Result) { ForgeResultAt(dir, r.Key, r) }

// ForgeResultAt places a result where that of another key is looked for.
func ForgeResultAt(dir, key string, r Result) {
	f := &folder{dir: dir}
	b, err := json.Marshal(r)
	if err == nil {
		err = f.write(f.resultPath(key), sealed(b))
	}
	if err != nil {
		panic(err)
	}
}
