package farm

import "encoding/json"

// ForgeResult writes a result into a folder, as a worker would.
func ForgeResult(dir string, r Result) {
	f := &folder{dir: dir}
	b, err := json.Marshal(r)
	if err == nil {
		err = f.write(f.resultPath(r.Key), sealed(b))
	}
	if err != nil {
		panic(err)
	}
}
