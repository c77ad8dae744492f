package farm

// ForgeResult writes a result into a folder, as a worker would.
func ForgeResult(dir string, r Result) { ForgeResultAt(dir, r.Key, r) }

// ForgeResultAt places a result where that of another key is looked for.
func ForgeResultAt(dir, key string, r Result) {
	f := &folder{dir: dir}
	if err := f.write(f.resultPath(key), sealedJSON(r)); err != nil {
		panic(err)
	}
}

// UseDriver gives the process a driver of servers until restore is called.
func UseDriver(d Driver) (restore func()) {
	driver.d = &d
	return func() { driver.d = nil }
}
